//! `sidechat hide` and `unhide`: whether `sessions list --hide-sidechats` leaves a side chat out.

use super::place::{OneChat, Place};
use crate::commands::Context;
use crate::output::documents::sidechat::hide::HideDocument;
use crate::sidechat::chat::Chat;
use crate::sidechat::lifecycle::hide;
use crate::sidechat::relation::chat_of;
use crate::stores::steps::Unwatched;
use clap::Args;

/// The arguments.
#[derive(Debug, Args)]
pub struct HideArgs {
    #[command(flatten)]
    chat: OneChat,
    /// Show what would become of it, and change nothing
    #[arg(long)]
    dry_run: bool,
}

pub(super) fn run(args: &HideArgs, is_hidden: bool, context: &mut Context) -> anyhow::Result<u8> {
    let place = Place::of(context)?;
    let (ledger, child) = place.chat(&args.chat)?;
    if args.dry_run {
        let chat = Chat { is_hidden, ..chat_of(&ledger, &child)? };
        context.output.document(&HideDocument::trial(&chat))?;
        return Ok(0);
    }
    drop(ledger);
    let chat = hide(&place.home, &child, is_hidden, &mut Unwatched)?;
    context.output.document(&HideDocument::new(&chat))?;
    Ok(0)
}
