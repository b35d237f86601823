//! Sessions as files: `<root>/<project>/<session>/session[.vN].jsonl[.zstd]` (formats.md §1, §5).

mod blocks;
mod discover;
mod dsh_listing;
mod frames;
mod head;
pub mod layout;
pub mod lease;
mod lines;
mod scan;
mod tail;

use super::revision::Revision;
use super::{Anchor, BlockTest, EventSink, Listing, LogSummary, ReadError, Store, StoredSession};
use crate::generations::{Before, Mode};
use std::io;
use std::path::{Path, PathBuf};

/// A sessions directory.
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
