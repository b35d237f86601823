//! `dshkit/sidechat.doctor/1`

use crate::output::json::Js;
use crate::output::terminal_text::visible;
use crate::output::{Document, TextOut};
use crate::sidechat::doctor::{Diagnosis, Finding, Restored};
use schemars::JsonSchema;
use serde::Serialize;
use std::io;

/// `{ledger, plugin, findings, restored?}`. `restored` is there with `--rebuild`.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DoctorDocument {
    ledger: FileDocument,
    plugin: FileDocument,
    findings: Vec<FindingDocument>,
    #[serde(skip_serializing_if = "Option::is_none")]
    restored: Option<RestoredDocument>,
}

/// `{path, present}`.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
struct FileDocument {
    path: String,
    present: bool,
}

/// `{kind, gravity, childSessionId, table, key, field, message, advice}`. `table`, `key` and `field` are the place in
/// the plugin's file.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
struct FindingDocument {
    kind: &'static str,
    gravity: &'static str,
    child_session_id: Option<Js>,
    table: Option<&'static str>,
    key: Option<Js>,
    field: Option<String>,
    message: String,
    advice: Option<&'static str>,
}

/// `{chats, folds, cites, withdrawals}`: how many were put into the ledger.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
struct RestoredDocument {
    chats: usize,
    folds: usize,
    cites: usize,
    withdrawals: usize,
}

impl From<&Finding> for FindingDocument {
    fn from(finding: &Finding) -> FindingDocument {
        let row = finding.row.as_ref();
        FindingDocument {
            kind: finding.kind,
            gravity: finding.gravity.name(),
            child_session_id: finding.child.as_ref().map(Js::from),
            table: row.and_then(|row| row.table()),
            key: row.and_then(|row| row.key.as_ref()).map(Js::from),
            field: row.and_then(|row| row.field.clone()),
            message: finding.message.clone(),
            advice: finding.advice,
        }
    }
}

impl DoctorDocument {
    /// The document of what was found, and of what was put into the ledger before.
    pub fn new(diagnosis: &Diagnosis, restored: Option<Restored>) -> DoctorDocument {
        let path = |path: &std::path::Path| path.display().to_string();
        DoctorDocument {
            ledger: FileDocument { path: path(&diagnosis.ledger), present: diagnosis.has_ledger },
            plugin: FileDocument { path: path(&diagnosis.plugin.path), present: diagnosis.plugin.is_present },
            findings: diagnosis.findings.iter().map(FindingDocument::from).collect(),
            restored: restored.map(|Restored { chats, folds, cites, withdrawals }| RestoredDocument {
                chats,
                folds,
                cites,
                withdrawals,
            }),
        }
    }
}

impl Document for DoctorDocument {
    const SCHEMA: &'static str = "dshkit/sidechat.doctor/1";

    fn text(&self, text: &mut TextOut<'_>) -> io::Result<()> {
        if let Some(RestoredDocument { chats, folds, cites, withdrawals }) = &self.restored {
            text.line(&format!(
                "restored: {chats} side chats, {folds} folds, {cites} cites, {withdrawals} withdrawals"
            ))?;
        }
        if self.findings.is_empty() {
            return text.line("everything fits together");
        }
        self.findings.iter().try_for_each(|finding| {
            text.line(&format!("{}  {}: {}", finding.gravity, finding.kind, visible(&finding.message)))?;
            finding.advice.map_or(Ok(()), |advice| text.line(&format!("      {advice}")))
        })
    }
}
