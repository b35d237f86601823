//! Filters over sessions and events, as data (formats.md §9.3).
//!
//! Clauses of a list must all hold; of a clause's values one must; ranges include both ends; a clause
//! without values admits nothing. The JSON form is dsh's, with one clause of our own: `origin`.

use super::pattern::{Pattern, searchable};
use super::working_directory::is_same;
use crate::corpus::Record;
use crate::error::{Code, Failure};
use crate::model::js_string::{JsStr, JsString};
use crate::model::json::{Kind, View, number_literal, parse, string_literal};
use crate::model::surface::Placement;
use std::fmt::Write;

/// A clause about sessions.
#[derive(Clone, Debug, PartialEq)]
pub enum SessionClause {
    /// The id is one of these.
    Id(Vec<JsString>),
    /// The header's working directory is one of these; `None` is having none.
    Cwd(Vec<Option<JsString>>),
    /// The header's working directory is one of these, however Windows paths are spelled. Ours, not dsh's.
    In(Vec<JsString>),
    /// The time of creation is in this range of milliseconds.
    CreatedAt(Range),
    /// The parent is one of these; `None` is having none.
    Parent(Vec<Option<JsString>>),
    /// It is live, or persisted.
    Availability(Vec<Availability>),
    /// A person started it, or an agent.
    Origin(Vec<Origin>),
}

/// Where a session can be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Availability {
    /// A dsh holds it open.
    Live,
    /// It is stored.
    Persisted,
}

/// Who started a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// Another session's agent.
    Subagent,
    /// A person.
    User,
}

/// A clause about events.
#[derive(Clone, Debug)]
pub enum EventClause {
    /// The seq is in this range.
    Seq(Range),
    /// The time is in this range of milliseconds.
    Time(Range),
    /// The type is one of these.
    Type(Vec<JsString>),
    /// It stands in one of these places.
    Surface(Vec<Placement>),
    /// Its semantic text holds this.
    Text(Pattern),
}

/// A range of finite numbers that includes its ends; an end may be open.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Range {
    /// From here.
    pub from: Option<f64>,
    /// Up to here.
    pub to: Option<f64>,
}

impl Range {
    /// The range between two points in time, in milliseconds.
    ///
    /// # Errors
    /// It ends before it begins.
    pub fn between(from: Option<i64>, to: Option<i64>) -> Result<Range, Failure> {
        if matches!((from, to), (Some(from), Some(to)) if from > to) {
            return Err(invalid("the span of time ends before it begins"));
        }
        Ok(Range { from: from.map(|from| from as f64), to: to.map(|to| to as f64) })
    }

    /// Whether a number is in it.
    pub fn admits(self, value: f64) -> bool {
        self.from.is_none_or(|from| value >= from) && self.to.is_none_or(|to| value <= to)
    }
}

/// What a filter may ask of an event.
pub struct EventFacts<'e> {
    /// The seq.
    pub seq: u64,
    /// The time in milliseconds.
    pub time: i64,
    /// The type.
    pub kind: &'e JsStr<'e>,
    /// The place.
    pub placement: Placement,
    /// The semantic text.
    pub text: &'e JsStr<'e>,
}

/// A list of clauses about sessions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionFilter(pub Vec<SessionClause>);

/// A list of clauses about events.
#[derive(Clone, Debug, Default)]
pub struct EventFilter(pub Vec<EventClause>);

impl SessionFilter {
    /// Whether every clause holds.
    pub fn admits(&self, record: &Record) -> bool {
        let header = &record.stored.header;
        self.0.iter().all(|clause| match clause {
            SessionClause::Id(ids) => ids.contains(&header.id),
            SessionClause::Cwd(cwds) => cwds.contains(&header.cwd),
            SessionClause::In(cwds) => header.cwd.as_ref().is_some_and(|own| cwds.iter().any(|cwd| is_same(own, cwd))),
            SessionClause::CreatedAt(range) => range.admits(header.created_at as f64),
            SessionClause::Parent(parents) => parents.contains(&header.parent_session),
            SessionClause::Availability(values) => values.iter().any(|value| match value {
                Availability::Live => record.live == Some(true),
                Availability::Persisted => true,
            }),
            SessionClause::Origin(origins) => {
                let origin = if header.is_subagent { Origin::Subagent } else { Origin::User };
                origins.contains(&origin)
            }
        })
    }

    /// Reads dsh's form: an array of clauses.
    ///
    /// # Errors
    /// It is not JSON, or not such an array.
    pub fn parse(text: &str) -> Result<SessionFilter, Failure> {
        let clauses = clauses(text)?.into_iter().map(session_clause).collect::<Result<_, _>>()?;
        Ok(SessionFilter(clauses))
    }

    /// The filter as one text, the same for any order of clauses and values.
    pub fn canonical(&self) -> String {
        canonical(self.0.iter().map(|clause| match clause {
            SessionClause::Id(ids) => list("id", ids.iter().map(|id| string_literal(id))),
            SessionClause::Cwd(cwds) => list("cwd", cwds.iter().map(nullable)),
            SessionClause::In(cwds) => list("in", cwds.iter().map(|cwd| string_literal(cwd))),
            SessionClause::CreatedAt(range) => span("created-at", *range),
            SessionClause::Parent(parents) => list("parent", parents.iter().map(nullable)),
            SessionClause::Availability(values) => {
                list("availability", values.iter().map(|value| format!("{value:?}")))
            }
            SessionClause::Origin(values) => list("origin", values.iter().map(|value| format!("{value:?}"))),
        }))
    }
}

impl EventFilter {
    /// Whether every clause holds.
    pub fn admits(&self, event: &EventFacts<'_>) -> bool {
        self.0.iter().all(|clause| match clause {
            EventClause::Seq(range) => range.admits(event.seq as f64),
            EventClause::Time(range) => range.admits(event.time as f64),
            EventClause::Type(kinds) => kinds.iter().any(|kind| kind == event.kind),
            EventClause::Surface(placements) => placements.contains(&event.placement),
            EventClause::Text(pattern) => pattern.is_in(&searchable(event.text)),
        })
    }

    /// Whether a clause asks for text.
    pub fn has_text(&self) -> bool {
        self.0.iter().any(|clause| matches!(clause, EventClause::Text(_)))
    }

    /// Reads dsh's form: an array of clauses.
    ///
    /// # Errors
    /// It is not JSON, or not such an array.
    pub fn parse(text: &str) -> Result<EventFilter, Failure> {
        let clauses = clauses(text)?.into_iter().map(event_clause).collect::<Result<_, _>>()?;
        Ok(EventFilter(clauses))
    }

    /// Reads dsh's form of a filter for a search, which has a query and so takes no clause about text.
    ///
    /// # Errors
    /// It is not JSON, not such an array, or asks for text.
    pub fn parse_for_search(text: &str) -> Result<EventFilter, Failure> {
        let filter = EventFilter::parse(text)?;
        if filter.has_text() {
            Err(invalid("a search takes no clause about text beside its query"))
        } else {
            Ok(filter)
        }
    }

    /// The filter as one text, the same for any order of clauses and values.
    pub fn canonical(&self) -> String {
        canonical(self.0.iter().map(|clause| match clause {
            EventClause::Seq(range) => span("seq", *range),
            EventClause::Time(range) => span("time", *range),
            EventClause::Type(kinds) => list("type", kinds.iter().map(|kind| string_literal(kind))),
            EventClause::Surface(placements) => {
                list("surface", placements.iter().map(|placement| placement.name().to_owned()))
            }
            EventClause::Text(pattern) => format!("text {}", pattern.normalized()),
        }))
    }
}

fn canonical(clauses: impl Iterator<Item = String>) -> String {
    let mut clauses: Vec<String> = clauses.collect();
    clauses.sort();
    clauses.join("\n")
}

fn list(kind: &str, values: impl Iterator<Item = String>) -> String {
    let mut values: Vec<String> = values.collect();
    values.sort();
    format!("{kind} {}", values.join(" "))
}

fn span(kind: &str, range: Range) -> String {
    let mut text = kind.to_owned();
    for end in [range.from, range.to] {
        let _ = write!(text, " {}", end.map_or_else(|| "null".to_owned(), number_literal));
    }
    text
}

fn nullable(value: &Option<JsString>) -> String {
    value.as_ref().map_or_else(|| "null".to_owned(), |value| string_literal(value))
}

fn invalid(message: impl Into<String>) -> Failure {
    Failure::new(Code::InvalidFilter, message)
}

fn clauses(text: &str) -> Result<Vec<View<'_>>, Failure> {
    let view = parse(text).map_err(|error| invalid(format!("the filter is not JSON: {error}")))?;
    let clauses = view.array().ok_or_else(|| invalid("a filter is an array of clauses"))?;
    Ok(clauses.collect())
}

fn session_clause(clause: View<'_>) -> Result<SessionClause, Failure> {
    let kind = kind(clause)?;
    match kind.as_str() {
        "id" => Ok(SessionClause::Id(strings(&kind, clause)?)),
        "cwd" => Ok(SessionClause::Cwd(nullable_strings(&kind, clause)?)),
        "created-at" => Ok(SessionClause::CreatedAt(range(&kind, clause)?)),
        "parent" => Ok(SessionClause::Parent(nullable_strings(&kind, clause)?)),
        "availability" => words(&kind, clause, &[("live", Availability::Live), ("persisted", Availability::Persisted)])
            .map(SessionClause::Availability),
        "origin" => {
            words(&kind, clause, &[("subagent", Origin::Subagent), ("user", Origin::User)]).map(SessionClause::Origin)
        }
        _ => Err(invalid(format!("a filter on sessions has no clause {kind:?}"))),
    }
}

fn event_clause(clause: View<'_>) -> Result<EventClause, Failure> {
    let kind = kind(clause)?;
    match kind.as_str() {
        "seq" => Ok(EventClause::Seq(range(&kind, clause)?)),
        "time" => Ok(EventClause::Time(range(&kind, clause)?)),
        "type" => Ok(EventClause::Type(strings(&kind, clause)?)),
        "surface" => {
            let places =
                [Placement::Current, Placement::Shadowed, Placement::LogOnly].map(|place| (place.name(), place));
            words(&kind, clause, &places).map(EventClause::Surface)
        }
        "text" => {
            let text =
                clause.get("text").and_then(View::string).ok_or_else(|| invalid("a clause about text has no text"))?;
            Pattern::of_filter(&text.to_string_lossy()).map(EventClause::Text)
        }
        _ => Err(invalid(format!("a filter on events has no clause {kind:?}"))),
    }
}

fn kind(clause: View<'_>) -> Result<String, Failure> {
    let kind = clause.get("kind").and_then(View::string).ok_or_else(|| invalid("a clause has no kind"))?;
    Ok(kind.to_string_lossy().into_owned())
}

fn values<'a>(kind: &str, clause: View<'a>) -> Result<impl Iterator<Item = View<'a>>, Failure> {
    clause
        .get("values")
        .and_then(View::array)
        .ok_or_else(|| invalid(format!("the clause {kind:?} has no array of values")))
}

fn strings(kind: &str, clause: View<'_>) -> Result<Vec<JsString>, Failure> {
    let not_string = || invalid(format!("the clause {kind:?} has a value that is no string"));
    values(kind, clause)?.map(|value| value.string().map(JsStr::into_owned).ok_or_else(not_string)).collect()
}

fn nullable_strings(kind: &str, clause: View<'_>) -> Result<Vec<Option<JsString>>, Failure> {
    let not_string = || invalid(format!("the clause {kind:?} has a value that is neither a string nor null"));
    values(kind, clause)?
        .map(|value| match value.kind() {
            Kind::Null => Ok(None),
            _ => value.string().map(|text| Some(text.into_owned())).ok_or_else(not_string),
        })
        .collect()
}

fn words<T: Copy>(kind: &str, clause: View<'_>, known: &[(&str, T)]) -> Result<Vec<T>, Failure> {
    strings(kind, clause)?
        .iter()
        .map(|value| {
            let word = known.iter().find(|(name, _)| value == name).map(|(_, word)| *word);
            word.ok_or_else(|| invalid(format!("the clause {kind:?} does not know the value {value:?}")))
        })
        .collect()
}

fn range(kind: &str, clause: View<'_>) -> Result<Range, Failure> {
    let end = |key| match clause.get(key) {
        None => Ok(None),
        Some(value) => match value.number().filter(|number| number.is_finite()) {
            Some(number) => Ok(Some(number)),
            None => Err(invalid(format!("the clause {kind:?} has an end that is no finite number"))),
        },
    };
    let range = Range { from: end("from")?, to: end("to")? };
    match (range.from, range.to) {
        (Some(from), Some(to)) if from > to => Err(invalid(format!("the clause {kind:?} ends before it begins"))),
        _ => Ok(range),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_filter_is_refused() {
        for text in [
            "{}",
            "[1]",
            r#"[{"kind":"nope"}]"#,
            r#"[{"kind":"id","values":"a"}]"#,
            r#"[{"kind":"id","values":[null]}]"#,
            r#"[{"kind":"created-at","from":2,"to":1}]"#,
            r#"[{"kind":"created-at","from":"1"}]"#,
            r#"[{"kind":"availability","values":["gone"]}]"#,
            "[",
        ] {
            assert_eq!(SessionFilter::parse(text).unwrap_err().code, Code::InvalidFilter, "{text}");
        }
        assert!(EventFilter::parse_for_search(r#"[{"kind":"text","text":"a"}]"#).is_err());
        assert!(EventFilter::parse(r#"[{"kind":"text","text":" "}]"#).is_err());
    }

    #[test]
    fn the_canonical_form_forgets_order() {
        let canonical = |text| SessionFilter::parse(text).unwrap().canonical();
        assert_eq!(
            canonical(r#"[{"kind":"id","values":["a","b"]},{"kind":"created-at","from":1}]"#),
            canonical(r#"[{"kind":"created-at","from":1.0},{"kind":"id","values":["b","a"]}]"#)
        );
        assert_ne!(canonical(r#"[{"kind":"id","values":["a"]}]"#), canonical(r#"[{"kind":"id","values":["a","a"]}]"#));
    }
}
