//! What a failure looks like to a program.

use crate::error::Failure;
use crate::output::json::Js;
use serde::Serialize;

/// `{"error":{…}}`, which goes to standard error.
#[derive(Debug, Serialize)]
pub struct ErrorDocument {
    error: ErrorFacts,
}

/// `{code, message, hint?, …}`: also the `error` of a record in a batch.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ErrorFacts {
    code: &'static str,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_id: Option<Js>,
    #[serde(skip_serializing_if = "Option::is_none")]
    byte: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seq: Option<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    candidates: Vec<String>,
}

impl ErrorDocument {
    /// The document of a failure.
    pub fn of(failure: &Failure) -> ErrorDocument {
        ErrorDocument { error: ErrorFacts::of(failure) }
    }
}

impl ErrorFacts {
    /// The facts of a failure.
    pub fn of(failure: &Failure) -> ErrorFacts {
        let problem = failure.problem.as_deref();
        ErrorFacts {
            code: failure.code.name(),
            message: failure.message.clone(),
            hint: failure.hint.clone(),
            kind: problem.map(|problem| problem.kind.name()),
            path: problem.map(|problem| problem.path.display().to_string()),
            session_id: problem.and_then(|problem| problem.session_id.as_ref()).map(Js::from),
            byte: problem.and_then(|problem| problem.byte),
            line: problem.and_then(|problem| problem.line),
            seq: problem.and_then(|problem| problem.seq),
            candidates: failure.candidates.clone(),
        }
    }
}
