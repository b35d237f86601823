//! `reference prepare`

mod prepare;

use super::Context;
use clap::Subcommand;

/// What to do with references.
#[derive(Debug, Subcommand)]
pub enum ReferenceCommand {
    /// A message with its mentions turned into background an agent can use
    Prepare(prepare::PrepareArgs),
}

pub(super) fn run(command: ReferenceCommand, context: &mut Context) -> anyhow::Result<u8> {
    match command {
        ReferenceCommand::Prepare(args) => prepare::run(&args, context),
    }
}
