//! `dshkit/sessions.search/1`

use super::problem::ProblemDocument;
use super::session::SessionDocument;
use crate::output::json::Js;
use crate::output::terminal_text::{visible, visible_js};
use crate::output::{Document, RecordOut, Style, TextOut};
use crate::query::search::Hit;
use schemars::JsonSchema;
use serde::Serialize;
use std::io;

/// An event that matches.
#[derive(Debug, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HitDocument {
    /// The event's sequence number.
    seq: u64,
    /// The type of the event.
    #[serde(rename = "type")]
    kind: Js,
    /// When, in milliseconds since the epoch.
    time: i64,
    /// `current`, `shadowed` or `log-only`.
    surface: &'static str,
    /// The text around the first match.
    snippet: String,
    /// The matches in the snippet.
    matches: Vec<Span>,
}

/// A place in a snippet, in code points.
#[derive(Clone, Copy, Debug, JsonSchema, Serialize)]
pub struct Span {
    /// Where it begins, in code points.
    start: usize,
    /// Where it ends.
    end: usize,
}

impl HitDocument {
    /// The document of a hit, with the places in its snippet in bytes.
    pub fn of(hit: &Hit, places: &[(usize, usize)]) -> HitDocument {
        let points = |end: usize| hit.snippet[..end].chars().count();
        HitDocument {
            seq: hit.seq,
            kind: Js::from(&hit.kind),
            time: hit.time,
            surface: hit.placement.name(),
            snippet: hit.snippet.clone(),
            matches: places.iter().map(|(start, end)| Span { start: points(*start), end: points(*end) }).collect(),
        }
    }

    fn line(&self, text: &TextOut<'_>) -> String {
        let mut snippet = String::new();
        let mut at = 0;
        let characters: Vec<char> = self.snippet.chars().collect();
        let piece = |from: usize, to: usize| characters[from..to].iter().collect::<String>();
        for span in &self.matches {
            snippet.push_str(&visible(&piece(at, span.start)));
            snippet.push_str(&text.styled(Style::Bold, &visible(&piece(span.start, span.end))));
            at = span.end;
        }
        snippet.push_str(&visible(&piece(at, characters.len())));
        let place = format!("{:>6}  {:<8}  {}", self.seq, self.surface, visible_js(&self.kind.0));
        format!("{}  {snippet}", text.styled(Style::Dim, &place))
    }
}

/// A session with its strongest event.
#[derive(Debug, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionHitDocument {
    /// The session.
    pub session: SessionDocument,
    /// The event.
    pub best_match: HitDocument,
    /// The session's id, for people.
    #[serde(skip)]
    pub heading: String,
}

impl SessionHitDocument {
    /// The hit for people: the session, and under it the event.
    pub fn print(&self, text: &mut TextOut<'_>) -> io::Result<()> {
        let heading = text.styled(Style::Cyan, &self.heading);
        text.line(&heading)?;
        let line = self.best_match.line(text);
        text.line(&line)
    }
}

/// A page of sessions with their strongest matches.
#[derive(Debug, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SearchDocument {
    /// The sessions, strongest first.
    pub items: Vec<SessionHitDocument>,
    /// Where the next page begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    /// What could not be searched.
    pub notes: Vec<ProblemDocument>,
}

/// A page of matches in one session.
#[derive(Debug, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SearchSessionDocument {
    /// The session.
    pub session: SessionDocument,
    /// The events, strongest first.
    pub items: Vec<HitDocument>,
    /// Where the next page begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    /// What could not be searched.
    pub notes: Vec<ProblemDocument>,
}

/// What was found: sessions, or with `--session` events.
#[derive(JsonSchema)]
#[schemars(untagged)]
pub enum SearchShape {
    /// Of sessions.
    Sessions(Box<SearchDocument>),
    /// Of events of one session.
    Events(Box<SearchSessionDocument>),
}

/// What ends a page among records: `{"nextCursor":…}`.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
struct NextRecord<'c> {
    /// Where the next page begins.
    next_cursor: &'c str,
}

/// A note among records: `{"note":{…}}`.
#[derive(JsonSchema, Serialize)]
pub struct NoteRecord<'n> {
    /// What could not be searched.
    pub note: &'n ProblemDocument,
}

fn end_records(records: &mut RecordOut<'_>, notes: &[ProblemDocument], cursor: Option<&str>) -> io::Result<()> {
    for note in notes {
        records.write(&NoteRecord { note })?;
    }
    cursor.map_or(Ok(()), |next_cursor| records.write(&NextRecord { next_cursor }))
}

fn end_text(text: &mut TextOut<'_>, cursor: Option<&str>) -> io::Result<()> {
    let Some(cursor) = cursor else { return Ok(()) };
    let line = text.styled(Style::Dim, &format!("there is more: --cursor {cursor}"));
    text.line(&line)
}

impl Document for SearchDocument {
    const SCHEMA: &'static str = "dshkit/sessions.search/1";

    fn text(&self, text: &mut TextOut<'_>) -> io::Result<()> {
        self.items.iter().try_for_each(|item| item.print(text))?;
        end_text(text, self.next_cursor.as_deref())
    }

    fn records(&self, records: &mut RecordOut<'_>) -> io::Result<()> {
        self.items.iter().try_for_each(|item| records.write(item))?;
        end_records(records, &self.notes, self.next_cursor.as_deref())
    }
}

impl Document for SearchSessionDocument {
    const SCHEMA: &'static str = "dshkit/sessions.search/1";

    fn text(&self, text: &mut TextOut<'_>) -> io::Result<()> {
        for item in &self.items {
            let line = item.line(text);
            text.line(&line)?;
        }
        end_text(text, self.next_cursor.as_deref())
    }

    fn records(&self, records: &mut RecordOut<'_>) -> io::Result<()> {
        self.items.iter().try_for_each(|item| records.write(item))?;
        end_records(records, &self.notes, self.next_cursor.as_deref())
    }
}

/// A note for people.
pub fn note_line(problem: &crate::model::problem::Problem) -> String {
    format!("not all was searched: {problem}")
}
