//! Taking a committed fold back (seed §7.2, sidechat.md §4).

use super::chat::Chat;
use super::delivery::{Delivered, Door, Terms, deliver_withdrawal, withdrawal_notice};
use super::fold::{Fold, Standing, State};
use super::id::Id;
use super::ledger::Ledger;
use super::marker::Notice;
use super::prepare::required;
use super::relation::{Sessions, chat_of, require_parent};
use super::withdrawal::{Withdrawal, checked_reason};
use crate::corpus::{Corpus, Record};
use crate::error::{Code, Failure};
use crate::stores::steps::Steps;
use std::path::Path;

/// What is wanted.
#[derive(Clone, Debug)]
pub struct Wanted<'w> {
    /// Why.
    pub reason: &'w str,
    /// The session that must be the parent.
    pub caller: Option<&'w Record>,
}

/// A withdrawal, its fold and side chat, and what became of its notice.
#[derive(Clone, Debug)]
pub struct Withdrawn {
    /// The side chat.
    pub chat: Chat,
    /// The fold.
    pub fold: Fold,
    /// The withdrawal.
    pub withdrawal: Withdrawal,
    /// The revision that is current then.
    pub current: Option<u64>,
    /// The notice.
    pub notice: Notice,
    /// What became of it; of a trial what would, `None` for an append.
    pub delivered: Option<Delivered>,
}

/// Takes a fold back and brings a notice of it to the parent. What was taken back before keeps its first reason
/// and its one notice. A side chat that was given up can still take back what it said.
///
/// # Errors
/// It is refused, and nothing was changed; or it was taken back and the notice could not be written.
pub fn withdraw(
    home: &Path,
    corpus: &Corpus,
    id: &Id,
    wanted: &Wanted<'_>,
    terms: &Terms,
    steps: &mut dyn Steps,
) -> Result<Withdrawn, Failure> {
    let mut ledger = Ledger::open_for_writing(home, steps)?;
    let catalog = corpus.catalog()?;
    let sessions = Sessions { corpus, catalog: &catalog };
    let trial = examine(&ledger, &sessions, id, wanted, terms)?;
    if trial.withdrawal.state == State::Committed {
        return Ok(trial);
    }
    if ledger.withdrawal(id)?.is_none() {
        ledger.decide_withdrawal(&trial.withdrawal, steps)?;
    }
    let delivered = deliver_withdrawal(&mut ledger, &sessions, &trial.withdrawal, terms, steps)?;
    let withdrawal = ledger.withdrawal(id)?.unwrap_or(trial.withdrawal);
    Ok(Withdrawn { delivered: Some(delivered), withdrawal, fold: required(&ledger, id)?, ..trial })
}

/// Says what [`withdraw`] would do, with the fold as it would be, and changes nothing.
///
/// # Errors
/// It would be refused.
pub fn examine(
    ledger: &Ledger,
    sessions: &Sessions<'_>,
    id: &Id,
    wanted: &Wanted<'_>,
    terms: &Terms,
) -> Result<Withdrawn, Failure> {
    let reason = checked_reason(wanted.reason)?;
    let mut fold = required(ledger, id)?;
    let chat = chat_of(ledger, &fold.child)?;
    require_parent(&chat, wanted.caller)?;
    let folds = ledger.folds(&fold.child)?;
    let survivors = folds.iter().filter(|other| other.is_in_force() && other.id != fold.id);
    let current = survivors.map(|fold| fold.revision).max();
    let old = ledger.withdrawal(id)?;
    if let Some(withdrawal) = old.clone().filter(|withdrawal| withdrawal.state == State::Committed) {
        let notice = withdrawal_notice(&chat, &withdrawal);
        let delivered = withdrawal.delivered.map(Delivered::At);
        return Ok(Withdrawn { chat, fold, withdrawal, current, notice, delivered });
    }
    if fold.state != State::Committed {
        let message =
            format!("revision {} is {}, and only a committed one can be withdrawn", fold.revision, fold.state.name());
        return Err(Failure::new(Code::FoldWithdrawInvalid, message).hint(match fold.state {
            State::Pending => "`dshkit sidechat deliver` finishes what is pending",
            _ => "what was not committed is not in the parent",
        }));
    }
    let (parent, _) = sessions.pair(&chat)?;
    if fold.delivered_to.as_ref().is_some_and(|place| *place != chat.parent.id) {
        let message = format!("revision {} stands in the log of the former parent", fold.revision);
        return Err(Failure::new(Code::FoldWithdrawInvalid, message).hint("there is nothing to take back in this one"));
    }
    let withdrawal = old.unwrap_or_else(|| Withdrawal {
        id: Id::random(),
        fold: fold.id.clone(),
        child: fold.child.clone(),
        revision: fold.revision,
        reason,
        state: State::Pending,
        delivered: None,
        obstacle: None,
        created_at: terms.now,
        updated_at: terms.now,
        committed_at: None,
    });
    fold.standing = Some(Standing::Withdrawn);
    let notice = withdrawal_notice(&chat, &withdrawal);
    let delivered = Door::to(sessions.corpus, ledger, parent, terms)?.check(&notice)?;
    Ok(Withdrawn { chat, fold, withdrawal, current, notice, delivered })
}
