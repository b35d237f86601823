//! `sidechat cites`: who quotes a side chat.

use super::place::{OneChat, Place};
use crate::commands::Context;
use crate::output::documents::sidechat::cites::CitesDocument;
use crate::sidechat::cite::citations;
use clap::Args;

/// The arguments.
#[derive(Debug, Args)]
#[command(before_long_help = "Examples:
  dshkit sidechat cites session-5f")]
pub struct CitesArgs {
    #[command(flatten)]
    chat: OneChat,
}

pub(super) fn run(args: &CitesArgs, context: &mut Context) -> anyhow::Result<u8> {
    let place = Place::of(context)?;
    let (known, child) = place.known_chat(&args.chat, context)?;
    let (chat, cites) = citations(&known, &place.sessions(), &child)?;
    context.output.document(&CitesDocument::new(&chat, &cites))?;
    Ok(0)
}
