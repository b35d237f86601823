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
    /// A value of a side chat command is not valid.
    BadRequest,
    /// A side chat could not be made.
    CreateFailed,
    /// The session is no side chat.
    NotSidechat,
    /// A side chat and its parent are not, or no longer, what they must be.
    RelationInvalid,
    /// A side chat or its parent belongs to another working directory now.
    WorkspaceDenied,
    /// The working directory of a side chat or another session is not known.
    WorkspaceUnknown,
    /// That needs a switch of its own.
    Disabled,
    /// The side chat belongs to dsh's plugin, and only it may change it.
    PluginOwned,
    /// The parent of a side chat is gone.
    Orphaned,
    /// The status of a side chat does not allow that.
    StatusInvalid,
    /// Somebody has the side chat open for writing.
    SessionHeld,
    /// A dsh has gone on with the side chat, or its log was changed: it is not written to from a shell any more.
    ContinueInDsh,
    /// There is no such fold.
    FoldNotFound,
    /// A model is still writing the fold.
    FoldGenerating,
    /// The fold could not be made, and has no text.
    FoldFailed,
    /// A fold does not have its six parts.
    FoldStructure,
    /// A fold is longer than its budget.
    FoldTooLarge,
    /// The side chat has gone on since the fold was prepared.
    FoldStale,
    /// A newer revision was decided on.
    FoldSuperseded,
    /// There is no such committed revision to build on.
    FoldBaseInvalid,
    /// The fold cannot be withdrawn.
    FoldWithdrawInvalid,
    /// A text points to something else than a message of its side chat, or to too many.
    PointerInvalid,
    /// An id belongs to something else.
    IdCollision,
    /// There is no such message that may be taken.
    MessageNotFound,
    /// A quotation is longer than its budget.
    CiteTooLarge,
    /// Too many messages are to be read, or they are too long together.
    ReadTooLarge,
    /// What was to be written into a session could not be.
    DeliveryFailed,
    /// It could not be written yet, and that was required.
    DeliveryPending,
    /// A model gave no usable answer.
    ModelFailed,
    /// The user broke off an answer.
    Interrupted,
    /// The ledger of side chats cannot be used.
    LedgerFailed,
    /// Another dshkit is writing to the ledger.
    LedgerBusy,
    /// The file of dsh's plugin is no unit of its storage.
    MalformedMedium,
    /// The file of dsh's plugin is of a version nobody here knows.
    VersionMismatch,
    /// A row of the file of dsh's plugin does not fit its schema.
    InvalidRecord,
    /// The session lies in a database, which is not written to.
    DatabaseStore,
    /// The session's log is of a generation that is not written to.
    GenerationNotWritten,
    /// The session belongs to another session's agent.
    SubagentSession,
    /// No step has begun in the session's log.
    NoStep,
    /// The session's surface does not begin with a system message.
    NoSystemHead,
    /// Plain and compressed logs of the session lie side by side.
    MixedEncoding,
    /// The session does not lie where its header says.
    IdentityMismatch,
    /// The session lies in two places.
    DuplicateId,
    /// A log lies where dsh allows none.
    FlatLayout,
    /// The session's log is behind a symbolic link, or its lock is one.
    LinkedLog,
    /// The file system has no locks.
    NoLocks,
    /// Part of the work could not be done, and `--strict` asks for all of it.
    Incomplete,
    /// The operating system would not read or write something.
    Io,
    /// A bug of ours.
    Internal,
}

impl Code {
    /// Every code.
    pub const ALL: [Code; 73] = [
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
        Code::BadRequest,
        Code::CreateFailed,
        Code::NotSidechat,
        Code::RelationInvalid,
        Code::WorkspaceDenied,
        Code::WorkspaceUnknown,
        Code::Disabled,
        Code::PluginOwned,
        Code::Orphaned,
        Code::StatusInvalid,
        Code::SessionHeld,
        Code::ContinueInDsh,
        Code::FoldNotFound,
        Code::FoldGenerating,
        Code::FoldFailed,
        Code::FoldStructure,
        Code::FoldTooLarge,
        Code::FoldStale,
        Code::FoldSuperseded,
        Code::FoldBaseInvalid,
        Code::FoldWithdrawInvalid,
        Code::PointerInvalid,
        Code::IdCollision,
        Code::MessageNotFound,
        Code::CiteTooLarge,
        Code::ReadTooLarge,
        Code::DeliveryFailed,
        Code::DeliveryPending,
        Code::ModelFailed,
        Code::Interrupted,
        Code::LedgerFailed,
        Code::LedgerBusy,
        Code::MalformedMedium,
        Code::VersionMismatch,
        Code::InvalidRecord,
        Code::DatabaseStore,
        Code::GenerationNotWritten,
        Code::SubagentSession,
        Code::NoStep,
        Code::NoSystemHead,
        Code::MixedEncoding,
        Code::IdentityMismatch,
        Code::DuplicateId,
        Code::FlatLayout,
        Code::LinkedLog,
        Code::NoLocks,
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
            Code::BadRequest => "bad-request",
            Code::CreateFailed => "create-failed",
            Code::NotSidechat => "not-sidechat",
            Code::RelationInvalid => "relation-invalid",
            Code::WorkspaceDenied => "workspace-denied",
            Code::WorkspaceUnknown => "workspace-unknown",
            Code::Disabled => "disabled",
            Code::PluginOwned => "plugin-owned",
            Code::Orphaned => "orphaned",
            Code::StatusInvalid => "status-invalid",
            Code::SessionHeld => "session-held",
            Code::ContinueInDsh => "continue-in-dsh",
            Code::FoldNotFound => "fold-not-found",
            Code::FoldGenerating => "fold-generating",
            Code::FoldFailed => "fold-failed",
            Code::FoldStructure => "fold-structure",
            Code::FoldTooLarge => "fold-too-large",
            Code::FoldStale => "fold-stale",
            Code::FoldSuperseded => "fold-superseded",
            Code::FoldBaseInvalid => "fold-base-invalid",
            Code::FoldWithdrawInvalid => "fold-withdraw-invalid",
            Code::PointerInvalid => "pointer-invalid",
            Code::IdCollision => "id-collision",
            Code::MessageNotFound => "message-not-found",
            Code::CiteTooLarge => "cite-too-large",
            Code::ReadTooLarge => "read-too-large",
            Code::DeliveryFailed => "delivery-failed",
            Code::DeliveryPending => "delivery-pending",
            Code::ModelFailed => "model-failed",
            Code::Interrupted => "interrupted",
            Code::LedgerFailed => "ledger-failed",
            Code::LedgerBusy => "ledger-busy",
            Code::MalformedMedium => "malformed-medium",
            Code::VersionMismatch => "version-mismatch",
            Code::InvalidRecord => "invalid-record",
            Code::DatabaseStore => "database-store",
            Code::GenerationNotWritten => "generation-not-written",
            Code::SubagentSession => "subagent-session",
            Code::NoStep => "no-step",
            Code::NoSystemHead => "no-system-head",
            Code::MixedEncoding => "mixed-encoding",
            Code::IdentityMismatch => "identity-mismatch",
            Code::DuplicateId => "duplicate-id",
            Code::FlatLayout => "flat-layout",
            Code::LinkedLog => "linked-log",
            Code::NoLocks => "no-locks",
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
            | Code::InvalidCursor
            | Code::BadRequest => 2,
            Code::SessionNotFound
            | Code::AmbiguousSession
            | Code::EventNotFound
            | Code::NotSidechat
            | Code::FoldNotFound
            | Code::MessageNotFound => 3,
            Code::CorruptTranscript
            | Code::CorruptSession
            | Code::InvalidSurface
            | Code::InvalidLineage
            | Code::MalformedMedium
            | Code::InvalidRecord => 4,
            Code::UnsupportedFormat | Code::VersionMismatch => 5,
            Code::Incomplete => 6,
            Code::SelfReference
            | Code::TooManyReferences
            | Code::ReferenceBudgetExceeded
            | Code::StaleCursor
            | Code::CreateFailed
            | Code::RelationInvalid
            | Code::WorkspaceDenied
            | Code::WorkspaceUnknown
            | Code::Disabled
            | Code::PluginOwned
            | Code::Orphaned
            | Code::StatusInvalid
            | Code::SessionHeld
            | Code::ContinueInDsh
            | Code::FoldGenerating
            | Code::FoldFailed
            | Code::FoldStructure
            | Code::FoldTooLarge
            | Code::FoldStale
            | Code::FoldSuperseded
            | Code::FoldBaseInvalid
            | Code::FoldWithdrawInvalid
            | Code::PointerInvalid
            | Code::IdCollision
            | Code::CiteTooLarge
            | Code::ReadTooLarge
            | Code::DeliveryPending
            | Code::LedgerBusy
            | Code::DatabaseStore
            | Code::GenerationNotWritten
            | Code::SubagentSession
            | Code::NoStep
            | Code::NoSystemHead
            | Code::MixedEncoding
            | Code::IdentityMismatch
            | Code::DuplicateId
            | Code::FlatLayout
            | Code::LinkedLog
            | Code::NoLocks => 7,
            Code::Io
            | Code::ReferenceReadFailed
            | Code::IndexFailed
            | Code::DeliveryFailed
            | Code::ModelFailed
            | Code::Interrupted
            | Code::LedgerFailed => 8,
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
