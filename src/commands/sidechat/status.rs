//! `sidechat archive`, `restore`, `abandon`: the status of a side chat.

use super::place::{OneChat, Place};
use crate::commands::Context;
use crate::output::documents::sidechat::status::StatusDocument;
use crate::sidechat::lifecycle::{Change, change, examine};
use crate::sidechat::relation::chat_of;
use crate::stores::steps::Unwatched;
use clap::Args;

/// The arguments.
#[derive(Debug, Args)]
pub struct StatusArgs {
    #[command(flatten)]
    chat: OneChat,
    /// Show what would become of it, and change nothing
    #[arg(long)]
    dry_run: bool,
}

pub(super) fn run(args: &StatusArgs, wanted: Change, context: &mut Context) -> anyhow::Result<u8> {
    let place = Place::of(context)?;
    let (ledger, child) = place.chat(&args.chat)?;
    if args.dry_run {
        let to = examine(&ledger, &place.sessions(), &child, wanted)?;
        context.output.document(&StatusDocument::trial(&chat_of(&ledger, &child)?, to))?;
        return Ok(0);
    }
    drop(ledger);
    let chat = change(&place.home, &place.corpus, &child, wanted, context.env.now, &mut Unwatched)?;
    context.output.document(&StatusDocument::new(&chat))?;
    Ok(0)
}
