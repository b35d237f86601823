//! `dshkit/reference.prepare/1`

use crate::model::js_string::JsString;
use crate::output::json::Js;
use crate::output::terminal_text::{visible, visible_lines};
use crate::output::{Document, TextOut};
use crate::reference::prepare::{Context, Prepared, Source};
use schemars::JsonSchema;
use serde::Serialize;
use std::io;

/// A message and its background.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PrepareDocument {
    /// The message, with its mentions as readable text.
    content: Vec<TextBlock>,
    /// The background, if anything is referred to.
    #[serde(skip_serializing_if = "Option::is_none")]
    additional_context: Option<ContextMessage>,
    /// How each source fitted its budget.
    report: Vec<ReportEntry>,
}

/// A block of text.
#[derive(JsonSchema, Serialize)]
struct TextBlock {
    /// Always `text`.
    #[serde(rename = "type")]
    kind: &'static str,
    /// The text.
    text: Js,
}

/// The background as a message.
#[derive(JsonSchema, Serialize)]
struct ContextMessage {
    /// Always `user`.
    role: &'static str,
    /// The blocks of text.
    content: Vec<TextBlock>,
    /// Where it comes from.
    source: SourceRecord,
}

/// dsh's record of where a context came from, its keys in dsh's order.
#[derive(JsonSchema, Serialize)]
struct SourceRecord {
    /// Always `session-reference`.
    kind: &'static str,
    /// Always `recall`.
    form: &'static str,
    /// The version of this record.
    version: u8,
    /// One for each session referred to.
    references: Vec<ReferenceRecord>,
}

/// A session that is referred to.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
struct ReferenceRecord {
    /// The session's id.
    session_id: Js,
    /// The label.
    label: Js,
    /// The format generation of the log.
    #[serde(skip_serializing_if = "Option::is_none")]
    captured_format_version: Option<u64>,
    /// The last event that was seen; `null` for an empty log.
    captured_through_seq: Option<u64>,
    /// Whether the session has a compaction.
    compacted: bool,
    /// How many messages there were.
    original_messages: usize,
    /// How many are kept.
    retained_messages: usize,
    /// How many are left out whole.
    omitted_messages: usize,
    /// How many bytes of text are left out.
    omitted_bytes: u64,
    /// Whether anything is left out.
    truncated: bool,
    /// Which of the references it is, from 0.
    input_index: usize,
}

/// How a source fitted its budget.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
struct ReportEntry {
    /// The session's id.
    session_id: Js,
    /// The label.
    label: Js,
    /// The working directory; `null` if none is known.
    cwd: Option<Js>,
    /// How many bytes it takes, serialised.
    bytes: u64,
    /// How many it may take.
    max_bytes: u64,
    /// How many messages there were.
    original_messages: usize,
    /// How many are kept.
    retained_messages: usize,
    /// How many are left out whole.
    omitted_messages: usize,
    /// How many bytes of text are left out.
    omitted_bytes: u64,
    /// Whether anything is left out.
    truncated: bool,
}

impl PrepareDocument {
    /// The document of a prepared message.
    pub fn of(prepared: &Prepared) -> PrepareDocument {
        let sources = prepared.context.as_ref().map_or(&[][..], |context| &context.sources);
        PrepareDocument {
            content: vec![block(&prepared.text)],
            additional_context: prepared.context.as_ref().map(context_message),
            report: sources.iter().map(report).collect(),
        }
    }

    /// The text an agent's prompt takes: the message, a blank line, the context.
    pub fn prompt(&self) -> JsString {
        let mut prompt = JsString::default();
        let blocks = self.content.iter().chain(self.additional_context.iter().flat_map(|context| &context.content));
        for (index, block) in blocks.enumerate() {
            if index > 0 {
                prompt.push_str("\n\n");
            }
            prompt.push_js(&block.text.0);
        }
        prompt.push_str("\n");
        prompt
    }
}

fn block(text: &JsString) -> TextBlock {
    TextBlock { kind: "text", text: Js::from(text) }
}

fn context_message(context: &Context) -> ContextMessage {
    let reference = |(index, source): (usize, &Source)| ReferenceRecord {
        session_id: Js::from(&source.session_id),
        label: Js::from(&source.label),
        captured_format_version: source.captured_format_version,
        captured_through_seq: source.captured_through_seq,
        compacted: source.retained.compacted,
        original_messages: source.retained.original_messages,
        retained_messages: source.retained.conversation.len(),
        omitted_messages: source.retained.omitted_messages,
        omitted_bytes: source.retained.omitted_bytes,
        truncated: source.retained.is_truncated(),
        input_index: index,
    };
    ContextMessage {
        role: "user",
        content: vec![block(&JsString::from(context.text.clone()))],
        source: SourceRecord {
            kind: "session-reference",
            form: "recall",
            version: 1,
            references: context.sources.iter().enumerate().map(reference).collect(),
        },
    }
}

fn report(source: &Source) -> ReportEntry {
    ReportEntry {
        session_id: Js::from(&source.session_id),
        label: Js::from(&source.label),
        cwd: source.cwd.as_ref().map(Js::from),
        bytes: source.retained.bytes,
        max_bytes: source.max_bytes,
        original_messages: source.retained.original_messages,
        retained_messages: source.retained.conversation.len(),
        omitted_messages: source.retained.omitted_messages,
        omitted_bytes: source.retained.omitted_bytes,
        truncated: source.retained.is_truncated(),
    }
}

impl Document for PrepareDocument {
    const SCHEMA: &'static str = "dshkit/reference.prepare/1";

    fn text(&self, text: &mut TextOut<'_>) -> io::Result<()> {
        let prompt = self.prompt();
        if text.is_terminal {
            text.raw(visible_lines(&prompt).as_bytes())
        } else {
            text.raw(prompt.to_string_lossy().as_bytes())
        }
    }
}

/// What was left out of a source, in one line.
pub fn omission_note(source: &Source) -> Option<String> {
    let retained = &source.retained;
    retained.is_truncated().then(|| {
        let id = visible(&source.session_id.to_string_lossy()).into_owned();
        format!(
            "{id}: {} of {} messages and {} bytes of text were left out to fit {} bytes",
            retained.omitted_messages, retained.original_messages, retained.omitted_bytes, source.max_bytes
        )
    })
}
