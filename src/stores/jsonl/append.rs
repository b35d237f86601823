//! Appending one message to the log of a session that somebody else owns, or a turn to one that is ours
//! (formats.md §11, DESIGN §5).
//!
//! First the log is examined without touching anything, so that a refusal leaves no trace. Then the
//! session's lease is taken, everything is looked at again, because a dsh may have written or migrated
//! in between, and one record is written behind the last. What could not be written whole is taken back;
//! what was written is read back before anybody is told that it is there.
//!
//! dsh up to 0.1.2, which writes v0, takes no lock. Nothing on the disk tells that none is running, so for
//! a v0 log the caller must bring an [`Assurance`].
//!
//! Who writes a turn keeps the lease while the model answers, as a dsh does: that is an [`OpenLog`].
//!
//! The steps an observer is told of are `lock-open`, `lock`, `log-open`, `log-write`, `log-sync`, and after
//! a failure `undo`, `undo-sync`.

use super::batch;
use super::discover::{Rival, rival, session_in};
use super::lease::{HeldLocks, Lease, LeaseError};
use super::log_state::LogState;
use super::scan;
use super::write_fault::WriteFault;
use crate::generations::encode::{NewEvent, PluginMessage, event_row};
use crate::generations::{Finished, Generation, Item, Mode};
use crate::model::acceptance::{Acceptance, Obstacle};
use crate::model::event::Event;
use crate::model::json::View;
use crate::model::message::message_of;
use crate::model::problem::{Problem, ProblemKind};
use crate::stores::revision::Revision;
use crate::stores::steps::{Steps, take};
use crate::stores::{Encoding, ReadError, StoredSession};
use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// For how many milliseconds a v0 log must not have changed. dsh writes what it has gathered every 200.
pub const STILL_FOR: i64 = 1_000;

/// What is to be appended.
#[derive(Clone, Debug)]
pub struct Addition<'a> {
    /// The message.
    pub message: &'a PluginMessage,
    /// Now, in milliseconds since the epoch. The event gets this time, or the last event's if that is
    /// later.
    pub now: i64,
    /// Why no dsh can be writing to a v0 log. Other generations need none.
    pub assurance: &'a Assurance,
}

/// Why no dsh can be writing to a v0 log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Assurance {
    /// There is no reason to think so.
    None,
    /// The user says that no dsh has the session open. The log must not have changed for [`STILL_FOR`].
    Offline,
    /// The log is one we made, and has exactly the bytes that we wrote last: a dsh that opens a session
    /// adds to its log.
    Ours(LogState),
}

/// Somebody who looks at the log before anything is appended to it, and may decide otherwise.
pub trait Look {
    /// The log is about to be read, maybe not for the first time. What was seen before is void.
    fn begin(&mut self, session: &StoredSession);
    /// An event of the log, in order.
    fn event(&mut self, event: &Event<'_>);
    /// The log has been read to its end, and dsh would load it.
    fn verdict(&mut self) -> Verdict;
}

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Append.
    Append,
    /// What was to be appended is there already, at this seq. This holds whatever else stands against an
    /// append: a log only grows.
    Present(u64),
    /// Append nothing.
    Refuse,
}

/// What became of an addition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was appended.
    Appended(Appended),
    /// It was there already.
    Present {
        /// Where.
        seq: u64,
    },
}

/// What was appended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Appended {
    /// The seq of the event.
    pub seq: u64,
    /// Its time.
    pub time: i64,
    /// The generation of the log it is in, which may be newer than the one the caller saw.
    pub generation: Generation,
    /// The log file it is in.
    pub path: PathBuf,
    /// The log's content now, for a v0 log: what [`Assurance::Ours`] wants next time.
    pub state: Option<LogState>,
}

/// Why nothing was appended. [`AppendError::is_pending`] tells what time may cure.
#[derive(Debug)]
pub enum AppendError {
    /// The session lies in a database, which is not written to.
    Database,
    /// There is no such session directory any more, or no log in it.
    Gone(PathBuf),
    /// The log is of a generation that is not written: v1, v2, or one that is not known.
    Generation(u64),
    /// The header cannot be read, or the log is damaged.
    Damaged(Box<Problem>),
    /// The log holds what nobody here knows.
    Unsupported(Box<Problem>),
    /// Plain and compressed logs of the session lie side by side.
    MixedEncoding(Box<Problem>),
    /// The session does not lie where its header says.
    Elsewhere(Box<Problem>),
    /// Another directory holds the same session.
    Duplicate(PathBuf),
    /// A log lies in a project directory itself, for which dsh refuses the whole store.
    FlatLayout(PathBuf),
    /// The log, or its directory, is a symbolic link.
    Linked(PathBuf),
    /// The lock is a symbolic link. A dsh would empty the file it leads to.
    LinkedLock(PathBuf),
    /// Another session's agent owns the session.
    Subagent,
    /// No step has begun in the log; a message now would keep it from being migrated, for ever.
    NoStep,
    /// The surface has no system message at its head; a message now would make the log unreadable.
    NoSystemHead,
    /// The log has a message of this id.
    MessageIdTaken,
    /// The caller's [`Look`] wanted nothing appended.
    Vetoed,
    /// The file system has no locks.
    NoLocks(io::Error),
    /// Somebody has the session open for writing.
    Held,
    /// The lock file was replaced while it was being locked.
    LockReplaced,
    /// The log ends in something unfinished, which dsh cuts off when it opens the session.
    Unfinished(Box<Problem>),
    /// The last turn has no end.
    OpenTurn {
        /// Whether its dsh has gone, so that the turn ends when the session is opened again. `None`: there
        /// is no telling.
        is_crashed: Option<bool>,
    },
    /// A compaction has no end.
    OpenCompaction {
        /// As for a turn.
        is_crashed: Option<bool>,
    },
    /// A v0 log, and nothing proves that no dsh is writing to it.
    Unproven,
    /// A v0 log whose bytes are not those we wrote last.
    Changed,
    /// The log changed a moment ago, or while it was read.
    Moving,
    /// The log could not be read.
    Unreadable(ReadError),
    /// The write failed, and nothing of it is left.
    Write(WriteFault),
    /// The write failed, and could not be taken back: dsh will drop what is left of it, or the log holds
    /// the whole message. Look before appending again.
    NotUndone {
        /// What failed.
        fault: WriteFault,
        /// Why it could not be taken back.
        undo: String,
    },
    /// What was written did not read back as it should, and was taken back.
    NotReadBack(String),
}

impl AppendError {
    /// Whether the same addition may succeed later without anybody giving in: the session is busy, or it
    /// cannot be proved that it is not. What is not pending is refused until something about the session,
    /// the store, or the system has been changed.
    pub fn is_pending(&self) -> bool {
        matches!(
            self,
            AppendError::Held
                | AppendError::LockReplaced
                | AppendError::Unfinished(_)
                | AppendError::OpenTurn { .. }
                | AppendError::OpenCompaction { .. }
                | AppendError::Unproven
                | AppendError::Changed
                | AppendError::Moving
        )
    }

    /// A stable name, in lower case with hyphens.
    pub fn reason(&self) -> &'static str {
        match self {
            AppendError::Database => "database-store",
            AppendError::Gone(_) => "session-gone",
            AppendError::Generation(_) => "generation-not-written",
            AppendError::Damaged(_) => "damaged-log",
            AppendError::Unsupported(_) => "unsupported-log",
            AppendError::MixedEncoding(_) => "mixed-encoding",
            AppendError::Elsewhere(_) => "identity-mismatch",
            AppendError::Duplicate(_) => "duplicate-id",
            AppendError::FlatLayout(_) => "flat-layout",
            AppendError::Linked(_) => "linked-log",
            AppendError::LinkedLock(_) => "linked-lock",
            AppendError::Subagent => "subagent-session",
            AppendError::NoStep => "no-step",
            AppendError::NoSystemHead => "no-system-head",
            AppendError::MessageIdTaken => "message-id-taken",
            AppendError::Vetoed => "vetoed",
            AppendError::NoLocks(_) => "no-locks",
            AppendError::Held => "session-held",
            AppendError::LockReplaced => "lock-replaced",
            AppendError::Unfinished(_) => "unfinished-tail",
            AppendError::OpenTurn { .. } => "open-turn",
            AppendError::OpenCompaction { .. } => "open-compaction",
            AppendError::Unproven => "unproven-offline",
            AppendError::Changed => "log-changed",
            AppendError::Moving => "log-moving",
            AppendError::Unreadable(_) => "unreadable-log",
            AppendError::Write(_) => "write-failed",
            AppendError::NotUndone { .. } => "write-not-undone",
            AppendError::NotReadBack(_) => "not-read-back",
        }
    }

    /// What a person can do about it.
    pub fn advice(&self) -> &'static str {
        match self {
            AppendError::Database | AppendError::Generation(_) => "paste the text into the session yourself",
            AppendError::Gone(_) => "look for the session with `dshkit sessions list`",
            AppendError::Damaged(_) | AppendError::Unsupported(_) => "see what is wrong with `dshkit sessions check`",
            AppendError::MixedEncoding(_)
            | AppendError::Elsewhere(_)
            | AppendError::Duplicate(_)
            | AppendError::FlatLayout(_)
            | AppendError::Linked(_) => "dsh itself does not open this; put the files right first",
            AppendError::LinkedLock(_) => "remove the link; the lock is made when it is needed",
            AppendError::Subagent => "use the session that started it",
            AppendError::NoStep | AppendError::NoSystemHead => "send the session a prompt in dsh first",
            AppendError::MessageIdTaken | AppendError::Vetoed => "nothing was to be added",
            AppendError::NoLocks(_) => "keep the store on a local file system",
            AppendError::Held => "it can be delivered when nobody has the session open any more",
            AppendError::LockReplaced | AppendError::Moving => "try again in a moment",
            AppendError::Unfinished(_)
            | AppendError::OpenTurn { is_crashed: Some(true) }
            | AppendError::OpenCompaction { is_crashed: Some(true) } => {
                "open the session in dsh once, which repairs it, and close it again"
            }
            AppendError::OpenTurn { .. } | AppendError::OpenCompaction { .. } => "wait until the turn has ended",
            AppendError::Unproven => "say `--offline` if no dsh has this session open",
            AppendError::Changed => "a dsh has opened it; say `--offline` if none has it open now",
            AppendError::Unreadable(_) | AppendError::Write(_) => "nothing was changed",
            AppendError::NotUndone { .. } => "see what is there with `dshkit sessions check`",
            AppendError::NotReadBack(_) => "nothing was changed; please report this",
        }
    }
}

impl fmt::Display for AppendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AppendError::Database => f.write_str("a session in a SQLite database is not written to"),
            AppendError::Gone(path) => write!(f, "there is no session in {}", path.display()),
            AppendError::Generation(version) => write!(f, "a log of format v{version} is not written to"),
            AppendError::Damaged(problem)
            | AppendError::Unsupported(problem)
            | AppendError::MixedEncoding(problem)
            | AppendError::Elsewhere(problem)
            | AppendError::Unfinished(problem) => problem.fmt(f),
            AppendError::Duplicate(path) => write!(f, "the same session lies in {} too", path.display()),
            AppendError::FlatLayout(path) => {
                write!(f, "{} lies where no log may; dsh refuses the whole store", path.display())
            }
            AppendError::Linked(path) | AppendError::LinkedLock(path) => {
                write!(f, "{} is a symbolic link", path.display())
            }
            AppendError::Subagent => f.write_str("the session belongs to another session's agent"),
            AppendError::NoStep => f.write_str("no turn has reached a model in this session yet"),
            AppendError::NoSystemHead => f.write_str("the conversation does not begin with a system message"),
            AppendError::MessageIdTaken => f.write_str("the log has a message of this id already"),
            AppendError::Vetoed => f.write_str("what the log holds speaks against it"),
            AppendError::NoLocks(error) => write!(f, "the session cannot be locked: {error}"),
            AppendError::Held => f.write_str("a dsh or another dshkit has the session open"),
            AppendError::LockReplaced => f.write_str("the session's lock file was replaced while it was being locked"),
            AppendError::OpenTurn { is_crashed: Some(true) } => f.write_str("the last turn was cut off"),
            AppendError::OpenTurn { .. } => f.write_str("the last turn has not ended"),
            AppendError::OpenCompaction { is_crashed: Some(true) } => f.write_str("the last compaction was cut off"),
            AppendError::OpenCompaction { .. } => f.write_str("a compaction has not ended"),
            AppendError::Unproven => {
                f.write_str("nothing proves that no dsh has the session open: the dsh of format v0 takes no lock")
            }
            AppendError::Changed => f.write_str("the log is not as we left it"),
            AppendError::Moving => f.write_str("the log has just changed"),
            AppendError::Unreadable(error) => error.fmt(f),
            AppendError::Write(fault) => fault.fmt(f),
            AppendError::NotUndone { fault, undo } => write!(f, "{fault}; it could not be taken back: {undo}"),
            AppendError::NotReadBack(message) => write!(f, "what was written did not read back: {message}"),
        }
    }
}

impl std::error::Error for AppendError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            AppendError::NoLocks(error) => Some(error),
            AppendError::Unreadable(error) => Some(error),
            AppendError::Write(fault) | AppendError::NotUndone { fault, .. } => Some(fault),
            _ => None,
        }
    }
}

/// What decides whether a log takes something, beside the log.
struct Terms<'t> {
    /// The id of the message, which must be new to the log. `None`: the ids were just made.
    id: Option<&'t str>,
    now: i64,
    assurance: &'t Assurance,
}

impl<'a> Addition<'a> {
    fn terms(&self) -> Terms<'a> {
        Terms { id: Some(&self.message.id), now: self.now, assurance: self.assurance }
    }
}

/// Rows that are appended together, all or none.
#[derive(Clone, Copy, Debug)]
pub struct Batch<'b> {
    /// The rows, without their line feeds.
    pub rows: &'b [String],
    /// How many events they are.
    pub events: u64,
    /// The id of the last message among them that a model sees; `None` if there is none.
    pub last_message: Option<&'b str>,
}

/// A log that is open for writing. Nobody else who heeds the session's lock can write to it, until this is
/// dropped.
pub struct OpenLog {
    ready: Box<Ready>,
    _lease: Lease,
}

impl OpenLog {
    /// The generation of the log.
    pub fn generation(&self) -> Generation {
        self.ready.generation
    }

    /// The seq of the next event.
    pub fn next_seq(&self) -> u64 {
        self.ready.seq
    }

    /// The earliest time the next event may have, in milliseconds since the epoch.
    pub fn earliest(&self) -> i64 {
        self.ready.time
    }

    /// Appends rows, the first of which has [`OpenLog::next_seq`].
    ///
    /// # Errors
    /// Nothing was appended; the log has the bytes it had, except as [`AppendError::NotUndone`] says.
    pub fn append(self, batch: &Batch<'_>, steps: &mut dyn Steps) -> Result<Appended, AppendError> {
        write(&self.ready, batch, steps)
    }
}

/// What became of opening a log.
enum Entered {
    Open(OpenLog),
    Present(u64),
}

/// A log that takes what is to be appended.
struct Ready {
    session: StoredSession,
    generation: Generation,
    /// What the log file was when it was read.
    revision: Revision,
    /// The seq and time of the new event.
    seq: u64,
    time: i64,
}

enum Examined {
    Ready(Box<Ready>),
    Present(u64),
}

/// Says what [`append`] would do now, and changes nothing. `None`: it would append.
pub(super) fn check(
    root: &Path,
    session: &StoredSession,
    addition: &Addition<'_>,
    look: &mut dyn Look,
) -> Result<Option<u64>, AppendError> {
    match examine(root, &directory_of(session)?, &addition.terms(), look, Holder::Unknown)? {
        Examined::Ready(_) => Ok(None),
        Examined::Present(seq) => Ok(Some(seq)),
    }
}

/// Appends a message.
pub(super) fn append(
    root: &Path,
    session: &StoredSession,
    addition: &Addition<'_>,
    look: &mut dyn Look,
    steps: &mut dyn Steps,
) -> Result<Outcome, AppendError> {
    match enter(root, session, &addition.terms(), look, steps)? {
        Entered::Present(seq) => Ok(Outcome::Present { seq }),
        Entered::Open(log) => {
            let ready = &log.ready;
            let event = NewEvent::Message(addition.message);
            let row = event_row(ready.generation, ready.seq, ready.time, &event);
            let batch = Batch { rows: &[row], events: 1, last_message: Some(&addition.message.id) };
            log.append(&batch, steps).map(Outcome::Appended)
        }
    }
}

/// Opens a log for what is to follow its last turn.
pub(super) fn open(
    root: &Path,
    session: &StoredSession,
    assurance: &Assurance,
    now: i64,
    steps: &mut dyn Steps,
) -> Result<OpenLog, AppendError> {
    match enter(root, session, &Terms { id: None, now, assurance }, &mut Unconcerned, steps)? {
        Entered::Open(log) => Ok(log),
        Entered::Present(_) => Err(AppendError::Vetoed),
    }
}

/// Says what [`open`] would do now, and changes nothing.
pub(super) fn check_open(
    root: &Path,
    session: &StoredSession,
    assurance: &Assurance,
    now: i64,
) -> Result<(), AppendError> {
    let terms = Terms { id: None, now, assurance };
    examine(root, &directory_of(session)?, &terms, &mut Unconcerned, Holder::Unknown).map(drop)
}

/// Somebody to whom it does not matter what the log holds.
struct Unconcerned;

impl Look for Unconcerned {
    fn begin(&mut self, _session: &StoredSession) {}

    fn event(&mut self, _event: &Event<'_>) {}

    fn verdict(&mut self) -> Verdict {
        Verdict::Append
    }
}

/// Takes the lease of a session whose log takes what is to be appended.
fn enter(
    root: &Path,
    session: &StoredSession,
    terms: &Terms<'_>,
    look: &mut dyn Look,
    steps: &mut dyn Steps,
) -> Result<Entered, AppendError> {
    let directory = directory_of(session)?;
    match examine(root, &directory, terms, look, Holder::Unknown)? {
        Examined::Present(seq) => return Ok(Entered::Present(seq)),
        // A log that we may not write to needs no lock file beside it.
        Examined::Ready(ready) => drop(open_log(&ready.session.path).map_err(|error| refused_write(&ready, error))?),
    }
    let lease = Lease::take(&directory, steps).map_err(|error| match error {
        LeaseError::Held => AppendError::Held,
        LeaseError::Replaced => AppendError::LockReplaced,
        LeaseError::NoLocks(error) => AppendError::NoLocks(error),
        LeaseError::Io(error) => AppendError::Write(WriteFault::new(&directory.join(super::layout::LOCK), error)),
    })?;
    match examine(root, &directory, terms, look, Holder::Us)? {
        Examined::Present(seq) => Ok(Entered::Present(seq)),
        Examined::Ready(ready) => Ok(Entered::Open(OpenLog { ready, _lease: lease })),
    }
}

fn directory_of(session: &StoredSession) -> Result<PathBuf, AppendError> {
    if session.encoding == Encoding::Sqlite {
        return Err(AppendError::Database);
    }
    session.path.parent().map(Path::to_owned).ok_or_else(|| AppendError::Gone(session.path.clone()))
}

/// Who has the session's lease.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Holder {
    Us,
    /// The kernel's list of locks may tell.
    Unknown,
}

/// Looks at everything that decides.
fn examine(
    root: &Path,
    directory: &Path,
    terms: &Terms<'_>,
    look: &mut dyn Look,
    holder: Holder,
) -> Result<Examined, AppendError> {
    let session = locate(root, directory)?;
    let generation = match Generation::of_version(session.format_version) {
        Some(generation @ (Generation::V0 | Generation::V3 | Generation::V4)) => generation,
        _ => return Err(AppendError::Generation(session.format_version)),
    };
    if let Some(refusal) = &session.refusal {
        return Err(refused(refusal.clone()));
    }
    if session.header.is_subagent {
        return Err(AppendError::Subagent);
    }
    let read_error = |source| AppendError::Unreadable(ReadError::Io { path: root.to_owned(), source });
    match rival(root, directory).map_err(read_error)? {
        Some(Rival::Namesake(path)) => return Err(AppendError::Duplicate(path)),
        Some(Rival::Flat(path)) => return Err(AppendError::FlatLayout(path)),
        None => {}
    }
    let revision = revision_of(&session.path)?;
    let read = read(&session, generation, terms.id, look)?;
    match look.verdict() {
        Verdict::Append => {}
        Verdict::Present(seq) => return Ok(Examined::Present(seq)),
        Verdict::Refuse => return Err(AppendError::Vetoed),
    }
    let is_held = match (holder, &session.lock) {
        (Holder::Us, _) | (Holder::Unknown, None) => Some(false),
        (Holder::Unknown, Some(lock)) => HeldLocks::read().is_held(lock),
    };
    if is_held == Some(true) {
        return Err(AppendError::Held);
    }
    if let Some(tail) = read.warnings.into_iter().next() {
        return Err(AppendError::Unfinished(Box::new(tail)));
    }
    // Without a lock a v0 log does not tell whether its dsh is at work.
    let is_crashed = is_held.filter(|_| generation > Generation::V0).map(|is_held| !is_held);
    match read.obstacle {
        Some(Obstacle::OpenTurn) => return Err(AppendError::OpenTurn { is_crashed }),
        Some(Obstacle::OpenCompaction) => return Err(AppendError::OpenCompaction { is_crashed }),
        Some(Obstacle::NoStep) => return Err(AppendError::NoStep),
        Some(Obstacle::NoSystemHead) => return Err(AppendError::NoSystemHead),
        None => {}
    }
    if read.has_id {
        return Err(AppendError::MessageIdTaken);
    }
    if generation == Generation::V0 {
        assure(terms, &session.path, revision)?;
    }
    if revision_of(&session.path)? != revision {
        return Err(AppendError::Moving);
    }
    let time = read.last_time.map_or(terms.now, |last| last.max(terms.now));
    let seq = read.finished.stored_events;
    Ok(Examined::Ready(Box::new(Ready { session, generation, revision, seq, time })))
}

/// The newest log of a session directory. Nothing on the way to it may be a link, which could lead anywhere.
fn locate(root: &Path, directory: &Path) -> Result<StoredSession, AppendError> {
    let is_link = |path: &Path| fs::symlink_metadata(path).map(|metadata| metadata.is_symlink());
    for path in [directory.parent(), Some(directory)].into_iter().flatten() {
        match is_link(path) {
            Ok(true) => return Err(AppendError::Linked(path.to_owned())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(AppendError::Gone(directory.to_owned()));
            }
            // What else is wrong with it, reading it tells.
            Ok(false) | Err(_) => {}
        }
    }
    let session = session_in(root, directory).map_err(|problems| {
        let is_stray = |kind| matches!(kind, ProblemKind::ForeignEntry | ProblemKind::OrphanTemp);
        match problems.into_iter().find(|problem| !is_stray(problem.kind)) {
            Some(problem) => refused(problem),
            None => AppendError::Gone(directory.to_owned()),
        }
    })?;
    if let Ok(true) = is_link(&session.path) {
        return Err(AppendError::Linked(session.path));
    }
    let lock = directory.join(super::layout::LOCK);
    if let Ok(true) = is_link(&lock) {
        return Err(AppendError::LinkedLock(lock));
    }
    Ok(session)
}

fn refused(problem: Problem) -> AppendError {
    let problem = Box::new(problem);
    match problem.kind {
        ProblemKind::MixedEncoding => AppendError::MixedEncoding(problem),
        ProblemKind::IdentityMismatch if !problem.is_unsupported => AppendError::Elsewhere(problem),
        ProblemKind::Unreadable => AppendError::Unreadable(ReadError::Refused(problem)),
        _ if problem.is_unsupported => AppendError::Unsupported(problem),
        _ => AppendError::Damaged(problem),
    }
}

fn revision_of(path: &Path) -> Result<Revision, AppendError> {
    match fs::metadata(path) {
        Ok(metadata) => Ok(Revision::of_file(&metadata)),
        Err(source) => Err(AppendError::Unreadable(ReadError::Io { path: path.to_owned(), source })),
    }
}

/// What reading a log gave.
struct Read {
    finished: Finished,
    warnings: Vec<Problem>,
    last_time: Option<i64>,
    obstacle: Option<Obstacle>,
    /// Whether a message has the id of the new one.
    has_id: bool,
}

fn read(
    session: &StoredSession,
    generation: Generation,
    id: Option<&str>,
    look: &mut dyn Look,
) -> Result<Read, AppendError> {
    let mut acceptance = Acceptance::new(generation.surface_rules());
    let mut last_time = None;
    let mut has_id = false;
    look.begin(session);
    let summary = scan::read(session, Mode::AsDsh, &mut |item| {
        if let Item::Event(event, _) = item
            && !event.synthetic
        {
            acceptance.observe(event);
            last_time = Some(event.time);
            has_id |= id.is_some_and(|id| has_message(event, id));
            look.event(event);
        }
    });
    let summary = summary.map_err(|error| match error {
        ReadError::Refused(problem) => refused(*problem),
        error @ ReadError::Io { .. } => AppendError::Unreadable(error),
    })?;
    let surface = match &summary.finished.surface {
        Ok(surface) => surface,
        Err(error) => {
            let problem = Problem::at(ProblemKind::InvalidSurface, &session.path, error.message.clone());
            return Err(refused(Problem { seq: Some(error.seq), ..problem }));
        }
    };
    let obstacle = acceptance.obstacle(&summary.finished.open, surface);
    Ok(Read { obstacle, last_time, has_id, warnings: summary.warnings, finished: summary.finished })
}

/// Whether an event carries a message of this id, on the surface or in the inbox.
fn has_message(event: &Event<'_>, id: &str) -> bool {
    let is_it = |message: View<'_>| message.get("id").is_some_and(|held| held.is_string(id));
    if event.is("agent/inbox/spliced") {
        return event.data().get("inserted").into_iter().flat_map(View::elements).any(is_it);
    }
    message_of(event).is_some_and(is_it)
}

/// Whether no dsh of before the lock can be writing to a log.
fn assure(terms: &Terms<'_>, path: &Path, revision: Revision) -> Result<(), AppendError> {
    match terms.assurance {
        Assurance::None => Err(AppendError::Unproven),
        Assurance::Offline => {
            // A time that is still to come proves nothing.
            let is_still = terms.now.saturating_sub(revision.modified()) >= STILL_FOR;
            if is_still { Ok(()) } else { Err(AppendError::Moving) }
        }
        Assurance::Ours(state) => match LogState::of_file(path) {
            Ok(now) if now == *state => Ok(()),
            Ok(_) => Err(AppendError::Changed),
            Err(source) => Err(AppendError::Unreadable(ReadError::Io { path: path.to_owned(), source })),
        },
    }
}

fn open_log(path: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).open(path)
}

fn refused_write(ready: &Ready, error: io::Error) -> AppendError {
    AppendError::Write(WriteFault::new(&ready.session.path, error))
}

/// Writes rows behind the last and reads them back.
fn write(ready: &Ready, batch: &Batch<'_>, steps: &mut dyn Steps) -> Result<Appended, AppendError> {
    let path = &ready.session.path;
    let fault = |error| WriteFault::new(path, error);
    let failed = |error| refused_write(ready, error);
    let bytes = batch::encode(ready.session.encoding, batch.rows).map_err(failed)?;
    let mut file = take(steps, "log-open", || open_log(path)).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    if Revision::of_file(&metadata) != ready.revision {
        return Err(AppendError::Moving);
    }
    let old = metadata.len();
    let written =
        take(steps, "log-write", || file.write_all(&bytes)).and_then(|()| take(steps, "log-sync", || file.sync_all()));
    let new = old + bytes.len() as u64;
    if let Err(error) = written {
        let fault = fault(error);
        return Err(match undo(&file, old, new, steps) {
            Ok(()) => AppendError::Write(fault),
            Err(undo) => AppendError::NotUndone { fault, undo },
        });
    }
    match read_back(ready, batch, new) {
        Ok(state) => {
            Ok(Appended { seq: ready.seq, time: ready.time, generation: ready.generation, path: path.clone(), state })
        }
        Err(message) => Err(match undo(&file, old, new, steps) {
            Ok(()) => AppendError::NotReadBack(message),
            Err(undo) => AppendError::NotUndone { fault: fault(io::Error::other(message)), undo },
        }),
    }
}

/// Makes a log as long as it was, unless somebody has written behind us.
fn undo(file: &File, old: u64, new: u64, steps: &mut dyn Steps) -> Result<(), String> {
    let len = file.metadata().map_err(|error| error.to_string())?.len();
    if len > new || len < old {
        return Err("somebody else has written to the log meanwhile".to_owned());
    }
    if len == old {
        return Ok(());
    }
    let undone = take(steps, "undo", || file.set_len(old)).and_then(|()| take(steps, "undo-sync", || file.sync_all()));
    undone.map_err(|error| error.to_string())
}

/// Reads the log again: it must load, and end in our events, nothing open, our message the last one.
fn read_back(ready: &Ready, batch: &Batch<'_>, len: u64) -> Result<Option<LogState>, String> {
    let session = &ready.session;
    let mut last_node = None;
    let summary = scan::read(session, Mode::AsDsh, &mut |item| {
        if let Item::Event(event, _) = item
            && event.seq >= ready.seq
            && batch.last_message.is_some_and(|id| has_message(event, id))
        {
            last_node = Some(event.seq);
        }
    });
    let summary = summary.map_err(|error| error.to_string())?;
    if let Some(warning) = summary.warnings.first() {
        return Err(warning.to_string());
    }
    let finished = &summary.finished;
    let surface = finished.surface.as_ref().map_err(|error| error.message.clone())?;
    let is_before_the_model = batch.last_message.is_none() || surface.nodes.last().copied() == last_node;
    if finished.stored_events != ready.seq + batch.events || finished.open.is_open() || !is_before_the_model {
        return Err("what was written is not the end of the log".to_owned());
    }
    let state = match ready.generation {
        Generation::V0 => Some(LogState::of_file(&session.path).map_err(|error| error.to_string())?),
        _ => None,
    };
    if state.as_ref().is_some_and(|state| state.bytes != len) {
        return Err("somebody else has written to the log meanwhile".to_owned());
    }
    Ok(state)
}
