//! The conversation of a session: what its person and its model said, as the model still sees it.

use crate::model::event::Event;
use crate::model::js_string::JsString;
use crate::model::message::Role;
use crate::model::message::{is_compact_checkpoint, is_from_user, message_of, text_of};
use crate::model::surface::{Replacement, Surface};
use std::collections::HashMap;

/// One message of the conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The seq of the event that holds it.
    pub seq: u64,
    /// Who said it.
    pub role: Role,
    /// What was said: the text blocks, joined by line feeds. Never empty.
    pub text: JsString,
    /// Whether it is the checkpoint of a compaction.
    pub is_checkpoint: bool,
}

/// Collects a conversation while a log is read: user messages of the person, checkpoints, and answers.
/// Everything injected, all tools and all reasoning stay out, and what is replaced is let go.
pub struct ConversationFold {
    version: u64,
    messages: HashMap<u64, Message>,
}

impl ConversationFold {
    /// A fold for a log of a format generation.
    pub fn new(version: u64) -> ConversationFold {
        ConversationFold { version, messages: HashMap::new() }
    }

    /// Takes one event in, with what it replaced.
    pub fn apply(&mut self, event: &Event<'_>, replaced: Option<&Replacement>) {
        for seq in replaced.into_iter().flat_map(|replacement| &replacement.removed) {
            self.messages.remove(seq);
        }
        if event.surface_op.is_none() {
            return;
        }
        if let Some(message) = self.message(event) {
            self.messages.insert(event.seq, message);
        }
    }

    fn message(&self, event: &Event<'_>) -> Option<Message> {
        let message = message_of(event)?;
        let (role, is_checkpoint) = match event.kind.to_str()? {
            "user/message" => {
                let is_checkpoint = is_compact_checkpoint(message, self.version);
                if !is_checkpoint && !is_from_user(message) {
                    return None;
                }
                (Role::User, is_checkpoint)
            }
            "assistant/message" => (Role::Assistant, false),
            _ => return None,
        };
        let text = text_of(message);
        (!text.is_empty()).then_some(Message { seq: event.seq, role, text, is_checkpoint })
    }

    /// The conversation in the order of the finished surface.
    pub fn finish(mut self, surface: &Surface) -> Vec<Message> {
        surface.nodes.iter().filter_map(|seq| self.messages.remove(seq)).collect()
    }
}
