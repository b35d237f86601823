//! Spellings of before the first release that dsh 0.1.x still reads in v0 logs, and rewrites on reading.
//!
//! A message without identity gets the id `legacy-message:<session>:<seq>`; a steering message becomes a
//! user message; a turn's start loses its trigger and its end says why in the later words
//! (formats.md §2.3, v0→v1).

use crate::generations::envelope::Members;
use crate::model::js_string::{JsStr, JsString};
use crate::model::json::{Object, Value, View, write_value};
use std::collections::HashMap;

/// Rewrites old spellings in one log.
pub(super) struct Legacy {
    session_id: JsString,
    /// The message ids of the tool results so far: a rewritten replacement takes over its target's.
    result_ids: HashMap<u64, JsString>,
}

impl Legacy {
    pub(super) fn new(session_id: &JsString) -> Legacy {
        Legacy { session_id: session_id.clone(), result_ids: HashMap::new() }
    }

    /// The event in its present spelling as text, or `None` if it has it already.
    pub(super) fn modernise(
        &mut self,
        row: View<'_>,
        members: &Members<'_>,
        seq: u64,
    ) -> Result<Option<String>, &'static str> {
        let Some(kind) = members.kind_string() else { return Ok(None) };
        let Some(data) = members.data.filter(|data| data.is_object()) else {
            return if kind == "steering/message" { Err("a malformed steering message") } else { Ok(None) };
        };
        let rewritten = match kind.to_str() {
            Some("steering/message") => Some(self.steering(data, seq)?),
            Some("turn/start") => turn_start(data)?,
            Some("turn/end") => turn_end(data)?,
            Some("user/message") => self.user_message(data, seq),
            Some("assistant/message") => self.assistant_message(data, seq),
            Some("tool/result") => self.tool_result(data, members, seq),
            _ => None,
        };
        let Some(rewritten) = rewritten else { return Ok(None) };
        let Value::Object(mut event) = row.to_value() else { return Ok(None) };
        if kind == "steering/message" {
            event.set("type", Value::from("user/message"));
        }
        event.set("data", Value::Object(rewritten));
        let mut text = String::new();
        write_value(&Value::Object(event), &mut text);
        Ok(Some(text))
    }

    fn message_id(&self, seq: u64) -> Value {
        let mut id = JsStr::from("legacy-message:").into_owned();
        id.push_js(&self.session_id);
        id.push_str(&format!(":{seq}"));
        Value::String(id)
    }

    fn steering(&self, data: View<'_>, seq: u64) -> Result<Object, &'static str> {
        let has_turn = data.get("turn").and_then(View::safe_integer).is_some();
        let wrapped = data.get("message").filter(|message| message.is_object());
        if has_turn
            && has_only(data, &["turn", "message"], &[])
            && let Some(Value::Object(message)) = wrapped.map(View::to_value)
        {
            return Ok(message);
        }
        let Value::Object(mut message) = data.to_value() else { return Err("a malformed steering message") };
        if !has_turn || !has_only(data, &["turn", "content", "source"], &[]) {
            return Err("a malformed steering message");
        }
        message.remove("turn");
        message.set("id", self.message_id(seq));
        message.set("role", Value::from("user"));
        Ok(message)
    }

    fn user_message(&self, data: View<'_>, seq: u64) -> Option<Object> {
        let is_old = has_none(data, &["id", "role", "message"]) && has_all(data, &["content", "source"]);
        let mut message = if is_old { object(data)? } else { return None };
        message.set("id", self.message_id(seq));
        message.set("role", Value::from("user"));
        Some(message)
    }

    fn assistant_message(&self, data: View<'_>, seq: u64) -> Option<Object> {
        let is_old = has_none(data, &["message"]) && has_all(data, &["content", "provenance"]);
        let mut rest = if is_old { object(data)? } else { return None };
        let content = rest.remove("content")?;
        let mut source = match rest.remove("provenance")? {
            Value::Object(provenance) => provenance,
            _ => Object::default(),
        };
        source.set("kind", Value::from("model"));
        let message = Object::of([
            ("id", self.message_id(seq)),
            ("role", Value::from("assistant")),
            ("content", content),
            ("source", Value::Object(source)),
        ]);
        rest.set("message", Value::Object(message));
        Some(rest)
    }

    fn tool_result(&mut self, data: View<'_>, members: &Members<'_>, seq: u64) -> Option<Object> {
        let is_old = has_none(data, &["message"]) && has_all(data, &["callId", "content", "isError"]);
        if !is_old {
            let id = data.get("message").and_then(|message| message.get("id")).and_then(View::string);
            if let Some(id) = id {
                self.result_ids.insert(seq, id.into_owned());
            }
            return None;
        }
        let mut rest = object(data)?;
        let (call_id, content, is_error) = (rest.remove("callId")?, rest.remove("content")?, rest.remove("isError")?);
        let replaced = members.surface_op.filter(|op| op.get("op").is_some_and(|kind| kind.is_string("replace")));
        let id = match replaced.and_then(|op| op.get("start")).and_then(View::number) {
            None => self.message_id(seq),
            // A target that is not there leaves the message without an id, which is refused later.
            Some(start) => self.result_ids.get(&(start as u64)).cloned().map_or(Value::Null, Value::String),
        };
        if let Value::String(id) = &id {
            self.result_ids.insert(seq, id.clone());
        }
        let block = Object::of([
            ("type", Value::from("tool-result")),
            ("toolCallId", call_id.clone()),
            ("content", content),
            ("isError", is_error),
        ]);
        let source = Object::of([("kind", Value::from("tool")), ("callId", call_id)]);
        let message = Object::of([
            ("id", id),
            ("role", Value::from("user")),
            ("content", Value::Array(vec![Value::Object(block)])),
            ("source", Value::Object(source)),
        ]);
        rest.set("message", Value::Object(message));
        Some(rest)
    }
}

fn turn_start(data: View<'_>) -> Result<Option<Object>, &'static str> {
    let Some(trigger) = data.get("trigger") else { return Ok(None) };
    let turn = data.get("turn").and_then(View::safe_integer).filter(|turn| *turn >= 1);
    let is_named = trigger.get("kind").and_then(View::string).is_some_and(|kind| !kind.is_empty());
    match turn {
        Some(turn) if is_named && has_only(data, &["turn", "trigger"], &[]) => {
            Ok(Some(Object::of([("turn", Value::from(turn))])))
        }
        _ => Err("a malformed start of a turn"),
    }
}

fn turn_end(data: View<'_>) -> Result<Option<Object>, &'static str> {
    const MALFORMED: &str = "a malformed end of a turn";
    let turn = data.get("turn").and_then(View::safe_integer).filter(|turn| *turn >= 1);
    let reason = data.get("reason").filter(|reason| reason.is_object());
    let (Some(_), Some(reason), true) = (turn, reason, has_only(data, &["turn", "reason"], &[])) else {
        return Err(MALFORMED);
    };
    let kind = reason.get("kind").and_then(View::string).ok_or(MALFORMED)?;
    let bare = |reason| if has_only(reason, &["kind"], &[]) { Ok(()) } else { Err(MALFORMED) };
    let aborted = |why| {
        Object::of([("kind", Value::from("aborted")), ("reason", Object::of([("kind", Value::from(why))]).into())])
    };
    let modern = match kind.to_str() {
        Some("completed" | "blocked" | "max-tokens" | "interrupted") => {
            bare(reason)?;
            return Ok(None);
        }
        Some("aborted") if reason.get("reason").is_some() => return Ok(None),
        Some("aborted") => {
            bare(reason)?;
            aborted("legacy")
        }
        Some("disposed") => {
            bare(reason)?;
            aborted("disposed")
        }
        Some("error") if reason.get("error").is_some() => return Ok(None),
        Some("error") => Object::of([("kind", Value::from("error")), ("error", error(reason).ok_or(MALFORMED)?)]),
        _ => return Ok(None),
    };
    let Some(mut data) = object(data) else { return Err(MALFORMED) };
    data.set("reason", Value::Object(modern));
    Ok(Some(data))
}

/// The failure an old `error` reason describes, in one of its two spellings.
fn error(reason: View<'_>) -> Option<Value> {
    reason.get("step")?.safe_integer().filter(|step| *step >= 0)?;
    let string = |value: Option<View<'_>>| value.is_some_and(|value| value.string().is_some());
    if let Some(failure) = reason.get("failure").filter(|failure| failure.is_object())
        && has_only(reason, &["kind", "step", "failure"], &[])
        && has_only(failure, &["message", "code"], &["status", "providerRetryAfterMs", "requestId"])
        && string(failure.get("message"))
        && string(failure.get("code"))
        && ["status", "providerRetryAfterMs"]
            .iter()
            .all(|key| failure.get(key).is_none_or(|value| value.number().is_some()))
        && failure.get("requestId").is_none_or(|id| id.string().is_some())
    {
        return Some(failure.to_value());
    }
    let message = reason.get("message")?.string()?;
    let code = reason.get("code");
    if !has_only(reason, &["kind", "step", "message"], &["code"]) || code.is_some_and(|code| code.string().is_none()) {
        return None;
    }
    let code = code.map_or(Value::from("UNKNOWN"), View::to_value);
    Some(Object::of([("message", Value::from(message)), ("code", code)]).into())
}

fn object(view: View<'_>) -> Option<Object> {
    match view.to_value() {
        Value::Object(object) => Some(object),
        _ => None,
    }
}

fn has_all(view: View<'_>, keys: &[&str]) -> bool {
    keys.iter().all(|key| view.has(key))
}

fn has_none(view: View<'_>, keys: &[&str]) -> bool {
    !keys.iter().any(|key| view.has(key))
}

fn has_only(view: View<'_>, required: &[&str], optional: &[&str]) -> bool {
    has_all(view, required) && view.members().all(|(key, _)| required.iter().chain(optional).any(|known| key == *known))
}
