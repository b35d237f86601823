//! A problem of a store.

use crate::model::problem::Problem;
use crate::output::json::Js;
use serde::Serialize;

/// `{kind, path, sessionId?, byte?, line?, seq?, message}`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ProblemDocument {
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
    message: String,
}

impl From<&Problem> for ProblemDocument {
    fn from(problem: &Problem) -> Self {
        ProblemDocument {
            kind: problem.kind.name(),
            path: problem.path.display().to_string(),
            session_id: problem.session_id.as_ref().map(Js::from),
            byte: problem.byte,
            line: problem.line,
            seq: problem.seq,
            message: problem.message.clone(),
        }
    }
}
