//! Where an event came from and what became of it (formats.md §9.2, `traceEvent`).

use crate::corpus::{Corpus, Record};
use crate::error::{Code, Failure};
use crate::model::js_string::{JsStr, JsString};
use crate::model::surface::Placement;
use std::collections::HashMap;

/// An event's relations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventTrace {
    /// The event's seq.
    pub seq: u64,
    /// Its type.
    pub kind: JsString,
    /// When it was recorded, in milliseconds since the epoch.
    pub time: i64,
    /// Where it stands.
    pub placement: Placement,
    /// Whether it was made on reading.
    pub synthetic: bool,
    /// The event that took its place on the surface.
    pub replaced_by: Option<u64>,
    /// That event, the one that took its place, and so on to the last.
    pub replacement_chain: Vec<u64>,
    /// The events whose place it took, in surface order.
    pub replaced_event_seqs: Vec<u64>,
    /// The events it cites.
    pub source_event_seqs: Vec<u64>,
    /// The later events that cite it, in log order.
    pub derived_event_seqs: Vec<u64>,
}

/// Traces one event.
///
/// # Errors
/// The log cannot be read, its surface does not fold, or it has no such event.
pub fn trace(corpus: &Corpus, record: &Record, seq: u64) -> Result<EventTrace, Failure> {
    let mut target = None;
    let mut derived = Vec::new();
    let summary = corpus.read(record, &mut |event, _| {
        if event.seq == seq {
            target =
                Some((event.kind.clone().into_owned(), event.time, event.synthetic, event.source_event_seqs.clone()));
        } else if event.seq > seq && event.source_event_seqs.as_ref().is_some_and(|sources| sources.contains(&seq)) {
            derived.push(event.seq);
        }
    })?;
    let surface = summary.finished.surface.map_err(Failure::from)?;
    let (kind, time, synthetic, sources): (JsStr<'static>, _, _, _) = target.ok_or_else(|| {
        let message = format!(
            "the session {:?} has no event {seq}: it has {} events",
            record.id(),
            summary.finished.logical_events
        );
        Failure::new(Code::EventNotFound, message)
    })?;
    let replaced_by: HashMap<u64, u64> = surface.replaced_by();
    let chain: Vec<u64> =
        std::iter::successors(replaced_by.get(&seq).copied(), |seq| replaced_by.get(seq).copied()).collect();
    let replaced = surface.replacements.iter().find(|replacement| replacement.seq == seq);
    Ok(EventTrace {
        seq,
        kind,
        time,
        synthetic,
        placement: surface.placements().get(&seq).copied().unwrap_or(Placement::LogOnly),
        replaced_by: replaced_by.get(&seq).copied(),
        replacement_chain: chain,
        replaced_event_seqs: replaced.map(|replacement| replacement.removed.clone()).unwrap_or_default(),
        source_event_seqs: sources.unwrap_or_default(),
        derived_event_seqs: derived,
    })
}
