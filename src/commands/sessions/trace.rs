//! `sessions trace`: where a session or an event came from, and what came of it.

use crate::commands::Context;
use crate::commands::select::OneSession;
use crate::error::{Code, Failure};
use crate::output::documents::trace::{TraceDocument, TraceEventDocument};
use crate::query::lineage::lineage;
use crate::query::trace::trace;
use clap::Args;

/// The arguments.
#[derive(Debug, Args)]
#[command(override_usage = "dshkit sessions trace [OPTIONS] <SESSION|--id ID> [SEQ]")]
pub struct TraceArgs {
    /// The session, and one of its events by sequence number; without that, its forks and sub-agents
    #[arg(value_names = ["SESSION", "SEQ"], num_args = 0..=2, required_unless_present = "id")]
    named: Vec<String>,
    /// The session, by its id, even if that begins with a dash
    #[arg(long, value_name = "ID", allow_hyphen_values = true)]
    id: Option<String>,
}

impl TraceArgs {
    /// The session, and the event if one is named.
    fn split(&self) -> Result<(OneSession, Option<u64>), Failure> {
        let (session, seq) = match (&self.id, &self.named[..]) {
            (None, [session]) => (OneSession::named(session), None),
            (None, [session, seq]) => (OneSession::named(session), Some(seq)),
            (Some(id), []) => (OneSession::with_id(id), None),
            (Some(id), [seq]) => (OneSession::with_id(id), Some(seq)),
            _ => return Err(Failure::new(Code::Usage, "name one session and at most one event of it")),
        };
        let number = |seq: &String| {
            let message = || format!("{seq:?} is no sequence number");
            seq.parse().map_err(|_| Failure::new(Code::Usage, message()))
        };
        Ok((session, seq.map(number).transpose()?))
    }
}

pub(super) fn run(args: &TraceArgs, context: &mut Context) -> anyhow::Result<u8> {
    let (session, seq) = args.split()?;
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
