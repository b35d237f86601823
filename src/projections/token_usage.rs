//! How many tokens the requests of a session used, by step, counted as dsh's projection unit `tokenUsage`
//! counts them. Each report of a step takes the place of the one before, as long as no other step has
//! come in between; `usage_report` says what a report is and what a retry does to it.

use super::inheritance::is_marker;
use super::usage_report::{Report, TurnStep, retries_add, turn_step, usage_of};
use crate::model::event::Event;
use crate::model::header::{Header, Seed};
use crate::model::js_string::{JsStr, JsString};
use crate::model::json::{Kind, View};
use crate::model::problem::{Fault, ProblemKind};

pub use super::usage_report::{Sum, Tokens};

/// The model that answered.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Route {
    /// Who serves it.
    pub provider: JsString,
    /// Its name there.
    pub model: JsString,
}

/// A part of a session's usage: that of a step, or a turn in which no step stands for it.
#[derive(Clone, Copy, Debug)]
pub struct Part<'p> {
    /// The turn's number; `None` if the log does not give one.
    pub turn: Option<u64>,
    /// Whether it is a step.
    pub is_step: bool,
    /// What the step used; `None` if there is no report of it.
    pub tokens: Option<Tokens>,
    /// When the last report of it was made; without one, when it began.
    pub time: i64,
    /// The model that was asked, as far as known.
    pub route: Option<&'p Route>,
    /// Whether nothing is missing: not a report, not a number in one, not the turn's end.
    pub is_complete: bool,
}

/// What the fold hands on.
#[derive(Clone, Copy, Debug)]
pub enum Spent<'p> {
    /// A part of the usage.
    Part(Part<'p>),
    /// Every part so far was copied from another session and is not this one's.
    WasInherited,
}

/// Where parts go.
pub type PartSink<'s> = dyn FnMut(Spent<'_>) + 's;

/// Whether what a fork copied from its parent counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inherited {
    /// Only what the session used itself counts.
    LeftOut,
    /// Everything in the log counts, as in dsh's own views.
    Counted,
}

/// Where a session's own events begin (formats.md §2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cut {
    /// At the first event.
    None,
    /// At this seq (v0 and v1).
    At(u64),
    /// At the last `session/end-seed` that says `inherited` (v2 and later), of which none came yet.
    NextMarker,
    /// At the last such marker, and at least one has come.
    LastMarker,
}

impl Cut {
    /// A session without a parent inherits nothing, whatever else its header says: there is no other
    /// session in which those tokens could be counted.
    fn of(header: &Header, inherited: Inherited) -> Cut {
        match (inherited, &header.parent_session, header.seed) {
            (Inherited::Counted, _, _) | (_, None, _) | (_, _, Seed::None) => Cut::None,
            (_, _, Seed::Length(length)) => Cut::At(length),
            (_, _, Seed::Marked) => Cut::NextMarker,
        }
    }
}

/// The usage of a session, folded from its stored events. What it holds does not grow with the log.
#[derive(Debug)]
pub struct TokenUsageFold {
    cut: Cut,
    retries_add: bool,
    /// The model of the newest request header.
    route: Option<Route>,
    turn: Option<Turn>,
    step: Option<Step>,
    bad: Option<BadNumbers>,
}

/// The newest turn.
#[derive(Debug)]
struct Turn {
    number: Option<u64>,
    time: i64,
    is_open: bool,
    has_steps: bool,
}

/// The newest step.
#[derive(Debug)]
struct Step {
    pair: TurnStep,
    time: i64,
    route: Option<Route>,
    /// The reports of attempts that a retry followed.
    settled: Option<Report>,
    /// The report that a next one would take the place of.
    newest: Option<Report>,
}

/// Numbers that are no count of tokens: the first, and how many follow.
#[derive(Debug)]
struct BadNumbers {
    seq: u64,
    what: String,
    more: u64,
}

impl TokenUsageFold {
    /// A fold of the log with this header.
    pub fn new(header: &Header, inherited: Inherited) -> TokenUsageFold {
        TokenUsageFold {
            cut: Cut::of(header, inherited),
            retries_add: retries_add(header.version),
            route: None,
            turn: None,
            step: None,
            bad: None,
        }
    }

    /// Takes one event in. Closers are not: what dsh adds on reading did not happen.
    pub fn apply(&mut self, event: &Event<'_>, sink: &mut PartSink<'_>) {
        // The members of packed rows are pieces of text, and most of a v0 log.
        if event.synthetic || event.delta().is_some() {
            return;
        }
        let Some(kind) = event.kind.to_str() else { return };
        if kind == "request/header" {
            // A fork's first requests may go by a header that it inherited.
            let route = event.data().get("header").and_then(|header| header.get("config")).and_then(route_of);
            self.route = route.or(self.route.take());
        }
        match self.cut {
            Cut::At(seq) if event.seq < seq => return,
            Cut::NextMarker | Cut::LastMarker if is_marker(event) => {
                (self.turn, self.step, self.bad) = (None, None, None);
                self.cut = Cut::LastMarker;
                sink(Spent::WasInherited);
            }
            _ => {}
        }
        match kind {
            "turn/start" => {
                self.settle_turn(sink);
                let number = event.data().get("turn").and_then(View::count);
                self.turn = Some(Turn { number, time: event.time, is_open: true, has_steps: false });
            }
            "turn/end" => {
                if let Some(turn) = &mut self.turn {
                    turn.is_open = false;
                }
            }
            "step/start" => {
                self.step(event, sink);
            }
            "llm/retry-started" if self.retries_add => {
                let pair = turn_step(event);
                if let Some(step) = self.step.as_mut().filter(|step| step.pair == pair) {
                    step.settle_attempt();
                }
            }
            "assistant/chunk" | "assistant/attempt" => self.report(event, None, sink),
            "assistant/message" => {
                let source = event.data().get("message").and_then(|message| message.get("source"));
                self.report(event, source.and_then(route_of), sink);
            }
            _ => {}
        }
    }

    /// The step an event belongs to, which from here on is the newest.
    fn step(&mut self, event: &Event<'_>, sink: &mut PartSink<'_>) -> &mut Step {
        let pair = turn_step(event);
        if self.step.as_ref().is_none_or(|step| step.pair != pair) {
            self.settle_step(sink);
        }
        self.step.get_or_insert(Step { pair, time: event.time, route: None, settled: None, newest: None })
    }

    /// Takes in what a step says of itself, and the report in it if there is one.
    fn report(&mut self, event: &Event<'_>, route: Option<Route>, sink: &mut PartSink<'_>) {
        let report =
            usage_of(event).map(|usage| Report::read(usage, |name, value| self.remember_bad(event.seq, name, value)));
        let newest_route = route.or_else(|| self.route.clone());
        let step = self.step(event, sink);
        if let Some(report) = report {
            step.newest = Some(report);
            step.time = event.time;
            step.route = newest_route;
        }
    }

    fn remember_bad(&mut self, seq: u64, name: &str, value: View<'_>) {
        if let Some(bad) = &mut self.bad {
            bad.more += 1;
            return;
        }
        const LONGEST_SHOWN: usize = 40;
        let text = value.text();
        let is_short = value.kind() == Kind::Number && text.len() <= LONGEST_SHOWN;
        let what = if is_short { format!("{name}, {text},") } else { name.to_owned() };
        self.bad = Some(BadNumbers { seq, what, more: 0 });
    }

    fn settle_step(&mut self, sink: &mut PartSink<'_>) {
        let Some(mut step) = self.step.take() else { return };
        step.settle_attempt();
        if let Some(turn) = self.turn.as_mut().filter(|turn| turn.number == step.pair.0) {
            turn.has_steps = true;
            turn.time = step.time;
        }
        sink(Spent::Part(Part {
            turn: step.pair.0,
            is_step: true,
            tokens: step.settled.map(|report| report.tokens),
            time: step.time,
            route: step.route.as_ref().or(self.route.as_ref()),
            is_complete: step.settled.is_some_and(|report| report.is_whole),
        }));
    }

    /// Ends the newest turn. One that never ended and that another followed was interrupted; open is only
    /// the last.
    fn settle_turn(&mut self, sink: &mut PartSink<'_>) {
        self.settle_step(sink);
        if let Some(turn) = self.turn.take().filter(|turn| !turn.has_steps) {
            sink(Spent::Part(turn.part(true)));
        }
    }

    /// Ends the log. What is told is the first number that is no count of tokens, and how many more
    /// there are; or that a damaged log does not say where its own events begin, of which none counts then.
    pub fn finish(mut self, sink: &mut PartSink<'_>) -> Option<Fault> {
        if self.cut == Cut::NextMarker {
            sink(Spent::WasInherited);
            let message = "nothing says where the session's own events begin, and none is counted";
            return Some(Fault::new(ProblemKind::BadRow, message));
        }
        self.settle_step(sink);
        match self.turn.take() {
            Some(turn) if turn.is_open => sink(Spent::Part(turn.part(false))),
            Some(turn) if !turn.has_steps => sink(Spent::Part(turn.part(true))),
            _ => {}
        }
        self.bad.map(|bad| {
            let more = if bad.more > 0 { format!("; {} more like it follow", bad.more) } else { String::new() };
            let message = format!("a usage report's {} is no number of tokens and not summed{more}", bad.what);
            Fault::new(ProblemKind::BadRow, message).at_seq(bad.seq)
        })
    }
}

impl Turn {
    fn part<'p>(&self, is_complete: bool) -> Part<'p> {
        Part { turn: self.number, is_step: false, tokens: None, time: self.time, route: None, is_complete }
    }
}

impl Step {
    /// Keeps the newest report, whatever comes after.
    fn settle_attempt(&mut self) {
        let Some(newest) = self.newest.take() else { return };
        match &mut self.settled {
            None => self.settled = Some(newest),
            Some(settled) => {
                settled.tokens.add(&newest.tokens);
                settled.is_whole &= newest.is_whole;
            }
        }
    }
}

/// The provider and the model that an object names.
fn route_of(object: View<'_>) -> Option<Route> {
    let named = |key| object.get(key).and_then(View::string).filter(|name| !name.is_empty()).map(JsStr::into_owned);
    Some(Route { provider: named("provider")?, model: named("model")? })
}
