//! Making a new session: a v0 log, which every dsh from 0.1.0 to 0.2.1 reads and migrates (formats.md
//! §5.4, §11.3; oracle README, "Findings").
//!
//! The log is written beside its place under another name, read back, and then given its own, which fails
//! if something is there. So a session appears whole or not at all. What a failure leaves is cleaned up;
//! what a crash leaves is a temporary file that no dsh looks at, and another try with the same id removes
//! it.
//!
//! The steps an observer is told of are `directory` and `parent-sync` for each directory that is made, then
//! `temp-create`, `temp-write`, `temp-sync`, `publish`, `directory-sync`.

use super::batch;
use super::discover::holds_log;
use super::layout::{LogName, encode_segment, is_temporary, project_key};
use super::log_state::{LogState, hexadecimal};
use super::scan;
use super::write_fault::WriteFault;
use crate::generations::encode::{NewEvent, NewSession, event_row, header_row};
use crate::generations::{Generation, Mode};
use crate::model::header::{Header, Seed};
use crate::stores::steps::{Steps, take};
use crate::stores::{Encoding, Identity, StoredSession};
use sha2::{Digest, Sha256};
use std::fmt;
use std::fs::{self, DirBuilder, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// A session that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Published {
    /// Its log file.
    pub path: PathBuf,
    /// The log's content: what [`super::Assurance::Ours`] wants before something is appended.
    pub state: LogState,
}

/// Why no session was made. Nothing is left of it.
#[derive(Debug)]
pub enum PublishError {
    /// A database is not written to.
    Database,
    /// The id is empty, or the working directory is not an absolute path, which dsh refuses.
    InvalidHeader,
    /// A session of this id is there already.
    Exists(PathBuf),
    /// What is in the place of a directory of the store is none.
    NotADirectory(PathBuf),
    /// A write failed.
    Write(WriteFault),
    /// What was written did not read back as it should.
    NotReadBack(String),
}

impl PublishError {
    /// A stable name, in lower case with hyphens.
    pub fn reason(&self) -> &'static str {
        match self {
            PublishError::Database => "database-store",
            PublishError::InvalidHeader => "invalid-header",
            PublishError::Exists(_) => "session-exists",
            PublishError::NotADirectory(_) => "not-a-directory",
            PublishError::Write(_) => "write-failed",
            PublishError::NotReadBack(_) => "not-read-back",
        }
    }
}

impl fmt::Display for PublishError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PublishError::Database => f.write_str("no session is made in a SQLite database"),
            PublishError::InvalidHeader => {
                f.write_str("a session needs an id, and its working directory must be an absolute path")
            }
            PublishError::Exists(path) => write!(f, "there is a session in {} already", path.display()),
            PublishError::NotADirectory(path) => write!(f, "{} is no directory", path.display()),
            PublishError::Write(fault) => fault.fmt(f),
            PublishError::NotReadBack(message) => write!(f, "what was written did not read back: {message}"),
        }
    }
}

impl std::error::Error for PublishError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            PublishError::Write(fault) => Some(fault),
            _ => None,
        }
    }
}

/// Makes a session with these events, all of the time of its creation.
pub(super) fn publish(
    root: &Path,
    session: &NewSession,
    encoding: Encoding,
    events: &[NewEvent<'_>],
    steps: &mut dyn Steps,
) -> Result<Published, PublishError> {
    if encoding == Encoding::Sqlite {
        return Err(PublishError::Database);
    }
    let is_absolute = session.cwd.as_ref().is_none_or(|cwd| cwd.starts_with("/"));
    let (Some(project), Some(segment), true) =
        (project_key(session.cwd.as_ref()), encode_segment(&session.id), is_absolute)
    else {
        return Err(PublishError::InvalidHeader);
    };
    refuse_namesake(root, &segment)?;
    let project = root.join(project);
    let directory = project.join(segment);
    let mut made = Vec::new();
    let result = (|| {
        for (path, is_root) in [(root, true), (&project, false), (&directory, false)] {
            if !is_directory(path, is_root)? {
                make_directory(path, &mut made, steps)?;
            }
        }
        write_log(&directory, session, encoding, events, steps)
    })();
    if result.is_err() {
        // The innermost first; one in which somebody else has put something stays.
        for path in made.iter().rev() {
            let _ = fs::remove_dir(path);
        }
    }
    result
}

/// dsh refuses an id that lies in two places, so every project directory is looked into.
fn refuse_namesake(root: &Path, segment: &str) -> Result<(), PublishError> {
    let fault = |path: &Path| {
        let path = path.to_owned();
        move |error| PublishError::Write(WriteFault::new(&path, error))
    };
    let entries = match fs::read_dir(root) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(fault(root)(error)),
    };
    for entry in entries {
        let directory = entry.map_err(fault(root))?.path().join(segment);
        if holds_log(&directory).map_err(fault(&directory))? {
            return Err(PublishError::Exists(directory));
        }
    }
    Ok(())
}

/// Makes a directory only its owner may enter, if it is not there, and keeps in mind that it was made.
fn make_directory(path: &Path, made: &mut Vec<PathBuf>, steps: &mut dyn Steps) -> Result<(), PublishError> {
    let fault = |error| PublishError::Write(WriteFault::new(path, error));
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    let make = || {
        builder.create(path)?;
        made.push(path.to_owned());
        Ok(())
    };
    take(steps, "directory", make).map_err(fault)?;
    match path.parent() {
        Some(parent) => take(steps, "parent-sync", || sync_directory(parent)).map_err(fault),
        None => Ok(()),
    }
}

/// Whether a directory is there. Below the root no link to one will do: dsh follows none.
fn is_directory(path: &Path, is_root: bool) -> Result<bool, PublishError> {
    let metadata = if is_root { fs::metadata(path) } else { fs::symlink_metadata(path) };
    match metadata {
        Ok(metadata) if metadata.is_dir() => Ok(true),
        Ok(_) => Err(PublishError::NotADirectory(path.to_owned())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(PublishError::Write(WriteFault::new(path, error))),
    }
}

/// Writes the log under another name, reads it back, and gives it its own.
fn write_log(
    directory: &Path,
    session: &NewSession,
    encoding: Encoding,
    events: &[NewEvent<'_>],
    steps: &mut dyn Steps,
) -> Result<Published, PublishError> {
    let name = LogName { version: Generation::V0.version(), encoding }.file_name();
    let path = directory.join(&name);
    let fault = |error| PublishError::Write(WriteFault::new(&path, error));
    let time = i64::try_from(session.created_at).map_err(|_| PublishError::InvalidHeader)?;
    let rows: Vec<String> =
        events.iter().zip(0..).map(|(event, seq)| event_row(Generation::V0, seq, time, event)).collect();
    let mut bytes = batch::encode(encoding, &[header_row(session)]).map_err(fault)?;
    bytes.extend(batch::encode(encoding, &rows).map_err(fault)?);
    let prefix = format!("{name}.");
    let mut builder = tempfile::Builder::new();
    builder.prefix(&prefix).suffix(".tmp").rand_bytes(12);
    // Only its owner may read it, and when it goes out of scope it is removed.
    let mut file = take(steps, "temp-create", || builder.tempfile_in(directory)).map_err(fault)?;
    take(steps, "temp-write", || file.write_all(&bytes)).map_err(fault)?;
    take(steps, "temp-sync", || file.as_file().sync_all()).map_err(fault)?;
    read_back(file.path(), session, encoding, events.len())?;
    let mut is_there = false;
    let named = take(steps, "publish", || {
        file.persist_noclobber(&path).map_err(|error| error.error)?;
        is_there = true;
        Ok(())
    });
    if let Err(error) = named.and_then(|()| take(steps, "directory-sync", || sync_directory(directory))) {
        if is_there {
            let _ = fs::remove_file(&path);
        } else if path.exists() {
            return Err(PublishError::Exists(directory.to_owned()));
        }
        return Err(fault(error));
    }
    sweep(directory, &prefix);
    let sha256 = hexadecimal(&Sha256::digest(&bytes));
    Ok(Published { path, state: LogState { bytes: bytes.len() as u64, sha256 } })
}

/// Removes what a crash left of a session that was to be made: a log that did not get its name, and the
/// directory if nothing else is in it. A session that is there stays.
pub(super) fn discard(root: &Path, session: &NewSession) -> io::Result<()> {
    let (Some(project), Some(segment)) = (project_key(session.cwd.as_ref()), encode_segment(&session.id)) else {
        return Ok(());
    };
    let directory = root.join(project).join(segment);
    if !directory.is_dir() || holds_log(&directory)? {
        return Ok(());
    }
    for encoding in [Encoding::Plain, Encoding::Zstd] {
        let name = LogName { version: Generation::V0.version(), encoding }.file_name();
        sweep(&directory, &format!("{name}."));
    }
    match fs::remove_dir(&directory) {
        Err(error) if error.kind() == ErrorKind::DirectoryNotEmpty => Ok(()),
        result => result,
    }
}

/// Removes what crashes left of earlier tries. Whoever is still at work on another log of this name has
/// come too late.
fn sweep(directory: &Path, prefix: &str) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    for entry in entries.filter_map(Result::ok) {
        let name = entry.file_name();
        if name.to_str().is_some_and(|name| name.starts_with(prefix) && is_temporary(name)) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

fn sync_directory(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// Reads what was written: it must load, with every event, and nothing open.
fn read_back(path: &Path, session: &NewSession, encoding: Encoding, events: usize) -> Result<(), PublishError> {
    let header = Header {
        version: Generation::V0.version(),
        id: session.id.clone(),
        created_at: session.created_at,
        cwd: session.cwd.clone(),
        parent_session: None,
        seed: Seed::None,
        is_subagent: false,
        delegation_depth: Some(0),
        agent_preset: None,
    };
    let stored = StoredSession {
        header,
        format_version: Generation::V0.version(),
        generations: vec![Generation::V0.version()],
        encoding,
        path: path.to_owned(),
        bytes: None,
        lock: None,
        refusal: None,
        identity: Identity::Fits,
    };
    let summary = scan::read(&stored, Mode::AsDsh, &mut |_| {});
    let summary = summary.map_err(|error| PublishError::NotReadBack(error.to_string()))?;
    let is_whole = summary.warnings.is_empty()
        && summary.finished.stored_events == events as u64
        && summary.finished.surface.is_ok()
        && !summary.finished.open.is_open();
    if is_whole { Ok(()) } else { Err(PublishError::NotReadBack("it is not a whole log of closed turns".to_owned())) }
}
