//! `contextBreakdown`: what the model's context is made of, by the estimate (formats.md §7.4): the system
//! prompt, the tools of the newest request header, and everything else on the surface.
//!
//! The system prompt is the last system message on the surface that weighs anything. Logs up to v2 have
//! none; there it stands in the newest request header. A replacement takes away what the compaction
//! before it states (see `shadow_price`), and one system message in the place of another takes away the
//! other.
//!
//! What changed between dsh's versions: 0.1.5 remembers the weight of every node, so that it knows what a
//! replacement takes away even where no compaction states it; 0.1.0 and 0.2.1 do not, and count such a
//! replacement as no change. That is the rule here. And 0.1.0 and 0.1.5 weigh the block around a tool's
//! result, as is done here in logs of their generations (see `token_estimate`).

use crate::model::event::Event;
use crate::model::header::Header;
use crate::model::json::{Object, Value, View};
use crate::model::token_estimate::{estimate_system_prompt, estimate_tools};
use crate::projections::shadow_price::{Placing, ShadowPrice, states_price};
use crate::projections::unit::{Change, Unit};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ContextBreakdown {
    /// The generation of the log.
    version: u64,
    /// The system messages on the surface, in its order.
    systems: Vec<SystemMessage>,
    /// What the system prompt in the newest request header weighs.
    header_system: u64,
    tools: u64,
    /// Everything on the surface, apart from what nobody could price.
    surface: u64,
    price: Option<ShadowPrice>,
    /// The system messages that the newest price is for.
    priced_systems: Vec<u64>,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SystemMessage {
    seq: u64,
    tokens: u64,
}

impl ContextBreakdown {
    fn take_price(&mut self, event: &Event<'_>) -> Option<()> {
        let price = ShadowPrice::of(event)?;
        let shadowed = event.data().get("shadowedSeqs")?.array()?;
        self.price = Some(price);
        self.priced_systems.clear();
        if !self.systems.is_empty() {
            let shadowed: HashSet<u64> = shadowed.filter_map(View::count).collect();
            let seqs = self.systems.iter().map(|system| system.seq);
            self.priced_systems.extend(seqs.filter(|seq| shadowed.contains(seq)));
        }
        Some(())
    }

    fn take_header(&mut self, event: &Event<'_>) -> Option<()> {
        let header = event.data().get("header")?;
        let system = header.get("system").and_then(View::string).filter(|system| !system.is_empty());
        self.header_system = system.map_or(0, |system| estimate_system_prompt(system.len_utf16() as u64));
        self.tools = estimate_tools(header);
        Some(())
    }

    /// Puts an event on the surface; `None` if it does not fit.
    fn place(&mut self, event: &Event<'_>) -> Option<()> {
        let placing = Placing::of(event, self.price)?;
        let node = SystemMessage { seq: event.seq, tokens: event.estimated_tokens(self.version)? };
        let is_system = event.is("system/message");
        let removed = match placing {
            Placing::Appended => {
                self.systems.extend(is_system.then_some(node));
                0
            }
            // Where among the others its place is would be unknown. dsh refuses it.
            Placing::Replaced(_) if is_system => return None,
            Placing::Replaced(tokens) => {
                let priced: HashSet<u64> = self.priced_systems.drain(..).collect();
                self.systems.retain(|system| !priced.contains(&system.seq));
                tokens
            }
            Placing::ReplacedUnpriced(start, end) => {
                let at = self.systems.iter().position(|system| start == end && system.seq == start)?;
                let replaced = self.systems[at];
                if is_system {
                    self.systems[at] = node;
                } else {
                    self.systems.remove(at);
                }
                replaced.tokens
            }
        };
        self.surface = self.surface.saturating_add(node.tokens).saturating_sub(removed);
        Some(())
    }

    /// The tokens of the system prompt, and those of the other messages.
    fn parts(&self) -> (u64, u64) {
        match self.systems.iter().rev().find(|system| system.tokens > 0) {
            Some(system) => (system.tokens, self.surface.saturating_sub(system.tokens)),
            None => (self.header_system, self.surface),
        }
    }
}

impl Unit for ContextBreakdown {
    const KEY: &'static str = "contextBreakdown";
    const VERSION: u32 = 1;
    const EVENTS: &'static [&'static str] = &[
        "request/header",
        "compaction/summary",
        "compaction/prune",
        "system/message",
        "developer/message",
        "user/message",
        "assistant/message",
        "tool/result",
    ];

    fn init(header: &Header) -> ContextBreakdown {
        ContextBreakdown {
            version: header.version,
            systems: Vec::new(),
            header_system: 0,
            tools: 0,
            surface: 0,
            price: None,
            priced_systems: Vec::new(),
        }
    }

    fn apply(&mut self, event: &Event<'_>) -> Change {
        let taken = if states_price(event) {
            self.take_price(event)
        } else if event.is("request/header") {
            self.take_header(event)
        } else {
            self.place(event)
        };
        if taken.is_some() { Change::Some } else { Change::None }
    }

    fn view(&self) -> Value {
        let (system, messages) = self.parts();
        Value::from(Object::of([
            ("systemTokens", Value::from(system)),
            ("toolsTokens", Value::from(self.tools)),
            ("messageTokens", Value::from(messages)),
        ]))
    }
}
