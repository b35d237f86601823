//! The tables, and how those of an older dshkit become them.

use rusqlite::{Connection, Transaction};

/// `DSHS`: marks the database as a ledger of ours.
const APPLICATION_ID: i64 = 0x4453_4853;

/// What makes each version out of the one before. What was released is never changed, only added to.
///
/// Columns of the type `ANY` hold JavaScript strings (see `column`), `*_at` are milliseconds since the
/// epoch, and columns of JSON text are described in `provenance`.
const MIGRATIONS: [&str; 1] = ["
CREATE TABLE chats (
  child ANY PRIMARY KEY NOT NULL,
  child_created_at INTEGER NOT NULL,
  child_cwd ANY,
  parent ANY NOT NULL,
  parent_created_at INTEGER NOT NULL,
  parent_cwd ANY,
  question TEXT NOT NULL,
  title TEXT NOT NULL,
  is_published INTEGER NOT NULL CHECK (is_published IN (0, 1)),
  status TEXT NOT NULL CHECK (status IN ('open', 'archived', 'abandoned')),
  seed TEXT NOT NULL,
  permission TEXT NOT NULL,
  model TEXT NOT NULL,
  parent_baseline TEXT,
  log_bytes INTEGER,
  log_sha256 TEXT,
  last_revision INTEGER NOT NULL,
  is_hidden INTEGER NOT NULL DEFAULT 0 CHECK (is_hidden IN (0, 1)),
  is_restored INTEGER NOT NULL DEFAULT 0 CHECK (is_restored IN (0, 1)),
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT;
CREATE INDEX chats_of_parent ON chats (parent);
CREATE TABLE folds (
  id TEXT PRIMARY KEY NOT NULL,
  child ANY NOT NULL REFERENCES chats (child),
  revision INTEGER NOT NULL CHECK (revision > 0),
  state TEXT NOT NULL CHECK (state IN ('generating', 'prepared', 'pending', 'committed', 'failed')),
  mode TEXT NOT NULL CHECK (mode IN ('full', 'incremental')),
  base INTEGER,
  standing TEXT CHECK (standing IN ('current', 'superseded', 'withdrawn')),
  prepared_text TEXT,
  committed_text TEXT,
  pointers TEXT NOT NULL DEFAULT '[]',
  basis TEXT NOT NULL,
  calls TEXT NOT NULL,
  supersedes INTEGER,
  parent ANY,
  parent_event_seq INTEGER,
  parent_format INTEGER,
  reason TEXT,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  committed_at INTEGER,
  UNIQUE (child, revision),
  CHECK ((mode = 'incremental') = (base IS NOT NULL)),
  CHECK (state <> 'committed' OR (committed_text IS NOT NULL AND parent_event_seq IS NOT NULL)),
  CHECK (standing IS NULL OR state = 'committed')
) STRICT;
CREATE UNIQUE INDEX one_current_fold ON folds (child) WHERE standing = 'current';
CREATE TABLE cites (
  id TEXT PRIMARY KEY NOT NULL,
  child ANY NOT NULL REFERENCES chats (child),
  target ANY NOT NULL,
  target_created_at INTEGER NOT NULL,
  target_cwd ANY,
  is_cross_parent INTEGER NOT NULL CHECK (is_cross_parent IN (0, 1)),
  source_message ANY,
  source_seq INTEGER,
  source_format INTEGER,
  range_start INTEGER,
  range_end INTEGER,
  source_fold TEXT,
  source_revision INTEGER,
  source_time INTEGER,
  text TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('pending', 'committed', 'failed')),
  parent_event_seq INTEGER,
  parent_format INTEGER,
  reason TEXT,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  committed_at INTEGER,
  CHECK ((source_message IS NULL) <> (source_fold IS NULL)),
  CHECK (state <> 'committed' OR parent_event_seq IS NOT NULL)
) STRICT;
CREATE INDEX cites_of_child ON cites (child);
CREATE TABLE withdrawals (
  id TEXT PRIMARY KEY NOT NULL,
  fold TEXT NOT NULL UNIQUE REFERENCES folds (id),
  reason TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('pending', 'committed', 'failed')),
  parent_event_seq INTEGER,
  parent_format INTEGER,
  obstacle TEXT,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  committed_at INTEGER,
  CHECK (state <> 'committed' OR parent_event_seq IS NOT NULL)
) STRICT;
CREATE TABLE relinks (
  number INTEGER PRIMARY KEY,
  child ANY NOT NULL REFERENCES chats (child),
  from_parent ANY NOT NULL,
  from_created_at INTEGER NOT NULL,
  from_cwd ANY,
  to_parent ANY NOT NULL,
  to_created_at INTEGER NOT NULL,
  to_cwd ANY,
  at INTEGER NOT NULL
) STRICT;
"];

/// What a database says it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Version {
    application: i64,
    schema: i64,
    tables: i64,
}

/// Reads it.
pub(super) fn version(connection: &Connection) -> rusqlite::Result<Version> {
    Ok(Version {
        application: connection.pragma_query_value(None, "application_id", |row| row.get(0))?,
        schema: connection.pragma_query_value(None, "user_version", |row| row.get(0))?,
        tables: connection.query_row("SELECT count(*) FROM sqlite_master", [], |row| row.get(0))?,
    })
}

/// Refuses what is not ours or of a newer dshkit, and says why.
pub(super) fn check(version: Version) -> Result<(), String> {
    if !is_empty(version) && version.application != APPLICATION_ID {
        return Err("is a database of something else".to_owned());
    }
    if version.schema < 0 || version.schema > MIGRATIONS.len() as i64 {
        return Err(format!(
            "has tables of version {}, of a newer dshkit; this one knows versions up to {}",
            version.schema,
            MIGRATIONS.len()
        ));
    }
    Ok(())
}

/// Whether there is nothing in the database yet.
pub(super) fn is_empty(version: Version) -> bool {
    version == Version { application: 0, schema: 0, tables: 0 }
}

/// Whether the tables are those of this dshkit.
pub(super) fn is_current(version: Version) -> bool {
    version.application == APPLICATION_ID && version.schema == MIGRATIONS.len() as i64
}

/// Makes the tables those of this dshkit.
pub(super) fn migrate(transaction: &Transaction<'_>, from: Version) -> rusqlite::Result<()> {
    for migration in &MIGRATIONS[from.schema as usize..] {
        transaction.execute_batch(migration)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", MIGRATIONS.len() as i64)
}
