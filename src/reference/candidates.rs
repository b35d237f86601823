//! Which sessions a conversation could refer to, the likeliest first (formats.md §8.1, seed 001).

use crate::corpus::{Catalog, Record};
use crate::error::{Code, Failure};
use crate::model::js_string::{JsStr, JsString};
use crate::model::json::Value;
use crate::projections::ladder::Derived;
use crate::projections::registry::Registry;
use crate::projections::units;

/// How many candidates there are at most, where nothing else is said.
pub const DEFAULT_LIMIT: usize = 50;

/// The conversation that would refer to them.
#[derive(Clone, Debug)]
pub struct Target {
    /// Its id. It need not be stored.
    pub id: JsString,
    /// Its working directory; more than one where that has several names.
    pub cwd: Vec<JsString>,
}

/// A session that could be referred to.
#[derive(Clone, Debug)]
pub struct Candidate<'c> {
    /// The session.
    pub record: &'c Record,
    /// What it is called.
    pub names: Names,
    /// Whether its working directory is that of the target.
    pub same_workspace: bool,
}

/// What a session is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Names {
    /// The newest title, else the id.
    pub label: JsString,
    /// The name a sub-agent was given, else the label: what the mention shows. dsh tells them apart since
    /// it writes v4 logs, so of older ones it is the label.
    pub display_title: JsString,
}

/// Checks how many candidates may be listed.
///
/// # Errors
/// It is no positive number.
pub fn check_limit(limit: i64) -> Result<usize, Failure> {
    usize::try_from(limit).ok().filter(|limit| *limit > 0).ok_or_else(|| {
        let message = format!("the limit must be a positive whole number, got {limit}");
        // dsh's code for it.
        Failure::new(Code::InvalidReference, message)
    })
}

/// All sessions but the target itself: those of its working directory, then those without any, then the
/// others; each newest first.
pub fn ranked<'c>(catalog: &'c Catalog, target: &Target) -> Vec<&'c Record> {
    let mut records: Vec<&Record> = catalog.records.iter().filter(|record| *record.id() != target.id).collect();
    records.sort_by_key(|record| match &record.stored.header.cwd {
        Some(_) if target.is_of(record) => 0,
        None => 1,
        Some(_) => 2,
    });
    records
}

impl Target {
    /// Whether a session is of the target's working directory.
    fn is_of(&self, record: &Record) -> bool {
        record.stored.header.cwd.as_ref().is_some_and(|cwd| self.cwd.contains(cwd))
    }

    /// A session as a candidate, with the states of the [`registry`]'s units if there are any.
    pub fn candidate<'c>(&self, record: &'c Record, derived: Option<&Derived<'_>>) -> Candidate<'c> {
        Candidate { record, names: Names::of(record, derived), same_workspace: self.is_of(record) }
    }
}

/// The units that tell what a session is called.
pub fn registry() -> Registry {
    units::all().only(&["title", "subagent"]).expect("the units are there")
}

impl Names {
    fn of(record: &Record, derived: Option<&Derived<'_>>) -> Names {
        let views = derived.map(|derived| derived.folded.snapshot().views).unwrap_or_default();
        let view = |wanted: &str| views.iter().find(|(key, _)| *key == wanted).map(|(_, view)| view);
        let label = string(view("title")).unwrap_or_else(|| record.id().clone());
        let given = match view("subagent") {
            Some(Value::Object(subagent)) if record.stored.format_version >= 4 => string(subagent.get("label")),
            _ => None,
        };
        Names { display_title: given.unwrap_or_else(|| label.clone()), label }
    }
}

fn string(value: Option<&Value>) -> Option<JsString> {
    match value {
        Some(Value::String(text)) => Some(text.clone()),
        _ => None,
    }
}

/// A text to look for in what a session is called and where it is, in any case. Never in what was said.
#[derive(Clone, Debug)]
pub struct Needle(String);

impl Needle {
    /// The needle of a query, which may be empty.
    pub fn of(query: &str) -> Needle {
        Needle(query.to_lowercase())
    }

    /// Whether it is found wherever it is looked for.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether it is in a candidate's id, working directory or names.
    pub fn is_in(&self, candidate: &Candidate<'_>) -> bool {
        let header = &candidate.record.stored.header;
        let texts = [&header.id, &candidate.names.label, &candidate.names.display_title];
        texts.into_iter().chain(&header.cwd).any(|text| self.is_in_text(text))
    }

    fn is_in_text(&self, text: &JsStr<'_>) -> bool {
        text.to_string_lossy().to_lowercase().contains(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_is_that_of_javascript() {
        let is_in = |query, text| Needle::of(query).is_in_text(&JsStr::from(text));
        assert!(is_in("ÜNÏCODE", "/a/ünïcode") && is_in("É", "tie-é") && is_in("", "x"));
        // toLowerCase looks at where a sigma stands, and knows no ß in capitals.
        assert!(is_in("ΟΔΟΣ", "οδος") && !is_in("STRASSE", "Straße"));
    }
}
