//! `dshkit/sessions.status/1`

use super::list::time;
use super::session::SessionDocument;
use crate::corpus::Record;
use crate::output::json::{Js, RawJson};
use crate::output::terminal_text::visible_js;
use crate::output::{Document, TextOut};
use crate::query::status::Status;
use schemars::JsonSchema;
use serde::Serialize;
use std::io;

/// How a session stands.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StatusDocument {
    /// The session.
    session: SessionDocument,
    /// The reason of the last turn's end, `open`, or `empty`.
    state: Js,
    /// Whether that is `completed`.
    completed: bool,
    /// The reason as the log has it.
    reason: Option<RawJson>,
    /// The error the turn ended with.
    error_code: Option<Js>,
    /// How many turns have started.
    turns: u64,
    /// The turn that has not ended.
    open_turn: Option<u64>,
    /// The step that has not ended.
    open_step: Option<u64>,
    /// How many prompts wait.
    pending: u64,
    /// Whether a dsh holds it open; `null` if there is no telling.
    live: Option<bool>,
    /// The last event.
    last_seq: Option<u64>,
    /// When it was recorded.
    last_time: Option<i64>,
}

impl StatusDocument {
    /// The document of how a session stands.
    pub fn of(record: &Record, status: &Status) -> StatusDocument {
        StatusDocument {
            session: SessionDocument::of(record),
            state: Js::from(&status.state),
            completed: status.is_completed(),
            reason: status.reason.clone().map(RawJson),
            error_code: status.error_code.as_ref().map(Js::from),
            turns: status.turns,
            open_turn: status.open_turn,
            open_step: status.open_step,
            pending: status.pending,
            live: record.live,
            last_seq: status.last_seq,
            last_time: status.last_time,
        }
    }
}

impl Document for StatusDocument {
    const SCHEMA: &'static str = "dshkit/sessions.status/1";

    fn text(&self, text: &mut TextOut<'_>) -> io::Result<()> {
        let mut line = visible_js(&self.state.0);
        if let Some(code) = &self.error_code {
            line.push_str(&format!(" {}", visible_js(&code.0)));
        }
        line.push_str(&format!(", {} turns", self.turns));
        let open = [("turn", self.open_turn), ("step", self.open_step)];
        for (name, number) in open {
            if let Some(number) = number {
                line.push_str(&format!(", {name} {number} open"));
            }
        }
        if self.pending > 0 {
            line.push_str(&format!(", {} prompts waiting", self.pending));
        }
        if self.live == Some(true) {
            line.push_str(", a dsh holds it open");
        }
        if let Some(last) = self.last_time {
            line.push_str(&format!(", last event {}", time(last)));
        }
        text.line(&line)
    }
}
