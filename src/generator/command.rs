//! A command as a model: the prompt on its standard input, the answer on its standard output.

use super::{Answer, MAX_BYTES, Prompt, excerpt, failed, some_text};
use crate::error::Failure;
use std::io::{self, Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
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
        let mut command = Command::new("sh");
        command.args(["-c", &self.command]);
        command.env("DSHKIT_MAX_TOKENS", prompt.max_tokens.to_string());
        command.envs(self.model.as_ref().map(|model| ("DSHKIT_MODEL", model)));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut child = command.spawn().map_err(|error| failed(format!("the model command cannot be run: {error}")))?;
        let result = self.talk(&mut child, prompt);
        if result.is_err() {
            end(&mut child);
        }
        result
    }

    fn talk(&self, child: &mut Child, prompt: &Prompt) -> Result<Answer, Failure> {
        let input = format!("{}\n\n{}\n", prompt.instructions, prompt.input);
        if let Some(mut stdin) = child.stdin.take() {
            // A command that does not read its input is none the worse for it.
            thread::spawn(move || stdin.write_all(input.as_bytes()));
        }
        let stdout = read_in_background(child.stdout.take(), MAX_BYTES + 1);
        let stderr = read_in_background(child.stderr.take(), MAX_ERROR_BYTES);
        let late = || failed(format!("the model command did not end within {} s", self.timeout.as_secs()));
        let written = stdout.recv_timeout(self.timeout).map_err(|_| late())?;
        let written = written.map_err(|error| failed(format!("the model command cannot be read: {error}")))?;
        if written.len() as u64 > MAX_BYTES {
            return Err(failed(format!("the model command wrote more than {MAX_BYTES} bytes")));
        }
        let status = wait(child, self.timeout).ok_or_else(late)?;
        if !status.success() {
            let said = stderr.recv_timeout(Duration::from_secs(1)).ok().and_then(Result::ok).unwrap_or_default();
            let said = excerpt(&String::from_utf8_lossy(&said));
            return Err(failed(format!("the model command failed, {status}: {said}")));
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

/// Waits for a command that has closed its output.
fn wait(child: &mut Child, timeout: Duration) -> Option<std::process::ExitStatus> {
    const PAUSE: Duration = Duration::from_millis(10);
    let mut left = timeout;
    loop {
        if let Ok(Some(status)) = child.try_wait() {
            return Some(status);
        }
        left = left.checked_sub(PAUSE)?;
        thread::sleep(PAUSE);
    }
}

/// Ends a command and everything in its group.
fn end(child: &mut Child) {
    #[cfg(unix)]
    if let Some(group) = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw) {
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    let _ = child.kill();
    let _ = child.wait();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(command: &str, timeout: Duration) -> Result<Answer, Failure> {
        let prompt = Prompt { instructions: "Do it.".to_owned(), input: "With this.".to_owned(), max_tokens: 7 };
        CommandModel { command: command.to_owned(), model: Some("m".to_owned()), timeout }.ask(&prompt)
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
        assert!(message("echo why >&2; exit 3").ends_with("why"));
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
