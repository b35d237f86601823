//! The table `relinks`: who was a side chat's parent before, and since when another is.

use super::Ledger;
use super::column::Js;
use crate::error::Failure;
use crate::model::js_string::JsString;
use crate::sidechat::chat::{Identity, SessionRef};
use crate::sidechat::relink::Relink;
use crate::stores::steps::Steps;
use rusqlite::{Row, named_params};

impl Ledger {
    /// The times a side chat got another parent, oldest first.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn relinks(&self, child: &JsString) -> Result<Vec<Relink>, Failure> {
        self.query(|connection| {
            let sql = "SELECT child, from_parent, from_created_at, from_cwd, to_parent, to_created_at, to_cwd, at \
                FROM relinks WHERE child = ? ORDER BY number";
            connection.prepare(sql)?.query_map([Js(child.clone())], read)?.collect()
        })
    }

    /// Gives a side chat another parent and puts down that it was done. What its former parent had used says
    /// nothing about the new one.
    ///
    /// # Errors
    /// The database cannot be written.
    pub fn relink(&mut self, relink: &Relink, steps: &mut dyn Steps) -> Result<(), Failure> {
        let cwd = |session: &SessionRef| session.identity.cwd.clone().map(Js);
        self.transaction(steps, "ledger-relink", |transaction| {
            transaction.execute(
                "INSERT INTO relinks (child, from_parent, from_created_at, from_cwd, to_parent, to_created_at, to_cwd, \
                 at) VALUES (:child, :from, :from_created_at, :from_cwd, :to, :to_created_at, :to_cwd, :at)",
                named_params! {
                    ":child": Js(relink.child.clone()),
                    ":from": Js(relink.from.id.clone()),
                    ":from_created_at": relink.from.identity.created_at as i64,
                    ":from_cwd": cwd(&relink.from),
                    ":to": Js(relink.to.id.clone()),
                    ":to_created_at": relink.to.identity.created_at as i64,
                    ":to_cwd": cwd(&relink.to),
                    ":at": relink.at,
                },
            )?;
            transaction.execute(
                "UPDATE chats SET parent = :to, parent_created_at = :to_created_at, parent_cwd = :to_cwd, \
                 parent_baseline = NULL, updated_at = :at WHERE child = :child",
                named_params! {
                    ":to": Js(relink.to.id.clone()),
                    ":to_created_at": relink.to.identity.created_at as i64,
                    ":to_cwd": cwd(&relink.to),
                    ":at": relink.at,
                    ":child": Js(relink.child.clone()),
                },
            )?;
            Ok(())
        })
    }
}

fn read(row: &Row<'_>) -> rusqlite::Result<Relink> {
    let session = |at: usize| -> rusqlite::Result<SessionRef> {
        let cwd = row.get::<_, Option<Js>>(at + 2)?.map(|cwd| cwd.0);
        let identity = Identity { created_at: row.get::<_, i64>(at + 1)? as u64, cwd };
        Ok(SessionRef { id: row.get::<_, Js>(at)?.0, identity })
    };
    Ok(Relink { child: row.get::<_, Js>(0)?.0, from: session(1)?, to: session(4)?, at: row.get(7)? })
}
