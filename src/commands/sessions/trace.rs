//! `sessions trace`: where a session or an event came from, and what came of it.

use crate::commands::Context;
use crate::commands::select::SessionAndSeq;
use crate::output::documents::trace::{TraceDocument, TraceEventDocument};
use crate::query::lineage::lineage;
use crate::query::trace::trace;
use clap::Args;

/// The arguments.
#[derive(Debug, Args)]
#[command(override_usage = "dshkit sessions trace [OPTIONS] <SESSION|--id ID> [SEQ]")]
#[command(before_long_help = "Examples:
  dshkit sessions trace latest
  dshkit sessions trace latest 64")]
pub struct TraceArgs {
    #[command(flatten)]
    target: SessionAndSeq,
}

pub(super) fn run(args: &TraceArgs, context: &mut Context) -> anyhow::Result<u8> {
    let (session, seq) = args.target.split()?;
    let (corpus, catalog) = context.catalog()?;
    let record = session.find(&catalog)?;
    match seq {
        Some(seq) => {
            let trace = trace(&corpus, record, seq)?;
            context.output.document(&TraceEventDocument::of(record, trace))?;
        }
        None => {
            let lineage = lineage(&catalog, record)?;
            context.output.document(&TraceDocument::of(&lineage))?;
        }
    }
    Ok(0)
}
