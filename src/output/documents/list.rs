//! `dshkit/sessions.list/1`

use super::problem::ProblemDocument;
use super::session::{LongFacts, SessionDocument};
use crate::corpus::Record;
use crate::error::Failure;
use crate::model::problem::Problem;
use crate::output::table::{self, Shrink};
use crate::output::terminal_text::visible_js;
use crate::output::{Document, RecordOut, TextOut};
use crate::projections::overview::Overview;
use serde::Serialize;
use std::io;

/// A session as it is listed.
pub struct Listed<'r> {
    /// The session.
    pub record: &'r Record,
    /// Whether its working directory is there; `None` if it has none.
    pub cwd_exists: Option<bool>,
    /// With `--long`: what its log tells.
    pub long: Option<Long>,
}

/// What a log tells, and how it is.
pub struct Long {
    /// What it tells, or why it could not be read.
    pub read: Result<Overview, Failure>,
    /// The kind of its gravest problem, or `ok`.
    pub health: &'static str,
}

/// `{sessions, problems}`, newest session first.
#[derive(Serialize)]
pub struct ListDocument<'r> {
    sessions: Vec<SessionDocument>,
    problems: Vec<ProblemDocument>,
    #[serde(skip)]
    listed: &'r [Listed<'r>],
}

impl<'r> ListDocument<'r> {
    /// The document of a listing.
    pub fn new(listed: &'r [Listed<'r>], problems: &[Problem]) -> ListDocument<'r> {
        let session = |listed: &Listed<'_>| match &listed.long {
            None => SessionDocument::of(listed.record).cwd_exists(listed.cwd_exists),
            Some(long) => SessionDocument::long(listed.record, LongFacts::of(&long.read, long.health))
                .cwd_exists(listed.cwd_exists),
        };
        ListDocument {
            sessions: listed.iter().map(session).collect(),
            problems: problems.iter().map(ProblemDocument::from).collect(),
            listed,
        }
    }
}

impl Document for ListDocument<'_> {
    const SCHEMA: &'static str = "dshkit/sessions.list/1";

    fn text(&self, text: &mut TextOut<'_>) -> io::Result<()> {
        if self.listed.is_empty() {
            return Ok(());
        }
        let is_long = self.listed.iter().any(|listed| listed.long.is_some());
        let mut columns = vec![("SESSION", Shrink::No), ("CREATED", Shrink::No), ("V", Shrink::No)];
        if is_long {
            columns.extend([
                ("TURNS", Shrink::No),
                ("END", Shrink::No),
                ("HEALTH", Shrink::No),
                ("TITLE", Shrink::Yes),
            ]);
        }
        columns.push(("CWD", Shrink::Yes));
        let rows: Vec<Vec<String>> = self.listed.iter().map(|listed| row(listed, is_long)).collect();
        table::print(text, &columns, &rows)
    }

    fn records(&self, records: &mut RecordOut<'_>) -> io::Result<()> {
        for session in &self.sessions {
            records.write(session)?;
        }
        for problem in &self.problems {
            records.write(&ProblemRecord { problem })?;
        }
        Ok(())
    }
}

/// A problem among records of sessions: `{"problem":{…}}`.
#[derive(Serialize)]
struct ProblemRecord<'p> {
    problem: &'p ProblemDocument,
}

fn row(listed: &Listed<'_>, is_long: bool) -> Vec<String> {
    let header = &listed.record.stored.header;
    let mut cells =
        vec![visible_js(&header.id), time(header.created_at as i64), listed.record.stored.format_version.to_string()];
    if is_long {
        let overview = listed.long.as_ref().and_then(|long| long.read.as_ref().ok());
        let or_dash = |cell: Option<String>| cell.unwrap_or_else(|| "-".to_owned());
        cells.push(or_dash(overview.map(|overview| overview.turns.to_string())));
        cells.push(or_dash(overview.and_then(|overview| overview.end_state.as_ref()).map(|state| visible_js(state))));
        cells.push(listed.long.as_ref().map_or("-", |long| long.health).to_owned());
        cells.push(or_dash(overview.and_then(|overview| overview.title.as_ref()).map(|title| visible_js(&title.text))));
    }
    let gone = if is_long && listed.cwd_exists == Some(false) { " (gone)" } else { "" };
    cells.push(header.cwd.as_ref().map_or_else(|| "-".to_owned(), |cwd| format!("{}{gone}", visible_js(cwd))));
    cells
}

/// A time for people: local date and time to the second.
pub(super) fn time(milliseconds: i64) -> String {
    match jiff::Timestamp::from_millisecond(milliseconds) {
        Ok(time) => time.to_zoned_datetime(jiff::tz::TimeZone::system()).strftime("%Y-%m-%d %H:%M:%S").to_string(),
        Err(_) => milliseconds.to_string(),
    }
}
