//! A withdrawal: a committed fold taken back. What stands in the parent's log stays there; a notice behind it
//! says that it no longer counts, and why (seed §7.2, sidechat.md §4).

use super::fold::{Place, State};
use super::id::Id;
use crate::error::{Code, Failure};
use crate::model::js_string::JsString;

/// The most a reason may hold, in UTF-16 units.
const MAX_REASON_UNITS: u64 = 2_000;

/// A withdrawal.
#[derive(Clone, Debug)]
pub struct Withdrawal {
    /// The id of its notice.
    pub id: Id,
    /// The fold that is taken back.
    pub fold: Id,
    /// The side chat.
    pub child: JsString,
    /// The fold's revision.
    pub revision: u64,
    /// Why, in the user's words.
    pub reason: String,
    /// How far its notice has come; never [`State::Generating`] or [`State::Prepared`].
    pub state: State,
    /// Where the notice stands in the parent's log, if that is known.
    pub delivered: Option<Place>,
    /// Why the notice failed, or has to wait.
    pub obstacle: Option<String>,
    /// When the fold was taken back, in milliseconds since the epoch.
    pub created_at: i64,
    /// When the state last changed.
    pub updated_at: i64,
    /// When the notice came to stand in the parent's log.
    pub committed_at: Option<i64>,
}

/// Takes white space off a reason.
///
/// # Errors
/// Nothing is left, or it is too long.
pub fn checked_reason(text: &str) -> Result<String, Failure> {
    let reason = text.trim();
    let units = super::estimate::utf16_len(reason);
    if units == 0 || units > MAX_REASON_UNITS {
        let message = format!("a reason has from 1 to {MAX_REASON_UNITS} characters, and this one has {units}");
        return Err(Failure::new(Code::BadRequest, message));
    }
    Ok(reason.to_owned())
}
