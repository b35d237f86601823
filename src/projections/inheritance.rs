//! Which events of a fork are copies of its parent's, for what counts only its own (formats.md §6.3).

use crate::model::event::Event;
use crate::model::header::{Header, Seed};
use crate::model::json::View;

/// How many leading events were copied, as the header of v0 and v1 says it. Later headers say nothing, and
/// this is 0: there the last marker does.
pub(super) fn seed_length(header: &Header) -> u64 {
    match header.seed {
        Seed::Length(length) => length,
        Seed::None | Seed::Marked => 0,
    }
}

/// Whether the events before this one were copied (v2 and later).
pub(super) fn is_marker(event: &Event<'_>) -> bool {
    event.is("session/end-seed") && event.data().get("inherited").is_some_and(View::is_true)
}
