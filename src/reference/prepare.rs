//! Preparing references: from a message with mentions to the message and its context.

use super::projection::{ConversationFold, Message};
use super::render::render;
use super::retention::{Frame, Retained, retain};
use crate::corpus::{Catalog, Corpus, Record, Selector};
use crate::error::{Code, Failure};
use crate::model::js_string::JsString;
use crate::model::mention::{self, Mention};
use std::collections::HashSet;
use std::thread;

/// The most sessions one message may refer to.
pub const MAX_REFERENCES: usize = 3;

/// The budget of one source in bytes, where nothing else is said.
pub const DEFAULT_MAX_BYTES: u64 = 65_536;

/// The contract a context is prepared for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contract {
    /// dsh's newest.
    Newest,
    /// That of dsh 0.1.0 to 0.1.2: the source record never names a format generation.
    Dsh01,
}

/// What is to be prepared.
#[derive(Clone, Debug)]
pub struct Request {
    /// The message.
    pub text: JsString,
    /// The conversation it goes into, which no message may refer to. It need not be stored.
    pub target: Option<JsString>,
    /// Sessions referred to beside those the message mentions, after them: which, and under what label.
    pub references: Vec<(Selector, Option<JsString>)>,
    /// How many sessions may be referred to, at most [`MAX_REFERENCES`].
    pub max_references: usize,
    /// The budget of each source in bytes.
    pub max_bytes: u64,
    /// The contract.
    pub contract: Contract,
}

/// What was prepared.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// The message, each mention replaced by its label.
    pub text: JsString,
    /// The context, if anything was referred to.
    pub context: Option<Context>,
}

/// The context message.
#[derive(Clone, Debug)]
pub struct Context {
    /// Its text.
    pub text: String,
    /// Where it came from, in the order of the message.
    pub sources: Vec<Source>,
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
    /// The format generation it was read from; `None` where the contract does not tell.
    pub captured_format_version: Option<u64>,
    /// The seq of the last event that was seen; `None` for an empty log.
    pub captured_through_seq: Option<u64>,
    /// What was retained.
    pub retained: Retained,
    /// Its budget in bytes.
    pub max_bytes: u64,
}

/// A session as it was when it was read.
struct Snapshot {
    conversation: Vec<Message>,
    captured_through_seq: Option<u64>,
}

/// Prepares a message. It is done whole or not at all: what is wrong with one source is the failure of
/// the whole. Nothing is read before the message itself is known to be in order.
///
/// # Errors
/// A limit is out of range; a mention is invalid; the conversation refers to itself; too many sessions;
/// one cannot be read; one does not fit its budget.
pub fn prepare(corpus: &Corpus, catalog: &Catalog, request: &Request) -> Result<Prepared, Failure> {
    check_limits(request)?;
    let (text, mentions) =
        mention::parse(&request.text).map_err(|error| Failure::new(Code::InvalidReference, error.to_string()))?;
    let references = references(catalog, request, mentions)?;
    if references.is_empty() {
        return Ok(Prepared { text, context: None });
    }
    let snapshots = read_all(corpus, catalog, &references)?;
    let mut sources = Vec::with_capacity(references.len());
    for (reference, (record, snapshot)) in references.into_iter().zip(snapshots) {
        let cwd = record.stored.header.cwd.clone();
        let frame = frame(&reference.session_id, &reference.label, cwd.as_ref(), snapshot.captured_through_seq);
        let retained = retain(&frame, &snapshot.conversation, request.max_bytes).ok_or_else(|| {
            let message = format!(
                "the session {:?} does not fit into {} bytes, however much of it is cut",
                reference.session_id, request.max_bytes
            );
            Failure::new(Code::ReferenceBudgetExceeded, message).hint("raise --max-bytes")
        })?;
        let version = record.stored.format_version;
        sources.push(Source {
            session_id: reference.session_id,
            label: reference.label,
            cwd,
            captured_format_version: (request.contract == Contract::Newest && version > 0).then_some(version),
            captured_through_seq: snapshot.captured_through_seq,
            retained,
            max_bytes: request.max_bytes,
        });
    }
    let parts: Vec<_> = sources
        .iter()
        .map(|source| {
            let frame = frame(&source.session_id, &source.label, source.cwd.as_ref(), source.captured_through_seq);
            (frame, source.retained.conversation.as_slice())
        })
        .collect();
    let context = render(&parts);
    Ok(Prepared { text, context: Some(Context { text: context, sources }) })
}

fn frame<'a>(
    session_id: &'a JsString,
    label: &'a JsString,
    cwd: Option<&'a JsString>,
    captured_through_seq: Option<u64>,
) -> Frame<'a> {
    Frame { session_id, label, cwd, captured_through_seq }
}

fn check_limits(request: &Request) -> Result<(), Failure> {
    let invalid = |message: String| Err(Failure::new(Code::InvalidReferenceConfig, message));
    if request.max_references == 0 || request.max_references > MAX_REFERENCES {
        return invalid(format!(
            "the number of references must be from 1 to {MAX_REFERENCES}, got {}",
            request.max_references
        ));
    }
    if request.max_bytes == 0 || request.max_bytes > 9_007_199_254_740_991 {
        return invalid(format!("the budget must be a positive number of bytes, got {}", request.max_bytes));
    }
    Ok(())
}

/// The sessions referred to, in order of first appearance, each once, under its first label.
fn references(catalog: &Catalog, request: &Request, mentions: Vec<Mention>) -> Result<Vec<Mention>, Failure> {
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
fn read_all<'c>(
    corpus: &Corpus,
    catalog: &'c Catalog,
    references: &[Mention],
) -> Result<Vec<(&'c Record, Snapshot)>, Failure> {
    let records: Vec<&Record> = references
        .iter()
        .map(|reference| catalog.select(&Selector::Exactly(reference.session_id.clone())).map_err(unreadable))
        .collect::<Result<_, _>>()?;
    if let [record] = records[..] {
        return Ok(vec![(record, read(corpus, record)?)]);
    }
    thread::scope(|scope| {
        let reads: Vec<_> = records.iter().map(|record| scope.spawn(move || read(corpus, record))).collect();
        let snapshots =
            reads.into_iter().map(|read| read.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        records.iter().copied().zip(snapshots).map(|(record, snapshot)| Ok((record, snapshot?))).collect()
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
    Ok(Snapshot { conversation: fold.finish(&surface), captured_through_seq: last })
}

fn unreadable(cause: Failure) -> Failure {
    cause.caused_as(Code::ReferenceReadFailed, "a referenced session could not be read")
}
