//! Ways to say which session is meant (DESIGN §2).

use super::{Catalog, Record, failure};
use crate::error::{Code, Failure};
use crate::model::js_string::{JsStr, JsString};
use crate::model::problem::{Problem, ProblemKind};
use crate::model::{mention, uri};
use crate::stores::ReadError;
use crate::stores::jsonl::layout::encode_segment;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// What a person typed to name a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selector {
    /// An id, or the beginning of one that no other id has.
    Id(JsString),
    /// The session a `dsh-session:` identifier or mention names; nothing else will do.
    Exactly(JsString),
    /// A log file, or the directory of a session.
    Path(PathBuf),
    /// The newest session but so many.
    Latest(usize),
}

/// A text that begins like an identifier or mention and is none.
pub type SelectorError = uri::ParseUriError;

impl Selector {
    /// Reads what was typed.
    ///
    /// # Errors
    /// The text is a `dsh-session:` identifier or a mention, and not a valid one.
    pub fn parse(text: &JsStr<'_>) -> Result<Selector, SelectorError> {
        if text.starts_with(uri::SCHEME) {
            return Ok(Selector::Exactly(uri::decode(text)?));
        }
        if text.starts_with("@[") {
            let (readable, mentions) = mention::parse(text)?;
            if let [only] = &mentions[..]
                && readable.len_utf8() == only.label.len_utf8() + 1
            {
                return Ok(Selector::Exactly(only.session_id.clone()));
            }
        }
        let latest = text.to_str().and_then(|text| text.strip_prefix("latest"));
        match latest.map(|rest| (rest, rest.strip_prefix('~').and_then(|count| count.parse().ok()))) {
            Some(("", _)) => return Ok(Selector::Latest(0)),
            Some((_, Some(count))) => return Ok(Selector::Latest(count)),
            _ => {}
        }
        let is_path = text.to_str().is_some_and(|text| {
            text.contains('/') && (text.starts_with(['/', '.', '~']) || text.contains(".jsonl"))
                || text.contains("session.") && text.contains(".jsonl")
        });
        match text.to_str() {
            Some(text) if is_path => Ok(Selector::Path(PathBuf::from(text))),
            _ => Ok(Selector::Id(text.clone().into_owned())),
        }
    }
}

impl Catalog {
    /// The session a selector names.
    ///
    /// # Errors
    /// None does, or several do; then they are named.
    pub fn select(&self, selector: &Selector) -> Result<&Record, Failure> {
        match selector {
            Selector::Exactly(id) => self.exactly(id),
            Selector::Latest(count) => self.records.get(*count).ok_or_else(|| {
                let held = self.records.len();
                Failure::new(
                    Code::SessionNotFound,
                    format!("there is no latest~{count}: the store holds {held} sessions"),
                )
            }),
            // An id may look like a path.
            Selector::Path(path) => self.by_path(path).or_else(|failure| {
                let id = JsString::from(path.to_string_lossy().into_owned());
                if self.records.iter().any(|record| *record.id() == id) { self.exactly(&id) } else { Err(failure) }
            }),
            Selector::Id(id) => {
                if self.records.iter().any(|record| record.id() == id) {
                    return self.exactly(id);
                }
                let begin = |record: &&Record| !id.is_empty() && record.id().as_bytes().starts_with(id.as_bytes());
                let found: Vec<&Record> = self.records.iter().filter(begin).collect();
                match found[..] {
                    [record] => Ok(record),
                    [] => match id.to_str().map(Path::new).filter(|path| path.exists()) {
                        Some(path) => self.by_path(path),
                        None => Err(self.missing(id)),
                    },
                    [first, ..] if found.iter().all(|record| record.id() == first.id()) => self.exactly(first.id()),
                    _ => Err(ambiguous(&format!("{id:?} begins the ids of {} sessions", found.len()), &found)),
                }
            }
        }
    }

    fn exactly(&self, id: &JsString) -> Result<&Record, Failure> {
        let found: Vec<&Record> = self.records.iter().filter(|record| record.id() == id).collect();
        match found[..] {
            [record] => Ok(record),
            [] => Err(self.missing(id)),
            _ => {
                let paths = found.iter().map(|record| record.stored.path.display().to_string()).collect();
                let message = format!("the session id {id:?} lies in {} places", found.len());
                Err(Failure::new(Code::AmbiguousSession, message)
                    .hint("name the log by its path, with --salvage")
                    .candidates(paths))
            }
        }
    }

    /// Why a session is not among the records: its directory may be there, and its log have no header.
    fn missing(&self, id: &JsString) -> Failure {
        let directory = encode_segment(id);
        let is_there = |problem: &&Problem| {
            let name = problem.path.parent().and_then(Path::file_name).and_then(OsStr::to_str);
            let is_about_a_log = !matches!(problem.kind, ProblemKind::ForeignEntry | ProblemKind::OrphanTemp);
            is_about_a_log && name.is_some() && name == directory.as_deref()
        };
        match self.problems.iter().find(is_there) {
            Some(problem) => failure(ReadError::Refused(Box::new(problem.clone()))),
            None => not_found(id),
        }
    }

    fn by_path(&self, path: &Path) -> Result<&Record, Failure> {
        let wanted = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let canonical = std::fs::canonicalize(&wanted).ok();
        let is_it = |record: &&Record| {
            let log = std::path::absolute(&record.stored.path).unwrap_or_else(|_| record.stored.path.clone());
            let same = |wanted: &Path, log: &Path| log == wanted || log.parent() == Some(wanted);
            same(&wanted, &log)
                || canonical
                    .as_ref()
                    .is_some_and(|wanted| std::fs::canonicalize(&log).is_ok_and(|log| same(wanted, &log)))
        };
        let found = self.records.iter().find(is_it);
        found.ok_or_else(|| {
            Failure::new(Code::SessionNotFound, format!("no session of this store lies at {}", path.display()))
        })
    }
}

fn not_found(id: &JsString) -> Failure {
    Failure::new(Code::SessionNotFound, format!("no session has the id {id:?}, and none begins with it"))
        .hint("`dshkit sessions list` shows what there is")
}

fn ambiguous(message: &str, found: &[&Record]) -> Failure {
    let ids = found.iter().map(|record| record.id().to_string_lossy().into_owned()).collect();
    Failure::new(Code::AmbiguousSession, message).hint("type more of the id").candidates(ids)
}
