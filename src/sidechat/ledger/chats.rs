//! The table `chats`.

use super::Ledger;
use super::column::Js;
use super::provenance::Json;
use crate::error::Failure;
use crate::model::js_string::JsString;
use crate::sidechat::chat::{Chat, Identity, Origin, SessionRef, Status};
use crate::stores::jsonl::LogState;
use crate::stores::steps::Steps;
use rusqlite::{Connection, OptionalExtension, Row, Transaction, named_params};

const SELECT: &str = "SELECT child, child_created_at, child_cwd, parent, parent_created_at, parent_cwd, question, \
    title, status, seed, permission, model, parent_baseline, last_revision, created_at, updated_at, log_bytes, \
    log_sha256, is_hidden, is_restored FROM chats";

impl Ledger {
    /// Every side chat, oldest first.
    ///
    /// # Errors
    /// The database cannot be read. So with the next.
    pub fn chats(&self) -> Result<Vec<Chat>, Failure> {
        self.query(|connection| select(connection, "WHERE is_published ORDER BY created_at, child"))
    }

    /// The side chat that is this session.
    ///
    /// # Errors
    /// As [`Ledger::chats`].
    pub fn chat(&self, child: &JsString) -> Result<Option<Chat>, Failure> {
        let sql = format!("{SELECT} WHERE is_published AND child = ?");
        self.query(|connection| connection.query_row(&sql, [Js(child.clone())], read).optional())
    }

    /// The side chats that were begun and whose logs may or may not be there: their writer is gone.
    ///
    /// # Errors
    /// As [`Ledger::chats`].
    pub fn unpublished(&self) -> Result<Vec<Chat>, Failure> {
        self.query(|connection| select(connection, "WHERE NOT is_published"))
    }

    /// Puts down a side chat whose log is about to be made.
    ///
    /// # Errors
    /// The database cannot be written. So with the next.
    pub fn begin_chat(&mut self, chat: &Chat, steps: &mut dyn Steps) -> Result<(), Failure> {
        self.transaction(steps, "ledger-begin-chat", |transaction| insert(transaction, chat, false))
    }

    /// Hides a side chat from ordinary lists of sessions, or shows it there again.
    ///
    /// # Errors
    /// As [`Ledger::begin_chat`].
    pub fn set_hidden(&mut self, child: &JsString, is_hidden: bool, steps: &mut dyn Steps) -> Result<(), Failure> {
        self.transaction(steps, "ledger-hide", |transaction| {
            let sql = "UPDATE chats SET is_hidden = ? WHERE child = ?";
            transaction.execute(sql, (is_hidden, Js(child.clone())))?;
            Ok(())
        })
    }

    /// Puts down that the log of a side chat is there, and what it holds.
    ///
    /// # Errors
    /// As [`Ledger::begin_chat`].
    pub fn finish_chat(
        &mut self,
        child: &JsString,
        log: Option<&LogState>,
        steps: &mut dyn Steps,
    ) -> Result<(), Failure> {
        self.transaction(steps, "ledger-finish-chat", |transaction| {
            let sql = "UPDATE chats SET is_published = 1, log_bytes = ?, log_sha256 = ? WHERE child = ?";
            let bytes = log.map(|log| log.bytes as i64);
            transaction.execute(sql, (bytes, log.map(|log| &log.sha256), Js(child.clone())))?;
            Ok(())
        })
    }

    /// Strikes out a side chat whose log was never made.
    ///
    /// # Errors
    /// As [`Ledger::begin_chat`].
    pub fn forget_chat(&mut self, child: &JsString, steps: &mut dyn Steps) -> Result<(), Failure> {
        self.transaction(steps, "ledger-forget-chat", |transaction| {
            transaction.execute("DELETE FROM chats WHERE child = ? AND NOT is_published", [Js(child.clone())])?;
            Ok(())
        })
    }

    /// Gives a side chat another status.
    ///
    /// # Errors
    /// As [`Ledger::begin_chat`].
    pub fn set_status(
        &mut self,
        child: &JsString,
        status: Status,
        now: i64,
        steps: &mut dyn Steps,
    ) -> Result<(), Failure> {
        self.transaction(steps, "ledger-status", |transaction| {
            let sql = "UPDATE chats SET status = ?, updated_at = ? WHERE child = ?";
            transaction.execute(sql, (status, now, Js(child.clone())))?;
            Ok(())
        })
    }

    /// Puts down what dshkit wrote to a side chat's log last.
    ///
    /// # Errors
    /// As [`Ledger::begin_chat`].
    pub fn set_log(&mut self, child: &JsString, log: &LogState, steps: &mut dyn Steps) -> Result<(), Failure> {
        self.transaction(steps, "ledger-log", |transaction| {
            let sql = "UPDATE chats SET log_bytes = ?, log_sha256 = ? WHERE child = ?";
            transaction.execute(sql, (log.bytes as i64, &log.sha256, Js(child.clone())))?;
            Ok(())
        })
    }
}

/// Puts down side chats that were found in logs, unless they are known. Gives how many are new.
pub(super) fn restore(transaction: &Transaction<'_>, chats: &[Chat]) -> rusqlite::Result<usize> {
    let mut restored = 0;
    for chat in chats {
        let sql = "SELECT EXISTS (SELECT 1 FROM chats WHERE child = ?)";
        if !transaction.query_row(sql, [Js(chat.child.id.clone())], |row| row.get::<_, bool>(0))? {
            insert(transaction, chat, true)?;
            restored += 1;
        }
    }
    Ok(restored)
}

/// Whether there is a side chat that is this session.
pub(super) fn is_there(transaction: &Transaction<'_>, child: &JsString) -> rusqlite::Result<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM chats WHERE is_published AND child = ?)";
    transaction.query_row(sql, [Js(child.clone())], |row| row.get(0))
}

fn insert(transaction: &Transaction<'_>, chat: &Chat, is_restored: bool) -> rusqlite::Result<()> {
    let sql = "INSERT INTO chats (child, child_created_at, child_cwd, parent, parent_created_at, parent_cwd, \
        question, title, is_published, status, seed, permission, model, parent_baseline, last_revision, \
        is_restored, created_at, updated_at) VALUES (:child, :child_created_at, :child_cwd, :parent, :parent_created_at, \
        :parent_cwd, :question, :title, :is_restored, :status, :seed, :permission, :model, :parent_baseline, \
        :last_revision, :is_restored, :created_at, :updated_at)";
    let cwd = |session: &SessionRef| session.identity.cwd.clone().map(Js);
    transaction.execute(
        sql,
        named_params! {
            ":child": Js(chat.child.id.clone()),
            ":child_created_at": chat.child.identity.created_at as i64,
            ":child_cwd": cwd(&chat.child),
            ":parent": Js(chat.parent.id.clone()),
            ":parent_created_at": chat.parent.identity.created_at as i64,
            ":parent_cwd": cwd(&chat.parent),
            ":question": chat.question,
            ":title": chat.title,
            ":status": chat.status,
            ":seed": Json(&chat.seed),
            ":permission": Json(&chat.permission),
            ":model": Json(&chat.model),
            ":parent_baseline": chat.parent_baseline.as_ref().map(Json),
            ":last_revision": chat.last_revision as i64,
            ":is_restored": is_restored,
            ":created_at": chat.created_at,
            ":updated_at": chat.updated_at,
        },
    )?;
    Ok(())
}

/// Takes note that something was done with a side chat.
pub(super) fn touch(transaction: &Transaction<'_>, child: &JsString, now: i64) -> rusqlite::Result<()> {
    transaction.execute("UPDATE chats SET updated_at = ? WHERE child = ?", (now, Js(child.clone())))?;
    Ok(())
}

fn select(connection: &Connection, rest: &str) -> rusqlite::Result<Vec<Chat>> {
    connection.prepare(&format!("{SELECT} {rest}"))?.query_map([], read)?.collect()
}

fn read(row: &Row<'_>) -> rusqlite::Result<Chat> {
    let js = |index: usize| row.get::<_, Js>(index).map(|js| js.0);
    let cwd = |index: usize| row.get::<_, Option<Js>>(index).map(|cwd| cwd.map(|cwd| cwd.0));
    let session = |at: usize| -> rusqlite::Result<SessionRef> {
        let identity = Identity { created_at: row.get::<_, i64>(at + 1)? as u64, cwd: cwd(at + 2)? };
        Ok(SessionRef { id: js(at)?, identity })
    };
    let log_bytes: Option<i64> = row.get(16)?;
    let log_sha256: Option<String> = row.get(17)?;
    let is_restored: bool = row.get(19)?;
    Ok(Chat {
        child: session(0)?,
        parent: session(3)?,
        question: row.get(6)?,
        title: row.get(7)?,
        status: row.get(8)?,
        seed: row.get::<_, Json<_>>(9)?.0,
        permission: row.get::<_, Json<_>>(10)?.0,
        model: row.get::<_, Json<_>>(11)?.0,
        parent_baseline: row.get::<_, Option<Json<_>>>(12)?.map(|baseline| baseline.0),
        last_revision: row.get::<_, i64>(13)? as u64,
        created_at: row.get(14)?,
        updated_at: row.get(15)?,
        log: log_bytes.zip(log_sha256).map(|(bytes, sha256)| LogState { bytes: bytes as u64, sha256 }),
        is_hidden: row.get(18)?,
        origin: if is_restored { Origin::Restored } else { Origin::Ledger },
    })
}
