//! `dshkit/sidechat.hide/1`

use super::chat::ChatDocument;
use crate::output::terminal_text::visible_js;
use crate::output::{Document, TextOut};
use crate::sidechat::chat::Chat;
use schemars::JsonSchema;
use serde::Serialize;
use std::io;

/// A side chat that is hidden, or is not any more.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HideDocument {
    /// The side chat.
    chat: ChatDocument,
    /// Whether nothing was changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    dry_run: Option<bool>,
}

impl HideDocument {
    /// The document of a side chat that is hidden now, or is not any more.
    pub fn new(chat: &Chat) -> HideDocument {
        HideDocument { chat: ChatDocument::from(chat), dry_run: None }
    }

    /// The document of one that would be.
    pub fn trial(chat: &Chat) -> HideDocument {
        HideDocument { dry_run: Some(true), ..HideDocument::new(chat) }
    }
}

impl Document for HideDocument {
    const SCHEMA: &'static str = "dshkit/sidechat.hide/1";

    fn is_dry_run(&self) -> bool {
        self.dry_run.is_some()
    }

    fn text(&self, text: &mut TextOut<'_>) -> io::Result<()> {
        let word = if self.chat.hidden { "hidden" } else { "shown" };
        text.line(&format!("{word}  {}", visible_js(&self.chat.child_session_id.0)))
    }
}
