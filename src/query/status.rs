//! How a session stands: whether its last turn ended, and why (issue of the wrappers that could not tell,
//! users.md §0).

use crate::model::event::Event;
use crate::model::js_string::{JsStr, JsString};
use crate::model::json::{View, write_view};

/// The end state of a session, folded from its stored events.
#[derive(Clone, Debug, Default)]
pub struct StatusFold {
    turns: u64,
    open_turn: Option<u64>,
    open_step: Option<u64>,
    has_open_turn: bool,
    reason: Option<String>,
    reason_kind: Option<JsString>,
    error_code: Option<JsString>,
    last_seq: Option<u64>,
    last_time: Option<i64>,
    queue: Queue,
}

/// The prompts that wait for the next turn and the next step.
#[derive(Clone, Debug, Default)]
struct Queue {
    next_turn: u64,
    next_step: u64,
}

/// How a session stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// The word for it: the reason of the last turn's end in the log's own word, `open` if that turn has
    /// not ended, `empty` if there was none.
    pub state: JsString,
    /// The whole reason as JSON text.
    pub reason: Option<String>,
    /// The code of the error that ended the turn.
    pub error_code: Option<JsString>,
    /// How many turns have started.
    pub turns: u64,
    /// The turn that is open.
    pub open_turn: Option<u64>,
    /// The step that is open.
    pub open_step: Option<u64>,
    /// How many prompts wait.
    pub pending: u64,
    /// The last event's seq.
    pub last_seq: Option<u64>,
    /// The last event's time.
    pub last_time: Option<i64>,
}

impl Status {
    /// Whether the last turn ran to its end.
    pub fn is_completed(&self) -> bool {
        self.state == "completed"
    }
}

impl StatusFold {
    /// Takes one event in. Closers are not: what dsh adds on reading did not happen.
    pub fn apply(&mut self, event: &Event<'_>) {
        if event.synthetic {
            return;
        }
        self.last_seq = Some(event.seq);
        self.last_time = Some(event.time);
        match event.kind.to_str() {
            Some("turn/start") => {
                self.turns += 1;
                self.has_open_turn = true;
                self.open_turn = event.data().get("turn").and_then(View::count);
                self.open_step = None;
            }
            Some("turn/end") => self.end_turn(event.data().get("reason")),
            Some("step/start") => self.open_step = event.data().get("step").and_then(View::count),
            Some("step/end") => self.open_step = None,
            Some("agent/inbox/spliced") => self.splice(event.data()),
            _ => {}
        }
    }

    fn end_turn(&mut self, reason: Option<View<'_>>) {
        self.has_open_turn = false;
        self.open_turn = None;
        self.open_step = None;
        self.reason = reason.map(|reason| {
            let mut text = String::new();
            write_view(reason, &mut text);
            text
        });
        self.reason_kind = reason.and_then(|reason| reason.get("kind")).and_then(View::string).map(JsStr::into_owned);
        let code = reason.and_then(|reason| reason.get("error")).and_then(|error| error.get("code"));
        self.error_code = code.and_then(View::string).map(JsStr::into_owned);
    }

    fn splice(&mut self, data: View<'_>) {
        let inserted = data.get("inserted").map_or(0, |inserted| inserted.elements().count() as u64);
        let removed = data.get("removedCount").and_then(View::count).unwrap_or(0);
        let is_step = data.get("target").is_some_and(|target| target.is_string("next-step"));
        let waiting = if is_step { &mut self.queue.next_step } else { &mut self.queue.next_turn };
        *waiting = waiting.saturating_sub(removed) + inserted;
    }

    /// How the session stands.
    pub fn finish(self) -> Status {
        let state = if self.has_open_turn {
            JsStr::from("open")
        } else if self.turns == 0 && self.reason_kind.is_none() {
            JsStr::from("empty")
        } else {
            self.reason_kind.unwrap_or_else(|| JsStr::from("unknown"))
        };
        Status {
            state,
            reason: self.reason.filter(|_| !self.has_open_turn),
            error_code: self.error_code.filter(|_| !self.has_open_turn),
            turns: self.turns,
            open_turn: self.open_turn,
            open_step: self.open_step,
            pending: self.queue.next_turn + self.queue.next_step,
            last_seq: self.last_seq,
            last_time: self.last_time,
        }
    }
}
