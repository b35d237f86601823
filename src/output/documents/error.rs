//! What a failure looks like to a program.

use super::problem::PlaceFacts;
use crate::error::Failure;
use schemars::JsonSchema;
use serde::Serialize;

/// An error, on standard error.
#[derive(Debug, JsonSchema, Serialize)]
pub struct ErrorDocument {
    /// What went wrong.
    error: ErrorFacts,
}

/// What went wrong; also the `error` of a record in a batch.
#[derive(Debug, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ErrorFacts {
    /// The stable name of the kind of error.
    code: &'static str,
    /// What happened, for people.
    message: String,
    /// What can be done.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
    #[serde(flatten)]
    place: Option<PlaceFacts>,
    /// What could have been meant.
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
