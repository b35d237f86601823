//! Looking into the messages that surface events carry.

use crate::model::event::Event;
use crate::model::js_string::{JsStr, JsString};
use crate::model::json::View;

/// Whose words a message of a conversation holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// The person, or the checkpoint of a compaction.
    User,
    /// The model.
    Assistant,
}

impl Role {
    /// The name in requests, texts and documents.
    pub fn name(self) -> &'static str {
        match self {
            Role::User => "user",
            Role::Assistant => "assistant",
        }
    }
}

/// The message of a surface event: the event's data for a user message, its `message` for the others.
/// `None` for events that carry none.
pub fn message_of<'e>(event: &'e Event<'_>) -> Option<View<'e>> {
    match event.kind.to_str()? {
        "user/message" => Some(event.data()),
        "assistant/message" | "tool/result" | "system/message" | "developer/message" => event.parts().message,
        _ => None,
    }
}

/// The kind of a message's source, for example `user`, `model`, `plugin`.
pub fn source_kind(message: View<'_>) -> Option<JsStr<'_>> {
    message.get("source")?.get("kind")?.string()
}

/// Whether a person wrote the message.
pub fn is_from_user(message: View<'_>) -> bool {
    source_kind(message).is_some_and(|kind| kind == "user")
}

/// Whether the message is the checkpoint of a compaction: plugin `compact` up to v3, its own kind from
/// v4 (formats.md §6.2). Each generation has one form only, and dsh of that generation knows no other.
pub fn is_compact_checkpoint(message: View<'_>, version: u64) -> bool {
    let Some(source) = message.get("source") else { return false };
    let is = |key, text| source.get(key).is_some_and(|value| value.is_string(text));
    if version >= 4 { is("kind", "compact-checkpoint") } else { is("kind", "plugin") && is("plugin", "compact") }
}

/// The text blocks of a message, joined by line feeds (formats.md §8.1).
pub fn text_of(message: View<'_>) -> JsString {
    let texts = message
        .get("content")
        .into_iter()
        .flat_map(View::elements)
        .filter_map(|block| if block.get("type")?.is_string("text") { block.get("text")?.string() } else { None });
    JsStr::join(texts, "\n")
}

/// The tool calls an assistant message makes: id, name, arguments.
pub fn tool_calls(message: View<'_>) -> impl Iterator<Item = ToolCall<'_>> {
    message.get("content").into_iter().flat_map(View::elements).filter_map(|block| {
        if !block.get("type")?.is_string("tool-call") {
            return None;
        }
        Some(ToolCall {
            id: block.get("id")?.string()?,
            name: block.get("name").and_then(View::string).unwrap_or_default(),
            arguments: block.get("arguments").and_then(View::string).unwrap_or_default(),
        })
    })
}

/// A call of a tool in an assistant message.
#[derive(Clone, Debug)]
pub struct ToolCall<'a> {
    /// The call's id.
    pub id: JsStr<'a>,
    /// The tool's name.
    pub name: JsStr<'a>,
    /// The arguments as the model wrote them; meant to be JSON, not always so.
    pub arguments: JsStr<'a>,
}

/// The content of a tool result, without the wrapper block it has up to v3 (formats.md §3.3).
pub fn tool_result_content(message: View<'_>) -> Option<View<'_>> {
    let content = message.get("content")?;
    let wrapper =
        content.elements().next().filter(|block| block.get("type").is_some_and(|kind| kind.is_string("tool-result")));
    match wrapper {
        Some(wrapper) => wrapper.get("content"),
        None => Some(content),
    }
}

/// The text blocks of a tool result, joined by line feeds.
pub fn tool_result_text(message: View<'_>) -> JsString {
    let texts = tool_result_content(message)
        .into_iter()
        .flat_map(View::elements)
        .filter_map(|block| if block.get("type")?.is_string("text") { block.get("text")?.string() } else { None });
    JsStr::join(texts, "\n")
}
