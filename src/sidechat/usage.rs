//! What a side chat cost (seed §12, sidechat.md §3.7).

use super::chat::{Chat, ModelCall};
use super::fold::State;
use super::known::Known;
use super::reading::Reading;
use super::relation::{Presence, Sessions};
use crate::error::Failure;
use crate::model::js_string::JsString;
use crate::projections::turn_usage::{ExactTokens, SessionUsage};

/// What a side chat cost, and its parent since.
#[derive(Debug)]
pub struct Report {
    /// The side chat.
    pub chat: Chat,
    /// What its own turns used; `None` if its log is gone.
    pub child: Option<SessionUsage>,
    /// What its parent used since it was made; `None` if there is no telling.
    pub parent_delta: Option<ExactTokens>,
    /// The calls that made folds: their revision, and the calls.
    pub folds: Vec<(u64, Vec<ModelCall>)>,
    /// How many messages were brought to the parent or elsewhere, none of which took a call.
    pub deliveries: u64,
}

/// Adds up what a side chat cost.
///
/// # Errors
/// It is none, or its log or the ledger cannot be read.
pub fn report(known: &Known, sessions: &Sessions<'_>, child: &JsString) -> Result<Report, Failure> {
    let chat = known.required(child)?;
    let used = |presence: Presence<'_>| match presence {
        Presence::Here(record) => Reading::of_surface(sessions.corpus, record).map(|reading| Some(reading.usage)),
        Presence::Gone | Presence::Replaced(_) => Ok(None),
        Presence::Unknown(failure) => Err(failure),
    };
    let child_usage = used(sessions.presence(&chat.child))?;
    // A parent that cannot be read makes its part of the report unavailable, and no other.
    let parent_usage = used(sessions.presence(&chat.parent)).unwrap_or_default();
    let folds = known.folds(child)?;
    let (cites, withdrawals) = (known.cites(child)?, known.withdrawals(child)?);
    let states = folds.iter().map(|fold| fold.state).chain(cites.iter().map(|cite| cite.state));
    let states = states.chain(withdrawals.iter().map(|withdrawal| withdrawal.state));
    let delivered = states.filter(|state| *state == State::Committed).count();
    Ok(Report {
        parent_delta: chat.parent_baseline.as_ref().zip(parent_usage).and_then(|(before, now)| delta(before, &now)),
        child: child_usage,
        folds: folds
            .into_iter()
            .filter(|fold| !fold.calls.is_empty())
            .map(|fold| (fold.revision, fold.calls))
            .collect(),
        deliveries: delivered as u64,
        chat,
    })
}

/// What was used between two moments, if both are exactly known and nothing became less.
pub fn delta(before: &SessionUsage, now: &SessionUsage) -> Option<ExactTokens> {
    let (before, now) = (before.totals.as_ref()?, now.totals.as_ref()?);
    let optional = |before: Option<u64>, now: Option<u64>| now?.checked_sub(before?);
    Some(ExactTokens {
        uncached_input: now.uncached_input.checked_sub(before.uncached_input)?,
        output: now.output.checked_sub(before.output)?,
        total: now.total.checked_sub(before.total)?,
        cache_read: optional(before.cache_read, now.cache_read),
        cache_write: optional(before.cache_write, now.cache_write),
        reasoning: optional(before.reasoning, now.reasoning),
        routes: now.routes.clone(),
    })
}
