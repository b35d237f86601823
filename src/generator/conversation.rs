//! Having a model go on with a conversation, and hearing it while it speaks.
//!
//! The model is asked by a thread of its own, so that whoever listens can be interrupted. What the kinds of
//! failure are called are the words dsh has for them.

use std::io::{self, Read};
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
    /// Whether the model had ended what it said, and told of this then.
    pub is_whole: bool,
}

impl CallFault {
    pub(super) fn new(code: &str, message: impl Into<String>) -> CallFault {
        CallFault { message: message.into(), code: code.to_owned(), status: None, usage: None, is_whole: false }
    }
}

/// Who listens to a model, for the thread that asks it. Who has stopped listening has no use for the rest.
#[derive(Clone)]
pub(super) struct Listener(Sender<Option<Heard>>);

impl Listener {
    /// Tells something that is to be heard.
    pub(super) fn hear(&self, heard: Heard) {
        let _ = self.0.send(Some(heard));
    }

    /// Tells that the model is still there, although there is nothing to be heard.
    pub(super) fn is_alive(&self) {
        let _ = self.0.send(None);
    }
}

/// What is read from a model. Whatever comes is a sign of life.
pub(super) struct Live<'l, R> {
    pub(super) source: R,
    pub(super) listener: &'l Listener,
}

impl<R: Read> Read for Live<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.source.read(buffer)?;
        self.listener.is_alive();
        Ok(read)
    }
}

/// A model that is speaking. When this goes out of scope nobody listens any more, and a command is ended.
pub struct Speech {
    /// What was heard; `None` is a sign of life.
    heard: Receiver<Option<Heard>>,
    listener: Listener,
    patience: Duration,
    command: Option<Arc<Mutex<Child>>>,
}

impl Speech {
    /// Has a thread ask a model. `patience` is how long nothing at all may come of it.
    pub(super) fn begin(
        patience: Duration,
        command: Option<Arc<Mutex<Child>>>,
        ask: impl FnOnce(&Listener) + Send + 'static,
    ) -> Speech {
        let (sender, heard) = mpsc::channel();
        let listener = Listener(sender);
        let teller = listener.clone();
        thread::spawn(move || ask(&teller));
        Speech { heard, listener, patience, command }
    }

    /// Waits for the next thing to be heard. After the end, or a failure, there is none.
    pub fn hear(&mut self) -> Heard {
        loop {
            match self.heard.recv_timeout(self.patience) {
                Ok(Some(heard)) => return heard,
                Ok(None) => {}
                Err(_) => {
                    let seconds = self.patience.as_secs();
                    let message = format!("the model was silent for {seconds} s");
                    return Heard::Failed(CallFault::new("TIMEOUT", message));
                }
            }
        }
    }

    /// What makes the next thing that is heard [`Heard::Interrupted`], from any thread.
    pub fn interrupter(&self) -> impl Fn() + Send + 'static {
        let listener = self.listener.clone();
        move || listener.hear(Heard::Interrupted)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_is_read_is_a_sign_of_life() {
        let (sender, heard) = mpsc::channel();
        let listener = Listener(sender);
        let mut live = Live { source: &b": keep-alive\n\n"[..], listener: &listener };
        let mut bytes = [0; 7];
        live.read_exact(&mut bytes).unwrap();
        live.read_exact(&mut bytes).unwrap();
        assert_eq!(heard.try_iter().collect::<Vec<_>>(), [None, None]);
    }

    #[test]
    fn a_sign_of_life_is_waited_on_and_not_heard() {
        let text = || Heard::Text("Yes.".to_owned());
        let mut speech = Speech::begin(Duration::from_secs(30), None, move |listener| {
            listener.is_alive();
            listener.is_alive();
            listener.hear(text());
        });
        assert_eq!(speech.hear(), text());
        speech.patience = Duration::ZERO;
        speech.listener.is_alive();
        assert!(matches!(speech.hear(), Heard::Failed(fault) if fault.code == "TIMEOUT"));
    }
}
