//! The documents of side chats.

mod calls;
mod chat;
mod cite_facts;
mod delivery;
mod domain_problem;
mod fold_facts;

pub mod ask;
pub mod cite;
pub mod cites;
pub mod commit;
pub mod compare;
pub mod create;
pub mod deliver;
pub mod doctor;
pub mod fold;
pub mod hide;
pub mod list;
pub mod preview;
pub mod prompt;
pub mod read;
pub mod relink;
pub mod resume;
pub mod show;
pub mod status;
pub mod tree;
pub mod usage;
pub mod withdraw;

use crate::output::TextOut;
use crate::output::terminal_text::visible;
use crate::sidechat::chat::Origin;
use std::io;

/// What people are told of who remembers a side chat, unless it is our ledger from the beginning.
fn origin_words(origin: &str) -> Option<&'static str> {
    let words = [(Origin::Restored, "restored from logs"), (Origin::Plugin, "of dsh's plugin")];
    words.into_iter().find(|(known, _)| known.name() == origin).map(|(_, words)| words)
}

/// The same as a line above what is told of a side chat.
fn print_origin(text: &mut TextOut<'_>, origin: &str) -> io::Result<()> {
    origin_words(origin).map_or(Ok(()), |words| text.line(&format!("A side chat {words}.")))
}

/// Prints foreign text of several lines, made safe to look at.
fn print_lines(text: &mut TextOut<'_>, lines: &str) -> io::Result<()> {
    lines.lines().try_for_each(|line| text.line(&visible(line)))
}
