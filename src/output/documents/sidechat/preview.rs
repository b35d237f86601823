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

/// What a side chat would begin with, and what it would cost to make it.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PreviewDocument {
    /// The session it would belong to.
    parent_session_id: Js,
    /// The title it would have.
    title: String,
    /// What it would be given of its parent.
    seed: SeedPreview,
    /// Its first message; `null` if a model has to write part of it.
    message: Option<MessagePreview>,
    /// The calls of a model that it takes to make it.
    calls: Vec<CallPreview>,
}

/// What a side chat would be given of its parent. The lengths are those of the messages together.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
struct SeedPreview {
    /// How the seed is chosen.
    mode: String,
    /// The messages, oldest first.
    messages: Vec<SeedMessageDocument>,
    /// How many older messages do not fit into what a model would be shown.
    dropped_older_messages: u64,
    #[serde(flatten)]
    length: Length,
}

/// The first message of a side chat.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
struct MessagePreview {
    /// The text.
    text: String,
    #[serde(flatten)]
    length: Length,
}

/// A call of a model. The lengths are those of what it would read.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
struct CallPreview {
    /// What is to be written: `task` or `summary`.
    purpose: &'static str,
    /// The model that would be asked if nobody names another; `null` if none is known.
    route: Option<RouteDocument>,
    /// What it would be told to do.
    instructions: String,
    /// What it would be given to do that with.
    input: String,
    #[serde(flatten)]
    length: Length,
    /// The most it may write, in its own tokens.
    max_tokens: u64,
}

/// How long something is, in UTF-16 units and by both estimates.
#[derive(Clone, Copy, Default, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
struct Length {
    /// The length in UTF-16 units.
    characters: u64,
    /// The length in tokens, by the estimate budgets count with.
    estimated_tokens: u64,
    /// The length in tokens, by an estimate that knows scripts.
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
