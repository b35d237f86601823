//! `sessions trace`: where a session or an event came from, and what came of it.

use crate::commands::Context;
use crate::commands::select::OneSession;
use crate::error::{Code, Failure};
use crate::output::documents::trace::{TraceDocument, TraceEventDocument};
use crate::query::lineage::lineage;
use crate::query::trace::trace;
use clap::Args;

/// The arguments. With `--id`, the one word that is left is a seq; clap cannot tell these two apart.
#[derive(Debug, Args)]
pub struct TraceArgs {
    /// The session
    #[arg(value_name = "SESSION", required_unless_present = "id")]
    selector: Option<String>,
    /// One of its events, by sequence number; without it, the session's forks and sub-agents
    #[arg(value_name = "SEQ")]
    seq: Option<String>,
    /// The session, by its id, even if that begins with a dash
    #[arg(long, value_name = "ID", conflicts_with = "seq", allow_hyphen_values = true)]
    id: Option<String>,
}

impl TraceArgs {
    /// The session, and the event if one is meant.
    fn resolve(&self) -> Result<(OneSession, Option<u64>), Failure> {
        let (selector, seq) = if self.id.is_some() { (&None, &self.selector) } else { (&self.selector, &self.seq) };
        let number = |text: &String| {
            text.parse().map_err(|_| Failure::new(Code::Usage, format!("{text:?} is no sequence number of an event")))
        };
        let seq = seq.as_ref().map(number).transpose()?;
        Ok((OneSession::of(selector.clone(), self.id.clone()), seq))
    }
}

pub(super) fn run(args: &TraceArgs, context: &mut Context) -> anyhow::Result<u8> {
    let (session, seq) = args.resolve()?;
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
