//! `dshkit/sidechat.status/1`

use super::chat::ChatDocument;
use crate::output::terminal_text::visible_js;
use crate::output::{Document, TextOut};
use crate::sidechat::chat::{Chat, Status};
use schemars::JsonSchema;
use serde::Serialize;
use std::io;

/// A side chat that was archived, restored, or abandoned.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StatusDocument {
    /// The side chat.
    chat: ChatDocument,
    /// Whether nothing was changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    dry_run: Option<bool>,
}

impl StatusDocument {
    /// The document of a side chat.
    pub fn new(chat: &Chat) -> StatusDocument {
        StatusDocument { chat: ChatDocument::from(chat), dry_run: None }
    }

    /// The document of one that would get a status.
    pub fn trial(chat: &Chat, status: Status) -> StatusDocument {
        let mut chat = ChatDocument::from(chat);
        chat.status = status.name();
        StatusDocument { chat, dry_run: Some(true) }
    }
}

impl Document for StatusDocument {
    const SCHEMA: &'static str = "dshkit/sidechat.status/1";

    fn is_dry_run(&self) -> bool {
        self.dry_run.is_some()
    }

    fn text(&self, text: &mut TextOut<'_>) -> io::Result<()> {
        text.line(&format!("{}  {}", self.chat.status, visible_js(&self.chat.child_session_id.0)))
    }
}
