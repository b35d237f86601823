//! The table `withdrawals`.

use super::Ledger;
use super::chats::touch;
use super::column::Js;
use super::folds::settle;
use crate::error::Failure;
use crate::model::js_string::JsString;
use crate::sidechat::fold::{Place, State};
use crate::sidechat::id::Id;
use crate::sidechat::withdrawal::Withdrawal;
use crate::stores::steps::Steps;
use rusqlite::{OptionalExtension, Row, Transaction};

const SELECT: &str = "SELECT withdrawals.id, fold, child, revision, withdrawals.reason, withdrawals.state, \
    withdrawals.parent_event_seq, withdrawals.parent_format, obstacle, withdrawals.created_at, \
    withdrawals.updated_at, withdrawals.committed_at FROM withdrawals JOIN folds ON folds.id = fold";

impl Ledger {
    /// The withdrawals of a side chat's folds, oldest first.
    ///
    /// # Errors
    /// The database cannot be read. So with the next.
    pub fn withdrawals(&self, child: &JsString) -> Result<Vec<Withdrawal>, Failure> {
        self.query(|connection| {
            let sql = format!("{SELECT} WHERE child = ? ORDER BY withdrawals.created_at, revision");
            connection.prepare(&sql)?.query_map([Js(child.clone())], read)?.collect()
        })
    }

    /// The withdrawal of a fold.
    ///
    /// # Errors
    /// As [`Ledger::withdrawals`].
    pub fn withdrawal(&self, fold: &Id) -> Result<Option<Withdrawal>, Failure> {
        let sql = format!("{SELECT} WHERE fold = ?");
        self.query(|connection| connection.query_row(&sql, [fold.as_str()], read).optional())
    }

    /// The withdrawals in a state, oldest first.
    ///
    /// # Errors
    /// As [`Ledger::withdrawals`].
    pub fn withdrawals_in(&self, state: State) -> Result<Vec<Withdrawal>, Failure> {
        self.query(|connection| {
            let sql = format!("{SELECT} WHERE withdrawals.state = ? ORDER BY withdrawals.created_at, revision");
            connection.prepare(&sql)?.query_map([state], read)?.collect()
        })
    }

    /// Takes a fold back: the newest committed one that was not taken back becomes current, and a notice is
    /// about to be written.
    ///
    /// # Errors
    /// The database cannot be written. So with the next.
    pub fn decide_withdrawal(&mut self, withdrawal: &Withdrawal, steps: &mut dyn Steps) -> Result<(), Failure> {
        self.transaction(steps, "ledger-decide-withdrawal", |transaction| {
            insert(transaction, withdrawal)?;
            touch(transaction, &withdrawal.child, withdrawal.created_at)
        })
    }

    /// Puts down why a notice has to wait, or has failed.
    ///
    /// # Errors
    /// As [`Ledger::decide_withdrawal`].
    pub fn hold_withdrawal(
        &mut self,
        fold: &Id,
        state: State,
        obstacle: Option<&str>,
        now: i64,
        steps: &mut dyn Steps,
    ) -> Result<(), Failure> {
        self.transaction(steps, "ledger-hold-withdrawal", |transaction| {
            transaction.execute(
                "UPDATE withdrawals SET state = ?, obstacle = ?, updated_at = ? WHERE fold = ? AND state <> 'committed'",
                (state, obstacle, now, fold.as_str()),
            )?;
            Ok(())
        })
    }

    /// Puts down where a notice stands in the parent's log.
    ///
    /// # Errors
    /// As [`Ledger::decide_withdrawal`].
    pub fn commit_withdrawal(
        &mut self,
        withdrawal: &Withdrawal,
        place: Place,
        now: i64,
        steps: &mut dyn Steps,
    ) -> Result<(), Failure> {
        self.transaction(steps, "ledger-commit-withdrawal", |transaction| {
            transaction.execute(
                "UPDATE withdrawals SET state = 'committed', parent_event_seq = ?, parent_format = ?, obstacle = NULL, \
                 committed_at = ?, updated_at = ? WHERE fold = ? AND state <> 'committed'",
                (place.seq as i64, place.format as i64, now, now, withdrawal.fold.as_str()),
            )?;
            touch(transaction, &withdrawal.child, now)
        })
    }
}

/// Puts down withdrawals that were found in logs, unless they are known or their folds are not. Gives how many are
/// new.
pub(super) fn restore(transaction: &Transaction<'_>, withdrawals: &[Withdrawal]) -> rusqlite::Result<usize> {
    let mut restored = 0;
    for withdrawal in withdrawals {
        let sql = "SELECT EXISTS (SELECT 1 FROM folds WHERE id = ?)";
        if transaction.query_row(sql, [withdrawal.fold.as_str()], |row| row.get(0))? {
            restored += insert(transaction, withdrawal)?;
        }
    }
    Ok(restored)
}

/// Puts down a withdrawal and what it does to the fold, unless it is known.
fn insert(transaction: &Transaction<'_>, withdrawal: &Withdrawal) -> rusqlite::Result<usize> {
    let added = transaction.execute(
        "INSERT INTO withdrawals (id, fold, reason, state, parent_event_seq, parent_format, created_at, \
         updated_at, committed_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7, ?8) ON CONFLICT DO NOTHING",
        (
            withdrawal.id.as_str(),
            withdrawal.fold.as_str(),
            &withdrawal.reason,
            withdrawal.state,
            withdrawal.delivered.map(|place| place.seq as i64),
            withdrawal.delivered.map(|place| place.format as i64),
            withdrawal.created_at,
            withdrawal.committed_at,
        ),
    )?;
    let sql = "UPDATE folds SET standing = 'withdrawn' WHERE id = ? AND state = 'committed'";
    transaction.execute(sql, [withdrawal.fold.as_str()])?;
    settle(transaction, &withdrawal.child)?;
    Ok(added)
}

fn read(row: &Row<'_>) -> rusqlite::Result<Withdrawal> {
    let number = |index: usize| row.get::<_, Option<i64>>(index).map(|number| number.map(|number| number as u64));
    Ok(Withdrawal {
        id: Id::stored(row.get(0)?),
        fold: Id::stored(row.get(1)?),
        child: row.get::<_, Js>(2)?.0,
        revision: row.get::<_, i64>(3)? as u64,
        reason: row.get(4)?,
        state: row.get(5)?,
        delivered: number(6)?.zip(number(7)?).map(|(seq, format)| Place { seq, format }),
        obstacle: row.get(8)?,
        created_at: row.get(9)?,
        updated_at: row.get(10)?,
        committed_at: row.get(11)?,
    })
}
