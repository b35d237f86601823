//! `sidechat resume`: how to open a side chat in dsh.

use super::place::{OneChat, Place};
use crate::commands::Context;
use crate::output::documents::sidechat::resume::ResumeDocument;
use crate::sidechat::listing::one;
use clap::Args;

/// The arguments.
#[derive(Debug, Args)]
#[command(before_long_help = "Examples:
  dshkit sidechat resume session-f2
  dshkit sidechat resume session-f2 --json | jq -r .command")]
pub struct ResumeArgs {
    #[command(flatten)]
    chat: OneChat,
}

pub(super) fn run(args: &ResumeArgs, context: &mut Context) -> anyhow::Result<u8> {
    let place = Place::of(context)?;
    let (known, child) = place.known_chat(&args.chat, context)?;
    let listed = one(&known, &place.sessions(), &child)?;
    // A side chat whose log is gone cannot be opened.
    if let Err(failure) = listed.log {
        return Err(failure.into());
    }
    context.output.document(&ResumeDocument::new(&listed))?;
    Ok(0)
}
