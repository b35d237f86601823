//! Whether the log of a side chat is still as dshkit left it (DESIGN §5).
//!
//! The dsh of a v0 log takes no lock, but it leaves traces: whoever opens a session to go on with it marks
//! that in the log, and what a person types passes through the inbox first (formats.md §5.5; seen in the logs
//! of dsh 0.1.0). dshkit writes neither. So a log that begins with the bytes we put down in the ledger, and
//! holds no such trace, was written by us alone, even if we were killed before the ledger had heard of the
//! last write.

use super::chat::Chat;
use crate::corpus::{Corpus, Record};
use crate::error::{Code, Failure};
use crate::generations::Generation;
use crate::stores::jsonl::LogState;
use std::io;

/// What the log of a side chat holds, if nobody but dshkit has written it. `None`: a dsh has gone on with it.
///
/// # Errors
/// It cannot be read, or is damaged.
pub(super) fn state(corpus: &Corpus, record: &Record, chat: &Chat) -> Result<Option<LogState>, Failure> {
    if record.stored.format_version != Generation::V0.version() {
        return Ok(None);
    }
    let path = &record.stored.path;
    let unreadable =
        |error: io::Error| Failure::new(Code::Io, format!("could not read {}: {error}", path.display()));
    // The state is taken before the events are looked at: what a dsh writes in between changes it.
    let now = LogState::of_file(path).map_err(unreadable)?;
    if let Some(left) = &chat.log {
        if now == *left {
            return Ok(Some(now));
        }
        if LogState::of_beginning(path, left.bytes).map_err(unreadable)? != *left {
            return Ok(None);
        }
    }
    let mut is_opened = false;
    corpus.read(record, &mut |event, _| {
        is_opened |= event.is("session/end-seed") || event.is("agent/inbox/spliced");
    })?;
    Ok((!is_opened).then_some(now))
}
