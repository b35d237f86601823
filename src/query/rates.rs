//! What tokens cost, by the user's own rates. dshkit knows no prices.
//!
//! A rate file is JSON: `{"currency": "USD", "perTokens": 1000000, "models": {"PROVIDER/MODEL": {"input": …,
//! "output": …, "cacheRead": …, "cacheWrite": …}}}`. A model may also be named without its provider. Rates
//! are for so many tokens as `perTokens` says, a million if it is left out.

use crate::projections::token_usage::{Route, Sum, Tokens};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The rates of a file.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Rates {
    /// What the amounts are in.
    pub currency: String,
    /// How many tokens a rate is for.
    #[serde(default = "a_million")]
    pub per_tokens: u64,
    models: BTreeMap<String, Rate>,
}

/// The rate of a model, for each bucket. Reasoning is part of the output.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Rate {
    /// For what the model read and no cache held.
    pub input: f64,
    /// For what it wrote.
    pub output: f64,
    /// For what it read from a cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<f64>,
    /// For what it put into a cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<f64>,
}

/// What a row of usage costs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    /// The amount of what could be priced; `None` if nothing could.
    pub amount: Option<f64>,
    /// Whether everything could.
    pub is_complete: bool,
}

fn a_million() -> u64 {
    1_000_000
}

impl Rates {
    /// Reads a rate file.
    ///
    /// # Errors
    /// What is wrong with it, with line and column where it is no such JSON.
    pub fn parse(text: &str) -> Result<Rates, String> {
        let rates: Rates = serde_json::from_str(text).map_err(|error| error.to_string())?;
        if rates.per_tokens == 0 {
            return Err("perTokens is 0".to_owned());
        }
        for (model, rate) in &rates.models {
            let amounts = [Some(rate.input), Some(rate.output), rate.cache_read, rate.cache_write];
            if amounts.into_iter().flatten().any(|amount| !amount.is_finite() || amount < 0.0) {
                return Err(format!("a rate of {model:?} is negative"));
            }
        }
        Ok(rates)
    }

    /// The rate of a model: that of `PROVIDER/MODEL`, else that of the model by its own name.
    pub fn of(&self, route: &Route) -> Option<(&str, &Rate)> {
        let (provider, model) = (route.provider.to_str()?, route.model.to_str()?);
        let named = |name: &str| self.models.get_key_value(name).map(|(name, rate)| (name.as_str(), rate));
        named(&format!("{provider}/{model}")).or_else(|| named(model))
    }

    /// What tokens of models cost together.
    pub fn cost<'t>(&self, models: impl IntoIterator<Item = (&'t Option<Route>, &'t Tokens)>) -> Cost {
        let mut cost = Cost { amount: None, is_complete: true };
        for (route, tokens) in models {
            let rate = route.as_ref().and_then(|route| self.of(route));
            match rate.and_then(|(_, rate)| self.price(rate, tokens)) {
                Some(amount) => *cost.amount.get_or_insert(0.0) += amount,
                None => cost.is_complete = false,
            }
        }
        cost
    }

    /// What the tokens of one model cost; `None` if a number or a rate is missing.
    fn price(&self, rate: &Rate, tokens: &Tokens) -> Option<f64> {
        let bucket = |sum: Sum, rate: Option<f64>| match sum {
            // A provider that has no cache reports nothing of one.
            Sum::Unknown | Sum::Known(0) => Some(0.0),
            Sum::Known(sum) => Some(sum as f64 * rate?),
            Sum::TooLarge => None,
        };
        tokens.input.known()?;
        tokens.output.known()?;
        let amounts = [
            bucket(tokens.input, Some(rate.input))?,
            bucket(tokens.output, Some(rate.output))?,
            bucket(tokens.cache_read, rate.cache_read)?,
            bucket(tokens.cache_write, rate.cache_write)?,
        ];
        Some(amounts.into_iter().sum::<f64>() / self.per_tokens as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::js_string::JsStr;

    const FILE: &str =
        r#"{"currency":"EUR","models":{"a/m":{"input":2,"output":8,"cacheRead":0.5},"n":{"input":1,"output":1}}}"#;

    fn route(provider: &str, model: &str) -> Option<Route> {
        let text = |text| JsStr::from(text).into_owned();
        Some(Route { provider: text(provider), model: text(model) })
    }

    fn tokens(input: u64, output: u64, cache_read: Sum) -> Tokens {
        Tokens { input: Sum::Known(input), output: Sum::Known(output), cache_read, ..Tokens::default() }
    }

    #[test]
    fn each_bucket_has_its_rate_and_a_model_its_own() {
        let rates = Rates::parse(FILE).unwrap();
        let (a, n) = (route("a", "m"), route("b", "n"));
        let (first, second) = (tokens(1_000_000, 500_000, Sum::Known(2_000_000)), tokens(3_000_000, 0, Sum::Unknown));
        let cost = rates.cost([(&a, &first), (&n, &second)]);
        assert_eq!(cost, Cost { amount: Some(2.0 + 4.0 + 1.0 + 3.0), is_complete: true });
    }

    #[test]
    fn what_has_no_rate_costs_an_unknown_amount_and_not_nothing() {
        let rates = Rates::parse(FILE).unwrap();
        let (known, other) = (route("b", "n"), route("a", "other"));
        let (plain, cached) = (tokens(1_000_000, 0, Sum::Unknown), tokens(1, 1, Sum::Known(1)));
        assert_eq!(rates.cost([(&other, &plain)]), Cost { amount: None, is_complete: false });
        assert_eq!(rates.cost([(&None, &plain)]).amount, None);
        // n has no rate for what a cache held.
        assert_eq!(rates.cost([(&known, &cached)]).amount, None);
        assert_eq!(rates.cost([(&known, &plain), (&other, &plain)]), Cost { amount: Some(1.0), is_complete: false });
    }

    #[test]
    fn a_file_that_is_none_says_where() {
        let wrong = Rates::parse("{\"currency\":\"EUR\",\n\"prices\":{}}").unwrap_err();
        assert!(wrong.contains("`prices`") && wrong.contains("line 2"), "{wrong}");
        let negative = r#"{"currency":"EUR","models":{"m":{"input":-1,"output":0}}}"#;
        assert!(Rates::parse(negative).unwrap_err().contains("\"m\""));
        assert!(Rates::parse(r#"{"currency":"EUR","perTokens":0,"models":{}}"#).is_err());
    }
}
