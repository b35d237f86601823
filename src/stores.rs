//! Where sessions are stored, and how their logs are read.
//!
//! A store lists its sessions by their headers and reads the events of one. What an event means is not
//! its business: rows go to [`crate::generations`], events to whoever asked.

pub mod jsonl;
pub mod revision;
pub mod spill;
pub mod spool;
pub mod sqlite;
pub mod steps;
pub mod storage_unit;

use crate::generations::{Before, Finished, Item, Mode};
use crate::model::header::Header;
use crate::model::problem::{Fault, Problem};
use revision::Revision;
use std::fmt;
use std::io;
use std::path::PathBuf;

/// How a log is encoded where it lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Encoding {
    /// Lines of text.
    Plain,
    /// Lines of text in Zstandard frames.
    Zstd,
    /// Rows of a SQLite database.
    Sqlite,
}

impl Encoding {
    /// The stable name.
    pub fn name(self) -> &'static str {
        match self {
            Encoding::Plain => "plain",
            Encoding::Zstd => "zstd",
            Encoding::Sqlite => "sqlite",
        }
    }
}

/// One session as a store lists it.
#[derive(Clone, Debug)]
pub struct StoredSession {
    /// The header. Where the log is refused for its header, as much of it as could be read.
    pub header: Header,
    /// The format generation of the log that counts: that of its file name.
    pub format_version: u64,
    /// Every generation that lies beside it, rising.
    pub generations: Vec<u64>,
    /// How the log is encoded.
    pub encoding: Encoding,
    /// The log file, or the database.
    pub path: PathBuf,
    /// The size of the log file in bytes; of a session in a database, unknown.
    pub bytes: Option<u64>,
    /// The lock file that a dsh holds while it writes, where the generation has one.
    pub lock: Option<PathBuf>,
    /// Why the log cannot be read, if its header already tells.
    pub refusal: Option<Problem>,
    /// Whether dsh cannot list the whole store because of this session.
    pub identity: Identity,
}

/// Whether a session lies where its header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Identity {
    /// It does.
    Fits,
    /// Its id or working directory name another place.
    Elsewhere,
}

/// What a store holds.
#[derive(Debug, Default)]
pub struct Listing {
    /// The sessions, in no particular order.
    pub sessions: Vec<StoredSession>,
    /// What else was found and is wrong.
    pub problems: Vec<Problem>,
    /// Whether the dsh of this store's newest generation could list it, or would give up.
    pub dsh_lists: bool,
}

/// Why a store or a log could not be read.
#[derive(Debug)]
pub enum ReadError {
    /// The operating system said no.
    Io {
        /// What was to be read.
        path: PathBuf,
        /// Why it could not.
        source: io::Error,
    },
    /// The log is one that its dsh refuses.
    Refused(Box<Problem>),
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReadError::Io { path, source } => write!(f, "could not read {}: {source}", path.display()),
            ReadError::Refused(problem) => problem.fmt(f),
        }
    }
}

impl std::error::Error for ReadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            ReadError::Io { source, .. } => Some(source),
            ReadError::Refused(_) => None,
        }
    }
}

/// A log that was read to its end.
#[derive(Debug)]
pub struct LogSummary {
    /// What the decoder made of it.
    pub finished: Finished,
    /// What is wrong with it although it loads: a torn tail, rows that were dropped.
    pub warnings: Vec<Problem>,
    /// Where in the file the rows end; unknown of a session in a database.
    pub end: Option<u64>,
}

/// A place in a log up to which it was read, and by which the log is known again: the last bytes before
/// the place, of which there is a digest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Anchor {
    /// Where those bytes begin.
    pub start: u64,
    /// Where they end, and a row that comes later begins.
    pub end: u64,
    /// Their SHA-256.
    pub digest: [u8; 32],
}

/// Where the events of a log go. Events come before it is known whether the log is refused.
pub type EventSink<'s> = dyn FnMut(Item<'_, '_>) + 's;

/// A place that holds sessions.
pub trait Store: Sync {
    /// Lists what is there.
    ///
    /// # Errors
    /// The store itself cannot be read. A session that cannot is a problem in the listing.
    fn list(&self) -> Result<Listing, ReadError>;

    /// Reads the events of a session, closers included, up to where the log ended when it was opened.
    ///
    /// # Errors
    /// The log is refused or unreadable; what the sink got must be thrown away.
    fn read(&self, session: &StoredSession, mode: Mode, sink: &mut EventSink<'_>) -> Result<LogSummary, ReadError>;

    /// The anchor at a place where a reading of the log ended. `None`: this store has none.
    ///
    /// # Errors
    /// The log is unreadable.
    fn anchor(&self, session: &StoredSession, end: u64) -> Result<Option<Anchor>, ReadError>;

    /// Reads the events behind an anchor, and closers. `None`: the log must be read whole, because it is
    /// not the one the anchor was in any more, or because what follows is not in order by itself. What the
    /// sink got must then be thrown away.
    ///
    /// # Errors
    /// The log is unreadable.
    fn read_tail(
        &self,
        session: &StoredSession,
        anchor: &Anchor,
        before: Before,
        sink: &mut EventSink<'_>,
    ) -> Result<Option<LogSummary>, ReadError>;

    /// Hands on the stored lines of a session as they are, header first, each with its line feed.
    ///
    /// # Errors
    /// The log is unreadable, or the sink failed.
    fn read_lines(
        &self,
        session: &StoredSession,
        sink: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    ) -> Result<(), ReadError>;

    /// Whether any part of the stored rows passes a test, without decoding them. The test sees blocks of
    /// whole lines. A log that cannot be read that way says yes: whoever decodes it will find out why.
    ///
    /// # Errors
    /// The operating system said no.
    fn any_block(&self, session: &StoredSession, test: &mut BlockTest<'_>) -> Result<bool, ReadError>;

    /// The revisions of sessions, in their order. `None`: it could not be had.
    fn revisions(&self, sessions: &[&StoredSession]) -> Vec<Option<Revision>>;
}

/// A test of a block of whole lines.
pub type BlockTest<'t> = dyn FnMut(&[u8]) -> bool + 't;

/// Turns a fault into an error about a file.
pub(crate) fn refused(fault: Fault, path: &std::path::Path, session: &Header) -> ReadError {
    ReadError::Refused(Box::new(fault.into_problem(path, Some(session.id.clone()))))
}
