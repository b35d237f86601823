//! What an event's data must look like for dsh to load its log: messages and request headers.
//!
//! Most payloads are never looked at. These are, because dsh looks at them (formats.md §3.3, §5.3).

use super::Generation;
use crate::model::js_string::JsStr;
use crate::model::json::View;

type Check = Result<(), &'static str>;

/// Checks the message of an event that carries one: it is identified, and its role, source and content
/// are those of its type.
pub(super) fn check_message(generation: Generation, kind: &JsStr<'_>, data: Option<View<'_>>) -> Check {
    let Some(kind) = kind.to_str() else { return Ok(()) };
    let role = match kind {
        "user/message" => "user",
        "assistant/message" => "assistant",
        "tool/result" if generation >= Generation::V4 => "tool",
        "tool/result" => "user",
        "system/message" if generation >= Generation::V3 => "system",
        "developer/message" if generation >= Generation::V4 => "developer",
        _ => return Ok(()),
    };
    let message = if kind == "user/message" { data } else { data.and_then(|data| data.get("message")) };
    let [id, held_role, source, content] =
        message.map_or([None; 4], |message| message.pick(["id", "role", "source", "content"]));
    let message = message.filter(|_| non_empty_string(id)).ok_or("its message has no id")?;
    if !held_role.is_some_and(|held| held.is_string(role)) {
        return Err("its message has the wrong role for its type");
    }
    let source = source.filter(|source| non_empty_string(source.get("kind"))).ok_or("its message has no source")?;
    let content = content.filter(|content| content.array().is_some()).ok_or("its message has no content list")?;
    match kind {
        "system/message" => check_system_source(generation, source),
        "assistant/message" if !is_kind(source, "model") || !has_provider_and_model(Some(source)) => {
            Err("its message does not come from a model")
        }
        "tool/result" => check_tool_message(generation, message, source, content),
        _ => Ok(()),
    }
}

fn check_system_source(generation: Generation, source: View<'_>) -> Check {
    let is_right = if generation >= Generation::V4 {
        is_kind(source, "system-prompt")
    } else {
        is_kind(source, "plugin") && non_empty_string(source.get("plugin"))
    };
    if is_right { Ok(()) } else { Err("its message does not come from the system prompt") }
}

fn check_tool_message(generation: Generation, message: View<'_>, source: View<'_>, content: View<'_>) -> Check {
    let call_id = source.get("callId").and_then(View::string).filter(|id| !id.is_empty());
    let Some(call_id) = call_id.filter(|_| is_kind(source, "tool")) else {
        return Err("its message does not come from a tool call");
    };
    let holder = if generation >= Generation::V4 {
        message
    } else {
        let mut blocks = content.elements();
        match (blocks.next(), blocks.next()) {
            (Some(block), None)
                if is_block(block, "tool-result") && block.get("content").is_some_and(|c| c.array().is_some()) =>
            {
                block
            }
            _ => return Err("its message is not one tool-result block"),
        }
    };
    let same = holder.get("toolCallId").and_then(View::string).is_some_and(|id| id == call_id);
    if same { Ok(()) } else { Err("its message names two tool calls") }
}

/// Checks a v0 request header, which dsh 0.1.x checks on loading.
pub(super) fn check_request_header(data: Option<View<'_>>) -> Check {
    let header = data.and_then(|data| data.get("header")).filter(|header| header.is_object());
    let config = header.and_then(|header| header.get("config"));
    if !has_provider_and_model(config) {
        return Err("it names no provider and model");
    }
    let setting = |key: &str| config.and_then(|config| config.get(key));
    if setting("reasoningEffort").is_some() && !non_empty_string(setting("reasoningEffort")) {
        return Err("its reasoningEffort is not a word");
    }
    let Some(defaults) = header.and_then(|header| header.get("adapterDefaults")) else { return Ok(()) };
    let marks_what_is_set = |(key, value): (JsStr<'_>, View<'_>)| {
        let is_setting =
            ["reasoningEffort", "maxTokens"].into_iter().any(|known| key == known && setting(known).is_some());
        value.is_true() && is_setting
    };
    if defaults.is_object() && defaults.members().all(marks_what_is_set) {
        Ok(())
    } else {
        Err("its adapterDefaults are not valid")
    }
}

/// Whether a value is a string with something in it.
pub(super) fn non_empty_string(value: Option<View<'_>>) -> bool {
    value.and_then(View::string).is_some_and(|text| !text.is_empty())
}

/// Whether a message source is of this kind.
pub(super) fn is_kind(source: View<'_>, kind: &str) -> bool {
    source.get("kind").is_some_and(|held| held.is_string(kind))
}

/// Whether a content block is of this type.
pub(super) fn is_block(block: View<'_>, kind: &str) -> bool {
    block.get("type").is_some_and(|held| held.is_string(kind))
}

fn has_provider_and_model(value: Option<View<'_>>) -> bool {
    value.is_some_and(|value| non_empty_string(value.get("provider")) && non_empty_string(value.get("model")))
}
