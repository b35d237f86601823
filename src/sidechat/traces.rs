//! What the logs themselves tell of side chats: the marker each message of ours begins with. From them relations
//! and committed folds can be had again when the ledger is lost (seed §9.3, §9.4).

use super::chat::{
    Chat, Identity, ModelChoice, ModelStrategy, Origin, Permission, PermissionMode, Seed, SessionRef, Status,
};
use super::citation::{Cite, Source};
use super::first_message;
use super::fold::{Basis, Fold, Place, State};
use super::id::Id;
use super::marker::{self, Marked, Quoted};
use super::pointer::{self, Pointer};
use super::reading::Reading;
use super::relation::Sessions;
use super::title;
use super::withdrawal::Withdrawal;
use crate::corpus::Record;
use crate::error::Failure;
use crate::model::event::Event;
use crate::model::header;
use crate::model::js_string::{JsStr, JsString};
use crate::model::json::View;
use crate::model::message::text_of;
use std::collections::HashMap;

/// What was found in the logs.
#[derive(Debug, Default)]
pub struct Traces {
    /// The side chats whose own logs name their parent.
    pub chats: Vec<Chat>,
    /// The committed folds, by side chat and revision.
    pub folds: Vec<Fold>,
    /// The cites.
    pub cites: Vec<Cite>,
    /// The withdrawals.
    pub withdrawals: Vec<Withdrawal>,
    /// The sessions whose logs could not be read.
    pub unreadable: Vec<(JsString, Failure)>,
}

/// A message of ours in a log.
struct Found<'c> {
    holder: &'c Record,
    marked: Marked,
    message_id: String,
    place: Place,
    time: i64,
    text: String,
}

/// What one log holds.
#[derive(Default)]
struct LogTraces {
    origin: Option<(JsString, u64, String, String)>,
    marked: Vec<(Marked, String, u64, i64, String)>,
}

/// Looks through every log. Of side chats that are known already, the parent is known, too.
pub fn find(sessions: &Sessions<'_>, known: &[Chat]) -> Traces {
    let mut traces = Traces::default();
    let mut found: Vec<Found<'_>> = Vec::new();
    for record in &sessions.catalog.records {
        let mut log = LogTraces::default();
        let read = sessions.corpus.read(record, &mut |event, _| log.event(event));
        if let Err(failure) = read {
            traces.unreadable.push((record.id().clone(), failure));
            continue;
        }
        // The log of a fork holds copies of what stands in another, and tells no relation of its own.
        if let Some((parent, created_at, seed, text)) = log.origin.filter(|_| !is_copy(record)) {
            let parent =
                SessionRef { id: parent, identity: Identity { created_at, cwd: record.stored.header.cwd.clone() } };
            match Reading::of_surface(sessions.corpus, record) {
                Ok(reading) => traces.chats.push(chat(record, parent, seed, &text, &reading)),
                Err(failure) => traces.unreadable.push((record.id().clone(), failure)),
            }
        }
        let format = record.stored.format_version;
        found.extend(log.marked.into_iter().map(|(marked, message_id, seq, time, text)| Found {
            holder: record,
            marked,
            message_id,
            place: Place { seq, format },
            time,
            text,
        }));
    }
    traces.take(found, known);
    traces
}

/// Whether a session's log began as a copy of another's.
fn is_copy(record: &Record) -> bool {
    let header = &record.stored.header;
    header.parent_session.is_some() || header.seed != header::Seed::None
}

impl LogTraces {
    fn event(&mut self, event: &Event<'_>) {
        if !event.is("user/message") || !marker::is_ours(event.data()) {
            return;
        }
        let data = event.data();
        let text = text_of(data).to_string_lossy().into_owned();
        if let Some(marked) = marker::read(&text) {
            let id = data.get("id").and_then(View::string).map(JsStr::into_owned).unwrap_or_default();
            let id = id.to_string_lossy().into_owned();
            self.marked.push((marked, id, event.seq, event.time, text));
        } else if self.origin.is_none() {
            let sections = data.get("source").and_then(|source| source.get("sections"));
            let section = sections.and_then(|sections| sections.elements().next()?.get("text")?.string());
            let section = section.map(|section| section.to_string_lossy().into_owned()).unwrap_or_default();
            self.origin = marker::read_origin(&section)
                .map(|(parent, created_at, seed)| (parent, created_at, seed.to_owned(), text));
        }
    }
}

impl Traces {
    /// Of several copies of a message the one in the parent's log counts, then one in a log that is no copy.
    fn take(&mut self, mut found: Vec<Found<'_>>, known: &[Chat]) {
        let parents: HashMap<JsString, SessionRef> =
            self.chats.iter().chain(known).map(|chat| (chat.child.id.clone(), chat.parent.clone())).collect();
        let holds = |found: &Found<'_>| {
            let child = match &found.marked {
                Marked::Fold { child, .. } | Marked::Withdrawal { child, .. } | Marked::Cite { child, .. } => child,
            };
            parents.get(child) == Some(&SessionRef::of(&found.holder.stored.header))
        };
        found.sort_by_key(|found| (!holds(found), is_copy(found.holder), found.place.seq));
        for found in found {
            let is_parent = holds(&found);
            match &found.marked {
                Marked::Fold { id, .. } if !self.folds.iter().any(|fold| fold.id == *id) => {
                    self.folds.extend(fold(&found));
                }
                Marked::Withdrawal { fold, .. } if !self.withdrawals.iter().any(|known| known.fold == *fold) => {
                    self.withdrawals.extend(withdrawal(&found));
                }
                Marked::Cite { id, .. } if !self.cites.iter().any(|cite| cite.id == *id) => {
                    self.cites.extend(cite(&found, !is_parent));
                }
                _ => {}
            }
        }
        self.folds.sort_by(|a, b| a.child.cmp(&b.child).then(a.revision.cmp(&b.revision)));
    }
}

fn chat(record: &Record, parent: SessionRef, seed: String, text: &str, reading: &Reading) -> Chat {
    let child = SessionRef::of(&record.stored.header);
    let question = first_message::question(text).unwrap_or(text).to_owned();
    let logged = reading.title.as_ref().map(|title| title.to_string_lossy().into_owned());
    let is_readonly = reading.sandbox.as_deref() == Some("read-only") && reading.approval.as_deref() == Some("never");
    let at = child.identity.created_at as i64;
    Chat {
        parent,
        title: logged.unwrap_or_else(|| title::of_question(&question)),
        question,
        status: Status::Open,
        seed: Seed {
            mode: seed,
            captured_through_seq: None,
            captured_format: None,
            captured_at: at,
            messages: Vec::new(),
            generated: None,
        },
        permission: Permission {
            mode: if is_readonly { PermissionMode::ReadOnly } else { PermissionMode::Inherit },
            parent_sandbox: None,
            parent_approval: None,
            child_sandbox: reading.sandbox.clone(),
            child_approval: reading.approval.clone(),
        },
        model: ModelChoice { strategy: ModelStrategy::Default, route: None },
        parent_baseline: None,
        created_at: at,
        updated_at: reading.status.last_time.unwrap_or(at),
        last_revision: 0,
        log: None,
        is_hidden: false,
        origin: Origin::Restored,
        child,
    }
}

fn fold(found: &Found<'_>) -> Option<Fold> {
    let Marked::Fold { id, revision, child } = &found.marked else { return None };
    let (mode, supersedes, text) = marker::fold_body(&found.text)?;
    Some(Fold {
        id: id.clone(),
        child: child.clone(),
        revision: *revision,
        state: State::Committed,
        mode,
        standing: None,
        prepared_text: None,
        committed_text: Some(text.to_owned()),
        pointers: pointers(text, child),
        basis: Basis { through_seq: None, through_message: None, format: None },
        calls: Vec::new(),
        supersedes,
        delivered: Some(found.place),
        delivered_to: Some(found.holder.id().clone()),
        reason: None,
        created_at: found.time,
        updated_at: found.time,
        committed_at: Some(found.time),
    })
}

/// The pointers of a committed fold. They were checked when it was decided on.
fn pointers(text: &str, child: &JsString) -> Vec<Pointer> {
    pointer::unchecked(text)
        .into_iter()
        .filter(|(_, target)| target.child == *child)
        .map(|(pointer, _)| pointer)
        .collect()
}

fn withdrawal(found: &Found<'_>) -> Option<Withdrawal> {
    let Marked::Withdrawal { fold, revision, child } = &found.marked else { return None };
    Some(Withdrawal {
        id: Id::parse(&found.message_id).unwrap_or_else(|_| fold.clone()),
        fold: fold.clone(),
        child: child.clone(),
        revision: *revision,
        reason: marker::withdrawal_reason(&found.text)?.to_owned(),
        state: State::Committed,
        delivered: Some(found.place),
        obstacle: None,
        created_at: found.time,
        updated_at: found.time,
        committed_at: Some(found.time),
    })
}

fn cite(found: &Found<'_>, is_cross_parent: bool) -> Option<Cite> {
    let Marked::Cite { id, child, quoted } = &found.marked else { return None };
    let (range, text) = marker::cite_body(&found.text)?;
    Some(Cite {
        id: id.clone(),
        child: child.clone(),
        target: Some(SessionRef::of(&found.holder.stored.header)),
        is_cross_parent,
        source: match quoted {
            Quoted::Message(message_id) => Source::Message { message_id: message_id.clone(), place: None, range },
            Quoted::Fold { id, revision } => Source::Fold { fold_id: id.clone(), revision: *revision },
        },
        text: text.to_owned(),
        source_time: None,
        state: State::Committed,
        delivered: Some(found.place),
        reason: None,
        created_at: found.time,
        updated_at: found.time,
        committed_at: Some(found.time),
    })
}
