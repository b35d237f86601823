//! `reference prepare | candidates | expand`

mod candidates;
mod expand;
mod prepare;

use super::{Context, select};
use crate::corpus::Selector;
use crate::error::Failure;
use crate::model::js_string::{JsStr, JsString};
use clap::Subcommand;

/// What to do with references.
#[derive(Debug, Subcommand)]
pub enum ReferenceCommand {
    /// A message with its mentions turned into background an agent can use
    Prepare(prepare::PrepareArgs),
    /// The sessions a conversation could refer to, the likeliest first
    Candidates(candidates::CandidatesArgs),
    /// The messages in a file that `prepare --spill` saved
    Expand(expand::ExpandArgs),
}

pub(super) fn run(command: ReferenceCommand, context: &mut Context) -> anyhow::Result<u8> {
    match command {
        ReferenceCommand::Prepare(args) => prepare::run(&args, context),
        ReferenceCommand::Candidates(args) => candidates::run(&args, context),
        ReferenceCommand::Expand(args) => expand::run(&args, context),
    }
}

/// The target is an id as it stands, or an identifier that names one.
fn target(text: &str) -> Result<JsString, Failure> {
    match select::parse(text)? {
        Selector::Exactly(id) => Ok(id),
        _ => Ok(JsStr::from(text).into_owned()),
    }
}
