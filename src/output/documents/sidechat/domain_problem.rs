//! What is wrong with the file of dsh's plugin.

use crate::output::json::Js;
use crate::sidechat::plugin_domain::{DomainProblem, PluginDomain};
use schemars::JsonSchema;
use serde::Serialize;
use std::path::Path;

/// Something that is wrong with the file of dsh's plugin.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DomainProblemDocument {
    /// `invalid-record`, `malformed-medium`, `version-mismatch`, or `io`.
    code: &'static str,
    /// The file.
    path: String,
    /// The table; `null` where it is about the whole file.
    table: Option<&'static str>,
    /// The row, by its key.
    key: Option<Js>,
    /// The field of the row.
    field: Option<String>,
    /// What is wrong.
    message: String,
}

impl DomainProblemDocument {
    /// Every problem of the file.
    pub(super) fn all(plugin: &PluginDomain) -> Vec<DomainProblemDocument> {
        plugin.problems.iter().map(|problem| DomainProblemDocument::of(problem, &plugin.path)).collect()
    }

    pub(super) fn of(problem: &DomainProblem, path: &Path) -> DomainProblemDocument {
        DomainProblemDocument {
            code: problem.code.name(),
            path: path.display().to_string(),
            table: problem.table(),
            key: problem.key.as_ref().map(Js::from),
            field: problem.field.clone(),
            message: problem.message.clone(),
        }
    }
}
