//! The logical corpus: one record a session, newest first, wherever and however it is stored.

mod in_order;
mod selector;

pub use in_order::in_order;
pub use selector::{Selector, SelectorError};

use crate::error::{Code, Failure};
use crate::generations::{Before, Item, Mode};
use crate::model::collation::LocaleOrder;
use crate::model::event::Event;
use crate::model::js_string::JsString;
use crate::model::problem::{Fault, Problem, ProblemKind};
use crate::model::surface::{Replacement, SurfaceError};
use crate::stores::jsonl::JsonlStore;
use crate::stores::jsonl::lease::HeldLocks;
use crate::stores::revision::Revision;
use crate::stores::sqlite::SqliteStore;
use crate::stores::{Anchor, BlockTest, LogSummary, ReadError, Store, StoredSession};
use std::cmp::Ordering;
use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

/// A corpus over one store.
pub struct Corpus {
    store: Box<dyn Store>,
    path: PathBuf,
}

/// A session of the corpus.
#[derive(Clone, Debug)]
pub struct Record {
    /// The session as the store lists it.
    pub stored: StoredSession,
    /// Whether a dsh holds it open for writing. `None`: its generation has no lock, or there is no telling.
    pub live: Option<bool>,
}

impl Record {
    /// The session's id.
    pub fn id(&self) -> &JsString {
        &self.stored.header.id
    }
}

impl Record {
    /// A fault as a problem of this session's log.
    pub fn problem(&self, fault: Fault) -> Problem {
        fault.into_problem(&self.stored.path, Some(self.id().clone()))
    }

    /// Why this session could not be read, as a problem of its log.
    pub fn problem_of(&self, failure: Failure) -> Problem {
        match failure.problem {
            Some(problem) => *problem,
            None => self.problem(Fault::new(ProblemKind::Unreadable, failure.message)),
        }
    }
}

/// The sessions of a corpus at one moment.
pub struct Catalog {
    /// Newest first by creation, ties by id as dsh orders them.
    pub records: Vec<Record>,
    /// What was found and is wrong.
    pub problems: Vec<Problem>,
    /// Whether dsh itself could list this store.
    pub dsh_lists: bool,
}

impl Corpus {
    /// The corpus in a sessions directory or a session database. A path that does not exist is an empty
    /// corpus.
    pub fn at(path: &Path) -> Corpus {
        let store: Box<dyn Store> = if SqliteStore::is_database(path) {
            Box::new(SqliteStore::new(path))
        } else {
            Box::new(JsonlStore::new(path))
        };
        Corpus { store, path: path.to_owned() }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Lists the sessions.
    ///
    /// # Errors
    /// The store itself cannot be read.
    pub fn catalog(&self) -> Result<Catalog, Failure> {
        let listing = self.store.list().map_err(failure)?;
        let has_locks = listing.sessions.iter().any(|session| session.lock.is_some());
        let held = has_locks.then(HeldLocks::read);
        let mut records: Vec<Record> =
            listing.sessions.into_iter().map(|stored| Record { live: live(&stored, held.as_ref()), stored }).collect();
        let order = LocaleOrder::new();
        records.sort_by(|a, b| newest_first(&order, a, b));
        Ok(Catalog { records, problems: listing.problems, dsh_lists: listing.dsh_lists })
    }

    /// Reads a session's events, the closers of an interrupted turn included. With each comes what it
    /// replaced on the surface. Events come before it is known whether the log is refused, so on an
    /// error everything the sink got must be thrown away.
    ///
    /// # Errors
    /// The log is damaged, of an unknown format, or unreadable.
    pub fn read(
        &self,
        record: &Record,
        sink: &mut dyn FnMut(&Event<'_>, Option<&Replacement>),
    ) -> Result<LogSummary, Failure> {
        self.read_items(record, Mode::AsDsh, &mut |item| {
            if let Item::Event(event, replaced) = item {
                sink(event, replaced);
            }
        })
    }

    /// Reads a session's events in a mode; in salvage mode with what is wrong in between.
    ///
    /// # Errors
    /// As [`Corpus::read`]; in salvage mode only what the operating system refuses.
    pub fn read_items(
        &self,
        record: &Record,
        mode: Mode,
        sink: &mut dyn FnMut(Item<'_, '_>),
    ) -> Result<LogSummary, Failure> {
        self.store.read(&record.stored, mode, sink).map_err(failure)
    }

    /// The anchor at a place where a reading of a session's log ended; `None` of a store that has none.
    ///
    /// # Errors
    /// The log is unreadable.
    pub fn anchor(&self, record: &Record, end: u64) -> Result<Option<Anchor>, Failure> {
        self.store.anchor(&record.stored, end).map_err(failure)
    }

    /// Reads the events behind an anchor, and closers. `None`: the log must be read whole, and what the
    /// sink got must be thrown away.
    ///
    /// # Errors
    /// The log is unreadable.
    pub fn read_tail(
        &self,
        record: &Record,
        anchor: &Anchor,
        before: Before,
        sink: &mut dyn FnMut(&Event<'_>),
    ) -> Result<Option<LogSummary>, Failure> {
        let mut events = |item: Item<'_, '_>| {
            if let Item::Event(event, _) = item {
                sink(event);
            }
        };
        self.store.read_tail(&record.stored, anchor, before, &mut events).map_err(failure)
    }

    /// Whether any block of a session's stored rows passes a test, without decoding them. The test sees
    /// whole lines; a log that cannot be read that way says yes.
    ///
    /// # Errors
    /// The operating system said no.
    pub fn any_block(&self, record: &Record, test: &mut BlockTest<'_>) -> Result<bool, Failure> {
        self.store.any_block(&record.stored, test).map_err(failure)
    }

    /// The revisions of sessions, in their order; `None` where one could not be had.
    pub fn revisions(&self, records: &[&Record]) -> Vec<Option<Revision>> {
        let stored: Vec<&StoredSession> = records.iter().map(|record| &record.stored).collect();
        self.store.revisions(&stored)
    }

    /// Hands on a session's stored lines as they are, header first, each with its line feed.
    ///
    /// # Errors
    /// The log is unreadable, or the sink failed.
    pub fn read_lines(&self, record: &Record, sink: &mut dyn FnMut(&[u8]) -> io::Result<()>) -> Result<(), Failure> {
        self.store.read_lines(&record.stored, sink).map_err(failure)
    }
}

/// Which working directories exist, each looked up once.
#[derive(Debug, Default)]
pub struct Directories {
    known: HashMap<JsString, bool>,
}

impl Directories {
    /// Whether a session's working directory is there. `None`: it has none.
    pub fn exists(&mut self, record: &Record) -> Option<bool> {
        let cwd = record.stored.header.cwd.as_ref()?;
        if let Some(exists) = self.known.get(cwd) {
            return Some(*exists);
        }
        let exists = cwd.to_str().is_some_and(|cwd| Path::new(cwd).is_dir());
        self.known.insert(cwd.clone(), exists);
        Some(exists)
    }
}

/// dsh 0.1.5 and later hold a lock while they write; before, nothing tells.
fn live(stored: &StoredSession, held: Option<&HeldLocks>) -> Option<bool> {
    if stored.format_version < 3 {
        return None;
    }
    match (&stored.lock, held) {
        (None, _) => Some(false),
        (Some(lock), Some(held)) => held.is_held(lock),
        (Some(_), None) => None,
    }
}

fn newest_first(order: &LocaleOrder, a: &Record, b: &Record) -> Ordering {
    let by_time = b.stored.header.created_at.cmp(&a.stored.header.created_at);
    // Ids that the collation holds equal, and the same id twice, still need one order.
    by_time
        .then_with(|| order.compare(a.id(), b.id()))
        .then_with(|| a.id().cmp(b.id()))
        .then_with(|| a.stored.path.cmp(&b.stored.path))
}

/// The failure of a read that needs a surface, where the log's does not fold.
impl From<SurfaceError> for Failure {
    fn from(error: SurfaceError) -> Failure {
        Failure::new(Code::InvalidSurface, error.to_string())
    }
}

/// Turns what a store says into a failure with the code dsh has for it.
pub fn failure(error: ReadError) -> Failure {
    let message = error.to_string();
    match error {
        ReadError::Io { .. } => Failure::new(Code::Io, message),
        ReadError::Refused(problem) => {
            let code = match problem.kind {
                ProblemKind::Unreadable => Code::Io,
                ProblemKind::InvalidSurface => Code::InvalidSurface,
                _ if problem.is_unsupported => Code::UnsupportedFormat,
                _ => Code::CorruptSession,
            };
            let mut failure = Failure::new(code, message);
            if code == Code::CorruptSession || code == Code::InvalidSurface {
                failure = failure.hint("`--salvage` shows what can still be decoded");
            }
            failure.problem = Some(problem);
            failure
        }
    }
}
