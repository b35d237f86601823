//! A cite: one reply or one fold of a side chat, quoted in its parent, or where the user wants it.

use super::chat::SessionRef;
use super::fold::{Place, State};
use super::id::Id;
use crate::model::js_string::JsString;

/// A cite.
#[derive(Clone, Debug)]
pub struct Cite {
    /// Its id, which is that of its message too.
    pub id: Id,
    /// The side chat.
    pub child: JsString,
    /// The session it is quoted in, as it was: the parent, unless the user said otherwise. `None`: whoever put
    /// it down did not say.
    pub target: Option<SessionRef>,
    /// Whether it is quoted in a session that is not the parent (seed §7.5).
    pub is_cross_parent: bool,
    /// What is quoted.
    pub source: Source,
    /// The quoted text, frozen.
    pub text: String,
    /// When the source was written, in milliseconds since the epoch, if that was put down.
    pub source_time: Option<i64>,
    /// How far it has come; never [`State::Generating`] or [`State::Prepared`].
    pub state: State,
    /// Where it stands in that session's log.
    pub delivered: Option<Place>,
    /// Why it failed, or has to wait.
    pub reason: Option<String>,
    /// When it was made, in milliseconds since the epoch.
    pub created_at: i64,
    /// When its state last changed.
    pub updated_at: i64,
    /// When it came to stand there.
    pub committed_at: Option<i64>,
}

/// What a cite quotes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A reply of the side chat's model, or the part of it between two UTF-16 offsets.
    Message {
        /// Its id.
        message_id: JsString,
        /// Its seq when it was quoted, if that was put down.
        place: Option<Place>,
        /// The part.
        range: Option<(u64, u64)>,
    },
    /// A committed fold.
    Fold {
        /// Its id.
        fold_id: Id,
        /// Its revision.
        revision: u64,
    },
}
