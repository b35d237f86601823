//! Preparing references: from the sessions a message mentions to the message's context.
//!
//! It goes in steps, so that whoever prepares can learn the budget and save whole texts in between:
//! [`sessions`] says which sessions are meant, [`capture`] reads them and cuts them to size, and
//! [`Context::of`] renders what is left. It is done whole or not at all: what is wrong with one source is
//! the failure of the whole, and nothing is read before the message itself is known to be in order.

use super::omission::{self, FullSnapshot, Reason};
use super::projection::{ConversationFold, Message};
use super::render::render;
use super::retention::{Frame, Retained, retain};
use crate::corpus::{Catalog, Corpus, Record, Selector};
use crate::error::{Code, Failure};
use crate::model::js_string::JsString;
use crate::model::mention::Mention;
use std::collections::HashSet;
use std::thread;

/// The most sessions one message may refer to.
pub const MAX_REFERENCES: usize = 3;

/// The contract a context is prepared for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contract {
    /// dsh's newest.
    Newest,
    /// That of dsh 0.1.0 to 0.1.2: the source record never names a format generation, and nothing behind
    /// the envelope tells of omissions.
    Dsh01,
}

/// Which sessions a message may refer to, and does beside those it mentions.
#[derive(Clone, Debug)]
pub struct Request {
    /// The conversation it goes into, which no message may refer to. It need not be stored.
    pub target: Option<JsString>,
    /// Sessions referred to beside those the message mentions, after them: which, and under what label.
    pub references: Vec<(Selector, Option<JsString>)>,
    /// How many sessions may be referred to.
    pub max_references: usize,
}

/// A session that is referred to.
#[derive(Clone, Debug)]
pub struct Named<'c> {
    /// The session.
    pub record: &'c Record,
    /// The label it goes by.
    pub label: JsString,
}

/// The context message.
#[derive(Clone, Debug)]
pub struct Context {
    /// Its text.
    pub text: String,
    /// Where it came from, in the order of the message.
    pub sources: Vec<Source>,
    /// The contract it follows.
    pub contract: Contract,
}

/// One session a context holds.
#[derive(Clone, Debug)]
pub struct Source {
    /// The session.
    pub session_id: JsString,
    /// The label it goes by.
    pub label: JsString,
    /// Its working directory.
    pub cwd: Option<JsString>,
    /// The format generation it was read from; `None` for v0, which dsh's records do not name.
    pub captured_format_version: Option<u64>,
    /// The seq of the last event that was seen; `None` for an empty log.
    pub captured_through_seq: Option<u64>,
    /// The whole conversation.
    pub conversation: Vec<Message>,
    /// How many other events the model sees of it: tools' results, what was injected, and what has no text.
    pub other_events: usize,
    /// What was retained.
    pub retained: Retained,
    /// Its budget in bytes.
    pub max_bytes: u64,
    /// What became of the whole conversation; it matters only where something was left out.
    pub full_snapshot: FullSnapshot,
}

impl Source {
    /// The parts of its snapshot beside the conversation.
    pub fn frame(&self) -> Frame<'_> {
        Frame {
            session_id: &self.session_id,
            label: &self.label,
            cwd: self.cwd.as_ref(),
            captured_through_seq: self.captured_through_seq,
        }
    }
}

impl Context {
    /// The context of these sources by a contract; `None` of none.
    pub fn of(sources: Vec<Source>, contract: Contract) -> Option<Context> {
        if sources.is_empty() {
            return None;
        }
        let parts: Vec<_> =
            sources.iter().map(|source| (source.frame(), source.retained.conversation.as_slice())).collect();
        let mut text = render(&parts);
        if contract == Contract::Newest {
            text.extend(omission::notice(&sources));
        }
        Some(Context { text, sources, contract })
    }
}

/// Checks how many sessions a message may refer to.
///
/// # Errors
/// It is not from 1 to [`MAX_REFERENCES`].
pub fn check_max_references(count: i64) -> Result<usize, Failure> {
    let in_range = usize::try_from(count).ok().filter(|count| (1..=MAX_REFERENCES).contains(count));
    in_range.ok_or_else(|| {
        let message = format!("the number of references must be from 1 to {MAX_REFERENCES}, got {count}");
        Failure::new(Code::InvalidReferenceConfig, message)
    })
}

/// The sessions referred to, in order of first appearance, each once, under its first label.
///
/// # Errors
/// The conversation refers to itself; too many sessions; there is no such session.
pub fn sessions<'c>(
    catalog: &'c Catalog,
    mentions: Vec<Mention>,
    request: &Request,
) -> Result<Vec<Named<'c>>, Failure> {
    let references = references(catalog, mentions, request)?;
    let named = references.into_iter().map(|Mention { session_id, label }| {
        let record = catalog.select(&Selector::Exactly(session_id)).map_err(unreadable)?;
        Ok(Named { record, label })
    });
    named.collect()
}

/// Reads sessions and retains of each what fits into a number of bytes.
///
/// # Errors
/// One cannot be read; one does not fit, however much of it is cut.
pub fn capture(corpus: &Corpus, named: Vec<Named<'_>>, max_bytes: u64) -> Result<Vec<Source>, Failure> {
    let snapshots = read_all(corpus, &named)?;
    named.into_iter().zip(snapshots).map(|(named, snapshot)| source(named, snapshot, max_bytes)).collect()
}

fn source(named: Named<'_>, snapshot: Snapshot, max_bytes: u64) -> Result<Source, Failure> {
    let Named { record, label } = named;
    let session_id = record.id().clone();
    let cwd = record.stored.header.cwd.clone();
    let frame = Frame {
        session_id: &session_id,
        label: &label,
        cwd: cwd.as_ref(),
        captured_through_seq: snapshot.captured_through_seq,
    };
    let retained = retain(&frame, &snapshot.conversation, max_bytes).ok_or_else(|| {
        let message =
            format!("the session {session_id:?} does not fit into {max_bytes} bytes, however much of it is cut");
        Failure::new(Code::ReferenceBudgetExceeded, message).hint("raise --max-bytes")
    })?;
    let version = record.stored.format_version;
    Ok(Source {
        session_id,
        label,
        cwd,
        captured_format_version: (version > 0).then_some(version),
        captured_through_seq: snapshot.captured_through_seq,
        conversation: snapshot.conversation,
        other_events: snapshot.other_events,
        retained,
        max_bytes,
        full_snapshot: FullSnapshot::Unavailable(Reason::StorageNotConfigured),
    })
}

/// A session as it was when it was read.
struct Snapshot {
    conversation: Vec<Message>,
    other_events: usize,
    captured_through_seq: Option<u64>,
}

fn references(catalog: &Catalog, mentions: Vec<Mention>, request: &Request) -> Result<Vec<Mention>, Failure> {
    let mut named = mentions;
    for (selector, label) in &request.references {
        let session_id = match selector {
            Selector::Exactly(id) => id.clone(),
            selector => catalog.select(selector).map_err(unreadable)?.id().clone(),
        };
        let label = label.clone().unwrap_or_else(|| session_id.clone());
        named.push(Mention { session_id, label });
    }
    let mut seen = HashSet::new();
    let mut references = Vec::new();
    for reference in named {
        if Some(&reference.session_id) == request.target.as_ref() {
            let message = format!("the session {:?} cannot refer to itself", reference.session_id);
            return Err(Failure::new(Code::SelfReference, message));
        }
        if seen.insert(reference.session_id.clone()) {
            references.push(reference);
        }
    }
    if references.len() > request.max_references {
        let message =
            format!("{} sessions are referred to, at most {} may be", references.len(), request.max_references);
        return Err(Failure::new(Code::TooManyReferences, message));
    }
    Ok(references)
}

/// Reads every session at the same time.
fn read_all(corpus: &Corpus, named: &[Named<'_>]) -> Result<Vec<Snapshot>, Failure> {
    if let [named] = named {
        return Ok(vec![read(corpus, named.record)?]);
    }
    thread::scope(|scope| {
        let reads: Vec<_> = named.iter().map(|named| scope.spawn(move || read(corpus, named.record))).collect();
        let joined = reads.into_iter().map(|read| read.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        joined.collect()
    })
}

fn read(corpus: &Corpus, record: &Record) -> Result<Snapshot, Failure> {
    let mut fold = ConversationFold::new(record.stored.format_version);
    let mut last = None;
    let summary = corpus
        .read(record, &mut |event, replaced| {
            last = Some(event.seq);
            fold.apply(event, replaced);
        })
        .map_err(unreadable)?;
    let surface = summary.finished.surface.map_err(|error| unreadable(error.into()))?;
    let conversation = fold.finish(&surface);
    let other_events = surface.nodes.len() - conversation.len();
    Ok(Snapshot { conversation, other_events, captured_through_seq: last })
}

fn unreadable(cause: Failure) -> Failure {
    cause.caused_as(Code::ReferenceReadFailed, "a referenced session could not be read")
}
