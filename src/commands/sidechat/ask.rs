//! `sidechat ask`: a turn in a side chat.

use super::model_args::ModelArgs;
use super::place::{OneChat, Place};
use super::text_argument::or_stdin;
use crate::commands::Context;
use crate::env;
use crate::error::{Code, Failure};
use crate::generations::encode::turn::{CallFault, Ending, NewTurn, Piece, PieceKind, Reply};
use crate::generator::conversation::{Conversation, Heard, Message, Speech};
use crate::model::js_string::JsStr;
use crate::model::message::Role;
use crate::output::documents::sidechat::ask::AskDocument;
use crate::output::progress::Waiting;
use crate::output::terminal_text::visible_lines;
use crate::output::{Format, Output};
use crate::sidechat::ask::{Line, Question};
use crate::sidechat::id::Id;
use crate::stores::steps::Unwatched;
use clap::Args;
use std::io;

/// The arguments.
#[derive(Debug, Args)]
#[command(
    before_long_help = "Examples:
  dshkit sidechat ask session-5f
  dshkit sidechat ask session-5f 'And if it expires?' --endpoint https://llm.example/v1 --key-env LLM_KEY
  dshkit sidechat ask session-5f - --model-command my_model < message.md",
    after_help = "A --model-command reads the conversation on its standard input: a sentence that says what it is to do, an \
    empty line, and the messages, the oldest first, each on a line as JSON, such as \
    {\"role\":\"user\",\"content\":\"Is it safe?\"}; the other role is assistant. DSHKIT_MAX_TOKENS holds the most it may \
    write, DSHKIT_MODEL the model, if one is named or known. It prints the answer on its standard output, as plain text \
    in UTF-8 of 1 MiB at most, piece by piece if it likes, and ends with status 0. White space around the answer is \
    dropped."
)]
pub struct AskArgs {
    #[command(flatten)]
    chat: OneChat,
    /// What to ask; `-`: standard input [default: nothing more than waits in the side chat for an answer]
    #[arg(value_name = "TEXT", allow_hyphen_values = true)]
    text: Option<String>,
    /// Show what the model would be sent, and ask nobody
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    asking: ModelArgs,
    /// The model that is asked [default: the configured one, else that of the side chat's newest request, or the one it is
    /// meant for]
    #[arg(long, value_name = "MODEL", help_heading = "Asking a model")]
    model: Option<String>,
    /// The most the model may write, in its own tokens
    #[arg(long, value_name = "TOKENS", default_value_t = 8_000, value_parser = clap::value_parser!(u32).range(1..),
        help_heading = "Asking a model")]
    max_tokens: u32,
}

pub(super) fn run(args: &AskArgs, context: &mut Context) -> anyhow::Result<u8> {
    let text = args.text.as_deref().map(or_stdin).transpose()?;
    let place = Place::of(context)?;
    let (ledger, child) = place.chat(&args.chat)?;
    let question = Question::new(&ledger, &place.sessions(), &child, text.as_deref(), context.env.now)?;
    drop(ledger);
    if args.dry_run {
        let route = args.asking.route(args.model.as_ref(), question.route(), context)?;
        context.output.document(&AskDocument::trial(&question, route.as_ref()))?;
        return Ok(0);
    }
    let asker = args.asking.asker(args.model.as_ref(), question.route(), context)?;
    let route = asker.logged()?.clone();
    let max_tokens = u64::from(args.max_tokens);
    let turn = question.open(env::now(), &mut Unwatched)?;
    let messages = turn.question().context().into_iter().map(message).collect();
    let mut speech = asker.converse(&Conversation { messages, max_tokens });
    env::on_interrupt(speech.interrupter())?;
    let mut screen = Screen {
        is_wanted: context.output.format() == Format::Text,
        waiting: Some(context.output.waiting("waiting for the model")),
        is_mid_line: false,
        error: None,
    };
    let reply = listen(&mut speech, &mut |text| screen.show(&mut context.output, text));
    drop(speech);
    screen.end(&mut context.output);
    let chat = turn.question().chat.clone();
    let kept = match turn.keep(&place.home, &route, max_tokens, reply, &mut Unwatched) {
        Ok(kept) => kept,
        Err(lost) => {
            // It was paid for. People have seen it as it came.
            context.output.document(&AskDocument::lost(&chat, &lost))?;
            return Err(lost.failure.into());
        }
    };
    if let Some(failure) = &kept.unnoted {
        context.output.warn(&format!("the turn is kept, but the ledger was not told: {failure}"));
    }
    // Who stopped reading has been answered all the same.
    if let Some(error) = screen.error {
        return Err(error.into());
    }
    context.output.document(&AskDocument::of(&chat, &kept))?;
    match &kept.turn.reply.ending {
        Ending::Completed => Ok(0),
        Ending::MaxTokens => {
            context.output.warn(if kept.turn.has_answer() {
                "the answer was cut off at the most the model may write; --max-tokens allows more"
            } else {
                "the model had written the most it may before it said anything; --max-tokens allows more, and without \
                 TEXT the question is asked again"
            });
            Ok(0)
        }
        Ending::Interrupted => {
            Err(Failure::new(Code::Interrupted, "the answer was interrupted").hint(what_is_kept(&kept.turn)).into())
        }
        Ending::Failed(fault) => Err(Failure::new(Code::ModelFailed, fault.message.clone())
            .hint("the side chat holds a turn that ended in this error; ask again without TEXT to have it answered")
            .into()),
    }
}

/// What the side chat holds of a turn that was interrupted, and how it goes on.
fn what_is_kept(turn: &NewTurn) -> &'static str {
    let is_said = !turn.reply.text().trim().is_empty();
    match (turn.has_answer(), is_said, &turn.prompt) {
        (true, true, _) => "what had come is kept in the side chat, as interrupted",
        (true, false, _) => {
            "what the model had thought is kept in the side chat, as interrupted; ask again without TEXT to have the \
             question answered"
        }
        (false, _, Some(_)) => {
            "nothing had come; the question is kept in the side chat, and asking again without TEXT has it answered"
        }
        (false, _, None) => "nothing had come; the question still waits, and asking again without TEXT has it answered",
    }
}

fn message(line: Line<'_>) -> Message {
    let role = if line.is_of_model { Role::Assistant } else { Role::User };
    Message { role, text: line.text.to_owned() }
}

/// Listens until the model has ended, and shows the answer as it comes.
fn listen(speech: &mut Speech, show: &mut dyn FnMut(&str)) -> Reply {
    let mut pieces = Vec::new();
    let mut push = |kind, text| pieces.push(Piece { time: env::now(), kind, text });
    let (usage, ending) = loop {
        match speech.hear() {
            Heard::Reasoning(text) => push(PieceKind::Reasoning, text),
            Heard::Text(text) => {
                show(&text);
                push(PieceKind::Text, text);
            }
            Heard::End { usage, is_cut_off: true } => break (usage, Ending::MaxTokens),
            Heard::End { usage, is_cut_off: false } => break (usage, Ending::Completed),
            Heard::Interrupted => break (None, Ending::Interrupted),
            Heard::Failed(fault) => {
                let usage = fault.usage;
                let is_whole = fault.is_whole;
                let fault = CallFault { message: fault.message, code: fault.code, status: fault.status, is_whole };
                break (usage, Ending::Failed(fault));
            }
        }
    };
    Reply { id: Id::random().to_string(), pieces, usage, ending, ended: env::now() }
}

/// Where an answer is shown as it comes, if the output is for people.
struct Screen {
    is_wanted: bool,
    /// What is shown until then.
    waiting: Option<Waiting>,
    is_mid_line: bool,
    error: Option<io::Error>,
}

impl Screen {
    fn show(&mut self, output: &mut Output, text: &str) {
        self.waiting = None;
        if self.is_wanted {
            let safe = visible_lines(&JsStr::from(text));
            self.is_mid_line = !safe.ends_with('\n');
            self.write(output, &safe);
        }
    }

    fn end(&mut self, output: &mut Output) {
        self.waiting = None;
        if self.is_wanted && self.is_mid_line {
            self.write(output, "\n");
        }
    }

    fn write(&mut self, output: &mut Output, text: &str) {
        if self.error.is_none() {
            self.error = output.raw(text.as_bytes()).and_then(|()| output.flush()).err();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generations::encode::turn::{Prompt, Request};

    fn interrupted(pieces: &[(PieceKind, &str)], prompt: Option<&str>) -> &'static str {
        let piece = |(kind, text): &(PieceKind, &str)| Piece { time: 1, kind: *kind, text: (*text).to_owned() };
        what_is_kept(&NewTurn {
            number: 2,
            began: 1,
            prompt: prompt.map(|text| Prompt { id: "q".to_owned(), text: text.to_owned() }),
            request: Request {
                provider: JsStr::from("p"),
                model: JsStr::from("m"),
                max_tokens: 1,
                is_first: true,
                is_other_model: true,
            },
            reply: Reply {
                id: "a".to_owned(),
                pieces: pieces.iter().map(piece).collect(),
                usage: None,
                ending: Ending::Interrupted,
                ended: 2,
            },
        })
    }

    #[test]
    fn what_is_said_to_be_kept_is_what_is_kept() {
        use PieceKind::{Reasoning, Text};
        for prompt in [None, Some("Why?")] {
            assert!(interrupted(&[(Reasoning, "Hm."), (Text, "Bec")], prompt).starts_with("what had come is kept"));
            let thought = interrupted(&[(Reasoning, "Hm."), (Text, "\n")], prompt);
            assert!(thought.starts_with("what the model had thought is kept") && thought.contains("without TEXT"));
            for nothing in [&[][..], &[(Reasoning, " "), (Text, "\n")]] {
                let told = interrupted(nothing, prompt);
                assert!(told.starts_with("nothing had come; the question") && told.contains("without TEXT"), "{told}");
                assert_eq!(told.contains("is kept"), prompt.is_some(), "{told}");
            }
        }
    }
}
