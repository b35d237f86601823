//! What an event reports of a request's usage, and when one report takes the place of another
//! (dsh-token-meter of 0.1.0, 0.1.5 and 0.2.1; formats.md §7.4).
//!
//! A request belongs to a step of a turn and may report its usage several times: while it streams, and
//! when its message is complete. Each report takes the place of the one before of the same step.
//! Compactions and titles report usage as well, which dsh does not count.

use crate::model::event::Event;
use crate::model::json::{Kind, View};

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

/// What a usage report says.
#[derive(Clone, Copy, Debug)]
pub(super) struct Report {
    /// Its numbers.
    pub tokens: Tokens,
    /// Whether input and output are there, and no number is out of the question.
    pub is_whole: bool,
}

impl Report {
    /// Reads a report. A number that is none of tokens is left out and handed on with its name.
    pub(super) fn read<'u>(usage: View<'u>, mut bad: impl FnMut(&'static str, View<'u>)) -> Report {
        let mut has_bad = false;
        let mut number = |name| match number_of(usage, name) {
            Ok(number) => number.map_or(Sum::Unknown, Sum::Known),
            Err(value) => {
                has_bad = true;
                bad(name, value);
                Sum::Unknown
            }
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
}

/// How many tokens a request read, from a cache or not; `None` if its report does not say.
pub(super) fn prompt_tokens(usage: View<'_>) -> Option<u64> {
    let number = |name| number_of(usage, name).ok();
    let cached = number("cacheReadTokens")?.unwrap_or(0) + number("cacheWriteTokens")?.unwrap_or(0);
    Some(number("inputTokens")?? + cached)
}

/// A number of a report; the value instead if it is no number of tokens.
fn number_of<'u>(usage: View<'u>, name: &str) -> Result<Option<u64>, View<'u>> {
    match usage.get(name).filter(|value| value.kind() != Kind::Null) {
        None => Ok(None),
        Some(value) => value.count().map(Some).ok_or(value),
    }
}

/// The usage an event reports: while an answer streams in v0 and v1, with the message in all
/// generations, and from v2 on in the last chunk that has one, of the stream that a message without
/// usage or a failed attempt carries.
pub(super) fn usage_of<'e>(event: &'e Event<'_>) -> Option<View<'e>> {
    // The members of packed rows are pieces of text, and most of a v0 log.
    if event.delta().is_some() {
        return None;
    }
    let parts = event.parts();
    let usage = match event.kind.to_str()? {
        "assistant/chunk" => parts.chunk.filter(|chunk| is(*chunk, "usage"))?.get("usage"),
        "assistant/message" => parts.usage.or_else(|| streamed_usage(parts.stream?)),
        "assistant/attempt" => streamed_usage(parts.stream?),
        _ => None,
    };
    usage.filter(|usage| usage.kind() != Kind::Null)
}

fn streamed_usage(stream: View<'_>) -> Option<View<'_>> {
    let chunks = stream.elements().filter(|record| is(*record, "chunk")).filter_map(|record| record.get("chunk"));
    chunks.filter(|chunk| is(*chunk, "usage")).last()?.get("usage")
}

fn is(value: View<'_>, kind: &str) -> bool {
    value.get("type").is_some_and(|found| found.is_string(kind))
}

/// The numbers of a turn and a step, as far as they are numbers.
pub(super) type TurnStep = (Option<u64>, Option<u64>);

/// The turn and the step an event's data name.
pub(super) fn turn_step(event: &Event<'_>) -> TurnStep {
    let parts = event.parts();
    (parts.turn.and_then(View::count), parts.step.and_then(View::count))
}

/// Whether what a failed attempt used stays counted once `llm/retry-started` tells that its step is tried
/// again: from v2 on. In v0 and v1 the retry's report takes the place of the failed attempt's.
pub(super) fn retries_add(version: u64) -> bool {
    version >= 2
}
