//! `dshkit/sessions.check/1`

use super::problem::ProblemDocument;
use crate::model::js_string::JsString;
use crate::model::problem::Problem;
use crate::output::json::Js;
use crate::output::table::{self, Shrink};
use crate::output::terminal_text::{visible, visible_js};
use crate::output::{Document, RecordOut, TextOut};
use schemars::JsonSchema;
use serde::Serialize;
use std::io;

/// What dsh of its generation makes of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It loads, and nothing is wrong.
    Ok,
    /// It loads, and something was left out or does not fold.
    Recoverable,
    /// It does not load.
    Damaged,
    /// It does not load because of what it is and not of what happened to it.
    Unsupported,
}

impl Verdict {
    /// The stable name.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Ok => "ok",
            Verdict::Recoverable => "recoverable",
            Verdict::Damaged => "damaged",
            Verdict::Unsupported => "unsupported",
        }
    }
}

/// A session that was checked.
pub struct Checked {
    /// The session.
    pub session_id: JsString,
    /// Its log.
    pub path: String,
    /// The verdict.
    pub verdict: Verdict,
    /// How many events the log holds; `None` if it does not load.
    pub stored_events: Option<u64>,
    /// How many it has with the closers of an interrupted turn.
    pub logical_events: Option<u64>,
    /// The turn that is open at its end.
    pub open_turn: Option<u64>,
    /// The tool calls without a result in it.
    pub dangling_calls: Vec<JsString>,
    /// What is wrong.
    pub problems: Vec<Problem>,
}

/// Whether logs are sound.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CheckDocument {
    /// The sessions that were checked.
    sessions: Vec<CheckedDocument>,
    /// What is wrong, in no session's own list.
    problems: Vec<ProblemDocument>,
    /// Whether dsh can list the store.
    dsh_lists: bool,
    #[serde(skip)]
    rows: Vec<Vec<String>>,
    #[serde(skip)]
    notes: Vec<String>,
}

/// A session that was checked.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
struct CheckedDocument {
    /// The session's id.
    session_id: Js,
    /// Its log.
    path: String,
    /// `ok`, `recoverable`, `damaged` or `unsupported`.
    verdict: &'static str,
    /// How many events the log holds; `null` if it does not load.
    stored_events: Option<u64>,
    /// How many it has with the closers of an interrupted turn.
    logical_events: Option<u64>,
    /// The turn that has not ended.
    open_turn: Option<u64>,
    /// The tool calls without a result in the open turn.
    dangling_calls: Vec<Js>,
    /// What is wrong with it.
    problems: Vec<ProblemDocument>,
}

impl CheckDocument {
    /// The document of a check: the sessions, and what else is wrong in the store.
    pub fn new(checked: &[Checked], problems: &[Problem], dsh_lists: bool) -> CheckDocument {
        let count = |count: Option<u64>| count.map_or_else(|| "-".to_owned(), |count| count.to_string());
        let document = |checked: &Checked| CheckedDocument {
            session_id: Js::from(&checked.session_id),
            path: checked.path.clone(),
            verdict: checked.verdict.name(),
            stored_events: checked.stored_events,
            logical_events: checked.logical_events,
            open_turn: checked.open_turn,
            dangling_calls: checked.dangling_calls.iter().map(Js::from).collect(),
            problems: checked.problems.iter().map(ProblemDocument::from).collect(),
        };
        let row = |checked: &Checked| {
            let verdict = checked.verdict.name().to_owned();
            vec![visible_js(&checked.session_id), verdict, count(checked.stored_events), count(checked.logical_events)]
        };
        let all_problems = checked.iter().flat_map(|checked| &checked.problems).chain(problems);
        CheckDocument {
            sessions: checked.iter().map(document).collect(),
            problems: problems.iter().map(ProblemDocument::from).collect(),
            dsh_lists,
            rows: checked.iter().map(row).collect(),
            notes: all_problems.map(|problem| visible(&problem.to_string()).into_owned()).collect(),
        }
    }
}

impl Document for CheckDocument {
    const SCHEMA: &'static str = "dshkit/sessions.check/1";

    fn text(&self, text: &mut TextOut<'_>) -> io::Result<()> {
        let columns =
            [("SESSION", Shrink::No), ("VERDICT", Shrink::No), ("STORED", Shrink::No), ("LOGICAL", Shrink::No)];
        table::print(text, &columns, &self.rows)?;
        for note in &self.notes {
            text.line(note)?;
        }
        let says = if self.dsh_lists { "dsh can list this store" } else { "dsh cannot list this store" };
        text.line(says)
    }

    fn records(&self, records: &mut RecordOut<'_>) -> io::Result<()> {
        self.sessions.iter().try_for_each(|session| records.write(session))
    }
}
