//! `sessions trace`: where a session or an event came from, and what came of it.

use crate::commands::Context;
use crate::commands::select::OneSession;
use crate::output::documents::trace::{TraceDocument, TraceEventDocument};
use crate::query::lineage::lineage;
use crate::query::trace::trace;
use clap::Args;

/// The arguments.
#[derive(Debug, Args)]
#[command(allow_missing_positional = true)]
pub struct TraceArgs {
    #[command(flatten)]
    session: OneSession,
    /// One of its events, by sequence number; without it, the session's forks and sub-agents
    #[arg(value_name = "SEQ")]
    seq: Option<u64>,
}

pub(super) fn run(args: &TraceArgs, context: &mut Context) -> anyhow::Result<u8> {
    let (corpus, catalog) = context.catalog()?;
    let record = args.session.find(&catalog)?;
    match args.seq {
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
