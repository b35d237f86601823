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
    let (ledger, parent) = place.parent(&args.parent)?;
    let listed = match &ledger {
        Some(ledger) => of_parent(ledger, &place.sessions(), &parent)?,
        None => Vec::new(),
    };
    context.output.document(&ListDocument::new(&listed))?;
    Ok(0)
}
