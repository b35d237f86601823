//! What an event says, as text: the text that filters and searches look at (formats.md §9.4).

use crate::model::event::Event;
use crate::model::js_string::{JsStr, JsString};
use crate::model::json::View;
use crate::model::message::message_of;

/// The semantic text of an event; empty for events that say nothing. Messages, tool calls and their
/// results, todos, and how a turn ended; no reasoning, no system or developer text.
pub fn semantic_text(event: &Event<'_>) -> JsString {
    let Some(kind) = event.kind.to_str() else { return JsString::default() };
    let mut parts = Parts::default();
    match kind {
        "user/message" | "assistant/message" => {
            parts.content(message_of(event).and_then(|message| message.get("content")))
        }
        "tool/call" => {
            let data = event.data();
            parts.member(data, "name");
            parts.member(data, "arguments");
        }
        "tool/result" => {
            parts.content(message_of(event).and_then(|message| message.get("content")));
            if let Some(error) = event.data().get("error") {
                parts.member(error, "name");
                parts.member(error, "code");
            }
        }
        "todo/write" => {
            for todo in event.data().get("todos").into_iter().flat_map(View::elements) {
                parts.member(todo, "status");
                parts.member(todo, "content");
            }
        }
        "turn/end" => parts.turn_end(event.data().get("reason")),
        _ => {}
    }
    parts.text
}

/// The reasoning in an assistant's message, which is not part of the semantic text.
pub fn reasoning_text(event: &Event<'_>) -> JsString {
    let mut parts = Parts::default();
    if event.is("assistant/message") {
        for block in message_of(event).and_then(|message| message.get("content")).into_iter().flat_map(View::elements) {
            if block.get("type").is_some_and(|kind| kind.is_string("reasoning")) {
                parts.member(block, "text");
            }
        }
    }
    parts.text
}

/// The title an event sets, which is not part of the semantic text.
pub fn title_text(event: &Event<'_>) -> JsString {
    let mut parts = Parts::default();
    if event.is("session/title") {
        parts.member(event.data(), "title");
    }
    parts.text
}

/// Parts of a text, each trimmed, empty ones left out, joined by line feeds.
#[derive(Default)]
struct Parts {
    text: JsString,
}

impl Parts {
    fn push(&mut self, part: &JsStr<'_>) {
        let part = part.trim_js();
        if part.is_empty() {
            return;
        }
        if !self.text.is_empty() {
            self.text.push_str("\n");
        }
        self.text.push_js(&part);
    }

    fn member(&mut self, object: View<'_>, key: &str) {
        if let Some(text) = object.get(key).and_then(View::string) {
            self.push(&text);
        }
    }

    fn content(&mut self, content: Option<View<'_>>) {
        for block in content.into_iter().flat_map(View::elements) {
            let kind = block.get("type").and_then(View::string);
            match kind.as_ref().and_then(|kind| kind.to_str()) {
                Some("text") => self.member(block, "text"),
                Some("tool-call") => {
                    self.member(block, "name");
                    self.member(block, "arguments");
                }
                // Up to v3 a tool's result is inside one such block.
                Some("tool-result") => self.content(block.get("content")),
                _ => {}
            }
        }
    }

    fn turn_end(&mut self, reason: Option<View<'_>>) {
        let Some(reason) = reason else { return };
        let kind = reason.get("kind").and_then(View::string);
        match kind.as_ref().and_then(|kind| kind.to_str()) {
            Some("error") => {
                self.push(&JsStr::from("error"));
                if let Some(error) = reason.get("error") {
                    self.member(error, "message");
                }
            }
            Some(word @ ("aborted" | "max-tokens" | "interrupted")) => self.push(&JsStr::from(word)),
            _ => {}
        }
    }
}
