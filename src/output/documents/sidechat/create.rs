//! `dshkit/sidechat.create/1`

use super::chat::{ChatDocument, OpenDocument};
use super::print_lines;
use crate::output::terminal_text::{visible, visible_js};
use crate::output::{Document, TextOut};
use crate::sidechat::chat::Chat;
use crate::sidechat::create::Draft;
use schemars::JsonSchema;
use serde::Serialize;
use std::io;

/// What no log can make a dsh heed.
const NOT_ENFORCED: [&str; 3] = ["model", "agentPreset", "toolAllowlist"];

/// A new side chat.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CreateDocument {
    /// The side chat.
    chat: ChatDocument,
    /// How to open it in dsh; `null` if it was not made.
    resume: Option<OpenDocument>,
    /// The text of its first message; `null` of a dry run if a model has yet to write a part of it.
    message: Option<String>,
    /// What no log makes a dsh heed.
    not_enforced: [&'static str; 3],
    /// Whether nothing was changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    dry_run: Option<bool>,
}

impl CreateDocument {
    /// The document of a side chat that was made.
    pub fn of(chat: &Chat, message: &str) -> CreateDocument {
        CreateDocument {
            chat: ChatDocument::from(chat),
            resume: Some(OpenDocument::of(&chat.child)),
            message: Some(message.to_owned()),
            not_enforced: NOT_ENFORCED,
            dry_run: None,
        }
    }

    /// The document of one that would be.
    pub fn trial(draft: &Draft) -> CreateDocument {
        let message = draft.call().is_none().then(|| draft.text.clone());
        CreateDocument { resume: None, message, dry_run: Some(true), ..CreateDocument::of(&draft.chat, &draft.text) }
    }
}

impl Document for CreateDocument {
    const SCHEMA: &'static str = "dshkit/sidechat.create/1";

    fn is_dry_run(&self) -> bool {
        self.dry_run.is_some()
    }

    fn text(&self, text: &mut TextOut<'_>) -> io::Result<()> {
        text.line(&visible_js(&self.chat.title.0))?;
        match &self.resume {
            Some(resume) => {
                resume.text(text)?;
                text.line(&format!(
                    "seed     {}, messages: {}",
                    visible(&self.chat.seed.mode),
                    self.chat.seed.messages.len()
                ))?;
                text.line("The log sets sandbox and approvals. Model, agent preset and tools are dsh's to choose.")
            }
            None => {
                text.line("")?;
                match &self.message {
                    Some(message) => print_lines(text, message),
                    None => text.line("A model is asked for a part of the first message; --preview shows for what."),
                }
            }
        }
    }
}
