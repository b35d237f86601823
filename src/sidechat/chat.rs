//! What the ledger knows of a side chat: who its parent is, what it was given, what it may do.

use crate::model::call_usage::CallUsage;
use crate::model::header::Header;
use crate::model::js_string::JsString;
use crate::model::message::Role;
use crate::projections::token_usage::Route;
use crate::projections::turn_usage::SessionUsage;
use crate::stores::jsonl::LogState;

/// What makes a session the one it is, beside its id: another one may take the id later.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Identity {
    /// When it was created, in milliseconds since the epoch.
    pub created_at: u64,
    /// The working directory it was created in, compared to the letter.
    pub cwd: Option<JsString>,
}

/// A session as the ledger remembers it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SessionRef {
    /// Its id.
    pub id: JsString,
    /// What its header said.
    pub identity: Identity,
}

impl SessionRef {
    /// The session with this header.
    pub fn of(header: &Header) -> SessionRef {
        SessionRef {
            id: header.id.clone(),
            identity: Identity { created_at: header.created_at, cwd: header.cwd.clone() },
        }
    }
}

/// What a side chat is as far as its user is concerned (seed §13). Whether its parent is still there is not
/// part of it: that is looked up, never remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// In use.
    Open,
    /// Put away; it can be taken out again.
    Archived,
    /// Given up for good.
    Abandoned,
}

impl Status {
    /// Every status.
    pub const ALL: [Status; 3] = [Status::Open, Status::Archived, Status::Abandoned];

    /// The stable name.
    pub fn name(self) -> &'static str {
        match self {
            Status::Open => "open",
            Status::Archived => "archived",
            Status::Abandoned => "abandoned",
        }
    }
}

/// A side chat.
#[derive(Clone, Debug)]
pub struct Chat {
    /// The side chat's own session.
    pub child: SessionRef,
    /// The session it belongs to.
    pub parent: SessionRef,
    /// What it is to clear up.
    pub question: String,
    /// Its title when it was made.
    pub title: String,
    /// Its status.
    pub status: Status,
    /// What it was given of its parent.
    pub seed: Seed,
    /// What it may do.
    pub permission: Permission,
    /// The model it was meant for.
    pub model: ModelChoice,
    /// What its parent had used when it was made; `None` if that was not put down.
    pub parent_baseline: Option<SessionUsage>,
    /// When it was made, in milliseconds since the epoch.
    pub created_at: i64,
    /// When dshkit last did something with it. What dsh did since is in the log.
    pub updated_at: i64,
    /// The last revision that was given away, be it committed or not; 0 for none.
    pub last_revision: u64,
    /// What its log held when dshkit wrote to it last.
    pub log: Option<LogState>,
    /// Whether ordinary lists of sessions may leave it out (seed §7.6).
    pub is_hidden: bool,
    /// Who remembers it.
    pub origin: Origin,
}

/// Who remembers a side chat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Our ledger.
    Ledger,
    /// Our ledger, as far as the logs could tell it again.
    Restored,
    /// dsh's plugin, whose records we only read.
    Plugin,
}

impl Origin {
    /// The stable name.
    pub fn name(self) -> &'static str {
        match self {
            Origin::Ledger => "dshkit",
            Origin::Restored => "restored",
            Origin::Plugin => "plugin",
        }
    }
}

/// How the seed of a side chat is chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SeedMode {
    /// Nothing but the question.
    None,
    /// So many of the newest messages.
    Tail(usize),
    /// One message, by its id.
    Pick(JsString),
    /// Several messages, by their ids.
    PickMany(Vec<JsString>),
    /// What the person and the model said in the turn of this number.
    Turn(u64),
    /// A part of a message.
    Selection {
        /// Its id.
        id: JsString,
        /// From which UTF-16 unit of its text on.
        start: u64,
        /// Up to which, that one excluded.
        end: u64,
    },
    /// What a model makes of these messages, by their ids.
    Summary(Vec<JsString>),
    /// What a model makes of the newest messages.
    Task,
}

impl SeedMode {
    /// The name of the kind, as the plugin spells it.
    pub fn name(&self) -> String {
        match self {
            SeedMode::None => "none".to_owned(),
            SeedMode::Tail(count) => format!("tail:{count}"),
            SeedMode::Pick(_) => "pick:1".to_owned(),
            SeedMode::PickMany(_) => "pick:many".to_owned(),
            SeedMode::Turn(_) => "turn".to_owned(),
            SeedMode::Selection { .. } => "selection".to_owned(),
            SeedMode::Summary(_) => "summary".to_owned(),
            SeedMode::Task => "task".to_owned(),
        }
    }
}

/// A message of the parent, frozen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeedMessage {
    /// Its id.
    pub message_id: JsString,
    /// Who said it.
    pub role: Role,
    /// Its seq in the parent's log as it was.
    pub seq: u64,
    /// The turn it was said in, if in any.
    pub turn: Option<u64>,
    /// The part of it that was taken, from one UTF-16 unit of its text to before another; `None`: all.
    pub selection: Option<(u64, u64)>,
    /// What was said. An unpaired surrogate, which no model can be sent, is U+FFFD.
    pub text: String,
}

/// What a side chat was given of its parent, frozen when it was made (seed §6.3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seed {
    /// The kind: `tail:1`, `task`, ….
    pub mode: String,
    /// The last event of the parent that was seen; `None` for an empty log.
    pub captured_through_seq: Option<u64>,
    /// The format generation in which the seqs count, if it is known.
    pub captured_format: Option<u64>,
    /// When it was taken, in milliseconds since the epoch.
    pub captured_at: i64,
    /// The messages, oldest first. None are known of a side chat that was restored.
    pub messages: Vec<SeedMessage>,
    /// What a model made of them.
    pub generated: Option<GeneratedContext>,
}

/// A context that a model wrote for a side chat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GeneratedContext {
    /// The context.
    pub text: String,
    /// The call.
    pub call: ModelCall,
    /// How many older messages did not fit the window it was made from.
    pub dropped_older_messages: u64,
}

/// A call of a model outside any session, and what it cost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelCall {
    /// What answered, as far as known.
    pub route: Option<Route>,
    /// What it used, as far as known.
    pub usage: Option<CallUsage>,
    /// When, in milliseconds since the epoch.
    pub at: i64,
}

/// What a side chat may do (seed §5.5).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Permission {
    /// How it was chosen.
    pub mode: PermissionMode,
    /// The parent's sandbox mode, if its log tells.
    pub parent_sandbox: Option<String>,
    /// The parent's approval policy, if its log tells.
    pub parent_approval: Option<String>,
    /// The sandbox mode the side chat's log sets.
    pub child_sandbox: Option<String>,
    /// The approval policy the side chat's log sets.
    pub child_approval: Option<String>,
}

/// How the permission of a side chat is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PermissionMode {
    /// It may read, and asks for nothing.
    #[default]
    ReadOnly,
    /// What its parent may.
    Inherit,
}

impl PermissionMode {
    /// The stable name.
    pub fn name(self) -> &'static str {
        match self {
            PermissionMode::ReadOnly => "readonly",
            PermissionMode::Inherit => "inherit",
        }
    }
}

/// The model a side chat is meant for. No log that every dsh reads can carry it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelChoice {
    /// How it was chosen.
    pub strategy: Option<ModelStrategy>,
    /// The model, where it is known.
    pub route: Option<Route>,
}

/// How the model of a side chat is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ModelStrategy {
    /// That of the parent's newest request.
    #[default]
    Inherit,
    /// Whatever dsh takes by default.
    Default,
    /// One that was named.
    Custom,
}

impl ModelStrategy {
    /// The stable name.
    pub fn name(self) -> &'static str {
        match self {
            ModelStrategy::Inherit => "inherit",
            ModelStrategy::Default => "default",
            ModelStrategy::Custom => "custom",
        }
    }
}
