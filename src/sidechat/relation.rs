//! Whether a side chat and its parent are still what they were (sidechat.md §3.1).

use super::chat::{Chat, SessionRef, Status};
use super::citation::Cite;
use super::ledger::Ledger;
use crate::corpus::{Catalog, Corpus, Record, Selector};
use crate::error::{Code, Failure};
use crate::model::header::Seed;
use crate::model::js_string::JsString;
use crate::model::problem::ProblemKind;

/// Where a session that the ledger remembers is now.
#[derive(Clone, Debug)]
pub enum Presence<'c> {
    /// It is there.
    Here(&'c Record),
    /// It is not there any more.
    Gone,
    /// A session of its id is there, and it is not the one: created at another time, or elsewhere.
    Replaced(&'c Record),
    /// There is no telling, because something could not be read.
    Unknown(Failure),
}

/// The sessions of a home at one moment, and where they lie.
pub struct Sessions<'c> {
    /// The corpus.
    pub corpus: &'c Corpus,
    /// What is in it.
    pub catalog: &'c Catalog,
}

impl<'c> Sessions<'c> {
    /// Where a session is.
    pub fn presence(&self, session: &SessionRef) -> Presence<'c> {
        match self.catalog.select(&Selector::Exactly(session.id.clone())) {
            Ok(record) if SessionRef::of(&record.stored.header) == *session => Presence::Here(record),
            Ok(record) => Presence::Replaced(record),
            Err(failure) if failure.code != Code::SessionNotFound => Presence::Unknown(failure),
            Err(_) => self.hidden().map_or(Presence::Gone, Presence::Unknown),
        }
    }

    /// Why a session that is not listed may be there all the same.
    fn hidden(&self) -> Option<Failure> {
        if !self.corpus.path().exists() {
            let message = format!("there is no sessions directory at {}", self.corpus.path().display());
            return Some(Failure::new(Code::Io, message));
        }
        let hides = |kind| matches!(kind, ProblemKind::Unreadable | ProblemKind::FlatLayout);
        let problem = self.catalog.problems.iter().find(|problem| hides(problem.kind) && problem.session_id.is_none());
        problem.map(|problem| Failure::new(Code::Io, problem.to_string()))
    }

    /// A session that must be there.
    fn required(&self, session: &SessionRef, what: &str) -> Result<&'c Record, Failure> {
        match self.presence(session) {
            Presence::Here(record) => Ok(record),
            Presence::Unknown(failure) => Err(failure),
            Presence::Gone => Err(Failure::new(Code::Orphaned, format!("the {what} {:?} is gone", session.id))
                .hint("what was said is still in the other session's log")),
            Presence::Replaced(record) if record.stored.header.created_at == session.identity.created_at => {
                let message = format!("the {what} {:?} belongs to another working directory now", session.id);
                Err(Failure::new(Code::WorkspaceDenied, message).hint("side chats stay in the directory they began in"))
            }
            Presence::Replaced(_) => {
                let message = format!("another session has taken the id {:?} of the {what}", session.id);
                Err(Failure::new(Code::RelationInvalid, message).hint("nothing is linked to it by itself"))
            }
        }
    }

    /// The session a cite is for, when it is not the parent: one of the same working directory that is still
    /// what it was.
    ///
    /// # Errors
    /// It is gone, replaced, unreadable, another agent's, the side chat itself, or of another or no working
    /// directory.
    pub fn outside_target(&self, chat: &Chat, target: &SessionRef) -> Result<&'c Record, Failure> {
        let record = self.required(target, "session")?;
        if record.stored.header.is_subagent {
            let message = "an agent of another session gets no quotations";
            return Err(Failure::new(Code::RelationInvalid, message));
        }
        if target.id == chat.child.id {
            return Err(Failure::new(Code::RelationInvalid, "a side chat is not quoted in itself"));
        }
        require_one_workspace(&chat.child, target)?;
        Ok(record)
    }

    /// The session of a side chat, whatever became of its parent.
    ///
    /// # Errors
    /// It is gone, replaced, or unreadable.
    pub fn child(&self, chat: &Chat) -> Result<&'c Record, Failure> {
        self.required(&chat.child, "side chat")
    }

    /// The parent and the session of a side chat that something is to be done for.
    ///
    /// # Errors
    /// One of them is gone, replaced, unreadable, or not what it must be.
    pub fn pair(&self, chat: &Chat) -> Result<(&'c Record, &'c Record), Failure> {
        let parent = self.required(&chat.parent, "parent")?;
        let child = self.required(&chat.child, "side chat")?;
        let (above, below) = (&parent.stored.header, &child.stored.header);
        let invalid = |why: &str| Err(Failure::new(Code::RelationInvalid, why.to_owned()));
        if chat.parent.id == chat.child.id {
            return invalid("a side chat is not its own parent");
        }
        if above.is_subagent || below.is_subagent {
            return invalid("an agent of another session is neither a parent nor a side chat");
        }
        if below.parent_session.is_some() || below.seed != Seed::None {
            return invalid("the side chat holds events of another session");
        }
        Ok((parent, child))
    }
}

/// The session that a cite is for.
///
/// # Errors
/// It is not, or no longer, what it must be; as [`Sessions::pair`].
pub fn cite_target<'c>(sessions: &Sessions<'c>, chat: &Chat, cite: &Cite) -> Result<&'c Record, Failure> {
    let (parent, _) = sessions.pair(chat)?;
    match &cite.target {
        Some(target) if *target != chat.parent => sessions.outside_target(chat, target),
        _ => Ok(parent),
    }
}

/// Refuses two sessions that are not known to be of one working directory.
///
/// # Errors
/// One has none, or they differ.
pub fn require_one_workspace(child: &SessionRef, other: &SessionRef) -> Result<(), Failure> {
    let (Some(here), Some(there)) = (&child.identity.cwd, &other.identity.cwd) else {
        let message = "the working directory of the side chat or of the other session is not known";
        return Err(Failure::new(Code::WorkspaceUnknown, message).hint("both must belong to the same directory"));
    };
    if here == there {
        return Ok(());
    }
    let message = format!("the side chat belongs to {here:?}, the other session to {there:?}");
    Err(Failure::new(Code::WorkspaceDenied, message).hint("both must belong to the same directory"))
}

/// The side chat that is this session.
///
/// # Errors
/// There is none.
pub fn chat_of(ledger: &Ledger, child: &JsString) -> Result<Chat, Failure> {
    ledger.chat(child)?.ok_or_else(|| not_a_side_chat(child))
}

/// The failure of who takes a session for a side chat.
pub fn not_a_side_chat(child: &JsString) -> Failure {
    Failure::new(Code::NotSidechat, format!("the session {child:?} is no side chat of this home"))
        .hint("`dshkit sidechat catalog` shows which there are")
}

/// Refuses what is not begun any more for a side chat that was given up. What was decided on before still
/// comes to its end.
///
/// # Errors
/// It was.
pub fn require_not_abandoned(chat: &Chat) -> Result<(), Failure> {
    if chat.status != Status::Abandoned {
        return Ok(());
    }
    Err(Failure::new(Code::StatusInvalid, format!("the side chat {:?} was abandoned", chat.child.id))
        .hint("that cannot be taken back; what was said is still in its log"))
}

/// Refuses a caller that is not the direct parent.
///
/// # Errors
/// It is not.
pub fn require_parent(chat: &Chat, caller: Option<&Record>) -> Result<(), Failure> {
    match caller {
        Some(caller) if SessionRef::of(&caller.stored.header) != chat.parent => {
            let message = format!("{:?} is not the parent of the side chat {:?}", caller.id(), chat.child.id);
            Err(Failure::new(Code::RelationInvalid, message))
        }
        _ => Ok(()),
    }
}
