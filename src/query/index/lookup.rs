//! Searching with an index.

use super::build::{Key, Stored, key, state};
use super::{Index, failed};
use crate::cache::{is_broken, remove};
use crate::corpus::{Corpus, Record};
use crate::error::Failure;
use crate::query::grams::{Grams, PatternGrams};
use crate::query::search::{Collector, Found, Query, Wanted, search_sessions};
use rusqlite::{Connection, params};
use std::collections::HashMap;
use std::ops::ControlFlow;

/// The largest chunk that is unpacked, in bytes. A chunk holds one event more than it should at most.
const MAX_CHUNK: usize = 512 << 20;

/// Searches sessions as [`search_sessions`] does, with the same result. What the index does not know, or
/// knows in another revision, or knows to be damaged, is read.
///
/// # Errors
/// The index cannot be read.
pub fn search_indexed<'r>(
    index: &Index,
    corpus: &Corpus,
    records: &[&'r Record],
    query: &Query,
    found: &mut dyn FnMut(&'r Record, Result<Found, Failure>) -> ControlFlow<()>,
) -> Result<(), Failure> {
    let broken = |error: rusqlite::Error| {
        if is_damage(&error) {
            // The next search that wants an index makes a new one.
            let _ = remove(&index.path);
        }
        failed(&index.path, &error)
    };
    // One transaction, so that what other processes write meanwhile is not seen by half.
    let transaction = index.connection.unchecked_transaction().map_err(broken)?;
    let known = sessions(&transaction).map_err(broken)?;
    let mut candidates = candidates(&transaction, query).map_err(broken)?;
    let mut unknown = Vec::new();
    for (record, revision) in records.iter().zip(corpus.revisions(records)) {
        let session = known.get(&key(record));
        let current = session.filter(|session| {
            session.is_sound && revision.is_some_and(|revision| state(record, revision) == session.revision)
        });
        let Some(session) = current else {
            unknown.push(*record);
            continue;
        };
        let Some(chunks) = candidates.remove(&session.id) else { continue };
        let hits = match_chunks(&transaction, session.id, &chunks, query).map_err(broken)?;
        if !hits.hits.is_empty() && found(record, Ok(hits)).is_break() {
            return Ok(());
        }
    }
    drop(transaction);
    search_sessions(corpus, &unknown, query, found);
    Ok(())
}

struct Session {
    id: i64,
    revision: Vec<u8>,
    is_sound: bool,
}

fn sessions(connection: &Connection) -> rusqlite::Result<HashMap<Key, Session>> {
    let mut statement = connection.prepare("SELECT path, session, id, revision, is_sound FROM sessions")?;
    let rows = statement.query_map([], |row| {
        let session = Session { id: row.get(2)?, revision: row.get(3)?, is_sound: row.get(4)? };
        Ok(((row.get(0)?, row.get(1)?), session))
    })?;
    rows.collect()
}

/// The chunks that can hold a match, by session.
fn candidates(connection: &Connection, query: &Query) -> rusqlite::Result<HashMap<i64, Vec<i64>>> {
    let quoted = |text: &mut dyn Iterator<Item = char>| format!("\"{}\"", text.collect::<String>());
    let wanted = match Grams::default().of_pattern(&query.pattern) {
        PatternGrams::All(grams) => {
            let mut quoted: Vec<String> = grams.iter().map(|gram| quoted(&mut gram.iter().copied())).collect();
            // A long query is found by some of its pieces as well.
            quoted.sort();
            quoted.truncate(64);
            Some(quoted.join(" AND "))
        }
        // Nearly every chunk has these; looking them up takes longer than reading what there is.
        PatternGrams::Beginning(start) if start.is_ascii() => None,
        PatternGrams::Beginning(start) => Some(format!("{} *", quoted(&mut start.chars()))),
    };
    let mut chunks: HashMap<i64, Vec<i64>> = HashMap::new();
    let mut add = |row: &rusqlite::Row<'_>| -> rusqlite::Result<()> {
        chunks.entry(row.get(0)?).or_default().push(row.get(1)?);
        Ok(())
    };
    match wanted {
        Some(wanted) => {
            let query = "SELECT session, id FROM chunks WHERE id IN (SELECT rowid FROM grams WHERE grams MATCH ?)";
            let mut statement = connection.prepare(query)?;
            let mut rows = statement.query([wanted])?;
            while let Some(row) = rows.next()? {
                add(row)?;
            }
        }
        None => {
            let mut statement = connection.prepare("SELECT session, id FROM chunks")?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                add(row)?;
            }
        }
    }
    Ok(chunks)
}

/// Matches the texts of chunks, which is what makes the result exact.
fn match_chunks(connection: &Connection, session: i64, chunks: &[i64], query: &Query) -> rusqlite::Result<Found> {
    let mut collector = Collector::new(query, Wanted::Best, u64::MAX);
    let shadowed: Vec<u8> = connection
        .prepare_cached("SELECT shadowed FROM sessions WHERE id = ?")?
        .query_row([session], |row| row.get(0))?;
    collector.shadow(&serde_json::from_slice::<Vec<u64>>(&shadowed).map_err(unreadable)?);
    let mut chunks = chunks.to_vec();
    chunks.sort_unstable();
    let mut statement = connection.prepare_cached("SELECT documents FROM chunks WHERE id = ?")?;
    for chunk in chunks {
        let documents: Vec<u8> = statement.query_row(params![chunk], |row| row.get(0))?;
        let size = zstd::bulk::Decompressor::upper_bound(&documents).unwrap_or(MAX_CHUNK).min(MAX_CHUNK);
        let json = zstd::bulk::decompress(&documents, size).map_err(unreadable)?;
        for stored in serde_json::from_slice::<Vec<Stored>>(&json).map_err(unreadable)? {
            collector.take(&stored.into());
        }
    }
    Ok(Found { hits: collector.finish(), problem: None })
}

/// Whether an error says that what is in the index is not what was put there.
fn is_damage(error: &rusqlite::Error) -> bool {
    is_broken(error) || matches!(error, rusqlite::Error::FromSqlConversionFailure(..))
}

fn unreadable(error: impl std::error::Error + Send + Sync + 'static) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(0, rusqlite::types::Type::Blob, Box::new(error))
}
