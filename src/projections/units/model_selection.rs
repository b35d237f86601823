//! `modelSelection`: the model of the newest request (`lastUsed`) and the one of the next: what the
//! person chose since, else the same (dsh-api-session-controller of 0.2.1; the same in 0.1.5).

use crate::model::event::Event;
use crate::model::header::Header;
use crate::model::js_string::JsStr;
use crate::model::json::{Kind, Object, Value, View, number_literal};
use crate::projections::state_text::Text;
use crate::projections::unit::{Change, Unit};
use serde::{Deserialize, Serialize};

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ModelSelection {
    last_used: Option<Selection>,
    /// What was chosen and not yet used.
    pending: Option<Selection>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Selection {
    provider: Text,
    model: Text,
    reasoning_effort: Option<Text>,
}

impl Selection {
    /// The model that an object names; `None` if it names none. A choice says the effort as text; of a
    /// request's header any plain value is taken as its text.
    fn of(object: View<'_>, effort: impl FnOnce(View<'_>) -> Option<Text>) -> Option<Selection> {
        let [provider, model, reasoning_effort] = object.pick(["provider", "model", "reasoningEffort"]);
        let reasoning_effort = match reasoning_effort {
            Some(value) => Some(effort(value)?),
            None => None,
        };
        Some(Selection { provider: named(provider?)?, model: named(model?)?, reasoning_effort })
    }

    fn to_value(&self) -> Value {
        let mut object = Object::of([("provider", self.provider.to_value()), ("model", self.model.to_value())]);
        if let Some(effort) = &self.reasoning_effort {
            object.set("reasoningEffort", effort.to_value());
        }
        Value::from(object)
    }
}

fn named(value: View<'_>) -> Option<Text> {
    Text::of(value).filter(|text| !text.0.is_empty())
}

/// A plain value as JavaScript's `String` writes it.
fn plain_text(value: View<'_>) -> Option<Text> {
    let text = |text: &str| Some(Text(JsStr::from(text).into_owned()));
    match value.kind() {
        Kind::String => named(value),
        Kind::Number => text(&number_literal(value.number()?)),
        Kind::Null | Kind::Bool => text(value.text()),
        Kind::Array | Kind::Object => None,
    }
}

impl Unit for ModelSelection {
    const KEY: &'static str = "modelSelection";
    const VERSION: u32 = 1;
    const EVENTS: &'static [&'static str] = &["model/selection", "request/header"];

    fn init(_header: &Header) -> ModelSelection {
        ModelSelection { last_used: None, pending: None }
    }

    fn apply(&mut self, event: &Event<'_>) -> Change {
        if event.is("model/selection") {
            let Some(chosen) = Selection::of(event.data(), named) else { return Change::None };
            self.pending = Some(chosen);
            return Change::Some;
        }
        let config = event.data().get("header").and_then(|header| header.get("config"));
        let Some(used) = config.and_then(|config| Selection::of(config, plain_text)) else { return Change::None };
        if self.last_used.as_ref() == Some(&used) && self.pending.as_ref() != Some(&used) {
            return Change::None;
        }
        self.pending.take_if(|pending| *pending == used);
        self.last_used = Some(used);
        Change::Some
    }

    fn view(&self) -> Value {
        let value = |selection: Option<&Selection>| selection.map_or(Value::Null, Selection::to_value);
        let next = self.pending.as_ref().or(self.last_used.as_ref());
        Value::from(Object::of([("lastUsed", value(self.last_used.as_ref())), ("next", value(next))]))
    }
}
