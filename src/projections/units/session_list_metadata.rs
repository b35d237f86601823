//! `sessionListMetadata`: what dsh's session list sorts by (formats.md §7.4).

use crate::model::event::Event;
use crate::model::header::Header;
use crate::model::json::{Object, Value};
use crate::model::message::is_from_user;
use crate::projections::unit::{Change, Unit};
use serde::{Deserialize, Serialize};

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SessionListMetadata {
    /// Whether no turn has started yet.
    blank: bool,
    /// When the person last wrote, in milliseconds since the epoch.
    last_prompt_at: Option<i64>,
}

impl Unit for SessionListMetadata {
    const KEY: &'static str = "sessionListMetadata";
    const VERSION: u32 = 1;
    const EVENTS: &'static [&'static str] = &["turn/start", "user/message"];

    fn init(_header: &Header) -> SessionListMetadata {
        SessionListMetadata { blank: true, last_prompt_at: None }
    }

    fn apply(&mut self, event: &Event<'_>) -> Change {
        if event.is("turn/start") {
            return if std::mem::replace(&mut self.blank, false) { Change::Some } else { Change::None };
        }
        if !is_from_user(event.data()) {
            return Change::None;
        }
        self.last_prompt_at = Some(event.time);
        Change::Some
    }

    fn view(&self) -> Value {
        let last_prompt_at = self.last_prompt_at.map_or(Value::Null, Value::from);
        Value::from(Object::of([("blank", Value::from(self.blank)), ("lastPromptAt", last_prompt_at)]))
    }
}
