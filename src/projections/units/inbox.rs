//! `inbox`: the messages that wait for the next turn and for the next step (formats.md §7.5).

use crate::model::event::Event;
use crate::model::header::Header;
use crate::model::json::{Kind, Object, Value, View, write_view};
use crate::projections::state_text::Json;
use crate::projections::unit::{Change, Unit};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Inbox {
    next_turn: Vec<Json>,
    next_step: Vec<Json>,
    /// The ids of all messages that wait, each as [`id_of`] writes it. No two are equal.
    ids: BTreeSet<String>,
}

impl Unit for Inbox {
    const KEY: &'static str = "inbox";
    const VERSION: u32 = 1;
    const EVENTS: &'static [&'static str] = &["agent/inbox/spliced"];

    fn init(_header: &Header) -> Inbox {
        Inbox { next_turn: Vec::new(), next_step: Vec::new(), ids: BTreeSet::new() }
    }

    fn apply(&mut self, event: &Event<'_>) -> Change {
        self.splice(event.data()).map_or(Change::None, |()| Change::Some)
    }

    fn view(&self) -> Value {
        let messages = |queue: &[Json]| Value::Array(queue.iter().map(Json::to_value).collect());
        Value::from(Object::of([("next-turn", messages(&self.next_turn)), ("next-step", messages(&self.next_step))]))
    }
}

impl Inbox {
    /// Carries a splice out. `None`, and nothing changed, if it reaches beyond its queue or would make two
    /// messages of one id wait.
    fn splice(&mut self, data: View<'_>) -> Option<()> {
        let [target, start, removed, inserted] = data.pick(["target", "start", "removedCount", "inserted"]);
        let queue = match target?.string()?.to_str()? {
            "next-turn" => &mut self.next_turn,
            "next-step" => &mut self.next_step,
            _ => return None,
        };
        let index = |number: View<'_>| usize::try_from(number.safe_integer()?).ok();
        let start = index(start?)?;
        let removed = removed.filter(|count| count.kind() != Kind::Null).map_or(Some(0), index)?;
        let range = start..start.checked_add(removed).filter(|end| *end <= queue.len())?;

        let leaving: BTreeSet<String> =
            queue[range.clone()].iter().filter_map(|message| id_of(message.view())).collect();
        let inserted = inserted?.array()?;
        let mut coming = BTreeSet::new();
        for message in inserted.clone() {
            if message.kind() == Kind::Null {
                return None;
            }
            let Some(id) = id_of(message) else { continue };
            let is_pending = self.ids.contains(&id) && !leaving.contains(&id);
            if is_pending || !coming.insert(id) {
                return None;
            }
        }
        queue.splice(range, inserted.map(Json::of));
        for id in &leaving {
            self.ids.remove(id);
        }
        self.ids.append(&mut coming);
        Some(())
    }
}

/// What tells a message from the others: its id as JSON, nothing if it has none. `None` for an id that is
/// equal to no other, as JavaScript's objects are.
fn id_of(message: View<'_>) -> Option<String> {
    let mut text = String::new();
    match message.get("id") {
        Some(id) if matches!(id.kind(), Kind::Array | Kind::Object) => return None,
        Some(id) => write_view(id, &mut text),
        None => {}
    }
    Some(text)
}
