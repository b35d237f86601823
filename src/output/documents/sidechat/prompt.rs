//! `dshkit/sidechat.prompt/1`

use super::print_lines;
use crate::output::{Document, TextOut};
use crate::sidechat::request::Request;
use schemars::JsonSchema;
use serde::Serialize;
use std::io;

/// `{instructions, input, maxTokens, text}`. `text` is instructions and input in one.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PromptDocument {
    instructions: String,
    input: String,
    max_tokens: u64,
    text: String,
}

impl PromptDocument {
    /// The document of a request.
    pub fn of(request: &Request) -> PromptDocument {
        PromptDocument {
            instructions: request.instructions.clone(),
            input: request.input.clone(),
            max_tokens: request.max_tokens,
            text: request.as_text(),
        }
    }
}

impl Document for PromptDocument {
    const SCHEMA: &'static str = "dshkit/sidechat.prompt/1";

    /// What another program is to read stays as it is; what a person looks at is made safe.
    fn text(&self, text: &mut TextOut<'_>) -> io::Result<()> {
        if text.is_terminal { print_lines(text, &self.text) } else { text.raw(self.text.as_bytes()) }
    }
}
