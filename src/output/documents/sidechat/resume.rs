//! `dshkit/sidechat.resume/1`

use super::chat::OpenDocument;
use crate::output::json::Js;
use crate::output::{Document, TextOut};
use crate::sidechat::listing::Listed;
use schemars::JsonSchema;
use serde::Serialize;
use std::io;

/// `{sessionId, uri, cwd, command, path, title, status}`.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ResumeDocument {
    #[serde(flatten)]
    open: OpenDocument,
    path: Option<String>,
    title: Js,
    status: &'static str,
}

impl ResumeDocument {
    /// The document of a side chat.
    pub fn new(listed: &Listed) -> ResumeDocument {
        ResumeDocument {
            open: OpenDocument::of(&listed.chat.child),
            path: listed.path.clone(),
            title: Js(listed.title()),
            status: listed.status(),
        }
    }
}

impl Document for ResumeDocument {
    const SCHEMA: &'static str = "dshkit/sidechat.resume/1";

    fn text(&self, text: &mut TextOut<'_>) -> io::Result<()> {
        self.open.text(text)
    }
}
