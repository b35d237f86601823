//! Closing a turn that was interrupted.
//!
//! When dsh reads a log whose last turn has no end, it adds in memory what is missing: a result for
//! each tool call that has none, the end of the step, the end of the turn (formats.md §5.5). The
//! events' texts are part of the hashes and counts other tools compare, so they are dsh's to the letter.

use crate::model::event::{Envelope, Event, SurfaceOp};
use crate::model::js_string::{JsStr, JsString};
use crate::model::json::{Kind, Object, Value, View, parse, string_literal, write_view};
use crate::model::message::{message_of, tool_calls};
use std::fmt::Write;

const STARTED: &str = "The tool call was interrupted after it was recorded, but no result was durably recorded. Its outcome is unknown. Decide whether to retry from the tool semantics: retry only if the operation is read-only or idempotent; if it may have side effects, first verify external state or ask the user. Do not retry blindly.";
/// The text of a closer for a call that never started. v4 checks results against it.
pub const NOT_STARTED: &str =
    "The tool call was interrupted before the Harness recorded it as started. Retry it if it is still needed.";

/// What the events say that closing a turn adds: words that no stored row needs to hold.
pub const SAYINGS: [&str; 7] = [
    STARTED,
    NOT_STARTED,
    "ToolOutcomeUnknownError",
    "TOOL_OUTCOME_UNKNOWN",
    "ToolNotStartedError",
    "TOOL_NOT_STARTED",
    "interrupted",
];

/// The shape tool results have (formats.md §3.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResultShape {
    /// Up to v3: a user message with one wrapper block.
    Wrapped,
    /// From v4: a message of role `tool`.
    Unwrapped,
}

/// A tool call that has no result yet.
#[derive(Clone, Debug)]
struct PendingCall {
    id: JsString,
    /// Turn and step of the call, as JSON text.
    turn: String,
    step: String,
    /// The `tool/call` event that recorded its start.
    started: Option<u64>,
}

/// What is open at the end of the events seen so far.
#[derive(Clone, Debug)]
pub struct OpenTurn {
    shape: ResultShape,
    turn: Option<String>,
    step: Option<String>,
    calls: Vec<PendingCall>,
    last: Option<(u64, i64)>,
}

impl OpenTurn {
    /// Nothing seen, nothing open.
    pub fn new(shape: ResultShape) -> OpenTurn {
        OpenTurn { shape, turn: None, step: None, calls: Vec::new(), last: None }
    }

    /// What is open as a JSON value, from which [`OpenTurn::from_value`] makes the same.
    pub fn to_value(&self) -> Value {
        let text = |text: &Option<String>| text.as_deref().map_or(Value::Null, Value::from);
        let call = |call: &PendingCall| {
            Value::from(Object::of([
                ("id", Value::String(call.id.clone())),
                ("turn", Value::from(call.turn.as_str())),
                ("step", Value::from(call.step.as_str())),
                ("started", call.started.map_or(Value::Null, Value::from)),
            ]))
        };
        let last = |(seq, time): (u64, i64)| Value::Array(vec![Value::from(seq), Value::from(time)]);
        Value::from(Object::of([
            ("turn", text(&self.turn)),
            ("step", text(&self.step)),
            ("calls", Value::Array(self.calls.iter().map(call).collect())),
            ("last", self.last.map_or(Value::Null, last)),
        ]))
    }

    /// What such a value says is open; `None` if it is none.
    pub fn from_value(shape: ResultShape, value: View<'_>) -> Option<OpenTurn> {
        let text = |name| match value.get(name)? {
            null if null.kind() == Kind::Null => Some(None),
            text => Some(Some(json_text(text)?)),
        };
        let call = |call: View<'_>| {
            let started = call.get("started")?;
            Some(PendingCall {
                id: call.get("id")?.string()?.into_owned(),
                turn: json_text(call.get("turn")?)?,
                step: json_text(call.get("step")?)?,
                started: if started.kind() == Kind::Null { None } else { Some(started.count()?) },
            })
        };
        let mut last = value.get("last")?.elements();
        let last = match (last.next(), last.next()) {
            (Some(seq), Some(time)) => Some((seq.count()?, time.safe_integer()?)),
            _ => None,
        };
        let calls = value.get("calls")?.array()?.map(call).collect::<Option<_>>()?;
        Some(OpenTurn { shape, turn: text("turn")?, step: text("step")?, calls, last })
    }

    /// Takes one event in.
    pub fn observe(&mut self, event: &Event<'_>) {
        self.last = Some((event.seq, event.time));
        match event.kind.as_bytes() {
            // By far the most, and nothing to a turn.
            b"assistant/chunk" => {}
            b"turn/start" => {
                self.turn = Some(coordinate(event.data(), "turn"));
                self.step = None;
                self.calls.clear();
            }
            b"turn/end" => {
                self.turn = None;
                self.step = None;
                self.calls.clear();
            }
            b"step/start" => self.step = Some(coordinate(event.data(), "step")),
            b"step/end" => {
                self.step = None;
                self.calls.clear();
            }
            b"assistant/message" => self.advertise(event),
            b"tool/call" => {
                let id = event.data().get("callId").and_then(View::string);
                if let Some(call) = self.calls.iter_mut().find(|call| id.as_ref() == Some(&call.id)) {
                    call.started = Some(event.seq);
                }
            }
            b"tool/result" => self.settle(event),
            _ => {}
        }
    }

    fn advertise(&mut self, event: &Event<'_>) {
        let Some(message) = message_of(event) else { return };
        for call in tool_calls(message) {
            let call = PendingCall {
                id: call.id.into_owned(),
                turn: coordinate(event.data(), "turn"),
                step: coordinate(event.data(), "step"),
                started: None,
            };
            // A repeated id keeps its place in the order and forgets that it started.
            match self.calls.iter_mut().find(|held| held.id == call.id) {
                Some(held) => *held = call,
                None => self.calls.push(call),
            }
        }
    }

    fn settle(&mut self, event: &Event<'_>) {
        let id = message_of(event).and_then(|message| message.get("source")?.get("callId")?.string());
        let Some(at) = self.calls.iter().position(|call| id.as_ref() == Some(&call.id)) else { return };
        let call = &self.calls[at];
        let settles = match self.shape {
            ResultShape::Wrapped => true,
            ResultShape::Unwrapped => {
                event.surface_op == Some(SurfaceOp::Append)
                    && call.turn == coordinate(event.data(), "turn")
                    && call.step == coordinate(event.data(), "step")
            }
        };
        if settles {
            self.calls.remove(at);
        }
    }

    /// Whether a turn is open.
    pub fn is_open(&self) -> bool {
        self.turn.is_some()
    }

    /// When the last event was recorded; `None` if there was none.
    pub fn last_time(&self) -> Option<i64> {
        self.last.map(|(_, time)| time)
    }

    /// The number of the open turn, where it is a number.
    pub fn turn(&self) -> Option<u64> {
        self.turn.as_ref()?.parse().ok()
    }

    /// The number of the open step, where it is a number.
    pub fn step(&self) -> Option<u64> {
        self.step.as_ref()?.parse().ok()
    }

    /// The ids of the tool calls without a result.
    pub fn pending_calls(&self) -> impl Iterator<Item = &JsString> {
        self.calls.iter().map(|call| &call.id)
    }

    /// The events that close the open turn, in order; none if no turn is open.
    pub fn closers(&self) -> Vec<Event<'static>> {
        let (Some(turn), Some((last_seq, time))) = (&self.turn, self.last) else { return Vec::new() };
        let mut seq = last_seq + 1;
        let mut closers = Vec::new();
        for call in &self.calls {
            closers.push(self.result(call, turn, seq, time));
            seq += 1;
        }
        if let Some(step) = &self.step {
            let data = format!(r#"{{"turn":{turn},"step":{step}}}"#);
            closers.push(closer("step/end", seq, time, &data, ""));
            seq += 1;
        }
        let data = format!(r#"{{"turn":{turn},"reason":{{"kind":"interrupted"}}}}"#);
        closers.push(closer("turn/end", seq, time, &data, ""));
        closers
    }

    fn result(&self, call: &PendingCall, turn: &str, seq: u64, time: i64) -> Event<'static> {
        let mut message_id = JsStr::from("interrupted-tool-result-").into_owned();
        message_id.push_js(&call.id);
        message_id.push_str(&format!("-{seq}"));
        let message_id = string_literal(&message_id);
        let id = string_literal(&call.id);
        let text = string_literal(&JsStr::from(if call.started.is_some() { STARTED } else { NOT_STARTED }));
        let (turn, message) = match self.shape {
            ResultShape::Wrapped => (
                turn,
                format!(
                    r#"{{"id":{message_id},"role":"user","source":{{"kind":"tool","callId":{id}}},"content":[{{"type":"tool-result","toolCallId":{id},"isError":true,"content":[{{"type":"text","text":{text}}}]}}]}}"#
                ),
            ),
            ResultShape::Unwrapped => (
                call.turn.as_str(),
                format!(
                    r#"{{"id":{message_id},"role":"tool","toolCallId":{id},"isError":true,"source":{{"kind":"tool","callId":{id}}},"content":[{{"type":"text","text":{text}}}]}}"#
                ),
            ),
        };
        let error = match call.started {
            Some(_) => r#"{"name":"ToolOutcomeUnknownError","code":"TOOL_OUTCOME_UNKNOWN"}"#,
            None => r#"{"name":"ToolNotStartedError","code":"TOOL_NOT_STARTED"}"#,
        };
        let data = format!(r#"{{"turn":{turn},"step":{},"message":{message},"error":{error}}}"#, call.step);
        let mut more = String::from(r#","surfaceOp":"append""#);
        if let Some(started) = call.started {
            let _ = write!(more, r#","sourceEventSeqs":[{started}]"#);
        }
        let mut event = closer("tool/result", seq, time, &data, &more);
        event.surface_op = Some(SurfaceOp::Append);
        event.source_event_seqs = call.started.map(|seq| vec![seq]);
        event
    }
}

/// A string that holds JSON text.
fn json_text(value: View<'_>) -> Option<String> {
    let text = value.string()?;
    let text = text.to_str()?;
    parse(text).ok()?;
    Some(text.to_owned())
}

/// A turn or step number as JSON text, whatever the log holds there.
fn coordinate(data: View<'_>, key: &str) -> String {
    let mut text = String::new();
    match data.get(key) {
        Some(value) => write_view(value, &mut text),
        None => text.push_str("null"),
    }
    text
}

fn closer(kind: &'static str, seq: u64, time: i64, data: &str, more: &str) -> Event<'static> {
    let text = format!(r#"{{"type":"{kind}","seq":{seq},"time":{time},"data":{data}{more}}}"#);
    let envelope =
        Envelope { seq, time, kind: JsStr::from(kind), surface_op: None, source_event_seqs: None, ignorable: false };
    let mut event = Event::from_text(envelope, text);
    event.synthetic = true;
    event
}
