//! `dshkit/sidechat.preview/1`

use super::calls::RouteDocument;
use super::chat::SeedMessageDocument;
use super::print_lines;
use crate::output::json::Js;
use crate::output::terminal_text::visible;
use crate::output::{Document, TextOut};
use crate::sidechat::create::{Call, Draft};
use crate::sidechat::estimate::{compatible_tokens, script_aware_tokens, utf16_len};
use schemars::JsonSchema;
use serde::Serialize;
use std::io;

/// `{parentSessionId, title, seed, message, calls}`. `message` is the first message of the side chat, `null` if a
/// model has to write part of it; `calls` are those that it takes to make the side chat.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PreviewDocument {
    parent_session_id: Js,
    title: String,
    seed: SeedPreview,
    message: Option<MessagePreview>,
    calls: Vec<CallPreview>,
}

/// `{mode, messages, droppedOlderMessages, characters, estimatedTokens, scriptAwareTokens}`.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
struct SeedPreview {
    mode: String,
    messages: Vec<SeedMessageDocument>,
    dropped_older_messages: u64,
    #[serde(flatten)]
    length: Length,
}

/// `{text, characters, estimatedTokens, scriptAwareTokens}`.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
struct MessagePreview {
    text: String,
    #[serde(flatten)]
    length: Length,
}

/// `{purpose, route, instructions, input, characters, estimatedTokens, scriptAwareTokens, maxTokens}`. The model
/// reads what is counted, and writes `maxTokens` of its own at most.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
struct CallPreview {
    purpose: &'static str,
    route: Option<RouteDocument>,
    instructions: String,
    input: String,
    #[serde(flatten)]
    length: Length,
    max_tokens: u64,
}

/// How long something is, in UTF-16 units and by both estimates.
#[derive(Clone, Copy, Default, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
struct Length {
    characters: u64,
    estimated_tokens: u64,
    script_aware_tokens: u64,
}

impl Length {
    fn of<'t>(texts: impl IntoIterator<Item = &'t str>) -> Length {
        texts.into_iter().fold(Length::default(), |sum, text| Length {
            characters: sum.characters + utf16_len(text),
            estimated_tokens: sum.estimated_tokens + compatible_tokens(text),
            script_aware_tokens: sum.script_aware_tokens + script_aware_tokens(text),
        })
    }

    fn words(self) -> String {
        let Length { characters, estimated_tokens, script_aware_tokens } = self;
        format!("{characters} characters, about {estimated_tokens} tokens (by script: {script_aware_tokens})")
    }
}

impl PreviewDocument {
    /// The preview of a side chat that only needs to be made.
    pub fn of(draft: &Draft) -> PreviewDocument {
        let chat = &draft.chat;
        let call = draft.call();
        let message = call
            .is_none()
            .then(|| MessagePreview { length: Length::of([draft.text.as_str()]), text: draft.text.clone() });
        PreviewDocument {
            parent_session_id: Js::from(&chat.parent.id),
            title: chat.title.clone(),
            seed: SeedPreview {
                mode: chat.seed.mode.clone(),
                messages: chat.seed.messages.iter().map(SeedMessageDocument::from).collect(),
                dropped_older_messages: draft.dropped_older,
                length: Length::of(chat.seed.messages.iter().map(|message| message.text.as_str())),
            },
            message,
            calls: call.into_iter().map(CallPreview::from).collect(),
        }
    }
}

impl From<Call> for CallPreview {
    fn from(call: Call) -> CallPreview {
        let request = call.request;
        CallPreview {
            purpose: call.writing.name(),
            route: call.route.as_ref().map(RouteDocument::from),
            length: Length::of([request.instructions.as_str(), request.input.as_str()]),
            instructions: request.instructions,
            input: request.input,
            max_tokens: request.max_tokens,
        }
    }
}

impl Document for PreviewDocument {
    const SCHEMA: &'static str = "dshkit/sidechat.preview/1";

    fn text(&self, text: &mut TextOut<'_>) -> io::Result<()> {
        text.line(&visible(&self.title))?;
        text.line("")?;
        if let Some(message) = &self.message {
            print_lines(text, &message.text)?;
            text.line("")?;
        }
        for call in &self.calls {
            print_lines(text, &format!("{}\n\n{}", call.instructions, call.input))?;
            text.line("")?;
        }
        let seed = &self.seed;
        let count = seed.messages.len();
        text.line(&format!("seed     {}, messages: {count}, {}", visible(&seed.mode), seed.length.words()))?;
        if let Some(message) = &self.message {
            text.line(&format!("message  {}", message.length.words()))?;
        }
        for call in &self.calls {
            let route = call.route.as_ref().map_or_else(|| "no model named".to_owned(), RouteDocument::words);
            let (length, most) = (call.length.words(), call.max_tokens);
            text.line(&format!("call     {}, {route}: {length}, and at most {most} written", call.purpose))?;
        }
        if self.calls.is_empty() {
            text.line("call     none")?;
        }
        Ok(())
    }
}
