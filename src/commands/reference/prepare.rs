//! `reference prepare`: a message, and the sessions it mentions as a bounded, untrusted context.

use crate::commands::{Context, select};
use crate::corpus::Selector;
use crate::error::{Code, Failure};
use crate::model::js_string::{JsStr, JsString};
use crate::output::documents::prepare::{PrepareDocument, omission_note};
use crate::reference::prepare::{Contract, DEFAULT_MAX_BYTES, MAX_REFERENCES, Request, prepare};
use clap::{Args, ValueEnum};
use std::io::{self, Read};

/// The arguments.
#[derive(Debug, Args)]
#[command(before_long_help = "Examples:
  dshkit reference prepare --reference latest='the mail queue' 'What did we decide?'
  dshkit reference prepare --reference latest --max-bytes 20000 < message.md > prompt.md")]
pub struct PrepareArgs {
    /// The message; none without --reference, or `-`: standard input
    #[arg(value_name = "TEXT", allow_hyphen_values = true)]
    text: Option<String>,
    /// The conversation the message goes into, which it may not refer to; it need not be stored
    #[arg(long, value_name = "ID", allow_hyphen_values = true)]
    target: Option<String>,
    /// A session to refer to beside those the text mentions, and its label
    #[arg(long = "reference", value_name = "SESSION[=LABEL]", allow_hyphen_values = true)]
    references: Vec<String>,
    /// How many sessions may be referred to, at most 3
    #[arg(long, value_name = "N", default_value_t = MAX_REFERENCES as i64, allow_hyphen_values = true)]
    max_references: i64,
    /// How many bytes each session may take, serialised
    #[arg(long, value_name = "N", default_value_t = DEFAULT_MAX_BYTES as i64, allow_hyphen_values = true)]
    max_bytes: i64,
    /// The contract of an older dsh
    #[arg(long, value_name = "DSH", value_enum)]
    compat: Option<Compat>,
}

/// Older contracts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Compat {
    /// dsh 0.1.0 to 0.1.2
    #[value(name = "dsh-0.1")]
    Dsh01,
}

pub(super) fn run(args: &PrepareArgs, context: &mut Context) -> anyhow::Result<u8> {
    let text = match args.text.as_deref() {
        Some("-") => read_stdin()?,
        None if args.references.is_empty() => read_stdin()?,
        None => String::new(),
        Some(text) => text.to_owned(),
    };
    let (corpus, catalog) = context.catalog()?;
    let request = Request {
        text: JsString::from(text),
        target: args.target.as_deref().map(target).transpose()?,
        references: args.references.iter().map(|reference| parse_reference(reference)).collect::<Result<_, _>>()?,
        max_references: limit("max-references", args.max_references)?,
        max_bytes: limit("max-bytes", args.max_bytes)?,
        contract: if args.compat == Some(Compat::Dsh01) { Contract::Dsh01 } else { Contract::Newest },
    };
    let prepared = prepare(&corpus, &catalog, &request)?;
    for source in prepared.context.iter().flat_map(|context| &context.sources) {
        if let Some(note) = omission_note(source) {
            context.output.warn(&note);
        }
    }
    context.output.document(&PrepareDocument::of(&prepared))?;
    Ok(0)
}

fn limit<N: TryFrom<i64>>(name: &str, value: i64) -> Result<N, Failure> {
    let message = || format!("--{name} must be a whole number from 1 on, got {value}");
    N::try_from(value).map_err(|_| Failure::new(Code::InvalidReferenceConfig, message()))
}

fn read_stdin() -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    io::stdin().lock().read_to_end(&mut bytes)?;
    let mut text = String::from_utf8_lossy(&bytes).into_owned();
    // The line feed that ends a file is not part of the message.
    if text.ends_with('\n') {
        text.pop();
    }
    Ok(text)
}

/// The target is an id as it stands, or an identifier that names one.
fn target(text: &str) -> Result<JsString, Failure> {
    match select::parse(text)? {
        Selector::Exactly(id) => Ok(id),
        _ => Ok(JsStr::from(text).into_owned()),
    }
}

fn parse_reference(text: &str) -> Result<(Selector, Option<JsString>), Failure> {
    let (selector, label) = match text.split_once('=') {
        Some((selector, label)) if !text.starts_with("@[") => (selector, Some(JsString::from(label.to_owned()))),
        _ => (text, None),
    };
    Ok((select::parse(selector)?, label))
}
