//! `dshkit/sessions.event/1`

use super::events::EventRecord;
use super::session::SessionDocument;
use crate::output::{Document, RecordOut, TextOut};
use schemars::JsonSchema;
use serde::Serialize;
use std::io;

/// An event and its neighbours, itself among them.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EventDocument {
    /// The session.
    pub session: SessionDocument,
    /// The event asked for, in full.
    pub target: EventRecord,
    /// The window, in full.
    pub events: Vec<EventRecord>,
    /// The first seq of the window.
    pub start_seq: u64,
    /// The last seq of the window.
    pub end_seq: u64,
}

impl Document for EventDocument {
    const SCHEMA: &'static str = "dshkit/sessions.event/1";

    fn text(&self, text: &mut TextOut<'_>) -> io::Result<()> {
        self.events.iter().try_for_each(|event| text.line(&event.line()))
    }

    fn records(&self, records: &mut RecordOut<'_>) -> io::Result<()> {
        self.events.iter().try_for_each(|event| records.write(event))
    }
}
