//! `dshkit/sidechat.commit/1`

use super::delivery::{DeliveryDocument, NoticeDocument};
use super::fold_facts::FoldFacts;
use crate::output::{Document, TextOut};
use crate::sidechat::chat::Chat;
use crate::sidechat::commit::Committed;
use crate::sidechat::fold::Fold;
use crate::sidechat::marker::Notice;
use schemars::JsonSchema;
use serde::Serialize;
use std::io;

/// A committed fold, and what became of its message.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CommitDocument {
    /// The fold.
    fold: FoldFacts,
    /// What became of its message.
    delivery: DeliveryDocument,
    /// The message as it stands in the parent or is to; `null` once it is delivered.
    message: Option<NoticeDocument>,
    /// Whether nothing was changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    dry_run: Option<bool>,
}

impl CommitDocument {
    /// The document of a fold that was decided on.
    pub fn of(committed: &Committed) -> CommitDocument {
        let delivery = DeliveryDocument::of(committed.delivered.as_ref());
        CommitDocument {
            fold: FoldFacts::of(&committed.fold, &committed.chat),
            message: (!delivery.is_delivered()).then(|| NoticeDocument::from(&committed.notice)),
            delivery,
            dry_run: None,
        }
    }

    /// The document of one that would be.
    pub fn trial(committed: &Committed) -> CommitDocument {
        CommitDocument { dry_run: Some(true), ..CommitDocument::of(committed) }
    }

    /// The document of one whose parent is not written to.
    pub fn refused(chat: &Chat, fold: &Fold, notice: &Notice) -> CommitDocument {
        CommitDocument {
            fold: FoldFacts::of(fold, chat),
            delivery: DeliveryDocument::refused(),
            message: Some(NoticeDocument::from(notice)),
            dry_run: None,
        }
    }
}

impl Document for CommitDocument {
    const SCHEMA: &'static str = "dshkit/sidechat.commit/1";

    fn is_dry_run(&self) -> bool {
        self.dry_run.is_some()
    }

    fn text(&self, text: &mut TextOut<'_>) -> io::Result<()> {
        text.line(&self.fold.line())?;
        self.delivery.print_message(self.message.as_ref(), text)
    }
}
