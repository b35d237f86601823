//! Asking a side chat from a shell: one turn of a person and a model (issue 7; formats.md §7.5, DESIGN §5).
//!
//! That is possible as long as nobody but dshkit has written the side chat's log. Its lock is held while the
//! model answers, as a dsh holds it; then the whole turn is written at once, so that a log never holds half of
//! one. What the model is sent is what it sees in dsh: the surface, and no tools.

use super::chat::{Chat, SessionRef};
use super::delivery::refusal;
use super::estimate::utf16_len;
use super::id::Id;
use super::ledger::Ledger;
use super::own_log::{self, Author};
use super::reading::{Reading, Speaker};
use super::relation::{Sessions, chat_of, require_not_abandoned};
use crate::corpus::Record;
use crate::error::{Code, Failure};
use crate::generations::Generation;
use crate::generations::encode::turn::{NewTurn, Prompt, Reply, Request};
use crate::model::js_string::JsString;
use crate::projections::token_usage::Route;
use crate::stores::jsonl::{AppendError, Assurance, Batch, JsonlStore, OpenLog};
use crate::stores::steps::Steps;
use std::path::Path;

/// The most a person may say at once, in UTF-16 units, as for a first question.
const MAX_UNITS: u64 = 20_000;

/// A side chat that is to be asked.
#[derive(Debug)]
pub struct Question {
    /// The side chat.
    pub chat: Chat,
    /// What was said in it.
    pub reading: Reading,
    /// What the person says now; `None` if the model is to answer what stands there already.
    pub text: Option<String>,
    store: JsonlStore,
    record: Record,
    assurance: Assurance,
}

/// Something that a model is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line<'q> {
    /// Whether the model said it.
    pub is_of_model: bool,
    /// The text.
    pub text: &'q str,
}

/// A side chat that is open for a turn: its lock is held.
pub struct Turn {
    question: Question,
    log: OpenLog,
}

/// A turn that was written.
#[derive(Clone, Debug)]
pub struct Kept {
    /// The turn.
    pub turn: NewTurn,
    /// The seqs of its first and last event.
    pub seqs: (u64, u64),
    /// Why the ledger was not told what the log holds now. It finds that out by itself.
    pub unnoted: Option<Failure>,
}

/// A turn that was not written, although a model has answered.
#[derive(Clone, Debug)]
pub struct Lost {
    /// The turn.
    pub turn: NewTurn,
    /// Whether the log holds it all the same; `None` if nobody knows, because what was begun could not be taken back.
    pub is_kept: Option<bool>,
    /// Why it was not written.
    pub failure: Failure,
}

impl Question {
    /// Checks everything that can be checked before a model is asked. Changes nothing.
    ///
    /// # Errors
    /// The text is not valid, or nothing is left to answer; the session is no side chat, was given up, or is
    /// gone; somebody has it open, a dsh has gone on with it, or somebody has changed its log.
    pub fn new(
        ledger: &Ledger,
        sessions: &Sessions<'_>,
        child: &JsString,
        text: Option<&str>,
        now: i64,
    ) -> Result<Question, Failure> {
        let text = text.map(checked).transpose()?;
        let chat = chat_of(ledger, child)?;
        require_not_abandoned(&chat)?;
        let record = sessions.child(&chat)?;
        let state = match own_log::author(sessions.corpus, record, &chat)? {
            Author::Us(state) => state,
            Author::Dsh => return Err(gone_on(&chat.child)),
            Author::Unknown => return Err(changed(&chat.child)),
        };
        let store = JsonlStore::new(sessions.corpus.path());
        let assurance = Assurance::Ours(state);
        store.check_open_log(&record.stored, &assurance, now).map_err(|error| refused(&chat.child, error))?;
        let reading = Reading::of(sessions.corpus, record)?;
        let is_answered =
            reading.current().next_back().is_none_or(|said| matches!(said.speaker, Speaker::Model { .. }));
        if text.is_none() && is_answered {
            return Err(Failure::new(Code::BadRequest, "nothing in the side chat waits for an answer")
                .hint("say what to ask: `dshkit sidechat ask SIDECHAT TEXT`"));
        }
        Ok(Question { chat, reading, text, store, record: record.clone(), assurance })
    }

    /// The model to ask if nobody names one: that of the newest request, or the one the side chat is meant for.
    pub fn route(&self) -> Option<&Route> {
        self.reading.route.as_ref().or(self.chat.model.route.as_ref())
    }

    /// What the model is sent, the oldest first.
    pub fn context(&self) -> Vec<Line<'_>> {
        let line = |said: &super::reading::Said| matches!(said.speaker, Speaker::Model { .. });
        let said = self.reading.current().map(|said| Line { is_of_model: line(said), text: &said.text });
        said.chain(self.text.iter().map(|text| Line { is_of_model: false, text })).collect()
    }

    /// Takes the side chat's lock.
    ///
    /// # Errors
    /// Somebody else has it, or has written to the log since it was looked at.
    pub fn open(self, now: i64, steps: &mut dyn Steps) -> Result<Turn, Failure> {
        let opened = self.store.open_log(&self.record.stored, &self.assurance, now, steps);
        let log = opened.map_err(|error| refused(&self.chat.child, error))?;
        if log.generation() != Generation::V0 {
            return Err(gone_on(&self.chat.child));
        }
        Ok(Turn { question: self, log })
    }
}

impl Turn {
    /// What was asked.
    pub fn question(&self) -> &Question {
        &self.question
    }

    /// Writes the turn, however its reply ended.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn keep(
        self,
        home: &Path,
        route: &Route,
        max_tokens: u64,
        reply: Reply,
        steps: &mut dyn Steps,
    ) -> Result<Kept, Box<Lost>> {
        let Turn { question, log } = self;
        let before = question.reading.route.as_ref();
        let turn = NewTurn {
            number: question.reading.status.turns + 1,
            began: log.earliest(),
            prompt: question.text.map(|text| Prompt { id: Id::random().to_string(), text }),
            request: Request {
                provider: route.provider.clone(),
                model: route.model.clone(),
                max_tokens,
                is_first: before.is_none(),
                is_other_model: before != Some(route),
            },
            reply,
        };
        let first = log.next_seq();
        let rows = turn.rows(first);
        let batch = Batch { rows: &rows.rows, events: rows.events, last_message: turn.last_message() };
        let child = &question.chat.child;
        let appended = match log.append(&batch, steps) {
            Ok(appended) => appended,
            Err(error) => {
                let is_kept = if matches!(error, AppendError::NotUndone { .. }) { None } else { Some(false) };
                let failure = lost(refused(child, error), &turn, is_kept);
                return Err(Box::new(Lost { turn, is_kept, failure }));
            }
        };
        let mut note = |state| Ledger::open_for_writing(home, steps)?.set_log(&child.id, state, steps);
        let unnoted = appended.state.as_ref().and_then(|state| note(state).err());
        Ok(Kept { seqs: (first, first + rows.events - 1), turn, unnoted })
    }
}

fn checked(text: &str) -> Result<String, Failure> {
    let text = text.trim();
    if text.is_empty() {
        return Err(Failure::new(Code::BadRequest, "there is nothing in what is to be asked"));
    }
    let units = utf16_len(text);
    if units > MAX_UNITS {
        let message = format!("the text has {units} characters, at most {MAX_UNITS} are allowed");
        return Err(Failure::new(Code::BadRequest, message));
    }
    Ok(text.to_owned())
}

/// Why a side chat is not written to.
fn refused(child: &SessionRef, error: AppendError) -> Failure {
    match error {
        AppendError::Held | AppendError::LockReplaced => {
            let message = format!("the side chat {:?} is open elsewhere: {error}", child.id);
            Failure::new(Code::SessionHeld, message).hint("ask there, or close it first; nothing was written")
        }
        error if error.is_pending() => changed(child),
        AppendError::Generation(_) => gone_on(child),
        error => refusal(error),
    }
}

/// A failure that also says what it did to a turn.
fn lost(failure: Failure, turn: &NewTurn, is_kept: Option<bool>) -> Failure {
    let what = if turn.reply.text().trim().is_empty() { "turn" } else { "answer" };
    let outcome = if is_kept.is_some() { "was not kept" } else { "may not be kept whole" };
    let code = failure.code;
    failure.caused_as(code, format!("the {what} {outcome}"))
}

fn gone_on(child: &SessionRef) -> Failure {
    continue_in_dsh(format!("a dsh has gone on with the side chat {:?}", child.id))
}

fn changed(child: &SessionRef) -> Failure {
    continue_in_dsh(format!("the log of the side chat {:?} was changed since dshkit wrote it", child.id))
}

fn continue_in_dsh(message: String) -> Failure {
    Failure::new(Code::ContinueInDsh, message).hint("continue in dsh: `dshkit sidechat resume SIDECHAT` says how")
}
