//! `title`: the newest title (formats.md §7.1), or `null`.

use crate::model::event::Event;
use crate::model::header::Header;
use crate::model::json::Value;
use crate::projections::state_text::Text;
use crate::projections::unit::{Change, Unit};
use serde::{Deserialize, Serialize};

#[derive(Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Title(Option<Text>);

impl Unit for Title {
    const KEY: &'static str = "title";
    const VERSION: u32 = 1;
    const EVENTS: &'static [&'static str] = &["session/title"];

    fn init(_header: &Header) -> Title {
        Title(None)
    }

    fn apply(&mut self, event: &Event<'_>) -> Change {
        let title = event.data().get("title").and_then(Text::of);
        if title == self.0 {
            return Change::None;
        }
        self.0 = title;
        Change::Some
    }

    fn view(&self) -> Value {
        self.0.as_ref().map_or(Value::Null, Text::to_value)
    }
}
