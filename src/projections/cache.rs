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
use rusqlite::{Connection, Transaction, TransactionBehavior, params};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
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

/// What was found in a cache, and how much of it was of no use.
#[derive(Debug, Default)]
pub struct Loaded {
    entries: HashMap<Key, Entry>,
    /// How many rows and cuts did not bear the digest they should.
    pub broken: usize,
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
    /// What is kept of a session's log.
    pub fn entry(&self, record: &Record) -> Option<&Entry> {
        self.entries.get(&key(record))
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
        let mut loaded = Loaded::default();
        let mut statement = transaction.prepare("SELECT id, path, session FROM logs")?;
        let ids: HashMap<Key, i64> = if records.len() == 1 {
            let (path, session) = key(records[0]);
            let mut statement = transaction.prepare("SELECT id FROM logs WHERE path = ? AND session = ?")?;
            let id = statement.query_map(params![path, session], |row| row.get(0))?.next().transpose()?;
            id.map(|id| ((path, session), id)).into_iter().collect()
        } else {
            let rows = statement.query_map([], |row| Ok(((row.get(1)?, row.get(2)?), row.get(0)?)))?;
            rows.collect::<rusqlite::Result<_>>()?
        };
        let mut cuts = transaction.prepare("SELECT seq, revision, anchor, open, digest FROM cuts WHERE log = ?")?;
        let mut rows = transaction.prepare("SELECT ver, seq, val, digest FROM rows WHERE log = ? AND key = ?")?;
        for record in records {
            let key = key(record);
            let Some(id) = ids.get(&key) else { continue };
            let seal = Seal::of(record, &key);
            let mut entry = Entry::default();
            let mut found = cuts.query([id])?;
            while let Some(row) = found.next()? {
                match seal.open_cut(record, row)? {
                    Some(cut) => entry.cuts.push(cut),
                    None => loaded.broken += 1,
                }
            }
            let mut kept = Vec::new();
            for unit in keys {
                let mut found = rows.query(params![id, unit])?;
                let Some(row) = found.next()? else { continue };
                match seal.open_row(unit, row)? {
                    Some(row) => kept.push(((*unit).to_owned(), row)),
                    None => loaded.broken += 1,
                }
            }
            entry.checkpoint = kept.into_iter().collect();
            loaded.entries.insert(key, entry);
        }
        Ok(loaded)
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
        let seq = row.seq.map_or(-1, |seq| seq as i64);
        let digest = seal.row(unit, i64::from(row.version), seq, &row.state);
        insert.execute(params![id, unit, row.version, seq, row.state, digest])?;
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

/// A cut as it lies in the database.
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

    fn read(self, record: &Record) -> Option<Cut> {
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

    fn row(&self, unit: &str, version: i64, seq: i64, state: &str) -> Vec<u8> {
        let mut digest = self.identity.clone();
        part(&mut digest, unit.as_bytes());
        digest.update(version.to_be_bytes());
        digest.update(seq.to_be_bytes());
        part(&mut digest, state.as_bytes());
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

    /// The row that lies there, if it bears its digest.
    fn open_row(&self, unit: &str, row: &rusqlite::Row<'_>) -> rusqlite::Result<Option<Row>> {
        let (Ok(version), Ok(seq), Ok(state), Ok(digest)) =
            (row.get::<_, i64>(0), row.get::<_, i64>(1), row.get::<_, String>(2), row.get::<_, Vec<u8>>(3))
        else {
            return Ok(None);
        };
        if self.row(unit, version, seq, &state) != digest {
            return Ok(None);
        }
        Ok(u32::try_from(version).ok().map(|version| Row { version, seq: u64::try_from(seq).ok(), state }))
    }

    /// The cut that lies there, if it bears its digest.
    fn open_cut(&self, record: &Record, row: &rusqlite::Row<'_>) -> rusqlite::Result<Option<Cut>> {
        let (Ok(seq), Ok(revision), Ok(anchor), Ok(open), Ok(digest)) =
            (row.get(0), row.get(1), row.get(2), row.get(3), row.get::<_, Vec<u8>>(4))
        else {
            return Ok(None);
        };
        let cut = StoredCut { seq, revision, anchor, open };
        Ok(if self.cut(&cut) == digest { cut.read(record) } else { None })
    }
}

/// Takes bytes of any length into a digest so that no other bytes give the same.
fn part(digest: &mut Sha256, bytes: &[u8]) {
    digest.update((bytes.len() as u64 + 1).to_be_bytes());
    digest.update(bytes);
}
