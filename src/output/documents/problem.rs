//! A problem of a store.

use crate::model::problem::Problem;
use crate::output::json::Js;
use serde::Serialize;

/// `{kind, path, sessionId?, byte?, line?, seq?, message}`.
#[derive(Debug, Serialize)]
pub struct ProblemDocument {
    #[serde(flatten)]
    place: PlaceFacts,
    message: String,
}

/// What kind of problem it is and where: `{kind, path, sessionId?, byte?, line?, seq?}`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PlaceFacts {
    kind: &'static str,
    path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_id: Option<Js>,
    #[serde(skip_serializing_if = "Option::is_none")]
    byte: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u64>,
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
