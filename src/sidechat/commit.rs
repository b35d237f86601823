//! Deciding on a fold and bringing it to the parent (sidechat.md §3.3, §3.4).

use super::chat::Chat;
use super::delivery::{Delivered, Door, Terms, deliver_fold, fold_notice};
use super::estimate;
use super::fold::{Fold, Review, Standing, State};
use super::id::Id;
use super::ledger::{Decision, Ledger};
use super::marker::Notice;
use super::pointer;
use super::prepare::{checked_text, require_base, required, without_text};
use super::reading::Reading;
use super::relation::{Sessions, chat_of, require_not_abandoned, require_parent};
use crate::corpus::{Corpus, Record};
use crate::error::{Code, Failure};
use crate::stores::steps::Steps;
use std::path::Path;

/// What is wanted.
#[derive(Clone, Debug, Default)]
pub struct Wanted<'w> {
    /// The text to decide on, instead of the prepared one.
    pub text: Option<&'w str>,
    /// Whether it may be although the side chat has gone on.
    pub allow_stale: bool,
    /// The session that must be the parent.
    pub caller: Option<&'w Record>,
}

/// A fold, its side chat, and what became of its message.
#[derive(Clone, Debug)]
pub struct Committed {
    /// The side chat.
    pub chat: Chat,
    /// The fold.
    pub fold: Fold,
    /// Its message.
    pub notice: Notice,
    /// What became of it; of a trial what would, `None` for an append.
    pub delivered: Option<Delivered>,
}

/// Decides on a fold and brings it to the parent. What was decided before is not decided again.
///
/// # Errors
/// It is refused, and nothing was changed; or it was decided on and could not be written.
pub fn commit(
    home: &Path,
    corpus: &Corpus,
    id: &Id,
    wanted: &Wanted<'_>,
    terms: &Terms,
    steps: &mut dyn Steps,
) -> Result<Committed, Failure> {
    let mut ledger = Ledger::open_for_writing(home, steps)?;
    let catalog = corpus.catalog()?;
    let sessions = Sessions { corpus, catalog: &catalog };
    let trial = examine(&ledger, &sessions, id, wanted, terms)?;
    if trial.fold.state == State::Committed {
        return Ok(trial);
    }
    let text = trial.fold.committed_text.clone().unwrap_or_default();
    if trial.fold.state != State::Pending {
        let decision = Decision { text: &text, pointers: &trial.fold.pointers, supersedes: trial.fold.supersedes };
        ledger.decide_fold(id, &decision, terms.now, steps)?;
    }
    // What was decided on before comes first, so that the newest conclusion stands last.
    let folds = ledger.folds(&trial.fold.child)?;
    for older in folds.iter().filter(|fold| fold.state == State::Pending && fold.revision < trial.fold.revision) {
        // If it cannot be written now, its record says why.
        let _ = deliver_fold(&mut ledger, &sessions, older, terms, steps);
    }
    let decided = required(&ledger, id)?;
    let delivered = deliver_fold(&mut ledger, &sessions, &decided, terms, steps)?;
    let fold = required(&ledger, id)?;
    Ok(Committed { delivered: Some(delivered), fold, ..trial })
}

/// Says what [`commit`] would do, with the fold as it would be decided on, and changes nothing.
///
/// # Errors
/// It would be refused.
pub fn examine(
    ledger: &Ledger,
    sessions: &Sessions<'_>,
    id: &Id,
    wanted: &Wanted<'_>,
    terms: &Terms,
) -> Result<Committed, Failure> {
    let mut fold = required(ledger, id)?;
    let chat = chat_of(ledger, &fold.child)?;
    require_parent(&chat, wanted.caller)?;
    if fold.state == State::Committed {
        let notice = fold_notice(&chat, &fold, fold.text().unwrap_or_default());
        let delivered = fold.delivered.map(Delivered::At);
        return Ok(Committed { chat, fold, notice, delivered });
    }
    let (parent, child) = sessions.pair(&chat)?;
    let folds = ledger.folds(&fold.child)?;
    if fold.committed_text.is_none() {
        require_not_abandoned(&chat)?;
        let text = decidable(&fold, &folds, wanted)?;
        let reading = Reading::of(sessions.corpus, child)?;
        if !wanted.allow_stale && reading.has_moved_on_from(fold.basis.through_message.as_ref()) {
            let message = format!("the side chat has gone on since revision {} was prepared", fold.revision);
            return Err(Failure::new(Code::FoldStale, message)
                .hint("prepare a new revision, or say --allow-stale to take this one as it is"));
        }
        fold.pointers = pointer::pointers(&text, &fold.child, &reading).map_err(|failure| mendable(&fold, failure))?;
        fold.committed_text = Some(text);
        let current = folds.iter().find(|other| other.standing == Some(Standing::Current));
        fold.supersedes = current.map(|current| current.revision);
    } else {
        require_newest(&fold, &folds)?;
    }
    let notice = fold_notice(&chat, &fold, fold.text().unwrap_or_default());
    let delivered = Door::to(sessions.corpus, ledger, parent, terms)?.check(&notice)?;
    Ok(Committed { chat, fold, notice, delivered })
}

/// The text that would be decided on, if it may be.
fn decidable(fold: &Fold, folds: &[Fold], wanted: &Wanted<'_>) -> Result<String, Failure> {
    if fold.state == State::Generating {
        return Err(without_text(fold));
    }
    let prepared = fold.prepared_text.as_deref().ok_or_else(|| without_text(fold))?;
    require_newest(fold, folds)?;
    require_base(fold.mode, folds)?;
    let text = match wanted.text {
        Some(text) => checked_text(text)?,
        None => prepared,
    };
    require_good(text).map_err(|failure| mendable(fold, failure))?;
    Ok(text.to_owned())
}

/// The failure of a text that a person can put right.
fn mendable(fold: &Fold, failure: Failure) -> Failure {
    let (child, id) = (fold.child.to_string_lossy(), &fold.id);
    failure.hint(format!("put it right with `dshkit sidechat fold {child} --fold-id {id} --edit`"))
}

/// Refuses a text that is no fold.
///
/// # Errors
/// Its structure is wrong, or it is too long.
pub fn require_good(text: &str) -> Result<(), Failure> {
    let review = Review::of(text);
    if let Some(first) = review.problems.first() {
        let more = review.problems.len() - 1;
        let more = if more > 0 { format!(", and {more} more") } else { String::new() };
        return Err(Failure::new(Code::FoldStructure, format!("the fold is not in its six parts: {first}{more}"))
            .candidates(review.problems.iter().map(ToString::to_string).collect()));
    }
    if !review.fits() {
        let message = format!(
            "the fold is about {} tokens long, at most {} are allowed",
            review.estimated_tokens,
            estimate::BUDGET
        );
        return Err(Failure::new(Code::FoldTooLarge, message).hint("shorten it; nothing is ever cut off"));
    }
    Ok(())
}

/// Refuses a revision when a newer one was decided on and not taken back.
fn require_newest(fold: &Fold, folds: &[Fold]) -> Result<(), Failure> {
    let newest = folds.iter().filter(|other| other.counts()).max_by_key(|other| other.revision);
    newest.filter(|newest| newest.revision > fold.revision).map_or(Ok(()), |newer| {
        let message =
            format!("revision {} is {}, and revision {} is older", newer.revision, newer.state.name(), fold.revision);
        Err(Failure::new(Code::FoldSuperseded, message).hint("prepare a new revision instead"))
    })
}
