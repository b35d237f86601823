//! `dshkit/sessions.latest/1`

use super::list::time;
use super::session::SessionDocument;
use crate::corpus::Record;
use crate::output::terminal_text::visible_js;
use crate::output::{Document, TextOut};
use schemars::JsonSchema;
use serde::Serialize;
use std::io;

/// The newest session that fits, or none.
#[derive(JsonSchema, Serialize)]
pub struct LatestDocument<'r> {
    /// The session; `null` if none fits.
    session: Option<SessionDocument>,
    #[serde(skip)]
    record: Option<&'r Record>,
}

impl<'r> LatestDocument<'r> {
    /// The document of a session, or of none.
    pub fn of(record: Option<&'r Record>, cwd_exists: Option<bool>) -> LatestDocument<'r> {
        LatestDocument { session: record.map(|record| SessionDocument::of(record).cwd_exists(cwd_exists)), record }
    }
}

impl Document for LatestDocument<'_> {
    const SCHEMA: &'static str = "dshkit/sessions.latest/1";

    fn text(&self, text: &mut TextOut<'_>) -> io::Result<()> {
        let Some(record) = self.record else { return Ok(()) };
        let header = &record.stored.header;
        let cwd = header.cwd.as_ref().map_or_else(String::new, |cwd| visible_js(cwd));
        text.line(&format!("{}  {}  {cwd}", visible_js(&header.id), time(header.created_at as i64)))
    }
}
