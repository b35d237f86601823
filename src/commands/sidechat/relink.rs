//! `sidechat relink`: a new parent for an orphan.

use super::place::{OneChat, Place};
use crate::commands::Context;
use crate::output::documents::sidechat::relink::RelinkDocument;
use crate::sidechat::relink::{examine, relink};
use crate::stores::steps::Unwatched;
use clap::Args;

/// The arguments.
#[derive(Debug, Args)]
#[command(before_long_help = "Examples:
  dshkit sidechat relink session-5f --parent session-c3 --dry-run")]
pub struct RelinkArgs {
    #[command(flatten)]
    chat: OneChat,
    /// The session that is to be its parent, of the same directory
    #[arg(long, value_name = "SESSION")]
    parent: String,
    /// Show what would become of it, and change nothing
    #[arg(long)]
    dry_run: bool,
}

pub(super) fn run(args: &RelinkArgs, context: &mut Context) -> anyhow::Result<u8> {
    let place = Place::of(context)?;
    let (ledger, child) = place.chat(&args.chat)?;
    let parent = place.session(&args.parent)?;
    if args.dry_run {
        let (chat, record) = examine(&ledger, &place.sessions(), &child, parent, context.env.now)?;
        context.output.document(&RelinkDocument::trial(&chat, &record))?;
        return Ok(0);
    }
    drop(ledger);
    let (chat, record) = relink(&place.home, &place.corpus, &child, parent.id(), context.env.now, &mut Unwatched)?;
    context.output.document(&RelinkDocument::new(&chat, &record))?;
    Ok(0)
}
