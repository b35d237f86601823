//! Databases in the user's cache directory: one a store, for the owner alone, and disposable.
//!
//! A database is recognised as ours by an application id and belongs to one store, whose path stands in
//! it. One of another schema, of another store, or damaged is made anew; a file that is not ours is never
//! opened for writing, and never deleted.

use crate::stores::sqlite::{MAGIC, sibling};
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension};
use std::collections::hash_map::DefaultHasher;
use std::fmt;
use std::fs;
use std::hash::{Hash, Hasher};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

/// A kind of database.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// The directory below ours that such databases lie in.
    pub directory: &'static str,
    /// What marks a database as one of the kind: four characters.
    pub application_id: i64,
    /// The version of its tables. Another one is made anew.
    pub schema: i64,
    /// The statements that make them.
    pub tables: &'static str,
    /// How long to wait for another process that writes.
    pub patience: Duration,
}

/// Why a database cannot be used.
#[derive(Debug)]
pub enum CacheError {
    /// What lies at its path is not ours.
    Foreign(PathBuf),
    /// The operating system or SQLite said no.
    Failed(PathBuf, String),
}

impl CacheError {
    /// The error that SQLite or the operating system gave about a database.
    pub fn failed(path: &Path, error: impl fmt::Display) -> CacheError {
        CacheError::Failed(path.to_owned(), error.to_string())
    }

    /// What the user can do about it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            CacheError::Foreign(_) => Some("move it away, or name another cache with XDG_CACHE_HOME"),
            CacheError::Failed(..) => None,
        }
    }
}

impl fmt::Display for CacheError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CacheError::Foreign(path) => write!(f, "{} is not dshkit's, so it is left alone", path.display()),
            CacheError::Failed(path, error) => write!(f, "{} cannot be used: {error}", path.display()),
        }
    }
}

impl std::error::Error for CacheError {}

impl Kind {
    /// Where the database of a store lies in a cache directory.
    pub fn place(&self, cache: &Path, store: &Path) -> PathBuf {
        let mut hasher = DefaultHasher::new();
        canonical(store).as_os_str().hash(&mut hasher);
        cache.join("dshkit").join(self.directory).join(format!("{:016x}.sqlite", hasher.finish()))
    }

    /// Opens the database of a store, and makes an empty one where there is none, or one of no use.
    ///
    /// # Errors
    /// The directory cannot be written, or what lies there is not ours.
    pub fn open_or_create(&self, path: &Path, store: &Path) -> Result<Connection, CacheError> {
        let failed = |error: io::Error| CacheError::failed(path, error);
        create_private(path).map_err(failed)?;
        if let Some(connection) = self.try_open(path, store)? {
            return Ok(connection);
        }
        remove(path).and_then(|()| create_private(path)).map_err(failed)?;
        self.try_open(path, store)?.ok_or_else(|| CacheError::failed(path, "it cannot be made anew"))
    }

    /// Opens the database of a store if there is a usable one.
    ///
    /// # Errors
    /// What lies there is not ours, or cannot be opened.
    pub fn open_existing(&self, path: &Path, store: &Path) -> Result<Option<Connection>, CacheError> {
        if fs::metadata(path).is_ok_and(|metadata| metadata.len() > 0) { self.try_open(path, store) } else { Ok(None) }
    }

    /// Deletes a database; `false` if there is none.
    ///
    /// # Errors
    /// What lies there is not ours, or cannot be deleted.
    pub fn clear(&self, path: &Path) -> Result<bool, CacheError> {
        if !path.exists() {
            return Ok(false);
        }
        if !self.is_ours(path)? {
            return Err(CacheError::Foreign(path.to_owned()));
        }
        remove(path).map_err(|error| CacheError::failed(path, error))?;
        Ok(true)
    }

    /// `None`: what lies there is ours, and of no use.
    fn try_open(&self, path: &Path, store: &Path) -> Result<Option<Connection>, CacheError> {
        if !self.is_ours(path)? {
            return Err(CacheError::Foreign(path.to_owned()));
        }
        match self.open(path, store) {
            Ok(connection) => Ok(connection),
            Err(error) if is_broken(&error) => Ok(None),
            Err(error) => Err(CacheError::failed(path, error)),
        }
    }

    fn open(&self, path: &Path, store: &Path) -> rusqlite::Result<Option<Connection>> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags)?;
        connection.busy_timeout(self.patience)?;
        self.mark(&connection)?;
        self.write_ahead(&connection)?;
        connection.pragma_update(None, "synchronous", "normal")?;
        let store = canonical(store);
        let store = store.to_string_lossy();
        match self.has_tables_for(&connection, &store)? {
            Some(is_usable) => return Ok(is_usable.then_some(connection)),
            None => connection.execute_batch("BEGIN IMMEDIATE")?,
        }
        let made = self.make_tables(&connection, &store);
        connection.execute_batch(if made.is_ok() { "COMMIT" } else { "ROLLBACK" })?;
        made.map(|is_usable| is_usable.then_some(connection))
    }

    /// Whether the tables are those of this schema and this store; `None` if there are none at all.
    fn has_tables_for(&self, connection: &Connection, store: &str) -> rusqlite::Result<Option<bool>> {
        let tables: i64 = connection.query_row("SELECT count(*) FROM sqlite_master", [], |row| row.get(0))?;
        if tables == 0 {
            return Ok(None);
        }
        let schema: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
        if schema != self.schema {
            return Ok(Some(false));
        }
        let of: Option<String> = connection.query_row("SELECT path FROM store", [], |row| row.get(0)).optional()?;
        Ok(Some(of.as_deref() == Some(store)))
    }

    /// Makes the tables, unless another process was faster, and tells whether they will do.
    fn make_tables(&self, connection: &Connection, store: &str) -> rusqlite::Result<bool> {
        if let Some(is_usable) = self.has_tables_for(connection, store)? {
            return Ok(is_usable);
        }
        connection.execute_batch("CREATE TABLE store (path TEXT NOT NULL)")?;
        connection.execute_batch(self.tables)?;
        connection.execute("INSERT INTO store VALUES (?)", [store])?;
        connection.pragma_update(None, "user_version", self.schema)?;
        Ok(true)
    }

    /// Marks an empty database as ours. Before it is put into write-ahead mode, so that the mark is in
    /// the file itself, and with its first page, so that no one ever sees the file without.
    fn mark(&self, connection: &Connection) -> rusqlite::Result<()> {
        let id: i64 = connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
        if id == self.application_id {
            return Ok(());
        }
        connection.execute_batch("BEGIN IMMEDIATE")?;
        let tables: i64 = connection.query_row("SELECT count(*) FROM sqlite_master", [], |row| row.get(0))?;
        if tables == 0 {
            connection.pragma_update(None, "application_id", self.application_id)?;
        }
        connection.execute_batch("COMMIT")
    }

    /// Puts a database into write-ahead mode, if it is not. SQLite waits for others with everything else,
    /// but not with this.
    fn write_ahead(&self, connection: &Connection) -> rusqlite::Result<()> {
        const PAUSE: Duration = Duration::from_millis(5);
        let mut waited = Duration::ZERO;
        loop {
            match connection.pragma_update(None, "journal_mode", "wal") {
                Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) && waited < self.patience => {
                    thread::sleep(PAUSE);
                    waited += PAUSE;
                }
                changed => return changed,
            }
        }
    }

    /// Whether a file is a database of the kind or empty, by what stands in the header of every SQLite
    /// database: its magic number and, at byte 68, the application id. The file is not opened as a
    /// database, which would leave files beside it.
    fn is_ours(&self, path: &Path) -> Result<bool, CacheError> {
        let mut header = Vec::new();
        let failed = |error: io::Error| CacheError::failed(path, error);
        let file = fs::File::open(path).map_err(failed)?;
        file.take(100).read_to_end(&mut header).map_err(failed)?;
        let id = header.get(68..72).map(|id| i64::from(u32::from_be_bytes([id[0], id[1], id[2], id[3]])));
        Ok(header.is_empty() || header.starts_with(MAGIC) && id == Some(self.application_id))
    }
}

/// Whether an error says that the database is damaged.
pub fn is_broken(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase))
}

/// Deletes a database and what SQLite keeps beside it.
///
/// # Errors
/// The operating system said no.
pub fn remove(path: &Path) -> io::Result<()> {
    for suffix in ["-wal", "-shm", ""] {
        match fs::remove_file(sibling(path, suffix)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// The size of a database in bytes, with what SQLite keeps beside it.
pub fn size(path: &Path) -> u64 {
    ["", "-wal"].iter().map(|suffix| fs::metadata(sibling(path, suffix)).map_or(0, |metadata| metadata.len())).sum()
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

/// The one path of a store, however it was named.
fn canonical(store: &Path) -> PathBuf {
    fs::canonicalize(store).unwrap_or_else(|_| store.to_owned())
}
