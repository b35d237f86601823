//! The ledger: which side chats there are, whose they are, and what became of their folds and cites
//! (seed §9.3, §10; DESIGN §5).
//!
//! It is a SQLite database in the DSH home, and the truth about relations; what was said stays in the
//! logs. Whoever only reads opens it read-only and makes nothing. Whoever writes also holds a lock file
//! beside it until done, so what a writer finds half done was left by one that is gone.

mod chats;
mod cites;
mod column;
mod folds;
mod provenance;
mod relinks;
mod restore;
mod schema;
mod withdrawals;

pub use folds::{Decision, NewFold};
pub use restore::Restored;

use crate::error::{Code, Failure};
use crate::stores::sqlite::sibling;
use crate::stores::steps::{Steps, take};
use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;
use tempfile::TempDir;

/// How long to wait for another process that writes, in tries and the pause between them.
const TRIES: u32 = 100;
const PAUSE: Duration = Duration::from_millis(100);

/// An open ledger.
pub struct Ledger {
    connection: Connection,
    path: PathBuf,
    /// Where a copy lies that had to be made to read it.
    _copy: Option<TempDir>,
    /// The lock of a writer.
    _lock: Option<Held>,
}

/// A lock file that is locked until this is dropped.
struct Held(File);

/// A sign for other processes that a model is writing a fold for this one, until it is dropped.
#[must_use = "the sign is taken down when this is dropped"]
pub struct AtWork {
    _lock: Held,
}

impl Drop for Held {
    /// Closing the file would do, were it not for a child process that is just being started by another
    /// thread and still has a copy of it.
    fn drop(&mut self) {
        let _ = self.0.unlock();
    }
}

/// Where the ledger of a DSH home lies.
pub fn place(home: &Path) -> PathBuf {
    home.join("dshkit").join("sidechat.sqlite")
}

impl Ledger {
    /// Opens the ledger of a home for reading. `None`: there is none.
    ///
    /// # Errors
    /// It is of a newer dshkit, none of ours, damaged, or unreadable.
    pub fn open_existing(home: &Path) -> Result<Option<Ledger>, Failure> {
        let path = place(home);
        match fs::metadata(&path) {
            Ok(metadata) if metadata.len() == 0 => return Ok(None),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(unreadable(&path, &error)),
        }
        let open = |path: &Path, flags| -> rusqlite::Result<Connection> {
            let connection = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
            connection.busy_timeout(PAUSE * TRIES)?;
            connection.query_row("SELECT count(*) FROM sqlite_master", [], |row| row.get::<_, i64>(0))?;
            Ok(connection)
        };
        match open(&path, OpenFlags::SQLITE_OPEN_READ_ONLY) {
            Ok(connection) => Ledger { connection, path, _copy: None, _lock: None }.checked(),
            // A writer was killed, and its last transaction is still to be taken back: in a copy, then.
            Err(_) if sibling(&path, "-journal").exists() => {
                let copy = Ledger::copy_home(home)?;
                let connection = open(&place(copy.path()), OpenFlags::SQLITE_OPEN_READ_WRITE)
                    .map_err(|error| failed(&path, &error))?;
                Ledger { connection, path, _copy: Some(copy), _lock: None }.checked()
            }
            Err(error) => Err(failed(&path, &error)),
        }
    }

    /// Opens the ledger of a home for writing, makes it where there is none, and brings the tables of an
    /// older dshkit up to date. While it is open nobody else writes.
    ///
    /// # Errors
    /// Somebody else writes; it cannot be made or written; or as [`Ledger::open_existing`].
    pub fn open_for_writing(home: &Path, steps: &mut dyn Steps) -> Result<Ledger, Failure> {
        let path = place(home);
        let folder = path.parent().unwrap_or(home);
        take(steps, "ledger-folder", || make_private_folder(folder)).map_err(|error| unwritable(folder, &error))?;
        let lock_path = folder.join("sidechat.lock");
        let lock = open_private(&lock_path).map_err(|error| unwritable(&lock_path, &error))?;
        wait_for(&lock, &lock_path)?;
        take(steps, "ledger-file", || open_private(&path)).map_err(|error| unwritable(&path, &error))?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(&path, flags).map_err(|error| failed(&path, &error))?;
        let mut ledger = Ledger { connection, path, _copy: None, _lock: Some(Held(lock)) };
        ledger.prepare(steps)?;
        Ok(ledger)
    }

    fn prepare(&mut self, steps: &mut dyn Steps) -> Result<(), Failure> {
        let set = |connection: &Connection| {
            connection.busy_timeout(PAUSE * TRIES)?;
            connection.pragma_update(None, "journal_mode", "delete")?;
            connection.pragma_update(None, "foreign_keys", true)?;
            connection.pragma_update(None, "synchronous", "full")?;
            schema::version(connection)
        };
        let version = set(&self.connection).map_err(|error| failed(&self.path, &error))?;
        schema::check(version).map_err(|message| self.unsupported(&message))?;
        if schema::is_current(version) {
            return Ok(());
        }
        self.transaction(steps, "ledger-schema", |transaction| schema::migrate(transaction, version))
    }

    /// The ledger, if its tables are those of this dshkit; `None` if there are none yet.
    fn checked(self) -> Result<Option<Ledger>, Failure> {
        let version = schema::version(&self.connection).map_err(|error| failed(&self.path, &error))?;
        schema::check(version).map_err(|message| self.unsupported(&message))?;
        if schema::is_empty(version) {
            return Ok(None);
        }
        if !schema::is_current(version) {
            let message = format!("the ledger {} is of an older dshkit", self.path.display());
            return Err(Failure::new(Code::LedgerFailed, message)
                .hint("any command that writes brings it up to date, for example `dshkit sidechat deliver`"));
        }
        Ok(Some(self))
    }

    /// Tells other processes that a model writes a fold for this one. The caller has the ledger open for writing, so
    /// that nobody looks in between.
    ///
    /// # Errors
    /// The lock file cannot be made or locked.
    pub fn set_at_work(&self) -> Result<AtWork, Failure> {
        let (file, path) = self.work_lock()?;
        file.lock_shared().map_err(|error| unwritable(&path, &error))?;
        Ok(AtWork { _lock: Held(file) })
    }

    /// Whether a model may be writing a fold for some process that lives. The caller has the ledger open for writing.
    ///
    /// # Errors
    /// As [`Ledger::set_at_work`].
    pub fn is_somebody_at_work(&self) -> Result<bool, Failure> {
        let (file, path) = self.work_lock()?;
        match file.try_lock().map(|()| Held(file)) {
            Ok(_) => Ok(false),
            Err(TryLockError::WouldBlock) => Ok(true),
            Err(TryLockError::Error(error)) => Err(unwritable(&path, &error)),
        }
    }

    fn work_lock(&self) -> Result<(File, PathBuf), Failure> {
        let path = self.path.with_file_name("generating.lock");
        open_private(&path).map(|file| (file, path.clone())).map_err(|error| unwritable(&path, &error))
    }

    /// A private home with a copy of the ledger of another, and of what is to be taken back there. It is removed when
    /// dropped.
    ///
    /// # Errors
    /// The ledger cannot be copied.
    pub fn copy_home(home: &Path) -> Result<TempDir, Failure> {
        let (from, failed) = (place(home), |error: io::Error| unreadable(&place(home), &error));
        let copied = tempfile::tempdir().map_err(failed)?;
        let to = place(copied.path());
        make_private_folder(&copied.path().join("dshkit")).map_err(failed)?;
        for (from, to) in [(from.clone(), to.clone()), (sibling(&from, "-journal"), sibling(&to, "-journal"))] {
            match fs::copy(from, to) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
                _ => {}
            }
        }
        Ok(copied)
    }

    /// Goes through the whole database, and whether what its rows belong to is there.
    ///
    /// # Errors
    /// It is damaged.
    pub fn check(&self) -> Result<(), Failure> {
        let strays: i64 = self.query(|connection| {
            connection.query_row("SELECT count(*) FROM pragma_foreign_key_check", [], |row| row.get(0))
        })?;
        if strays > 0 {
            return Err(failed(&self.path, &format!("{strays} rows belong to nothing that it has")));
        }
        let said: String =
            self.query(|connection| connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0)))?;
        if said == "ok" { Ok(()) } else { Err(failed(&self.path, &said)) }
    }

    fn unsupported(&self, message: &str) -> Failure {
        Failure::new(Code::UnsupportedFormat, format!("the ledger {} {message}", self.path.display()))
    }

    /// Does something to the database, whole or not at all.
    fn transaction<T>(
        &mut self,
        steps: &mut dyn Steps,
        step: &'static str,
        action: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, Failure> {
        let path = self.path.clone();
        let failed = |error: &dyn std::fmt::Display| failed(&path, error);
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(|error| failed(&error))?;
        let result = action(&transaction).map_err(|error| failed(&error))?;
        take(steps, step, || transaction.commit().map_err(io::Error::other)).map_err(|error| failed(&error))?;
        Ok(result)
    }

    /// Asks the database something.
    fn query<T>(&self, action: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, Failure> {
        action(&self.connection).map_err(|error| failed(&self.path, &error))
    }
}

/// Waits for the lock of a writer, which works for moments only.
fn wait_for(lock: &File, path: &Path) -> Result<(), Failure> {
    for _ in 0..TRIES {
        match lock.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) => thread::sleep(PAUSE),
            Err(TryLockError::Error(error)) => return Err(unwritable(path, &error)),
        }
    }
    let message = format!("another dshkit has been writing for a while: it holds {}", path.display());
    Err(Failure::new(Code::LedgerBusy, message).hint("try again when it is done"))
}

fn make_private_folder(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    match builder.create(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
        result => result,
    }
}

fn open_private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

fn failed(path: &Path, error: &dyn std::fmt::Display) -> Failure {
    Failure::new(Code::LedgerFailed, format!("the ledger {} cannot be used: {error}", path.display()))
}

fn unreadable(path: &Path, error: &io::Error) -> Failure {
    Failure::new(Code::Io, format!("could not read {}: {error}", path.display()))
}

fn unwritable(path: &Path, error: &io::Error) -> Failure {
    Failure::new(Code::Io, format!("could not write {}: {error}", path.display()))
}
