//! `dshkit/sessions.path/1`

use crate::corpus::Record;
use crate::output::json::Js;
use crate::output::{Document, RecordOut, TextOut};
use schemars::JsonSchema;
use serde::Serialize;
use std::io;
use std::path::PathBuf;

/// Where logs lie.
#[derive(JsonSchema, Serialize)]
pub struct PathDocument {
    /// In the order asked for.
    paths: Vec<PathFacts>,
}

/// A session and its log.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
struct PathFacts {
    /// The session's id.
    session_id: Js,
    /// Its log file, or the database it is in.
    path: String,
    #[serde(skip)]
    raw: PathBuf,
}

impl PathDocument {
    /// The paths of sessions.
    pub fn of(records: &[&Record]) -> PathDocument {
        let facts = |record: &&Record| PathFacts {
            session_id: Js::from(record.id()),
            path: record.stored.path.display().to_string(),
            raw: record.stored.path.clone(),
        };
        PathDocument { paths: records.iter().map(facts).collect() }
    }

    /// The paths as bytes, each with an end mark.
    pub fn bytes(&self, end: u8) -> Vec<u8> {
        let mut bytes = Vec::new();
        for facts in &self.paths {
            bytes.extend_from_slice(facts.raw.as_os_str().as_encoded_bytes());
            bytes.push(end);
        }
        bytes
    }
}

impl Document for PathDocument {
    const SCHEMA: &'static str = "dshkit/sessions.path/1";

    fn text(&self, text: &mut TextOut<'_>) -> io::Result<()> {
        for facts in &self.paths {
            text.line(&crate::output::terminal_text::visible(&facts.path))?;
        }
        Ok(())
    }

    fn records(&self, records: &mut RecordOut<'_>) -> io::Result<()> {
        self.paths.iter().try_for_each(|facts| records.write(facts))
    }
}
