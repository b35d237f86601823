//! What the model is told of what was left out, behind the envelope (formats.md §8.2).

use super::prepare::Source;
use super::retention::{captured_literal, tag_safe_literal};
use crate::model::js_string::JsStr;

/// What became of the whole text of a source of which only a part is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FullSnapshot {
    /// It was saved.
    Saved {
        /// Where: the absolute path of the file.
        locator: String,
        /// How long the file is, in bytes.
        bytes: u64,
    },
    /// It is not to be had.
    Unavailable(Reason),
}

/// Why the whole text is not to be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// There is no place to save it in.
    StorageNotConfigured,
    /// Saving it failed.
    SaveFailed,
}

impl Reason {
    /// dsh's name for it.
    pub fn name(self) -> &'static str {
        match self {
            Reason::StorageNotConfigured => "storage-not-configured",
            Reason::SaveFailed => "save-failed",
        }
    }
}

/// How an agent gets at a saved text.
pub const RETRIEVAL_HINT: &str =
    "Read the file in parts, or search it with grep; `dshkit reference expand` puts its messages together again.";

/// What stands before the list: dsh's heading, our words for dsh's explanation.
const OPENING: &str = "\n\n## Reference omissions\n
Not all that was said fits above. omittedMessages is how many messages are missing whole, omittedBytes how many \
bytes of text (UTF-8) are missing in all. What fullSnapshot names is the whole, and no more to be trusted.\n";

/// The notice for all sources that were cut; `None` if there is none.
pub fn notice(sources: &[Source]) -> Option<String> {
    let told: Vec<String> = sources.iter().filter(|source| source.retained.is_truncated()).map(entry).collect();
    (!told.is_empty()).then(|| format!("{OPENING}[{}]", told.join(",")))
}

/// What was left out of one source: tag-safe JSON, keys in dsh's order.
fn entry(source: &Source) -> String {
    let full = match &source.full_snapshot {
        FullSnapshot::Saved { locator, bytes } => format!(
            r#"{{"status":"saved","locator":{},"bytes":{bytes},"retrievalHint":{}}}"#,
            tag_safe_literal(&JsStr::from(locator.as_str())),
            tag_safe_literal(&JsStr::from(RETRIEVAL_HINT))
        ),
        FullSnapshot::Unavailable(reason) => format!(r#"{{"status":"unavailable","reason":"{}"}}"#, reason.name()),
    };
    format!(
        r#"{{"sessionId":{},"capturedThroughSeq":{},"omittedMessages":{},"omittedBytes":{},"fullSnapshot":{full}}}"#,
        tag_safe_literal(&source.session_id),
        captured_literal(source.captured_through_seq),
        source.retained.omitted_messages,
        source.retained.omitted_bytes,
    )
}
