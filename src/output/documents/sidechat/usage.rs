//! `dshkit/sidechat.usage/1`

use super::calls::{CallDocument, ExactTokensDocument};
use super::print_origin;
use crate::output::json::Js;
use crate::output::{Document, TextOut};
use crate::projections::turn_usage::SessionUsage;
use crate::sidechat::usage::Report;
use schemars::JsonSchema;
use serde::Serialize;
use std::io;

/// What a side chat cost.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UsageDocument {
    /// The side chat.
    child_session_id: Js,
    /// The session it belongs to.
    parent_session_id: Js,
    /// Who remembers it, as of a side chat.
    origin: &'static str,
    /// What its own turns used; `null` if its log is gone.
    child: Option<ChildDocument>,
    /// What its parent has used since.
    parent_delta: DeltaDocument,
    /// The call that wrote its background.
    #[serde(skip_serializing_if = "Option::is_none")]
    seed_call: Option<CallDocument>,
    /// The calls that wrote its folds.
    fold_calls: Vec<FoldCalls>,
    /// What was brought to the parent.
    deliveries: DeliveriesDocument,
}

/// What the turns of a side chat used.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
struct ChildDocument {
    /// Whether all of it is exactly known.
    complete: bool,
    /// How many turns are exactly known.
    completed_turns: u64,
    /// How many are not.
    incomplete_turns: u64,
    /// The tokens of all turns; `null` unless all are exactly known.
    totals: Option<ExactTokensDocument>,
    /// Those of the newest turn that is exactly known.
    latest_turn: Option<ExactTokensDocument>,
}

/// What a parent has used since the side chat was made.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
struct DeltaDocument {
    /// Whether that is exactly known.
    available: bool,
    /// The tokens; `null` unless they are exactly known.
    tokens: Option<ExactTokensDocument>,
}

/// The calls of one fold.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
struct FoldCalls {
    /// The revision of the fold.
    revision: u64,
    /// The calls.
    calls: Vec<CallDocument>,
}

/// What was brought to a parent.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
struct DeliveriesDocument {
    /// How many messages.
    messages: u64,
    /// How many calls of a model that took: always 0.
    model_calls: u64,
}

impl UsageDocument {
    /// The document of a report.
    pub fn of(report: &Report) -> UsageDocument {
        let tokens = report.parent_delta.as_ref().map(ExactTokensDocument::from);
        UsageDocument {
            child_session_id: Js::from(&report.chat.child.id),
            origin: report.chat.origin.name(),
            parent_session_id: Js::from(&report.chat.parent.id),
            child: report.child.as_ref().map(ChildDocument::from),
            parent_delta: DeltaDocument { available: tokens.is_some(), tokens },
            seed_call: report.chat.seed.generated.as_ref().map(|generated| CallDocument::from(&generated.call)),
            fold_calls: report
                .folds
                .iter()
                .map(|(revision, calls)| FoldCalls {
                    revision: *revision,
                    calls: calls.iter().map(CallDocument::from).collect(),
                })
                .collect(),
            deliveries: DeliveriesDocument { messages: report.deliveries, model_calls: 0 },
        }
    }
}

impl From<&SessionUsage> for ChildDocument {
    fn from(usage: &SessionUsage) -> ChildDocument {
        ChildDocument {
            complete: usage.is_complete(),
            completed_turns: usage.completed_turns,
            incomplete_turns: usage.incomplete_turns,
            totals: usage.totals.as_ref().map(ExactTokensDocument::from),
            latest_turn: usage.latest.as_ref().map(ExactTokensDocument::from),
        }
    }
}

impl Document for UsageDocument {
    const SCHEMA: &'static str = "dshkit/sidechat.usage/1";

    fn text(&self, text: &mut TextOut<'_>) -> io::Result<()> {
        let words = |tokens: &Option<ExactTokensDocument>, unknown: &str| {
            tokens.as_ref().map_or_else(|| unknown.to_owned(), ExactTokensDocument::words)
        };
        print_origin(text, self.origin)?;
        match &self.child {
            None => text.line("side chat     unavailable: its log is gone")?,
            Some(child) => {
                let unknown = format!("incomplete: {} turns are not exactly known", child.incomplete_turns);
                text.line(&format!("side chat     {}", words(&child.totals, &unknown)))?;
                text.line(&format!("latest turn   {}", words(&child.latest_turn, "none")))?;
            }
        }
        text.line(&format!("parent since  {}", words(&self.parent_delta.tokens, "unavailable")))?;
        if let Some(call) = &self.seed_call {
            text.line(&format!("seed          {}", call.words()))?;
        }
        for fold in &self.fold_calls {
            for call in &fold.calls {
                text.line(&format!("fold rev-{}    {}", fold.revision, call.words()))?;
            }
        }
        text.line(&format!("deliveries    {}, 0 model calls", self.deliveries.messages))
    }
}
