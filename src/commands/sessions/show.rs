//! `sessions show`: what was said in a session.

use crate::commands::Context;
use crate::commands::select::OneSession;
use crate::corpus::{Corpus, Record};
use crate::error::{Code, Failure};
use crate::generations::{Item, Mode};
use crate::model::event::{Event, SurfaceOp};
use crate::model::js_string::{JsStr, JsString};
use crate::model::json::View;
use crate::model::message::{is_compact_checkpoint, message_of, source_kind, text_of, tool_calls, tool_result_text};
use crate::model::problem::Problem;
use crate::model::surface::{Placement, Surface};
use crate::output::Format;
use crate::output::documents::problem::ProblemDocument;
use crate::output::documents::session::SessionDocument;
use crate::output::documents::show::{MessageDocument, ShowDocument, ToolCallDocument, last_answer};
use crate::output::json::Js;
use crate::projections::fold::Fold;
use crate::projections::heading::{self, Heading};
use clap::{Args, ValueEnum};
use std::collections::HashMap;

/// The arguments.
#[derive(Debug, Args)]
#[command(before_long_help = "Examples:
  dshkit sessions show latest
  dshkit sessions show latest --view surface --tail 10
  dshkit sessions show latest --last-answer > answer.md")]
pub struct ShowArgs {
    #[command(flatten)]
    session: OneSession,
    /// What people saw, or what the model sees
    #[arg(long, value_enum, default_value_t)]
    view: ViewKind,
    /// Also what tools returned, and what was put before the model by others than the person
    #[arg(short, long)]
    all: bool,
    /// Only the last so many messages
    #[arg(long, value_name = "N")]
    tail: Option<usize>,
    /// Only the text of the last answer, as a headless dsh prints it
    #[arg(long, conflicts_with_all = ["tail", "view", "all"])]
    last_answer: bool,
}

/// Which messages, in which order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum ViewKind {
    /// What people saw, in the order of the log, with what the model no longer sees marked
    #[default]
    Transcript,
    /// What the model sees, in its order
    Surface,
}

pub(super) fn run(args: &ShowArgs, context: &mut Context) -> anyhow::Result<u8> {
    let (corpus, catalog) = context.catalog()?;
    let record = args.session.find(&catalog)?;
    // A heading is for people, and folding it takes time.
    let has_heading = context.output.format() == Format::Text && !args.last_answer;
    let read = read(&corpus, record, context.mode(), has_heading, args)?;
    for warning in &read.warnings {
        context.output.warn_problem(warning);
    }
    if args.last_answer {
        let answer = last_answer(&read.messages)
            .ok_or_else(|| Failure::new(Code::NothingFound, format!("the session {:?} has no answer", record.id())))?;
        return print_answer(answer, context);
    }
    let skipped = read.messages.len().saturating_sub(args.tail.unwrap_or(usize::MAX));
    let document = ShowDocument {
        session: SessionDocument::of(record),
        captured_through_seq: read.captured_through_seq,
        messages: read.messages.into_iter().skip(skipped).collect(),
        warnings: read.warnings.iter().map(ProblemDocument::from).collect(),
        heading: read.heading,
    };
    context.output.page_unless(context.global.no_pager);
    context.output.document(&document)?;
    Ok(context.status_with_problems(!read.warnings.is_empty()))
}

fn print_answer(answer: &JsString, context: &mut Context) -> anyhow::Result<u8> {
    let text = if context.output.is_terminal() {
        crate::output::terminal_text::visible_lines(answer)
    } else {
        answer.to_string_lossy().into_owned()
    };
    context.output.raw(text.as_bytes())?;
    context.output.raw(b"\n")?;
    Ok(0)
}

struct Read {
    heading: Heading,
    messages: Vec<MessageDocument>,
    captured_through_seq: Option<u64>,
    warnings: Vec<Problem>,
}

fn read(corpus: &Corpus, record: &Record, mode: Mode, has_heading: bool, args: &ShowArgs) -> Result<Read, Failure> {
    let version = record.stored.format_version;
    let mut turn = None;
    let mut last = None;
    let mut warnings = Vec::new();
    let mut found: Vec<(MessageDocument, bool)> = Vec::new();
    let registry = heading::registry();
    let mut fold = Fold::new(&registry, &record.stored.header);
    let summary = corpus.read_items(record, mode, &mut |item| match item {
        Item::Event(event, _) => {
            last = Some(event.seq);
            if has_heading {
                fold.apply(event);
            }
            match event.kind.to_str() {
                Some("turn/start") => turn = event.data().get("turn").and_then(View::count),
                Some("turn/end") => turn = None,
                _ => found.extend(message(event, version, turn).map(|message| (message, is_append(event)))),
            }
        }
        Item::Trouble(fault) => warnings.push(record.problem(fault.clone())),
    })?;
    let surface = match summary.finished.surface {
        Ok(surface) => surface,
        Err(_) if mode == Mode::Salvage => Surface::default(),
        Err(error) => return Err(error.into()),
    };
    warnings.extend(summary.warnings);
    let placements = surface.placements();
    for (message, _) in &mut found {
        message.surface = placements.get(&message.seq).copied().unwrap_or(Placement::LogOnly).name();
    }
    let messages: Vec<MessageDocument> = match args.view {
        ViewKind::Transcript => {
            found.into_iter().filter(|(_, is_append)| *is_append).map(|(message, _)| message).collect()
        }
        ViewKind::Surface => in_surface_order(found.into_iter().map(|(message, _)| message), &surface),
    };
    let messages = messages.into_iter().filter(|message| args.all || is_conversation(message, args.view)).collect();
    let heading = Heading::of(&fold.finish_with_gaps());
    Ok(Read { heading, messages, captured_through_seq: last, warnings })
}

fn is_append(event: &Event<'_>) -> bool {
    event.surface_op == Some(SurfaceOp::Append)
}

fn in_surface_order(messages: impl Iterator<Item = MessageDocument>, surface: &Surface) -> Vec<MessageDocument> {
    let mut by_seq: HashMap<u64, MessageDocument> = messages.map(|message| (message.seq, message)).collect();
    surface.nodes.iter().filter_map(|seq| by_seq.remove(seq)).collect()
}

/// Whether the message is part of the conversation: what the person wrote, checkpoints, and answers.
/// People also saw answers that only call tools; for a reference they say nothing.
fn is_conversation(message: &MessageDocument, view: ViewKind) -> bool {
    let says_something = !message.text.0.is_empty();
    match message.role {
        "user" => (message.kind.0 == "user" || message.kind.0 == CHECKPOINT) && says_something,
        "assistant" => says_something || view == ViewKind::Transcript && !message.tool_calls.is_empty(),
        _ => false,
    }
}

const CHECKPOINT: &str = "checkpoint";

fn message(event: &Event<'_>, version: u64, turn: Option<u64>) -> Option<MessageDocument> {
    event.surface_op?;
    let message = message_of(event)?;
    let role = match event.kind.to_str()? {
        "user/message" => "user",
        "assistant/message" => "assistant",
        "tool/result" => "tool",
        "system/message" => "system",
        _ => "developer",
    };
    let kind = match role {
        "user" if is_compact_checkpoint(message, version) => JsStr::from(CHECKPOINT).into_owned(),
        _ => source_name(message),
    };
    let text = if role == "tool" { tool_result_text(message) } else { text_of(message) };
    let calls = if role == "assistant" { tool_calls(message).map(call).collect() } else { Vec::new() };
    let call_id =
        message.get("source").and_then(|source| source.get("callId")).and_then(View::string).filter(|_| role == "tool");
    Some(MessageDocument {
        seq: event.seq,
        time: event.time,
        turn: event.data().get("turn").and_then(View::count).or(turn),
        role,
        kind: Js(kind),
        message_id: message.get("id").and_then(View::string).map(Js::from),
        surface: Placement::LogOnly.name(),
        text: Js(text),
        tool_calls: calls,
        tool_call_id: call_id.map(Js::from),
        interrupted: event.data().get("interrupted").is_some_and(View::is_true),
        synthetic: event.synthetic,
    })
}

fn call(call: crate::model::message::ToolCall<'_>) -> ToolCallDocument {
    ToolCallDocument { id: Js::from(call.id), name: Js::from(call.name), arguments: Js::from(call.arguments) }
}

/// The kind of a source; of a plugin up to v3 with its name, as v4 spells it.
fn source_name(message: View<'_>) -> JsString {
    let kind = source_kind(message).unwrap_or_default();
    let plugin = message.get("source").and_then(|source| source.get("plugin")).and_then(View::string);
    match plugin {
        Some(plugin) if kind == "plugin" => JsStr::join([kind, plugin], ":"),
        _ => kind.into_owned(),
    }
}
