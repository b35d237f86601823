//! `dshkit/reference.explain/1`

use crate::output::json::Js;
use crate::output::table::{self, Shrink};
use crate::output::terminal_text::visible_js;
use crate::output::{Document, RecordOut, TextOut};
use crate::reference::budget::Budget;
use crate::reference::explanation::{Explained, Why, explain};
use crate::reference::prepare::Source;
use crate::reference::retention::Fate;
use serde::Serialize;
use std::io;

/// `{budget, sources}`: what a message would refer to, and how it would be made to fit.
#[derive(Serialize)]
pub struct ExplainDocument {
    budget: BudgetDocument,
    sources: Vec<SourceDocument>,
}

/// `{maxBytes, origin, contextWindow, fraction}`
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct BudgetDocument {
    max_bytes: u64,
    origin: &'static str,
    context_window: Option<u64>,
    fraction: Option<f64>,
}

/// `{sessionId, label, cwd, bytes, truncated, otherEvents, messages}`
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SourceDocument {
    session_id: Js,
    label: Js,
    cwd: Option<Js>,
    bytes: u64,
    truncated: bool,
    /// How many other events the model sees: none of them is ever part of a reference.
    other_events: usize,
    messages: Vec<MessageDocument>,
}

/// `{seq, role, checkpoint, bytes, keptBytes, fate, why}`
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct MessageDocument {
    seq: u64,
    role: &'static str,
    checkpoint: bool,
    /// The length of its text in bytes of UTF-8.
    bytes: u64,
    /// How many of these are kept.
    kept_bytes: u64,
    /// `kept`, `cut` or `dropped`.
    fate: &'static str,
    why: &'static str,
    #[serde(skip)]
    reason: Why,
}

impl ExplainDocument {
    /// The document of sources that were made to fit a budget.
    pub fn of(budget: &Budget, sources: &[Source]) -> ExplainDocument {
        ExplainDocument {
            budget: BudgetDocument {
                max_bytes: budget.max_bytes,
                origin: budget.origin.name(),
                context_window: budget.context_window,
                fraction: budget.fraction,
            },
            sources: sources.iter().map(SourceDocument::of).collect(),
        }
    }
}

impl SourceDocument {
    fn of(source: &Source) -> SourceDocument {
        SourceDocument {
            session_id: Js::from(&source.session_id),
            label: Js::from(&source.label),
            cwd: source.cwd.as_ref().map(Js::from),
            bytes: source.retained.bytes,
            truncated: source.retained.is_truncated(),
            other_events: source.other_events,
            messages: explain(source).iter().map(MessageDocument::of).collect(),
        }
    }
}

impl MessageDocument {
    fn of(explained: &Explained<'_>) -> MessageDocument {
        let bytes = explained.message.text.len_utf8() as u64;
        let (fate, kept_bytes) = match explained.fate {
            Fate::Kept => ("kept", bytes),
            Fate::Cut { omitted } => ("cut", bytes - omitted),
            Fate::Dropped => ("dropped", 0),
        };
        MessageDocument {
            seq: explained.message.seq,
            role: explained.message.role.name(),
            checkpoint: explained.message.is_checkpoint,
            bytes,
            kept_bytes,
            fate,
            why: explained.why.name(),
            reason: explained.why,
        }
    }
}

/// A reason for people.
fn words(why: Why) -> &'static str {
    match why {
        Why::Fits => "all of it fits",
        Why::Newer => "what is older had to go",
        Why::Checkpoint => "a checkpoint never goes",
        Why::Newest => "the newest never goes",
        Why::Longest => "the longest of what never goes",
        Why::Oldest => "the oldest go first",
    }
}

impl Document for ExplainDocument {
    const SCHEMA: &'static str = "dshkit/reference.explain/1";

    fn text(&self, text: &mut TextOut<'_>) -> io::Result<()> {
        let max_bytes = self.budget.max_bytes;
        for (index, source) in self.sources.iter().enumerate() {
            if index > 0 {
                text.line("")?;
            }
            let id = visible_js(&source.session_id.0);
            text.line(&format!("{id}: {} of at most {max_bytes} bytes", source.bytes))?;
            let columns = ["SEQ", "WHO", "BYTES", "KEPT", "FATE", "WHY"].map(|heading| (heading, Shrink::No));
            let rows: Vec<Vec<String>> = source.messages.iter().map(row).collect();
            if !rows.is_empty() {
                table::print(text, &columns, &rows)?;
            }
            if source.other_events > 0 {
                text.line(&format!(
                    "never part of a reference: {} other events that the model sees, such as tools' results",
                    source.other_events
                ))?;
            }
        }
        Ok(())
    }

    fn records(&self, records: &mut RecordOut<'_>) -> io::Result<()> {
        self.sources.iter().try_for_each(|source| records.write(source))
    }
}

fn row(message: &MessageDocument) -> Vec<String> {
    let who = if message.checkpoint { "checkpoint" } else { message.role };
    vec![
        message.seq.to_string(),
        who.to_owned(),
        message.bytes.to_string(),
        message.kept_bytes.to_string(),
        message.fate.to_owned(),
        words(message.reason).to_owned(),
    ]
}
