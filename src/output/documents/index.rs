//! `dshkit/index.status/1`, `dshkit/index.build/1`, `dshkit/index.clear/1`

use crate::output::terminal_text::visible;
use crate::output::{Document, TextOut};
use crate::query::index::{Built, Holdings};
use schemars::JsonSchema;
use serde::Serialize;
use std::io;
use std::path::Path;

/// The search index of a store.
#[derive(JsonSchema, Serialize)]
pub struct IndexStatusDocument {
    /// Where the index is.
    path: String,
    /// Whether it is there.
    exists: bool,
    /// How many sessions the store has.
    sessions: u64,
    /// How many of them the index can look up.
    indexed: u64,
    /// How many it has to bring in or take out first.
    stale: u64,
    /// How large the index is.
    bytes: u64,
}

impl IndexStatusDocument {
    /// The document of an index, or of none.
    pub fn of(path: &Path, sessions: u64, holdings: Option<Holdings>, stale: Option<u64>) -> IndexStatusDocument {
        IndexStatusDocument {
            path: path.display().to_string(),
            exists: holdings.is_some(),
            sessions,
            indexed: holdings.map_or(0, |holdings| holdings.sound),
            stale: stale.unwrap_or(sessions),
            bytes: holdings.map_or(0, |holdings| holdings.bytes),
        }
    }
}

impl Document for IndexStatusDocument {
    const SCHEMA: &'static str = "dshkit/index.status/1";

    fn text(&self, text: &mut TextOut<'_>) -> io::Result<()> {
        if !self.exists {
            return text.line(&format!("no index at {}", visible(&self.path)));
        }
        let Self { sessions, indexed, stale, bytes, .. } = self;
        let path = visible(&self.path);
        text.line(&format!("{path}: {indexed} of {sessions} sessions, {stale} to bring up to date, {bytes} bytes"))
    }
}

/// What was done to the search index.
#[derive(JsonSchema, Serialize)]
pub struct IndexBuildDocument {
    /// Where the index is.
    path: String,
    /// How many sessions were brought in.
    indexed: u64,
    /// How many were taken out.
    removed: u64,
    /// How many stayed as they were.
    unchanged: u64,
    /// How large the index is.
    bytes: u64,
}

impl IndexBuildDocument {
    /// The document of what was done.
    pub fn of(path: &Path, built: Built, holdings: Holdings) -> IndexBuildDocument {
        let Built { indexed, removed, unchanged } = built;
        IndexBuildDocument { path: path.display().to_string(), indexed, removed, unchanged, bytes: holdings.bytes }
    }
}

impl Document for IndexBuildDocument {
    const SCHEMA: &'static str = "dshkit/index.build/1";

    fn text(&self, text: &mut TextOut<'_>) -> io::Result<()> {
        let Self { indexed, removed, unchanged, bytes, .. } = self;
        let path = visible(&self.path);
        text.line(&format!("{path}: {indexed} indexed, {removed} removed, {unchanged} unchanged, {bytes} bytes"))
    }
}

/// Whether the search index was deleted.
#[derive(JsonSchema, Serialize)]
pub struct IndexClearDocument {
    /// Where the index is looked for.
    path: String,
    /// Whether there was one.
    cleared: bool,
}

impl IndexClearDocument {
    /// The document of what was done.
    pub fn of(path: &Path, cleared: bool) -> IndexClearDocument {
        IndexClearDocument { path: path.display().to_string(), cleared }
    }
}

impl Document for IndexClearDocument {
    const SCHEMA: &'static str = "dshkit/index.clear/1";

    fn text(&self, text: &mut TextOut<'_>) -> io::Result<()> {
        let what = if self.cleared { "deleted" } else { "no index at" };
        text.line(&format!("{what} {}", visible(&self.path)))
    }
}
