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
            if !self.retries_add || !self.is_of_newest(turn_step(event)) {
                return Change::None;
            }
            self.settle();
            return Change::Some;
        }
        let Some(usage) = usage_of(event) else { return Change::None };
        let newest = (turn_step(event), Buckets::of(&Report::read(usage, |_, _| {}).tokens));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::event::Envelope;
    use crate::model::header::Seed;
    use crate::model::js_string::JsStr;
    use crate::model::json::{parse, write_value};

    #[test]
    fn what_is_no_number_of_tokens_is_not_summed() {
        let header = Header {
            version: 4,
            id: JsStr::from("s"),
            created_at: 0,
            cwd: None,
            parent_session: None,
            seed: Seed::None,
            is_subagent: false,
            delegation_depth: None,
            agent_preset: None,
        };
        let mut unit = TokenUsage::init(&header);
        for (seq, usage) in [
            r#"{"inputTokens":-1,"outputTokens":2,"cacheReadTokens":"3","cacheWriteTokens":4}"#,
            r#"{"inputTokens":10,"outputTokens":0.5,"cacheReadTokens":null}"#,
            "[]",
        ]
        .into_iter()
        .enumerate()
        {
            let text = format!(r#"{{"data":{{"turn":1,"step":{seq},"usage":{usage}}}}}"#);
            let row = parse(&text).unwrap();
            let envelope = Envelope {
                seq: seq as u64,
                time: 0,
                kind: JsStr::from("assistant/message"),
                surface_op: None,
                source_event_seqs: None,
                ignorable: false,
            };
            unit.apply(&Event::from_row(envelope, row, row.get("data").unwrap()));
        }
        let mut view = String::new();
        write_value(&unit.view(), &mut view);
        let sums = r#"{"uncachedInputTokens":10,"outputTokens":2,"cacheReadTokens":0,"cacheWriteTokens":4}"#;
        assert_eq!(view, sums);
    }
}
