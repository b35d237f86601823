//! `dshkit/schema/1`

use crate::output::schema::Entry;
use crate::output::table::{self, Shrink};
use crate::output::{Document, RecordOut, TextOut};
use schemars::JsonSchema;
use serde::Serialize;
use std::io;

/// The documents that have a JSON Schema.
#[derive(JsonSchema, Serialize)]
pub struct SchemaListDocument {
    /// Every document.
    documents: Vec<SchemaName>,
}

/// A document that has a schema.
#[derive(JsonSchema, Serialize)]
struct SchemaName {
    /// By what `dshkit schema` knows it.
    name: &'static str,
    /// What stands in its `schema`; of errors, which have none, `error`.
    schema: &'static str,
    /// What it is.
    description: String,
}

impl SchemaListDocument {
    /// The document of these.
    pub fn of(entries: &[Entry]) -> SchemaListDocument {
        let name =
            |entry: &Entry| SchemaName { name: entry.name(), schema: entry.schema, description: entry.description() };
        SchemaListDocument { documents: entries.iter().map(name).collect() }
    }
}

impl Document for SchemaListDocument {
    const SCHEMA: &'static str = "dshkit/schema/1";

    fn text(&self, text: &mut TextOut<'_>) -> io::Result<()> {
        let row = |name: &SchemaName| vec![name.name.to_owned(), name.description.clone()];
        let rows: Vec<Vec<String>> = self.documents.iter().map(row).collect();
        table::print(text, &[("DOCUMENT", Shrink::No), ("WHAT IT IS", Shrink::Yes)], &rows)
    }

    fn records(&self, records: &mut RecordOut<'_>) -> io::Result<()> {
        self.documents.iter().try_for_each(|document| records.write(document))
    }
}
