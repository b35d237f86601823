//! Side chats as they are listed: what the ledger knows of them, and how their sessions are now (seed §6.5).

use super::chat::{Chat, Identity};
use super::citation::Cite;
use super::fold::{Fold, Standing, State};
use super::known::Known;
use super::reading::{Reading, Reply};
use super::relation::{Presence, Sessions};
use super::relink::Relink;
use super::withdrawal::Withdrawal;
use crate::error::Failure;
use crate::model::js_string::JsString;
use crate::projections::token_usage::Route;

/// A side chat as it is now.
#[derive(Debug)]
pub struct Listed {
    /// What the ledger knows.
    pub chat: Chat,
    /// Its folds, oldest first.
    pub folds: Vec<Fold>,
    /// Its cites, oldest first.
    pub cites: Vec<Cite>,
    /// The withdrawals of its folds, oldest first.
    pub withdrawals: Vec<Withdrawal>,
    /// The times it got another parent, oldest first.
    pub relinks: Vec<Relink>,
    /// How its parent is.
    pub parent: Seen,
    /// How its own session is.
    pub child: Seen,
    /// What its own log tells, or why it does not.
    pub log: Result<LogFacts, Failure>,
    /// Where its own log lies.
    pub path: Option<String>,
}

/// How a session is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// It is there.
    Here,
    /// It is not.
    Gone,
    /// Another session has its id.
    Replaced,
    /// There is no telling.
    Unreadable,
}

impl Seen {
    /// The stable name.
    pub fn name(self) -> &'static str {
        match self {
            Seen::Here => "here",
            Seen::Gone => "gone",
            Seen::Replaced => "replaced",
            Seen::Unreadable => "unreadable",
        }
    }
}

/// What the log of a side chat tells.
#[derive(Debug)]
pub struct LogFacts {
    /// Its title now.
    pub title: Option<JsString>,
    /// When its last event was recorded, in milliseconds since the epoch.
    pub last_activity_at: Option<i64>,
    /// The model of its newest request.
    pub route: Option<Route>,
    /// Whether a turn is open, or a dsh has the session open.
    pub is_running: bool,
    /// What its model said, oldest first.
    pub replies: Vec<Reply>,
}

impl Listed {
    /// The status a person sees: that of the ledger, unless the parent is gone.
    pub fn status(&self) -> &'static str {
        if self.parent == Seen::Gone { "orphaned" } else { self.chat.status.name() }
    }

    /// The newest committed revision that counts.
    pub fn current_revision(&self) -> Option<u64> {
        self.folds.iter().find(|fold| fold.standing == Some(Standing::Current)).map(|fold| fold.revision)
    }

    /// How many folds are committed.
    pub fn committed(&self) -> usize {
        self.folds.iter().filter(|fold| fold.state == State::Committed).count()
    }

    /// How many folds, cites and withdrawals are pending.
    pub fn pending(&self) -> usize {
        self.folds.iter().filter(|fold| fold.state == State::Pending).count()
            + self.cites.iter().filter(|cite| cite.state == State::Pending).count()
            + self.withdrawals.iter().filter(|withdrawal| withdrawal.state == State::Pending).count()
    }

    /// When something last happened, in milliseconds since the epoch.
    pub fn last_activity_at(&self) -> i64 {
        let logged = self.log.as_ref().ok().and_then(|log| log.last_activity_at);
        logged.map_or(self.chat.updated_at, |logged| logged.max(self.chat.updated_at))
    }

    /// The title a person sees.
    pub fn title(&self) -> JsString {
        let logged = self.log.as_ref().ok().and_then(|log| log.title.clone());
        logged.unwrap_or_else(|| JsString::from(self.chat.title.clone()))
    }
}

/// Looks at one side chat.
///
/// # Errors
/// It is none, or the ledger cannot be read. What is wrong with its sessions is part of the answer.
pub fn one(known: &Known, sessions: &Sessions<'_>, child: &JsString) -> Result<Listed, Failure> {
    look(known, sessions, known.required(child)?)
}

/// The side chats of a parent, the one in which something happened last first.
///
/// # Errors
/// The ledger cannot be read.
pub fn of_parent(known: &Known, sessions: &Sessions<'_>, parent: &JsString) -> Result<Vec<Listed>, Failure> {
    let mut listed = Vec::new();
    for chat in known.chats()?.into_iter().filter(|chat| chat.parent.id == *parent) {
        listed.push(look(known, sessions, chat)?);
    }
    listed.sort_by_key(|listed| std::cmp::Reverse(listed.last_activity_at()));
    Ok(listed)
}

/// The side chats of a working directory, or all: those of one parent first, then the one in which something
/// happened last.
///
/// # Errors
/// The ledger cannot be read.
pub fn catalog(
    known: &Known,
    sessions: &Sessions<'_>,
    cwd: Option<&JsString>,
    first: Option<&JsString>,
) -> Result<Vec<Listed>, Failure> {
    let is_there = |identity: &Identity| cwd.is_none_or(|cwd| identity.cwd.as_ref() == Some(cwd));
    let mut listed = Vec::new();
    for chat in known.chats()?.into_iter().filter(|chat| is_there(&chat.parent.identity)) {
        listed.push(look(known, sessions, chat)?);
    }
    listed.sort_by_key(|listed| (first != Some(&listed.chat.parent.id), std::cmp::Reverse(listed.last_activity_at())));
    Ok(listed)
}

/// Looks at a side chat that is known.
pub(super) fn look(known: &Known, sessions: &Sessions<'_>, chat: Chat) -> Result<Listed, Failure> {
    let child = &chat.child.id;
    let (folds, cites) = (known.folds(child)?, known.cites(child)?);
    let (withdrawals, relinks) = (known.withdrawals(child)?, known.relinks(child)?);
    let presence = sessions.presence(&chat.child);
    let (log, path) = match &presence {
        Presence::Here(record) => {
            let facts = Reading::of(sessions.corpus, record).map(|reading| LogFacts {
                title: reading.title.clone(),
                last_activity_at: reading.status.last_time,
                is_running: reading.status.open_turn.is_some() || record.live == Some(true),
                replies: reading.replies().collect(),
                route: reading.route,
            });
            (facts, Some(record.stored.path.display().to_string()))
        }
        Presence::Unknown(failure) => (Err(failure.clone()), None),
        Presence::Gone | Presence::Replaced(_) => {
            let message = format!("the side chat {:?} is gone", chat.child.id);
            (Err(Failure::new(crate::error::Code::SessionNotFound, message)), None)
        }
    };
    let parent = seen(&sessions.presence(&chat.parent));
    Ok(Listed { folds, cites, withdrawals, relinks, parent, child: seen(&presence), log, path, chat })
}

pub(super) fn seen(presence: &Presence<'_>) -> Seen {
    match presence {
        Presence::Here(_) => Seen::Here,
        Presence::Gone => Seen::Gone,
        Presence::Replaced(_) => Seen::Replaced,
        Presence::Unknown(_) => Seen::Unreadable,
    }
}
