//! Whether the log of a side chat is still as dshkit left it (DESIGN §5).
//!
//! The dsh of a v0 log takes no lock, but it leaves traces: whoever opens a session to go on with it marks
//! that in the log, and what a person types passes through the inbox first (formats.md §5.5; seen in the logs
//! of dsh 0.1.0). dshkit writes neither. So a log that begins with the bytes we put down in the ledger, and
//! holds nothing but what we write, was written by us alone, even if we were killed before the ledger had
//! heard of the last write.

use super::chat::Chat;
use super::marker;
use crate::corpus::{Corpus, Record};
use crate::error::{Code, Failure};
use crate::generations::Generation;
use crate::model::event::Event;
use crate::model::message::is_from_user;
use crate::stores::jsonl::LogState;
use std::io;

/// Who has written the log of a side chat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Author {
    /// Nobody but dshkit. What it holds now.
    Us(LogState),
    /// A dsh has gone on with it.
    Dsh,
    /// It does not begin with what we wrote any more. Nobody knows who changed it.
    Unknown,
}

/// Who has written the log of a side chat.
///
/// # Errors
/// It cannot be read, or is damaged.
pub(super) fn author(corpus: &Corpus, record: &Record, chat: &Chat) -> Result<Author, Failure> {
    if record.stored.format_version != Generation::V0.version() {
        return Ok(Author::Dsh);
    }
    let path = &record.stored.path;
    let unreadable = |error: io::Error| Failure::new(Code::Io, format!("could not read {}: {error}", path.display()));
    // The state is taken before the events are looked at: what a dsh writes in between changes it.
    let now = LogState::of_file(path).map_err(unreadable)?;
    if let Some(left) = &chat.log {
        if now == *left {
            return Ok(Author::Us(now));
        }
        if LogState::of_beginning(path, left.bytes).map_err(unreadable)? != *left {
            return Ok(Author::Unknown);
        }
    }
    let mut hand = Hand::default();
    let mut is_ours = true;
    corpus.read(record, &mut |event, _| is_ours &= hand.writes(event))?;
    Ok(if is_ours { Author::Us(now) } else { Author::Dsh })
}

/// Where in a log of ours one is.
#[derive(Debug, Default)]
struct Hand {
    has_begun: bool,
    is_in_turn: bool,
}

impl Hand {
    /// Whether dshkit writes such an event there. An answer cites what was streamed of it.
    fn writes(&mut self, event: &Event<'_>) -> bool {
        match event.kind.to_str() {
            Some("session/title" | "sandbox/mode" | "approval/policy") => !self.has_begun,
            Some("turn/start") => {
                self.has_begun = true;
                !std::mem::replace(&mut self.is_in_turn, true)
            }
            Some("turn/end") => std::mem::replace(&mut self.is_in_turn, false),
            Some("step/start" | "step/end" | "request/header" | "request/context" | "assistant/chunk") => {
                self.is_in_turn
            }
            Some("assistant/message") => self.is_in_turn && event.source_event_seqs.is_some(),
            Some("user/message") => marker::is_ours(event.data()) || self.is_in_turn && is_from_user(event.data()),
            _ => false,
        }
    }
}
