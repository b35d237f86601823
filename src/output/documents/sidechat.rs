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
use std::io;

/// Prints foreign text of several lines, made safe to look at.
fn print_lines(text: &mut TextOut<'_>, lines: &str) -> io::Result<()> {
    lines.lines().try_for_each(|line| text.line(&visible(line)))
}
