//! `dshkit/sidechat.cites/1`

use super::cite_facts::CiteFacts;
use super::print_origin;
use crate::output::json::Js;
use crate::output::{Document, RecordOut, TextOut};
use crate::sidechat::chat::Chat;
use crate::sidechat::cite::Citation;
use crate::sidechat::listing::Seen;
use schemars::JsonSchema;
use serde::Serialize;
use std::io;

/// Who quotes a side chat.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CitesDocument {
    /// The side chat.
    child_session_id: Js,
    /// Who remembers it, as of a side chat.
    origin: &'static str,
    /// The cites, oldest first.
    cites: Vec<CitationDocument>,
}

/// A cite, and the session it is in.
#[derive(JsonSchema, Serialize)]
struct CitationDocument {
    #[serde(flatten)]
    cite: CiteFacts,
    /// How that session is: `here`, `gone`, `replaced`, or `unreadable`.
    target: Option<&'static str>,
}

impl CitesDocument {
    /// The document of a side chat's cites.
    pub fn new(chat: &Chat, cites: &[Citation]) -> CitesDocument {
        let citation = |citation: &Citation| CitationDocument {
            cite: CiteFacts::of(&citation.cite, chat),
            target: citation.target.map(Seen::name),
        };
        CitesDocument {
            child_session_id: Js::from(&chat.child.id),
            origin: chat.origin.name(),
            cites: cites.iter().map(citation).collect(),
        }
    }
}

impl Document for CitesDocument {
    const SCHEMA: &'static str = "dshkit/sidechat.cites/1";

    fn text(&self, text: &mut TextOut<'_>) -> io::Result<()> {
        print_origin(text, self.origin)?;
        if self.cites.is_empty() {
            return text.line("nobody quotes it");
        }
        self.cites.iter().try_for_each(|citation| {
            let gone = citation.target.filter(|target| *target != "here").map(|target| format!(" ({target})"));
            text.line(&format!("{}{}", citation.cite.line(), gone.unwrap_or_default()))?;
            citation.cite.print_text(text)
        })
    }

    fn records(&self, records: &mut RecordOut<'_>) -> io::Result<()> {
        self.cites.iter().try_for_each(|citation| records.write(citation))
    }
}
