//! What is told of a cite.

use crate::output::json::Js;
use crate::output::terminal_text::visible_js;
use crate::sidechat::chat::Chat;
use crate::sidechat::citation::{Cite, Source};
use crate::sidechat::estimate;
use schemars::JsonSchema;
use serde::Serialize;

/// A cite.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CiteFacts {
    cite_id: String,
    child_session_id: Js,
    parent_session_id: Js,
    target_session_id: Option<Js>,
    cross_parent: bool,
    source: SourceDocument,
    source_time: Option<i64>,
    text: String,
    estimated_tokens: u64,
    script_aware_tokens: u64,
    max_tokens: u64,
    state: &'static str,
    parent_event_seq: Option<u64>,
    parent_format: Option<u64>,
    reason: Option<String>,
    created_at: i64,
    updated_at: i64,
    committed_at: Option<i64>,
}

/// `{kind: "message", messageId, seq, format, range}` or `{kind: "fold", foldId, revision}`.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", tag = "kind")]
enum SourceDocument {
    Message { message_id: Js, seq: Option<u64>, format: Option<u64>, range: Option<[u64; 2]> },
    Fold { fold_id: String, revision: u64 },
}

impl CiteFacts {
    /// The facts of a cite.
    pub(super) fn of(cite: &Cite, chat: &Chat) -> CiteFacts {
        CiteFacts {
            cite_id: cite.id.to_string(),
            child_session_id: Js::from(&chat.child.id),
            parent_session_id: Js::from(&chat.parent.id),
            target_session_id: cite.target.as_ref().map(|target| Js::from(&target.id)),
            cross_parent: cite.is_cross_parent,
            source: match &cite.source {
                Source::Message { message_id, place, range } => SourceDocument::Message {
                    message_id: Js::from(message_id),
                    seq: place.map(|place| place.seq),
                    format: place.map(|place| place.format),
                    range: range.map(|(start, end)| [start, end]),
                },
                Source::Fold { fold_id, revision } => {
                    SourceDocument::Fold { fold_id: fold_id.to_string(), revision: *revision }
                }
            },
            source_time: cite.source_time,
            text: cite.text.clone(),
            estimated_tokens: estimate::compatible_tokens(&cite.text),
            script_aware_tokens: estimate::script_aware_tokens(&cite.text),
            max_tokens: estimate::BUDGET,
            state: cite.state.name(),
            parent_event_seq: cite.delivered.map(|place| place.seq),
            parent_format: cite.delivered.map(|place| place.format),
            reason: cite.reason.clone(),
            created_at: cite.created_at,
            updated_at: cite.updated_at,
            committed_at: cite.committed_at,
        }
    }

    /// One line about the cite.
    pub(super) fn line(&self) -> String {
        let source = match &self.source {
            SourceDocument::Message { message_id, .. } => format!("reply {}", visible_js(&message_id.0)),
            SourceDocument::Fold { revision, .. } => format!("rev-{revision}"),
        };
        let place = match &self.target_session_id {
            Some(target) if self.cross_parent => visible_js(&target.0),
            _ => "the parent".to_owned(),
        };
        let seq = match self.parent_event_seq {
            Some(seq) => format!(", seq {seq} of {place}"),
            None if self.cross_parent => format!(", in {place}"),
            None => String::new(),
        };
        format!("cite of {source}  {}{seq}  {}", self.state, self.cite_id)
    }
}
