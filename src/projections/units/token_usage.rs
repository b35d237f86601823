//! `tokenUsage`: how many tokens the session's requests used, what a fork inherited included
//! (formats.md §7.4). Each report of a step takes the place of the one before of the same step. A number
//! that is none of tokens is not summed.

use crate::model::event::Event;
use crate::model::header::Header;
use crate::model::json::{Object, Value};
use crate::projections::unit::{Change, Unit};
use crate::projections::usage_report::{Report, Tokens, TurnStep, retries_add, turn_step, usage_of};
use serde::{Deserialize, Serialize};

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TokenUsage {
    retries_add: bool,
    /// What nothing takes the place of any more.
    settled: Buckets,
    /// The newest report, and the step it is of; a next one of that step takes its place.
    newest: Option<(TurnStep, Buckets)>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Buckets {
    input: u64,
    output: u64,
    cache_read: u64,
    cache_write: u64,
}

impl Buckets {
    fn of(tokens: &Tokens) -> Buckets {
        Buckets {
            input: tokens.input.known().unwrap_or(0),
            output: tokens.output.known().unwrap_or(0),
            cache_read: tokens.cache_read.known().unwrap_or(0),
            cache_write: tokens.cache_write.known().unwrap_or(0),
        }
    }

    fn plus(self, other: Buckets) -> Buckets {
        Buckets {
            input: self.input.saturating_add(other.input),
            output: self.output.saturating_add(other.output),
            cache_read: self.cache_read.saturating_add(other.cache_read),
            cache_write: self.cache_write.saturating_add(other.cache_write),
        }
    }
}

impl TokenUsage {
    fn settle(&mut self) {
        if let Some((_, buckets)) = self.newest.take() {
            self.settled = self.settled.plus(buckets);
        }
    }

    fn is_of_newest(&self, step: TurnStep) -> bool {
        self.newest.is_some_and(|(newest, _)| newest == step)
    }
}

impl Unit for TokenUsage {
    const KEY: &'static str = "tokenUsage";
    const VERSION: u32 = 1;
    const EVENTS: &'static [&'static str] =
        &["assistant/chunk", "assistant/message", "assistant/attempt", "llm/retry-started"];

    fn init(header: &Header) -> TokenUsage {
        TokenUsage { retries_add: retries_add(header.version), settled: Buckets::default(), newest: None }
    }

    fn apply(&mut self, event: &Event<'_>) -> Change {
        if event.is("llm/retry-started") {
            if !self.retries_add || !self.is_of_newest(turn_step(event.data())) {
                return Change::None;
            }
            self.settle();
            return Change::Some;
        }
        let Some(usage) = usage_of(event) else { return Change::None };
        let newest = (turn_step(event.data()), Buckets::of(&Report::read(usage, |_, _| {}).tokens));
        if self.newest == Some(newest) {
            return Change::None;
        }
        if !self.is_of_newest(newest.0) {
            self.settle();
        }
        self.newest = Some(newest);
        Change::Some
    }

    fn view(&self) -> Value {
        let totals = self.newest.map_or(self.settled, |(_, buckets)| self.settled.plus(buckets));
        Value::from(Object::of([
            ("uncachedInputTokens", Value::from(totals.input)),
            ("outputTokens", Value::from(totals.output)),
            ("cacheReadTokens", Value::from(totals.cache_read)),
            ("cacheWriteTokens", Value::from(totals.cache_write)),
        ]))
    }
}
