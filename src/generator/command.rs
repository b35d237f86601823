//! A command as a model: the prompt on its standard input, the answer on its standard output.

use super::conversation::{CallFault, Conversation, Heard, Listener, Live, Speech};
use super::{Answer, MAX_BYTES, Prompt, excerpt, failed, some_text};
use crate::error::Failure;
use crate::model::json::{Object, write_value};
use std::io::{self, Read, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

/// The most of standard error that is kept, in bytes.
const MAX_ERROR_BYTES: u64 = 4 << 10;

/// A command.
#[derive(Clone, Debug)]
pub struct CommandModel {
    /// What the shell is to run.
    pub command: String,
    /// The model that is meant, which the command finds in `DSHKIT_MODEL`; it need not care.
    pub model: Option<String>,
    /// How long it may take.
    pub timeout: Duration,
}

impl CommandModel {
    /// Runs the command. It and what it started are ended when the time is over or it writes too much.
    ///
    /// # Errors
    /// It cannot be run, fails, takes too long, or writes nothing, too much, or no text.
    pub fn ask(&self, prompt: &Prompt) -> Result<Answer, Failure> {
        let child = self.spawn(prompt.max_tokens);
        let mut child = child.map_err(|error| failed(format!("the model command cannot be run: {error}")))?;
        let result = self.talk(&mut child, prompt);
        if result.is_err() {
            end(&mut child);
        }
        result
    }

    /// Has the command write the next message of a conversation, which it gets as lines of JSON.
    pub(super) fn converse(&self, conversation: &Conversation) -> Speech {
        let mut child = match self.spawn(conversation.max_tokens) {
            Ok(child) => child,
            Err(error) => {
                let fault = fault(format!("the model command cannot be run: {error}"));
                return Speech::begin(self.timeout, None, move |listener| listener.hear(Heard::Failed(fault)));
            }
        };
        write_in_background(&mut child, as_text(conversation));
        let stdout = child.stdout.take();
        let stderr = read_in_background(child.stderr.take(), MAX_ERROR_BYTES);
        let child = Arc::new(Mutex::new(child));
        let timeout = self.timeout;
        Speech::begin(timeout, Some(Arc::clone(&child)), move |listener| {
            let end = match speak(stdout, listener) {
                Err(fault) => Heard::Failed(fault),
                Ok(has_spoken) => match wait(&child, timeout) {
                    Some(status) if status.success() && has_spoken => Heard::End { usage: None, is_cut_off: false },
                    Some(status) if status.success() => {
                        Heard::Failed(CallFault::new("EMPTY_RESPONSE", "the model answered nothing"))
                    }
                    Some(status) => Heard::Failed(fault(broken(status, &stderr))),
                    None => Heard::Failed(fault("the model command did not end")),
                },
            };
            listener.hear(end);
        })
    }

    fn spawn(&self, max_tokens: u64) -> io::Result<Child> {
        let mut command = Command::new("sh");
        command.args(["-c", &self.command]);
        command.env("DSHKIT_MAX_TOKENS", max_tokens.to_string());
        command.envs(self.model.as_ref().map(|model| ("DSHKIT_MODEL", model)));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        command.spawn()
    }

    fn talk(&self, child: &mut Child, prompt: &Prompt) -> Result<Answer, Failure> {
        write_in_background(child, format!("{}\n\n{}\n", prompt.instructions, prompt.input));
        let stdout = read_in_background(child.stdout.take(), MAX_BYTES + 1);
        let stderr = read_in_background(child.stderr.take(), MAX_ERROR_BYTES);
        let late = || failed(format!("the model command did not end within {} s", self.timeout.as_secs()));
        let written = stdout.recv_timeout(self.timeout).map_err(|_| late())?;
        let written = written.map_err(|error| failed(format!("the model command cannot be read: {error}")))?;
        if written.len() as u64 > MAX_BYTES {
            return Err(failed(format!("the model command wrote more than {MAX_BYTES} bytes")));
        }
        let status = ended(self.timeout, || child.try_wait().ok().flatten()).ok_or_else(late)?;
        if !status.success() {
            return Err(failed(broken(status, &stderr)));
        }
        let text =
            String::from_utf8(written).map_err(|_| failed("the model command wrote something else than text"))?;
        Ok(Answer { text: some_text(&text)?, model: None, usage: None })
    }
}

fn read_in_background<R: Read + Send + 'static>(from: Option<R>, most: u64) -> mpsc::Receiver<io::Result<Vec<u8>>> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = from.map_or(Ok(0), |from| from.take(most).read_to_end(&mut bytes));
        let _ = sender.send(read.map(|_| bytes));
    });
    receiver
}

fn write_in_background(child: &mut Child, input: String) {
    if let Some(mut stdin) = child.stdin.take() {
        // A command that does not read its input is none the worse for it.
        thread::spawn(move || stdin.write_all(input.as_bytes()));
    }
}

/// How a command failed, with what it has said of it, if anything.
fn broken(status: ExitStatus, stderr: &mpsc::Receiver<io::Result<Vec<u8>>>) -> String {
    let said = stderr.recv_timeout(Duration::from_secs(1)).ok().and_then(Result::ok).unwrap_or_default();
    let said = excerpt(&String::from_utf8_lossy(&said));
    let colon = if said.is_empty() { "" } else { ": " };
    format!("the model command failed, {status}{colon}{said}")
}

fn fault(message: impl Into<String>) -> CallFault {
    CallFault::new("UNKNOWN", message)
}

/// A conversation as one text.
fn as_text(conversation: &Conversation) -> String {
    let mut text = "Below is a conversation, a message a line, as JSON. Write the next message of the assistant, as \
        plain text and with nothing around it.\n\n"
        .to_owned();
    for message in &conversation.messages {
        let line = Object::of([("role", message.role.name().into()), ("content", message.text.as_str().into())]);
        write_value(&line.into(), &mut text);
        text.push('\n');
    }
    text
}

/// Tells what a command writes as it writes it, without the white space around it. Whether there was anything.
fn speak(stdout: Option<impl Read>, listener: &Listener) -> Result<bool, CallFault> {
    let source = stdout.ok_or_else(|| fault("the model command has no output"))?;
    let mut stdout = Live { source, listener };
    let mut held: Vec<u8> = Vec::new();
    let (mut bytes, mut is_begun) = (0, false);
    let mut buffer = [0; 4096];
    loop {
        let read = match stdout.read(&mut buffer) {
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(fault(format!("the model command cannot be read: {error}"))),
        };
        bytes += read as u64;
        if bytes > MAX_BYTES {
            return Err(fault(format!("the model command wrote more than {MAX_BYTES} bytes")));
        }
        held.extend_from_slice(&buffer[..read]);
        let whole = match str::from_utf8(&held) {
            Ok(text) => text,
            // A character that is cut is whole with the next read.
            Err(error) if error.error_len().is_none() && read > 0 => {
                str::from_utf8(&held[..error.valid_up_to()]).unwrap_or_default()
            }
            Err(_) => return Err(fault("the model command wrote something else than text")),
        };
        let begun = if is_begun { whole } else { whole.trim_start() };
        // White space at the end is said when something follows it.
        let piece = begun.trim_end();
        let rest = whole.len() - begun.len() + piece.len();
        if !piece.is_empty() {
            is_begun = true;
            listener.hear(Heard::Text(piece.to_owned()));
            held.drain(..rest);
        }
        if read == 0 {
            return Ok(is_begun);
        }
    }
}

/// Waits for a command that has closed its output.
fn wait(child: &Mutex<Child>, timeout: Duration) -> Option<ExitStatus> {
    ended(timeout, || child.lock().ok()?.try_wait().ok().flatten())
}

fn ended(timeout: Duration, mut look: impl FnMut() -> Option<ExitStatus>) -> Option<ExitStatus> {
    const PAUSE: Duration = Duration::from_millis(10);
    let mut left = timeout;
    loop {
        if let Some(status) = look() {
            return Some(status);
        }
        left = left.checked_sub(PAUSE)?;
        thread::sleep(PAUSE);
    }
}

/// Ends a command and everything in its group.
pub(super) fn end(child: &mut Child) {
    #[cfg(unix)]
    if let Some(group) = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw) {
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    let _ = child.kill();
    let _ = child.wait();
}

#[cfg(test)]
mod tests {
    use super::super::conversation::Message;
    use super::*;
    use crate::model::message::Role;

    fn ask(command: &str, timeout: Duration) -> Result<Answer, Failure> {
        let prompt = Prompt { instructions: "Do it.".to_owned(), input: "With this.".to_owned(), max_tokens: 7 };
        CommandModel { command: command.to_owned(), model: Some("m".to_owned()), timeout }.ask(&prompt)
    }

    /// What is heard of a command that goes on with a conversation, the text together.
    fn hear(command: &str, patience: Duration) -> (String, Heard) {
        let model = CommandModel { command: command.to_owned(), model: None, timeout: patience };
        let messages = vec![Message { role: Role::User, text: "Why <b>?".to_owned() }];
        let mut speech = model.converse(&Conversation { messages, max_tokens: 7 });
        let mut text = String::new();
        loop {
            match speech.hear() {
                Heard::Text(piece) => text.push_str(&piece),
                end => return (text, end),
            }
        }
    }

    #[test]
    fn a_command_is_heard_while_it_speaks() {
        let end = Heard::End { usage: None, is_cut_off: false };
        let (text, ended) = hear("tail -n 1", LONG);
        assert_eq!((text.as_str(), &ended), (r#"{"role":"user","content":"Why <b>?"}"#, &end));
        let slowly = "printf '  Sm\\303'; sleep 0.05; printf '\\270rre'; sleep 0.05; printf 'br\\303\\270d \\n\\n'; printf 'x\\n'";
        assert_eq!(hear(slowly, LONG), ("Smørrebrød \n\nx".to_owned(), end));
    }

    #[test]
    fn a_command_that_cannot_be_heard_out_has_failed() {
        let fault = |command, patience| match hear(command, patience) {
            (text, Heard::Failed(fault)) => (text, fault.code, fault.message),
            other => panic!("{other:?}"),
        };
        let (text, code, message) = fault("echo half; echo why >&2; exit 3", LONG);
        assert_eq!((text.as_str(), code.as_str()), ("half", "UNKNOWN"));
        assert!(message.ends_with("why"), "{message}");
        assert!(fault("exit 3", LONG).2.ends_with("exit status: 3"), "nothing was said of it");
        assert_eq!(fault("true", LONG).1, "EMPTY_RESPONSE");
        assert!(fault("printf '\\377'", LONG).2.contains("text"));
        assert!(fault("yes", LONG).2.contains("more than"));
        assert_eq!(fault("echo a; sleep 1000", Duration::from_millis(300)).1, "TIMEOUT");
    }

    #[test]
    fn who_is_interrupted_hears_of_it() {
        let model = CommandModel { command: "sleep 1000".to_owned(), model: None, timeout: LONG };
        let mut speech = model.converse(&Conversation { messages: Vec::new(), max_tokens: 1 });
        speech.interrupter()();
        assert_eq!(speech.hear(), Heard::Interrupted);
    }

    const LONG: Duration = Duration::from_secs(30);

    #[test]
    fn a_command_reads_the_prompt_and_writes_the_answer() {
        assert_eq!(ask("cat", LONG).unwrap().text, "Do it.\n\nWith this.");
        assert_eq!(ask("echo \"$DSHKIT_MODEL $DSHKIT_MAX_TOKENS\"", LONG).unwrap().text, "m 7");
        assert_eq!(ask("echo unread", LONG).unwrap().usage, None);
    }

    #[test]
    fn what_is_no_answer_is_an_error() {
        let message = |command| ask(command, LONG).unwrap_err().message;
        assert!(message("echo why >&2; exit 3").ends_with("exit status: 3: why"));
        assert!(message("exit 3").ends_with("exit status: 3"), "nothing was said of it");
        assert!(message("true").contains("nothing"));
        assert!(message("printf '\\377'").contains("text"));
        assert!(message("yes").contains("more than"));
        assert!(message("no-such-program-at-all").contains("failed"));
    }

    #[test]
    fn a_command_that_does_not_end_is_ended_with_what_it_started() {
        let message = ask("sleep 1000 & sleep 1000", Duration::from_millis(50)).unwrap_err().message;
        assert!(message.contains("did not end"), "{message}");
    }
}
