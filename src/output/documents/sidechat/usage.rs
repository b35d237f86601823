//! `dshkit/sidechat.usage/1`

use super::calls::{CallDocument, ExactTokensDocument};
use crate::output::json::Js;
use crate::output::{Document, TextOut};
use crate::projections::turn_usage::SessionUsage;
use crate::sidechat::usage::Report;
use schemars::JsonSchema;
use serde::Serialize;
use std::io;

/// `{childSessionId, parentSessionId, child, parentDelta, seedCall?, foldCalls, deliveries}`. `child` is
/// `null` if its log is gone; `parentDelta.tokens` is `null` unless everything is exactly known.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UsageDocument {
    child_session_id: Js,
    parent_session_id: Js,
    child: Option<ChildDocument>,
    parent_delta: DeltaDocument,
    #[serde(skip_serializing_if = "Option::is_none")]
    seed_call: Option<CallDocument>,
    fold_calls: Vec<FoldCalls>,
    deliveries: DeliveriesDocument,
}

/// `{complete, completedTurns, incompleteTurns, totals, latestTurn}`.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
struct ChildDocument {
    complete: bool,
    completed_turns: u64,
    incomplete_turns: u64,
    totals: Option<ExactTokensDocument>,
    latest_turn: Option<ExactTokensDocument>,
}

/// `{available, tokens}`.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
struct DeltaDocument {
    available: bool,
    tokens: Option<ExactTokensDocument>,
}

/// `{revision, calls}`.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
struct FoldCalls {
    revision: u64,
    calls: Vec<CallDocument>,
}

/// `{messages, modelCalls}`; the latter is always 0.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
struct DeliveriesDocument {
    messages: u64,
    model_calls: u64,
}

impl UsageDocument {
    /// The document of a report.
    pub fn of(report: &Report) -> UsageDocument {
        let tokens = report.parent_delta.as_ref().map(ExactTokensDocument::from);
        UsageDocument {
            child_session_id: Js::from(&report.chat.child.id),
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
