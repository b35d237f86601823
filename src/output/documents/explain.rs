//! `dshkit/reference.explain/1`

use crate::output::json::Js;
use crate::output::table::{self, Shrink};
use crate::output::terminal_text::visible_js;
use crate::output::{Document, RecordOut, TextOut};
use crate::reference::budget::Budget;
use crate::reference::explanation::{Explained, Why, explain};
use crate::reference::prepare::Source;
use crate::reference::retention::Fate;
use schemars::JsonSchema;
use serde::Serialize;
use std::io;

/// What a message would refer to, and how it would be made to fit.
#[derive(JsonSchema, Serialize)]
pub struct ExplainDocument {
    /// What each source may take, and why.
    budget: BudgetDocument,
    /// One for each session referred to.
    sources: Vec<SourceDocument>,
}

/// How much a source may take.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
struct BudgetDocument {
    /// How many bytes each source may take.
    max_bytes: u64,
    /// What that follows from.
    origin: &'static str,
    /// The context window, in tokens.
    context_window: Option<u64>,
    /// The part of it each source may take.
    fraction: Option<f64>,
}

/// A session that would be referred to.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ExplainedSource")]
struct SourceDocument {
    /// The session's id.
    session_id: Js,
    /// The label.
    label: Js,
    /// The working directory; `null` if none is known.
    cwd: Option<Js>,
    /// How many bytes it takes, serialised.
    bytes: u64,
    /// Whether anything is left out.
    truncated: bool,
    /// How many other events the model sees: none of them is ever part of a reference.
    other_events: usize,
    /// Its messages.
    messages: Vec<MessageDocument>,
}

/// A message.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ExplainedMessage")]
struct MessageDocument {
    /// The event.
    seq: u64,
    /// Whose words they are.
    role: &'static str,
    /// Whether it is the summary of a compaction.
    checkpoint: bool,
    /// The length of its text in bytes of UTF-8.
    bytes: u64,
    /// How many of these are kept.
    kept_bytes: u64,
    /// `kept`, `cut` or `dropped`.
    fate: &'static str,
    /// Why.
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
