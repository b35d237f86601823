//! `sessions event`: one event in full, and its neighbours.

use crate::commands::Context;
use crate::commands::select::SessionAndSeq;
use crate::error::{Code, Failure};
use crate::model::surface::Placement;
use crate::output::documents::event::EventDocument;
use crate::output::documents::events::EventRecord;
use crate::output::documents::session::SessionDocument;
use crate::output::json::Js;
use clap::Args;

/// How many neighbours may be asked for on each side.
const MAX_WINDOW: u64 = 50;

/// The arguments.
#[derive(Debug, Args)]
#[command(override_usage = "dshkit sessions event [OPTIONS] <SESSION|--id ID> <SEQ>")]
#[command(before_long_help = "Examples:
  dshkit sessions event latest 12
  dshkit sessions event latest 12 --before 2 --after 5 --json")]
pub struct EventArgs {
    #[command(flatten)]
    target: SessionAndSeq,
    /// So many events before it, at most 50
    #[arg(long, value_name = "N", default_value_t = 0, allow_hyphen_values = true)]
    before: i64,
    /// So many events after it, at most 50
    #[arg(long, value_name = "N", default_value_t = 0, allow_hyphen_values = true)]
    after: i64,
}

pub(super) fn run(args: &EventArgs, context: &mut Context) -> anyhow::Result<u8> {
    let (before, after) = (window("before", args.before)?, window("after", args.after)?);
    let (session, seq) = args.target.split()?;
    let seq = seq.ok_or_else(|| Failure::new(Code::Usage, "the sequence number of an event is wanted"))?;
    let (corpus, catalog) = context.catalog()?;
    let record = session.find(&catalog)?;
    let first = seq.saturating_sub(before);
    let last = seq.saturating_add(after);
    let session_id = Js::from(record.id());
    let mut window = Vec::new();
    let summary = corpus.read(record, &mut |event, _| {
        if (first..=last).contains(&event.seq) {
            window.push((event.seq, EventRecord::of(&session_id, event, Placement::LogOnly, true)));
        }
    })?;
    let surface = summary.finished.surface.map_err(Failure::from)?;
    let placements = surface.placements();
    let place =
        |seq: &u64, event: &EventRecord| event.placed(placements.get(seq).copied().unwrap_or(Placement::LogOnly));
    let target = window.iter().find(|(at, _)| *at == seq).map(|(seq, event)| place(seq, event));
    let target = target.ok_or_else(|| {
        let message = format!(
            "the session {:?} has no event {}: it has {} events",
            record.id(),
            seq,
            summary.finished.logical_events
        );
        Failure::new(Code::EventNotFound, message)
    })?;
    let document = EventDocument {
        session: SessionDocument::of(record),
        target,
        start_seq: window.first().map_or(seq, |(seq, _)| *seq),
        end_seq: window.last().map_or(seq, |(seq, _)| *seq),
        events: window.iter().map(|(seq, event)| place(seq, event)).collect(),
    };
    context.output.document(&document)?;
    Ok(0)
}

fn window(name: &str, count: i64) -> Result<u64, Failure> {
    let valid = u64::try_from(count).ok().filter(|count| *count <= MAX_WINDOW);
    valid.ok_or_else(|| {
        Failure::new(
            Code::InvalidWindow,
            format!("--{name} must be a whole number from 0 to {MAX_WINDOW}, got {count}"),
        )
    })
}
