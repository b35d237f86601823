//! `sessionStats`: how many turns and steps there were and where their time went (formats.md §7.4).
//!
//! Turns and steps are counted at `step/end`, which each step has, however it went. The model's time is
//! that from a step's start to its message; the time to the first token, that to the first piece of it
//! that is not empty, a failed attempt's included; the rest is decoding, and counts where the message
//! tells its output tokens. A tool's time is that from its call to its result. Clocks that step back
//! count as 0. In v0 and v1 the pieces are events of their own, from v2 on they stand in the message.

use crate::model::event::{DeltaKind, Event};
use crate::model::header::Header;
use crate::model::json::{Object, Value, View, string_literal};
use crate::projections::unit::{Change, Unit};
use crate::projections::usage_report::{TurnStep, turn_step};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SessionStats {
    turns: u64,
    steps: u64,
    /// Times are in milliseconds.
    llm: i64,
    tools: i64,
    first_token: i64,
    /// How many steps have a first token.
    first_token_steps: u64,
    decode: i64,
    /// A number that dsh does not check, so it may be no whole one.
    decode_tokens: f64,
    /// The turn of the last step that ended.
    last_turn: Option<u64>,
    open_step: Option<OpenStep>,
    /// When each call was made whose result has not come, by the call's id as a JSON literal: ids may hold
    /// what no Rust string can.
    calls: BTreeMap<String, i64>,
}

/// A step whose message has not come.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct OpenStep {
    step: TurnStep,
    start: i64,
    first_token: Option<i64>,
}

impl SessionStats {
    /// The open step, if it is the one an event names.
    fn open_step(&mut self, step: TurnStep) -> Option<&mut OpenStep> {
        self.open_step.as_mut().filter(|open| open.step == step)
    }

    /// Takes in a piece of an answer.
    fn take_chunk(&mut self, event: &Event<'_>) -> Option<()> {
        // Most pieces are not the first, and are not looked at.
        self.open_step.filter(|open| open.first_token.is_none())?;
        let (step, is_token) = match event.delta() {
            Some(delta) => {
                let is_named = matches!(delta.kind, DeltaKind::ToolCall { name: Some(_), .. });
                ((delta.turn.count(), delta.step.count()), is_named || !delta.text.is_string(""))
            }
            None => (turn_step(event), event.parts().chunk.is_some_and(is_token)),
        };
        self.open_step(step).filter(|_| is_token)?.first_token = Some(event.time);
        Some(())
    }

    fn take_attempt(&mut self, event: &Event<'_>) -> Option<()> {
        let open = self.open_step(turn_step(event)).filter(|open| open.first_token.is_none())?;
        open.first_token = Some(first_token_time(event.parts().stream?)?);
        Some(())
    }

    fn take_message(&mut self, event: &Event<'_>) -> Option<()> {
        let parts = event.parts();
        let open = *self.open_step(turn_step(event))?;
        // Only the first message of a step counts.
        self.open_step = None;
        add_time(&mut self.llm, open.start, event.time);
        let Some(first_token) = open.first_token.or_else(|| first_token_time(parts.stream?)) else { return Some(()) };
        add_time(&mut self.first_token, open.start, first_token);
        self.first_token_steps += 1;
        let output_tokens = parts.usage.and_then(|usage| usage.get("outputTokens")).and_then(View::number);
        if let Some(output_tokens) = output_tokens.filter(|tokens| tokens.is_finite() && *tokens >= 0.0) {
            add_time(&mut self.decode, first_token, event.time);
            self.decode_tokens = (self.decode_tokens + output_tokens).min(f64::MAX);
        }
        Some(())
    }

    fn take_call(&mut self, event: &Event<'_>) -> Option<()> {
        let id = event.data().get("callId")?.string()?;
        self.calls.insert(string_literal(&id), event.time);
        Some(())
    }

    fn take_result(&mut self, event: &Event<'_>) -> Option<()> {
        let id = event.parts().message?.get("source")?.get("callId")?.string()?;
        let called = self.calls.remove(&string_literal(&id))?;
        add_time(&mut self.tools, called, event.time);
        Some(())
    }

    fn end_step(&mut self, event: &Event<'_>) {
        let turn = event.parts().turn.and_then(View::count);
        if self.last_turn != turn {
            self.turns += 1;
        }
        self.steps += 1;
        self.last_turn = turn;
        self.open_step = None;
    }
}

fn add_time(sum: &mut i64, from: i64, to: i64) {
    *sum = sum.saturating_add(to.saturating_sub(from).max(0));
}

/// When the first piece came that is not empty, in the stream that a message or an attempt carries.
fn first_token_time(stream: View<'_>) -> Option<i64> {
    stream.elements().find_map(|record| {
        let [kind, time, chunk] = record.pick(["type", "time", "chunk"]);
        if kind?.is_string("chunk") {
            time.filter(|_| chunk.is_some_and(is_token))?.safe_integer()
        } else {
            run_time(record)
        }
    })
}

/// When the first piece came that is not empty, of a packed run of pieces.
fn run_time(run: View<'_>) -> Option<i64> {
    let [kind, start, gaps, name, texts, arguments] = run.pick(["type", "time0", "dt", "name", "texts", "args"]);
    let is_tool_call = kind?.is_string("tool-call-chunks");
    let mut time = start?.safe_integer()?;
    if is_tool_call && name.is_some() {
        return Some(time);
    }
    let mut gaps = gaps.into_iter().flat_map(View::elements);
    for piece in if is_tool_call { arguments } else { texts }?.elements() {
        if !piece.is_string("") {
            return Some(time);
        }
        time = time.checked_add(gaps.next()?.safe_integer()?)?;
    }
    None
}

/// Whether a chunk is a piece that is not empty.
fn is_token(chunk: View<'_>) -> bool {
    let [kind, text, arguments, name] = chunk.pick(["type", "text", "argumentsDelta", "name"]);
    let is = |known| kind.is_some_and(|kind| kind.is_string(known));
    let is_empty = |text: Option<View<'_>>| text.is_some_and(|text| text.is_string(""));
    (is("text-delta") || is("reasoning-delta")) && !is_empty(text)
        || is("tool-call-delta") && (name.is_some() || !is_empty(arguments))
}

impl Unit for SessionStats {
    const KEY: &'static str = "sessionStats";
    const VERSION: u32 = 1;
    const EVENTS: &'static [&'static str] = &[
        "step/start",
        "assistant/chunk",
        "assistant/attempt",
        "assistant/message",
        "tool/call",
        "tool/result",
        "step/end",
        "turn/end",
    ];

    fn init(_header: &Header) -> SessionStats {
        SessionStats::default()
    }

    fn apply(&mut self, event: &Event<'_>) -> Change {
        let taken = match event.kind.to_str() {
            Some("assistant/chunk") => self.take_chunk(event),
            Some("assistant/attempt") => self.take_attempt(event),
            Some("assistant/message") => self.take_message(event),
            Some("tool/call") => self.take_call(event),
            Some("tool/result") => self.take_result(event),
            Some("step/start") => {
                let step = turn_step(event);
                self.open_step = Some(OpenStep { step, start: event.time, first_token: None });
                Some(())
            }
            Some("step/end") => {
                self.end_step(event);
                Some(())
            }
            // Results come within the turn; a call without one belongs to a turn that was broken off.
            _ if self.calls.is_empty() => None,
            _ => {
                self.calls.clear();
                Some(())
            }
        };
        if taken.is_some() { Change::Some } else { Change::None }
    }

    fn view(&self) -> Value {
        Value::from(Object::of([
            ("turns", Value::from(self.turns)),
            ("steps", Value::from(self.steps)),
            ("llmMs", Value::from(self.llm)),
            ("toolMs", Value::from(self.tools)),
            ("ttftMs", Value::from(self.first_token)),
            ("ttftSteps", Value::from(self.first_token_steps)),
            ("decodeMs", Value::from(self.decode)),
            ("decodeTokens", Value::Number(self.decode_tokens)),
        ]))
    }
}
