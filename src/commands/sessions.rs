//! `sessions list | show | events | event | check | path`

mod check;
mod event;
mod events;
mod list;
mod path;
mod show;

use super::Context;
use clap::Subcommand;

/// What to do with sessions.
#[derive(Debug, Subcommand)]
pub enum SessionsCommand {
    /// Which sessions there are, newest first
    List(list::ListArgs),
    /// What was said in a session
    Show(show::ShowArgs),
    /// The events of a session
    Events(events::EventsArgs),
    /// One event of a session, and its neighbours
    Event(event::EventArgs),
    /// Whether dsh loads the sessions, and what is wrong where
    Check(check::CheckArgs),
    /// Where sessions lie
    Path(path::PathArgs),
}

pub(super) fn run(command: SessionsCommand, context: &mut Context) -> anyhow::Result<u8> {
    match command {
        SessionsCommand::List(args) => list::run(&args, context),
        SessionsCommand::Show(args) => show::run(&args, context),
        SessionsCommand::Events(args) => events::run(&args, context),
        SessionsCommand::Event(args) => event::run(&args, context),
        SessionsCommand::Check(args) => check::run(&args, context),
        SessionsCommand::Path(args) => path::run(&args, context),
    }
}
