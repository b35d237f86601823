//! v3, the format of dsh 0.1.5 and 0.1.6 (formats.md §3, §5.3).
//!
//! The system prompt is a message on the surface, the stream of an answer is inside the answer, and the
//! ends of a replacement are called `startSeq` and `endSeq`.

use super::envelope::Members;
use super::event_types::is_known;
use super::rows::{Admission, RowLog, check_surface_markers};
use super::shapes::{is_block, is_kind, non_empty_string};
use super::{Generation, Rows, Start};
use crate::model::event::is_surface_type;
use crate::model::header::Header;
use crate::model::js_string::JsStr;
use crate::model::json::View;
use crate::model::problem::{Fault, ProblemKind};

pub(super) fn decoder(header: &Header, start: Start) -> Box<dyn Rows> {
    Box::new(RowLog::new(V3, header, start))
}

struct V3;

impl Admission for V3 {
    fn generation(&self) -> Generation {
        Generation::V3
    }

    fn refuses_log(&self, _row: View<'_>, members: &Members<'_>) -> Result<(), Fault> {
        let bad = |message: &str| Err(Fault::new(ProblemKind::BadRow, message));
        if members.is("request/header") {
            let header = members.data.and_then(|data| data.get("header")).filter(|header| header.is_object());
            return match header {
                None => bad("a request header has no header object"),
                Some(header) if header.get("system").is_some() => {
                    let message = "a request header carries the system prompt, as up to v2";
                    Err(Fault::new(ProblemKind::UnknownEvent, message))
                }
                Some(_) => Ok(()),
            };
        }
        let is_retired = members.is("tool/code-dispatch-start") || members.is("tool/code-dispatch");
        if is_retired && !members.is_ignorable() {
            return Err(Fault::new(ProblemKind::UnknownEvent, "an event type that v3 renamed"));
        }
        if members.is("system/message")
            && let Err(message) = check_system_message(members.data)
        {
            return bad(message);
        }
        Ok(())
    }

    fn refuses_row(&self, members: &Members<'_>, kind: &JsStr<'_>, seq: u64) -> Result<(), &'static str> {
        if is_known(self.generation(), kind) {
            check_surface_markers(members, is_surface_type(kind), seq, self.replace_keys())?;
        }
        match kind.to_str() {
            Some("request/header") => check_no_empty_lists(members.data),
            Some("tool/result") => check_error_mark(members.data),
            _ => Ok(()),
        }
    }

    fn replace_keys(&self) -> (&'static str, &'static str) {
        ("startSeq", "endSeq")
    }
}

/// A system message stands in a step, comes from a plugin, and holds nothing but what it must.
fn check_system_message(data: Option<View<'_>>) -> Result<(), &'static str> {
    let has_only = |object: View<'_>, keys: &[&str]| {
        keys.iter().all(|key| object.get(key).is_some())
            && object.members().all(|(key, _)| keys.iter().any(|known| key == *known))
    };
    let data = data.filter(|data| data.is_object() && has_only(*data, &["turn", "step", "message"]));
    let data = data.ok_or("a system message has other members than turn, step, message")?;
    if ["turn", "step"].iter().any(|key| data.get(key).and_then(View::count).is_none_or(|number| number == 0)) {
        return Err("a system message names no turn and step");
    }
    let message = data.get("message").filter(|message| has_only(*message, &["id", "role", "source", "content"]));
    let message = message.ok_or("a system message has other members than id, role, source, content")?;
    if !non_empty_string(message.get("id")) || !message.get("role").is_some_and(|role| role.is_string("system")) {
        return Err("a system message has no id or another role");
    }
    let source =
        message.get("source").filter(|source| is_kind(*source, "plugin") && non_empty_string(source.get("plugin")));
    source.ok_or("a system message does not come from a plugin")?;
    let content = message.get("content").and_then(View::array).ok_or("a system message has no content list")?;
    for block in content {
        let is_text = is_block(block, "text") || is_block(block, "reasoning");
        if !non_empty_string(block.get("type"))
            || is_text && block.get("text").is_none_or(|text| text.string().is_none())
        {
            return Err("a system message has a malformed content block");
        }
    }
    Ok(())
}

fn check_no_empty_lists(data: Option<View<'_>>) -> Result<(), &'static str> {
    let header = data.and_then(|data| data.get("header"));
    let is_empty_list = |value: View<'_>| value.array().is_some_and(|mut items| items.next().is_none());
    let is_empty_object = |value: View<'_>| value.is_object() && value.members().next().is_none();
    let tools = header.and_then(|header| header.get("tools"));
    let defaults = header.and_then(|header| header.get("adapterDefaults"));
    if tools.is_some_and(is_empty_list) || defaults.is_some_and(is_empty_object) {
        return Err("a request header holds an empty list where v3 has none");
    }
    Ok(())
}

fn check_error_mark(data: Option<View<'_>>) -> Result<(), &'static str> {
    let data = data.filter(|data| data.is_object()).ok_or("a tool result has no data object")?;
    if data.get("error").is_none() {
        return Ok(());
    }
    let mut blocks =
        data.get("message").and_then(|message| message.get("content")).into_iter().flat_map(View::elements);
    match (blocks.next(), blocks.next()) {
        (Some(block), None) if is_block(block, "tool-result") && block.get("isError").is_some_and(View::is_true) => {
            Ok(())
        }
        _ => Err("a tool result has an error and is not marked as one"),
    }
}
