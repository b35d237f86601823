//! One event of a session log, as every generation decodes to it.

use crate::model::js_string::JsStr;
use crate::model::json::{Value, View, parse, write_string, write_value, write_view};
use crate::model::token_estimate::estimate_event;
use std::cell::OnceCell;
use std::fmt::Write;

/// An event. Its envelope is decoded; its `data` is a look into the stored text.
#[derive(Debug)]
pub struct Event<'a> {
    /// The sequence number: the event's index in the log.
    pub seq: u64,
    /// When it was recorded, in milliseconds since the epoch. Times may step back.
    pub time: i64,
    /// The type, for example `user/message`.
    pub kind: JsStr<'a>,
    /// What it does to the surface; `None` for events that are not on it.
    pub surface_op: Option<SurfaceOp>,
    /// The earlier events it cites, ranges expanded.
    pub source_event_seqs: Option<Vec<u64>>,
    /// Whether a reader that does not know the type may skip it.
    pub ignorable: bool,
    /// Whether it is not in the log but was made on reading, to close an interrupted turn.
    pub synthetic: bool,
    body: Body<'a>,
    /// What several units ask for, found once.
    parts: OnceCell<Parts<'a>>,
    estimate: OnceCell<Option<u64>>,
}

/// The members that the events of a step have in their `data`, as far as an event has them.
#[derive(Clone, Copy, Debug)]
pub struct Parts<'a> {
    /// The number of the turn.
    pub turn: Option<View<'a>>,
    /// The number of the step.
    pub step: Option<View<'a>>,
    /// The message of an answer, a tool's result, a system prompt.
    pub message: Option<View<'a>>,
    /// What an answer reports of its tokens.
    pub usage: Option<View<'a>>,
    /// The pieces an answer came in (v2 and later).
    pub stream: Option<View<'a>>,
    /// A piece of an answer (v0 and v1).
    pub chunk: Option<View<'a>>,
}

impl<'a> Parts<'a> {
    fn of(data: View<'a>) -> Parts<'a> {
        let names = ["turn", "step", "message", "usage", "stream", "chunk"];
        let [turn, step, message, usage, stream, chunk] = data.pick(names);
        Parts { turn, step, message, usage, stream, chunk }
    }
}

/// What an event does to the surface (formats.md §6.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SurfaceOp {
    /// It joins the surface at the end.
    Append,
    /// It takes the place of the nodes from one to another, both given by their seqs.
    Replace {
        /// The first node replaced.
        start: u64,
        /// The last node replaced, equal to or after the first on the surface.
        end: u64,
    },
}

#[derive(Debug)]
enum Body<'a> {
    /// The stored row: an object with the whole event, and the `data` in it.
    Row { row: View<'a>, data: View<'a> },
    /// A row that had to be rewritten to its present form, or one made here; canonical text.
    Text(String),
    /// A member of a packed row.
    Delta { delta: Delta<'a>, text: OnceCell<String> },
}

/// One streamed piece of an assistant's answer, a member of a packed row (formats.md §4).
#[derive(Clone, Debug)]
pub struct Delta<'a> {
    /// The turn, as the row has it.
    pub turn: View<'a>,
    /// The step, as the row has it.
    pub step: View<'a>,
    /// The index of the content block, as the row has it.
    pub index: View<'a>,
    /// What kind of piece it is.
    pub kind: DeltaKind<'a>,
    /// The piece.
    pub text: View<'a>,
}

/// What a streamed piece belongs to.
#[derive(Clone, Copy, Debug)]
pub enum DeltaKind<'a> {
    /// Answer text.
    Text,
    /// Reasoning.
    Reasoning,
    /// A tool call's arguments.
    ToolCall {
        /// The call's id.
        id: View<'a>,
        /// The tool's name, if this piece carries it.
        name: Option<View<'a>>,
    },
}

/// The envelope of an event, apart from its body.
#[derive(Debug)]
pub struct Envelope<'a> {
    /// See [`Event::seq`].
    pub seq: u64,
    /// See [`Event::time`].
    pub time: i64,
    /// See [`Event::kind`].
    pub kind: JsStr<'a>,
    /// See [`Event::surface_op`].
    pub surface_op: Option<SurfaceOp>,
    /// See [`Event::source_event_seqs`].
    pub source_event_seqs: Option<Vec<u64>>,
    /// See [`Event::ignorable`].
    pub ignorable: bool,
}

impl<'a> Event<'a> {
    /// An event that stands in the log as one row.
    pub fn from_row(envelope: Envelope<'a>, row: View<'a>, data: View<'a>) -> Event<'a> {
        Event::new(envelope, Body::Row { row, data })
    }

    /// An event whose text was made here. The text must be a JSON object with a `data` member.
    pub fn from_text(envelope: Envelope<'a>, text: String) -> Event<'a> {
        debug_assert!(parse(&text).is_ok());
        Event::new(envelope, Body::Text(text))
    }

    /// A member of a packed row.
    pub fn from_delta(seq: u64, time: i64, delta: Delta<'a>) -> Event<'a> {
        let envelope = Envelope {
            seq,
            time,
            kind: JsStr::from("assistant/chunk"),
            surface_op: None,
            source_event_seqs: None,
            ignorable: false,
        };
        Event::new(envelope, Body::Delta { delta, text: OnceCell::new() })
    }

    fn new(envelope: Envelope<'a>, body: Body<'a>) -> Event<'a> {
        let Envelope { seq, time, kind, surface_op, source_event_seqs, ignorable } = envelope;
        let (parts, estimate) = (OnceCell::new(), OnceCell::new());
        Event { seq, time, kind, surface_op, source_event_seqs, ignorable, synthetic: false, body, parts, estimate }
    }

    /// Whether the event is of this type.
    pub fn is(&self, kind: &str) -> bool {
        self.kind == kind
    }

    /// The whole event as an object. `sourceEventSeqs` stands in it as it was stored.
    pub fn row(&self) -> View<'_> {
        let text = match &self.body {
            Body::Row { row, .. } => return *row,
            Body::Text(text) => text,
            Body::Delta { delta, text } => text.get_or_init(|| delta_text(self.seq, self.time, delta)),
        };
        parse(text).expect("text made here is JSON")
    }

    /// The event's `data`. A log that validated always has it; without it the row itself is given.
    pub fn data(&self) -> View<'_> {
        match &self.body {
            Body::Row { data, .. } => *data,
            Body::Text(_) | Body::Delta { .. } => self.row().get("data").unwrap_or(self.row()),
        }
    }

    /// The members of its data that the events of a step have, found in one walk and only once.
    pub fn parts(&self) -> Parts<'_> {
        match &self.body {
            Body::Row { data, .. } => *self.parts.get_or_init(|| Parts::of(*data)),
            Body::Text(_) | Body::Delta { .. } => Parts::of(self.data()),
        }
    }

    /// The estimate of the tokens it brings before the model, in a log of this generation; see
    /// [`estimate_event`].
    pub fn estimated_tokens(&self, version: u64) -> Option<u64> {
        *self.estimate.get_or_init(|| estimate_event(self, version))
    }

    /// The piece, if the event is a member of a packed row.
    pub fn delta(&self) -> Option<&Delta<'a>> {
        match &self.body {
            Body::Delta { delta, .. } => Some(delta),
            Body::Row { .. } | Body::Text(_) => None,
        }
    }

    /// The event as `JSON.stringify` prints it, with `sourceEventSeqs` expanded.
    pub fn write_json(&self, out: &mut String) {
        let row = self.row();
        if self.source_event_seqs.is_none() {
            return write_view(row, out);
        }
        let mut value = row.to_value();
        if let (Value::Object(object), Some(seqs)) = (&mut value, &self.source_event_seqs) {
            let seqs = seqs.iter().map(|seq| Value::from(*seq)).collect();
            object.set("sourceEventSeqs", Value::Array(seqs));
        }
        write_value(&value, out);
    }
}

/// The text of a packed row's member, with its keys in the order dsh gives them.
fn delta_text(seq: u64, time: i64, delta: &Delta<'_>) -> String {
    let mut out = String::with_capacity(delta.text.text().len() + 128);
    let _ = write!(out, r#"{{"type":"assistant/chunk","seq":{seq},"time":{time},"data":{{"turn":"#);
    write_view(delta.turn, &mut out);
    out.push_str(r#","step":"#);
    write_view(delta.step, &mut out);
    out.push_str(r#","chunk":{"type":"#);
    let (kind, text_key) = match delta.kind {
        DeltaKind::Text => ("text-delta", "text"),
        DeltaKind::Reasoning => ("reasoning-delta", "text"),
        DeltaKind::ToolCall { .. } => ("tool-call-delta", "argumentsDelta"),
    };
    write_string(&JsStr::from(kind), &mut out);
    out.push_str(r#","index":"#);
    write_view(delta.index, &mut out);
    if let DeltaKind::ToolCall { id, name } = delta.kind {
        out.push_str(r#","id":"#);
        write_view(id, &mut out);
        if let Some(name) = name {
            out.push_str(r#","name":"#);
            write_view(name, &mut out);
        }
    }
    let _ = write!(out, r#","{text_key}":"#);
    write_view(delta.text, &mut out);
    out.push_str("}}}");
    out
}

/// The types of events that can be on the surface, in any generation.
pub fn is_surface_type(kind: &JsStr<'_>) -> bool {
    matches!(
        kind.as_bytes(),
        b"user/message" | b"assistant/message" | b"tool/result" | b"system/message" | b"developer/message"
    )
}
