//! Putting side chats away, taking them out again, giving them up (seed §13).

use super::chat::{Chat, Status};
use super::ledger::Ledger;
use super::relation::{Presence, Sessions, chat_of};
use crate::corpus::Corpus;
use crate::error::{Code, Failure};
use crate::model::js_string::JsString;
use crate::stores::steps::Steps;
use std::path::Path;

/// What is done to the status of a side chat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// From open to archived.
    Archive,
    /// From archived to open.
    Restore,
    /// To abandoned, from where nothing leads back.
    Abandon,
}

impl Change {
    /// The status it leads to from another; `None`: not from there.
    fn leads_to(self, from: Status) -> Option<Status> {
        match (self, from) {
            (Change::Archive, Status::Open | Status::Archived) => Some(Status::Archived),
            (Change::Restore, Status::Open | Status::Archived) => Some(Status::Open),
            (Change::Abandon, _) => Some(Status::Abandoned),
            (Change::Archive | Change::Restore, Status::Abandoned) => None,
        }
    }
}

/// Changes the status of a side chat; what it has already is no error.
///
/// # Errors
/// The change is none from there, the parent is gone, or the ledger cannot be written.
pub fn change(
    home: &Path,
    corpus: &Corpus,
    child: &JsString,
    change: Change,
    now: i64,
    steps: &mut dyn Steps,
) -> Result<Chat, Failure> {
    let mut ledger = Ledger::open_for_writing(home, steps)?;
    let catalog = corpus.catalog()?;
    let to = examine(&ledger, &Sessions { corpus, catalog: &catalog }, child, change)?;
    if chat_of(&ledger, child)?.status != to {
        ledger.set_status(child, to, now, steps)?;
    }
    chat_of(&ledger, child)
}

/// Lets ordinary lists of sessions leave a side chat out, or not any more (seed §7.6). It changes nothing else.
///
/// # Errors
/// There is no such side chat, or the ledger cannot be written.
pub fn hide(home: &Path, child: &JsString, is_hidden: bool, steps: &mut dyn Steps) -> Result<Chat, Failure> {
    let mut ledger = Ledger::open_for_writing(home, steps)?;
    if chat_of(&ledger, child)?.is_hidden != is_hidden {
        ledger.set_hidden(child, is_hidden, steps)?;
    }
    chat_of(&ledger, child)
}

/// The status a change would lead to.
///
/// # Errors
/// As [`change`].
pub fn examine(ledger: &Ledger, sessions: &Sessions<'_>, child: &JsString, change: Change) -> Result<Status, Failure> {
    let chat = chat_of(ledger, child)?;
    match sessions.presence(&chat.parent) {
        Presence::Here(_) => {}
        Presence::Unknown(failure) => return Err(failure),
        Presence::Gone | Presence::Replaced(_) => {
            return Err(Failure::new(Code::Orphaned, format!("the parent {:?} is gone", chat.parent.id))
                .hint("an orphaned side chat stays as it is until its parent is back"));
        }
    }
    change.leads_to(chat.status).ok_or_else(|| {
        Failure::new(Code::StatusInvalid, format!("the side chat {child:?} was abandoned, which is for good"))
            .hint("what was said is still in its log")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_leads_back_from_abandoned() {
        assert_eq!(Change::Archive.leads_to(Status::Open), Some(Status::Archived));
        assert_eq!(Change::Restore.leads_to(Status::Archived), Some(Status::Open));
        assert_eq!(Change::Abandon.leads_to(Status::Archived), Some(Status::Abandoned));
        assert_eq!(Change::Restore.leads_to(Status::Abandoned), None);
        assert_eq!(Change::Archive.leads_to(Status::Abandoned), None);
    }
}
