//! What is told of a cite.

use crate::output::TextOut;
use crate::output::json::Js;
use crate::output::terminal_text::{visible, visible_js};
use crate::sidechat::chat::Chat;
use crate::sidechat::citation::{Cite, Source};
use crate::sidechat::estimate;
use schemars::JsonSchema;
use serde::Serialize;
use std::io;

/// A cite: one reply or one fold of a side chat, quoted in its parent.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CiteFacts {
    /// Its id, a UUID.
    cite_id: String,
    /// The side chat.
    child_session_id: Js,
    /// The side chat's parent.
    parent_session_id: Js,
    /// The session it is quoted in; `null` if that is not known.
    target_session_id: Option<Js>,
    /// Whether that session is not the parent.
    cross_parent: bool,
    /// What is quoted.
    source: CitedDocument,
    /// When that was written; `null` if it is not known.
    source_time: Option<i64>,
    /// The quoted text, frozen.
    text: String,
    /// The estimate that its budget counts with.
    estimated_tokens: u64,
    /// An estimate that looks at the script of the text.
    script_aware_tokens: u64,
    /// The budget, in tokens.
    max_tokens: u64,
    /// `pending`, `committed`, or `failed`; of the plugin's also `generating` or `prepared`.
    state: &'static str,
    /// Where it stands in that session's log.
    parent_event_seq: Option<u64>,
    /// The format generation in which that seq counts.
    parent_format: Option<u64>,
    /// Why it failed, or has to wait.
    reason: Option<String>,
    /// When it was made.
    created_at: i64,
    /// When its state last changed.
    updated_at: i64,
    /// When it came to stand there.
    committed_at: Option<i64>,
}

/// What a cite quotes.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", tag = "kind")]
enum CitedDocument {
    /// A reply of the side chat's model.
    Message {
        /// The id of its message.
        message_id: Js,
        /// Its seq when it was quoted; `null` if it is not known.
        seq: Option<u64>,
        /// The format generation in which that seq counts.
        format: Option<u64>,
        /// The part that is quoted, between two UTF-16 offsets; `null`: all of it.
        range: Option<[u64; 2]>,
    },
    /// A committed fold.
    Fold {
        /// Its id, a UUID.
        fold_id: String,
        /// Its revision.
        revision: u64,
    },
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
                Source::Message { message_id, place, range } => CitedDocument::Message {
                    message_id: Js::from(message_id),
                    seq: place.map(|place| place.seq),
                    format: place.map(|place| place.format),
                    range: range.map(|(start, end)| [start, end]),
                },
                Source::Fold { fold_id, revision } => {
                    CitedDocument::Fold { fold_id: fold_id.to_string(), revision: *revision }
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

    /// What is quoted, for people, below its line.
    pub(super) fn print_text(&self, text: &mut TextOut<'_>) -> io::Result<()> {
        self.text.lines().try_for_each(|line| text.line(&format!("      {}", visible(line))))
    }

    /// One line about the cite.
    pub(super) fn line(&self) -> String {
        let source = match &self.source {
            CitedDocument::Message { message_id, .. } => format!("reply {}", visible_js(&message_id.0)),
            CitedDocument::Fold { revision, .. } => format!("rev-{revision}"),
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
