//! Literal search over the semantic text of events (formats.md §9.5).
//!
//! Matching is a substring in any script; what is searched, how hits are ranked and how snippets are
//! cut is dsh's. Every log is read, but only those are decoded whose stored rows can hold a match.

use super::filter::{EventClause, EventFacts, EventFilter};
use super::pattern::{Occurrences, Pattern, searchable};
use super::prefilter::Prefilter;
use super::snippet::{SNIPPET_LENGTH, snippet};
use crate::corpus::{Corpus, Record};
use crate::error::Failure;
use crate::model::event::{Event, is_surface_type};
use crate::model::js_string::JsString;
use crate::model::problem::{Problem, ProblemKind};
use crate::model::semantic_text::{reasoning_text, semantic_text, title_text};
use crate::model::surface::{Placement, Replacement};
use std::borrow::Cow;
use std::cmp::{Ordering, Reverse};
use std::collections::HashSet;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering as Memory};
use std::sync::mpsc::sync_channel;
use std::thread;

/// How many items a page has unless told otherwise.
pub const DEFAULT_LIMIT: usize = 20;

/// How many items a page may have.
pub const MAX_LIMIT: usize = 100;

/// What is looked for.
#[derive(Clone, Debug)]
pub struct Query {
    /// The text.
    pub pattern: Pattern,
    /// Which events are looked at.
    pub events: EventFilter,
    /// What of them is looked at beside their semantic text.
    pub extra: Extra,
}

/// Texts that are searched only when asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Extra {
    /// The model's reasoning.
    pub reasoning: bool,
    /// The titles of sessions.
    pub titles: bool,
}

/// An event that matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hit {
    /// Its seq.
    pub seq: u64,
    /// Its type.
    pub kind: JsString,
    /// When it was recorded, in milliseconds since the epoch.
    pub time: i64,
    /// Where it stands with regard to the surface.
    pub placement: Placement,
    /// How often it matches.
    pub occurrences: Occurrences,
    /// How long its text is, in code points.
    pub length: u64,
    /// Its text around the first match, of at most [`SNIPPET_LENGTH`] code points.
    pub snippet: String,
}

impl Hit {
    /// Strongest first: by matches, then the shorter text, then the later. What dsh finds, it finds as
    /// whole words; that keeps dsh's order, and what only we find comes after it.
    fn strength(&self) -> (Reverse<u64>, Reverse<u64>, u64, Reverse<i64>) {
        let Occurrences { as_words, within_words, .. } = self.occurrences;
        (Reverse(as_words), Reverse(within_words), self.length, Reverse(self.time))
    }

    /// The order of hits within a session.
    pub fn rank(&self, other: &Hit) -> Ordering {
        self.strength().cmp(&other.strength()).then_with(|| other.seq.cmp(&self.seq))
    }
}

/// The order of sessions by their best hits; ties by id in code points.
pub fn rank_sessions((a, a_hit): (&Record, &Hit), (b, b_hit): (&Record, &Hit)) -> Ordering {
    let by_id = || a.id().as_bytes().cmp(b.id().as_bytes());
    a_hit.strength().cmp(&b_hit.strength()).then_with(by_id).then_with(|| b_hit.seq.cmp(&a_hit.seq))
}

/// How many hits of a session are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// The strongest.
    Best,
    /// All of them, strongest first.
    All,
}

/// What was found in a session.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// The hits, strongest first.
    pub hits: Vec<Hit>,
    /// Why not all of the session was searched.
    pub problem: Option<Problem>,
}

/// What of an event is searched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// The event's seq.
    pub seq: u64,
    /// When it was recorded, in milliseconds since the epoch.
    pub time: i64,
    /// Its type.
    pub kind: JsString,
    /// Whether it has a place on the surface.
    pub is_on_surface: bool,
    /// Its semantic text.
    pub text: String,
    /// The reasoning in it.
    pub reasoning: String,
    /// The title it sets.
    pub title: String,
}

impl Document {
    /// What of an event can be searched; `None` for an event that says nothing at all.
    pub fn of(event: &Event<'_>, extra: Extra) -> Option<Document> {
        let text = semantic_text(event);
        let reasoning = if extra.reasoning { reasoning_text(event) } else { JsString::default() };
        let title = if extra.titles { title_text(event) } else { JsString::default() };
        if text.is_empty() && reasoning.is_empty() && title.is_empty() {
            return None;
        }
        Some(Document {
            seq: event.seq,
            time: event.time,
            kind: event.kind.clone().into_owned(),
            is_on_surface: event.surface_op.is_some() && is_surface_type(&event.kind),
            text: without_marks(&text),
            reasoning: without_marks(&reasoning),
            title: without_marks(&title),
        })
    }

    /// The text that is searched.
    pub fn searched(&self, extra: Extra) -> Cow<'_, str> {
        let mut text = Cow::Borrowed(&*self.text);
        for more in [(extra.reasoning, &self.reasoning), (extra.titles, &self.title)] {
            match more {
                (true, more) if text.is_empty() => text = Cow::Borrowed(more),
                (true, more) if !more.is_empty() => text = Cow::Owned(format!("{text}\n{more}")),
                _ => {}
            }
        }
        text
    }
}

/// A text as it is compared and shown: NUL, and what dsh uses as marks, are U+FFFD.
fn without_marks(text: &JsString) -> String {
    let text = searchable(text);
    if text.contains(['\0', '\u{FDD0}', '\u{FDD1}']) {
        text.replace(['\0', '\u{FDD0}', '\u{FDD1}'], "\u{FFFD}")
    } else {
        text.into_owned()
    }
}

/// Searches one session. A damaged log is searched up to its damage, which is then told.
///
/// # Errors
/// The operating system would not let us read the log.
pub fn search_session(corpus: &Corpus, record: &Record, query: &Query, wanted: Wanted) -> Result<Found, Failure> {
    match collect(corpus, record, query, wanted) {
        Ok(found) => Ok(found),
        Err(failure) => {
            let Some(problem) = failure.problem.as_deref().filter(|problem| problem.kind != ProblemKind::Unreadable)
            else {
                return Err(failure);
            };
            // Events behind the damage were never part of the log.
            let end = problem.seq.unwrap_or(u64::MAX);
            let mut collector = Collector::new(query, wanted, end);
            let _ = corpus.read(record, &mut |event, replaced| collector.take_event(event, replaced));
            Ok(Found { hits: collector.finish(), problem: Some(problem.clone()) })
        }
    }
}

/// Searches a log that loads. Of what reading it left out, the note is about the most.
fn collect(corpus: &Corpus, record: &Record, query: &Query, wanted: Wanted) -> Result<Found, Failure> {
    let mut collector = Collector::new(query, wanted, u64::MAX);
    let mut summary = corpus.read(record, &mut |event, replaced| collector.take_event(event, replaced))?;
    if let Err(error) = summary.finished.surface {
        let mut failure = Failure::from(error.clone());
        failure.problem = Some(Box::new(record.problem(error.into())));
        return Err(failure);
    }
    Ok(Found { hits: collector.finish(), problem: summary.warnings.pop() })
}

/// Takes in what a log says and keeps what matches.
pub(super) struct Collector<'q> {
    query: &'q Query,
    /// The clauses that can be tested at once; where an event stands is known only at the end.
    events: EventFilter,
    placements: Vec<Placement>,
    has_placements: bool,
    keeps_best: bool,
    end: u64,
    hits: Vec<Hit>,
    removed: HashSet<u64>,
}

impl<'q> Collector<'q> {
    pub(super) fn new(query: &'q Query, wanted: Wanted, end: u64) -> Collector<'q> {
        let (places, rest): (Vec<EventClause>, _) =
            query.events.0.iter().cloned().partition(|clause| matches!(clause, EventClause::Surface(_)));
        let admitted = |placement: &Placement| {
            places.iter().all(|clause| matches!(clause, EventClause::Surface(admitted) if admitted.contains(placement)))
        };
        let all = [Placement::Current, Placement::Shadowed, Placement::LogOnly];
        Collector {
            query,
            events: EventFilter(rest),
            placements: all.into_iter().filter(admitted).collect(),
            has_placements: !places.is_empty(),
            keeps_best: wanted == Wanted::Best,
            end,
            hits: Vec::new(),
            removed: HashSet::new(),
        }
    }

    fn take_event(&mut self, event: &Event<'_>, replaced: Option<&Replacement>) {
        if event.seq >= self.end {
            return;
        }
        if let Some(replaced) = replaced {
            self.shadow(&replaced.removed);
        }
        if let Some(document) = Document::of(event, self.query.extra) {
            self.take(&document);
        }
    }

    /// Events that something took the place of.
    pub(super) fn shadow(&mut self, seqs: &[u64]) {
        self.removed.extend(seqs);
    }

    pub(super) fn take(&mut self, document: &Document) {
        let text = document.searched(self.query.extra);
        let Some(occurrences) = self.query.pattern.count_in(&text) else { return };
        let placement = if document.is_on_surface { Placement::Current } else { Placement::LogOnly };
        let nothing = JsString::default();
        let Document { seq, time, kind, .. } = document;
        if !self.events.admits(&EventFacts { seq: *seq, time: *time, kind, placement, text: &nothing }) {
            return;
        }
        let hit = Hit {
            seq: *seq,
            kind: kind.clone(),
            time: *time,
            placement,
            occurrences,
            length: text.chars().count() as u64,
            snippet: String::new(),
        };
        let with_snippet = |hit| Hit { snippet: snippet(&text, occurrences.start, SNIPPET_LENGTH), ..hit };
        // Where an event stands is no part of the ranking, so unless it is asked for, one hit is enough.
        let keeps_one = self.keeps_best && !self.has_placements;
        match self.hits.first_mut() {
            Some(best) if keeps_one && best.rank(&hit) == Ordering::Less => {}
            Some(best) if keeps_one => *best = with_snippet(hit),
            _ => self.hits.push(with_snippet(hit)),
        }
    }

    pub(super) fn finish(mut self) -> Vec<Hit> {
        for hit in &mut self.hits {
            if self.removed.contains(&hit.seq) {
                hit.placement = Placement::Shadowed;
            }
        }
        self.hits.retain(|hit| self.placements.contains(&hit.placement));
        self.hits.sort_by(Hit::rank);
        if self.keeps_best {
            self.hits.truncate(1);
        }
        self.hits
    }
}

/// Searches sessions on as many threads as there are processors, and hands over what was found in each
/// as it is found, in no particular order, on the caller's thread. Sessions without a hit and without a
/// problem are not handed over.
pub fn search_sessions<'r>(
    corpus: &Corpus,
    records: &[&'r Record],
    query: &Query,
    found: &mut dyn FnMut(&'r Record, Result<Found, Failure>) -> ControlFlow<()>,
) {
    let prefilter = Prefilter::of(&query.pattern);
    let (next, is_over) = (AtomicUsize::new(0), AtomicBool::new(false));
    let workers = thread::available_parallelism().map_or(1, |count| count.get()).min(records.len());
    thread::scope(|scope| {
        let (sender, receiver) = sync_channel(64);
        for _ in 0..workers {
            let (sender, prefilter, next, is_over) = (sender.clone(), &prefilter, &next, &is_over);
            scope.spawn(move || {
                while let Some(record) = records.get(next.fetch_add(1, Memory::Relaxed)) {
                    if is_over.load(Memory::Relaxed) {
                        return;
                    }
                    let result = search_candidate(corpus, record, query, prefilter);
                    let is_silent = matches!(&result, Ok(found) if found.hits.is_empty() && found.problem.is_none());
                    if !is_silent && sender.send((*record, result)).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        for (record, result) in receiver {
            if found(record, result).is_break() {
                is_over.store(true, Memory::Relaxed);
                break;
            }
        }
    });
}

fn search_candidate(corpus: &Corpus, record: &Record, query: &Query, prefilter: &Prefilter) -> Result<Found, Failure> {
    if let Some(refusal) = &record.stored.refusal {
        return Ok(Found { hits: Vec::new(), problem: Some(refusal.clone()) });
    }
    if !prefilter.admits_all() && !corpus.any_block(record, &mut |block| prefilter.admits(block))? {
        return Ok(Found::default());
    }
    search_session(corpus, record, query, Wanted::Best)
}
