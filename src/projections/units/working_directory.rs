//! `workingDirectory`: where the session works now: what the newest `working-directory/change` says, else
//! where it was created, or `null` (formats.md §3.2, dsh-working-directory of 0.2.1).

use crate::model::event::Event;
use crate::model::header::Header;
use crate::model::json::Value;
use crate::projections::state_text::Text;
use crate::projections::unit::{Change, Unit};
use serde::{Deserialize, Serialize};

#[derive(Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct WorkingDirectory(Option<Text>);

impl Unit for WorkingDirectory {
    const KEY: &'static str = "workingDirectory";
    const VERSION: u32 = 1;
    const EVENTS: &'static [&'static str] = &["working-directory/change"];

    fn init(header: &Header) -> WorkingDirectory {
        WorkingDirectory(header.cwd.clone().map(Text))
    }

    fn apply(&mut self, event: &Event<'_>) -> Change {
        let changed = event.data().get("cwd").and_then(Text::of);
        if changed.is_none() || changed == self.0 {
            return Change::None;
        }
        self.0 = changed;
        Change::Some
    }

    fn view(&self) -> Value {
        self.0.as_ref().map_or(Value::Null, Text::to_value)
    }
}
