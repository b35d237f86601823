//! `dshkit/sidechat.fold/1`

use super::fold_facts::FoldFacts;
use crate::output::{Document, TextOut};
use crate::sidechat::chat::Chat;
use crate::sidechat::fold::Fold;
use schemars::JsonSchema;
use serde::Serialize;
use std::io;

/// A prepared fold.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FoldDocument {
    /// The fold.
    fold: FoldFacts,
    /// Whether it was there before, and nothing was done.
    existed: bool,
    /// Whether nothing was changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    dry_run: Option<bool>,
}

impl FoldDocument {
    /// The document of a fold.
    pub fn of(fold: &Fold, chat: &Chat, existed: bool) -> FoldDocument {
        FoldDocument { fold: FoldFacts::of(fold, chat), existed, dry_run: None }
    }

    /// The document of a fold that this text would become.
    pub fn trial(chat: &Chat, text: &str) -> FoldDocument {
        FoldDocument { fold: FoldFacts::of_text(Some(text), chat), existed: false, dry_run: Some(true) }
    }
}

impl Document for FoldDocument {
    const SCHEMA: &'static str = "dshkit/sidechat.fold/1";

    fn text(&self, text: &mut TextOut<'_>) -> io::Result<()> {
        self.fold.print(text)
    }
}
