//! Finishing what is pending (seed §10).

use super::citation::Cite;
use super::create;
use super::delivery::{Delivered, Terms, deliver_cite, deliver_fold, deliver_withdrawal};
use super::fold::{Fold, State};
use super::ledger::Ledger;
use super::prepare::required;
use super::relation::Sessions;
use super::withdrawal::Withdrawal;
use crate::corpus::{Corpus, Record};
use crate::error::Failure;
use crate::model::js_string::JsString;
use crate::stores::steps::Steps;
use std::path::Path;

/// What waits to be brought to a parent.
#[derive(Debug)]
pub enum Pending {
    /// A fold.
    Fold(Box<Fold>),
    /// A cite.
    Cite(Box<Cite>),
    /// The notice of a withdrawal.
    Withdrawal(Box<Withdrawal>),
}

/// What waits for one parent, or for all, in the order in which it was decided on.
///
/// # Errors
/// The ledger cannot be read.
pub fn pending(ledger: &Ledger, parent: Option<&Record>) -> Result<Vec<Pending>, Failure> {
    let mut pending = Vec::new();
    for fold in ledger.folds_in(State::Pending)? {
        if is_of(ledger, &fold.child, parent)? {
            pending.push((fold.updated_at, fold.revision, Pending::Fold(Box::new(fold))));
        }
    }
    for cite in ledger.cites_in(State::Pending)? {
        let is_wanted = match (&cite.target, parent) {
            (Some(target), Some(parent)) => target.id == *parent.id(),
            _ => true,
        };
        if is_wanted {
            pending.push((cite.created_at, u64::MAX, Pending::Cite(Box::new(cite))));
        }
    }
    for withdrawal in ledger.withdrawals_in(State::Pending)? {
        if is_of(ledger, &withdrawal.child, parent)? {
            pending.push((withdrawal.created_at, u64::MAX, Pending::Withdrawal(Box::new(withdrawal))));
        }
    }
    pending.sort_by_key(|(time, revision, _)| (*time, *revision));
    Ok(pending.into_iter().map(|(_, _, pending)| pending).collect())
}

/// What [`deliver`] did with one fold, cite or withdrawal.
#[derive(Debug)]
pub enum Done {
    /// A fold.
    Fold(Box<Fold>, Result<Delivered, Failure>),
    /// A cite.
    Cite(Box<Cite>, Result<Delivered, Failure>),
    /// The notice of a withdrawal.
    Withdrawal(Box<Withdrawal>, Result<Delivered, Failure>),
    /// A fold that a model was writing for somebody who is gone.
    Unfinished(Box<Fold>),
}

/// Finishes what is pending, oldest first, for one parent or all. What cannot be finished stays as it is and
/// is told.
///
/// # Errors
/// The ledger or the store cannot be used.
pub fn deliver(
    home: &Path,
    corpus: &Corpus,
    parent: Option<&Record>,
    terms: &Terms,
    steps: &mut dyn Steps,
) -> Result<Vec<Done>, Failure> {
    let mut ledger = Ledger::open_for_writing(home, steps)?;
    create::recover(&mut ledger, corpus, steps)?;
    let catalog = corpus.catalog()?;
    let sessions = Sessions { corpus, catalog: &catalog };
    let mut done = Vec::new();
    let generating = ledger.folds_in(State::Generating)?;
    // Whose model still writes comes back for its fold.
    let is_left = !generating.is_empty() && !ledger.is_somebody_at_work()?;
    for fold in generating {
        if is_left && is_of(&ledger, &fold.child, parent)? {
            ledger.fail_fold(
                &fold.id,
                "the dshkit that had a model write it is gone",
                &fold.calls,
                terms.now,
                steps,
            )?;
            done.push(Done::Unfinished(Box::new(required(&ledger, &fold.id)?)));
        }
    }
    for due in pending(&ledger, parent)? {
        match due {
            Pending::Fold(fold) => {
                let result = deliver_fold(&mut ledger, &sessions, &fold, terms, steps);
                done.push(Done::Fold(Box::new(required(&ledger, &fold.id)?), result));
            }
            Pending::Cite(cite) => {
                let result = deliver_cite(&mut ledger, &sessions, &cite, terms, steps);
                let cite = ledger.cite(&cite.id)?.map_or(cite, Box::new);
                done.push(Done::Cite(cite, result));
            }
            Pending::Withdrawal(withdrawal) => {
                let result = deliver_withdrawal(&mut ledger, &sessions, &withdrawal, terms, steps);
                let withdrawal = ledger.withdrawal(&withdrawal.fold)?.map_or(withdrawal, Box::new);
                done.push(Done::Withdrawal(withdrawal, result));
            }
        }
    }
    Ok(done)
}

fn is_of(ledger: &Ledger, child: &JsString, parent: Option<&Record>) -> Result<bool, Failure> {
    let Some(parent) = parent else { return Ok(true) };
    Ok(ledger.chat(child)?.is_some_and(|chat| chat.parent.id == *parent.id()))
}
