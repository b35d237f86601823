//! `dshkit/sidechat.ask/1`

use super::calls::{CallUsageDocument, RouteDocument};
use super::print_lines;
use crate::generations::encode::turn::{Ending, NewTurn};
use crate::output::json::Js;
use crate::output::terminal_text::visible;
use crate::output::{Document, TextOut};
use crate::projections::token_usage::Route;
use crate::sidechat::ask::{Kept, Line, Lost, Question};
use crate::sidechat::chat::Chat;
use crate::sidechat::estimate::{compatible_tokens, script_aware_tokens, utf16_len};
use schemars::JsonSchema;
use serde::Serialize;
use std::io;

/// A turn in a side chat, or what a model would be sent for one.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AskDocument {
    /// The side chat.
    child_session_id: Js,
    /// The session it belongs to.
    parent_session_id: Js,
    /// The turn; `null` in a trial.
    turn: Option<TurnDocument>,
    /// Whether the turn is in the log; `null` in a trial, and if that is not known.
    kept: Option<bool>,
    /// What the model would be sent; only in a trial.
    #[serde(skip_serializing_if = "Option::is_none")]
    context: Option<ContextDocument>,
    /// Whether this only shows what would be done.
    #[serde(skip_serializing_if = "Option::is_none")]
    dry_run: Option<bool>,
}

/// A turn. Of one that is not in the log there are no number, seqs and ids.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
struct TurnDocument {
    /// The turn's number.
    turn: Option<u64>,
    /// The seq of its first event.
    first_seq: Option<u64>,
    /// The seq of its last event.
    last_seq: Option<u64>,
    /// The id of the person's message; `null` also if nothing was asked anew.
    prompt_message_id: Option<String>,
    /// The id of the model's message; `null` also if it left none.
    message_id: Option<String>,
    /// What the model answered, as far as it came.
    text: String,
    /// How the turn ended: `completed`, `max-tokens`, `aborted`, or `error`.
    reason: &'static str,
    /// Why the call failed; `null` if it did not.
    error: Option<FaultDocument>,
    /// The model that was asked, as the log names it.
    route: RouteDocument,
    /// What the model used, as far as it says.
    usage: Option<CallUsageDocument>,
}

/// Why a call of a model failed.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
struct FaultDocument {
    /// What went wrong.
    message: String,
    /// What kind of failure it is, in the words of dsh.
    code: String,
    /// The status of the HTTP response, if that was it.
    status: Option<u16>,
}

/// What a model would be sent.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
struct ContextDocument {
    /// The messages, the oldest first.
    messages: Vec<SentMessageDocument>,
    /// Their length in UTF-16 units.
    characters: u64,
    /// Their length in tokens, by the estimate budgets count with.
    estimated_tokens: u64,
    /// Their length in tokens, by an estimate that knows scripts.
    script_aware_tokens: u64,
    /// The model that would be asked, as the log would name it; `null` if none is known.
    route: Option<RouteDocument>,
}

/// A message a model would be sent.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
struct SentMessageDocument {
    /// Who said it: `user` or `assistant`.
    role: &'static str,
    /// What was said.
    text: String,
}

impl AskDocument {
    /// The document of a turn that was written.
    pub fn of(chat: &Chat, kept: &Kept) -> AskDocument {
        let turn = TurnDocument::of(&kept.turn, Some(kept.seqs));
        AskDocument { turn: Some(turn), kept: Some(true), ..AskDocument::about(chat) }
    }

    /// The document of one that could not be written. What was answered is in it all the same.
    pub fn lost(chat: &Chat, lost: &Lost) -> AskDocument {
        let turn = TurnDocument::of(&lost.turn, None);
        AskDocument { turn: Some(turn), kept: lost.is_kept, ..AskDocument::about(chat) }
    }

    /// The document of one that would be.
    pub fn trial(question: &Question, route: Option<&Route>) -> AskDocument {
        let context = ContextDocument::of(&question.context(), route);
        AskDocument { context: Some(context), dry_run: Some(true), ..AskDocument::about(&question.chat) }
    }

    fn about(chat: &Chat) -> AskDocument {
        AskDocument {
            child_session_id: Js::from(&chat.child.id),
            parent_session_id: Js::from(&chat.parent.id),
            turn: None,
            kept: None,
            context: None,
            dry_run: None,
        }
    }
}

impl TurnDocument {
    /// `seqs` are those of its first and last event, if it is in the log.
    fn of(turn: &NewTurn, seqs: Option<(u64, u64)>) -> TurnDocument {
        let reply = &turn.reply;
        let if_kept = |id: &String| seqs.map(|_| id.clone());
        let (reason, error) = match &reply.ending {
            Ending::Completed => ("completed", None),
            Ending::MaxTokens => ("max-tokens", None),
            Ending::Interrupted => ("aborted", None),
            Ending::Failed(fault) => ("error", Some(fault)),
        };
        TurnDocument {
            turn: seqs.map(|_| turn.number),
            first_seq: seqs.map(|(first, _)| first),
            last_seq: seqs.map(|(_, last)| last),
            prompt_message_id: turn.prompt.as_ref().and_then(|prompt| if_kept(&prompt.id)),
            message_id: Some(&reply.id).filter(|id| turn.last_message() == Some(id)).and_then(if_kept),
            text: reply.text(),
            reason,
            error: error.map(|fault| FaultDocument {
                message: fault.message.clone(),
                code: fault.code.clone(),
                status: fault.status,
            }),
            route: RouteDocument::from(&Route {
                provider: turn.request.provider.clone(),
                model: turn.request.model.clone(),
            }),
            usage: reply.usage.as_ref().map(CallUsageDocument::from),
        }
    }
}

impl ContextDocument {
    fn of(lines: &[Line<'_>], route: Option<&Route>) -> ContextDocument {
        let sum = |count: fn(&str) -> u64| lines.iter().map(|line| count(line.text)).sum();
        ContextDocument {
            messages: lines
                .iter()
                .map(|line| SentMessageDocument {
                    role: if line.is_of_model { "assistant" } else { "user" },
                    text: line.text.to_owned(),
                })
                .collect(),
            characters: sum(utf16_len),
            estimated_tokens: sum(compatible_tokens),
            script_aware_tokens: sum(script_aware_tokens),
            route: route.map(RouteDocument::from),
        }
    }
}

impl Document for AskDocument {
    const SCHEMA: &'static str = "dshkit/sidechat.ask/1";

    fn is_dry_run(&self) -> bool {
        self.dry_run.is_some()
    }

    /// The answer itself has been shown when it came.
    fn text(&self, text: &mut TextOut<'_>) -> io::Result<()> {
        let Some(context) = &self.context else { return Ok(()) };
        for message in &context.messages {
            text.line(&format!("{}:", message.role))?;
            print_lines(text, &message.text)?;
            text.line("")?;
        }
        let route = context.route.as_ref().map_or_else(|| "no model named".to_owned(), RouteDocument::words);
        text.line(&format!(
            "{} characters, about {} tokens (by script: {}), to {}",
            context.characters,
            context.estimated_tokens,
            context.script_aware_tokens,
            visible(&route)
        ))
    }
}
