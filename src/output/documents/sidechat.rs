//! The documents of side chats.

mod calls;
mod chat;
mod cite_facts;
mod delivery;
mod fold_facts;

pub mod cite;
pub mod commit;
pub mod create;
pub mod deliver;
pub mod fold;
pub mod list;
pub mod prompt;
pub mod resume;
pub mod show;
pub mod status;
pub mod usage;

use crate::output::TextOut;
use crate::output::terminal_text::visible;
use std::io;

/// Prints foreign text of several lines, made safe to look at.
fn print_lines(text: &mut TextOut<'_>, lines: &str) -> io::Result<()> {
    lines.lines().try_for_each(|line| text.line(&visible(line)))
}
