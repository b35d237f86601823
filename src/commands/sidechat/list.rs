//! `sidechat list`: the side chats of a session.

use super::place::Place;
use crate::commands::Context;
use crate::output::documents::sidechat::list::ListDocument;
use crate::sidechat::listing::of_parent;
use clap::Args;

/// The arguments.
#[derive(Debug, Args)]
#[command(before_long_help = "Examples:
  dshkit sidechat list --parent latest")]
pub struct ListArgs {
    /// The session; only its direct side chats are listed
    #[arg(long, value_name = "SESSION")]
    parent: String,
}

pub(super) fn run(args: &ListArgs, context: &mut Context) -> anyhow::Result<u8> {
    let place = Place::of(context)?;
    let known = place.known(context)?;
    let parent = place.parent(&known, &args.parent)?;
    let listed = of_parent(&known, &place.sessions(), &parent)?;
    context.output.document(&ListDocument::new(&listed, &known.plugin))?;
    Ok(context.status_with_problems(!known.plugin.problems.is_empty()))
}
