//! What v4 refuses in any row, wherever it stands: the shapes that v4 retired, and malformed forms of
//! those it brought (formats.md §5.3, second last paragraph).

use crate::generations::envelope::Members;
use crate::generations::shapes::{is_block, is_kind, non_empty_string};
use crate::model::json::View;
use crate::model::problem::{Fault, ProblemKind};

type Check = Result<(), &'static str>;

/// Checks one row.
pub(super) fn check(members: &Members<'_>) -> Result<(), Fault> {
    let is_retired = members.is("tool/code-dispatch-start") || members.is("tool/code-dispatch");
    if is_retired && !members.is_ignorable() {
        return Err(Fault::new(ProblemKind::UnknownEvent, "an event type that v3 renamed"));
    }
    check_row(members).map_err(|message| Fault::new(ProblemKind::BadRow, message))
}

fn check_row(members: &Members<'_>) -> Check {
    let Some(kind) = members.kind_string() else { return Ok(()) };
    let data = members.data.filter(|data| data.is_object());
    let get = |key| data.and_then(|data| data.get(key));
    match kind.to_str() {
        Some("developer/message") => check_developer_message(data),
        Some("user/message") => {
            check_no_plugin_source(data)?;
            check_ordinary_message(data)?;
            check_content(get("content"))
        }
        Some("assistant/message") => {
            check_no_plugin_source(get("message"))?;
            check_ordinary_message(get("message"))?;
            check_content(get("message").and_then(|message| message.get("content")))?;
            check_stream(get("stream"))
        }
        Some("assistant/attempt") => check_stream(get("stream")),
        Some("system/message") => {
            check_no_plugin_source(get("message"))?;
            check_ordinary_message(get("message"))?;
            check_system_message(members.data)
        }
        Some("tool/result") => {
            check_no_plugin_source(get("message"))?;
            check_ordinary_message(get("message"))?;
            check_tool_result(members)
        }
        Some("team/message/queued") => {
            check_content_of_wrappers(get("message").and_then(|message| message.get("content")))
        }
        Some("agent/inbox/spliced") => check_messages(get("inserted")),
        Some("session/title-llm-request") => check_messages(get("messages")),
        Some("compaction/summary") => {
            check_content(get("summary"))?;
            check_content(get("rawOutput"))
        }
        Some("tool/ptc-dispatch") => check_content_of_wrappers(get("content")),
        Some("request/header") => check_request_header(members.data),
        _ => Ok(()),
    }
}

fn check_messages(messages: Option<View<'_>>) -> Check {
    for message in messages.into_iter().flat_map(View::elements) {
        check_no_plugin_source(Some(message))?;
        check_ordinary_message(Some(message))?;
        check_content_of_wrappers(message.get("content"))?;
    }
    Ok(())
}

fn check_no_plugin_source(message: Option<View<'_>>) -> Check {
    let source = message.and_then(|message| message.get("source"));
    if source.is_some_and(|source| is_kind(source, "plugin")) {
        return Err("a message source is of the kind plugin, which v4 replaced by the producer's own");
    }
    Ok(())
}

/// A message that is not a developer's has neither that role nor blocks that change the tools.
fn check_ordinary_message(message: Option<View<'_>>) -> Check {
    let Some(message) = message.filter(|message| message.is_object()) else { return Ok(()) };
    if message.get("role").is_some_and(|role| role.is_string("developer")) {
        return Err("a message has the developer's role and is none");
    }
    check_no_tool_changes(message.get("content"))
}

fn check_content(content: Option<View<'_>>) -> Check {
    check_content_of_wrappers(content)?;
    check_no_tool_changes(content)
}

fn check_content_of_wrappers(content: Option<View<'_>>) -> Check {
    if content.into_iter().flat_map(View::elements).any(|block| is_block(block, "tool-result")) {
        return Err("a tool-result block, which v4 does not have");
    }
    Ok(())
}

fn check_no_tool_changes(content: Option<View<'_>>) -> Check {
    if content.into_iter().flat_map(View::elements).any(is_tool_change) {
        return Err("a block that changes the tools, outside a developer's message");
    }
    Ok(())
}

fn is_tool_change(block: View<'_>) -> bool {
    is_block(block, "tool-addition") || is_block(block, "tool-removal")
}

fn check_stream(stream: Option<View<'_>>) -> Check {
    for entry in stream.into_iter().flat_map(View::elements) {
        if !is_block(entry, "chunk") {
            continue;
        }
        let Some(chunk) = entry.get("chunk") else { continue };
        let starts = |kind| chunk.get("blockType").is_some_and(|held| held.is_string(kind));
        let is_bad = if is_block(chunk, "block-end") {
            chunk.get("block").is_some_and(|block| is_block(block, "tool-result") || is_tool_change(block))
        } else {
            is_block(chunk, "block-start") && ["tool-result", "tool-addition", "tool-removal"].into_iter().any(starts)
        };
        if is_bad {
            return Err("a streamed block of a type an answer does not have");
        }
    }
    Ok(())
}

fn check_developer_message(data: Option<View<'_>>) -> Check {
    let data = data.ok_or("a developer's message has no data object")?;
    let message =
        data.get("message").filter(|message| message.get("role").is_some_and(|role| role.is_string("developer")));
    let message = message.ok_or("a developer's message has another role")?;
    check_positive(data, "turn")?;
    check_positive(data, "step")?;
    let content = message.get("content").filter(|content| content.array().is_some());
    let source =
        message.get("source").filter(|source| non_empty_string(source.get("kind")) && !is_kind(*source, "plugin"));
    let (Some(content), Some(_), true) = (content, source, non_empty_string(message.get("id"))) else {
        return Err("a developer's message lacks id, content or source");
    };
    let mut has_additions = false;
    for block in content.elements() {
        if is_block(block, "tool-result") {
            return Err("a tool-result block, which v4 does not have");
        }
        if is_tool_change(block) && !non_empty_string(block.get("toolName")) {
            return Err("a block that changes the tools names none");
        }
        if is_block(block, "tool-addition") {
            has_additions = true;
            if block.get("tool").is_some() {
                return Err("a tool-addition defines its tool itself");
            }
        }
    }
    match data.get("headerSeq") {
        Some(seq) if has_additions && seq.count().is_some() => Ok(()),
        None if !has_additions => Ok(()),
        _ => Err("a developer's message names a request header exactly when it adds tools"),
    }
}

fn check_positive(data: View<'_>, key: &str) -> Check {
    if data.get(key).and_then(View::count).is_none_or(|number| number == 0) {
        return Err("a message names no turn and step");
    }
    Ok(())
}

fn check_request_header(data: Option<View<'_>>) -> Check {
    let header = data.and_then(|data| data.get("header")).filter(|header| header.is_object());
    let header = header.ok_or("a request header has no header object")?;
    if header.get("system").is_some() {
        return Err("a request header carries the system prompt, as up to v2");
    }
    let tools = header.get("tools").into_iter().flat_map(View::elements);
    if tools.filter_map(|tool| tool.get("deferLoading")).any(|defer| !defer.is_true()) {
        return Err("a tool's deferLoading is something else than true");
    }
    Ok(())
}

fn check_system_message(data: Option<View<'_>>) -> Check {
    let data = data.filter(|data| data.is_object()).ok_or("a system message has no data object")?;
    check_positive(data, "turn")?;
    check_positive(data, "step")?;
    let message = data.get("message").filter(|message| message.is_object()).ok_or("a system message has no message")?;
    if !non_empty_string(message.get("id")) || !message.get("role").is_some_and(|role| role.is_string("system")) {
        return Err("a system message has no id or another role");
    }
    for block in message.get("content").and_then(View::array).ok_or("a system message has no content list")? {
        let string = |key| block.get(key).is_some_and(|value| value.string().is_some());
        let is_right = match block.get("type").and_then(View::string) {
            None => false,
            Some(kind) => match kind.to_str() {
                Some("text" | "reasoning") => string("text"),
                Some("tool-call") => {
                    non_empty_string(block.get("id")) && non_empty_string(block.get("name")) && string("arguments")
                }
                Some("image") => block.get("attachment").is_some_and(is_image),
                Some("tool-result" | "") => false,
                _ => true,
            },
        };
        if !is_right {
            return Err("a system message has a malformed content block");
        }
    }
    Ok(())
}

fn is_image(attachment: View<'_>) -> bool {
    let positive = |holder: View<'_>, key| holder.get(key).and_then(View::count).is_some_and(|number| number > 0);
    let media = attachment.get("mediaType").and_then(View::string);
    let is_media = matches!(
        media.as_ref().and_then(|media| media.to_str()),
        Some("image/png" | "image/jpeg" | "image/webp" | "image/gif")
    );
    non_empty_string(attachment.get("attachmentId"))
        && is_media
        && attachment.get("bytes").and_then(View::count).is_some()
        && positive(attachment, "width")
        && positive(attachment, "height")
        && attachment.get("name").is_none_or(|name| name.string().is_some())
        && attachment
            .get("originalDimensions")
            .is_none_or(|original| positive(original, "width") && positive(original, "height"))
}

fn check_tool_result(members: &Members<'_>) -> Check {
    let data = members.data.filter(|data| data.is_object()).ok_or("a tool result has no data object")?;
    let message = data.get("message").filter(|message| message.is_object()).ok_or("a tool result has no message")?;
    if !non_empty_string(message.get("id")) || !message.get("role").is_some_and(|role| role.is_string("tool")) {
        return Err("a tool result's message has no id or another role than tool");
    }
    let call_id = message.get("toolCallId").and_then(View::string).filter(|id| !id.is_empty());
    let source = message.get("source").filter(|source| is_kind(*source, "tool"));
    let source_call_id = source.and_then(|source| source.get("callId")).and_then(View::string);
    if call_id.is_none() || call_id != source_call_id {
        return Err("a tool result's message names no call or two");
    }
    let content = message
        .get("content")
        .filter(|content| content.array().is_some())
        .ok_or("a tool result has no content list")?;
    check_content_of_wrappers(Some(content))?;
    let is_error = message.get("isError");
    if is_error.is_some_and(|is_error| is_error.bool().is_none()) {
        return Err("a tool result's isError is not true or false");
    }
    let error = data.get("error");
    if error.is_some() && !is_error.is_some_and(View::is_true) {
        return Err("a tool result has an error and is not marked as one");
    }
    match error {
        Some(error) if error.get("code").is_some_and(|code| code.is_string("TOOL_NOT_STARTED")) => {
            check_forked_result(members, message, error)
        }
        _ => Ok(()),
    }
}

/// The result that a fork makes for a call it cut off is recognised by its id, and must then be exactly
/// what a fork makes.
fn check_forked_result(members: &Members<'_>, message: View<'_>, error: View<'_>) -> Check {
    let id = message.get("id").and_then(View::string).unwrap_or_default();
    if !id.starts_with("forked-tool-result-") {
        return Ok(());
    }
    let call_id = message.get("toolCallId").and_then(View::string).unwrap_or_default();
    let prefix = [b"forked-tool-result-", call_id.as_bytes(), b"-"].concat();
    let number =
        id.as_bytes().strip_prefix(&prefix[..]).and_then(|suffix| canonical_count(std::str::from_utf8(suffix).ok()?));
    let seq = members.seq.and_then(View::count);
    let fits = match (number, members.surface_op) {
        (Some(number), Some(op)) if op.is_string("append") => {
            Some(number) == seq && members.source_event_seqs.is_none()
        }
        (Some(number), Some(op)) if op.get("op").is_some_and(|kind| kind.is_string("replace")) => {
            let mut sources = members.source_event_seqs.into_iter().flat_map(View::elements);
            seq.is_some_and(|seq| number < seq)
                && sources.next().and_then(View::count) == Some(number)
                && sources.next().is_none()
        }
        _ => false,
    };
    let mut content = message.get("content").into_iter().flat_map(View::elements);
    let is_one_text = matches!((content.next(), content.next()), (Some(block), None)
        if is_block(block, "text") && block.get("text").is_some_and(|text| text.string().is_some()));
    let is_named = error.get("name").is_some_and(|name| name.is_string("ToolNotStartedError"));
    if fits && is_one_text && is_named { Ok(()) } else { Err("a malformed result of a call that a fork cut off") }
}

/// A decimal number as JavaScript prints a count.
pub(super) fn canonical_count(text: &str) -> Option<u64> {
    let number: u64 = text.parse().ok()?;
    (number.to_string() == text && number <= 9_007_199_254_740_991).then_some(number)
}
