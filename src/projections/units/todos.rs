//! `todos`: the list the agent works by (formats.md §7.2), or `null`. The next turn takes it away; the end
//! of a turn leaves it.

use crate::model::event::Event;
use crate::model::header::Header;
use crate::model::json::{Kind, Object, Value, View};
use crate::projections::state_text::Text;
use crate::projections::unit::{Change, Unit};
use serde::{Deserialize, Serialize};

#[derive(Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Todos(Option<Vec<Item>>);

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Item {
    content: Text,
    status: Text,
}

impl Unit for Todos {
    const KEY: &'static str = "todos";
    const VERSION: u32 = 1;
    const EVENTS: &'static [&'static str] = &["todo/write", "turn/start"];

    fn init(_header: &Header) -> Todos {
        Todos(None)
    }

    fn apply(&mut self, event: &Event<'_>) -> Change {
        if event.is("turn/start") || event.data().get("todos").is_some_and(|todos| todos.kind() == Kind::Null) {
            return if self.0.take().is_some() { Change::Some } else { Change::None };
        }
        // dsh shows no list with an item it does not know.
        let Some(items) = event.data().get("todos").and_then(items) else { return Change::None };
        self.0 = Some(items);
        Change::Some
    }

    fn view(&self) -> Value {
        let Some(items) = &self.0 else { return Value::Null };
        let item = |item: &Item| {
            Value::from(Object::of([("content", item.content.to_value()), ("status", item.status.to_value())]))
        };
        Value::Array(items.iter().map(item).collect())
    }
}

fn items(list: View<'_>) -> Option<Vec<Item>> {
    let item = |item: View<'_>| {
        let [content, status] = item.pick(["content", "status"]);
        let status = Text::of(status?)
            .filter(|status| matches!(status.0.to_str(), Some("pending" | "in_progress" | "completed")))?;
        Some(Item { content: Text::of(content?)?, status })
    };
    list.array()?.map(item).collect()
}
