//! `uri encode | decode | mention | parse`: filters over session identifiers.

use super::Context;
use crate::error::{Code, Failure};
use crate::model::js_string::{JsStr, JsString};
use crate::model::json::{parse as parse_json, string_literal};
use crate::model::{mention, uri};
use crate::output::Format;
use crate::output::documents::uri::{
    DecodeDocument, Decoded, EncodeDocument, Encoded, MentionDocument, Mentioned, ParseDocument,
};
use crate::output::json::Js;
use clap::{Args, Subcommand};
use std::io::{self, BufRead, Read};

/// What to do with identifiers.
#[derive(Debug, Subcommand)]
pub enum UriCommand {
    /// The identifier of each session id
    #[command(before_long_help = "Examples:
  dshkit uri encode session-1 'ideas/gift wrap'
  dshkit sessions list --jsonl | jq .sessionId | dshkit uri encode --json-strings")]
    Encode(ItemArgs),
    /// The session id in each identifier
    #[command(before_long_help = "Examples:
  dshkit uri decode dsh-session:ImEi")]
    Decode(ItemArgs),
    /// The Markdown mention of each session id
    Mention(MentionArgs),
    /// The mentions in a text
    Parse(ParseArgs),
}

/// Items from the command line, or from standard input, one a line.
#[derive(Debug, Args)]
pub struct ItemArgs {
    /// The items, after `--` where one begins with a dash; none, or `-`: the lines of standard input
    #[arg(value_name = "ITEM")]
    items: Vec<String>,
    /// Items read and printed end with NUL and not with a line feed
    #[arg(short = '0', long)]
    null: bool,
    /// Session ids are JSON strings, which can hold what no line can
    #[arg(long)]
    json_strings: bool,
}

/// The arguments of `uri mention`.
#[derive(Debug, Args)]
#[command(before_long_help = "Examples:
  dshkit uri mention --label 'the mail queue' session-1")]
pub struct MentionArgs {
    #[command(flatten)]
    items: ItemArgs,
    /// The label [default: the id]
    #[arg(long, value_name = "TEXT")]
    label: Option<String>,
}

/// The arguments of `uri parse`.
#[derive(Debug, Args)]
#[command(before_long_help = "Examples:
  dshkit uri parse < message.md
  dshkit uri parse 'As in @[b](dsh-session:ImEi)' --json")]
pub struct ParseArgs {
    /// The text; none, or `-`: standard input
    #[arg(value_name = "TEXT", allow_hyphen_values = true)]
    text: Option<String>,
    /// The text is a JSON string
    #[arg(long)]
    json_strings: bool,
}

pub(super) fn run(command: UriCommand, context: &mut Context) -> anyhow::Result<u8> {
    match command {
        UriCommand::Encode(args) => encode(&args, context),
        UriCommand::Decode(args) => decode(&args, context),
        UriCommand::Mention(args) => mention(&args, context),
        UriCommand::Parse(args) => parse(&args, context),
    }?;
    Ok(0)
}

fn encode(args: &ItemArgs, context: &mut Context) -> anyhow::Result<()> {
    let ids = args.read(args.json_strings)?;
    let document = EncodeDocument { uris: ids.iter().map(Encoded::of).collect() };
    let lines = ids.iter().map(|id| JsString::from(uri::encode(id)));
    print(context, args, &document, lines.collect(), false)
}

fn decode(args: &ItemArgs, context: &mut Context) -> anyhow::Result<()> {
    let uris = args.read(false)?;
    let ids: Vec<JsString> = uris.iter().map(decode_one).collect::<Result<_, _>>()?;
    let document = DecodeDocument { sessions: uris.iter().zip(&ids).map(|(uri, id)| Decoded::of(uri, id)).collect() };
    print(context, args, &document, ids, args.json_strings)
}

fn decode_one(text: &JsString) -> Result<JsString, Failure> {
    uri::decode(text).map_err(|error| Failure::new(Code::InvalidReference, error.to_string()))
}

fn mention(args: &MentionArgs, context: &mut Context) -> anyhow::Result<()> {
    let ids = args.items.read(args.items.json_strings)?;
    let label = args.label.as_deref().map(JsStr::from);
    let mentions: Vec<JsString> = ids.iter().map(|id| mention::format(id, label.as_ref().unwrap_or(id))).collect();
    let mentioned = ids.iter().zip(&mentions).map(|(id, mention)| Mentioned {
        session_id: Js::from(id),
        label: label.as_ref().map_or_else(|| Js::from(id), |label| Js::from(label.borrowed())),
        mention: Js::from(mention),
    });
    let document = MentionDocument { mentions: mentioned.collect() };
    print(context, &args.items, &document, mentions, false)
}

fn parse(args: &ParseArgs, context: &mut Context) -> anyhow::Result<()> {
    let text = match args.text.as_deref() {
        None | Some("-") => {
            let mut bytes = Vec::new();
            io::stdin().lock().read_to_end(&mut bytes)?;
            String::from_utf8_lossy(&bytes).into_owned()
        }
        Some(text) => text.to_owned(),
    };
    let text = if args.json_strings { json_string(text.trim_end_matches('\n'))? } else { JsString::from(text) };
    let (readable, mentions) =
        mention::parse(&text).map_err(|error| Failure::new(Code::InvalidReference, error.to_string()))?;
    let document = ParseDocument::of(&readable, &mentions);
    let format = context.output.filter_format();
    if format == Format::Text && !context.output.is_terminal() {
        let mut out = readable.to_string_lossy().into_owned();
        if !out.ends_with('\n') {
            out.push('\n');
        }
        for mention in &mentions {
            out.push_str(&uri::encode(&mention.session_id));
            out.push('\n');
        }
        return Ok(context.output.raw(out.as_bytes())?);
    }
    Ok(context.output.document_as(format, &document)?)
}

/// Prints results as lines, or as the document where JSON was asked for.
fn print<D: crate::output::Document>(
    context: &mut Context,
    args: &ItemArgs,
    document: &D,
    lines: Vec<JsString>,
    as_json_strings: bool,
) -> anyhow::Result<()> {
    let format = context.output.filter_format();
    if format != Format::Text || context.output.is_terminal() && !as_json_strings && !args.null {
        return Ok(context.output.document_as(format, document)?);
    }
    let end = if args.null { b'\0' } else { b'\n' };
    let mut out = Vec::new();
    for line in lines {
        if as_json_strings {
            out.extend_from_slice(string_literal(&line).as_bytes());
        } else {
            // A line is text, and so cannot hold an unpaired surrogate, nor its own end mark.
            let text = line.to_str().filter(|text| !text.as_bytes().contains(&end)).ok_or_else(|| {
                Failure::new(Code::Usage, format!("the id {line:?} cannot be printed as a line"))
                    .hint("--json-strings prints every id as a JSON string, --json a document")
            })?;
            out.extend_from_slice(text.as_bytes());
        }
        out.push(end);
    }
    Ok(context.output.raw(&out)?)
}

impl ItemArgs {
    fn read(&self, as_json_strings: bool) -> anyhow::Result<Vec<JsString>> {
        let from_stdin = self.items.is_empty() || self.items == ["-"];
        let texts = if from_stdin { self.read_stdin()? } else { self.items.clone() };
        let read = |text: String| if as_json_strings { json_string(&text) } else { Ok(JsString::from(text)) };
        Ok(texts.into_iter().map(read).collect::<Result<_, _>>()?)
    }

    fn read_stdin(&self) -> anyhow::Result<Vec<String>> {
        let end = if self.null { b'\0' } else { b'\n' };
        let mut texts = Vec::new();
        for item in io::stdin().lock().split(end) {
            let item =
                String::from_utf8(item?).map_err(|_| Failure::new(Code::Usage, "standard input is not UTF-8"))?;
            texts.push(item);
        }
        Ok(texts)
    }
}

fn json_string(text: &str) -> Result<JsString, Failure> {
    let view = parse_json(text)
        .map_err(|error| Failure::new(Code::Usage, format!("{text:?} is not a JSON string: {error}")))?;
    let string = view.string().map(JsStr::into_owned);
    string.ok_or_else(|| Failure::new(Code::Usage, format!("{text:?} is JSON and not a string")))
}
