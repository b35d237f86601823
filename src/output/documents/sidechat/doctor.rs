//! `dshkit/sidechat.doctor/1`

use crate::output::json::Js;
use crate::output::terminal_text::visible;
use crate::output::{Document, TextOut};
use crate::sidechat::doctor::{Diagnosis, Finding, Restored};
use schemars::JsonSchema;
use serde::Serialize;
use std::io;

/// Whether the ledger, the logs and the file of dsh's plugin fit together.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DoctorDocument {
    /// The ledger.
    ledger: FileDocument,
    /// The file of dsh's plugin.
    plugin: FileDocument,
    /// What does not fit.
    findings: Vec<FindingDocument>,
    /// With `--rebuild`: what was put into the ledger before, or would be.
    #[serde(skip_serializing_if = "Option::is_none")]
    restored: Option<RestoredDocument>,
    /// Whether nothing was changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    dry_run: Option<bool>,
}

/// A file.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
struct FileDocument {
    /// Where it lies, or would.
    path: String,
    /// Whether it is there.
    present: bool,
}

/// Something that does not fit.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
struct FindingDocument {
    /// What kind it is.
    kind: &'static str,
    /// `note`, `damage`, or `unsupported`.
    gravity: &'static str,
    /// The side chat it is about.
    child_session_id: Option<Js>,
    /// The table in the plugin's file.
    table: Option<&'static str>,
    /// The row, by its key.
    key: Option<Js>,
    /// The field of the row.
    field: Option<String>,
    /// What it is.
    message: String,
    /// What can be done.
    advice: Option<&'static str>,
}

/// How many records were put into the ledger.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
struct RestoredDocument {
    /// Side chats.
    chats: usize,
    /// Folds.
    folds: usize,
    /// Cites.
    cites: usize,
    /// Withdrawals.
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
    /// The document of what was found, and of what was put into the ledger before, or of a dry run would be.
    pub fn new(diagnosis: &Diagnosis, restored: Option<Restored>, is_dry_run: bool) -> DoctorDocument {
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
            dry_run: is_dry_run.then_some(true),
        }
    }
}

impl Document for DoctorDocument {
    const SCHEMA: &'static str = "dshkit/sidechat.doctor/1";

    fn is_dry_run(&self) -> bool {
        self.dry_run.is_some()
    }

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
