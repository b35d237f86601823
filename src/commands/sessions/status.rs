//! `sessions status`: whether a session's last turn came to its end.

use crate::commands::Context;
use crate::commands::select::OneSession;
use crate::error::Code;
use crate::generations::Item;
use crate::output::documents::status::StatusDocument;
use crate::query::status::StatusFold;
use clap::Args;

/// The arguments.
#[derive(Debug, Args)]
#[command(before_long_help = "Examples:
  dshkit sessions status latest
  dshkit sessions status latest --exit-code || echo \"the job did not end well\"")]
pub struct StatusArgs {
    #[command(flatten)]
    session: OneSession,
    /// Exit with 0 only if the last turn completed, else with 1
    #[arg(long)]
    exit_code: bool,
}

pub(super) fn run(args: &StatusArgs, context: &mut Context) -> anyhow::Result<u8> {
    let (corpus, catalog) = context.catalog()?;
    let record = args.session.find(&catalog)?;
    let mut fold = StatusFold::default();
    let summary = corpus.read_items(record, context.mode(), &mut |item| {
        if let Item::Event(event, _) = item {
            fold.apply(event);
        }
    })?;
    for warning in &summary.warnings {
        context.output.warn_problem(warning);
    }
    let status = fold.finish();
    context.output.document(&StatusDocument::of(record, &status))?;
    if args.exit_code && !status.is_completed() {
        return Ok(Code::NothingFound.status());
    }
    Ok(context.status_with_problems(!summary.warnings.is_empty()))
}
