//! The table `cites`.

use super::Ledger;
use super::chats::touch;
use super::column::Js;
use crate::error::Failure;
use crate::model::js_string::JsString;
use crate::sidechat::citation::{Cite, Source};
use crate::sidechat::fold::{Place, State};
use crate::sidechat::id::Id;
use crate::stores::steps::Steps;
use rusqlite::{OptionalExtension, Row, named_params};

const SELECT: &str = "SELECT id, child, source_message, source_seq, source_format, range_start, range_end, \
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
        let (message, place, range, fold) = match &cite.source {
            Source::Message { message_id, place, range } => (Some(message_id), Some(place), *range, None),
            Source::Fold { fold_id, revision } => (None, None, None, Some((fold_id, *revision))),
        };
        self.transaction(steps, "ledger-decide-cite", |transaction| {
            transaction.execute(
                "INSERT INTO cites (id, child, source_message, source_seq, source_format, range_start, range_end, \
                 source_fold, source_revision, source_time, text, state, created_at, updated_at) VALUES (:id, :child, \
                 :message, :seq, :format, :start, :end, :fold, :revision, :time, :text, 'pending', :now, :now)",
                named_params! {
                    ":id": cite.id.as_str(),
                    ":child": Js(cite.child.clone()),
                    ":message": message.cloned().map(Js),
                    ":seq": place.map(|place| place.seq as i64),
                    ":format": place.map(|place| place.format as i64),
                    ":start": range.map(|(start, _)| start as i64),
                    ":end": range.map(|(_, end)| end as i64),
                    ":fold": fold.map(|(id, _)| id.as_str()),
                    ":revision": fold.map(|(_, revision)| revision as i64),
                    ":time": cite.source_time,
                    ":text": cite.text,
                    ":now": cite.created_at,
                },
            )?;
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

    /// Puts down where a cite stands in the parent's log.
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

fn read(row: &Row<'_>) -> rusqlite::Result<Cite> {
    let number = |index: usize| row.get::<_, Option<i64>>(index).map(|number| number.map(|number| number as u64));
    let place = |seq: Option<u64>, format: Option<u64>| seq.zip(format).map(|(seq, format)| Place { seq, format });
    let source = match row.get::<_, Option<Js>>(2)? {
        Some(message) => Source::Message {
            message_id: message.0,
            place: Place { seq: row.get::<_, i64>(3)? as u64, format: row.get::<_, i64>(4)? as u64 },
            range: number(5)?.zip(number(6)?),
        },
        None => Source::Fold { fold_id: Id::stored(row.get(7)?), revision: row.get::<_, i64>(8)? as u64 },
    };
    Ok(Cite {
        id: Id::stored(row.get(0)?),
        child: row.get::<_, Js>(1)?.0,
        source,
        source_time: row.get(9)?,
        text: row.get(10)?,
        state: row.get(11)?,
        delivered: place(number(12)?, number(13)?),
        reason: row.get(14)?,
        created_at: row.get(15)?,
        updated_at: row.get(16)?,
        committed_at: row.get(17)?,
    })
}
