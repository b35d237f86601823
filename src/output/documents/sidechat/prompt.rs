//! `dshkit/sidechat.prompt/1`

use super::print_lines;
use crate::output::{Document, TextOut};
use crate::sidechat::request::Request;
use schemars::JsonSchema;
use serde::Serialize;
use std::io;

/// What a model would be asked.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PromptDocument {
    /// What it is to do.
    instructions: String,
    /// What it is to do that with.
    input: String,
    /// How long the answer may be, in tokens.
    max_tokens: u64,
    /// Instructions and input in one.
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
