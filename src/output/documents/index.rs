//! `dshkit/index.status/1`, `dshkit/index.build/1`, `dshkit/index.clear/1`

use crate::output::{Document, TextOut};
use crate::query::index::{Built, Holdings};
use serde::Serialize;
use std::io;
use std::path::Path;

/// `{path, exists, sessions, indexed, stale, bytes}`: how many sessions the store has, how many of them
/// the index can look up, how many it has to bring in or take out first.
#[derive(Serialize)]
pub struct IndexStatusDocument {
    path: String,
    exists: bool,
    sessions: u64,
    indexed: u64,
    stale: u64,
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
            return text.line(&format!("no index at {}", self.path));
        }
        let Self { path, sessions, indexed, stale, bytes, .. } = self;
        text.line(&format!("{path}: {indexed} of {sessions} sessions, {stale} to bring up to date, {bytes} bytes"))
    }
}

/// `{path, indexed, removed, unchanged, bytes}`: how many sessions were brought in, taken out, left.
#[derive(Serialize)]
pub struct IndexBuildDocument {
    path: String,
    indexed: u64,
    removed: u64,
    unchanged: u64,
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
        let Self { path, indexed, removed, unchanged, bytes } = self;
        text.line(&format!("{path}: {indexed} indexed, {removed} removed, {unchanged} unchanged, {bytes} bytes"))
    }
}

/// `{path, cleared}`: whether there was an index to delete.
#[derive(Serialize)]
pub struct IndexClearDocument {
    path: String,
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
        text.line(&format!("{what} {}", self.path))
    }
}
