//! `dshkit/sidechat.withdraw/1`, and what is told of a withdrawal.

use super::delivery::{DeliveryDocument, NoticeDocument};
use super::fold_facts::FoldFacts;
use crate::output::json::Js;
use crate::output::terminal_text::visible;
use crate::output::{Document, TextOut};
use crate::sidechat::withdraw::Withdrawn;
use crate::sidechat::withdrawal::Withdrawal;
use schemars::JsonSchema;
use serde::Serialize;
use std::io;

/// A fold that was taken back.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WithdrawalFacts {
    /// Its id, a UUID.
    fold_id: String,
    /// The side chat.
    child_session_id: Js,
    /// Its revision.
    revision: u64,
    /// Why.
    reason: String,
    /// How far the notice of it has come: `pending`, `committed`, or `failed`.
    state: &'static str,
    /// Where the notice stands in the parent's log.
    parent_event_seq: Option<u64>,
    /// The format generation in which that seq counts.
    parent_format: Option<u64>,
    /// Why the notice failed, or has to wait.
    obstacle: Option<String>,
    /// When it was taken back.
    created_at: i64,
    /// When the state last changed.
    updated_at: i64,
    /// When the notice came to stand in the parent's log.
    committed_at: Option<i64>,
}

impl From<&Withdrawal> for WithdrawalFacts {
    fn from(withdrawal: &Withdrawal) -> WithdrawalFacts {
        WithdrawalFacts {
            fold_id: withdrawal.fold.to_string(),
            child_session_id: Js::from(&withdrawal.child),
            revision: withdrawal.revision,
            reason: withdrawal.reason.clone(),
            state: withdrawal.state.name(),
            parent_event_seq: withdrawal.delivered.map(|place| place.seq),
            parent_format: withdrawal.delivered.map(|place| place.format),
            obstacle: withdrawal.obstacle.clone(),
            created_at: withdrawal.created_at,
            updated_at: withdrawal.updated_at,
            committed_at: withdrawal.committed_at,
        }
    }
}

impl WithdrawalFacts {
    /// One line about the withdrawal.
    pub(super) fn line(&self) -> String {
        let seq = self.parent_event_seq.map(|seq| format!(", seq {seq} of the parent")).unwrap_or_default();
        format!("withdrawal of rev-{}  {}{seq}  {}", self.revision, self.state, visible(&self.reason))
    }
}

/// A fold that was taken back, and what became of the notice.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WithdrawDocument {
    /// The fold.
    fold: FoldFacts,
    /// The withdrawal.
    withdrawal: WithdrawalFacts,
    /// The revision that is current now; `null`: none.
    current_revision: Option<u64>,
    /// What became of the notice.
    delivery: DeliveryDocument,
    /// The notice that is to stand in the parent; `null` once it does.
    message: Option<NoticeDocument>,
    /// Whether nothing was changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    dry_run: Option<bool>,
}

impl WithdrawDocument {
    /// The document of a fold that was taken back.
    pub fn of(withdrawn: &Withdrawn) -> WithdrawDocument {
        let delivery = DeliveryDocument::of(withdrawn.delivered.as_ref());
        WithdrawDocument {
            fold: FoldFacts::of(&withdrawn.fold, &withdrawn.chat),
            withdrawal: WithdrawalFacts::from(&withdrawn.withdrawal),
            current_revision: withdrawn.current,
            message: (!delivery.is_delivered()).then(|| NoticeDocument::from(&withdrawn.notice)),
            delivery,
            dry_run: None,
        }
    }

    /// The document of one that would be.
    pub fn trial(withdrawn: &Withdrawn) -> WithdrawDocument {
        WithdrawDocument { dry_run: Some(true), ..WithdrawDocument::of(withdrawn) }
    }
}

impl Document for WithdrawDocument {
    const SCHEMA: &'static str = "dshkit/sidechat.withdraw/1";

    fn is_dry_run(&self) -> bool {
        self.dry_run.is_some()
    }

    fn text(&self, text: &mut TextOut<'_>) -> io::Result<()> {
        text.line(&self.withdrawal.line())?;
        let current = self.current_revision.map_or_else(|| "none".to_owned(), |revision| format!("rev-{revision}"));
        text.line(&format!("current: {current}"))?;
        self.delivery.print_message(self.message.as_ref(), text)
    }
}
