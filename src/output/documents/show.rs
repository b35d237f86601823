//! `dshkit/sessions.show/1`

use super::problem::ProblemDocument;
use super::session::SessionDocument;
use crate::model::js_string::JsString;
use crate::model::surface::Placement;
use crate::output::json::Js;
use crate::output::terminal_text::{visible_js, visible_lines};
use crate::output::{Document, RecordOut, Style, TextOut};
use crate::projections::heading::Heading;
use schemars::JsonSchema;
use serde::Serialize;
use std::io;

/// What was said in a session.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ShowDocument {
    /// The session.
    pub session: SessionDocument,
    /// The seq of the last event that was seen, closers included; `null` for an empty log.
    pub captured_through_seq: Option<u64>,
    /// The messages, in the order of the view.
    pub messages: Vec<MessageDocument>,
    /// What is wrong with the log although it could be read.
    pub warnings: Vec<ProblemDocument>,
    /// What stands over the conversation, for people.
    #[serde(skip)]
    pub heading: Heading,
}

/// A message.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MessageDocument {
    /// The event's seq.
    pub seq: u64,
    /// When, in milliseconds since the epoch.
    pub time: i64,
    /// The turn it belongs to; `null` outside any.
    pub turn: Option<u64>,
    /// `user`, `assistant`, `tool`, `system` or `developer`.
    pub role: &'static str,
    /// Where it comes from: `user`, `checkpoint`, `model`, `tool`, or the source that injected it.
    pub kind: Js,
    /// The message's id, by which it is picked for a side chat, quoted and pointed to; `null` if it has none.
    pub message_id: Option<Js>,
    /// `current` or `shadowed`.
    pub surface: &'static str,
    /// The text blocks, joined by line feeds.
    pub text: Js,
    /// The tool calls an answer makes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCallDocument>,
    /// The call a tool's result answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<Js>,
    /// Whether an answer was broken off.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
    /// Whether it is not in the log but was added on reading.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub synthetic: bool,
}

/// A call of a tool.
#[derive(JsonSchema, Serialize)]
pub struct ToolCallDocument {
    /// The call's id.
    pub id: Js,
    /// The tool.
    pub name: Js,
    /// The arguments as the model wrote them.
    pub arguments: Js,
}

impl Document for ShowDocument {
    const SCHEMA: &'static str = "dshkit/sessions.show/1";

    fn text(&self, text: &mut TextOut<'_>) -> io::Result<()> {
        write_heading(&self.heading, text)?;
        for message in &self.messages {
            text.line("")?;
            write_message(message, text)?;
        }
        Ok(())
    }

    fn records(&self, records: &mut RecordOut<'_>) -> io::Result<()> {
        self.messages.iter().try_for_each(|message| records.write(message))
    }
}

fn write_heading(heading: &Heading, text: &mut TextOut<'_>) -> io::Result<()> {
    let title = heading.title.as_ref().map_or_else(|| "without a title".to_owned(), |title| visible_js(title));
    let title = text.styled(Style::Bold, &title);
    text.line(&title)?;
    let mut facts = Vec::new();
    if let Some((provider, model)) = &heading.model {
        facts.push(format!("{}/{}", visible_js(provider), visible_js(model)));
    }
    facts.push(if heading.turns == 1 { "1 turn".to_owned() } else { format!("{} turns", heading.turns) });
    if let Some((read, written)) = heading.tokens {
        facts.push(format!("{read} tokens in, {written} out"));
    }
    if let Some((pressure, window)) = heading.pressure.filter(|(_, window)| *window > 0) {
        let percent = pressure.saturating_mul(100).div_ceil(window);
        let bar = if text.is_terminal { bar(percent) } else { String::new() };
        facts.push(format!("{bar}{percent}% of {window} tokens of context"));
    }
    let facts = text.styled(Style::Dim, &facts.join(", "));
    text.line(&facts)
}

/// How full something is, as a bar with a space behind it.
fn bar(percent: u64) -> String {
    const CELLS: usize = 10;
    // Something is never shown as nothing.
    let full = (percent as usize).div_ceil(100 / CELLS).min(CELLS);
    format!("[{}{}] ", "#".repeat(full), "-".repeat(CELLS - full))
}

fn write_message(message: &MessageDocument, text: &mut TextOut<'_>) -> io::Result<()> {
    let style = if message.role == "user" { Style::Cyan } else { Style::Bold };
    let mut heading = text.styled(style, message.role);
    if message.kind.0 != message.role && message.kind.0 != "model" {
        heading.push_str(&format!(" ({})", visible_js(&message.kind.0)));
    }
    let mut facts = format!("  seq {}  {}", message.seq, super::list::time(message.time));
    if let Some(turn) = message.turn {
        facts.push_str(&format!("  turn {turn}"));
    }
    if message.surface == Placement::Shadowed.name() {
        facts.push_str("  shadowed");
    }
    for (is_so, word) in [(message.interrupted, "  interrupted"), (message.synthetic, "  synthetic")] {
        if is_so {
            facts.push_str(word);
        }
    }
    heading.push_str(&text.styled(Style::Dim, &facts));
    text.line(&heading)?;
    if !message.text.0.is_empty() {
        text.line(&visible_lines(&message.text.0))?;
    }
    for call in &message.tool_calls {
        let line = format!("→ {} {}", visible_js(&call.name.0), visible_js(&call.arguments.0));
        let line = text.styled(Style::Dim, &line);
        text.line(&line)?;
    }
    Ok(())
}

/// The last answer alone, as a headless dsh prints it.
pub fn last_answer(messages: &[MessageDocument]) -> Option<&JsString> {
    messages
        .iter()
        .rev()
        .find(|message| message.role == "assistant" && !message.text.0.is_empty())
        .map(|message| &message.text.0)
}
