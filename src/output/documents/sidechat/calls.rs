//! Models, calls, and tokens.

use crate::model::call_usage::CallUsage;
use crate::output::json::Js;
use crate::output::terminal_text::visible_js;
use crate::projections::token_usage::Route;
use crate::projections::turn_usage::ExactTokens;
use crate::sidechat::chat::ModelCall;
use schemars::JsonSchema;
use serde::Serialize;

/// A model and who provides it.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RouteDocument {
    /// The provider.
    provider: Js,
    /// The model.
    model: Js,
}

impl From<&Route> for RouteDocument {
    fn from(route: &Route) -> RouteDocument {
        RouteDocument { provider: Js::from(&route.provider), model: Js::from(&route.model) }
    }
}

impl RouteDocument {
    pub(super) fn words(&self) -> String {
        format!("{}/{}", visible_js(&self.provider.0), visible_js(&self.model.0))
    }
}

/// A call of a model outside any session.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CallDocument {
    /// What answered; `null` if that is not known.
    route: Option<RouteDocument>,
    /// What it used; `null` if that is not known.
    usage: Option<CallUsageDocument>,
    /// When it was made.
    at: i64,
}

/// The tokens of one call. They have nothing in common but reasoning, which is a part of the output.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CallUsageDocument {
    /// What the model read and no cache held.
    input_tokens: u64,
    /// What it wrote.
    output_tokens: u64,
    /// All of them, as the provider counts.
    total_tokens: Option<u64>,
    /// What it read from a cache.
    cache_read_tokens: Option<u64>,
    /// The part of the output that is reasoning.
    reasoning_tokens: Option<u64>,
}

impl From<&CallUsage> for CallUsageDocument {
    fn from(usage: &CallUsage) -> CallUsageDocument {
        CallUsageDocument {
            input_tokens: usage.input,
            output_tokens: usage.output,
            total_tokens: usage.total,
            cache_read_tokens: usage.cache_read,
            reasoning_tokens: usage.reasoning,
        }
    }
}

impl From<&ModelCall> for CallDocument {
    fn from(call: &ModelCall) -> CallDocument {
        CallDocument {
            route: call.route.as_ref().map(RouteDocument::from),
            usage: call.usage.as_ref().map(CallUsageDocument::from),
            at: call.at,
        }
    }
}

impl CallDocument {
    pub(super) fn words(&self) -> String {
        let route = self.route.as_ref().map_or_else(|| "a model".to_owned(), RouteDocument::words);
        match &self.usage {
            Some(usage) => format!("{route}: {} in, {} out", usage.input_tokens, usage.output_tokens),
            None => format!("{route}: not available"),
        }
    }
}

/// Tokens of turns that are exactly known.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ExactTokensDocument {
    /// What the model read and no cache held.
    uncached_input_tokens: u64,
    /// What it wrote.
    output_tokens: u64,
    /// All of them.
    total_tokens: u64,
    /// What it read from a cache.
    cache_read_tokens: Option<u64>,
    /// What was put into a cache.
    cache_write_tokens: Option<u64>,
    /// The part of the output that is reasoning.
    reasoning_tokens: Option<u64>,
    /// The models that were asked.
    routes: Vec<RouteDocument>,
}

impl From<&ExactTokens> for ExactTokensDocument {
    fn from(tokens: &ExactTokens) -> ExactTokensDocument {
        ExactTokensDocument {
            uncached_input_tokens: tokens.uncached_input,
            output_tokens: tokens.output,
            total_tokens: tokens.total,
            cache_read_tokens: tokens.cache_read,
            cache_write_tokens: tokens.cache_write,
            reasoning_tokens: tokens.reasoning,
            routes: tokens.routes.iter().map(RouteDocument::from).collect(),
        }
    }
}

impl ExactTokensDocument {
    pub(super) fn words(&self) -> String {
        let cached = self.cache_read_tokens.map(|cached| format!(", {cached} from a cache")).unwrap_or_default();
        let (input, output, total) = (self.uncached_input_tokens, self.output_tokens, self.total_tokens);
        format!("{input} in{cached}, {output} out, {total} in all")
    }
}
