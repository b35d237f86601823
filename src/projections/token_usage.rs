//! How many tokens the requests of a session used, counted as dsh's projection unit `tokenUsage` counts
//! them (dsh-token-meter of 0.1.0, 0.1.5 and 0.2.1; formats.md §7.4).
//!
//! A request belongs to a step of a turn and may report its usage several times: while it streams, and
//! when its message is complete. Each report takes the place of the one before, as long as no other step
//! has reported in between. From v2 on the start of a retry ends that: what the failed attempt used stays
//! counted. In v0 and v1 the retry's report takes the place of the failed attempt's too. Compactions and
//! titles report usage as well, which dsh does not count.

use crate::model::event::Event;
use crate::model::header::{Header, Seed};
use crate::model::js_string::{JsStr, JsString};
use crate::model::json::{Kind, View};
use crate::model::problem::{Fault, ProblemKind};
use crate::projections::inheritance::is_marker;

/// The greatest whole number that JavaScript holds exactly; dsh tells no greater sum.
const MAX_SUM: u64 = (1 << 53) - 1;

/// A sum of numbers of tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sum {
    /// No report named such a number.
    #[default]
    Unknown,
    /// The sum of those that did.
    Known(u64),
    /// It is greater than any number JSON carries safely.
    TooLarge,
}

impl Sum {
    /// The sum, if it is known and can be told.
    pub fn known(self) -> Option<u64> {
        match self {
            Sum::Known(sum) => Some(sum),
            Sum::Unknown | Sum::TooLarge => None,
        }
    }

    fn plus(self, other: Sum) -> Sum {
        match (self, other) {
            (Sum::Unknown, sum) | (sum, Sum::Unknown) => sum,
            (Sum::Known(a), Sum::Known(b)) => {
                a.checked_add(b).filter(|sum| *sum <= MAX_SUM).map_or(Sum::TooLarge, Sum::Known)
            }
            (Sum::TooLarge, _) | (_, Sum::TooLarge) => Sum::TooLarge,
        }
    }
}

/// Numbers of tokens in buckets. Input, output, cache read and cache write have nothing in common.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tokens {
    /// What the model read and no cache held.
    pub input: Sum,
    /// What the model wrote, its reasoning included.
    pub output: Sum,
    /// What it read from a cache.
    pub cache_read: Sum,
    /// What it read and put into a cache.
    pub cache_write: Sum,
    /// The part of the output that is reasoning.
    pub reasoning: Sum,
    /// Everything: as the provider reports it, else the first four together.
    pub total: Sum,
}

impl Tokens {
    /// Counts other tokens in.
    pub fn add(&mut self, other: &Tokens) {
        self.input = self.input.plus(other.input);
        self.output = self.output.plus(other.output);
        self.cache_read = self.cache_read.plus(other.cache_read);
        self.cache_write = self.cache_write.plus(other.cache_write);
        self.reasoning = self.reasoning.plus(other.reasoning);
        self.total = self.total.plus(other.total);
    }
}

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
    /// The numbers of the turn and the step.
    pair: (Option<u64>, Option<u64>),
    time: i64,
    route: Option<Route>,
    /// The reports of attempts that a retry followed.
    settled: Option<Report>,
    /// The report that a next one would take the place of.
    newest: Option<Report>,
}

/// What a usage report says.
#[derive(Clone, Copy, Debug)]
struct Report {
    tokens: Tokens,
    /// Whether input and output are there, and no number is out of the question.
    is_whole: bool,
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
            retries_add: header.version >= 2,
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
                let pair = pair_of(event.data());
                if let Some(step) = self.step.as_mut().filter(|step| step.pair == pair) {
                    step.settle_attempt();
                }
            }
            "assistant/chunk" => {
                let chunk = event.data().get("chunk").filter(|chunk| is(*chunk, "usage"));
                self.report(event, chunk.and_then(|chunk| chunk.get("usage")), None, sink);
            }
            "assistant/message" => {
                let data = event.data();
                let route = data.get("message").and_then(|message| message.get("source")).and_then(route_of);
                self.report(event, data.get("usage").or_else(|| streamed_usage(data)), route, sink);
            }
            "assistant/attempt" => self.report(event, streamed_usage(event.data()), None, sink),
            _ => {}
        }
    }

    /// The step an event belongs to, which from here on is the newest.
    fn step(&mut self, event: &Event<'_>, sink: &mut PartSink<'_>) -> &mut Step {
        let pair = pair_of(event.data());
        if self.step.as_ref().is_none_or(|step| step.pair != pair) {
            self.settle_step(sink);
        }
        self.step.get_or_insert(Step { pair, time: event.time, route: None, settled: None, newest: None })
    }

    /// Takes in what a step says of itself, and the report in it if there is one.
    fn report(&mut self, event: &Event<'_>, usage: Option<View<'_>>, route: Option<Route>, sink: &mut PartSink<'_>) {
        let report = usage.filter(|usage| usage.kind() != Kind::Null).map(|usage| self.read(event.seq, usage));
        let newest_route = route.or_else(|| self.route.clone());
        let step = self.step(event, sink);
        if let Some(report) = report {
            step.newest = Some(report);
            step.time = event.time;
            step.route = newest_route;
        }
    }

    /// Reads a report. A number that is none of tokens is left out and remembered.
    fn read(&mut self, seq: u64, usage: View<'_>) -> Report {
        let mut has_bad = false;
        let mut number = |name: &str| match usage.get(name).filter(|value| value.kind() != Kind::Null) {
            None => Sum::Unknown,
            Some(value) => value.count().map_or_else(
                || {
                    has_bad = true;
                    self.remember_bad(seq, name, value);
                    Sum::Unknown
                },
                Sum::Known,
            ),
        };
        let mut tokens = Tokens {
            input: number("inputTokens"),
            output: number("outputTokens"),
            cache_read: number("cacheReadTokens"),
            cache_write: number("cacheWriteTokens"),
            reasoning: number("reasoningTokens"),
            total: number("totalTokens"),
        };
        let is_whole = !has_bad && tokens.input != Sum::Unknown && tokens.output != Sum::Unknown;
        if tokens.total == Sum::Unknown && is_whole {
            tokens.total = tokens.input.plus(tokens.output).plus(tokens.cache_read).plus(tokens.cache_write);
        }
        Report { tokens, is_whole }
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

fn pair_of(data: View<'_>) -> (Option<u64>, Option<u64>) {
    (data.get("turn").and_then(View::count), data.get("step").and_then(View::count))
}

fn is(value: View<'_>, kind: &str) -> bool {
    value.get("type").is_some_and(|found| found.is_string(kind))
}

/// The provider and the model that an object names.
fn route_of(object: View<'_>) -> Option<Route> {
    let named = |key| object.get(key).and_then(View::string).filter(|name| !name.is_empty()).map(JsStr::into_owned);
    Some(Route { provider: named("provider")?, model: named("model")? })
}

/// The usage in the last chunk that has one, of the stream a message or an attempt carries (v2 and later).
fn streamed_usage(data: View<'_>) -> Option<View<'_>> {
    let chunks = data.get("stream")?.elements().filter(|record| is(*record, "chunk"));
    chunks.filter_map(|record| record.get("chunk")).filter(|chunk| is(*chunk, "usage")).last()?.get("usage")
}
