//! The header of a session: the facts its first line states.

use crate::model::js_string::JsString;

/// A session's header, the same for every format generation (formats.md §2.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// The format generation of the log it heads, `0..=4`.
    pub version: u64,
    /// The session's id, any JavaScript string.
    pub id: JsString,
    /// When the session was created, in milliseconds since the epoch.
    pub created_at: u64,
    /// The working directory it was created in.
    pub cwd: Option<JsString>,
    /// The session it was forked from, or whose agent started it.
    pub parent_session: Option<JsString>,
    /// How it begins with events of another session.
    pub seed: Seed,
    /// Whether another session's agent started it (`origin: "subagent"`).
    pub is_subagent: bool,
    /// 0 for a session a person started, one more for each agent between. The SQLite store of dsh 0.0.1
    /// does not record it.
    pub delegation_depth: Option<u64>,
    /// The agent preset named at creation.
    pub agent_preset: Option<JsString>,
}

/// What a header says about events copied from another session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seed {
    /// Nothing was copied.
    None,
    /// So many leading events were copied (v0 and v1, `seedLength`; 0 still means seeded).
    Length(u64),
    /// Some were; a marker in the log says how many (v2 and later, `isSeeded: true`).
    Marked,
}
