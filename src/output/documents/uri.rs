//! `dshkit/uri.encode/1`, `dshkit/uri.decode/1`, `dshkit/uri.mention/1`, `dshkit/uri.parse/1`

use crate::model::js_string::JsString;
use crate::model::mention::Mention;
use crate::model::uri;
use crate::output::json::Js;
use crate::output::{Document, RecordOut, TextOut};
use schemars::JsonSchema;
use serde::Serialize;
use std::io;

/// A session and its identifier.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Encoded {
    /// The session's id.
    session_id: Js,
    /// The `dsh-session:` identifier.
    uri: String,
}

impl Encoded {
    /// The identifier of a session.
    pub fn of(session_id: &JsString) -> Encoded {
        Encoded { session_id: Js::from(session_id), uri: uri::encode(session_id) }
    }
}

/// Session ids and their identifiers.
#[derive(JsonSchema, Serialize)]
pub struct EncodeDocument {
    /// In the order given.
    pub uris: Vec<Encoded>,
}

impl Document for EncodeDocument {
    const SCHEMA: &'static str = "dshkit/uri.encode/1";

    fn text(&self, text: &mut TextOut<'_>) -> io::Result<()> {
        self.uris.iter().try_for_each(|encoded| text.line(&encoded.uri))
    }

    fn records(&self, records: &mut RecordOut<'_>) -> io::Result<()> {
        self.uris.iter().try_for_each(|encoded| records.write(encoded))
    }
}

/// An identifier and its session.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Decoded {
    /// The `dsh-session:` identifier.
    uri: Js,
    /// The id in it.
    session_id: Js,
}

impl Decoded {
    /// What an identifier names.
    pub fn of(uri: &JsString, session_id: &JsString) -> Decoded {
        Decoded { uri: Js::from(uri), session_id: Js::from(session_id) }
    }
}

/// Identifiers and the session ids in them.
#[derive(JsonSchema, Serialize)]
pub struct DecodeDocument {
    /// In the order given.
    pub sessions: Vec<Decoded>,
}

impl Document for DecodeDocument {
    const SCHEMA: &'static str = "dshkit/uri.decode/1";

    fn text(&self, text: &mut TextOut<'_>) -> io::Result<()> {
        self.sessions
            .iter()
            .try_for_each(|decoded| text.line(&crate::output::terminal_text::visible_js(&decoded.session_id.0)))
    }

    fn records(&self, records: &mut RecordOut<'_>) -> io::Result<()> {
        self.sessions.iter().try_for_each(|decoded| records.write(decoded))
    }
}

/// A session's mention.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Mentioned {
    /// The session.
    pub session_id: Js,
    /// The label.
    pub label: Js,
    /// The Markdown.
    pub mention: Js,
}

/// Session ids and their mentions.
#[derive(JsonSchema, Serialize)]
pub struct MentionDocument {
    /// In the order given.
    pub mentions: Vec<Mentioned>,
}

impl Document for MentionDocument {
    const SCHEMA: &'static str = "dshkit/uri.mention/1";

    fn text(&self, text: &mut TextOut<'_>) -> io::Result<()> {
        self.mentions
            .iter()
            .try_for_each(|mentioned| text.line(&crate::output::terminal_text::visible_js(&mentioned.mention.0)))
    }

    fn records(&self, records: &mut RecordOut<'_>) -> io::Result<()> {
        self.mentions.iter().try_for_each(|mentioned| records.write(mentioned))
    }
}

/// A text and the sessions it mentions.
#[derive(JsonSchema, Serialize)]
pub struct ParseDocument {
    /// The text with its mentions as readable text.
    text: Js,
    /// Each session that is mentioned.
    references: Vec<ParsedReference>,
}

/// A session that is mentioned.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
struct ParsedReference {
    /// The session's id.
    session_id: Js,
    /// The label.
    label: Js,
    /// The `dsh-session:` identifier.
    uri: String,
}

impl ParseDocument {
    /// What a text mentions.
    pub fn of(text: &JsString, mentions: &[Mention]) -> ParseDocument {
        let reference = |mention: &Mention| ParsedReference {
            session_id: Js::from(&mention.session_id),
            label: Js::from(&mention.label),
            uri: uri::encode(&mention.session_id),
        };
        ParseDocument { text: Js::from(text), references: mentions.iter().map(reference).collect() }
    }
}

impl Document for ParseDocument {
    const SCHEMA: &'static str = "dshkit/uri.parse/1";

    fn text(&self, text: &mut TextOut<'_>) -> io::Result<()> {
        text.line(&crate::output::terminal_text::visible_lines(&self.text.0))?;
        self.references.iter().try_for_each(|reference| text.line(&reference.uri))
    }
}
