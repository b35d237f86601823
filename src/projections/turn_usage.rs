//! Exact token usage, turn by turn, as dsh's token meter proves it.
//!
//! The meter counts a turn only if nothing about it is in doubt: every attempt to get an answer begins
//! where it must, ends with a usable report, and belongs to this turn and step. Otherwise the turn counts as
//! incomplete (sidechat.md §3.7; the rules are those of dsh 0.1.5 and 0.2.1, which read attempts and
//! messages, and of older dsh, which reads streamed chunks: a log holds what its generation writes).

use super::token_usage::{Route, route_of};
use super::usage_report::streamed_usage;
use crate::model::event::Event;
use crate::model::json::{Kind, View};

/// The greatest number JavaScript counts with.
const MAX_SAFE: u64 = 9_007_199_254_740_991;

/// Tokens of turns that are exactly known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExactTokens {
    /// What the model read and no cache held.
    pub uncached_input: u64,
    /// What it wrote, its reasoning included.
    pub output: u64,
    /// Everything.
    pub total: u64,
    /// What it read from a cache; known only if every attempt says it. So with the next two.
    pub cache_read: Option<u64>,
    /// What it read and put into a cache.
    pub cache_write: Option<u64>,
    /// The part of the output that is reasoning.
    pub reasoning: Option<u64>,
    /// The models that answered, each once; empty if any attempt does not name one.
    pub routes: Vec<Route>,
}

/// The exact usage of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionUsage {
    /// How many turns are exactly known.
    pub completed_turns: u64,
    /// How many are not, an open one included.
    pub incomplete_turns: u64,
    /// Everything together; `None` if any turn is incomplete.
    pub totals: Option<ExactTokens>,
    /// The last turn that is exactly known.
    pub latest: Option<ExactTokens>,
}

impl SessionUsage {
    /// Whether every turn is exactly known.
    pub fn is_complete(&self) -> bool {
        self.incomplete_turns == 0
    }
}

/// The usage of one attempt.
#[derive(Clone, Debug)]
struct Attempt {
    input: u64,
    output: u64,
    total: u64,
    cache_read: Option<u64>,
    cache_write: Option<u64>,
    reasoning: Option<u64>,
    route: Option<Route>,
}

/// What a usage report says, before it is known to be usable. A member is absent, a count, or neither.
#[derive(Clone, Copy, Debug)]
struct Sample {
    input: Member,
    output: Member,
    cache_read: Member,
    cache_write: Member,
    reasoning: Member,
    total: Member,
}

/// A member of a report.
#[derive(Clone, Copy, Debug)]
enum Member {
    Absent,
    Count(u64),
    Bad,
}

/// Where in a turn the fold is.
#[derive(Clone, Copy, Debug)]
enum State {
    /// Between steps.
    Idle,
    /// In an attempt, with the newest report of it.
    Open { step: Option<u64>, sample: Option<Sample> },
    /// After an attempt that failed.
    Failed { step: Option<u64> },
    /// After an answer, or after a retry was announced.
    Settled { step: Option<u64>, by_retry: bool },
}

/// The turn the fold is in.
#[derive(Debug)]
struct Turn {
    number: Option<u64>,
    state: State,
    attempts: Vec<Attempt>,
    is_valid: bool,
}

/// Folds the stored events of a log.
#[derive(Debug, Default)]
pub struct TurnUsageFold {
    turn: Option<Turn>,
    completed: u64,
    incomplete: u64,
    /// The sums; `None` once they grew past what JavaScript counts.
    sums: Sums,
    latest: Option<ExactTokens>,
}

/// Sums over turns.
#[derive(Debug, Default)]
struct Sums {
    tokens: Option<ExactTokens>,
    is_too_large: bool,
}

impl TurnUsageFold {
    /// Takes one event in. Closers are not: what dsh adds on reading did not happen.
    pub fn apply(&mut self, event: &Event<'_>) {
        if event.synthetic || event.delta().is_some() {
            return;
        }
        match event.kind.to_str() {
            Some("turn/start") => {
                // A turn that another one follows before its end is none that can be counted.
                if self.turn.take().is_some() {
                    self.incomplete += 1;
                }
                let number = event.data().get("turn").and_then(View::count);
                self.turn = Some(Turn { number, state: State::Idle, attempts: Vec::new(), is_valid: true });
            }
            Some("turn/end") => {
                if let Some(mut turn) = self.turn.take() {
                    let ends = event.data().get("turn").and_then(View::count) == turn.number;
                    turn.is_valid &= ends && matches!(turn.state, State::Idle);
                    self.count(&turn);
                }
            }
            Some(kind) => {
                if let Some(turn) = &mut self.turn {
                    turn.apply(kind, event.data());
                }
            }
            None => {}
        }
    }

    /// Leaves out the turn that is open: no model was asked in it, and that is certain.
    pub fn leave_out(&mut self) {
        self.turn = None;
    }

    fn count(&mut self, turn: &Turn) {
        match turn.total() {
            Some(tokens) => {
                self.completed += 1;
                self.sums.add(&tokens);
                self.latest = Some(tokens);
            }
            None => self.incomplete += 1,
        }
    }

    /// The usage of the log. One without turns has used nothing, and that is exact.
    pub fn finish(mut self) -> SessionUsage {
        if self.turn.take().is_some() {
            self.incomplete += 1;
        }
        let is_known = self.incomplete == 0 && !self.sums.is_too_large;
        SessionUsage {
            completed_turns: self.completed,
            incomplete_turns: self.incomplete,
            totals: is_known.then(|| self.sums.tokens.unwrap_or_default()),
            latest: self.latest,
        }
    }
}

impl Turn {
    fn apply(&mut self, kind: &str, data: View<'_>) {
        if !matches!(
            kind,
            "step/start"
                | "step/end"
                | "llm/retry"
                | "llm/retry-started"
                | "assistant/chunk"
                | "assistant/attempt"
                | "assistant/message"
        ) {
            return;
        }
        let number = |key: &str| data.get(key).and_then(View::count);
        let step = number("step");
        let is_here = number("turn") == self.number;
        let next = if is_here { self.next(kind, step, data) } else { None };
        match next {
            Some(state) => self.state = state,
            None => self.is_valid = false,
        }
    }

    /// The state an event leads to; `None` if it may not stand here.
    fn next(&mut self, kind: &str, step: Option<u64>, data: View<'_>) -> Option<State> {
        match (kind, self.state) {
            ("step/start", State::Idle) => Some(State::Open { step, sample: None }),
            ("llm/retry-started", State::Settled { step: here, by_retry: true }) if here == step => {
                Some(State::Open { step, sample: None })
            }
            ("assistant/chunk", State::Open { step: here, sample }) if here == step => {
                self.chunk(step, sample, data.get("chunk")?)
            }
            // What still streams in of an attempt that has ended changes nothing.
            ("assistant/chunk", state @ State::Failed { step: here }) if here == step => Some(state),
            ("assistant/attempt", State::Open { step: here, sample }) if here == step => {
                self.close(data.get("stream").and_then(streamed_usage).map(Sample::read).or(sample), None)?;
                Some(State::Failed { step })
            }
            ("assistant/message", State::Open { step: here, sample }) if here == step => {
                let usage = data.get("usage").filter(|usage| usage.kind() != Kind::Null);
                let newest = usage.or_else(|| streamed_usage(data.get("stream")?)).map(Sample::read).or(sample);
                let source = data.get("message").and_then(|message| message.get("source"));
                self.close(newest, source.and_then(route_of))?;
                Some(State::Settled { step, by_retry: false })
            }
            ("llm/retry", State::Open { step: here, sample }) if here == step => {
                self.close(sample, None)?;
                Some(State::Settled { step, by_retry: true })
            }
            ("llm/retry", State::Failed { step: here }) if here == step => {
                Some(State::Settled { step, by_retry: true })
            }
            ("step/end", State::Open { step: here, sample }) if here == step => {
                self.close(sample, None)?;
                Some(State::Idle)
            }
            ("step/end", State::Failed { step: here } | State::Settled { step: here, .. }) if here == step => {
                Some(State::Idle)
            }
            _ => None,
        }
    }

    fn chunk(&mut self, step: Option<u64>, sample: Option<Sample>, chunk: View<'_>) -> Option<State> {
        let is = |kind: &str| chunk.get("type").is_some_and(|found| found.is_string(kind));
        if is("usage") {
            return Some(State::Open { step, sample: chunk.get("usage").map(Sample::read).or(sample) });
        }
        let reason = chunk.get("reason").and_then(|reason| reason.get("kind"));
        let has_failed = reason.is_some_and(|kind| kind.is_string("error") || kind.is_string("aborted"));
        if is("finish") && has_failed {
            self.close(sample, None)?;
            return Some(State::Failed { step });
        }
        Some(State::Open { step, sample })
    }

    /// Ends an attempt; `None` if its usage is not usable.
    fn close(&mut self, sample: Option<Sample>, route: Option<Route>) -> Option<()> {
        self.attempts.push(sample?.usable(route)?);
        Some(())
    }

    fn total(&self) -> Option<ExactTokens> {
        if !self.is_valid || self.attempts.is_empty() {
            return None;
        }
        let sum = |part: fn(&Attempt) -> u64| safe_sum(self.attempts.iter().map(part));
        let optional = |part: fn(&Attempt) -> Option<u64>| {
            let parts: Option<Vec<u64>> = self.attempts.iter().map(part).collect();
            parts.and_then(safe_sum)
        };
        let mut routes: Vec<Route> = Vec::new();
        let named: Option<Vec<&Route>> = self.attempts.iter().map(|attempt| attempt.route.as_ref()).collect();
        for route in named.unwrap_or_default() {
            if !routes.contains(route) {
                routes.push(route.clone());
            }
        }
        Some(ExactTokens {
            uncached_input: sum(|attempt| attempt.input)?,
            output: sum(|attempt| attempt.output)?,
            total: sum(|attempt| attempt.total)?,
            cache_read: optional(|attempt| attempt.cache_read),
            cache_write: optional(|attempt| attempt.cache_write),
            reasoning: optional(|attempt| attempt.reasoning),
            routes,
        })
    }
}

impl Sums {
    fn add(&mut self, turn: &ExactTokens) {
        let Some(sums) = &mut self.tokens else {
            self.tokens = Some(turn.clone());
            return;
        };
        let plus = |a: u64, b: u64| safe_sum([a, b]);
        let both = |a: Option<u64>, b: Option<u64>| plus(a?, b?);
        let required = [
            (&mut sums.uncached_input, turn.uncached_input),
            (&mut sums.output, turn.output),
            (&mut sums.total, turn.total),
        ];
        for (sum, part) in required {
            match plus(*sum, part) {
                Some(together) => *sum = together,
                None => self.is_too_large = true,
            }
        }
        sums.cache_read = both(sums.cache_read, turn.cache_read);
        sums.cache_write = both(sums.cache_write, turn.cache_write);
        sums.reasoning = both(sums.reasoning, turn.reasoning);
        for route in &turn.routes {
            if !sums.routes.contains(route) {
                sums.routes.push(route.clone());
            }
        }
    }
}

impl Sample {
    fn read(usage: View<'_>) -> Sample {
        let member = |name: &str| match usage.get(name) {
            None => Member::Absent,
            Some(value) => value.count().map_or(Member::Bad, Member::Count),
        };
        Sample {
            input: member("inputTokens"),
            output: member("outputTokens"),
            cache_read: member("cacheReadTokens"),
            cache_write: member("cacheWriteTokens"),
            reasoning: member("reasoningTokens"),
            total: member("totalTokens"),
        }
    }

    /// The report, if nothing in it contradicts anything else and the total is certain.
    fn usable(self, route: Option<Route>) -> Option<Attempt> {
        let (Member::Count(input), Member::Count(output)) = (self.input, self.output) else { return None };
        let cache_read = self.cache_read.optional()?;
        let cache_write = self.cache_write.optional()?;
        let reasoning = self
            .reasoning
            .optional()?
            .map_or(Some(None), |reasoning| (reasoning <= output).then_some(Some(reasoning)))?;
        let prompt = safe_sum([input, cache_read.unwrap_or(0), cache_write.unwrap_or(0)])?;
        let is_whole = cache_read.is_some() && cache_write.is_some();
        let total = match self.total.optional()? {
            Some(total) => {
                let exact_prompt = total.checked_sub(output).filter(|exact| *exact >= prompt)?;
                (!is_whole || exact_prompt == prompt).then_some(total)?
            }
            None if is_whole => safe_sum([prompt, output])?,
            None => return None,
        };
        Some(Attempt { input, output, total, cache_read, cache_write, reasoning, route })
    }
}

impl Member {
    /// `None` if there is something, and it is no count.
    fn optional(self) -> Option<Option<u64>> {
        match self {
            Member::Absent => Some(None),
            Member::Count(count) => Some(Some(count)),
            Member::Bad => None,
        }
    }
}

fn safe_sum(parts: impl IntoIterator<Item = u64>) -> Option<u64> {
    parts.into_iter().try_fold(0u64, |sum, part| sum.checked_add(part).filter(|sum| *sum <= MAX_SAFE))
}
