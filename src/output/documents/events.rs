//! `dshkit/sessions.events/1`: printed as it is read, so there is no document in memory.

use super::session::SessionDocument;
use crate::model::event::Event;
use crate::model::js_string::JsString;
use crate::model::surface::Placement;
use crate::output::json::{Js, RawJson};
use crate::output::terminal_text::visible_js;
use crate::query::trace::EventTrace;
use schemars::JsonSchema;
use serde::Serialize;

/// The name of the document.
pub const SCHEMA: &str = "dshkit/sessions.events/1";

/// The events of a session, and between them what could not be read.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "the document is printed as it is read; this is its shape")]
pub struct EventsShape {
    /// The session.
    session: SessionDocument,
    /// The events in the order of the log; with `--salvage` also the places where something is wrong.
    events: Vec<EventOrTrouble>,
}

/// An event, or a place that could not be read.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "they are printed one by one")]
enum EventOrTrouble {
    Event(EventRecord),
    Trouble(TroubleRecord),
}

/// An event.
#[derive(Clone, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EventRecord {
    /// The session's id.
    session_id: Js,
    /// The event's sequence number.
    seq: u64,
    /// The type of the event.
    #[serde(rename = "type")]
    kind: Js,
    /// When, in milliseconds since the epoch.
    time: i64,
    /// `current`, `shadowed` or `log-only`.
    surface: &'static str,
    /// Whether it is not in the log but was added on reading.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    synthetic: bool,
    /// What filters and searches look at, with `--text`.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<Js>,
    /// The whole event, as the log has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    event: Option<RawJson>,
}

impl EventRecord {
    /// The record of an event.
    pub fn of(session_id: &Js, event: &Event<'_>, placement: Placement, is_full: bool) -> EventRecord {
        EventRecord {
            session_id: session_id.clone(),
            seq: event.seq,
            kind: Js::from(event.kind.borrowed()),
            time: event.time,
            surface: placement.name(),
            synthetic: event.synthetic,
            text: None,
            event: is_full.then(|| {
                let mut text = String::new();
                event.write_json(&mut text);
                RawJson(text)
            }),
        }
    }

    /// The record of an event that was traced.
    pub fn of_trace(session_id: &JsString, trace: &EventTrace) -> EventRecord {
        EventRecord {
            session_id: Js::from(session_id),
            seq: trace.seq,
            kind: Js::from(&trace.kind),
            time: trace.time,
            surface: trace.placement.name(),
            synthetic: trace.synthetic,
            text: None,
            event: None,
        }
    }

    /// The event's place and type for people.
    pub(super) fn heading(&self) -> String {
        format!("{:>6}  {}  {}", self.seq, self.surface, visible_js(&self.kind.0))
    }

    /// The same record with the event's semantic text.
    pub fn text(self, text: Option<&JsString>) -> EventRecord {
        EventRecord { text: text.map(Js::from), ..self }
    }

    /// The same record with another placement, for events that are met before the surface is known.
    pub fn placed(&self, placement: Placement) -> EventRecord {
        EventRecord { surface: placement.name(), ..self.clone() }
    }

    /// The record as a line for people.
    pub fn line(&self) -> String {
        let mark = if self.synthetic { " (synthetic)" } else { "" };
        let mut line = format!(
            "{:>6}  {}  {:<8}  {}{mark}",
            self.seq,
            super::list::time(self.time),
            self.surface,
            visible_js(&self.kind.0)
        );
        if let Some(text) = &self.text {
            line.push_str("  ");
            line.push_str(&visible_js(&text.0));
        }
        if let Some(event) = &self.event {
            line.push_str("  ");
            line.push_str(&crate::output::terminal_text::visible(&event.0));
        }
        line
    }
}

/// A place in a log that could not be read.
#[derive(JsonSchema, Serialize)]
pub struct TroubleRecord {
    /// What is wrong there.
    pub problem: super::problem::ProblemDocument,
}
