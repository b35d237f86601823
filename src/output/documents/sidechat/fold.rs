//! `dshkit/sidechat.fold/1`

use super::fold_facts::FoldFacts;
use crate::output::documents::error::ErrorFacts;
use crate::output::{Document, TextOut};
use crate::sidechat::chat::Chat;
use crate::sidechat::prepare::{Foldable, Prepared};
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
    /// What is wrong with what the text points to, which keeps it from being committed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pointer_error: Option<ErrorFacts>,
    /// Whether nothing was changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    dry_run: Option<bool>,
}

impl FoldDocument {
    /// The document of a fold.
    pub fn of(prepared: &Prepared, chat: &Chat) -> FoldDocument {
        FoldDocument {
            fold: FoldFacts::of(&prepared.fold, chat),
            existed: prepared.is_old,
            pointer_error: prepared.pointer_failure.as_ref().map(ErrorFacts::of),
            dry_run: None,
        }
    }

    /// The document of a fold that this text would become.
    pub fn trial(foldable: &Foldable, text: &str) -> FoldDocument {
        let (pointers, failure) = match foldable.pointers(text) {
            Ok(pointers) => (pointers, None),
            Err(failure) => (Vec::new(), Some(failure)),
        };
        FoldDocument {
            fold: FoldFacts::of_trial(text, &foldable.chat, foldable.mode, &pointers),
            existed: false,
            pointer_error: failure.as_ref().map(ErrorFacts::of),
            dry_run: Some(true),
        }
    }
}

impl Document for FoldDocument {
    const SCHEMA: &'static str = "dshkit/sidechat.fold/1";

    fn is_dry_run(&self) -> bool {
        self.dry_run.is_some()
    }

    fn text(&self, text: &mut TextOut<'_>) -> io::Result<()> {
        self.fold.print(text)
    }
}
