//! Putting down what was found in logs.

use super::{Ledger, chats, cites, folds, withdrawals};
use crate::error::Failure;
use crate::sidechat::traces::Traces;
use crate::stores::steps::Steps;

/// How many records were had from the logs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Restored {
    /// Side chats.
    pub chats: usize,
    /// Folds.
    pub folds: usize,
    /// Cites.
    pub cites: usize,
    /// Withdrawals.
    pub withdrawals: usize,
}

impl Ledger {
    /// Puts down what was found in logs and is not known; what is known stays as it is. All of it at once: a side
    /// chat without its folds would give their numbers again, and a fold without its withdrawal would count.
    ///
    /// # Errors
    /// The database cannot be written.
    pub fn restore(&mut self, traces: &Traces, steps: &mut dyn Steps) -> Result<Restored, Failure> {
        self.transaction(steps, "ledger-restore", |transaction| {
            Ok(Restored {
                chats: chats::restore(transaction, &traces.chats)?,
                folds: folds::restore(transaction, &traces.folds)?,
                cites: cites::restore(transaction, &traces.cites)?,
                withdrawals: withdrawals::restore(transaction, &traces.withdrawals)?,
            })
        })
    }
}
