//! `dshkit/sidechat.deliver/1`

use crate::error::Failure;
use crate::output::documents::error::ErrorFacts;
use crate::output::json::Js;
use crate::output::terminal_text::{visible, visible_js};
use crate::output::{Document, RecordOut, TextOut};
use crate::sidechat::citation::Cite;
use crate::sidechat::deliver::{Done, Pending};
use crate::sidechat::delivery::Delivered;
use crate::sidechat::fold::Fold;
use crate::sidechat::withdrawal::Withdrawal;
use schemars::JsonSchema;
use serde::Serialize;
use std::io;

/// What was pending, and what became of it.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DeliverDocument {
    /// Each of them.
    deliveries: Vec<DeliveryRecord>,
    /// Whether nothing was changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    dry_run: Option<bool>,
}

/// Something that was pending.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
struct DeliveryRecord {
    /// `fold`, `cite`, or `withdrawal`.
    kind: &'static str,
    /// Its id, a UUID.
    id: String,
    /// The side chat.
    child_session_id: Js,
    /// Of a cite for a session that is not the parent: that session.
    #[serde(skip_serializing_if = "Option::is_none")]
    target_session_id: Option<Js>,
    /// The revision of a fold.
    revision: Option<u64>,
    /// `pending`, `committed`, or `failed`.
    state: &'static str,
    /// Where it stands in the log of the parent, or of that session.
    parent_event_seq: Option<u64>,
    /// Why it failed, or has to wait.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// Why it could not be delivered.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ErrorFacts>,
}

impl DeliveryRecord {
    fn of_fold(fold: &Fold) -> DeliveryRecord {
        DeliveryRecord {
            kind: "fold",
            id: fold.id.to_string(),
            child_session_id: Js::from(&fold.child),
            target_session_id: None,
            revision: Some(fold.revision),
            state: fold.state.name(),
            parent_event_seq: fold.delivered.map(|place| place.seq),
            reason: fold.reason.clone(),
            error: None,
        }
    }

    fn of_cite(cite: &Cite) -> DeliveryRecord {
        DeliveryRecord {
            kind: "cite",
            id: cite.id.to_string(),
            child_session_id: Js::from(&cite.child),
            target_session_id: cite.target.as_ref().filter(|_| cite.is_cross_parent).map(|target| Js::from(&target.id)),
            revision: None,
            state: cite.state.name(),
            parent_event_seq: cite.delivered.map(|place| place.seq),
            reason: cite.reason.clone(),
            error: None,
        }
    }

    fn of_withdrawal(withdrawal: &Withdrawal) -> DeliveryRecord {
        DeliveryRecord {
            kind: "withdrawal",
            id: withdrawal.fold.to_string(),
            child_session_id: Js::from(&withdrawal.child),
            target_session_id: None,
            revision: Some(withdrawal.revision),
            state: withdrawal.state.name(),
            parent_event_seq: withdrawal.delivered.map(|place| place.seq),
            reason: withdrawal.obstacle.clone(),
            error: None,
        }
    }

    fn failed(self, result: &Result<Delivered, Failure>) -> DeliveryRecord {
        DeliveryRecord { error: result.as_ref().err().map(ErrorFacts::of), ..self }
    }
}

impl DeliverDocument {
    /// The document of what was done.
    pub fn of(done: &[Done]) -> DeliverDocument {
        let record = |done: &Done| match done {
            Done::Fold(fold, result) => DeliveryRecord::of_fold(fold).failed(result),
            Done::Cite(cite, result) => DeliveryRecord::of_cite(cite).failed(result),
            Done::Withdrawal(withdrawal, result) => DeliveryRecord::of_withdrawal(withdrawal).failed(result),
            Done::Unfinished(fold) => DeliveryRecord::of_fold(fold),
        };
        DeliverDocument { deliveries: done.iter().map(record).collect(), dry_run: None }
    }

    /// The document of what is pending.
    pub fn trial(pending: &[Pending]) -> DeliverDocument {
        let record = |pending: &Pending| match pending {
            Pending::Fold(fold) => DeliveryRecord::of_fold(fold),
            Pending::Cite(cite) => DeliveryRecord::of_cite(cite),
            Pending::Withdrawal(withdrawal) => DeliveryRecord::of_withdrawal(withdrawal),
        };
        DeliverDocument { deliveries: pending.iter().map(record).collect(), dry_run: Some(true) }
    }
}

impl Document for DeliverDocument {
    const SCHEMA: &'static str = "dshkit/sidechat.deliver/1";

    fn is_dry_run(&self) -> bool {
        self.dry_run.is_some()
    }

    fn text(&self, text: &mut TextOut<'_>) -> io::Result<()> {
        if self.deliveries.is_empty() {
            return text.line("nothing is pending");
        }
        self.deliveries.iter().try_for_each(|record| {
            let revision = record.revision.map(|revision| format!(" rev-{revision}")).unwrap_or_default();
            let holder = record.target_session_id.as_ref().map(|target| visible_js(&target.0));
            let holder = holder.as_deref().unwrap_or("the parent");
            let seq = record.parent_event_seq.map(|seq| format!(", seq {seq} of {holder}")).unwrap_or_default();
            let reason = record.reason.as_deref().map(|reason| format!(" ({})", visible(reason))).unwrap_or_default();
            text.line(&format!("{}{revision}  {}{seq}{reason}  {}", record.kind, record.state, record.id))
        })
    }

    fn records(&self, records: &mut RecordOut<'_>) -> io::Result<()> {
        self.deliveries.iter().try_for_each(|record| records.write(record))
    }
}
