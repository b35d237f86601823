//! `permissions`: the preset of the session's sandbox mode and approval policy (dsh-permission-presets of
//! 0.1.0, 0.1.5 and 0.2.1).
//!
//! dsh derives it from what the log says and from how it is set up: which presets there are, and what
//! holds where the log says nothing. Only the log is known here. So the presets are those that dsh comes
//! with, and as long as the log does not say both the mode and the policy, `currentValue` is `null`. A
//! dsh says both when it creates a session.

use crate::model::event::Event;
use crate::model::header::Header;
use crate::model::json::{Object, Value};
use crate::projections::state_text::Text;
use crate::projections::unit::{Change, Unit};
use serde::{Deserialize, Serialize};

/// The presets dsh comes with, all of them named like their sandbox mode, and the approval policy of each.
/// No two bundle the same, so which of them was chosen decides nothing.
const PRESETS: [(&str, &str); 3] = [("read-only", "ask"), ("workspace-write", "ask"), ("danger-full-access", "never")];
/// What dsh says of a bundle that is no preset.
const CUSTOM: &str = "custom";

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Permissions {
    sandbox: Option<Text>,
    approval: Option<Text>,
}

impl Permissions {
    fn preset(&self) -> Option<&'static str> {
        let (sandbox, approval) = (&self.sandbox.as_ref()?.0, &self.approval.as_ref()?.0);
        let matching = PRESETS.into_iter().find(|(preset, policy)| *sandbox == *preset && *approval == *policy);
        Some(matching.map_or(CUSTOM, |(preset, _)| preset))
    }
}

impl Unit for Permissions {
    const KEY: &'static str = "permissions";
    const VERSION: u32 = 1;
    const EVENTS: &'static [&'static str] = &["sandbox/mode", "approval/policy"];

    fn init(_header: &Header) -> Permissions {
        Permissions { sandbox: None, approval: None }
    }

    fn apply(&mut self, event: &Event<'_>) -> Change {
        let (knob, name) = match event.is("sandbox/mode") {
            true => (&mut self.sandbox, "mode"),
            false => (&mut self.approval, "policy"),
        };
        let said = event.data().get(name).and_then(Text::of);
        if said.is_none() || said == *knob {
            return Change::None;
        }
        *knob = said;
        Change::Some
    }

    fn view(&self) -> Value {
        Value::from(Object::of([("currentValue", self.preset().map_or(Value::Null, Value::from))]))
    }
}
