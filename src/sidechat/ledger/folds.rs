//! The table `folds`.

use super::Ledger;
use super::chats::{is_there, touch};
use super::column::Js;
use super::provenance::Json;
use crate::error::Failure;
use crate::model::js_string::JsString;
use crate::sidechat::chat::ModelCall;
use crate::sidechat::fold::{Basis, Fold, FoldMode, Place, Standing, State};
use crate::sidechat::id::Id;
use crate::sidechat::pointer::Pointer;
use crate::stores::steps::Steps;
use rusqlite::{OptionalExtension, Row, Transaction, named_params};

const SELECT: &str = "SELECT id, child, revision, state, standing, prepared_text, committed_text, basis, calls, \
    supersedes, parent_event_seq, parent_format, reason, created_at, updated_at, committed_at, mode, base, pointers, \
    parent FROM folds";

/// What a new fold begins with.
#[derive(Clone, Debug)]
pub struct NewFold {
    /// Its id.
    pub id: Id,
    /// The side chat.
    pub child: JsString,
    /// Its text; `None`: a model is about to write it.
    pub text: Option<String>,
    /// What its text points to.
    pub pointers: Vec<Pointer>,
    /// What it stands for.
    pub mode: FoldMode,
    /// What it is made from.
    pub basis: Basis,
}

/// The decision on a fold.
#[derive(Clone, Debug)]
pub struct Decision<'d> {
    /// Its text, for ever.
    pub text: &'d str,
    /// What the text points to.
    pub pointers: &'d Vec<Pointer>,
    /// The revision that is current now.
    pub supersedes: Option<u64>,
}

impl Ledger {
    /// The folds of a side chat, oldest first.
    ///
    /// # Errors
    /// The database cannot be read. So with the next.
    pub fn folds(&self, child: &JsString) -> Result<Vec<Fold>, Failure> {
        self.query(|connection| {
            let sql = format!("{SELECT} WHERE child = ? ORDER BY revision");
            connection.prepare(&sql)?.query_map([Js(child.clone())], read)?.collect()
        })
    }

    /// The fold with this id.
    ///
    /// # Errors
    /// As [`Ledger::folds`].
    pub fn fold(&self, id: &Id) -> Result<Option<Fold>, Failure> {
        let sql = format!("{SELECT} WHERE id = ?");
        self.query(|connection| connection.query_row(&sql, [id.as_str()], read).optional())
    }

    /// The folds in a state, oldest first.
    ///
    /// # Errors
    /// As [`Ledger::folds`].
    pub fn folds_in(&self, state: State) -> Result<Vec<Fold>, Failure> {
        self.query(|connection| {
            let sql = format!("{SELECT} WHERE state = ? ORDER BY created_at, revision");
            connection.prepare(&sql)?.query_map([state], read)?.collect()
        })
    }

    /// Gives the next revision of a side chat to a fold, and its number.
    ///
    /// # Errors
    /// The database cannot be written. So with the next.
    pub fn reserve_fold(&mut self, fold: &NewFold, now: i64, steps: &mut dyn Steps) -> Result<u64, Failure> {
        self.transaction(steps, "ledger-reserve-fold", |transaction| {
            let revision: i64 = transaction.query_row(
                "UPDATE chats SET last_revision = last_revision + 1, updated_at = ? WHERE child = ? \
                 RETURNING last_revision",
                (now, Js(fold.child.clone())),
                |row| row.get(0),
            )?;
            let state = if fold.text.is_some() { State::Prepared } else { State::Generating };
            transaction.execute(
                "INSERT INTO folds (id, child, revision, state, mode, base, prepared_text, pointers, basis, calls, \
                 created_at, updated_at) VALUES (:id, :child, :revision, :state, :mode, :base, :text, :pointers, \
                 :basis, '[]', :now, :now)",
                named_params! {
                    ":id": fold.id.as_str(),
                    ":child": Js(fold.child.clone()),
                    ":revision": revision,
                    ":state": state,
                    ":mode": fold.mode.name(),
                    ":base": fold.mode.base().map(|base| base as i64),
                    ":text": fold.text,
                    ":pointers": Json(&fold.pointers),
                    ":basis": Json(&fold.basis),
                    ":now": now,
                },
            )?;
            Ok(revision as u64)
        })
    }

    /// Has a fold whose attempt failed written again, from the side chat as it is now.
    ///
    /// # Errors
    /// As [`Ledger::reserve_fold`].
    pub fn restart_fold(&mut self, id: &Id, basis: &Basis, now: i64, steps: &mut dyn Steps) -> Result<(), Failure> {
        self.transaction(steps, "ledger-restart-fold", |transaction| {
            transaction.execute(
                "UPDATE folds SET state = 'generating', basis = ?, reason = NULL, updated_at = ? \
                 WHERE id = ? AND prepared_text IS NULL",
                (Json(basis), now, id.as_str()),
            )?;
            Ok(())
        })
    }

    /// Gives a fold that nothing was decided on its text, and the calls it took.
    ///
    /// # Errors
    /// As [`Ledger::reserve_fold`].
    pub fn prepare_fold(
        &mut self,
        id: &Id,
        text: &str,
        pointers: &Vec<Pointer>,
        calls: &Vec<ModelCall>,
        now: i64,
        steps: &mut dyn Steps,
    ) -> Result<(), Failure> {
        self.transaction(steps, "ledger-prepare-fold", |transaction| {
            transaction.execute(
                "UPDATE folds SET state = 'prepared', prepared_text = ?, pointers = ?, calls = ?, reason = NULL, \
                 updated_at = ? WHERE id = ? AND committed_text IS NULL",
                (text, Json(pointers), Json(calls), now, id.as_str()),
            )?;
            Ok(())
        })
    }

    /// Puts down that a fold could not be made or written, why, and the calls it took.
    ///
    /// # Errors
    /// As [`Ledger::reserve_fold`].
    pub fn fail_fold(
        &mut self,
        id: &Id,
        reason: &str,
        calls: &Vec<ModelCall>,
        now: i64,
        steps: &mut dyn Steps,
    ) -> Result<(), Failure> {
        self.transaction(steps, "ledger-fail-fold", |transaction| {
            transaction.execute(
                "UPDATE folds SET state = 'failed', reason = ?, calls = ?, updated_at = ? \
                 WHERE id = ? AND state <> 'committed'",
                (reason, Json(calls), now, id.as_str()),
            )?;
            Ok(())
        })
    }

    /// Decides on the text of a fold, for ever.
    ///
    /// # Errors
    /// As [`Ledger::reserve_fold`].
    pub fn decide_fold(
        &mut self,
        id: &Id,
        decision: &Decision<'_>,
        now: i64,
        steps: &mut dyn Steps,
    ) -> Result<(), Failure> {
        self.transaction(steps, "ledger-decide-fold", |transaction| {
            transaction.execute(
                "UPDATE folds SET state = 'pending', pointers = iif(committed_text IS NULL, ?, pointers), \
                 committed_text = coalesce(committed_text, ?), supersedes = ?, reason = NULL, updated_at = ? \
                 WHERE id = ? AND state <> 'committed'",
                (
                    Json(decision.pointers),
                    decision.text,
                    decision.supersedes.map(|revision| revision as i64),
                    now,
                    id.as_str(),
                ),
            )?;
            Ok(())
        })
    }

    /// Puts down why a fold that was decided on has to wait. One that waits already keeps its place in the order.
    ///
    /// # Errors
    /// As [`Ledger::reserve_fold`].
    pub fn delay_fold(&mut self, id: &Id, reason: &str, now: i64, steps: &mut dyn Steps) -> Result<(), Failure> {
        self.transaction(steps, "ledger-delay-fold", |transaction| {
            transaction.execute(
                "UPDATE folds SET reason = ?, state = 'pending', updated_at = iif(state = 'pending', updated_at, ?) \
                 WHERE id = ? AND state <> 'committed'",
                (reason, now, id.as_str()),
            )?;
            Ok(())
        })
    }

    /// Puts down where a fold stands in the parent's log. The newest that was not taken back is current, every
    /// other superseded.
    ///
    /// # Errors
    /// As [`Ledger::reserve_fold`].
    pub fn commit_fold(
        &mut self,
        fold: &Fold,
        parent: &JsString,
        place: Place,
        now: i64,
        steps: &mut dyn Steps,
    ) -> Result<(), Failure> {
        self.transaction(steps, "ledger-commit-fold", |transaction| commit(transaction, fold, parent, place, now))
    }
}

/// Puts down committed folds that were found in logs, unless they are known or their side chats are not. Gives how
/// many are new.
pub(super) fn restore(transaction: &Transaction<'_>, folds: &[Fold]) -> rusqlite::Result<usize> {
    let mut restored = 0;
    for fold in folds {
        if is_there(transaction, &fold.child)? {
            restored += restore_one(transaction, fold)?;
            let sql = "UPDATE chats SET last_revision = max(last_revision, ?) WHERE child = ?";
            transaction.execute(sql, (fold.revision as i64, Js(fold.child.clone())))?;
            settle(transaction, &fold.child)?;
        }
    }
    Ok(restored)
}

/// Puts down a committed fold, unless its id or its revision is known.
fn restore_one(transaction: &Transaction<'_>, fold: &Fold) -> rusqlite::Result<usize> {
    transaction.execute(
        "INSERT INTO folds (id, child, revision, state, standing, mode, base, committed_text, pointers, \
         basis, calls, supersedes, parent, parent_event_seq, parent_format, created_at, updated_at, committed_at) \
         VALUES (:id, :child, :revision, 'committed', 'superseded', :mode, :base, :text, :pointers, :basis, '[]', \
         :supersedes, :parent, :seq, :format, :created_at, :created_at, :created_at) ON CONFLICT DO NOTHING",
        named_params! {
            ":id": fold.id.as_str(),
            ":child": Js(fold.child.clone()),
            ":revision": fold.revision as i64,
            ":mode": fold.mode.name(),
            ":base": fold.mode.base().map(|base| base as i64),
            ":text": fold.committed_text,
            ":pointers": Json(&fold.pointers),
            ":basis": Json(&fold.basis),
            ":supersedes": fold.supersedes.map(|revision| revision as i64),
            ":parent": fold.delivered_to.clone().map(Js),
            ":seq": fold.delivered.map(|place| place.seq as i64),
            ":format": fold.delivered.map(|place| place.format as i64),
            ":created_at": fold.created_at,
        },
    )
}

/// Makes the newest committed revision of a side chat that was not taken back the current one, and every other
/// superseded.
pub(super) fn settle(transaction: &Transaction<'_>, child: &JsString) -> rusqlite::Result<()> {
    let standing = |standing: Standing, condition: &str| {
        let sql = format!(
            "UPDATE folds SET standing = ?1 WHERE child = ?2 AND state = 'committed' AND standing <> 'withdrawn' \
             AND standing <> ?1 AND {condition} (SELECT max(revision) FROM folds WHERE child = ?2 \
             AND state = 'committed' AND standing <> 'withdrawn')"
        );
        transaction.execute(&sql, (standing, Js(child.clone())))
    };
    standing(Standing::Superseded, "revision <")?;
    standing(Standing::Current, "revision =")?;
    Ok(())
}

fn commit(
    transaction: &Transaction<'_>,
    fold: &Fold,
    parent: &JsString,
    place: Place,
    now: i64,
) -> rusqlite::Result<()> {
    transaction.execute(
        "UPDATE folds SET state = 'committed', standing = 'superseded', parent = ?, parent_event_seq = ?, \
         parent_format = ?, reason = NULL, committed_at = ?, updated_at = ? WHERE id = ? AND state <> 'committed'",
        (Js(parent.clone()), place.seq as i64, place.format as i64, now, now, fold.id.as_str()),
    )?;
    settle(transaction, &fold.child)?;
    touch(transaction, &fold.child, now)
}

fn read(row: &Row<'_>) -> rusqlite::Result<Fold> {
    let seq: Option<i64> = row.get(10)?;
    let format: Option<i64> = row.get(11)?;
    Ok(Fold {
        id: Id::stored(row.get(0)?),
        child: row.get::<_, Js>(1)?.0,
        revision: row.get::<_, i64>(2)? as u64,
        state: row.get(3)?,
        standing: row.get(4)?,
        prepared_text: row.get(5)?,
        committed_text: row.get(6)?,
        basis: row.get::<_, Json<_>>(7)?.0,
        calls: row.get::<_, Json<_>>(8)?.0,
        supersedes: row.get::<_, Option<i64>>(9)?.map(|revision| revision as u64),
        delivered: seq.zip(format).map(|(seq, format)| Place { seq: seq as u64, format: format as u64 }),
        reason: row.get(12)?,
        created_at: row.get(13)?,
        updated_at: row.get(14)?,
        committed_at: row.get(15)?,
        mode: mode(row)?,
        pointers: row.get::<_, Json<_>>(18)?.0,
        delivered_to: row.get::<_, Option<Js>>(19)?.map(|parent| parent.0),
    })
}

fn mode(row: &Row<'_>) -> rusqlite::Result<FoldMode> {
    let base = row.get::<_, Option<i64>>(17)?.map(|base| base as u64);
    FoldMode::named(&row.get::<_, String>(16)?, base)
        .ok_or_else(|| rusqlite::Error::InvalidColumnName("mode".to_owned()))
}
