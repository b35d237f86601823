//! `dshkit/sidechat.resume/1`

use super::chat::OpenDocument;
use crate::output::json::Js;
use crate::output::{Document, TextOut};
use crate::sidechat::listing::Listed;
use schemars::JsonSchema;
use serde::Serialize;
use std::io;

/// How to open a side chat in dsh.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ResumeDocument {
    #[serde(flatten)]
    open: OpenDocument,
    /// Where its log lies.
    path: Option<String>,
    /// Its title.
    title: Js,
    /// `open`, `archived`, `abandoned`, or `orphaned` if its parent is gone.
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
