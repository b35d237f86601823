//! The states of units, kept in the user's cache between one reading of a log and the next
//! (formats.md §10; seed 003, the cold-read ladder).
//!
//! Of each log there are rows `(key, version, seq, state)`, and of each seq that a row was made at a *cut*:
//! the log's revision then, an anchor by which a longer log is known to continue it, and what was open.
//! Every row and cut bears a digest over itself and over the identity of the log: where it lies, the id,
//! the generation, when and where the session was created. What does not fit is as if it were not there.

use super::checkpoint::{Checkpoint, Row};
use crate::cache::{CacheError, Kind, is_broken, remove};
use crate::corpus::Record;
use crate::generations::{Before, Generation};
use crate::model::closers::OpenTurn;
use crate::model::js_string::JsString;
use crate::model::json::{parse, write_value};
use crate::stores::Anchor;
use crate::stores::revision::Revision;
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params, params_from_iter};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const KIND: Kind = Kind {
    directory: "projections",
    // "DSHC"
    application_id: 0x4453_4843,
    schema: 1,
    tables: "
CREATE TABLE logs (id INTEGER PRIMARY KEY, path TEXT NOT NULL, session BLOB NOT NULL, UNIQUE (path, session));
CREATE TABLE cuts (
  log INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  revision BLOB NOT NULL,
  anchor BLOB NOT NULL,
  open TEXT NOT NULL,
  digest BLOB NOT NULL,
  PRIMARY KEY (log, seq)
) WITHOUT ROWID;
CREATE TABLE rows (
  log INTEGER NOT NULL,
  key TEXT NOT NULL,
  ver INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  val TEXT NOT NULL,
  digest BLOB NOT NULL,
  PRIMARY KEY (log, key)
) WITHOUT ROWID;
",
    patience: Duration::from_secs(5),
};

/// How many logs are looked up one by one.
const FEW: usize = 50;

/// The kept states of a store's logs.
pub struct Cache {
    connection: Connection,
    path: PathBuf,
}

/// A place up to which a log was read.
#[derive(Clone, Debug)]
pub struct Cut {
    /// How many events the log had.
    pub events: u64,
    /// Its revision, taken before it was read.
    pub revision: Revision,
    /// By what a longer log is known to continue it; `None` for a log that cannot be read in part.
    pub anchor: Option<Anchor>,
    /// What was open.
    pub open: OpenTurn,
}

impl Cut {
    /// What was before the events that follow.
    pub fn before(&self) -> Before {
        Before { events: self.events, open: self.open.clone() }
    }
}

/// What is kept of one log.
#[derive(Clone, Debug, Default)]
pub struct Entry {
    /// The states.
    pub checkpoint: Checkpoint,
    /// The places they were made at.
    pub cuts: Vec<Cut>,
}

/// What is to be kept of a log.
#[derive(Debug)]
pub struct Update<'r> {
    /// The session.
    pub record: &'r Record,
    /// Where it was read to.
    pub cut: Cut,
    /// The states there.
    pub checkpoint: Checkpoint,
}

/// What was found in a cache, to be looked at log by log.
#[derive(Debug, Default)]
pub struct Loaded {
    logs: HashMap<Key, Kept>,
    broken: AtomicUsize,
}

/// What lies in the cache of one log, believed by nobody yet. `None` is something of another type.
#[derive(Debug, Default)]
struct Kept {
    cuts: Vec<Option<(StoredCut, Vec<u8>)>>,
    rows: Vec<Option<(StoredRow, Vec<u8>)>>,
}

/// What identifies a log: its path, or that of its database, and the session's id.
type Key = (String, Vec<u8>);

fn key(record: &Record) -> Key {
    (record.stored.path.to_string_lossy().into_owned(), record.id().as_bytes().to_vec())
}

/// Where the cache of a store lies in a cache directory.
pub fn place(cache: &Path, store: &Path) -> PathBuf {
    KIND.place(cache, store)
}

impl Loaded {
    /// What is kept of a session's log, as far as it bears the digest it should.
    pub fn entry(&self, record: &Record) -> Option<Entry> {
        let key = key(record);
        let kept = self.logs.get(&key)?;
        let seal = Seal::of(record, &key);
        let cut = |cut: &Option<(StoredCut, Vec<u8>)>| {
            let (cut, digest) = cut.as_ref()?;
            if seal.cut(cut) == *digest { cut.read(record) } else { None }
        };
        let row = |row: &Option<(StoredRow, Vec<u8>)>| {
            let (row, digest) = row.as_ref()?;
            if seal.row(row) == *digest { row.read() } else { None }
        };
        let cuts: Vec<Cut> = kept.cuts.iter().filter_map(cut).collect();
        let rows: Vec<(String, Row)> = kept.rows.iter().filter_map(row).collect();
        let broken = kept.cuts.len() - cuts.len() + kept.rows.len() - rows.len();
        self.broken.fetch_add(broken, Ordering::Relaxed);
        Some(Entry { checkpoint: rows.into_iter().collect(), cuts })
    }

    /// How many rows and cuts of the logs looked at so far did not bear the digest they should.
    pub fn broken(&self) -> usize {
        self.broken.load(Ordering::Relaxed)
    }
}

impl Cache {
    /// Opens the cache of a store, and makes an empty one where there is none, or one of no use.
    ///
    /// # Errors
    /// It cannot be written, or what lies there is not ours.
    pub fn open(path: &Path, store: &Path) -> Result<Cache, CacheError> {
        Ok(Cache { connection: KIND.open_or_create(path, store)?, path: path.to_owned() })
    }

    /// What is kept of these sessions: the rows of these units, and the cuts.
    ///
    /// # Errors
    /// The cache cannot be read. A damaged one is deleted.
    pub fn load(&self, records: &[&Record], keys: &[&str]) -> Result<Loaded, CacheError> {
        self.try_load(records, keys).map_err(|error| self.failed(&error))
    }

    fn try_load(&self, records: &[&Record], keys: &[&str]) -> rusqlite::Result<Loaded> {
        // One transaction, so that rows and cuts are of the same moment.
        let transaction = self.connection.unchecked_transaction()?;
        let mut logs: HashMap<i64, (Key, Kept)> = HashMap::new();
        // Few logs are looked up, many are found faster on the way through everything.
        let is_few = records.len() <= FEW;
        if is_few {
            let mut ids = transaction.prepare("SELECT id FROM logs WHERE path = ? AND session = ?")?;
            for record in records {
                let key = key(record);
                let id: Option<i64> = ids.query_row(params![key.0, key.1], |row| row.get(0)).optional()?;
                logs.extend(id.map(|id| (id, (key, Kept::default()))));
            }
        } else {
            let mut ids = transaction.prepare("SELECT id, path, session FROM logs")?;
            let mut found = ids.query([])?;
            while let Some(row) = found.next()? {
                logs.insert(row.get(0)?, ((row.get(1)?, row.get(2)?), Kept::default()));
            }
        }
        let condition = if is_few { " WHERE log = ?" } else { "" };
        let cuts = format!("SELECT log, seq, revision, anchor, open, digest FROM cuts{condition}");
        let rows = format!("SELECT log, key, ver, seq, val, digest FROM rows{condition}");
        let (mut cuts, mut rows) = (transaction.prepare(&cuts)?, transaction.prepare(&rows)?);
        let ids: Vec<Option<i64>> = if is_few { logs.keys().copied().map(Some).collect() } else { vec![None] };
        for id in ids {
            let mut found = cuts.query(params_from_iter(id))?;
            while let Some(row) = found.next()? {
                let Some((_, kept)) = logs.get_mut(&row.get(0)?) else { continue };
                kept.cuts.push(StoredCut::found(row).ok());
            }
            let mut found = rows.query(params_from_iter(id))?;
            while let Some(row) = found.next()? {
                if !row.get_ref(1)?.as_str().is_ok_and(|key| keys.contains(&key)) {
                    continue;
                }
                let Some((_, kept)) = logs.get_mut(&row.get(0)?) else { continue };
                kept.rows.push(StoredRow::found(row).ok());
            }
        }
        Ok(Loaded { logs: logs.into_values().collect(), broken: AtomicUsize::new(0) })
    }

    /// Keeps the states of logs, all of them or none.
    ///
    /// # Errors
    /// The cache cannot be written. A damaged one is deleted.
    pub fn store(&mut self, updates: &[Update<'_>]) -> Result<(), CacheError> {
        if updates.is_empty() {
            return Ok(());
        }
        self.try_store(updates).map_err(|error| self.failed(&error))
    }

    fn try_store(&mut self, updates: &[Update<'_>]) -> rusqlite::Result<()> {
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        for update in updates {
            keep(&transaction, update)?;
        }
        transaction.commit()
    }

    fn failed(&self, error: &rusqlite::Error) -> CacheError {
        if is_broken(error) {
            // The next run makes a new one.
            let _ = remove(&self.path);
        }
        CacheError::failed(&self.path, error)
    }
}

fn keep(transaction: &Transaction<'_>, update: &Update<'_>) -> rusqlite::Result<()> {
    let key = key(update.record);
    let (path, session) = &key;
    let seal = Seal::of(update.record, &key);
    transaction
        .prepare_cached("INSERT OR IGNORE INTO logs (path, session) VALUES (?, ?)")?
        .execute(params![path, session])?;
    let id: i64 = transaction
        .prepare_cached("SELECT id FROM logs WHERE path = ? AND session = ?")?
        .query_row(params![path, session], |row| row.get(0))?;
    let mut insert = transaction.prepare_cached("INSERT OR REPLACE INTO rows VALUES (?, ?, ?, ?, ?, ?)")?;
    for (unit, row) in update.checkpoint.rows() {
        let row = StoredRow::of(unit, row);
        insert.execute(params![id, row.key, row.version, row.seq, row.state, seal.row(&row)])?;
    }
    let cut = StoredCut::of(&update.cut);
    let digest = seal.cut(&cut);
    transaction.prepare_cached("INSERT OR REPLACE INTO cuts VALUES (?, ?, ?, ?, ?, ?)")?.execute(params![
        id,
        cut.seq,
        cut.revision,
        cut.anchor,
        cut.open,
        digest
    ])?;
    // A cut that no row was made at leads nowhere.
    transaction
        .prepare_cached("DELETE FROM cuts WHERE log = ?1 AND seq NOT IN (SELECT seq FROM rows WHERE log = ?1)")?
        .execute([id])?;
    Ok(())
}

/// A row as it lies in the database.
#[derive(Debug)]
struct StoredRow {
    key: String,
    version: i64,
    seq: i64,
    state: String,
}

impl StoredRow {
    fn of(key: &str, row: &Row) -> StoredRow {
        let seq = row.seq.map_or(-1, |seq| seq as i64);
        StoredRow { key: key.to_owned(), version: i64::from(row.version), seq, state: row.state.clone() }
    }

    /// What lies there, with its digest.
    fn found(row: &rusqlite::Row<'_>) -> rusqlite::Result<(StoredRow, Vec<u8>)> {
        let stored = StoredRow { key: row.get(1)?, version: row.get(2)?, seq: row.get(3)?, state: row.get(4)? };
        Ok((stored, row.get(5)?))
    }

    fn read(&self) -> Option<(String, Row)> {
        let version = u32::try_from(self.version).ok()?;
        Some((self.key.clone(), Row { version, seq: u64::try_from(self.seq).ok(), state: self.state.clone() }))
    }
}

/// A cut as it lies in the database.
#[derive(Debug)]
struct StoredCut {
    seq: i64,
    revision: Vec<u8>,
    anchor: Vec<u8>,
    open: String,
}

impl StoredCut {
    fn of(cut: &Cut) -> StoredCut {
        let mut open = String::new();
        write_value(&cut.open.to_value(), &mut open);
        let anchor = cut.anchor.as_ref().map_or_else(Vec::new, |anchor| {
            [&anchor.start.to_be_bytes()[..], &anchor.end.to_be_bytes(), &anchor.digest].concat()
        });
        StoredCut {
            seq: cut.events as i64 - 1,
            revision: cut.revision.0.iter().flat_map(|number| number.to_be_bytes()).collect(),
            anchor,
            open,
        }
    }

    /// What lies there, with its digest.
    fn found(row: &rusqlite::Row<'_>) -> rusqlite::Result<(StoredCut, Vec<u8>)> {
        let stored = StoredCut { seq: row.get(1)?, revision: row.get(2)?, anchor: row.get(3)?, open: row.get(4)? };
        Ok((stored, row.get(5)?))
    }

    fn read(&self, record: &Record) -> Option<Cut> {
        let numbers: Vec<i64> = self
            .revision
            .chunks_exact(8)
            .map(|bytes| Some(i64::from_be_bytes(bytes.try_into().ok()?)))
            .collect::<Option<_>>()?;
        let anchor = match self.anchor.as_slice() {
            [] => None,
            bytes => Some(Anchor {
                start: u64::from_be_bytes(bytes.get(..8)?.try_into().ok()?),
                end: u64::from_be_bytes(bytes.get(8..16)?.try_into().ok()?),
                digest: bytes.get(16..)?.try_into().ok()?,
            }),
        };
        let shape = Generation::of_version(record.stored.format_version)?.result_shape();
        Some(Cut {
            events: u64::try_from(self.seq.checked_add(1)?).ok()?,
            revision: Revision(numbers.try_into().ok()?),
            anchor,
            open: OpenTurn::from_value(shape, parse(&self.open).ok()?)?,
        })
    }
}

/// Makes the digests of what is kept of one log.
struct Seal {
    identity: Sha256,
}

impl Seal {
    fn of(record: &Record, key: &Key) -> Seal {
        let header = &record.stored.header;
        let mut identity = Sha256::new();
        part(&mut identity, key.0.as_bytes());
        part(&mut identity, &key.1);
        identity.update(record.stored.format_version.to_be_bytes());
        identity.update(header.created_at.to_be_bytes());
        match &header.cwd {
            Some(cwd) => part(&mut identity, JsString::as_bytes(cwd)),
            None => identity.update([0]),
        }
        Seal { identity }
    }

    fn row(&self, row: &StoredRow) -> Vec<u8> {
        let mut digest = self.identity.clone();
        part(&mut digest, row.key.as_bytes());
        digest.update(row.version.to_be_bytes());
        digest.update(row.seq.to_be_bytes());
        part(&mut digest, row.state.as_bytes());
        digest.finalize().to_vec()
    }

    fn cut(&self, cut: &StoredCut) -> Vec<u8> {
        let mut digest = self.identity.clone();
        digest.update(cut.seq.to_be_bytes());
        for bytes in [&cut.revision, &cut.anchor] {
            part(&mut digest, bytes);
        }
        part(&mut digest, cut.open.as_bytes());
        digest.finalize().to_vec()
    }
}

/// Takes bytes of any length into a digest so that no other bytes give the same.
fn part(digest: &mut Sha256, bytes: &[u8]) {
    digest.update((bytes.len() as u64 + 1).to_be_bytes());
    digest.update(bytes);
}
