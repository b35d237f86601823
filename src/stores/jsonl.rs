//! Sessions as files: `<root>/<project>/<session>/session[.vN].jsonl[.zstd]` (formats.md §1, §5).

mod append;
mod batch;
mod blocks;
mod discover;
mod dsh_listing;
mod frames;
mod head;
pub mod layout;
pub mod lease;
mod lines;
mod log_state;
mod publish;
mod scan;
mod tail;
mod write_fault;

pub use append::{Addition, AppendError, Appended, Assurance, Batch, Look, OpenLog, Outcome, STILL_FOR, Verdict};
pub use log_state::LogState;
pub use publish::{PublishError, Published};
pub use write_fault::{WriteFault, WriteFaultKind};

use super::revision::Revision;
use super::steps::Steps;
use super::{Anchor, BlockTest, Encoding, EventSink, Listing, LogSummary, ReadError, Store, StoredSession};
use crate::generations::encode::{NewEvent, NewSession};
use crate::generations::{Before, Mode};
use std::io;
use std::path::{Path, PathBuf};

/// A sessions directory.
#[derive(Debug)]
pub struct JsonlStore {
    root: PathBuf,
}

impl JsonlStore {
    /// The store at a directory, which need not exist.
    pub fn new(root: impl Into<PathBuf>) -> JsonlStore {
        JsonlStore { root: root.into() }
    }

    /// The directory.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Appends one message to a session of this store: to the newest log its directory holds by then, as
    /// the last event and the last node of the surface. `look` sees the log first, once without the
    /// session's lock and once with it. Does not wait for the lock; a caller that wants to calls again.
    ///
    /// # Errors
    /// Nothing was appended; the log has the bytes it had, except as [`AppendError::NotUndone`] says.
    pub fn append(
        &self,
        session: &StoredSession,
        addition: &Addition<'_>,
        look: &mut dyn Look,
        steps: &mut dyn Steps,
    ) -> Result<Outcome, AppendError> {
        append::append(&self.root, session, addition, look, steps)
    }

    /// Says what [`JsonlStore::append`] would do, and changes nothing. `None`: it would append; a seq: what
    /// was to be appended is there.
    ///
    /// # Errors
    /// It would append nothing.
    pub fn check_append(
        &self,
        session: &StoredSession,
        addition: &Addition<'_>,
        look: &mut dyn Look,
    ) -> Result<Option<u64>, AppendError> {
        append::check(&self.root, session, addition, look)
    }

    /// Opens the log of a session for a turn that is to follow its last: takes the session's lock, and keeps
    /// it until the log is appended to or dropped. Does not wait for the lock.
    ///
    /// # Errors
    /// The log takes nothing now, or somebody else has the lock.
    pub fn open_log(
        &self,
        session: &StoredSession,
        assurance: &Assurance,
        now: i64,
        steps: &mut dyn Steps,
    ) -> Result<OpenLog, AppendError> {
        append::open(&self.root, session, assurance, now, steps)
    }

    /// Says whether [`JsonlStore::open_log`] would open the log, and changes nothing.
    ///
    /// # Errors
    /// It would not.
    pub fn check_open_log(&self, session: &StoredSession, assurance: &Assurance, now: i64) -> Result<(), AppendError> {
        append::check_open(&self.root, session, assurance, now)
    }

    /// Makes a new session in this store with these events, all of the time of its creation. It appears
    /// whole or not at all. The encoding is to be that of the store's other sessions: dsh gives up on a
    /// store that holds both.
    ///
    /// # Errors
    /// No session was made, and nothing is left.
    pub fn publish(
        &self,
        session: &NewSession,
        encoding: Encoding,
        events: &[NewEvent<'_>],
        steps: &mut dyn Steps,
    ) -> Result<Published, PublishError> {
        publish::publish(&self.root, session, encoding, events, steps)
    }

    /// Removes what a crash left of a session that [`JsonlStore::publish`] was to make. One that is there
    /// stays.
    ///
    /// # Errors
    /// The operating system said no.
    pub fn discard(&self, session: &NewSession) -> io::Result<()> {
        publish::discard(&self.root, session)
    }
}

impl Store for JsonlStore {
    fn list(&self) -> Result<Listing, ReadError> {
        discover::list(&self.root)
    }

    fn read(&self, session: &StoredSession, mode: Mode, sink: &mut EventSink<'_>) -> Result<LogSummary, ReadError> {
        scan::read(session, mode, sink)
    }

    fn anchor(&self, session: &StoredSession, end: u64) -> Result<Option<Anchor>, ReadError> {
        tail::anchor(session, end)
    }

    fn read_tail(
        &self,
        session: &StoredSession,
        anchor: &Anchor,
        before: Before,
        sink: &mut EventSink<'_>,
    ) -> Result<Option<LogSummary>, ReadError> {
        tail::read(session, anchor, before, sink)
    }

    fn read_lines(
        &self,
        session: &StoredSession,
        sink: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    ) -> Result<(), ReadError> {
        scan::read_lines(session, sink)
    }

    fn any_block(&self, session: &StoredSession, test: &mut BlockTest<'_>) -> Result<bool, ReadError> {
        blocks::any(session, test)
    }

    fn revisions(&self, sessions: &[&StoredSession]) -> Vec<Option<Revision>> {
        let revision = |session: &&StoredSession| std::fs::metadata(&session.path).ok();
        sessions.iter().map(|session| revision(session).as_ref().map(Revision::of_file)).collect()
    }
}
