//! `contextPressure`: how full the model's context is (formats.md §7.4). `pressureTokens` is what the
//! newest reported request read, `contextWindow` what the newest `request/context` allows, and
//! `projectedTokens` the first plus what the surface has grown or shrunk since by the estimate. Of these
//! only what is known is told.
//!
//! What changed between dsh's versions is the estimate: 0.1.0 and 0.1.5 weigh the block around a tool's
//! result, which v4 has no more. Logs of those generations are weighed as then (see `token_estimate`).

use crate::model::event::Event;
use crate::model::header::Header;
use crate::model::json::{Object, Value, View};
use crate::projections::shadow_price::{Placing, ShadowPrice, states_price};
use crate::projections::unit::{Change, Unit};
use crate::projections::usage_report::{prompt_tokens, usage_of};
use serde::{Deserialize, Serialize};

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ContextPressure {
    /// The generation of the log.
    version: u64,
    window: Option<u64>,
    sample: Option<Sample>,
    /// The estimate of what is on the surface, apart from what nobody could price.
    surface: i64,
    price: Option<ShadowPrice>,
}

/// The newest report of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Sample {
    /// How many tokens it read.
    prompt: u64,
    /// The surface at that time, without the answer.
    surface: i64,
}

impl ContextPressure {
    /// How many tokens an event of the surface adds to it; `None` if it does not fit.
    fn growth(&self, event: &Event<'_>) -> Option<i64> {
        let placing = Placing::of(event, self.price)?;
        let tokens = signed(event.estimated_tokens(self.version)?);
        Some(match placing {
            Placing::Appended => tokens,
            Placing::Replaced(removed) => tokens.saturating_sub(signed(removed)),
            // What a replacement without a price removes is unknown, so it counts as much as what it adds.
            Placing::ReplacedUnpriced(..) => 0,
        })
    }
}

fn signed(tokens: u64) -> i64 {
    i64::try_from(tokens).unwrap_or(i64::MAX)
}

impl Unit for ContextPressure {
    const KEY: &'static str = "contextPressure";
    const VERSION: u32 = 1;
    const EVENTS: &'static [&'static str] = &[
        "request/context",
        "compaction/summary",
        "compaction/prune",
        "system/message",
        "developer/message",
        "user/message",
        "assistant/chunk",
        "assistant/attempt",
        "assistant/message",
        "tool/result",
    ];

    fn init(header: &Header) -> ContextPressure {
        ContextPressure { version: header.version, window: None, sample: None, surface: 0, price: None }
    }

    fn apply(&mut self, event: &Event<'_>) -> Change {
        if event.is("request/context") {
            let window = event.data().get("contextWindow").and_then(View::count).filter(|window| *window > 0);
            let is_new = std::mem::replace(&mut self.window, window) != window;
            return if is_new { Change::Some } else { Change::None };
        }
        if states_price(event) {
            let Some(price) = ShadowPrice::of(event) else { return Change::None };
            self.price = Some(price);
            return Change::Some;
        }
        let mut growth = 0;
        if event.surface_op.is_some() {
            let Some(tokens) = self.growth(event) else { return Change::None };
            growth = tokens;
        }
        let sample = usage_of(event).and_then(prompt_tokens).map(|prompt| Sample { prompt, surface: self.surface });
        if growth == 0 && (sample.is_none() || sample == self.sample) {
            return Change::None;
        }
        self.sample = sample.or(self.sample);
        self.surface = self.surface.saturating_add(growth);
        Change::Some
    }

    fn view(&self) -> Value {
        let mut view = Object::default();
        if let Some(sample) = self.sample {
            let since = self.surface.saturating_sub(sample.surface);
            let projected = signed(sample.prompt).saturating_add(since).max(0);
            view.set("pressureTokens", Value::from(sample.prompt));
            view.set("projectedTokens", Value::from(projected));
        }
        if let Some(window) = self.window {
            view.set("contextWindow", Value::from(window));
        }
        Value::from(view)
    }
}
