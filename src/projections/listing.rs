//! What a listing shows of a session beyond its header.

use super::cache::Entry;
use super::ladder::Derived;
use super::overview::Overview;
use super::registry::Registry;
use super::unit::Definition;
use super::units;
use crate::corpus::Record;
use crate::model::js_string::JsString;
use crate::model::json::Value;

/// What the log of a session tells a listing.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// Title, turns, last prompt, end.
    pub overview: Overview,
    /// When the last event was recorded, or the session created, in milliseconds since the epoch.
    pub last_activity_at: i64,
    /// How many tokens the requests in the log used, what a fork inherited included. `None`: there were
    /// turns, and nothing was reported.
    pub tokens: Option<u64>,
}

/// The title that a cache knows of a session, without a look at its log.
pub fn cached_title(entry: &Entry) -> Option<JsString> {
    let row = entry.checkpoint.usable(&Definition::of::<Overview>())?;
    let overview: Overview = serde_json::from_str(&row.state).ok()?;
    Some(overview.title?.text.0)
}

/// The units a listing folds.
pub fn registry() -> Registry {
    let mut registry = units::all().only(&["tokenUsage"]).expect("the unit is there");
    registry.register(Definition::of::<Overview>()).expect("it is no unit of dsh's");
    registry
}

impl Facts {
    /// The facts in the states of those units.
    pub fn of(record: &Record, derived: &Derived<'_>) -> Facts {
        let overview = derived.folded.state::<Overview>().cloned().unwrap_or_default();
        let created_at = i64::try_from(record.stored.header.created_at).unwrap_or(i64::MAX);
        let sum = tokens(derived);
        let tokens = if sum == 0 && overview.turns > 0 { None } else { Some(sum) };
        Facts { overview, last_activity_at: derived.last_time.unwrap_or(created_at), tokens }
    }
}

/// The sum of all buckets of `tokenUsage`, which have nothing in common.
fn tokens(derived: &Derived<'_>) -> u64 {
    let snapshot = derived.folded.snapshot();
    let Some(Value::Object(usage)) = snapshot.view("tokenUsage") else { return 0 };
    usage.iter().filter_map(|(_, tokens)| tokens.count()).fold(0, u64::saturating_add)
}
