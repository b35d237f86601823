//! `dshkit/sidechat.relink/1`, and what is told of a new parent.

use super::chat::ChatDocument;
use crate::output::documents::list::time;
use crate::output::json::Js;
use crate::output::terminal_text::visible_js;
use crate::output::{Document, TextOut};
use crate::sidechat::chat::Chat;
use crate::sidechat::relink::Relink;
use schemars::JsonSchema;
use serde::Serialize;
use std::io;

/// A new parent.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RelinkFacts {
    /// Whose the side chat was.
    from_session_id: Js,
    /// When that session was created.
    from_created_at: u64,
    /// Whose it is.
    to_session_id: Js,
    /// When that session was created.
    to_created_at: u64,
    /// Since when.
    at: i64,
}

impl From<&Relink> for RelinkFacts {
    fn from(relink: &Relink) -> RelinkFacts {
        RelinkFacts {
            from_session_id: Js::from(&relink.from.id),
            from_created_at: relink.from.identity.created_at,
            to_session_id: Js::from(&relink.to.id),
            to_created_at: relink.to.identity.created_at,
            at: relink.at,
        }
    }
}

impl RelinkFacts {
    /// One line about the new parent.
    pub(super) fn line(&self) -> String {
        let (from, to) = (visible_js(&self.from_session_id.0), visible_js(&self.to_session_id.0));
        format!("parent since {}  {to}, before {from}", time(self.at))
    }
}

/// A side chat that has a new parent.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RelinkDocument {
    /// The side chat.
    chat: ChatDocument,
    /// The record of it.
    relink: RelinkFacts,
    /// Whether nothing was changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    dry_run: Option<bool>,
}

impl RelinkDocument {
    /// The document of a side chat that has a new parent.
    pub fn new(chat: &Chat, relink: &Relink) -> RelinkDocument {
        RelinkDocument { chat: ChatDocument::from(chat), relink: RelinkFacts::from(relink), dry_run: None }
    }

    /// The document of one that would have one.
    pub fn trial(chat: &Chat, relink: &Relink) -> RelinkDocument {
        RelinkDocument { dry_run: Some(true), ..RelinkDocument::new(chat, relink) }
    }
}

impl Document for RelinkDocument {
    const SCHEMA: &'static str = "dshkit/sidechat.relink/1";

    fn is_dry_run(&self) -> bool {
        self.dry_run.is_some()
    }

    fn text(&self, text: &mut TextOut<'_>) -> io::Result<()> {
        text.line(&format!("{}  {}", visible_js(&self.chat.child_session_id.0), self.relink.line()))
    }
}
