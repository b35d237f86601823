//! `dshkit/sidechat.ask/1`

use super::calls::{CallUsageDocument, RouteDocument};
use super::print_lines;
use crate::generations::encode::turn::{Ending, NewTurn};
use crate::output::json::Js;
use crate::output::terminal_text::visible;
use crate::output::{Document, TextOut};
use crate::projections::token_usage::Route;
use crate::sidechat::ask::{Kept, Line, Question};
use crate::sidechat::chat::{CallUsage, Chat};
use crate::sidechat::estimate::{compatible_tokens, script_aware_tokens, utf16_len};
use schemars::JsonSchema;
use serde::Serialize;
use std::io;

/// `{childSessionId, parentSessionId, turn, context?, dryRun?}`. `turn` is what was written, `null` in a trial;
/// `context` is what the model would be sent, and stands only there.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AskDocument {
    child_session_id: Js,
    parent_session_id: Js,
    turn: Option<TurnDocument>,
    #[serde(skip_serializing_if = "Option::is_none")]
    context: Option<ContextDocument>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dry_run: Option<bool>,
}

/// `{turn, firstSeq, lastSeq, promptMessageId, messageId, text, reason, error, route, usage}`. `promptMessageId`
/// is `null` if nothing was asked anew, `messageId` if no answer is kept, `error` unless the call failed.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
struct TurnDocument {
    turn: u64,
    first_seq: u64,
    last_seq: u64,
    prompt_message_id: Option<String>,
    message_id: Option<String>,
    text: String,
    reason: &'static str,
    error: Option<FaultDocument>,
    route: RouteDocument,
    usage: Option<CallUsageDocument>,
}

/// `{message, code, status}`.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
struct FaultDocument {
    message: String,
    code: String,
    status: Option<u16>,
}

/// `{messages, characters, estimatedTokens, scriptAwareTokens, route}`. `route` is the model that would be asked
/// if nobody names one.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
struct ContextDocument {
    messages: Vec<LineDocument>,
    characters: u64,
    estimated_tokens: u64,
    script_aware_tokens: u64,
    route: Option<RouteDocument>,
}

/// `{role, text}`.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
struct LineDocument {
    role: &'static str,
    text: String,
}

impl AskDocument {
    /// The document of a turn that was written.
    pub fn of(chat: &Chat, kept: &Kept) -> AskDocument {
        AskDocument { turn: Some(TurnDocument::of(&kept.turn, kept.seqs)), ..AskDocument::about(chat) }
    }

    /// The document of one that would be.
    pub fn trial(question: &Question) -> AskDocument {
        let context = ContextDocument::of(&question.context(), question.route());
        AskDocument { context: Some(context), dry_run: Some(true), ..AskDocument::about(&question.chat) }
    }

    fn about(chat: &Chat) -> AskDocument {
        AskDocument {
            child_session_id: Js::from(&chat.child.id),
            parent_session_id: Js::from(&chat.parent.id),
            turn: None,
            context: None,
            dry_run: None,
        }
    }
}

impl TurnDocument {
    fn of(turn: &NewTurn, (first_seq, last_seq): (u64, u64)) -> TurnDocument {
        let reply = &turn.reply;
        let (reason, error) = match &reply.ending {
            Ending::Completed => ("completed", None),
            Ending::MaxTokens => ("max-tokens", None),
            Ending::Interrupted => ("aborted", None),
            Ending::Failed(fault) => ("error", Some(fault)),
        };
        let usage = reply.usage.map(|usage| CallUsage {
            input: usage.input,
            output: usage.output,
            total: usage.total,
            cache_read: usage.cache_read,
            reasoning: usage.reasoning,
        });
        TurnDocument {
            turn: turn.number,
            first_seq,
            last_seq,
            prompt_message_id: turn.prompt.as_ref().map(|prompt| prompt.id.clone()),
            message_id: (turn.last_message() == Some(&reply.id)).then(|| reply.id.clone()),
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
            usage: usage.as_ref().map(CallUsageDocument::from),
        }
    }
}

impl ContextDocument {
    fn of(lines: &[Line<'_>], route: Option<&Route>) -> ContextDocument {
        let sum = |count: fn(&str) -> u64| lines.iter().map(|line| count(line.text)).sum();
        ContextDocument {
            messages: lines
                .iter()
                .map(|line| LineDocument {
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
