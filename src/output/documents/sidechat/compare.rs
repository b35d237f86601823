//! `dshkit/sidechat.compare/1`

use super::print_origin;
use crate::output::json::Js;
use crate::output::terminal_text::visible;
use crate::output::{Document, TextOut};
use crate::sidechat::compare::{Comparison, caveat};
use crate::sidechat::fold::Fold;
use crate::sidechat::line_diff::Change;
use schemars::JsonSchema;
use serde::Serialize;
use std::io;

/// How two revisions of a side chat differ.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CompareDocument {
    /// The side chat.
    child_session_id: Js,
    /// Who remembers it, as of a side chat.
    origin: &'static str,
    /// The revision that is compared.
    from: RevisionDocument,
    /// The revision it is compared with.
    to: RevisionDocument,
    /// Whether they are the same.
    identical: bool,
    /// The lines of both.
    lines: Vec<LineDocument>,
}

/// A revision that is compared.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
struct RevisionDocument {
    /// The id of its fold, a UUID.
    fold_id: String,
    /// Its number.
    revision: u64,
    /// How far it has come.
    state: &'static str,
    /// `full` or `incremental`.
    mode: &'static str,
    /// Of an incremental one: the revision it builds on.
    base_revision: Option<u64>,
    /// Of a committed one: `current`, `superseded`, or `withdrawn`.
    standing: Option<&'static str>,
    /// `withdrawn` or `uncommitted` for one that does not count in the parent.
    caveat: Option<&'static str>,
}

/// A line of one revision, or of both.
#[derive(JsonSchema, Serialize)]
struct LineDocument {
    /// `same`, `added`, or `removed`.
    change: &'static str,
    /// The line.
    text: String,
}

impl From<&Fold> for RevisionDocument {
    fn from(fold: &Fold) -> RevisionDocument {
        RevisionDocument {
            fold_id: fold.id.to_string(),
            revision: fold.revision,
            state: fold.state.name(),
            mode: fold.mode.name(),
            base_revision: fold.mode.base(),
            standing: fold.standing.map(|standing| standing.name()),
            caveat: caveat(fold),
        }
    }
}

impl RevisionDocument {
    fn line(&self, sign: &str) -> String {
        let caveat = self.caveat.map(|caveat| format!(" ({caveat})")).unwrap_or_default();
        format!("{sign} rev-{}{caveat}  {}", self.revision, self.fold_id)
    }
}

impl CompareDocument {
    /// The document of a comparison.
    pub fn of(comparison: &Comparison) -> CompareDocument {
        let line = |(change, text): &(Change, String)| LineDocument { change: change.name(), text: text.clone() };
        CompareDocument {
            child_session_id: Js::from(&comparison.from.child),
            origin: comparison.origin.name(),
            from: RevisionDocument::from(&comparison.from),
            to: RevisionDocument::from(&comparison.to),
            identical: comparison.lines.iter().all(|(change, _)| *change == Change::Same),
            lines: comparison.lines.iter().map(line).collect(),
        }
    }
}

impl Document for CompareDocument {
    const SCHEMA: &'static str = "dshkit/sidechat.compare/1";

    fn text(&self, text: &mut TextOut<'_>) -> io::Result<()> {
        print_origin(text, self.origin)?;
        text.line(&self.from.line("---"))?;
        text.line(&self.to.line("+++"))?;
        self.lines.iter().try_for_each(|line| {
            let sign = match line.change {
                "added" => '+',
                "removed" => '-',
                _ => ' ',
            };
            text.line(&format!("{sign}{}", visible(&line.text)))
        })
    }
}
