//! Getting the values of a log as cheaply as can be: from kept states without looking at the log, from
//! kept states and what was appended since, or from the whole log (formats.md §10.3).
//!
//! Each rung either gives what reading the whole log gives, or steps aside for the next.

use super::cache::{Cache, Cut, Entry, Loaded, Update};
use super::checkpoint::Checkpoint;
use super::fold::{Fold, Folded, Snapshot};
use super::registry::Registry;
use crate::cache::CacheError;
use crate::corpus::{Corpus, Record, in_order};
use crate::error::Failure;
use crate::generations::{Item, Mode};
use crate::model::problem::Problem;
use crate::stores::revision::Revision;

/// The states of a log's units.
pub struct Derived<'r> {
    /// The states with the closers of an interrupted turn.
    pub folded: Folded<'r>,
    /// When the last event was recorded, in milliseconds since the epoch; `None` if there is none.
    pub last_time: Option<i64>,
    /// What is wrong with the log although it loads; in salvage mode all that is wrong.
    pub problems: Vec<Problem>,
    /// What to keep of it, if that is not what is kept already.
    update: Option<(Cut, Checkpoint)>,
}

/// What sessions' logs say, and what the cache had to say for itself.
pub struct Read<'r> {
    /// Of each session in order: the states, or why the log could not be read.
    pub sessions: Vec<Result<Derived<'r>, Failure>>,
    /// What went wrong with the cache. It made the reading slower and nothing else.
    pub warning: Option<String>,
}

/// Reads the states of many sessions, with a cache if there is one, and keeps there what is new.
pub fn read_all<'r>(
    corpus: &Corpus,
    records: &[&Record],
    registry: &'r Registry,
    mode: Mode,
    cache: Option<&mut Cache>,
    done: &(dyn Fn() + Sync),
) -> Read<'r> {
    let Some(cache) = cache.filter(|_| mode == Mode::AsDsh) else {
        let sessions = in_order(records, |record| {
            let read = whole(corpus, record, registry, mode, None);
            done();
            read
        });
        return Read { sessions, warning: None };
    };
    // Before anything is read: a log that grows meanwhile must not be taken for the one that was read.
    let revisions = corpus.revisions(records);
    let keys: Vec<&str> = registry.keys().collect();
    let (loaded, mut warning) = match cache.load(records, &keys) {
        Ok(loaded) => (loaded, None),
        Err(error) => (Loaded::default(), Some(error.to_string())),
    };
    let asked: Vec<(&Record, Option<Revision>)> = records.iter().copied().zip(revisions).collect();
    let mut sessions = in_order(&asked, |(record, revision)| {
        let read = climb(corpus, record, registry, loaded.entry(record).as_ref(), *revision);
        done();
        read
    });
    if loaded.broken() > 0 {
        let message = "of the values in the cache are not what was put there; they are read anew";
        warning.get_or_insert(format!("{} {message}", loaded.broken()));
    }
    if let Err(error) = keep(cache, records, &mut sessions) {
        warning.get_or_insert(error.to_string());
    }
    Read { sessions, warning }
}

fn keep(
    cache: &mut Cache,
    records: &[&Record],
    sessions: &mut [Result<Derived<'_>, Failure>],
) -> Result<(), CacheError> {
    let updates = records.iter().zip(sessions).filter_map(|(record, session)| {
        let (cut, checkpoint) = session.as_mut().ok()?.update.take()?;
        Some(Update { record, cut, checkpoint })
    });
    cache.store(&updates.collect::<Vec<_>>())
}

/// What a cache knows of a session without a look at its log: the views of the units it has, as of the
/// oldest of them.
pub fn cached(entry: &Entry, registry: &Registry) -> Option<Snapshot> {
    let mut as_of_seq = None;
    let mut views = Vec::new();
    for definition in registry.definitions() {
        let Some(row) = entry.checkpoint.usable(definition) else { continue };
        let Some(state) = definition.restore(&row.state) else { continue };
        as_of_seq = if views.is_empty() { row.seq } else { as_of_seq.min(row.seq) };
        views.push((definition.key, state.view()));
    }
    (!views.is_empty()).then_some(Snapshot { as_of_seq, views })
}

fn climb<'r>(
    corpus: &Corpus,
    record: &Record,
    registry: &'r Registry,
    entry: Option<&Entry>,
    revision: Option<Revision>,
) -> Result<Derived<'r>, Failure> {
    let entry = entry.filter(|_| record.stored.refusal.is_none());
    if let (Some(entry), Some(revision)) = (entry, revision) {
        if let Some(derived) = unchanged(record, registry, entry, revision) {
            return Ok(derived);
        }
        if let Some(derived) = tail(corpus, record, registry, entry, revision)? {
            return Ok(derived);
        }
    }
    whole(corpus, record, registry, Mode::AsDsh, revision)
}

/// The kept states, if the log is as it was when they were made.
fn unchanged<'r>(record: &Record, registry: &'r Registry, entry: &Entry, revision: Revision) -> Option<Derived<'r>> {
    let cut = entry.cuts.iter().find(|cut| cut.revision == revision)?;
    let is_of_cut = |definition| entry.checkpoint.usable(definition).is_some_and(|row| row.through() == cut.events);
    if !registry.definitions().iter().all(is_of_cut) {
        return None;
    }
    let mut fold = Fold::restore(registry, &record.stored.header, &entry.checkpoint, cut.events).ok()?;
    for closer in cut.open.closers() {
        fold.apply(&closer);
    }
    let last_time = cut.open.last_time();
    Some(Derived { folded: fold.finish().ok()?, last_time, problems: Vec::new(), update: None })
}

/// The kept states, and what was appended to the log since.
fn tail<'r>(
    corpus: &Corpus,
    record: &Record,
    registry: &'r Registry,
    entry: &Entry,
    revision: Revision,
) -> Result<Option<Derived<'r>>, Failure> {
    let Some(floor) = entry.checkpoint.restore_floor(registry) else { return Ok(None) };
    // The floor is an event that every unit has seen; its log is known again by the anchor behind it.
    let is_reachable = |cut: &&Cut| cut.events <= floor + 1 && cut.revision.is_of_file_of(&revision);
    let before_floor = entry.cuts.iter().filter(is_reachable);
    let Some(cut) = before_floor.max_by_key(|cut| cut.events) else { return Ok(None) };
    let Some(anchor) = &cut.anchor else { return Ok(None) };
    let Ok(mut fold) = Fold::restore(registry, &record.stored.header, &entry.checkpoint, cut.events) else {
        return Ok(None);
    };
    let mut stored = None;
    let summary = corpus.read_tail(record, anchor, cut.before(), &mut |event| {
        if event.synthetic {
            stored.get_or_insert_with(|| fold.checkpoint());
        }
        fold.apply(event);
    })?;
    let Some(summary) = summary else { return Ok(None) };
    let Ok(folded) = fold.finish() else { return Ok(None) };
    let checkpoint = stored.unwrap_or_else(|| folded.checkpoint());
    let last_time = summary.finished.open.last_time();
    let update = match summary.end {
        Some(end) => Some((
            Cut {
                events: summary.finished.stored_events,
                revision,
                anchor: corpus.anchor(record, end)?,
                open: summary.finished.open,
            },
            checkpoint,
        )),
        None => None,
    };
    Ok(Some(Derived { folded, last_time, problems: Vec::new(), update }))
}

/// The states from the whole log. With a revision, what is to be kept.
fn whole<'r>(
    corpus: &Corpus,
    record: &Record,
    registry: &'r Registry,
    mode: Mode,
    revision: Option<Revision>,
) -> Result<Derived<'r>, Failure> {
    let mut fold = Fold::new(registry, &record.stored.header);
    let mut stored = None;
    let mut problems = Vec::new();
    let summary = corpus.read_items(record, mode, &mut |item| match item {
        Item::Event(event, _) => {
            if event.synthetic && revision.is_some() {
                stored.get_or_insert_with(|| fold.checkpoint());
            }
            fold.apply(event);
        }
        Item::Trouble(fault) => problems.push(record.problem(fault.clone())),
    })?;
    problems.extend(summary.warnings);
    let folded = fold.finish_with_gaps();
    let last_time = summary.finished.open.last_time();
    // A log with something wrong is read each time, so that it is told each time.
    let update = match revision.filter(|_| problems.is_empty()) {
        None => None,
        Some(revision) => {
            let anchor = summary.end.map(|end| corpus.anchor(record, end)).transpose()?.flatten();
            let open = summary.finished.open;
            let cut = Cut { events: summary.finished.stored_events, revision, anchor, open };
            Some((cut, stored.unwrap_or_else(|| folded.checkpoint())))
        }
    };
    Ok(Derived { folded, last_time, problems, update })
}
