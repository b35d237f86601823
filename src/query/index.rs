//! A full-text index over a store, which makes searches faster and no search different.
//!
//! It is a SQLite database in the user's cache: what the events of each sound log say, compressed in
//! chunks, and which three-character pieces each chunk has (FTS5). A search looks up the chunks that can
//! hold the pattern and then matches the texts themselves. Logs that are damaged, or have changed since
//! they were indexed, are not looked up but read.
//!
//! The database is disposable. Every session is brought in by one transaction, so whoever is killed
//! leaves nothing half done, and several processes may build and search at once.

mod build;
mod lookup;

pub use build::Built;
pub use lookup::search_indexed;

use crate::cache::{self, CacheError, Kind, is_broken};
use crate::corpus::{Corpus, Record};
use crate::error::{Code, Failure};
use build::refresh;
use rusqlite::Connection;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The databases that indexes lie in.
const KIND: Kind = Kind {
    directory: "index",
    // "DSHI"
    application_id: 0x4453_4849,
    schema: 2,
    tables: "
CREATE TABLE sessions (
  id INTEGER PRIMARY KEY,
  path TEXT NOT NULL,
  session BLOB NOT NULL,
  revision BLOB NOT NULL,
  is_sound INTEGER NOT NULL,
  shadowed BLOB NOT NULL,
  UNIQUE (path, session)
);
CREATE TABLE chunks (id INTEGER PRIMARY KEY, session INTEGER NOT NULL, documents BLOB NOT NULL);
CREATE INDEX chunks_of_session ON chunks (session);
CREATE VIRTUAL TABLE grams USING fts5 (pieces, content = '', contentless_delete = 1, detail = none, tokenize = 'ascii');
",
    patience: Duration::from_secs(30),
};

/// An open index.
pub struct Index {
    connection: Connection,
    path: PathBuf,
}

/// What an index holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holdings {
    /// How many sessions.
    pub sessions: u64,
    /// How many of them are sound and can be looked up.
    pub sound: u64,
    /// The size of the database in bytes.
    pub bytes: u64,
}

/// Where the index of a store lies in a cache directory.
pub fn place(cache: &Path, store: &Path) -> PathBuf {
    KIND.place(cache, store)
}

impl Index {
    /// Opens the index of a store, and makes an empty one where there is none, or one of another schema,
    /// or a broken one.
    ///
    /// # Errors
    /// The directory cannot be written, or what lies there is no index of this store.
    pub fn open_or_create(path: &Path, store: &Path) -> Result<Index, Failure> {
        Ok(Index { connection: KIND.open_or_create(path, store)?, path: path.to_owned() })
    }

    /// Opens the index of a store if there is a usable one.
    ///
    /// # Errors
    /// What lies there is no index of this store.
    pub fn open_existing(path: &Path, store: &Path) -> Result<Option<Index>, Failure> {
        let connection = KIND.open_existing(path, store)?;
        Ok(connection.map(|connection| Index { connection, path: path.to_owned() }))
    }

    /// Deletes the index of a store; `false` if there is none.
    ///
    /// # Errors
    /// What lies there is no index of ours, or it cannot be deleted.
    pub fn clear(path: &Path) -> Result<bool, Failure> {
        Ok(KIND.clear(path)?)
    }

    /// What it holds.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn holdings(&self) -> Result<Holdings, Failure> {
        let query = "SELECT count(*), total(is_sound) FROM sessions";
        let (sessions, sound) = self
            .connection
            .query_row(query, [], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, f64>(1)?)))
            .map_err(|error| failed(&self.path, &error))?;
        Ok(Holdings { sessions: sessions as u64, sound: sound as u64, bytes: cache::size(&self.path) })
    }
}

/// The index of a store, made or brought up to date with these sessions; one that turns out to be broken
/// is made anew. `progress` is told how many of how many sessions are done.
///
/// # Errors
/// The cache cannot be written, or what lies there is no index of this store.
pub fn up_to_date(
    path: &Path,
    corpus: &Corpus,
    records: &[Record],
    progress: &mut dyn FnMut(usize, usize),
) -> Result<(Index, Built), Failure> {
    let mut index = Index::open_or_create(path, corpus.path())?;
    let refreshed = match refresh(&mut index, corpus, records, progress) {
        Err(error) if is_broken(&error) => {
            drop(index);
            cache::remove(path).map_err(|error| failed(path, &error))?;
            index = Index::open_or_create(path, corpus.path())?;
            refresh(&mut index, corpus, records, progress)
        }
        refreshed => refreshed,
    };
    let built = refreshed.map_err(|error| failed(path, &error))?;
    if built.indexed + built.removed > 0 {
        // Moves the write-ahead log into the database. Where another process reads, a later run will do it.
        let _ = index.connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)");
    }
    Ok((index, built))
}

fn failed(path: &Path, error: &dyn std::fmt::Display) -> Failure {
    CacheError::failed(path, error).into()
}

impl From<CacheError> for Failure {
    fn from(error: CacheError) -> Failure {
        let failure = Failure::new(Code::IndexFailed, format!("the search index: {error}"));
        match error.hint() {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }
}
