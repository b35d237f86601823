//! Having a model go on with a conversation, and hearing it while it speaks.
//!
//! The model is asked by a thread of its own, so that whoever listens can be interrupted. What the kinds of
//! failure are called are the words dsh has for them.

use std::process::Child;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use crate::model::call_usage::CallUsage;
use crate::model::message::Role;

/// A conversation that a model is to go on with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conversation {
    /// What was said, the oldest first.
    pub messages: Vec<Message>,
    /// The most the model may write, in its own tokens.
    pub max_tokens: u64,
}

/// Something that was said in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Who said it.
    pub role: Role,
    /// What.
    pub text: String,
}

/// Something that is heard of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Heard {
    /// A piece of what it thinks before it answers.
    Reasoning(String),
    /// A piece of its answer.
    Text(String),
    /// It has ended.
    End {
        /// What it used, as far as it says.
        usage: Option<CallUsage>,
        /// Whether it had written as much as it may, and not said all.
        is_cut_off: bool,
    },
    /// The call failed.
    Failed(CallFault),
    /// Whoever listens was interrupted.
    Interrupted,
}

/// Why a call failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallFault {
    /// What went wrong.
    pub message: String,
    /// What kind of failure it is: `AUTH`, `RATE_LIMIT`, `SERVER`, `TIMEOUT`, `TRANSPORT`, ….
    pub code: String,
    /// The status of the HTTP response, if that was it.
    pub status: Option<u16>,
    /// What the model used all the same, as far as it says.
    pub usage: Option<CallUsage>,
}

impl CallFault {
    pub(super) fn new(code: &str, message: impl Into<String>) -> CallFault {
        CallFault { message: message.into(), code: code.to_owned(), status: None, usage: None }
    }
}

/// A model that is speaking. When this goes out of scope nobody listens any more, and a command is ended.
pub struct Speech {
    heard: Receiver<Heard>,
    sender: Sender<Heard>,
    patience: Duration,
    command: Option<Arc<Mutex<Child>>>,
}

impl Speech {
    /// Has a thread ask a model. `patience` is how long it may be silent.
    pub(super) fn begin(
        patience: Duration,
        command: Option<Arc<Mutex<Child>>>,
        ask: impl FnOnce(&mut dyn FnMut(Heard)) + Send + 'static,
    ) -> Speech {
        let (sender, heard) = mpsc::channel();
        let into = sender.clone();
        thread::spawn(move || {
            // Who has stopped listening has no use for the rest.
            ask(&mut |heard| drop(into.send(heard)));
        });
        Speech { heard, sender, patience, command }
    }

    /// Waits for the next thing to be heard. After the end, or a failure, there is none.
    pub fn hear(&mut self) -> Heard {
        self.heard.recv_timeout(self.patience).unwrap_or_else(|_| {
            let seconds = self.patience.as_secs();
            Heard::Failed(CallFault::new("TIMEOUT", format!("the model was silent for {seconds} s")))
        })
    }

    /// What makes the next thing that is heard [`Heard::Interrupted`], from any thread.
    pub fn interrupter(&self) -> impl Fn() + Send + 'static {
        let sender = self.sender.clone();
        move || drop(sender.send(Heard::Interrupted))
    }
}

impl Drop for Speech {
    fn drop(&mut self) {
        if let Some(command) = &self.command
            && let Ok(mut child) = command.lock()
            && !matches!(child.try_wait(), Ok(Some(_)))
        {
            super::command::end(&mut child);
        }
    }
}
