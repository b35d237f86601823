//! `sidechat show`: a side chat, what it was given, and what came of it.

use super::place::{OneChat, Place};
use crate::commands::Context;
use crate::output::documents::sidechat::show::ShowDocument;
use crate::sidechat::fold::{Fold, unfounded};
use crate::sidechat::listing::one;
use clap::Args;

/// The arguments.
#[derive(Debug, Args)]
#[command(before_long_help = "Examples:
  dshkit sidechat show session-f2
  dshkit sidechat show session-f2 --json | jq '.replies[].messageId'")]
pub struct ShowArgs {
    #[command(flatten)]
    chat: OneChat,
}

/// Tells people that the current revision is half a conclusion, if it is.
pub(super) fn warn_of_unfounded(folds: &[Fold], context: &mut Context) {
    if let Some(revision) = unfounded(folds) {
        context.output.warn(&format!(
            "revision {revision} is current and builds on a withdrawn one; a full fold would take the place of both"
        ));
    }
}

pub(super) fn run(args: &ShowArgs, context: &mut Context) -> anyhow::Result<u8> {
    let place = Place::of(context)?;
    let (known, child) = place.known_chat(&args.chat, context)?;
    let listed = one(&known, &place.sessions(), &child)?;
    warn_of_unfounded(&listed.folds, context);
    context.output.document(&ShowDocument::new(&listed))?;
    Ok(0)
}
