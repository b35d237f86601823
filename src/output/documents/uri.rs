//! `dshkit/uri.encode/1`, `dshkit/uri.decode/1`, `dshkit/uri.mention/1`, `dshkit/uri.parse/1`

use crate::model::js_string::JsString;
use crate::model::mention::Mention;
use crate::model::uri;
use crate::output::json::Js;
use crate::output::{Document, RecordOut, TextOut};
use serde::Serialize;
use std::io;

/// A session and its identifier.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Encoded {
    session_id: Js,
    uri: String,
}

impl Encoded {
    /// The identifier of a session.
    pub fn of(session_id: &JsString) -> Encoded {
        Encoded { session_id: Js::from(session_id), uri: uri::encode(session_id) }
    }
}

/// `{uris:[{sessionId, uri}]}`
#[derive(Serialize)]
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
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Decoded {
    uri: Js,
    session_id: Js,
}

impl Decoded {
    /// What an identifier names.
    pub fn of(uri: &JsString, session_id: &JsString) -> Decoded {
        Decoded { uri: Js::from(uri), session_id: Js::from(session_id) }
    }
}

/// `{sessions:[{uri, sessionId}]}`
#[derive(Serialize)]
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
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Mentioned {
    /// The session.
    pub session_id: Js,
    /// The label.
    pub label: Js,
    /// The Markdown.
    pub mention: Js,
}

/// `{mentions:[{sessionId, label, mention}]}`
#[derive(Serialize)]
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

/// `{text, references:[{sessionId, label, uri}]}`
#[derive(Serialize)]
pub struct ParseDocument {
    text: Js,
    references: Vec<ParsedReference>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ParsedReference {
    session_id: Js,
    label: Js,
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
