//! `sessions list | latest | status | show | events | event | search | trace | projections | usage | check | path`

mod check;
mod event;
mod events;
mod latest;
mod list;
mod path;
mod projections;
mod search;
mod show;
mod status;
mod trace;
mod usage;

use super::Context;
use clap::Subcommand;

/// What to do with sessions.
#[derive(Debug, Subcommand)]
pub enum SessionsCommand {
    /// Which sessions there are, newest first
    List(list::ListArgs),
    /// The newest session, of a directory or a span of time
    Latest(latest::LatestArgs),
    /// Whether a session's last turn came to its end
    Status(status::StatusArgs),
    /// What was said in a session
    Show(show::ShowArgs),
    /// The events of a session
    Events(events::EventsArgs),
    /// One event of a session, and its neighbours
    Event(event::EventArgs),
    /// Where something was said
    Search(search::SearchArgs),
    /// Where a session or an event came from, and what came of it
    Trace(trace::TraceArgs),
    /// What is derived from a session's log: title, todos, goal, context pressure and more
    Projections(projections::ProjectionsArgs),
    /// How many tokens were used
    Usage(usage::UsageArgs),
    /// Whether dsh loads the sessions, and what is wrong where
    Check(check::CheckArgs),
    /// Where sessions lie
    Path(path::PathArgs),
}

pub(super) fn run(command: SessionsCommand, context: &mut Context) -> anyhow::Result<u8> {
    match command {
        SessionsCommand::List(args) => list::run(&args, context),
        SessionsCommand::Latest(args) => latest::run(&args, context),
        SessionsCommand::Status(args) => status::run(&args, context),
        SessionsCommand::Show(args) => show::run(&args, context),
        SessionsCommand::Events(args) => events::run(&args, context),
        SessionsCommand::Event(args) => event::run(&args, context),
        SessionsCommand::Search(args) => search::run(&args, context),
        SessionsCommand::Trace(args) => trace::run(&args, context),
        SessionsCommand::Projections(args) => projections::run(&args, context),
        SessionsCommand::Usage(args) => usage::run(&args, context),
        SessionsCommand::Check(args) => check::run(&args, context),
        SessionsCommand::Path(args) => path::run(&args, context),
    }
}
