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

use super::cursor::digest;
use crate::corpus::{Corpus, Record};
use crate::error::{Code, Failure};
use crate::stores::sqlite::{MAGIC, sibling};
use build::refresh;
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

/// `DSHI`: marks the database as an index of ours.
const APPLICATION_ID: i64 = 0x4453_4849;

/// The version of the tables below. Another one is rebuilt.
const SCHEMA: i64 = 2;

const TABLES: &str = "
CREATE TABLE store (path TEXT NOT NULL);
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
";

/// How long to wait for another process that writes.
const PATIENCE: Duration = Duration::from_secs(30);

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
    cache.join("dshkit").join("index").join(format!("{:016x}.sqlite", digest(canonical(store).as_os_str())))
}

impl Index {
    /// Opens the index of a store, and makes an empty one where there is none, or one of another schema,
    /// or a broken one.
    ///
    /// # Errors
    /// The directory cannot be written, or what lies there is no index of this store.
    pub fn open_or_create(path: &Path, store: &Path) -> Result<Index, Failure> {
        create_private(path).map_err(|error| failed(path, &error))?;
        match Index::try_open(path, store) {
            Ok(Some(index)) => Ok(index),
            Ok(None) if !is_ours(path)? => Err(foreign(path)),
            Ok(None) => {
                remove(path).and_then(|()| create_private(path)).map_err(|error| failed(path, &error))?;
                let index = Index::try_open(path, store)?;
                index.ok_or_else(|| failed(path, &"it cannot be made anew"))
            }
            Err(failure) => Err(failure),
        }
    }

    /// Opens the index of a store if there is a usable one.
    ///
    /// # Errors
    /// What lies there is no index of this store.
    pub fn open_existing(path: &Path, store: &Path) -> Result<Option<Index>, Failure> {
        if fs::metadata(path).is_ok_and(|metadata| metadata.len() > 0) {
            Index::try_open(path, store)
        } else {
            Ok(None)
        }
    }

    /// Deletes the index of a store; `false` if there is none.
    ///
    /// # Errors
    /// What lies there is no index of ours, or it cannot be deleted.
    pub fn clear(path: &Path) -> Result<bool, Failure> {
        if !path.exists() {
            return Ok(false);
        }
        if !is_ours(path)? {
            return Err(foreign(path));
        }
        remove(path).map_err(|error| failed(path, &error))?;
        Ok(true)
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
        let size = |suffix: &str| fs::metadata(sibling(&self.path, suffix)).map_or(0, |metadata| metadata.len());
        Ok(Holdings { sessions: sessions as u64, sound: sound as u64, bytes: size("") + size("-wal") })
    }

    /// `None`: what lies there is ours, and of no use.
    fn try_open(path: &Path, store: &Path) -> Result<Option<Index>, Failure> {
        if !is_ours(path)? {
            return Err(foreign(path));
        }
        match Index::open(path, store) {
            Ok(index) => Ok(index),
            Err(error) if is_broken(&error) => Ok(None),
            Err(error) => Err(failed(path, &error)),
        }
    }

    fn open(path: &Path, store: &Path) -> rusqlite::Result<Option<Index>> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags)?;
        connection.busy_timeout(PATIENCE)?;
        mark(&connection)?;
        write_ahead(&connection)?;
        connection.pragma_update(None, "synchronous", "normal")?;
        let index = Index { connection, path: path.to_owned() };
        let store = canonical(store);
        index.connection.execute_batch("BEGIN IMMEDIATE")?;
        let is_usable = index.is_usable(&store.to_string_lossy());
        match is_usable {
            Ok(true) => index.connection.execute_batch("COMMIT")?,
            _ => index.connection.execute_batch("ROLLBACK")?,
        }
        is_usable.map(|is_usable| is_usable.then_some(index))
    }

    /// Makes the tables of an empty database, and tells whether those of another one will do.
    fn is_usable(&self, store: &str) -> rusqlite::Result<bool> {
        let tables: i64 = self.connection.query_row("SELECT count(*) FROM sqlite_master", [], |row| row.get(0))?;
        if tables == 0 {
            self.connection.execute_batch(TABLES)?;
            self.connection.execute("INSERT INTO store VALUES (?)", [store])?;
            self.connection.pragma_update(None, "user_version", SCHEMA)?;
            return Ok(true);
        }
        let schema: i64 = self.connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
        if schema != SCHEMA {
            return Ok(false);
        }
        let of: Option<String> =
            self.connection.query_row("SELECT path FROM store", [], |row| row.get(0)).optional()?;
        Ok(of.as_deref() == Some(store))
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
            remove(path).map_err(|error| failed(path, &error))?;
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

/// Whether an error says that the database is damaged.
fn is_broken(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase))
}

/// Marks an empty database as ours. Before it is put into write-ahead mode, so that the mark is in the
/// file itself, and with its first page, so that no one ever sees the file without.
fn mark(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch("BEGIN IMMEDIATE")?;
    let tables: i64 = connection.query_row("SELECT count(*) FROM sqlite_master", [], |row| row.get(0))?;
    if tables == 0 {
        connection.pragma_update(None, "application_id", APPLICATION_ID)?;
    }
    connection.execute_batch("COMMIT")
}

/// Puts a database into write-ahead mode, if it is not. SQLite waits for others with everything else, but
/// not with this.
fn write_ahead(connection: &Connection) -> rusqlite::Result<()> {
    const PAUSE: Duration = Duration::from_millis(5);
    let mut waited = Duration::ZERO;
    loop {
        match connection.pragma_update(None, "journal_mode", "wal") {
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) && waited < PATIENCE => {
                thread::sleep(PAUSE);
                waited += PAUSE;
            }
            changed => return changed,
        }
    }
}

/// Whether a file is an index of ours or empty, by what stands in the header of every SQLite database:
/// its magic number and, at byte 68, the application id. The file is not opened as a database, which
/// would leave files beside it.
fn is_ours(path: &Path) -> Result<bool, Failure> {
    use std::io::Read;
    let mut header = Vec::new();
    let file = fs::File::open(path).map_err(|error| failed(path, &error))?;
    file.take(100).read_to_end(&mut header).map_err(|error| failed(path, &error))?;
    let id = header.get(68..72).map(|id| i64::from(u32::from_be_bytes([id[0], id[1], id[2], id[3]])));
    Ok(header.is_empty() || header.starts_with(MAGIC) && id == Some(APPLICATION_ID))
}

/// Makes the directories and an empty file for the owner alone.
fn create_private(path: &Path) -> io::Result<()> {
    if let Some(directory) = path.parent() {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(directory)?;
    }
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map(drop)
}

/// Deletes a database and what SQLite keeps beside it.
fn remove(path: &Path) -> io::Result<()> {
    for suffix in ["-wal", "-shm", ""] {
        match fs::remove_file(sibling(path, suffix)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// The one path of a store, however it was named.
fn canonical(store: &Path) -> PathBuf {
    fs::canonicalize(store).unwrap_or_else(|_| store.to_owned())
}

fn failed(path: &Path, error: &dyn std::fmt::Display) -> Failure {
    Failure::new(Code::IndexFailed, format!("the index {} cannot be used: {error}", path.display()))
}

fn foreign(path: &Path) -> Failure {
    Failure::new(Code::IndexFailed, format!("{} is no index of dshkit, so it is left alone", path.display()))
        .hint("move it away, or name another cache with XDG_CACHE_HOME")
}
