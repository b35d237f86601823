//! How things fail: a message for people, a code for programs, an exit status for shells.
//!
//! Telling somebody and letting a program decide are two jobs. Every error that a caller may want to
//! tell from others is a [`Failure`] with a [`Code`]; it travels through any number of contexts and is
//! found again at the end. All codes are listed here and nowhere else.

use crate::model::problem::Problem;
use std::fmt;

/// A stable name for a kind of failure. Where dsh has a code for it, the name is dsh's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// The command line is wrong.
    Usage,
    /// The configuration file is not what one may be.
    InvalidConfig,
    /// A reference limit or budget is not a valid number.
    InvalidReferenceConfig,
    /// A `dsh-session:` identifier or mention is not valid.
    InvalidReference,
    /// A conversation refers to itself.
    SelfReference,
    /// More references than may be made at once.
    TooManyReferences,
    /// A referenced session could not be read.
    ReferenceReadFailed,
    /// A referenced session does not fit its budget, however much is cut.
    ReferenceBudgetExceeded,
    /// A saved reference is not laid out as one.
    CorruptTranscript,
    /// No session is selected by that.
    SessionNotFound,
    /// More than one session is selected by that.
    AmbiguousSession,
    /// The session has no event with that seq.
    EventNotFound,
    /// Nothing matches, where something was asked for.
    NothingFound,
    /// A window of events is not a whole number from 0 to 50.
    InvalidWindow,
    /// A filter is not valid.
    InvalidFilter,
    /// A query is blank or holds NUL.
    InvalidQuery,
    /// A limit is not a whole number from 1 to 100.
    InvalidLimit,
    /// A cursor belongs to another request.
    InvalidCursor,
    /// What was searched has changed since a cursor was made.
    StaleCursor,
    /// A session is its own ancestor.
    InvalidLineage,
    /// The search index cannot be used.
    IndexFailed,
    /// A session's log is damaged.
    CorruptSession,
    /// A session's surface does not fold.
    InvalidSurface,
    /// A session's log, or a whole store, is of a format nobody here knows.
    UnsupportedFormat,
    /// Part of the work could not be done, and `--strict` asks for all of it.
    Incomplete,
    /// The operating system would not read or write something.
    Io,
    /// A bug of ours.
    Internal,
}

impl Code {
    /// Every code.
    pub const ALL: [Code; 27] = [
        Code::Usage,
        Code::InvalidConfig,
        Code::InvalidReferenceConfig,
        Code::InvalidReference,
        Code::SelfReference,
        Code::TooManyReferences,
        Code::ReferenceReadFailed,
        Code::ReferenceBudgetExceeded,
        Code::CorruptTranscript,
        Code::SessionNotFound,
        Code::AmbiguousSession,
        Code::EventNotFound,
        Code::NothingFound,
        Code::InvalidWindow,
        Code::InvalidFilter,
        Code::InvalidQuery,
        Code::InvalidLimit,
        Code::InvalidCursor,
        Code::StaleCursor,
        Code::InvalidLineage,
        Code::IndexFailed,
        Code::CorruptSession,
        Code::InvalidSurface,
        Code::UnsupportedFormat,
        Code::Incomplete,
        Code::Io,
        Code::Internal,
    ];

    /// The name programs see.
    pub fn name(self) -> &'static str {
        match self {
            Code::Usage => "usage",
            Code::InvalidConfig => "invalid-config",
            Code::InvalidReferenceConfig => "SESSION_REFERENCE_INVALID_CONFIG",
            Code::InvalidReference => "SESSION_REFERENCE_INVALID_REFERENCE",
            Code::SelfReference => "SESSION_REFERENCE_SELF_REFERENCE",
            Code::TooManyReferences => "SESSION_REFERENCE_TOO_MANY",
            Code::ReferenceReadFailed => "SESSION_REFERENCE_READ_FAILED",
            Code::ReferenceBudgetExceeded => "SESSION_REFERENCE_BUDGET_EXCEEDED",
            Code::CorruptTranscript => "corrupt-transcript",
            Code::SessionNotFound => "SESSION_QUERY_SESSION_NOT_FOUND",
            Code::AmbiguousSession => "ambiguous-session",
            Code::EventNotFound => "SESSION_QUERY_EVENT_NOT_FOUND",
            Code::NothingFound => "nothing-found",
            Code::InvalidWindow => "SESSION_QUERY_INVALID_WINDOW",
            Code::InvalidFilter => "SESSION_QUERY_INVALID_FILTER",
            Code::InvalidQuery => "SESSION_QUERY_INVALID_QUERY",
            Code::InvalidLimit => "SESSION_QUERY_INVALID_LIMIT",
            Code::InvalidCursor => "SESSION_QUERY_INVALID_CURSOR",
            Code::StaleCursor => "SESSION_QUERY_STALE_CURSOR",
            Code::InvalidLineage => "SESSION_QUERY_INVALID_LINEAGE",
            Code::IndexFailed => "SESSION_QUERY_INDEX_FAILED",
            Code::CorruptSession => "SESSION_QUERY_CORRUPT_SESSION",
            Code::InvalidSurface => "SESSION_QUERY_INVALID_SURFACE",
            Code::UnsupportedFormat => "unsupported-format",
            Code::Incomplete => "incomplete",
            Code::Io => "io",
            Code::Internal => "internal",
        }
    }

    /// The exit status (DESIGN §2).
    pub fn status(self) -> u8 {
        match self {
            Code::NothingFound => 1,
            Code::Usage
            | Code::InvalidConfig
            | Code::InvalidReferenceConfig
            | Code::InvalidReference
            | Code::InvalidWindow
            | Code::InvalidFilter
            | Code::InvalidQuery
            | Code::InvalidLimit
            | Code::InvalidCursor => 2,
            Code::SessionNotFound | Code::AmbiguousSession | Code::EventNotFound => 3,
            Code::CorruptTranscript | Code::CorruptSession | Code::InvalidSurface | Code::InvalidLineage => 4,
            Code::UnsupportedFormat => 5,
            Code::Incomplete => 6,
            Code::SelfReference | Code::TooManyReferences | Code::ReferenceBudgetExceeded | Code::StaleCursor => 7,
            Code::Io | Code::ReferenceReadFailed | Code::IndexFailed => 8,
            Code::Internal => 70,
        }
    }
}

/// A failure a caller may want to tell from others.
#[derive(Clone, Debug)]
pub struct Failure {
    /// What kind it is.
    pub code: Code,
    /// One sentence for a person, lower case, no final period.
    pub message: String,
    /// What the person can do.
    pub hint: Option<String>,
    /// Where in which file, if it is about one.
    pub problem: Option<Box<Problem>>,
    /// What could have been meant.
    pub candidates: Vec<String>,
    /// The exit status, where it is that of a cause.
    status: Option<u8>,
}

impl Failure {
    /// A failure of a kind.
    pub fn new(code: Code, message: impl Into<String>) -> Failure {
        Failure { code, message: message.into(), hint: None, problem: None, candidates: Vec::new(), status: None }
    }

    /// The same, with advice.
    pub fn hint(mut self, hint: impl Into<String>) -> Failure {
        self.hint = Some(hint.into());
        self
    }

    /// The same, with what could have been meant.
    pub fn candidates(mut self, candidates: Vec<String>) -> Failure {
        self.candidates = candidates;
        self
    }

    /// The failure as the cause of another, whose exit status stays that of the cause.
    pub fn caused_as(self, code: Code, message: impl Into<String>) -> Failure {
        let status = Some(self.status());
        Failure { code, message: format!("{}: {}", message.into(), self.message), status, ..self }
    }

    /// The exit status.
    pub fn status(&self) -> u8 {
        self.status.unwrap_or_else(|| self.code.status())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}
