//! Bringing a decided message into the parent's log, once (seed §10, sidechat.md §3.4).
//!
//! The ledger says `pending` first, then the message is appended, then the ledger says `committed`. Whoever
//! comes after a crash looks for the message in the log, and only if it is not there appends it.

use super::chat::Chat;
use super::citation::Cite;
use super::fold::{Fold, Place, State};
use super::ledger::Ledger;
use super::marker::{self, Notice};
use super::own_log::{self, Author};
use super::relation::{Sessions, chat_of, cite_target};
use super::withdrawal::Withdrawal;
use crate::corpus::{Corpus, Record, failure};
use crate::error::{Code, Failure};
use crate::generations::encode::{Form, PluginMessage};
use crate::model::event::Event;
use crate::stores::jsonl::{Addition, AppendError, Assurance, JsonlStore, Look, Outcome, Verdict};
use crate::stores::steps::Steps;
use crate::stores::{ReadError, StoredSession};
use jiff::Timestamp;

/// How a delivery is to be made.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    /// Whether the user says that no dsh has the parent open.
    pub offline: bool,
    /// Now, in milliseconds since the epoch.
    pub now: i64,
}

/// Why a delivery has to wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delay {
    /// A stable name.
    pub reason: &'static str,
    /// What is in the way.
    pub message: String,
    /// What a person can do.
    pub advice: &'static str,
}

/// What became of a delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delivered {
    /// It stands in the parent's log.
    At(Place),
    /// It has to wait.
    Later(Delay),
}

/// A log that is looked through for a message.
struct MarkerLook<'m> {
    marker: &'m str,
    found: Option<u64>,
    format: u64,
}

impl Look for MarkerLook<'_> {
    fn begin(&mut self, session: &StoredSession) {
        self.found = None;
        self.format = session.format_version;
    }

    fn event(&mut self, event: &Event<'_>) {
        if self.found.is_none() && marker::is_delivery(event, self.marker) {
            self.found = Some(event.seq);
        }
    }

    fn verdict(&mut self) -> Verdict {
        self.found.map_or(Verdict::Append, Verdict::Present)
    }
}

/// The message of a fold with this text.
pub fn fold_notice(chat: &Chat, fold: &Fold, text: &str) -> Notice {
    marker::fold(fold, &chat.title, text)
}

/// The notice of a withdrawal.
pub fn withdrawal_notice(chat: &Chat, withdrawal: &Withdrawal) -> Notice {
    marker::withdrawal(withdrawal, &chat.title)
}

/// The message of a cite.
pub fn cite_notice(chat: &Chat, cite: &Cite) -> Notice {
    let time = |at: i64| match Timestamp::from_millisecond(at) {
        Ok(time) => time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        Err(_) => at.to_string(),
    };
    let time = cite.source_time.map_or_else(|| "-".to_owned(), time);
    marker::cite(cite, &chat.title, &time, cite.is_cross_parent.then_some(&chat.parent))
}

/// A way into the log of a parent.
pub struct Door<'d> {
    store: JsonlStore,
    parent: &'d Record,
    assurance: Assurance,
    now: i64,
}

impl<'d> Door<'d> {
    /// The way into the log of this session. A v0 log that dshkit made and wrote last needs nobody's word.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub fn to(corpus: &Corpus, ledger: &Ledger, parent: &'d Record, terms: &Terms) -> Result<Door<'d>, Failure> {
        let chat = ledger.chat(parent.id())?;
        let author = chat.as_ref().and_then(|chat| own_log::author(corpus, parent, chat).ok());
        let assurance = match (author, chat.and_then(|chat| chat.log)) {
            (Some(Author::Us(now)), _) => Assurance::Ours(now),
            _ if terms.offline => Assurance::Offline,
            (_, Some(left)) => Assurance::Ours(left),
            (_, None) => Assurance::None,
        };
        Ok(Door { store: JsonlStore::new(corpus.path()), parent, assurance, now: terms.now })
    }

    /// Says what would become of a message now. `None`: it would be appended.
    ///
    /// # Errors
    /// It cannot be, and waiting does not help.
    pub fn check(&self, notice: &Notice) -> Result<Option<Delivered>, Failure> {
        let message = message(notice);
        let addition = Addition { message: &message, now: self.now, assurance: &self.assurance };
        let mut look = MarkerLook { marker: &notice.marker, found: None, format: 0 };
        match self.store.check_append(&self.parent.stored, &addition, &mut look) {
            Ok(None) => Ok(None),
            Ok(Some(seq)) => Ok(Some(Delivered::At(Place { seq, format: look.format }))),
            Err(error) => later(error).map(Some),
        }
    }

    /// Appends a message, unless it is there.
    fn deliver(&self, ledger: &mut Ledger, notice: &Notice, steps: &mut dyn Steps) -> Result<Delivered, Failure> {
        let message = message(notice);
        let addition = Addition { message: &message, now: self.now, assurance: &self.assurance };
        let mut look = MarkerLook { marker: &notice.marker, found: None, format: 0 };
        match self.store.append(&self.parent.stored, &addition, &mut look, steps) {
            Ok(Outcome::Present { seq }) => Ok(Delivered::At(Place { seq, format: look.format })),
            Ok(Outcome::Appended(appended)) => {
                if let (Some(state), true) = (&appended.state, ledger.chat(self.parent.id())?.is_some()) {
                    ledger.set_log(self.parent.id(), state, steps)?;
                }
                Ok(Delivered::At(Place { seq: appended.seq, format: appended.generation.version() }))
            }
            Err(error) => later(error),
        }
    }
}

fn message(notice: &Notice) -> PluginMessage {
    PluginMessage {
        id: notice.id.as_str().to_owned(),
        texts: vec![notice.text.clone()],
        plugin: marker::PLUGIN.to_owned(),
        form: Form::Notice { summary: notice.summary.clone() },
    }
}

/// What time may cure is a delay, everything else a failure.
fn later(error: AppendError) -> Result<Delivered, Failure> {
    if !error.is_pending() {
        return Err(refusal(error));
    }
    Ok(Delivered::Later(Delay { reason: error.reason(), message: error.to_string(), advice: error.advice() }))
}

/// Why a message cannot be appended, as a failure with a code of its own.
pub(super) fn refusal(error: AppendError) -> Failure {
    let code = match &error {
        AppendError::Database => Code::DatabaseStore,
        AppendError::Generation(_) => Code::GenerationNotWritten,
        AppendError::Gone(_) => Code::Orphaned,
        AppendError::Damaged(_) => Code::CorruptSession,
        AppendError::Unsupported(_) => Code::UnsupportedFormat,
        AppendError::MixedEncoding(_) => Code::MixedEncoding,
        AppendError::Elsewhere(_) => Code::IdentityMismatch,
        AppendError::Duplicate(_) => Code::DuplicateId,
        AppendError::FlatLayout(_) => Code::FlatLayout,
        AppendError::Linked(_) | AppendError::LinkedLock(_) => Code::LinkedLog,
        AppendError::Subagent => Code::SubagentSession,
        AppendError::NoStep => Code::NoStep,
        AppendError::NoSystemHead => Code::NoSystemHead,
        AppendError::MessageIdTaken => Code::IdCollision,
        AppendError::NoLocks(_) => Code::NoLocks,
        AppendError::Unreadable(ReadError::Io { .. }) => Code::Io,
        _ => Code::DeliveryFailed,
    };
    let advice = error.advice();
    match error {
        AppendError::Unreadable(error) => failure(error),
        error => Failure::new(code, error.to_string()).hint(advice),
    }
}

/// Brings a decided fold into its parent's log and puts down what became of it.
///
/// # Errors
/// It cannot be, or the ledger cannot be written. If something failed in writing it, the fold is `failed`.
pub fn deliver_fold(
    ledger: &mut Ledger,
    sessions: &Sessions<'_>,
    fold: &Fold,
    terms: &Terms,
    steps: &mut dyn Steps,
) -> Result<Delivered, Failure> {
    let chat = chat_of(ledger, &fold.child)?;
    let (parent, _) = sessions.pair(&chat)?;
    let notice = fold_notice(&chat, fold, fold.committed_text.as_deref().unwrap_or_default());
    let door = Door::to(sessions.corpus, ledger, parent, terms)?;
    match door.deliver(ledger, &notice, steps) {
        Ok(Delivered::At(place)) => {
            ledger.commit_fold(fold, parent.id(), place, terms.now, steps)?;
            Ok(Delivered::At(place))
        }
        Ok(Delivered::Later(delay)) => {
            ledger.delay_fold(&fold.id, delay.reason, terms.now, steps)?;
            Ok(Delivered::Later(delay))
        }
        Err(failure) => {
            ledger.fail_fold(&fold.id, &failure.message, &fold.calls, terms.now, steps)?;
            Err(failure)
        }
    }
}

/// Brings the notice of a withdrawal into the parent's log and puts down what became of it.
///
/// # Errors
/// As [`deliver_fold`].
pub fn deliver_withdrawal(
    ledger: &mut Ledger,
    sessions: &Sessions<'_>,
    withdrawal: &Withdrawal,
    terms: &Terms,
    steps: &mut dyn Steps,
) -> Result<Delivered, Failure> {
    let chat = chat_of(ledger, &withdrawal.child)?;
    let (parent, _) = sessions.pair(&chat)?;
    let door = Door::to(sessions.corpus, ledger, parent, terms)?;
    let (fold, now) = (&withdrawal.fold, terms.now);
    match door.deliver(ledger, &withdrawal_notice(&chat, withdrawal), steps) {
        Ok(Delivered::At(place)) => {
            ledger.commit_withdrawal(withdrawal, place, now, steps)?;
            Ok(Delivered::At(place))
        }
        Ok(Delivered::Later(delay)) => {
            ledger.hold_withdrawal(fold, State::Pending, Some(delay.reason), now, steps)?;
            Ok(Delivered::Later(delay))
        }
        Err(failure) => {
            ledger.hold_withdrawal(fold, State::Failed, Some(&failure.message), now, steps)?;
            Err(failure)
        }
    }
}

/// Brings a decided cite into its session's log and puts down what became of it.
///
/// # Errors
/// As [`deliver_fold`].
pub fn deliver_cite(
    ledger: &mut Ledger,
    sessions: &Sessions<'_>,
    cite: &Cite,
    terms: &Terms,
    steps: &mut dyn Steps,
) -> Result<Delivered, Failure> {
    let chat = chat_of(ledger, &cite.child)?;
    let target = cite_target(sessions, &chat, cite)?;
    let door = Door::to(sessions.corpus, ledger, target, terms)?;
    match door.deliver(ledger, &cite_notice(&chat, cite), steps) {
        Ok(Delivered::At(place)) => {
            ledger.commit_cite(cite, place, terms.now, steps)?;
            Ok(Delivered::At(place))
        }
        Ok(Delivered::Later(delay)) => {
            ledger.hold_cite(&cite.id, State::Pending, Some(delay.reason), terms.now, steps)?;
            Ok(Delivered::Later(delay))
        }
        Err(failure) => {
            ledger.hold_cite(&cite.id, State::Failed, Some(&failure.message), terms.now, steps)?;
            Err(failure)
        }
    }
}
