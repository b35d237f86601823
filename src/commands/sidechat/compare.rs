//! `sidechat compare`: how two revisions differ.

use super::place::{OneChat, Place};
use super::revision_argument::revision;
use crate::commands::Context;
use crate::output::documents::sidechat::compare::CompareDocument;
use crate::sidechat::compare::{caveat, compare};
use clap::Args;

/// The arguments.
#[derive(Debug, Args)]
#[command(before_long_help = "Examples:
  dshkit sidechat compare session-5f 1 2")]
pub struct CompareArgs {
    #[command(flatten)]
    chat: OneChat,
    /// A revision
    #[arg(value_name = "REVISION", value_parser = revision)]
    from: u64,
    /// The revision it is compared with
    #[arg(value_name = "REVISION", value_parser = revision)]
    to: u64,
}

pub(super) fn run(args: &CompareArgs, context: &mut Context) -> anyhow::Result<u8> {
    let place = Place::of(context)?;
    let (known, child) = place.known_chat(&args.chat, context)?;
    let comparison = compare(&known, &child, args.from, args.to)?;
    for fold in [&comparison.from, &comparison.to] {
        if let Some(caveat) = caveat(fold) {
            context.output.warn(&format!("revision {} is {caveat}", fold.revision));
        }
    }
    context.output.document(&CompareDocument::of(&comparison))?;
    Ok(0)
}
