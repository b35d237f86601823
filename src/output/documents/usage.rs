//! `dshkit/sessions.usage/1`

use super::problem::ProblemDocument;
use super::search::NoteRecord;
use crate::corpus::Record;
use crate::output::json::Js;
use crate::output::table::{self, Shrink};
use crate::output::terminal_text::{visible, visible_js};
use crate::output::{Document, RecordOut, TextOut};
use crate::projections::token_usage::Inherited;
use crate::query::rates::{Rate, Rates};
use crate::query::usage::{By, Key, Row, Usage, UsageQuery};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io;

/// How many tokens were used.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UsageDocument {
    /// What a row stands for.
    by: &'static str,
    /// Whether what forks copied is counted.
    includes_inherited: bool,
    /// The rows.
    rows: Vec<RowDocument>,
    /// The sums of all.
    total: SumsDocument,
    /// The rates that were used, with `--rates`.
    #[serde(skip_serializing_if = "Option::is_none")]
    rates: Option<RatesDocument>,
    /// What could not be read.
    notes: Vec<ProblemDocument>,
}

/// The rates that were used, by the names the file has for the models.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
struct RatesDocument {
    /// What amounts are in.
    currency: String,
    /// How many tokens a rate is for.
    per_tokens: u64,
    /// The rate of each model that was used.
    models: BTreeMap<String, Rate>,
}

/// What something cost.
#[derive(JsonSchema, Serialize)]
struct CostDocument {
    /// The amount; `null` if nothing could be priced.
    amount: Option<f64>,
    /// Whether everything could.
    complete: bool,
}

/// A row: its key and sums.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
struct RowDocument {
    /// What the row is about; `null` if it is not known.
    key: Option<Js>,
    /// Of a turn: its session.
    #[serde(skip_serializing_if = "Option::is_none")]
    session_id: Option<Js>,
    /// Of a turn: its number.
    #[serde(skip_serializing_if = "Option::is_none")]
    turn: Option<u64>,
    /// Of a model: its provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    provider: Option<Js>,
    /// Of a model: its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<Js>,
    /// The sums.
    #[serde(flatten)]
    sums: SumsDocument,
}

/// Sums.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
struct SumsDocument {
    /// How many sessions.
    sessions: u64,
    /// How many turns.
    turns: u64,
    /// How many steps.
    steps: u64,
    /// Tokens the model read and no cache held; `null` if nothing was reported.
    input_tokens: Option<u64>,
    /// Tokens it wrote.
    output_tokens: Option<u64>,
    /// Tokens it read from a cache.
    cache_read_tokens: Option<u64>,
    /// Tokens it put into a cache.
    cache_write_tokens: Option<u64>,
    /// Tokens of reasoning, which are part of the output.
    reasoning_tokens: Option<u64>,
    /// All of these but the reasoning.
    total_tokens: Option<u64>,
    /// Whether every step has a report and no turn is open.
    complete: bool,
    /// What it cost, with `--rates`.
    #[serde(skip_serializing_if = "Option::is_none")]
    cost: Option<CostDocument>,
}

/// A row among records, marked if it counts what was inherited.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
struct RowRecord<'r> {
    /// The row.
    #[serde(flatten)]
    row: &'r RowDocument,
    /// Whether what forks copied is counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    includes_inherited: Option<bool>,
}

impl UsageDocument {
    /// The document of the usage of these sessions.
    pub fn of(records: &[&Record], query: &UsageQuery, usage: &Usage, rates: Option<&Rates>) -> UsageDocument {
        UsageDocument {
            by: match query.by {
                By::Session => "session",
                By::Turn => "turn",
                By::Model => "model",
                By::Day(_) => "day",
                By::Cwd => "cwd",
            },
            includes_inherited: query.inherited == Inherited::Counted,
            rows: usage.rows.iter().map(|(key, row)| RowDocument::of(records, key, row, rates)).collect(),
            total: SumsDocument::of(&usage.total, rates),
            rates: rates.map(|rates| RatesDocument::of(rates, &usage.total)),
            notes: usage.problems.iter().map(ProblemDocument::from).collect(),
        }
    }
}

impl RatesDocument {
    fn of(rates: &Rates, total: &Row) -> RatesDocument {
        let used = total.models.keys().flatten().filter_map(|route| rates.of(route));
        RatesDocument {
            currency: rates.currency.clone(),
            per_tokens: rates.per_tokens,
            models: used.map(|(name, rate)| (name.to_owned(), *rate)).collect(),
        }
    }
}

impl RowDocument {
    fn of(records: &[&Record], key: &Key, row: &Row, rates: Option<&Rates>) -> RowDocument {
        let id = |index: &usize| records[*index].id();
        let mut document = RowDocument {
            key: None,
            session_id: None,
            turn: None,
            provider: None,
            model: None,
            sums: SumsDocument::of(row, rates),
        };
        match key {
            Key::Session(index) => document.key = Some(Js::from(id(index))),
            Key::Turn(index, turn) => {
                let mut name = id(index).clone();
                name.push_str(&format!("#{turn}"));
                document.key = Some(Js(name));
                document.session_id = Some(Js::from(id(index)));
                document.turn = Some(*turn);
            }
            Key::NoTurn(index) => document.session_id = Some(Js::from(id(index))),
            Key::Model(route) => {
                let mut name = route.provider.clone();
                name.push_str("/");
                name.push_js(&route.model);
                document.key = Some(Js(name));
                document.provider = Some(Js::from(&route.provider));
                document.model = Some(Js::from(&route.model));
            }
            Key::Day(day) => document.key = Some(Js(day.to_string().into())),
            Key::Cwd(cwd) => document.key = Some(Js::from(cwd)),
            Key::Unknown => {}
        }
        document
    }
}

impl SumsDocument {
    fn of(row: &Row, rates: Option<&Rates>) -> SumsDocument {
        SumsDocument {
            sessions: row.sessions,
            turns: row.turns,
            steps: row.steps,
            input_tokens: row.tokens.input.known(),
            output_tokens: row.tokens.output.known(),
            cache_read_tokens: row.tokens.cache_read.known(),
            cache_write_tokens: row.tokens.cache_write.known(),
            reasoning_tokens: row.tokens.reasoning.known(),
            total_tokens: row.tokens.total.known(),
            complete: row.is_complete,
            cost: rates.map(|rates| {
                let cost = rates.cost(&row.models);
                CostDocument { amount: cost.amount, complete: cost.is_complete && row.is_complete }
            }),
        }
    }

    fn cells(&self, name: String) -> Vec<String> {
        let or_dash = |sum: Option<u64>| sum.map_or_else(|| "-".to_owned(), |sum| sum.to_string());
        let mut cells = vec![name, self.sessions.to_string(), self.turns.to_string(), self.steps.to_string()];
        cells.extend([self.input_tokens, self.output_tokens, self.cache_read_tokens].map(or_dash));
        cells.extend([self.cache_write_tokens, self.reasoning_tokens, self.total_tokens].map(or_dash));
        cells.push(if self.complete { "yes" } else { "no" }.to_owned());
        if let Some(cost) = &self.cost {
            let amount = cost.amount.map_or_else(|| "-".to_owned(), |amount| format!("{amount:.4}"));
            // At least so much, where something has no price.
            cells.push(if cost.complete || cost.amount.is_none() { amount } else { format!("{amount}+") });
        }
        cells
    }
}

impl Document for UsageDocument {
    const SCHEMA: &'static str = "dshkit/sessions.usage/1";

    fn text(&self, text: &mut TextOut<'_>) -> io::Result<()> {
        if self.rows.is_empty() {
            return Ok(());
        }
        let heading = self.by.to_uppercase();
        let numbers = ["SESSIONS", "TURNS", "STEPS", "INPUT", "OUTPUT", "CACHE READ", "CACHE WRITE", "REASONING"];
        let mut columns = vec![(heading.as_str(), Shrink::Yes)];
        columns.extend(numbers.into_iter().chain(["TOTAL", "COMPLETE"]).map(|name| (name, Shrink::No)));
        let cost = self.rates.as_ref().map(|rates| format!("COST {}", visible(&rates.currency)));
        columns.extend(cost.iter().map(|heading| (heading.as_str(), Shrink::No)));
        let name = |row: &RowDocument| row.key.as_ref().map_or_else(|| "-".to_owned(), |key| visible_js(&key.0));
        let mut rows: Vec<Vec<String>> = self.rows.iter().map(|row| row.sums.cells(name(row))).collect();
        rows.push(self.total.cells("total".to_owned()));
        table::print(text, &columns, &rows)?;
        for (model, rate) in self.rates.iter().flat_map(|rates| &rates.models) {
            let per = self.rates.as_ref().map_or(0, |rates| rates.per_tokens);
            let optional = |rate: Option<f64>| rate.map_or_else(|| "no rate".to_owned(), |rate| rate.to_string());
            text.line(&format!(
                "{} for {per} tokens: input {}, output {}, cache read {}, cache write {}",
                visible(model),
                rate.input,
                rate.output,
                optional(rate.cache_read),
                optional(rate.cache_write)
            ))?;
        }
        if self.includes_inherited {
            text.line("what forks inherited is included, and counts once more in each of them")?;
        }
        Ok(())
    }

    fn records(&self, records: &mut RecordOut<'_>) -> io::Result<()> {
        let includes_inherited = self.includes_inherited.then_some(true);
        self.rows.iter().try_for_each(|row| records.write(&RowRecord { row, includes_inherited }))?;
        self.notes.iter().try_for_each(|note| records.write(&NoteRecord { note }))
    }
}
