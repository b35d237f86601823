//! Asking a language model: a prompt in, text and usage out. What for is not known here.
//!
//! A model is either a command, which takes the prompt on its standard input, or an endpoint that speaks
//! the chat API of OpenAI. What they answer is foreign: it is bounded in size and time, and nothing in it is
//! believed.

pub mod command;
pub mod conversation;
pub mod endpoint;
mod server_events;

use crate::error::{Code, Failure};
use crate::model::call_usage::CallUsage;
use conversation::{Conversation, Speech};

/// The most an answer may hold, in bytes.
const MAX_BYTES: u64 = 1 << 20;

/// What a model is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prompt {
    /// What it is to do.
    pub instructions: String,
    /// What it is to do it with.
    pub input: String,
    /// The most it may write, in its own tokens.
    pub max_tokens: u64,
}

/// What a model answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Its text, without white space around it; never empty.
    pub text: String,
    /// The model that answered, by the name it gave itself.
    pub model: Option<String>,
    /// What it used; `None` if it does not say, or nothing that makes sense.
    pub usage: Option<CallUsage>,
}

/// A model that can be asked.
#[derive(Debug)]
pub enum Generator {
    /// A command.
    Command(command::CommandModel),
    /// An endpoint.
    Endpoint(endpoint::EndpointModel),
}

impl Generator {
    /// Asks.
    ///
    /// # Errors
    /// There is no answer, or none that can be used.
    pub fn ask(&self, prompt: &Prompt) -> Result<Answer, Failure> {
        match self {
            Generator::Command(command) => command.ask(prompt),
            Generator::Endpoint(endpoint) => endpoint.ask(prompt),
        }
    }
}

impl Generator {
    /// Has the model go on with a conversation.
    pub fn converse(&self, conversation: &Conversation) -> Speech {
        match self {
            Generator::Command(command) => command.converse(conversation),
            Generator::Endpoint(endpoint) => endpoint.converse(conversation),
        }
    }
}

/// The text of an answer, if there is any.
fn some_text(text: &str) -> Result<String, Failure> {
    let text = text.trim();
    if text.is_empty() { Err(failed("the model answered nothing")) } else { Ok(text.to_owned()) }
}

fn failed(message: impl Into<String>) -> Failure {
    Failure::new(Code::ModelFailed, message).hint("nothing was written; try again, or write the text yourself")
}

/// The beginning of something foreign, for a message.
fn excerpt(text: &str) -> String {
    const CHARACTERS: usize = 200;
    let text = text.trim();
    let cut: String = text.chars().take(CHARACTERS).collect();
    if cut.len() < text.len() { format!("{cut}…") } else { cut }
}
