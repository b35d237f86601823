//! Preparing folds: the next revision of a side chat, from a text or by a model (seed §6.6, §6.8).

use super::chat::{Chat, ModelCall};
use super::fold::{Basis, Fold, FoldMode, Review, State};
use super::id::Id;
use super::language::Language;
use super::ledger::{AtWork, Ledger, NewFold};
use super::pointer::{self, Pointer};
use super::reading::Reading;
use super::relation::{Sessions, chat_of, require_not_abandoned};
use super::request::{self, Ask, Request};
use crate::error::{Code, Failure};
use crate::model::js_string::JsString;
use crate::stores::steps::Steps;
use std::path::Path;

/// The most a fold may hold before it is even looked at, in UTF-16 units (sidechat.md §2.7).
const MAX_UNITS: u64 = 20_000;

/// A side chat that a fold can be made of, as it is now.
#[derive(Debug)]
pub struct Foldable {
    /// The side chat.
    pub chat: Chat,
    /// What was said in it.
    pub reading: Reading,
    /// What the fold is to stand for.
    pub mode: FoldMode,
    /// The text of the revision it builds on.
    base_text: Option<String>,
}

/// A fold, and whether it was there before.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// The fold.
    pub fold: Fold,
    /// Whether it had been prepared before, and nothing was done now.
    pub is_old: bool,
    /// Why the text of a model was not written again although it should have been.
    pub rewrite_failure: Option<String>,
    /// What is wrong with what the text points to; then it cannot be committed as it is.
    pub pointer_failure: Option<Failure>,
}

/// Reads a side chat that is to be folded.
///
/// # Errors
/// It is none, was given up, or it or its parent is gone or cannot be read; the revision to build on is none.
pub fn foldable(
    ledger: &Ledger,
    sessions: &Sessions<'_>,
    child: &JsString,
    mode: FoldMode,
) -> Result<Foldable, Failure> {
    let chat = chat_of(ledger, child)?;
    require_not_abandoned(&chat)?;
    let (_, session) = sessions.pair(&chat)?;
    let base_text = require_base(mode, &ledger.folds(child)?)?;
    Ok(Foldable { reading: Reading::of(sessions.corpus, session)?, chat, mode, base_text })
}

/// The text of the revision that a fold builds on; `None` for one that stands for the whole.
///
/// # Errors
/// There is no such revision, it is not committed, or it was taken back.
pub fn require_base(mode: FoldMode, folds: &[Fold]) -> Result<Option<String>, Failure> {
    let Some(base) = mode.base() else { return Ok(None) };
    let invalid = |why: &str| {
        Err(Failure::new(Code::FoldBaseInvalid, format!("revision {base} {why}"))
            .hint("build on a committed revision, or make a full fold"))
    };
    match folds.iter().find(|fold| fold.revision == base) {
        Some(fold) if fold.is_in_force() => Ok(fold.committed_text.clone()),
        Some(fold) if fold.state == State::Committed => invalid("was withdrawn"),
        Some(fold) => invalid(&format!("is {}, not committed", fold.state.name())),
        None => invalid("is none of this side chat"),
    }
}

impl Foldable {
    /// What a model is asked for a fold.
    pub fn request(&self, language: Language) -> Request {
        let base = self.mode.base().zip(self.base_text.as_deref());
        request::fold(&self.reading, &self.chat, base, language)
    }

    /// What the text of a fold points to.
    ///
    /// # Errors
    /// It points to something else than messages of this side chat, or to too many.
    pub fn pointers(&self, text: &str) -> Result<Vec<Pointer>, Failure> {
        pointer::pointers(text, &self.chat.child.id, &self.reading)
    }

    /// What can be said of a fold of this text: what it points to, or why that will not do.
    fn examined(&self, text: &str) -> (Vec<Pointer>, Option<Failure>) {
        match self.pointers(text) {
            Ok(pointers) => (pointers, None),
            Err(failure) => (Vec::new(), Some(failure)),
        }
    }

    fn prepared(&self, fold: Fold, is_old: bool, rewrite_failure: Option<String>) -> Prepared {
        let pointer_failure = fold.prepared_text.as_deref().and_then(|text| self.examined(text).1);
        let pointer_failure = pointer_failure.filter(|_| fold.committed_text.is_none());
        Prepared { fold, is_old, rewrite_failure, pointer_failure }
    }

    /// A fold that was there before.
    fn old(&self, fold: Fold) -> Prepared {
        self.prepared(fold, true, None)
    }

    /// A fold that was there before, if it is of the mode that is wanted.
    ///
    /// # Errors
    /// It is of another.
    pub fn same(&self, fold: Fold) -> Result<Prepared, Failure> {
        self.require_same_mode(&fold)?;
        Ok(self.old(fold))
    }

    /// Refuses a fold that was begun for something else under the same id.
    fn require_same_mode(&self, fold: &Fold) -> Result<(), Failure> {
        if fold.mode == self.mode {
            return Ok(());
        }
        let base = fold.mode.base().map(|base| format!(" since revision {base}")).unwrap_or_default();
        let message = format!("the fold {} is a fold of the mode {}{base}", fold.id, fold.mode.name());
        Err(Failure::new(Code::IdCollision, message).hint("leave the id out for a new revision"))
    }

    fn basis(&self) -> Basis {
        Basis {
            through_seq: self.reading.status.last_seq,
            through_message: self.reading.last_message.clone(),
            format: Some(self.reading.format),
        }
    }
}

/// Takes white space off a text that is to become a fold.
///
/// # Errors
/// Nothing is left, or it is longer than any fold could be.
pub fn checked_text(text: &str) -> Result<&str, Failure> {
    let text = text.trim();
    if text.is_empty() {
        return Err(Failure::new(Code::BadRequest, "the fold is empty"));
    }
    let units = super::estimate::utf16_len(text);
    if units > MAX_UNITS {
        let message = format!("the fold has {units} characters; more than {MAX_UNITS} are not even looked at");
        return Err(Failure::new(Code::BadRequest, message));
    }
    Ok(text)
}

/// The fold an id names already, if it is one of this side chat.
///
/// # Errors
/// It is one of another.
pub fn existing(ledger: &Ledger, id: &Id, child: &JsString) -> Result<Option<Fold>, Failure> {
    match ledger.fold(id)? {
        Some(fold) if fold.child != *child => {
            Err(Failure::new(Code::IdCollision, format!("{id} is a fold of the side chat {:?}", fold.child)))
        }
        Some(fold) => Ok(Some(fold)),
        None if ledger.cite(id)?.is_some() => Err(Failure::new(Code::IdCollision, format!("{id} is a cite"))),
        None => Ok(None),
    }
}

/// Prepares the next revision with this text. An id that was used before gives what it stood for.
///
/// # Errors
/// The id stands for something else, or the ledger cannot be written.
pub fn from_text(
    home: &Path,
    foldable: &Foldable,
    id: &Id,
    text: &str,
    now: i64,
    steps: &mut dyn Steps,
) -> Result<Prepared, Failure> {
    let mut ledger = Ledger::open_for_writing(home, steps)?;
    let child = &foldable.chat.child.id;
    if let Some(fold) = existing(&ledger, id, child)? {
        foldable.require_same_mode(&fold)?;
        if fold.prepared_text.as_deref().is_some_and(|prepared| prepared != text) {
            let message = format!("the fold {id} was prepared with another text");
            return Err(Failure::new(Code::IdCollision, message)
                .hint("change it with --edit, commit it with --text, or leave the id out for a new revision"));
        }
        if fold.prepared_text.is_some() {
            return Ok(foldable.old(fold));
        }
        return Err(without_text(&fold));
    }
    let (pointers, _) = foldable.examined(text);
    let text = Some(text.to_owned());
    let (mode, basis) = (foldable.mode, foldable.basis());
    let new = NewFold { id: id.clone(), child: child.clone(), text, pointers, mode, basis };
    ledger.reserve_fold(&new, now, steps)?;
    Ok(foldable.prepared(required(&ledger, id)?, false, None))
}

/// Has a model write the next revision, and write it again, once, if it is not as it must be. Nobody is kept
/// from the ledger meanwhile. An id that was used before gives what it stood for, without asking anybody;
/// one whose attempt failed is tried again.
///
/// # Errors
/// The model gave no answer (the revision is used up), the id stands for something else or is being written,
/// or the ledger cannot be written.
pub fn by_model(
    home: &Path,
    foldable: &Foldable,
    id: &Id,
    language: Language,
    now: i64,
    ask: &mut Ask<'_>,
    steps: &mut dyn Steps,
) -> Result<Prepared, Failure> {
    let _at_work = match begin(home, foldable, id, now, steps)? {
        Begun::Old(fold) => return Ok(foldable.old(*fold)),
        Begun::ToWrite(at_work) => at_work,
    };
    let mut calls = Vec::new();
    let written = write(foldable, language, ask, &mut calls);
    let mut ledger = Ledger::open_for_writing(home, steps)?;
    match written {
        Ok((text, rewrite_failure)) => {
            ledger.prepare_fold(id, &text, &foldable.examined(&text).0, &calls, now, steps)?;
            Ok(foldable.prepared(required(&ledger, id)?, false, rewrite_failure))
        }
        Err(failure) => {
            ledger.fail_fold(id, &failure.message, &calls, now, steps)?;
            Err(failure)
        }
    }
}

/// What a model need, or need not, write.
enum Begun {
    /// It is there.
    Old(Box<Fold>),
    /// It is to be written.
    ToWrite(AtWork),
}

/// Gives a revision to what a model is about to write, unless the id has what it stands for. What was being written
/// for a process that is gone is begun again.
fn begin(home: &Path, foldable: &Foldable, id: &Id, now: i64, steps: &mut dyn Steps) -> Result<Begun, Failure> {
    let mut ledger = Ledger::open_for_writing(home, steps)?;
    let child = &foldable.chat.child.id;
    let old = existing(&ledger, id, child)?;
    old.as_ref().map_or(Ok(()), |old| foldable.require_same_mode(old))?;
    match old {
        Some(fold) if fold.prepared_text.is_some() => return Ok(Begun::Old(Box::new(fold))),
        Some(fold) if fold.state == State::Generating && ledger.is_somebody_at_work()? => {
            return Err(without_text(&fold));
        }
        Some(fold) => ledger.restart_fold(&fold.id, &foldable.basis(), now, steps)?,
        None => {
            let (mode, basis) = (foldable.mode, foldable.basis());
            let new = NewFold { id: id.clone(), child: child.clone(), text: None, pointers: Vec::new(), mode, basis };
            ledger.reserve_fold(&new, now, steps)?;
        }
    }
    ledger.set_at_work().map(Begun::ToWrite)
}

/// Asks for a text, and once for a better one.
fn write(
    foldable: &Foldable,
    language: Language,
    ask: &mut Ask<'_>,
    calls: &mut Vec<ModelCall>,
) -> Result<(String, Option<String>), Failure> {
    let request = foldable.request(language);
    let first = ask(&request)?;
    calls.push(first.call);
    let review = Review::in_language(&first.text, language);
    // A pointer that leads nowhere is for a person to put right: no second call is spent on it.
    if review.is_good() || foldable.pointers(&first.text).is_err() {
        return Ok((first.text, None));
    }
    match ask(&request::rewrite(&request, &first.text, &review, language)) {
        Ok(second) => {
            calls.push(second.call);
            Ok((second.text, None))
        }
        // The first text is there, and a person can put it right.
        Err(failure) => Ok((first.text, Some(failure.message))),
    }
}

/// Gives a fold that nothing was decided on another text.
///
/// # Errors
/// It was decided on, or there is none to change.
pub fn edit(
    home: &Path,
    foldable: &Foldable,
    id: &Id,
    text: &str,
    now: i64,
    steps: &mut dyn Steps,
) -> Result<Prepared, Failure> {
    let mut ledger = Ledger::open_for_writing(home, steps)?;
    let fold = required(&ledger, id)?;
    require_editable(&fold)?;
    ledger.prepare_fold(id, text, &foldable.examined(text).0, &fold.calls, now, steps)?;
    Ok(foldable.prepared(required(&ledger, id)?, false, None))
}

/// Refuses to change what was decided on, or is being written.
///
/// # Errors
/// It is.
pub fn require_editable(fold: &Fold) -> Result<(), Failure> {
    if fold.state == State::Generating {
        return Err(without_text(fold));
    }
    if fold.committed_text.is_none() {
        return Ok(());
    }
    Err(Failure::new(Code::StatusInvalid, format!("revision {} was decided on and cannot be changed", fold.revision))
        .hint("prepare a new revision"))
}

/// The failure of who needs the text of a fold that has none.
pub fn without_text(fold: &Fold) -> Failure {
    if fold.state == State::Generating {
        return Failure::new(Code::FoldGenerating, format!("a model is still writing revision {}", fold.revision))
            .hint("if its dshkit was ended, `dshkit sidechat fold` with its id has it written again");
    }
    let reason = fold.reason.as_deref().unwrap_or("for no known reason");
    Failure::new(Code::FoldFailed, format!("revision {} could not be made: {reason}", fold.revision))
        .hint("`dshkit sidechat fold` makes the next one")
}

/// The fold an id names.
///
/// # Errors
/// It names none.
pub fn required(ledger: &Ledger, id: &Id) -> Result<Fold, Failure> {
    ledger.fold(id)?.ok_or_else(|| {
        Failure::new(Code::FoldNotFound, format!("there is no fold {id}"))
            .hint("`dshkit sidechat show SESSION` lists the folds of a side chat")
    })
}
