//! `sidechat usage`: what a side chat cost.

use super::place::{OneChat, Place};
use crate::commands::Context;
use crate::output::documents::sidechat::usage::UsageDocument;
use crate::sidechat::usage::report;
use clap::Args;

/// The arguments.
#[derive(Debug, Args)]
#[command(before_long_help = "Examples:
  dshkit sidechat usage session-f2")]
pub struct UsageArgs {
    #[command(flatten)]
    chat: OneChat,
}

pub(super) fn run(args: &UsageArgs, context: &mut Context) -> anyhow::Result<u8> {
    let place = Place::of(context)?;
    let (known, child) = place.known_chat(&args.chat, context)?;
    let report = report(&known, &place.sessions(), &child)?;
    context.output.document(&UsageDocument::of(&report))?;
    Ok(0)
}
