//! Bringing an index up to date with its store.

use super::{Index, failed};
use crate::corpus::{Corpus, Record};
use crate::error::Failure;
use crate::query::grams::{Gram, Grams};
use crate::query::search::{Document, Extra};
use crate::stores::revision::Revision;
use rusqlite::{OptionalExtension, Transaction, TransactionBehavior, params};
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering as Memory};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;

/// How much text a chunk has, in bytes, unless one event has more.
const CHUNK: usize = 128 << 10;

/// How hard texts are compressed.
const LEVEL: i32 = 6;

/// What a refresh did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Built {
    /// Sessions that were brought in, for the first time or again.
    pub indexed: u64,
    /// Sessions that were taken out because they are gone.
    pub removed: u64,
    /// Sessions that were as they are in the index.
    pub unchanged: u64,
}

/// A document as it lies in a chunk.
#[derive(Serialize, Deserialize)]
pub(super) struct Stored(u64, i64, String, bool, String, String, String);

impl From<Document> for Stored {
    fn from(document: Document) -> Stored {
        let kind = document.kind.to_string_lossy().into_owned();
        let Document { seq, time, is_on_surface, text, reasoning, title, .. } = document;
        Stored(seq, time, kind, is_on_surface, text, reasoning, title)
    }
}

impl From<Stored> for Document {
    fn from(Stored(seq, time, kind, is_on_surface, text, reasoning, title): Stored) -> Document {
        Document { seq, time, kind: kind.into(), is_on_surface, text, reasoning, title }
    }
}

/// A step of the way from a log to the index.
enum Step {
    /// Some of the documents of a session, compressed, and their pieces, as one text.
    Chunk { documents: Vec<u8>, grams: String },
    /// The end of a session: whether it is sound, and which of its events are shadowed.
    End { is_sound: bool, shadowed: Vec<u64> },
}

/// Brings the index up to date with these sessions of the store. `progress` is told after each session
/// how many of those that have changed are done, and how many there are.
pub(super) fn refresh(
    index: &mut Index,
    corpus: &Corpus,
    records: &[Record],
    progress: &mut dyn FnMut(usize, usize),
) -> rusqlite::Result<Built> {
    let all: Vec<&Record> = records.iter().collect();
    let revisions = corpus.revisions(&all);
    let known = index.revisions()?;
    let is_current = |record: &Record, revision: Option<Revision>| {
        revision.is_some_and(|revision| known.get(&key(record)) == Some(&state(record, revision)))
    };
    let changed: Vec<(&Record, Revision)> = all
        .iter()
        .zip(&revisions)
        .filter(|(record, revision)| !is_current(record, **revision))
        .filter_map(|(record, revision)| Some((*record, (*revision)?)))
        .collect();
    let mut built = Built { unchanged: (all.len() - changed.len()) as u64, ..Built::default() };
    built.removed = index.forget_all_but(&all)?;
    let next = AtomicUsize::new(0);
    let workers = thread::available_parallelism().map_or(1, |count| count.get()).min(changed.len());
    thread::scope(|scope| {
        // Each worker reads one session at a time into a channel of its own, which holds a few chunks.
        let mut waiting = Vec::new();
        let (sessions, ready) = sync_channel(workers.max(1));
        for _ in 0..workers {
            let (sessions, next, changed) = (sessions.clone(), &next, &changed);
            waiting.push(scope.spawn(move || {
                while let Some((record, _)) = changed.get(next.fetch_add(1, Memory::Relaxed)).map(|(r, v)| (*r, *v)) {
                    let (steps, received) = sync_channel(4);
                    if sessions.send((record, received)).is_err() {
                        return;
                    }
                    read(corpus, record, &steps);
                }
            }));
        }
        drop(sessions);
        let revision_of: HashMap<*const Record, Revision> =
            changed.iter().map(|(record, revision)| (std::ptr::from_ref(*record), *revision)).collect();
        for (done, (record, steps)) in ready.into_iter().enumerate() {
            let revision = revision_of[&std::ptr::from_ref(record)];
            index.bring_in(record, revision, steps.into_iter())?;
            built.indexed += 1;
            progress(done + 1, changed.len());
        }
        Ok(built)
    })
}

/// What identifies a session in the index: the path of its log, or of its database, and its id.
pub(super) type Key = (String, Vec<u8>);

pub(super) fn key(record: &Record) -> Key {
    (record.stored.path.to_string_lossy().into_owned(), record.id().as_bytes().to_vec())
}

/// What a session is known by in the index: the revision of its log, and whether the store refuses it,
/// which depends on other files as well.
pub(super) fn state(record: &Record, revision: Revision) -> Vec<u8> {
    let refused = u8::from(record.stored.refusal.is_some());
    revision.0.iter().flat_map(|number| number.to_be_bytes()).chain([refused]).collect()
}

/// Reads a log and hands on its chunks. If the receiver has gone, the rest is read for nothing.
fn read(corpus: &Corpus, record: &Record, steps: &SyncSender<Step>) {
    const EVERYTHING: Extra = Extra { reasoning: true, titles: true };
    let mut chunk = Chunk::default();
    let mut shadowed = Vec::new();
    let result = corpus.read(record, &mut |event, replaced| {
        if let Some(replaced) = replaced {
            shadowed.extend(&replaced.removed);
        }
        if let Some(document) = Document::of(event, EVERYTHING) {
            chunk.push(document, EVERYTHING);
            if chunk.bytes >= CHUNK {
                let _ = steps.send(std::mem::take(&mut chunk).finish());
            }
        }
    });
    if !chunk.documents.is_empty() {
        let _ = steps.send(chunk.finish());
    }
    let is_sound = result.is_ok_and(|summary| summary.finished.surface.is_ok() && summary.warnings.is_empty());
    let _ = steps.send(Step::End { is_sound, shadowed });
}

#[derive(Default)]
struct Chunk {
    documents: Vec<Stored>,
    bytes: usize,
    maker: Grams,
    grams: HashSet<Gram>,
}

impl Chunk {
    fn push(&mut self, document: Document, extra: Extra) {
        let text = document.searched(extra);
        self.bytes += text.len();
        self.maker.of_text(&text, &mut self.grams);
        // With less than everything, other parts of the text stand side by side.
        for part in [&document.text, &document.reasoning, &document.title] {
            self.maker.of_text(part, &mut self.grams);
        }
        if !document.title.is_empty() && !document.text.is_empty() {
            let without_reasoning = document.searched(Extra { reasoning: false, titles: true });
            self.maker.of_text(&without_reasoning, &mut self.grams);
        }
        self.documents.push(document.into());
    }

    fn finish(self) -> Step {
        let mut grams = String::with_capacity(self.grams.len() * 8);
        for gram in &self.grams {
            grams.extend(gram);
            grams.push(' ');
        }
        let json = serde_json::to_vec(&self.documents).unwrap_or_default();
        Step::Chunk { documents: compress(&json).unwrap_or_default(), grams }
    }
}

/// Compresses with a checksum, because SQLite has none and would not notice that a text has changed.
fn compress(json: &[u8]) -> io::Result<Vec<u8>> {
    let mut compressor = zstd::bulk::Compressor::new(LEVEL)?;
    compressor.include_checksum(true)?;
    compressor.compress(json)
}

impl Index {
    fn revisions(&self) -> rusqlite::Result<HashMap<Key, Vec<u8>>> {
        let mut statement = self.connection.prepare("SELECT path, session, revision FROM sessions")?;
        let rows = statement.query_map([], |row| Ok(((row.get(0)?, row.get(1)?), row.get(2)?)))?;
        rows.collect()
    }

    /// How many sessions a refresh would bring in or take out.
    ///
    /// # Errors
    /// The index cannot be read.
    pub fn stale(&self, corpus: &Corpus, records: &[Record]) -> Result<u64, Failure> {
        let known = self.revisions().map_err(|error| failed(&self.path, &error))?;
        let all: Vec<&Record> = records.iter().collect();
        let keys: HashSet<Key> = records.iter().map(key).collect();
        let gone = known.keys().filter(|key| !keys.contains(*key)).count();
        let is_stale = |(record, revision): &(&&Record, Option<Revision>)| {
            known.get(&key(record)) != revision.map(|revision| state(record, revision)).as_ref()
        };
        Ok((gone + all.iter().zip(corpus.revisions(&all)).filter(is_stale).count()) as u64)
    }

    /// Takes out what is not in the store any more.
    fn forget_all_but(&mut self, records: &[&Record]) -> rusqlite::Result<u64> {
        let keys: HashSet<Key> = records.iter().map(|record| key(record)).collect();
        let gone: Vec<_> = self.revisions()?.into_keys().filter(|key| !keys.contains(key)).collect();
        if gone.is_empty() {
            return Ok(0);
        }
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        for (path, session) in &gone {
            forget(&transaction, path, session)?;
        }
        transaction.commit()?;
        Ok(gone.len() as u64)
    }

    /// Brings one session in, whole or not at all.
    fn bring_in(
        &mut self,
        record: &Record,
        revision: Revision,
        steps: impl Iterator<Item = Step>,
    ) -> rusqlite::Result<()> {
        let (path, session) = key(record);
        let revision = state(record, revision);
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let held: Option<Vec<u8>> = transaction
            .query_row("SELECT revision FROM sessions WHERE path = ? AND session = ?", params![path, session], |row| {
                row.get(0)
            })
            .optional()?;
        if held.as_deref() == Some(&*revision) {
            // Another process was faster.
            return transaction.commit();
        }
        forget(&transaction, &path, &session)?;
        transaction.execute(
            "INSERT INTO sessions (path, session, revision, is_sound, shadowed) VALUES (?, ?, ?, 0, x'')",
            params![path, session, revision],
        )?;
        let id = transaction.last_insert_rowid();
        let mut is_whole = false;
        for step in steps {
            match step {
                Step::Chunk { documents, grams } => {
                    transaction
                        .prepare_cached("INSERT INTO chunks (session, documents) VALUES (?, ?)")?
                        .execute(params![id, documents])?;
                    let chunk = transaction.last_insert_rowid();
                    transaction
                        .prepare_cached("INSERT INTO grams (rowid, pieces) VALUES (?, ?)")?
                        .execute(params![chunk, grams])?;
                }
                Step::End { is_sound, shadowed } => {
                    is_whole = true;
                    if !is_sound {
                        forget_chunks(&transaction, id)?;
                    }
                    let shadowed = serde_json::to_vec(&shadowed).unwrap_or_default();
                    let update = "UPDATE sessions SET is_sound = ?, shadowed = ? WHERE id = ?";
                    transaction.execute(update, params![is_sound, shadowed, id])?;
                }
            }
        }
        // A reader that broke off says no end; what it said is dropped with the transaction.
        if is_whole { transaction.commit() } else { transaction.rollback() }
    }
}

fn forget(transaction: &Transaction<'_>, path: &str, session: &[u8]) -> rusqlite::Result<()> {
    let query = "SELECT id FROM sessions WHERE path = ? AND session = ?";
    let id: Option<i64> = transaction.query_row(query, params![path, session], |row| row.get(0)).optional()?;
    let Some(id) = id else { return Ok(()) };
    forget_chunks(transaction, id)?;
    transaction.execute("DELETE FROM sessions WHERE id = ?", [id])?;
    Ok(())
}

fn forget_chunks(transaction: &Transaction<'_>, session: i64) -> rusqlite::Result<()> {
    transaction.execute("DELETE FROM grams WHERE rowid IN (SELECT id FROM chunks WHERE session = ?)", [session])?;
    transaction.execute("DELETE FROM chunks WHERE session = ?", [session])?;
    Ok(())
}
