//! A cite: one reply or one fold of a side chat, quoted in its parent.

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
    /// What is quoted.
    pub source: Source,
    /// The quoted text, frozen.
    pub text: String,
    /// When the source was written, in milliseconds since the epoch.
    pub source_time: i64,
    /// How far it has come; never [`State::Generating`] or [`State::Prepared`].
    pub state: State,
    /// Where it stands in the parent's log.
    pub delivered: Option<Place>,
    /// Why it failed, or has to wait.
    pub reason: Option<String>,
    /// When it was made, in milliseconds since the epoch.
    pub created_at: i64,
    /// When its state last changed.
    pub updated_at: i64,
    /// When it came to stand in the parent's log.
    pub committed_at: Option<i64>,
}

/// What a cite quotes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A reply of the side chat's model, or the part of it between two UTF-16 offsets.
    Message {
        /// Its id.
        message_id: JsString,
        /// Its seq when it was quoted.
        place: Place,
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
