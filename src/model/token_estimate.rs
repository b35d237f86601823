//! What messages weigh in tokens by dsh's estimate, which knows no tokenizer: four UTF-16 code units a
//! token, and something for each block and each message (formats.md §7.4, dsh-token-meter of 0.2.1).
//!
//! The rule is that of the newest dsh, but for the block around a tool's result that messages have up to
//! v3: it weighs what is in it and something for itself, as the dsh of its time weighed it. Compactions
//! logged the weight of what they replaced, and only so does what they took away equal what had come.

use crate::model::event::Event;
use crate::model::json::{Kind, Value, View, write_value, write_view};
use crate::model::message::message_of;

const UNITS_PER_TOKEN: u64 = 4;
/// What a block weighs beside what is in it.
const BLOCK: u64 = 4;
/// What a message weighs beside its blocks.
const MESSAGE: u64 = 4;

/// The tokens of the message that a surface event brings before the model, in a log of this generation; 0
/// if it brings none, as an answer without content. `None` if the event holds no message.
pub fn estimate_event(event: &Event<'_>, version: u64) -> Option<u64> {
    let message = message_of(event)?;
    let is_empty = message.get("content")?.array()?.next().is_none();
    match event.kind.to_str()? {
        "assistant/message" | "system/message" | "developer/message" if is_empty => Some(0),
        _ => estimate_message(message, version),
    }
}

/// The tokens of a message in a log of this generation; `None` if it has no list of blocks.
pub fn estimate_message(message: View<'_>, version: u64) -> Option<u64> {
    let [role, content] = message.pick(["role", "content"]);
    let mut blocks = content?.array()?.peekable();
    if role.is_some_and(|role| role.is_string("system")) {
        return Some(if blocks.peek().is_none() { 0 } else { estimate_system_prompt(blocks.map(prompt_units).sum()) });
    }
    Some(blocks.map(|block| estimate_block(block, version)).sum::<u64>() + MESSAGE)
}

/// The tokens of a system prompt of so many UTF-16 code units: it goes to the model as one text.
pub fn estimate_system_prompt(units: u64) -> u64 {
    tokens(units) + MESSAGE
}

/// The tokens of the tools that a request's header describes.
pub fn estimate_tools(header: View<'_>) -> u64 {
    match header.get("tools") {
        Some(tools) if tools.elements().next().is_some() => tokens(json_units(tools)) + BLOCK,
        _ => 0,
    }
}

fn estimate_block(block: View<'_>, version: u64) -> u64 {
    let [kind, text, name, arguments, content] = block.pick(["type", "text", "name", "arguments", "content"]);
    let is = |known| kind.is_some_and(|kind| kind.is_string(known));
    let weight = match (text.and_then(text_units), name.and_then(text_units), arguments.and_then(text_units)) {
        (Some(text), ..) if is("text") || is("reasoning") => tokens(text),
        (_, Some(name), Some(arguments)) if is("tool-call") => tokens(name) + tokens(arguments),
        _ if version <= 3 && is("tool-result") && content.is_some_and(|content| content.kind() == Kind::Array) => {
            content.into_iter().flat_map(View::elements).map(|block| estimate_block(block, version)).sum()
        }
        // Whether an image is still sent changes nothing.
        _ if is("image") && block.has("offloaded") => tokens(json_units_without(block, "offloaded")),
        _ => tokens(json_units(block)),
    };
    weight + BLOCK
}

fn tokens(units: u64) -> u64 {
    units.div_ceil(UNITS_PER_TOKEN)
}

/// How much a block adds to a system prompt.
fn prompt_units(block: View<'_>) -> u64 {
    let [kind, text] = block.pick(["type", "text"]);
    let text = text.filter(|_| kind.is_some_and(|kind| kind.is_string("text")));
    text.and_then(text_units).unwrap_or_else(|| json_units(block))
}

fn text_units(value: View<'_>) -> Option<u64> {
    Some(value.len_utf16()? as u64)
}

/// The length of a value as `JSON.stringify` prints it.
fn json_units(value: View<'_>) -> u64 {
    let mut text = String::new();
    write_view(value, &mut text);
    utf16_len(&text)
}

fn json_units_without(object: View<'_>, key: &str) -> u64 {
    let mut value = object.to_value();
    if let Value::Object(object) = &mut value {
        object.remove(key);
    }
    let mut text = String::new();
    write_value(&value, &mut text);
    utf16_len(&text)
}

fn utf16_len(text: &str) -> u64 {
    text.chars().map(|c| c.len_utf16() as u64).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::json::parse;

    fn estimate(message: &str) -> Option<u64> {
        estimate_message(parse(message).unwrap(), 4)
    }

    #[test]
    fn a_system_prompt_is_one_text() {
        assert_eq!(estimate(r#"{"role":"system","content":[]}"#), Some(0));
        let two = r#"{"role":"system","content":[{"type":"text","text":"123"},{"type":"text","text":"45"}]}"#;
        assert_eq!(estimate(two), Some(2 + 4));
        // `{"type":"x"}` has twelve code units.
        assert_eq!(estimate(r#"{"role":"system","content":[{"type":"x"}]}"#), Some(3 + 4));
    }

    #[test]
    fn an_image_weighs_the_same_whether_it_is_sent_or_not() {
        // `{"type":"image"}` has 16 code units.
        assert_eq!(estimate(r#"{"content":[{"type":"image"}]}"#), Some(4 + 4 + 4));
        assert_eq!(estimate(r#"{"content":[{"type":"image","offloaded":true}]}"#), Some(4 + 4 + 4));
    }

    #[test]
    fn what_is_no_message_has_no_weight_and_what_is_no_text_weighs_its_json() {
        assert_eq!(estimate(r#"{"content":"text"}"#), None);
        assert_eq!(estimate("7"), None);
        // `{"type":"text"}` has 15 code units.
        assert_eq!(estimate(r#"{"content":[{"type":"text"}]}"#), Some(4 + 4 + 4));
    }
}
