//! The table `cites`.

use super::Ledger;
use super::chats::{is_there, touch};
use super::column::Js;
use crate::error::Failure;
use crate::model::js_string::JsString;
use crate::sidechat::chat::{Identity, SessionRef};
use crate::sidechat::citation::{Cite, Source};
use crate::sidechat::fold::{Place, State};
use crate::sidechat::id::Id;
use crate::stores::steps::Steps;
use rusqlite::{OptionalExtension, Row, Transaction, named_params};

const SELECT: &str = "SELECT id, child, target, target_created_at, target_cwd, is_cross_parent, source_message, source_seq, source_format, range_start, range_end, \
    source_fold, source_revision, source_time, text, state, parent_event_seq, parent_format, reason, created_at, \
    updated_at, committed_at FROM cites";

impl Ledger {
    /// The cites of a side chat, oldest first.
    ///
    /// # Errors
    /// The database cannot be read. So with the next.
    pub fn cites(&self, child: &JsString) -> Result<Vec<Cite>, Failure> {
        self.query(|connection| {
            let sql = format!("{SELECT} WHERE child = ? ORDER BY created_at, id");
            connection.prepare(&sql)?.query_map([Js(child.clone())], read)?.collect()
        })
    }

    /// The cite with this id.
    ///
    /// # Errors
    /// As [`Ledger::cites`].
    pub fn cite(&self, id: &Id) -> Result<Option<Cite>, Failure> {
        let sql = format!("{SELECT} WHERE id = ?");
        self.query(|connection| connection.query_row(&sql, [id.as_str()], read).optional())
    }

    /// The cites in a state, oldest first.
    ///
    /// # Errors
    /// As [`Ledger::cites`].
    pub fn cites_in(&self, state: State) -> Result<Vec<Cite>, Failure> {
        self.query(|connection| {
            let sql = format!("{SELECT} WHERE state = ? ORDER BY created_at, id");
            connection.prepare(&sql)?.query_map([state], read)?.collect()
        })
    }

    /// Puts down a cite that is about to be written.
    ///
    /// # Errors
    /// The database cannot be written. So with the next.
    pub fn decide_cite(&mut self, cite: &Cite, steps: &mut dyn Steps) -> Result<(), Failure> {
        self.transaction(steps, "ledger-decide-cite", |transaction| {
            insert(transaction, cite)?;
            touch(transaction, &cite.child, cite.created_at)
        })
    }

    /// Puts down why a cite has to wait, or has failed.
    ///
    /// # Errors
    /// As [`Ledger::decide_cite`].
    pub fn hold_cite(
        &mut self,
        id: &Id,
        state: State,
        reason: Option<&str>,
        now: i64,
        steps: &mut dyn Steps,
    ) -> Result<(), Failure> {
        self.transaction(steps, "ledger-hold-cite", |transaction| {
            transaction.execute(
                "UPDATE cites SET state = ?, reason = ?, updated_at = ? WHERE id = ? AND state <> 'committed'",
                (state, reason, now, id.as_str()),
            )?;
            Ok(())
        })
    }

    /// Puts down where a cite stands in its session's log.
    ///
    /// # Errors
    /// As [`Ledger::decide_cite`].
    pub fn commit_cite(&mut self, cite: &Cite, place: Place, now: i64, steps: &mut dyn Steps) -> Result<(), Failure> {
        self.transaction(steps, "ledger-commit-cite", |transaction| {
            transaction.execute(
                "UPDATE cites SET state = 'committed', parent_event_seq = ?, parent_format = ?, reason = NULL, \
                 committed_at = ?, updated_at = ? WHERE id = ? AND state <> 'committed'",
                (place.seq as i64, place.format as i64, now, now, cite.id.as_str()),
            )?;
            touch(transaction, &cite.child, now)
        })
    }
}

/// Puts down cites that were found in logs, unless they are known or their side chats are not. Gives how many are
/// new.
pub(super) fn restore(transaction: &Transaction<'_>, cites: &[Cite]) -> rusqlite::Result<usize> {
    let mut restored = 0;
    for cite in cites {
        if is_there(transaction, &cite.child)? {
            restored += insert(transaction, cite)?;
        }
    }
    Ok(restored)
}

/// Puts down a cite, unless its id is known.
fn insert(transaction: &Transaction<'_>, cite: &Cite) -> rusqlite::Result<usize> {
    let (message, place, range, fold) = match &cite.source {
        Source::Message { message_id, place, range } => (Some(message_id), *place, *range, None),
        Source::Fold { fold_id, revision } => (None, None, None, Some((fold_id, *revision))),
    };
    transaction.execute(
        "INSERT INTO cites (id, child, target, target_created_at, target_cwd, is_cross_parent, \
         source_message, source_seq, source_format, range_start, range_end, source_fold, source_revision, source_time, \
         text, state, parent_event_seq, parent_format, created_at, updated_at, committed_at) VALUES (:id, :child, \
         :target, :target_created_at, :target_cwd, :is_cross_parent, :message, :seq, :format, :start, :end, :fold, \
         :revision, :time, :text, :state, :parent_seq, :parent_format, :now, :now, :committed_at) \
         ON CONFLICT (id) DO NOTHING",
        named_params! {
            ":id": cite.id.as_str(),
            ":child": Js(cite.child.clone()),
            ":target": cite.target.as_ref().map(|target| Js(target.id.clone())),
            ":target_created_at": cite.target.as_ref().map(|target| target.identity.created_at as i64),
            ":target_cwd": cite.target.as_ref().and_then(|target| target.identity.cwd.clone()).map(Js),
            ":is_cross_parent": cite.is_cross_parent,
            ":message": message.cloned().map(Js),
            ":seq": place.map(|place| place.seq as i64),
            ":format": place.map(|place| place.format as i64),
            ":start": range.map(|(start, _)| start as i64),
            ":end": range.map(|(_, end)| end as i64),
            ":fold": fold.map(|(id, _)| id.as_str()),
            ":revision": fold.map(|(_, revision)| revision as i64),
            ":time": cite.source_time,
            ":text": cite.text,
            ":state": cite.state,
            ":parent_seq": cite.delivered.map(|place| place.seq as i64),
            ":parent_format": cite.delivered.map(|place| place.format as i64),
            ":now": cite.created_at,
            ":committed_at": cite.committed_at,
        },
    )
}

fn read(row: &Row<'_>) -> rusqlite::Result<Cite> {
    let number = |index: usize| row.get::<_, Option<i64>>(index).map(|number| number.map(|number| number as u64));
    let place = |at: usize| -> rusqlite::Result<Option<Place>> {
        Ok(number(at)?.zip(number(at + 1)?).map(|(seq, format)| Place { seq, format }))
    };
    let identity =
        Identity { created_at: row.get::<_, i64>(3)? as u64, cwd: row.get::<_, Option<Js>>(4)?.map(|cwd| cwd.0) };
    let source = match row.get::<_, Option<Js>>(6)? {
        Some(message) => {
            Source::Message { message_id: message.0, place: place(7)?, range: number(9)?.zip(number(10)?) }
        }
        None => Source::Fold { fold_id: Id::stored(row.get(11)?), revision: row.get::<_, i64>(12)? as u64 },
    };
    Ok(Cite {
        id: Id::stored(row.get(0)?),
        child: row.get::<_, Js>(1)?.0,
        source,
        target: Some(SessionRef { id: row.get::<_, Js>(2)?.0, identity }),
        is_cross_parent: row.get(5)?,
        source_time: row.get(13)?,
        text: row.get(14)?,
        state: row.get(15)?,
        delivered: place(16)?,
        reason: row.get(18)?,
        created_at: row.get(19)?,
        updated_at: row.get(20)?,
        committed_at: row.get(21)?,
    })
}
