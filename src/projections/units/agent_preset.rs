//! `agentPreset`: the preset the session's agent runs by, or `null`.

use crate::model::event::Event;
use crate::model::header::Header;
use crate::model::js_string::{JsStr, JsString};
use crate::model::json::{Kind, Value};
use crate::projections::state_text::Text;
use crate::projections::unit::{Change, Unit};
use serde::{Deserialize, Serialize};

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AgentPreset {
    /// Whether the log is of a generation that has `code` for what is now `ptc` (formats.md §2.1).
    has_old_names: bool,
    preset: Option<Text>,
}

impl Unit for AgentPreset {
    const KEY: &'static str = "agentPreset";
    const VERSION: u32 = 1;
    const EVENTS: &'static [&'static str] = &["agent-preset/selected"];

    fn init(header: &Header) -> AgentPreset {
        let mut unit = AgentPreset { has_old_names: header.version < 3, preset: None };
        unit.preset = header.agent_preset.clone().map(|preset| unit.named(preset));
        unit
    }

    fn apply(&mut self, event: &Event<'_>) -> Change {
        let preset = match event.data().get("agentPreset") {
            Some(preset) if preset.kind() == Kind::Null => None,
            Some(preset) if preset.kind() == Kind::String => Text::of(preset).map(|preset| self.named(preset.0)),
            _ => return Change::None,
        };
        self.preset = preset;
        Change::Some
    }

    fn view(&self) -> Value {
        self.preset.as_ref().map_or(Value::Null, Text::to_value)
    }
}

impl AgentPreset {
    /// A preset by its present name.
    fn named(&self, preset: JsString) -> Text {
        Text(if self.has_old_names && preset == "code" { JsStr::from("ptc") } else { preset })
    }
}
