//! What stands over a conversation that is shown: title, model, turns, tokens, and how full the model's
//! window is.

use super::fold::Folded;
use super::overview::Overview;
use super::registry::Registry;
use super::unit::Definition;
use super::units;
use crate::model::js_string::JsString;

/// The heading of a conversation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Heading {
    /// The title.
    pub title: Option<JsString>,
    /// The provider and the model that answered last.
    pub model: Option<(JsString, JsString)>,
    /// How many turns have started.
    pub turns: u64,
    /// How many tokens the requests read, from a cache or not, and how many the model wrote; `None` if
    /// nothing was reported.
    pub tokens: Option<(u64, u64)>,
    /// How many tokens the next request is expected to read, and how many the model takes.
    pub pressure: Option<(u64, u64)>,
}

/// The units a heading is made of.
pub fn registry() -> Registry {
    let mut registry = units::all().only(&["modelSelection", "tokenUsage", "contextPressure"]).expect("they are there");
    registry.register(Definition::of::<Overview>()).expect("it is no unit of dsh's");
    registry
}

impl Heading {
    /// The heading as of some event.
    pub fn of(folded: &Folded<'_>) -> Heading {
        let snapshot = folded.snapshot();
        let number = |key, name| snapshot.view(key)?.get(name)?.count();
        let used = |name| number("tokenUsage", name).unwrap_or(0);
        let read = used("uncachedInputTokens") + used("cacheReadTokens") + used("cacheWriteTokens");
        let written = used("outputTokens");
        let last_used = |name| snapshot.view("modelSelection")?.get("lastUsed")?.get(name)?.string().cloned();
        let overview = folded.state::<Overview>();
        let title = overview.and_then(|overview| overview.title.as_ref());
        Heading {
            title: title.map(|title| title.text.0.clone()),
            model: last_used("provider").zip(last_used("model")),
            turns: overview.map_or(0, |overview| overview.turns),
            tokens: (read + written > 0).then_some((read, written)),
            pressure: number("contextPressure", "projectedTokens").zip(number("contextPressure", "contextWindow")),
        }
    }
}
