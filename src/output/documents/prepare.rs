//! `dshkit/reference.prepare/1`

use crate::model::js_string::{JsStr, JsString};
use crate::output::json::Js;
use crate::output::terminal_text::{visible, visible_lines};
use crate::output::{Document, TextOut};
use crate::reference::omission::{FullSnapshot, RETRIEVAL_HINT};
use crate::reference::prepare::{Context, Contract, Source};
use crate::stores::spool::Spool;
use serde::{Serialize, Serializer};
use std::cell::RefCell;
use std::fmt;
use std::io;

/// `{content, additionalContext?, report}`
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PrepareDocument<'p> {
    content: [MessageBlock<'p>; 1],
    #[serde(skip_serializing_if = "Option::is_none")]
    additional_context: Option<ContextMessage>,
    report: Vec<ReportEntry>,
}

/// The message, which may be too long to be held.
#[derive(Serialize)]
struct MessageBlock<'p> {
    #[serde(rename = "type")]
    kind: &'static str,
    text: SpooledText<'p>,
}

/// A text as one JSON string, written piece by piece.
struct SpooledText<'p> {
    spool: &'p Spool,
    /// What reading it said. The serializer has no place for an error of a text, so it is kept here.
    error: RefCell<Option<io::Error>>,
}

#[derive(Serialize)]
struct TextBlock {
    #[serde(rename = "type")]
    kind: &'static str,
    text: Js,
}

/// The context as a user message: `{role, content, source}`.
#[derive(Serialize)]
struct ContextMessage {
    role: &'static str,
    content: Vec<TextBlock>,
    source: SourceRecord,
}

/// dsh's record of where a context came from, its keys in dsh's order.
#[derive(Serialize)]
struct SourceRecord {
    kind: &'static str,
    form: &'static str,
    version: u8,
    references: Vec<ReferenceRecord>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ReferenceRecord {
    session_id: Js,
    label: Js,
    #[serde(skip_serializing_if = "Option::is_none")]
    captured_format_version: Option<u64>,
    captured_through_seq: Option<u64>,
    compacted: bool,
    original_messages: usize,
    retained_messages: usize,
    omitted_messages: usize,
    omitted_bytes: u64,
    truncated: bool,
    input_index: usize,
}

/// How a source fitted its budget.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ReportEntry {
    session_id: Js,
    label: Js,
    cwd: Option<Js>,
    bytes: u64,
    max_bytes: u64,
    original_messages: usize,
    retained_messages: usize,
    omitted_messages: usize,
    omitted_bytes: u64,
    truncated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    full_snapshot: Option<FullSnapshotDocument>,
}

/// What became of the whole of a source of which a part was left out: `{status, …}`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase", tag = "status")]
enum FullSnapshotDocument {
    /// `{locator, bytes, retrievalHint}`
    #[serde(rename_all = "camelCase")]
    Saved { locator: String, bytes: u64, retrieval_hint: &'static str },
    /// `{reason}`
    Unavailable { reason: &'static str },
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
