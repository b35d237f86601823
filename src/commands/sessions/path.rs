//! `sessions path`: the log files of sessions.

use crate::commands::Context;
use crate::commands::select::ManySessions;
use crate::output::Format;
use crate::output::documents::path::PathDocument;
use clap::Args;

/// The arguments.
#[derive(Debug, Args)]
#[command(before_long_help = "Examples:
  dshkit sessions path latest
  dshkit sessions path -0 | xargs -0 ls -l")]
pub struct PathArgs {
    #[command(flatten)]
    sessions: ManySessions,
    /// Paths end with NUL and not with a line feed
    #[arg(short = '0', long)]
    null: bool,
}

pub(super) fn run(args: &PathArgs, context: &mut Context) -> anyhow::Result<u8> {
    let (_, catalog) = context.catalog()?;
    let document = PathDocument::of(&args.sessions.find(&catalog)?);
    let format = context.output.filter_format();
    if format == Format::Text && (args.null || !context.output.is_terminal()) {
        context.output.raw(&document.bytes(if args.null { b'\0' } else { b'\n' }))?;
    } else {
        context.output.document_as(format, &document)?;
    }
    Ok(0)
}
