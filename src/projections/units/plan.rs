//! `plan`: whether plan mode is on, and whether a `/plan` command has yet to take effect.

use crate::model::event::Event;
use crate::model::header::Header;
use crate::model::json::{Object, Value, View};
use crate::projections::state_text::Text;
use crate::projections::unit::{Change, Unit};
use serde::{Deserialize, Serialize};

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Plan {
    active: bool,
    /// What the last command that succeeded asked for, until the mode is set.
    wanted: Option<bool>,
    /// The command that has not ended.
    running: Option<Running>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Running {
    command_id: Text,
    wanted: bool,
}

impl Unit for Plan {
    const KEY: &'static str = "plan";
    const VERSION: u32 = 1;
    const EVENTS: &'static [&'static str] = &["command/run", "command/done", "plan/mode"];

    fn init(_header: &Header) -> Plan {
        Plan { active: false, wanted: None, running: None }
    }

    fn apply(&mut self, event: &Event<'_>) -> Change {
        let data = event.data();
        let changed = match event.kind.to_str() {
            Some("command/run") => self.run(data),
            Some("command/done") => self.end(data),
            _ => data.get("active").and_then(View::bool).map(|active| {
                self.active = active;
                self.wanted = None;
            }),
        };
        changed.map_or(Change::None, |()| Change::Some)
    }

    fn view(&self) -> Value {
        let wanted = self.running.as_ref().map(|running| running.wanted).or(self.wanted);
        let pending = wanted.is_some_and(|wanted| wanted != self.active);
        Value::from(Object::of([("active", Value::from(self.active)), ("pending", Value::from(pending))]))
    }
}

impl Plan {
    fn run(&mut self, data: View<'_>) -> Option<()> {
        let [name, args, command_id] = data.pick(["name", "args", "commandId"]);
        if !name?.is_string("plan") {
            return None;
        }
        let wanted = args?.string()?.trim_js() != "off";
        self.running = Some(Running { command_id: Text::of(command_id?)?, wanted });
        Some(())
    }

    fn end(&mut self, data: View<'_>) -> Option<()> {
        let [command_id, kind] = data.pick(["commandId", "kind"]);
        let has_succeeded = kind.is_some_and(|kind| kind.is_string("success"));
        let wanted = match (command_id, &self.running) {
            (Some(id), Some(running)) if id.string()? == running.command_id.0 => running.wanted,
            // dsh takes the end of a nameless command, while none runs, for that of the one that does.
            (None, None) if !has_succeeded => self.active,
            _ => return None,
        };
        self.running = None;
        self.wanted = (has_succeeded && wanted != self.active).then_some(wanted);
        Some(())
    }
}
