//! What a failure looks like to a program.

use super::problem::PlaceFacts;
use crate::error::Failure;
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
    #[serde(flatten)]
    place: Option<PlaceFacts>,
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
        ErrorFacts {
            code: failure.code.name(),
            message: failure.message.clone(),
            hint: failure.hint.clone(),
            place: failure.problem.as_deref().map(PlaceFacts::of),
            candidates: failure.candidates.clone(),
        }
    }
}
