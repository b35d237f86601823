//! `sidechat withdraw`: a committed conclusion taken back.

use super::delivery_args::{DeliveryArgs, delay_of};
use super::place::Place;
use super::show::warn_of_unfounded;
use super::text_argument::or_stdin;
use crate::commands::Context;
use crate::output::documents::sidechat::withdraw::WithdrawDocument;
use crate::sidechat::id::Id;
use crate::sidechat::withdraw::{Wanted, Withdrawn, examine, withdraw};
use crate::stores::steps::Unwatched;
use clap::Args;

/// The arguments.
#[derive(Debug, Args)]
#[command(before_long_help = "Examples:
  dshkit sidechat withdraw 6f1c2a3b-7d5e-4c1a-9b8d-0e2f4a6c8b1d --reason 'The letter was from last year.'")]
pub struct WithdrawArgs {
    /// The fold, by its id
    #[arg(value_name = "COMMITTED_FOLD")]
    fold: String,
    /// Why, for whoever reads the parent; `-`: what standard input says
    #[arg(long, value_name = "TEXT")]
    reason: String,
    /// Only if this session is the parent
    #[arg(long, value_name = "SESSION")]
    parent: Option<String>,
    /// Show what would be written, and change nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    delivery: DeliveryArgs,
}

pub(super) fn run(args: &WithdrawArgs, context: &mut Context) -> anyhow::Result<u8> {
    let id = Id::parse(&args.fold)?;
    let reason = or_stdin(&args.reason)?;
    let place = Place::of(context)?;
    let wanted = Wanted { reason: &reason, caller: place.session_if(args.parent.as_ref())? };
    let ledger = place.ledger_of_fold(&id)?;
    let trial = examine(&ledger, &place.sessions(), &id, &wanted, &args.delivery.terms(context))?;
    if args.dry_run {
        context.output.document(&WithdrawDocument::trial(&trial))?;
        return Ok(0);
    }
    let withdrawn = args.delivery.patiently(
        |withdrawn: &Withdrawn| delay_of(withdrawn.delivered.as_ref()).into_iter().collect(),
        |terms| withdraw(&place.home, &place.corpus, &id, &wanted, terms, &mut Unwatched),
    )?;
    if withdrawn.withdrawal.reason != reason.trim() {
        context.output.warn("it was withdrawn before, and keeps its first reason");
    }
    warn_of_unfounded(&place.ledger()?.map_or(Ok(Vec::new()), |ledger| ledger.folds(&withdrawn.fold.child))?, context);
    context.output.document(&WithdrawDocument::of(&withdrawn))?;
    let delays: Vec<_> = delay_of(withdrawn.delivered.as_ref()).into_iter().collect();
    Ok(args.delivery.finish(context, &delays)?)
}
