//! Why a message of a source is kept, cut or dropped (formats.md §8.1, "Retention").

use super::prepare::Source;
use super::projection::Message;
use super::retention::Fate;

/// Why a message has its fate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// The whole conversation fits.
    Fits,
    /// Dropping what is older was enough.
    Newer,
    /// It is the checkpoint of a compaction, which is never dropped.
    Checkpoint,
    /// It is the newest message, which is never dropped.
    Newest,
    /// What is never dropped is too long, and this is the longest of it.
    Longest,
    /// The oldest go first, until the rest fits.
    Oldest,
}

impl Why {
    /// The stable name.
    pub fn name(self) -> &'static str {
        match self {
            Why::Fits => "fits",
            Why::Newer => "newer",
            Why::Checkpoint => "checkpoint",
            Why::Newest => "newest",
            Why::Longest => "longest",
            Why::Oldest => "oldest",
        }
    }
}

/// A message of a source and what became of it.
#[derive(Clone, Copy, Debug)]
pub struct Explained<'s> {
    /// The message.
    pub message: &'s Message,
    /// What became of it.
    pub fate: Fate,
    /// Why.
    pub why: Why,
}

/// Explains what became of each message of a source.
pub fn explain(source: &Source) -> Vec<Explained<'_>> {
    let newest = source.conversation.len().saturating_sub(1);
    let is_whole = !source.retained.is_truncated();
    let explained = source.conversation.iter().zip(&source.retained.fates).enumerate();
    let why = |index: usize, message: &Message, fate: Fate| match fate {
        Fate::Dropped => Why::Oldest,
        Fate::Cut { .. } => Why::Longest,
        Fate::Kept if is_whole => Why::Fits,
        Fate::Kept if message.is_checkpoint => Why::Checkpoint,
        Fate::Kept if index == newest => Why::Newest,
        Fate::Kept => Why::Newer,
    };
    explained
        .map(|(index, (message, fate))| Explained { message, fate: *fate, why: why(index, message, *fate) })
        .collect()
}
