//! Completion: `COMPLETE=SHELL dshkit` prints what the shell reads once, `COMPLETE=SHELL dshkit -- …` the
//! candidates for the word that is being typed.
//!
//! What an argument is completed with follows from the name of its value, so a new command is completed by
//! itself.

use super::command;
use super::shell::Shell;
pub use crate::commands::candidates::Candidate;
use crate::commands::candidates::Candidates;
use crate::env::{Completing, Env};
use crate::sidechat::fold::State;
use clap::ValueHint;
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate, ValueCompleter, complete};
use std::ffi::{OsStr, OsString};
use std::sync::{Arc, Mutex};

/// What a shell asks for, as text for it. `None`: nobody knows that shell.
pub fn answer(completing: &Completing, arguments: &[OsString], env: &Env) -> Option<String> {
    let shell = Shell::named(&completing.shell)?;
    let given: Vec<String> = arguments.iter().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    let Some((_, given)) = given.split_first().filter(|(first, _)| *first == "--") else {
        return Some(shell.script().to_owned());
    };
    let request = shell.request(given, &completing.word);
    let candidates = candidates(&request.words, env);
    Some(shell.answer(&request, &candidates, completing.lists))
}

/// The candidates for the last of these words. An error is none.
fn candidates(words: &[String], env: &Env) -> Vec<Candidate> {
    let (Some(typed), Ok(directory)) = (words.last(), crate::env::current_dir()) else { return Vec::new() };
    let store = Arc::new(Mutex::new(Candidates::of(env, words)));
    let mut command = with_completers(command(), &store);
    let arguments = words.iter().map(OsString::from).collect();
    let found = complete(&mut command, arguments, words.len() - 1, Some(&directory)).unwrap_or_default();
    let mut found: Vec<Candidate> = found.iter().filter_map(candidate).collect();
    // Options are offered to who begins one, and where nothing else could come.
    if typed.is_empty() && found.iter().any(|candidate| !candidate.value.starts_with('-')) {
        found.retain(|candidate| !candidate.value.starts_with('-'));
    }
    found
}

fn candidate(found: &CompletionCandidate) -> Option<Candidate> {
    let value = found.get_value().to_str().filter(|value| !value.contains(char::is_control))?.to_owned();
    let description = found.get_help().map(ToString::to_string);
    let description = description.and_then(|text| text.lines().next().map(str::to_owned));
    Some(Candidate { value, description: description.filter(|line| !line.is_empty()) })
}

/// What a value is completed with, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Session,
    Seq,
    Sidechat,
    Fold,
    CommittedFold,
    Revision,
    Message,
    Parent,
    Path(ValueHint),
}

impl Kind {
    /// The kind of a value of this name. A new kind of value is a line here.
    fn of(name: &str) -> Option<Kind> {
        match name {
            "SESSION" | "SESSION[=LABEL]" | "ID" => Some(Kind::Session),
            "SEQ" => Some(Kind::Seq),
            "SIDECHAT" => Some(Kind::Sidechat),
            "FOLD" => Some(Kind::Fold),
            "COMMITTED_FOLD" => Some(Kind::CommittedFold),
            "REVISION" => Some(Kind::Revision),
            "MESSAGE_ID" => Some(Kind::Message),
            "PARENT" => Some(Kind::Parent),
            "DIR" => Some(Kind::Path(ValueHint::DirPath)),
            "FILE" => Some(Kind::Path(ValueHint::FilePath)),
            "PATH" => Some(Kind::Path(ValueHint::AnyPath)),
            _ => None,
        }
    }
}

/// The command with completers for every argument below it.
fn with_completers(command: clap::Command, store: &Arc<Mutex<Candidates>>) -> clap::Command {
    let mut command = command.mut_args(|arg| {
        let names = arg.get_value_names().unwrap_or_default();
        let kinds: Vec<Option<Kind>> = names.iter().map(|name| Kind::of(name)).collect();
        match kinds[..] {
            [Some(Kind::Path(hint))] => arg.value_hint(hint),
            _ if kinds.iter().any(Option::is_some) => {
                let is_positional = arg.is_positional();
                arg.add(ArgValueCompleter::new(Completer { kinds, is_positional, store: Arc::clone(store) }))
            }
            _ => arg,
        }
    });
    for below in command.get_subcommands_mut() {
        *below = with_completers(std::mem::take(below), store);
    }
    command
}

/// Completes the values of one argument.
struct Completer {
    /// Of each value.
    kinds: Vec<Option<Kind>>,
    is_positional: bool,
    store: Arc<Mutex<Candidates>>,
}

impl ValueCompleter for Completer {
    fn complete(&self, current: &OsStr) -> Vec<CompletionCandidate> {
        let (Some(typed), Ok(store)) = (current.to_str(), self.store.lock()) else { return Vec::new() };
        // A list of words begins with the session.
        let index = usize::from(self.kinds.len() > 1 && store.names_session());
        let kind = self.kinds.get(index).copied().flatten();
        let mut found = match kind {
            Some(Kind::Session) => store.sessions(typed),
            Some(Kind::Seq) => store.seqs(typed),
            Some(Kind::Sidechat) => store.sidechats(typed),
            Some(Kind::Fold) => store.folds(typed, State::Prepared),
            Some(Kind::CommittedFold) => store.folds(typed, State::Committed),
            Some(Kind::Revision) => store.revisions(typed),
            Some(Kind::Message) => store.messages(typed),
            Some(Kind::Parent) => store.parents(typed),
            Some(Kind::Path(_)) | None => Vec::new(),
        };
        if self.is_positional {
            // It would be taken for an option.
            found.retain(|candidate| !candidate.value.starts_with('-'));
        }
        let candidate = |Candidate { value, description }: Candidate| {
            CompletionCandidate::new(value).help(description.map(Into::into))
        };
        found.into_iter().map(candidate).collect()
    }
}
