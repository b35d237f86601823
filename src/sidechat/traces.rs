//! What the logs themselves tell of side chats: the marker each message of ours begins with. From them relations
//! and committed folds can be had again when the ledger is lost (seed §9.3, §9.4).

use super::chat::{Chat, Identity, ModelChoice, Origin, Permission, PermissionMode, Seed, SessionRef, Status};
use super::citation::{Cite, Source};
use super::first_message;
use super::fold::{Basis, Fold, Place, State};
use super::id::Id;
use super::marker::{self, Marked, OriginMark, Quoted};
use super::pointer::{self, Pointer};
use super::reading::Reading;
use super::relation::Sessions;
use super::relink::Relink;
use super::title;
use super::withdrawal::Withdrawal;
use crate::corpus::Record;
use crate::error::Failure;
use crate::model::event::Event;
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
    /// The messages about known side chats that stand where they tell nothing.
    pub elsewhere: Vec<Elsewhere>,
    /// The sessions whose logs could not be read.
    pub unreadable: Vec<(JsString, Failure)>,
}

/// A fold, withdrawal, or cite in the log of a session that it has no business in: that of no parent of its side
/// chat, and for a cite of another working directory.
#[derive(Debug)]
pub struct Elsewhere {
    /// The side chat.
    pub child: JsString,
    /// What it is, as its marker says.
    pub marked: Marked,
    /// The session in whose log it stands.
    pub holder: JsString,
}

/// Whose messages about a side chat are believed.
struct Bond {
    cwd: Option<JsString>,
    /// Its parent, and whoever was that before.
    parents: Vec<SessionRef>,
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
    origin: Option<(OriginMark, String)>,
    marked: Vec<(Marked, String, u64, i64, String)>,
}

/// Looks through every log. Of side chats that are known already, so are the parents they had.
pub fn find(sessions: &Sessions<'_>, known: &[(Chat, Vec<Relink>)]) -> Traces {
    let mut traces = Traces::default();
    let mut found: Vec<Found<'_>> = Vec::new();
    for record in &sessions.catalog.records {
        let mut log = LogTraces::default();
        let read = sessions.corpus.read(record, &mut |event, _| log.event(event));
        let inherited = match read {
            Ok(summary) => summary.finished.inherited_events,
            Err(failure) => {
                traces.unreadable.push((record.id().clone(), failure));
                continue;
            }
        };
        // A copy of a log tells of the session it was copied from.
        if let Some((mark, text)) = log.origin.filter(|(mark, _)| inherited == 0 && mark.child == *record.id()) {
            let identity = Identity { created_at: mark.parent_created_at, cwd: record.stored.header.cwd.clone() };
            let parent = SessionRef { id: mark.parent, identity };
            match Reading::of_surface(sessions.corpus, record) {
                Ok(reading) => traces.chats.push(chat(record, parent, mark.seed, &text, &reading)),
                Err(failure) => traces.unreadable.push((record.id().clone(), failure)),
            }
        }
        let format = record.stored.format_version;
        let own = log.marked.into_iter().filter(|(_, _, seq, ..)| *seq >= inherited);
        found.extend(own.map(|(marked, message_id, seq, time, text)| Found {
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

impl Found<'_> {
    fn child(&self) -> &JsString {
        match &self.marked {
            Marked::Fold { child, .. } | Marked::Withdrawal { child, .. } | Marked::Cite { child, .. } => child,
        }
    }
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
            self.origin = marker::read_origin(&section).map(|mark| (mark, text));
        }
    }
}

impl Traces {
    /// A fold or withdrawal counts in the log of a parent only, a cite in one of the same working directory; of several
    /// copies the one in the newest parent's log.
    fn take(&mut self, mut found: Vec<Found<'_>>, known: &[(Chat, Vec<Relink>)]) {
        let mut bonds: HashMap<JsString, Bond> = HashMap::new();
        let known = known.iter().map(|(chat, relinks)| (chat, &relinks[..]));
        for (chat, relinks) in known.chain(self.chats.iter().map(|chat| (chat, &[][..]))) {
            let cwd = chat.child.identity.cwd.clone();
            let bond = bonds.entry(chat.child.id.clone()).or_insert(Bond { cwd, parents: Vec::new() });
            bond.parents.push(chat.parent.clone());
            bond.parents.extend(relinks.iter().rev().map(|relink| relink.from.clone()));
        }
        let rank = |found: &Found<'_>| {
            let holder = SessionRef::of(&found.holder.stored.header);
            bonds.get(found.child()).and_then(|bond| bond.parents.iter().position(|parent| *parent == holder))
        };
        found.sort_by_key(|found| (rank(found).unwrap_or(usize::MAX), found.place.seq));
        for found in found {
            let Some(bond) = bonds.get(found.child()) else { continue };
            let is_parent = rank(&found).is_some();
            let header = &found.holder.stored.header;
            let is_near = bond.cwd.is_some() && bond.cwd == header.cwd && !header.is_subagent;
            if !(is_parent || is_near && matches!(found.marked, Marked::Cite { .. })) {
                let (child, holder) = (found.child().clone(), found.holder.id().clone());
                self.elsewhere.push(Elsewhere { child, marked: found.marked, holder });
                continue;
            }
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
        model: ModelChoice { strategy: None, route: None },
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
