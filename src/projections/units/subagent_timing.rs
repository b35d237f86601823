//! `subagentTiming`: how long a sub-agent has worked (formats.md §7.4). `settledMs` is the time of its
//! turns that ended, `active` the turn that has not, from its start `since` to its last event `through`.
//!
//! A sub-agent's log may begin with turns of its parent's, and with the descriptor of an agent between. So
//! everything begins anew at each `subagent/descriptor`; a turn open at that time goes on. A session
//! without a descriptor has no time at all.
//!
//! What changed between dsh's versions: 0.2.1 tells from the end of the first turn on whether the last
//! one was completed (`lastTurnCompleted`), and not while a next one runs; 0.1.0 and 0.1.5 do not.

use crate::model::event::Event;
use crate::model::header::Header;
use crate::model::json::{Kind, Object, Value};
use crate::projections::unit::{Change, EVERY_EVENT, Unit};
use serde::{Deserialize, Serialize};

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SubagentTiming {
    has_descriptor: bool,
    /// In milliseconds, as all times here.
    settled: i64,
    active: Option<Active>,
    /// When the turn began that is open, as long as there is no descriptor.
    pending: Option<i64>,
    last_turn_completed: Option<bool>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Active {
    since: i64,
    through: i64,
}

impl SubagentTiming {
    fn start_turn(&mut self, time: i64) {
        self.last_turn_completed = None;
        if self.has_descriptor {
            self.active = Some(Active { since: time, through: time });
        } else {
            self.pending = Some(time);
        }
    }

    fn begin_anew(&mut self, time: i64) {
        let since = self.active.map(|active| active.since).or(self.pending);
        let active = since.map(|since| Active { since, through: time });
        *self = SubagentTiming { has_descriptor: true, active, ..SubagentTiming::default() };
    }

    fn end_turn(&mut self, event: &Event<'_>) -> Option<()> {
        if !self.has_descriptor {
            return self.pending.take().map(drop);
        }
        let active = self.active?;
        let reason = event.data().get("reason").filter(|reason| reason.kind() != Kind::Null)?;
        self.active = None;
        self.settled = self.settled.saturating_add(event.time.saturating_sub(active.since).max(0));
        self.last_turn_completed = Some(reason.get("kind").is_some_and(|kind| kind.is_string("completed")));
        Some(())
    }
}

impl Unit for SubagentTiming {
    const KEY: &'static str = "subagentTiming";
    const VERSION: u32 = 1;
    const EVENTS: &'static [&'static str] = EVERY_EVENT;

    fn init(_header: &Header) -> SubagentTiming {
        SubagentTiming::default()
    }

    fn apply(&mut self, event: &Event<'_>) -> Change {
        if event.is("turn/start") {
            self.start_turn(event.time);
        } else if event.is("subagent/descriptor") {
            self.begin_anew(event.time);
        } else if event.is("turn/end") {
            return self.end_turn(event).map_or(Change::None, |()| Change::Some);
        } else {
            let Some(active) = &mut self.active else { return Change::None };
            active.through = event.time;
        }
        Change::Some
    }

    fn view(&self) -> Value {
        let mut view = Object::of([("settledMs", Value::from(self.settled))]);
        if let Some(Active { since, through }) = self.active {
            let active = Object::of([("since", Value::from(since)), ("through", Value::from(through))]);
            view.set("active", Value::from(active));
        }
        if let Some(completed) = self.last_turn_completed {
            view.set("lastTurnCompleted", Value::from(completed));
        }
        Value::from(view)
    }
}
