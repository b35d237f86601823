//! A problem of a store.

use crate::model::problem::Problem;
use crate::output::json::Js;
use schemars::JsonSchema;
use serde::Serialize;

/// What is wrong with a store or a log.
#[derive(Debug, JsonSchema, Serialize)]
pub struct ProblemDocument {
    #[serde(flatten)]
    place: PlaceFacts,
    /// What is wrong, for people.
    message: String,
}

/// What kind of problem it is, and where.
#[derive(Debug, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PlaceFacts {
    /// The stable name of the kind of problem.
    kind: &'static str,
    /// The file.
    path: String,
    /// The session it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    session_id: Option<Js>,
    /// The byte at which it is, from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    byte: Option<u64>,
    /// The line at which it is, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u64>,
    /// The event at which it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    seq: Option<u64>,
}

impl PlaceFacts {
    pub(super) fn of(problem: &Problem) -> PlaceFacts {
        PlaceFacts {
            kind: problem.kind.name(),
            path: problem.path.display().to_string(),
            session_id: problem.session_id.as_ref().map(Js::from),
            byte: problem.byte,
            line: problem.line,
            seq: problem.seq,
        }
    }
}

impl From<&Problem> for ProblemDocument {
    fn from(problem: &Problem) -> Self {
        ProblemDocument { place: PlaceFacts::of(problem), message: problem.message.clone() }
    }
}
