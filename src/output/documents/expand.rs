//! `dshkit/reference.expand/1`

use crate::output::json::Js;
use crate::output::terminal_text::{visible_js, visible_lines};
use crate::output::{Document, RecordOut, Style, TextOut};
use crate::reference::transcript::Transcript;
use schemars::JsonSchema;
use serde::Serialize;
use std::io;

/// The whole text of a session that was saved.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ExpandDocument {
    /// The session's id.
    session_id: Js,
    /// The label.
    label: Js,
    /// The working directory; `null` if none is known.
    cwd: Option<Js>,
    /// The last event that was seen; `null` for an empty log.
    captured_through_seq: Option<u64>,
    /// The format generation of the log.
    #[serde(skip_serializing_if = "Option::is_none")]
    captured_format_version: Option<u64>,
    /// All its messages.
    messages: Vec<MessageDocument>,
}

/// A message.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "ExpandedMessage")]
struct MessageDocument {
    /// Whose words they are.
    role: &'static str,
    /// The text.
    text: Js,
}

impl ExpandDocument {
    /// The document of a transcript.
    pub fn of(transcript: &Transcript) -> ExpandDocument {
        let messages = transcript.messages.iter();
        ExpandDocument {
            session_id: Js::from(&transcript.session_id),
            label: Js::from(&transcript.label),
            cwd: transcript.cwd.as_ref().map(Js::from),
            captured_through_seq: transcript.captured_through_seq,
            captured_format_version: transcript.captured_format_version,
            messages: messages
                .map(|(role, text)| MessageDocument { role: role.name(), text: Js::from(text) })
                .collect(),
        }
    }
}

impl Document for ExpandDocument {
    const SCHEMA: &'static str = "dshkit/reference.expand/1";

    fn text(&self, text: &mut TextOut<'_>) -> io::Result<()> {
        let mut heading = visible_js(&self.session_id.0);
        if self.label.0 != self.session_id.0 {
            heading.push_str(&format!(" ({})", visible_js(&self.label.0)));
        }
        if let Some(seq) = self.captured_through_seq {
            heading.push_str(&format!(", as of seq {seq}"));
        }
        text.line(&heading)?;
        for message in &self.messages {
            let style = if message.role == "user" { Style::Cyan } else { Style::Bold };
            let role = text.styled(style, message.role);
            text.line(&format!("\n{role}\n{}", visible_lines(&message.text.0)))?;
        }
        Ok(())
    }

    fn records(&self, records: &mut RecordOut<'_>) -> io::Result<()> {
        self.messages.iter().try_for_each(|message| records.write(message))
    }
}
