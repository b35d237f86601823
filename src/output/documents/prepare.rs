//! `dshkit/reference.prepare/1`

use crate::model::js_string::{JsStr, JsString};
use crate::output::json::Js;
use crate::output::terminal_text::{visible, visible_lines};
use crate::output::{Document, TextOut};
use crate::reference::omission::{FullSnapshot, RETRIEVAL_HINT};
use crate::reference::prepare::{Context, Contract, Source};
use crate::stores::spool::Spool;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, Serializer};
use std::borrow::Cow;
use std::cell::RefCell;
use std::fmt;
use std::io;

/// A message and its background.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PrepareDocument<'p> {
    /// The message, with its mentions as readable text.
    content: [MessageBlock<'p>; 1],
    /// The background, if anything is referred to.
    #[serde(skip_serializing_if = "Option::is_none")]
    additional_context: Option<ContextMessage>,
    /// How each source fitted its budget.
    report: Vec<ReportEntry>,
}

/// The message, which may be too long to be held.
#[derive(JsonSchema, Serialize)]
struct MessageBlock<'p> {
    /// Always `text`.
    #[serde(rename = "type")]
    kind: &'static str,
    /// The text.
    text: SpooledText<'p>,
}

/// A text as one JSON string, written piece by piece.
struct SpooledText<'p> {
    spool: &'p Spool,
    /// What reading it said. The serializer has no place for an error of a text, so it is kept here.
    error: RefCell<Option<io::Error>>,
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
    /// Where the whole of it was saved, or why it was not, if a part was left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    full_snapshot: Option<FullSnapshotDocument>,
}

/// What became of the whole of a source of which a part was left out.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase", tag = "status")]
enum FullSnapshotDocument {
    /// It was saved.
    #[serde(rename_all = "camelCase")]
    Saved {
        /// The file it was saved to.
        locator: String,
        /// How many bytes it has.
        bytes: u64,
        /// How to get it back.
        retrieval_hint: &'static str,
    },
    /// It was not.
    Unavailable {
        /// Why: `storage-not-configured` or `save-failed`.
        reason: &'static str,
    },
}

impl PrepareDocument<'_> {
    /// The document of a prepared message.
    pub fn of<'p>(text: &'p Spool, context: Option<&Context>) -> PrepareDocument<'p> {
        let report_of =
            |context: &Context| context.sources.iter().map(|source| report(source, context.contract)).collect();
        PrepareDocument {
            content: [MessageBlock { kind: "text", text: SpooledText { spool: text, error: RefCell::default() } }],
            additional_context: context.map(context_message),
            report: context.map(report_of).unwrap_or_default(),
        }
    }

    /// Whether all of the message was printed.
    ///
    /// # Errors
    /// The file it was held in could not be read.
    pub fn check(&self) -> io::Result<()> {
        self.content[0].text.error.take().map_or(Ok(()), Err)
    }
}

impl JsonSchema for SpooledText<'_> {
    fn schema_name() -> Cow<'static, str> {
        "SpooledText".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        String::json_schema(generator)
    }
}

impl Serialize for SpooledText<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if !self.spool.has_lone_surrogate() {
            return serializer.collect_str(self);
        }
        let mut text = JsString::default();
        let read = self.spool.pieces(&mut |piece| {
            text.push_js(piece);
            Ok(())
        });
        self.keep(read);
        Js(text).serialize(serializer)
    }
}

impl fmt::Display for SpooledText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut written = Ok(());
        let read = self.spool.pieces(&mut |piece| {
            written = f.write_str(&piece.to_string_lossy());
            // The writer knows better what went wrong.
            written.map_err(|_| io::Error::other("the text could not be written"))
        });
        if written.is_ok() {
            self.keep(read);
        }
        written
    }
}

impl SpooledText<'_> {
    fn keep(&self, read: io::Result<()>) {
        if let Err(error) = read {
            self.error.replace(Some(error));
        }
    }
}

fn block(text: &JsString) -> TextBlock {
    TextBlock { kind: "text", text: Js::from(text) }
}

fn context_message(context: &Context) -> ContextMessage {
    let reference = |(index, source): (usize, &Source)| ReferenceRecord {
        session_id: Js::from(&source.session_id),
        label: Js::from(&source.label),
        captured_format_version: source.captured_format_version.filter(|_| context.contract == Contract::Newest),
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

fn report(source: &Source, contract: Contract) -> ReportEntry {
    let is_told = source.retained.is_truncated() && contract == Contract::Newest;
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
        full_snapshot: is_told.then(|| FullSnapshotDocument::of(&source.full_snapshot)),
    }
}

impl FullSnapshotDocument {
    fn of(full: &FullSnapshot) -> FullSnapshotDocument {
        match full {
            FullSnapshot::Saved { locator, bytes } => {
                FullSnapshotDocument::Saved { locator: locator.clone(), bytes: *bytes, retrieval_hint: RETRIEVAL_HINT }
            }
            FullSnapshot::Unavailable(reason) => FullSnapshotDocument::Unavailable { reason: reason.name() },
        }
    }
}

impl Document for PrepareDocument<'_> {
    const SCHEMA: &'static str = "dshkit/reference.prepare/1";

    /// The text an agent's prompt takes: the message, a blank line, the context.
    fn text(&self, text: &mut TextOut<'_>) -> io::Result<()> {
        let is_terminal = text.is_terminal;
        let mut write = |piece: &JsStr<'_>| {
            if is_terminal {
                text.raw(visible_lines(piece).as_bytes())
            } else {
                text.raw(piece.to_string_lossy().as_bytes())
            }
        };
        self.content[0].text.spool.pieces(&mut write)?;
        for block in self.additional_context.iter().flat_map(|context| &context.content) {
            write(&JsStr::from("\n\n"))?;
            write(&block.text.0)?;
        }
        write(&JsStr::from("\n"))
    }
}

/// What was left out of a source, in one line.
pub fn omission_note(source: &Source) -> Option<String> {
    let retained = &source.retained;
    retained.is_truncated().then(|| {
        let id = visible(&source.session_id.to_string_lossy()).into_owned();
        let saved = match &source.full_snapshot {
            FullSnapshot::Saved { locator, .. } => format!("; all of it is in {}", visible(locator)),
            FullSnapshot::Unavailable(_) => String::new(),
        };
        format!(
            "{id}: {} of {} messages and {} bytes of text were left out to fit {} bytes{saved}",
            retained.omitted_messages, retained.original_messages, retained.omitted_bytes, source.max_bytes
        )
    })
}
