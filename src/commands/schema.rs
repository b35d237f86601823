//! `schema`: the JSON Schema of a document.

use super::Context;
use crate::error::{Code, Failure};
use crate::output::Format;
use crate::output::documents::schema::SchemaListDocument;
use crate::output::schema::{ALL, Entry};
use clap::Args;
use clap::builder::PossibleValuesParser;

/// The arguments.
#[derive(Debug, Args)]
#[command(before_long_help = "Examples:
  dshkit schema
  dshkit schema sessions.list > sessions.list.schema.json")]
pub struct SchemaArgs {
    /// The document; none: which there are
    #[arg(value_name = "DOCUMENT", value_parser = PossibleValuesParser::new(ALL.map(|entry| entry.name())))]
    document: Option<String>,
}

pub(super) fn run(args: &SchemaArgs, context: &mut Context) -> anyhow::Result<u8> {
    let Some(name) = &args.document else {
        context.output.document(&SchemaListDocument::of(&ALL))?;
        return Ok(0);
    };
    let entry =
        Entry::named(name).ok_or_else(|| Failure::new(Code::Usage, format!("no document is named {name:?}")))?;
    let schema = entry.json();
    let mut text = match context.output.format() {
        Format::Text => serde_json::to_string_pretty(&schema)?,
        Format::Json | Format::Jsonl => serde_json::to_string(&schema)?,
    };
    text.push('\n');
    context.output.raw(text.as_bytes())?;
    Ok(0)
}
