//! `sidechat deliver`: finishing what is pending.

use super::delivery_args::{DeliveryArgs, delay_of};
use super::place::Place;
use crate::commands::Context;
use crate::error::{Code, Failure};
use crate::output::documents::sidechat::deliver::DeliverDocument;
use crate::sidechat::deliver::{Done, deliver, pending};
use crate::sidechat::delivery::Delivered;
use crate::stores::steps::Unwatched;
use clap::Args;

/// The arguments.
#[derive(Debug, Args)]
#[command(before_long_help = "Examples:
  dshkit sidechat deliver
  dshkit sidechat deliver --parent latest --dry-run")]
pub struct DeliverArgs {
    /// Only what is for this session
    #[arg(long, value_name = "SESSION")]
    parent: Option<String>,
    /// Show what is pending, and change nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    delivery: DeliveryArgs,
}

pub(super) fn run(args: &DeliverArgs, context: &mut Context) -> anyhow::Result<u8> {
    let place = Place::of(context)?;
    let parent = place.session_if(args.parent.as_ref())?;
    if args.dry_run {
        let pending = match place.ledger()? {
            Some(ledger) => pending(&ledger, parent)?,
            None => Vec::new(),
        };
        context.output.document(&DeliverDocument::trial(&pending))?;
        return Ok(0);
    }
    if !place.has_ledger() {
        context.output.document(&DeliverDocument::of(&[]))?;
        return Ok(0);
    }
    let mut done: Vec<Done> = Vec::new();
    let waiting = args.delivery.patiently(
        |waiting: &Vec<Done>| waiting.iter().filter_map(|done| delay_of(delivered(done))).collect(),
        |terms| {
            let now = deliver(&place.home, &place.corpus, parent, terms, &mut Unwatched)?;
            let (waiting, finished) = now.into_iter().partition(|done| delay_of(delivered(done)).is_some());
            done.extend::<Vec<Done>>(finished);
            Ok(waiting)
        },
    )?;
    done.extend(waiting);
    context.output.document(&DeliverDocument::of(&done))?;
    let mut failures = done.iter().filter_map(|done| match done {
        Done::Fold(_, Err(failure)) | Done::Cite(_, Err(failure)) | Done::Withdrawal(_, Err(failure)) => Some(failure),
        _ => None,
    });
    // What is for a parent that is gone waits for its return, and is not in the way of the rest.
    let is_lasting = |failure: &&Failure| matches!(failure.code, Code::Orphaned | Code::RelationInvalid);
    let lasting: Vec<String> = failures.clone().filter(is_lasting).map(|failure| failure.message.clone()).collect();
    for message in &lasting {
        context.output.warn(&format!("pending: {message}"));
    }
    if let Some(failure) = failures.find(|failure| !is_lasting(failure)) {
        return Err(failure.clone().into());
    }
    let delays: Vec<_> = done.iter().filter_map(|done| delay_of(delivered(done))).collect();
    Ok(args.delivery.finish(context, &delays)?)
}

fn delivered(done: &Done) -> Option<&Delivered> {
    match done {
        Done::Fold(_, Ok(delivered)) | Done::Cite(_, Ok(delivered)) | Done::Withdrawal(_, Ok(delivered)) => {
            Some(delivered)
        }
        Done::Fold(..) | Done::Cite(..) | Done::Withdrawal(..) | Done::Unfinished(_) => None,
    }
}
