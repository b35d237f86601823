//! `subagentCatalog`: the sub-agents the session itself started, in that order (formats.md §3.2,
//! `subagent/catalog`).

use crate::model::event::Event;
use crate::model::header::Header;
use crate::model::json::{Object, Value, View};
use crate::projections::inheritance::{is_marker, seed_length};
use crate::projections::state_text::{Json, Text};
use crate::projections::unit::{Change, Unit};
use serde::{Deserialize, Serialize};

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SubagentCatalog {
    /// How many leading events are another session's, as far as the header says.
    inherited: u64,
    /// What the outside sees of each.
    children: Vec<Json>,
}

impl Unit for SubagentCatalog {
    const KEY: &'static str = "subagentCatalog";
    const VERSION: u32 = 1;
    const EVENTS: &'static [&'static str] = &["subagent/catalog", "session/end-seed"];

    fn init(header: &Header) -> SubagentCatalog {
        SubagentCatalog { inherited: seed_length(header), children: Vec::new() }
    }

    fn apply(&mut self, event: &Event<'_>) -> Change {
        if event.is("session/end-seed") {
            if !is_marker(event) || self.children.is_empty() {
                return Change::None;
            }
            self.children.clear();
            return Change::Some;
        }
        if event.seq < self.inherited {
            return Change::None;
        }
        let Some(child) = child(event.data()) else { return Change::None };
        self.children.push(Json::from_value(&Value::from(child)));
        Change::Some
    }

    fn view(&self) -> Value {
        Value::Array(self.children.iter().map(Json::to_value).collect())
    }
}

/// The child that an entry names. `None` if it is not an entry as one of the three versions has it.
fn child(entry: View<'_>) -> Option<Object> {
    const MEMBERS: [&str; 5] = ["version", "mode", "label", "childId", "childCreatedAt"];
    if entry.members().any(|(name, _)| MEMBERS.iter().all(|known| name != *known)) {
        return None;
    }
    let [version, mode, label, id, created_at] = entry.pick(MEMBERS);
    let label = label.map(|label| Text::of(label).ok_or(())).transpose().ok()?;
    let mode = mode?.string()?;
    let is_known = match (mode.to_str()?, version?.safe_integer()?) {
        ("one-shot", 0 | 1) | ("unknown", 1) | ("external", 2) => true,
        ("continuable", 0 | 1) => label.is_some(),
        _ => false,
    };
    let created_at = u64::try_from(created_at?.safe_integer()?).ok()?;
    let mut child = Object::of([
        ("mode", Value::from(mode)),
        ("id", Text::of(id?)?.to_value()),
        ("createdAt", Value::from(created_at)),
    ]);
    if let Some(label) = label {
        child.set("label", label.to_value());
    }
    is_known.then_some(child)
}
