//! `dshkit/reference.candidates/1`

use super::list::time;
use crate::model::mention;
use crate::output::json::Js;
use crate::output::terminal_text::visible_js;
use crate::output::{Document, RecordOut, Style, TextOut};
use crate::reference::candidates::Candidate;
use schemars::JsonSchema;
use serde::Serialize;
use std::io;

/// The sessions a conversation could refer to.
#[derive(JsonSchema, Serialize)]
pub struct CandidatesDocument {
    /// The likeliest first.
    candidates: Vec<CandidateDocument>,
}

/// A session that could be referred to.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
struct CandidateDocument {
    /// The session's id.
    session_id: Js,
    /// What dsh shows it as.
    label: Js,
    /// Where it is another than the label.
    #[serde(skip_serializing_if = "Option::is_none")]
    display_title: Option<Js>,
    /// The working directory; `null` if none is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    cwd: Option<Js>,
    /// Whether it has the working directory of the target.
    same_workspace: bool,
    /// When it was created, in milliseconds since the epoch.
    created_at: u64,
    /// The Markdown.
    mention: Js,
}

impl CandidatesDocument {
    /// The document of these candidates.
    pub fn of(candidates: &[Candidate<'_>]) -> CandidatesDocument {
        CandidatesDocument { candidates: candidates.iter().map(CandidateDocument::of).collect() }
    }
}

impl CandidateDocument {
    fn of(candidate: &Candidate<'_>) -> CandidateDocument {
        let header = &candidate.record.stored.header;
        let names = &candidate.names;
        CandidateDocument {
            session_id: Js::from(&header.id),
            label: Js::from(&names.label),
            display_title: (names.display_title != names.label).then(|| Js::from(&names.display_title)),
            cwd: header.cwd.as_ref().map(Js::from),
            same_workspace: candidate.same_workspace,
            created_at: header.created_at,
            mention: Js(mention::format(&header.id, &names.display_title)),
        }
    }
}

impl Document for CandidatesDocument {
    const SCHEMA: &'static str = "dshkit/reference.candidates/1";

    fn text(&self, text: &mut TextOut<'_>) -> io::Result<()> {
        for candidate in &self.candidates {
            let cwd = candidate.cwd.as_ref().map_or_else(|| "-".to_owned(), |cwd| visible_js(&cwd.0));
            let facts = format!("{}  {cwd}", time(candidate.created_at as i64));
            let facts = text.styled(Style::Dim, &facts);
            text.line(&format!("{}  {facts}", visible_js(&candidate.mention.0)))?;
        }
        Ok(())
    }

    fn records(&self, records: &mut RecordOut<'_>) -> io::Result<()> {
        self.candidates.iter().try_for_each(|candidate| records.write(candidate))
    }
}
