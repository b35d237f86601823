//! Walking a sessions directory: every session once, by its newest log, and whatever else lies there.

use super::dsh_listing::{DirectoryFacts, dsh_lists};
use super::head::{HeadError, HeadReader};
use super::layout::{self, LOCK, LogName, encode_segment, project_key};
use crate::model::header::Header;
use crate::model::js_string::JsStr;
use crate::model::problem::{Fault, Problem, ProblemKind};
use crate::stores::{Encoding, Identity, Listing, ReadError, StoredSession};
use std::collections::HashMap;
use std::fs::{self, DirEntry, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// A session directory that was found, before anything in it was opened.
struct Candidate {
    project: String,
    directory: String,
    path: PathBuf,
}

/// What one session directory gave.
#[derive(Default)]
struct Found {
    session: Option<StoredSession>,
    problems: Vec<Problem>,
    facts: Option<DirectoryFacts>,
}

/// Lists a root. A root that does not exist is an empty store.
pub(super) fn list(root: &Path) -> Result<Listing, ReadError> {
    let mut listing = Listing { dsh_lists: true, ..Listing::default() };
    let io = |path: &Path, source| ReadError::Io { path: path.to_owned(), source };
    let mut candidates = Vec::new();
    let mut has_flat_layout = false;
    let entries = match fs::read_dir(root) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(listing),
        Err(error) => return Err(io(root, error)),
    };
    for entry in entries {
        let entry = entry.map_err(|error| io(root, error))?;
        match kind_of(&entry) {
            Some(EntryKind::Directory(name)) => {
                has_flat_layout |= project(root, &name, &mut candidates, &mut listing.problems);
            }
            _ => listing.problems.push(stray(&entry)),
        }
    }
    let found = open_all(root, &candidates);
    let mut facts = Vec::new();
    for found in found {
        listing.problems.extend(found.problems);
        listing.sessions.extend(found.session);
        facts.extend(found.facts);
    }
    mark_duplicates(&mut listing.sessions);
    listing.dsh_lists = !has_flat_layout && dsh_lists(&facts);
    for session in &listing.sessions {
        listing.problems.extend(session.refusal.clone());
    }
    mark_mixed_store(root, &mut listing);
    listing.problems.sort_by(|a, b| (&a.path, a.kind).cmp(&(&b.path, b.kind)));
    Ok(listing)
}

enum EntryKind {
    Directory(String),
    File(String),
    Symlink(String),
}

fn kind_of(entry: &DirEntry) -> Option<EntryKind> {
    let name = entry.file_name().into_string().ok()?;
    let kind = entry.file_type().ok()?;
    if kind.is_dir() {
        Some(EntryKind::Directory(name))
    } else if kind.is_symlink() {
        Some(EntryKind::Symlink(name))
    } else {
        // What is neither may never end, or never begin.
        kind.is_file().then_some(EntryKind::File(name))
    }
}

/// Something dsh did not put there. dsh does not follow links to directories, and neither do we.
fn stray(entry: &DirEntry) -> Problem {
    let path = entry.path();
    let name = entry.file_name();
    if layout::is_temporary(&name.to_string_lossy()) {
        return Problem::at(ProblemKind::OrphanTemp, path, "a file that was being written when its writer stopped");
    }
    let message = match entry.file_type() {
        Ok(kind) if kind.is_symlink() => "a symbolic link, which is not followed",
        _ => "not part of the store",
    };
    Problem::at(ProblemKind::ForeignEntry, path, message)
}

/// Collects the session directories of a project; says whether a log lies in the project itself.
fn project(root: &Path, project: &str, candidates: &mut Vec<Candidate>, problems: &mut Vec<Problem>) -> bool {
    let path = root.join(project);
    let entries = match fs::read_dir(&path) {
        Ok(entries) => entries,
        Err(error) => {
            problems.push(unreadable(&path, &error));
            return true;
        }
    };
    let mut is_flat = false;
    for entry in entries {
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => {
                problems.push(unreadable(&path, &error));
                return true;
            }
        };
        match kind_of(&entry) {
            Some(EntryKind::Directory(directory)) => {
                candidates.push(Candidate { project: project.to_owned(), path: entry.path(), directory });
            }
            Some(EntryKind::File(name)) if name.ends_with(".jsonl") || name.ends_with(".jsonl.zstd") => {
                is_flat = true;
                let message = "a log that lies in the project directory itself, as before the first release";
                problems.push(Problem::at(ProblemKind::FlatLayout, entry.path(), message));
            }
            _ => problems.push(stray(&entry)),
        }
    }
    is_flat
}

fn unreadable(path: &Path, error: &io::Error) -> Problem {
    Problem::at(ProblemKind::Unreadable, path, error.to_string())
}

/// Opens every candidate, on as many threads as there are processors.
fn open_all(root: &Path, candidates: &[Candidate]) -> Vec<Found> {
    const BATCH: usize = 32;
    let workers = thread::available_parallelism().map_or(1, |count| count.get()).min(candidates.len().div_ceil(BATCH));
    if workers <= 1 {
        let mut heads = HeadReader::new();
        return candidates.iter().map(|candidate| open(root, candidate, &mut heads)).collect();
    }
    let next = AtomicUsize::new(0);
    let batches = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                let mut heads = HeadReader::new();
                loop {
                    let start = next.fetch_add(BATCH, Ordering::Relaxed);
                    let Some(rest) = candidates.get(start..) else { return };
                    let found: Vec<Found> =
                        rest.iter().take(BATCH).map(|candidate| open(root, candidate, &mut heads)).collect();
                    if found.is_empty() {
                        return;
                    }
                    batches.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push((start, found));
                }
            });
        }
    });
    let mut batches = batches.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    batches.sort_by_key(|(start, _)| *start);
    batches.into_iter().flat_map(|(_, found)| found).collect()
}

/// Looks into one session directory and reads the header of its newest log.
fn open(root: &Path, candidate: &Candidate, heads: &mut HeadReader) -> Found {
    let mut found = Found::default();
    let mut logs: Vec<LogName> = Vec::new();
    let mut lock = None;
    let mut has_link = false;
    let entries = match fs::read_dir(&candidate.path) {
        Ok(entries) => entries,
        Err(error) => {
            found.problems.push(unreadable(&candidate.path, &error));
            found.facts = Some(DirectoryFacts::unreadable());
            return found;
        }
    };
    for entry in entries.filter_map(Result::ok) {
        match kind_of(&entry) {
            Some(EntryKind::File(name)) if LogName::parse(&name).is_some() => logs.extend(LogName::parse(&name)),
            Some(EntryKind::Symlink(name)) if LogName::parse(&name).is_some() => {
                logs.extend(LogName::parse(&name));
                has_link = true;
            }
            Some(EntryKind::File(name)) if name == LOCK => lock = Some(entry.path()),
            _ => found.problems.push(stray(&entry)),
        }
    }
    logs.sort();
    let Some(&newest) = logs.last() else { return found };
    let path = candidate.path.join(newest.file_name());
    let mut facts = DirectoryFacts::of(&logs);
    let opened = if has_link { open_target(&path) } else { File::open(&path) };
    let opened = opened.and_then(|file| Ok((file.metadata()?.len(), file)));
    let (bytes, mut file) = match opened {
        Ok(opened) => opened,
        Err(error) => {
            found.problems.push(unreadable(&path, &error));
            facts.set_unreadable();
            found.facts = Some(facts);
            return found;
        }
    };
    let (header, refusal) = match heads.header(&mut file, newest) {
        Ok((line, _)) => (Some(line.header), None),
        Err(HeadError::Io(error)) => {
            found.problems.push(unreadable(&path, &error));
            facts.set_unreadable();
            found.facts = Some(facts);
            return found;
        }
        Err(HeadError::Fault(error)) => (error.facts, Some(error.fault)),
    };
    facts.set_header(header.as_ref(), refusal.as_ref());
    let id = header.as_ref().map(|header| header.id.clone());
    let mut refusal = refusal.map(|fault| fault.into_problem(&path, id.clone()));
    let mut generations: Vec<u64> = logs.iter().map(|name| name.version).collect();
    generations.dedup();
    if refusal.is_none() && logs.iter().any(|name| name.encoding != newest.encoding) {
        let message = "plain and compressed logs of one session lie side by side";
        refusal = Some(Fault::new(ProblemKind::MixedEncoding, message).into_problem(&candidate.path, id.clone()));
    }
    let Some(header) = header else {
        found.problems.extend(refusal);
        found.facts = Some(facts);
        return found;
    };
    let identity = identity(root, candidate, &header, newest);
    facts.set_identity(identity);
    if identity == Identity::Elsewhere && refusal.is_none() {
        let message = "its header's id and cwd belong to another directory";
        refusal = Some(Fault::new(ProblemKind::IdentityMismatch, message).into_problem(&path, id));
    }
    found.facts = Some(facts);
    found.session = Some(StoredSession {
        header,
        format_version: newest.version,
        generations,
        encoding: newest.encoding,
        path,
        bytes: Some(bytes),
        lock,
        refusal,
        identity,
    });
    found
}

/// A session directory as it is now, for a caller who knows where it is. `None` with the problems if it
/// holds no session.
pub(super) fn session_in(root: &Path, directory: &Path) -> Result<StoredSession, Vec<Problem>> {
    let name = |path: Option<&Path>| path.and_then(Path::file_name).and_then(|name| name.to_str()).map(str::to_owned);
    let (Some(project), Some(own)) = (name(directory.parent()), name(Some(directory))) else {
        return Err(Vec::new());
    };
    let candidate = Candidate { project, directory: own, path: directory.to_owned() };
    let found = open(root, &candidate, &mut HeadReader::new());
    found.session.ok_or(found.problems)
}

/// What else in a root makes dsh refuse a session: a second directory with its name, or a log that lies in
/// a project directory itself.
pub(super) enum Rival {
    /// Another directory of the same name, with a log in it.
    Namesake(PathBuf),
    /// A log in a project directory.
    Flat(PathBuf),
}

/// Looks for it in every project directory.
pub(super) fn rival(root: &Path, directory: &Path) -> io::Result<Option<Rival>> {
    let Some(name) = directory.file_name() else { return Ok(None) };
    for entry in fs::read_dir(root)? {
        let entry = entry?;
        if !entry.file_type()?.is_dir() {
            continue;
        }
        let project = entry.path();
        for entry in fs::read_dir(&project)? {
            let entry = entry?;
            let own = entry.file_name().into_string().unwrap_or_default();
            if entry.file_type()?.is_file() && (own.ends_with(".jsonl") || own.ends_with(".jsonl.zstd")) {
                return Ok(Some(Rival::Flat(entry.path())));
            }
        }
        let other = project.join(name);
        if other != directory && holds_log(&other)? {
            return Ok(Some(Rival::Namesake(other)));
        }
    }
    Ok(None)
}

/// Whether a directory, which need not exist, holds a log of any generation.
pub(super) fn holds_log(directory: &Path) -> io::Result<bool> {
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(false);
        }
        Err(error) => return Err(error),
    };
    for entry in entries {
        if entry?.file_name().to_str().is_some_and(|name| LogName::parse(name).is_some()) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Opens what a link leads to, if that is a file.
fn open_target(path: &Path) -> io::Result<File> {
    if fs::metadata(path)?.is_file() { File::open(path) } else { Err(io::Error::other("not a file")) }
}

/// Whether the log lies where its header says. Another path to the same file is fine.
fn identity(root: &Path, candidate: &Candidate, header: &Header, name: LogName) -> Identity {
    let cwd: Option<&JsStr<'_>> = header.cwd.as_ref();
    let (Some(project), Some(directory)) = (project_key(cwd), encode_segment(&header.id)) else {
        return Identity::Elsewhere;
    };
    if project == candidate.project && directory == candidate.directory {
        return Identity::Fits;
    }
    let expected = root.join(project).join(directory).join(name.file_name());
    let actual = candidate.path.join(name.file_name());
    match (fs::canonicalize(expected), fs::canonicalize(actual)) {
        (Ok(expected), Ok(actual)) if expected == actual => Identity::Fits,
        _ => Identity::Elsewhere,
    }
}

/// dsh refuses an id that lies in two places, because either could be the one that was meant.
fn mark_duplicates(sessions: &mut [StoredSession]) {
    let mut places: HashMap<&[u8], usize> = HashMap::new();
    for session in sessions.iter() {
        *places.entry(session.header.id.as_bytes()).or_default() += 1;
    }
    let duplicates: Vec<bool> = sessions.iter().map(|session| places[session.header.id.as_bytes()] > 1).collect();
    for (session, is_duplicate) in sessions.iter_mut().zip(duplicates) {
        if is_duplicate && session.refusal.is_none() {
            let problem = Problem::at(
                ProblemKind::DuplicateId,
                &session.path,
                "the same session id lies in another directory too",
            );
            session.refusal = Some(Problem { session_id: Some(session.header.id.clone()), ..problem });
        }
    }
}

/// A dsh is set up for one encoding and gives up on a store that holds both; here every log is read.
fn mark_mixed_store(root: &Path, listing: &mut Listing) {
    let has = |encoding| listing.sessions.iter().any(|session| session.encoding == encoding);
    if has(Encoding::Plain) && has(Encoding::Zstd) {
        let message = "plain and compressed logs in one store, which dsh refuses as a whole";
        listing.problems.push(Problem::at(ProblemKind::MixedEncoding, root, message));
    }
}
