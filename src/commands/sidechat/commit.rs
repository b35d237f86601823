//! `sidechat commit`: a prepared conclusion into the parent.

use super::delivery_args::{DeliveryArgs, delay_of};
use super::place::Place;
use super::text_argument::from_file;
use crate::commands::Context;
use crate::error::Code;
use crate::output::documents::sidechat::commit::CommitDocument;
use crate::sidechat::commit::{Committed, Wanted, commit, examine};
use crate::sidechat::id::Id;
use crate::stores::steps::Unwatched;
use clap::Args;

/// The arguments.
#[derive(Debug, Args)]
#[command(before_long_help = "Examples:
  dshkit sidechat commit 6f1c2a3b-7d5e-4c1a-9b8d-0e2f4a6c8b1d
  dshkit sidechat commit 6f1c2a3b-7d5e-4c1a-9b8d-0e2f4a6c8b1d --wait 60 --require-delivered")]
pub struct CommitArgs {
    /// The fold, by its id
    #[arg(value_name = "FOLD")]
    fold: String,
    /// Commit the text of this file, or for `-` of standard input, instead of the prepared one
    #[arg(long, value_name = "FILE")]
    text: Option<String>,
    /// Although the side chat has gone on since it was prepared
    #[arg(long)]
    allow_stale: bool,
    /// Only if this session is the parent
    #[arg(long, value_name = "SESSION")]
    parent: Option<String>,
    /// Show what would be written, and change nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    delivery: DeliveryArgs,
}

/// What is wanted of a commit.
pub(super) struct CommitTerms<'t> {
    pub(super) text: Option<&'t str>,
    pub(super) allow_stale: bool,
    pub(super) caller: Option<&'t String>,
}

pub(super) fn run(args: &CommitArgs, context: &mut Context) -> anyhow::Result<u8> {
    let id = Id::parse(&args.fold)?;
    let text = args.text.as_deref().map(from_file).transpose()?;
    let terms = CommitTerms { text: text.as_deref(), allow_stale: args.allow_stale, caller: args.parent.as_ref() };
    run_with(&id, &terms, &args.delivery, args.dry_run, context)
}

/// Commits a fold and tells what became of it.
pub(super) fn run_with(
    id: &Id,
    terms: &CommitTerms<'_>,
    delivery: &DeliveryArgs,
    is_trial: bool,
    context: &mut Context,
) -> anyhow::Result<u8> {
    let place = Place::of(context)?;
    let wanted = Wanted { text: terms.text, allow_stale: terms.allow_stale, caller: place.session_if(terms.caller)? };
    let ledger = place.ledger_of_fold(id)?;
    if is_trial {
        let committed = examine(&ledger, &place.sessions(), id, &wanted, &delivery.terms(context))?;
        context.output.document(&CommitDocument::trial(&committed))?;
        return Ok(0);
    }
    let result = delivery.patiently(
        |committed: &Committed| delay_of(committed.delivered.as_ref()).into_iter().collect(),
        |terms| commit(&place.home, &place.corpus, id, &wanted, terms, &mut Unwatched),
    );
    match result {
        Ok(committed) => {
            context.output.document(&CommitDocument::of(&committed))?;
            let delays: Vec<_> = delay_of(committed.delivered.as_ref()).into_iter().collect();
            Ok(delivery.finish(context, &delays)?)
        }
        Err(failure) => {
            // What cannot be written into the session can still be pasted there.
            if matches!(failure.code, Code::DatabaseStore | Code::GenerationNotWritten)
                && let Some(fold) = ledger.fold(id)?
                && let Some(chat) = ledger.chat(&fold.child)?
            {
                let text = terms.text.or(fold.text()).unwrap_or_default();
                let notice = crate::sidechat::delivery::fold_notice(&chat, &fold, text);
                context.output.document(&CommitDocument::refused(&chat, &fold, &notice))?;
            }
            Err(failure.into())
        }
    }
}
