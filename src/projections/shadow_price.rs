//! What a replacement takes from the surface in tokens, told by the compaction before it.
//!
//! Nobody who keeps only totals can know what the nodes weighed that a replacement removes. So the
//! `compaction/summary` or `compaction/prune` that stands directly before it states their weight by the
//! estimate (`shadowedTokenCount`) and which nodes it means (formats.md §7.4).

use crate::model::event::{Event, SurfaceOp};
use crate::model::json::View;
use serde::{Deserialize, Serialize};

/// The weight of the nodes that the next event replaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ShadowPrice {
    /// The event that states it. It counts for the event directly after and for no other.
    seq: u64,
    /// The first and the last node replaced.
    range: (u64, u64),
    /// Their weight in tokens.
    tokens: u64,
}

/// What an event of the surface does to what is on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Placing {
    /// It joins.
    Appended,
    /// It takes the place of nodes that weigh so many tokens together.
    Replaced(u64),
    /// It takes the place of nodes, the first and the last of which these are, whose weight nobody states.
    ReplacedUnpriced(u64, u64),
}

impl ShadowPrice {
    /// The price that a compaction event states; `None` if it is none or states none.
    pub(super) fn of(event: &Event<'_>) -> Option<ShadowPrice> {
        let [range, tokens] = event.data().pick(["shadowedRange", "shadowedTokenCount"]);
        let [start, end] = range?.pick(["start", "end"]);
        let range = (start.and_then(View::count)?, end.and_then(View::count)?);
        Some(ShadowPrice { seq: event.seq, range, tokens: tokens?.count()? })
    }
}

/// Whether an event states such a price.
pub(super) fn states_price(event: &Event<'_>) -> bool {
    event.is("compaction/summary") || event.is("compaction/prune")
}

impl Placing {
    /// What an event does, given the newest price stated before it; `None` if it is not for the surface, or
    /// if a price stated directly before it is for other nodes, which dsh refuses.
    pub(super) fn of(event: &Event<'_>, price: Option<ShadowPrice>) -> Option<Placing> {
        let SurfaceOp::Replace { start, end } = event.surface_op? else { return Some(Placing::Appended) };
        match price.filter(|price| price.seq.checked_add(1) == Some(event.seq)) {
            None => Some(Placing::ReplacedUnpriced(start, end)),
            Some(price) if price.range == (start, end) => Some(Placing::Replaced(price.tokens)),
            Some(_) => None,
        }
    }
}
