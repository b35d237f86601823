//! `sidechat tree`: side chats of side chats.

use super::place::Place;
use crate::commands::Context;
use crate::output::documents::sidechat::tree::TreeDocument;
use crate::sidechat::tree::tree;
use clap::Args;

/// The arguments.
#[derive(Debug, Args)]
#[command(before_long_help = "Examples:
  dshkit sidechat tree
  dshkit sidechat tree session-c3")]
pub struct TreeArgs {
    /// The session whose side chats are shown, theirs, and so on [default: all]
    #[arg(value_name = "SESSION")]
    root: Option<String>,
}

pub(super) fn run(args: &TreeArgs, context: &mut Context) -> anyhow::Result<u8> {
    let place = Place::of(context)?;
    let known = place.known(context)?;
    let root = args.root.as_deref().map(|root| place.parent(&known, root)).transpose()?;
    let nodes = tree(&known, &place.sessions(), root.as_ref())?;
    context.output.document(&TreeDocument::new(&nodes, &known.plugin))?;
    Ok(context.status_with_problems(!known.plugin.problems.is_empty()))
}
