//! The side chats of dsh's plugin: its storage domain `sidechat`, version 1 (sidechat.md §1.2, §1.3). It is read
//! beside our ledger and never written.
//!
//! The plugin checks every row when it starts, and one that does not fit keeps it from starting. So rows are
//! checked by the same schema, each that fits is taken, and what is wrong with the others is told.

mod rows;
mod schema;

use super::chat::Chat;
use super::citation::Cite;
use super::fold::Fold;
use super::relation::not_a_side_chat;
use super::withdrawal::Withdrawal;
use crate::corpus::failure;
use crate::error::{Code, Failure};
use crate::model::js_string::JsString;
use crate::model::json::{View, parse};
use crate::stores::storage_unit;
use std::path::{Path, PathBuf};

/// The name of the domain, its version, and its table.
const UNIT: &str = "sidechat";
const VERSION: u64 = 1;
const TABLE: &str = "chats";

/// What the plugin has put down.
#[derive(Debug, Default)]
pub struct PluginDomain {
    /// Where it lies.
    pub path: PathBuf,
    /// Whether there is such a file.
    pub is_present: bool,
    /// Its side chats, in the order of the file.
    pub chats: Vec<PluginChat>,
    /// What is wrong with it.
    pub problems: Vec<DomainProblem>,
}

/// A side chat of the plugin.
#[derive(Clone, Debug)]
pub struct PluginChat {
    /// The side chat.
    pub chat: Chat,
    /// Its folds, oldest first.
    pub folds: Vec<Fold>,
    /// Its cites, oldest first.
    pub cites: Vec<Cite>,
    /// The folds that were taken back.
    pub withdrawals: Vec<Withdrawal>,
}

impl PluginDomain {
    /// The failure of who takes a session for a side chat that neither the ledger nor the plugin remembers, as far as
    /// its file can be read.
    pub fn without(&self, child: &JsString) -> Failure {
        let of_row = self.problems.iter().find(|problem| problem.key.as_ref() == Some(child));
        let Some(problem) = of_row.or_else(|| self.problems.iter().find(|problem| problem.key.is_none())) else {
            return not_a_side_chat(child);
        };
        let message = format!("the ledger has no side chat {child:?}; {}", problem.sentence(&self.path));
        Failure::new(problem.code, message).hint("`dshkit sidechat doctor` says more")
    }
}

/// Something that is wrong with the plugin's file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DomainProblem {
    /// What the plugin would fail with, or that the file cannot be read.
    pub code: Code,
    /// The row, by its key.
    pub key: Option<JsString>,
    /// The field of the row: `folds[2].state`.
    pub field: Option<String>,
    /// What is wrong.
    pub message: String,
}

impl DomainProblem {
    /// The table that the row is in, where it is about one.
    pub fn table(&self) -> Option<&'static str> {
        self.key.as_ref().map(|_| TABLE)
    }

    /// One sentence with the place.
    pub fn sentence(&self, path: &Path) -> String {
        let key = self.key.as_ref().map(|key| format!(", table {TABLE}, key {key:?}")).unwrap_or_default();
        let field = self.field.as_ref().map(|field| format!(", field {field}")).unwrap_or_default();
        format!("{}{key}{field}: {}", path.display(), self.message)
    }
}

/// Reads what the plugin has put down in a home. Whatever is wrong with it is part of the answer.
pub fn read(home: &Path) -> PluginDomain {
    let path = storage_unit::place(home, UNIT);
    let mut domain = PluginDomain { path, ..PluginDomain::default() };
    let problem = |code, message: &str| DomainProblem { code, key: None, field: None, message: message.to_owned() };
    match storage_unit::read(&domain.path) {
        Ok(None) => {}
        Ok(Some(text)) => {
            domain.is_present = true;
            match document(&text) {
                Ok(table) => table.into_iter().for_each(|table| take_rows(table, &mut domain)),
                Err((code, message)) => domain.problems.push(problem(code, &message)),
            }
        }
        Err(error) => {
            domain.is_present = true;
            domain.problems.push(problem(Code::Io, &failure(error).message));
        }
    }
    domain
}

/// The table in a document; `None` if it has none, which is one without rows.
fn document(text: &str) -> Result<Option<View<'_>>, (Code, String)> {
    let malformed = |what: &str| (Code::MalformedMedium, what.to_owned());
    let document = parse(text).map_err(|error| malformed(&format!("it is no JSON: {error}")))?;
    let unit = document.get("unit").filter(|unit| unit.is_object()).ok_or_else(|| malformed("it has no unit"))?;
    if !unit.get("name").is_some_and(|name| name.is_string(UNIT)) {
        return Err(malformed(&format!("its unit.name is not {UNIT:?}")));
    }
    let version =
        unit.get("version").and_then(View::number).ok_or_else(|| malformed("its unit.version is no number"))?;
    let tables = document.get("tables").filter(|tables| tables.is_object());
    let tables = tables.ok_or_else(|| malformed("its tables are no object"))?;
    if version != VERSION as f64 {
        let message = format!("it is of the version {version}; dshkit knows version {VERSION}");
        return Err((Code::VersionMismatch, message));
    }
    match tables.get(TABLE) {
        Some(table) if !table.is_object() => Err(malformed(&format!("its table {TABLE} is no object"))),
        table => Ok(table),
    }
}

/// Takes every row that fits, and puts down what is wrong with the others.
fn take_rows(table: View<'_>, domain: &mut PluginDomain) {
    // Of a repeated key the last row counts.
    let mut all: Vec<(JsString, View<'_>)> = Vec::new();
    let mut places = std::collections::HashMap::new();
    for (key, row) in table.members() {
        let key = key.into_owned();
        match places.get(&key) {
            Some(at) => all[*at] = (key, row),
            None => {
                places.insert(key.clone(), all.len());
                all.push((key, row));
            }
        }
    }
    for (key, row) in all {
        let faults = schema::faults(row);
        if faults.is_empty() {
            domain.chats.extend(rows::chat(row));
        }
        domain.problems.extend(faults.into_iter().map(|fault| DomainProblem {
            code: Code::InvalidRecord,
            key: Some(key.clone()),
            field: Some(fault.field),
            message: fault.message,
        }));
    }
}
