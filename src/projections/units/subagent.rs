//! `subagent`: what the session is to the agent that started it (formats.md §7.4), or `null`. The last
//! descriptor counts, also one that says nothing usable: a fork does not become the child that its parent is.

use crate::model::event::Event;
use crate::model::header::Header;
use crate::model::json::{Object, Value, View};
use crate::projections::inheritance::seed_length;
use crate::projections::state_text::Text;
use crate::projections::unit::{Change, Unit};
use serde::{Deserialize, Serialize};

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Subagent {
    /// The version of the descriptors to be believed. dsh 0.1.0 wrote and read version 2, every later dsh
    /// 3, and both wrote v0 logs: in these the first descriptor that is the session's own tells.
    version: Option<u8>,
    /// How many leading events are another session's, as far as the header says.
    inherited: u64,
    identity: Option<Identity>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Identity {
    is_continuable: bool,
    label: Option<Text>,
    /// The seq of the descriptor.
    seq: u64,
}

impl Unit for Subagent {
    const KEY: &'static str = "subagent";
    const VERSION: u32 = 1;
    const EVENTS: &'static [&'static str] = &["subagent/descriptor"];

    fn init(header: &Header) -> Subagent {
        let version = (header.version > 0).then_some(3);
        Subagent { version, inherited: seed_length(header), identity: None }
    }

    fn apply(&mut self, event: &Event<'_>) -> Change {
        let version = match event.data().get("version").and_then(View::safe_integer) {
            Some(2) => Some(2),
            Some(3) => Some(3),
            _ => None,
        };
        if event.seq >= self.inherited {
            self.version = self.version.or(version);
        }
        let version = version.filter(|version| self.version.is_none_or(|believed| *version == believed));
        self.identity = version.and_then(|version| identity(event.data(), version, event.seq));
        Change::Some
    }

    fn view(&self) -> Value {
        let Some(Identity { is_continuable, label, seq }) = &self.identity else { return Value::Null };
        let mode = if *is_continuable { "continuable" } else { "one-shot" };
        let mut view = Object::of([("mode", Value::from(mode))]);
        if let Some(label) = label {
            view.set("label", label.to_value());
        }
        view.set("seq", Value::from(*seq));
        Value::from(view)
    }
}

/// What a descriptor of version 2 or 3 says. `None` if any of its members is not as its version has it.
fn identity(descriptor: View<'_>, version: u8, seq: u64) -> Option<Identity> {
    let [mode, provider, label] = descriptor.pick(["mode", "provider", "label"]);
    let is_continuable = match mode?.string()?.to_str()? {
        "continuable" => true,
        "one-shot" => false,
        _ => return None,
    };
    provider?.string()?;
    let is_known = descriptor.members().all(|(name, value)| match name.to_str() {
        Some("version" | "mode" | "provider") => true,
        Some("label") => value.string().is_some(),
        Some("agentProvider" | "agentModel" | "persona") => is_continuable && value.string().is_some(),
        Some("agentReasoningEffort") => is_continuable && version >= 3 && value.string().is_some(),
        Some("toolFilter") => is_continuable && is_tool_filter(value),
        _ => false,
    });
    if !is_known || (is_continuable && label.is_none()) {
        return None;
    }
    Some(Identity { is_continuable, label: label.and_then(Text::of), seq })
}

/// Whether a value names tools that are allowed, tools that are denied, or both.
fn is_tool_filter(filter: View<'_>) -> bool {
    let is_list = |names: View<'_>| names.array().is_some_and(|mut names| names.all(|name| name.string().is_some()));
    let mut members = filter.members().peekable();
    members.peek().is_some() && members.all(|(name, names)| (name == "allow" || name == "deny") && is_list(names))
}
