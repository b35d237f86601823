//! Giving an orphan a new parent, on the user's word (seed §6.4, §11.2). Nothing is ever linked by itself.

use super::chat::{Chat, SessionRef};
use super::ledger::Ledger;
use super::relation::{Presence, Sessions, chat_of, require_one_workspace};
use crate::corpus::{Corpus, Record, Selector};
use crate::error::{Code, Failure};
use crate::model::js_string::JsString;
use crate::stores::steps::Steps;
use std::collections::HashSet;
use std::path::Path;

/// The record of a new parent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Relink {
    /// The side chat.
    pub child: JsString,
    /// Whose it was.
    pub from: SessionRef,
    /// Whose it is.
    pub to: SessionRef,
    /// Since when, in milliseconds since the epoch.
    pub at: i64,
}

/// Gives a side chat whose parent is gone another one, and puts that down. What was done before is not done again.
///
/// # Errors
/// As [`examine`], or the ledger cannot be written.
pub fn relink(
    home: &Path,
    corpus: &Corpus,
    child: &JsString,
    parent: &JsString,
    now: i64,
    steps: &mut dyn Steps,
) -> Result<(Chat, Relink), Failure> {
    let mut ledger = Ledger::open_for_writing(home, steps)?;
    let catalog = corpus.catalog()?;
    let sessions = Sessions { corpus, catalog: &catalog };
    let to = catalog.select(&Selector::Exactly(parent.clone()))?;
    let (_, relink) = examine(&ledger, &sessions, child, to, now)?;
    if ledger.relinks(child)?.last() != Some(&relink) {
        ledger.relink(&relink, steps)?;
    }
    Ok((chat_of(&ledger, child)?, relink))
}

/// Says what [`relink`] would do, and changes nothing.
///
/// # Errors
/// The parent is there, or there is no telling; the new one is another agent's, of another or no working
/// directory, the side chat itself or one below it.
pub fn examine(
    ledger: &Ledger,
    sessions: &Sessions<'_>,
    child: &JsString,
    parent: &Record,
    now: i64,
) -> Result<(Chat, Relink), Failure> {
    let chat = chat_of(ledger, child)?;
    let done = ledger.relinks(child)?.pop().filter(|last| last.to == SessionRef::of(&parent.stored.header));
    if let Some(done) = done.filter(|last| last.to == chat.parent) {
        return Ok((chat, done));
    }
    match sessions.presence(&chat.parent) {
        Presence::Gone | Presence::Replaced(_) => {}
        Presence::Unknown(failure) => return Err(failure),
        Presence::Here(_) => {
            let message = format!("the parent {:?} of the side chat is still there", chat.parent.id);
            return Err(Failure::new(Code::StatusInvalid, message).hint("only an orphan gets a new parent"));
        }
    }
    let header = &parent.stored.header;
    let to = SessionRef::of(header);
    if header.is_subagent {
        return Err(Failure::new(Code::RelationInvalid, "the session of another session's agent has no side chats"));
    }
    if is_below(ledger, &to.id, child)? {
        let message = format!("{:?} is the side chat itself or one below it", to.id);
        return Err(Failure::new(Code::RelationInvalid, message).hint("a side chat cannot be its own ancestor"));
    }
    require_one_workspace(&chat.child, &to)?;
    let relink = Relink { child: child.clone(), from: chat.parent.clone(), to: to.clone(), at: now };
    Ok((Chat { parent: to, parent_baseline: None, updated_at: now, ..chat }, relink))
}

/// Whether a session is a side chat, or one of its, and so on.
fn is_below(ledger: &Ledger, session: &JsString, above: &JsString) -> Result<bool, Failure> {
    let mut seen = HashSet::new();
    let mut at = session.clone();
    while at != *above {
        match ledger.chat(&at)? {
            Some(chat) if seen.insert(at) => at = chat.parent.id,
            _ => return Ok(false),
        }
    }
    Ok(true)
}
