//! What a failure looks like to a program, on standard error.

use crate::error::Failure;
use crate::output::json::Js;
use serde::Serialize;

/// `{"error":{…}}`.
#[derive(Debug, Serialize)]
pub struct ErrorDocument<'f> {
    error: ErrorFacts<'f>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ErrorFacts<'f> {
    code: &'static str,
    message: &'f str,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<&'f str>,
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
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    candidates: &'f [String],
}

impl<'f> ErrorDocument<'f> {
    /// The document of a failure.
    pub fn of(failure: &'f Failure) -> ErrorDocument<'f> {
        let problem = failure.problem.as_deref();
        ErrorDocument {
            error: ErrorFacts {
                code: failure.code.name(),
                message: &failure.message,
                hint: failure.hint.as_deref(),
                kind: problem.map(|problem| problem.kind.name()),
                path: problem.map(|problem| problem.path.display().to_string()),
                session_id: problem.and_then(|problem| problem.session_id.as_ref()).map(Js::from),
                byte: problem.and_then(|problem| problem.byte),
                line: problem.and_then(|problem| problem.line),
                seq: problem.and_then(|problem| problem.seq),
                candidates: &failure.candidates,
            },
        }
    }
}
