//! `sidechat fold`: the next conclusion of a side chat.

use super::commit::{self, CommitTerms};
use super::create::Lang;
use super::delivery_args::DeliveryArgs;
use super::model_args::ModelArgs;
use super::place::{OneChat, Place};
use super::revision_argument::revision;
use super::text_argument::{edited, from_file};
use crate::commands::Context;
use crate::error::{Code, Failure};
use crate::output::documents::sidechat::fold::FoldDocument;
use crate::output::documents::sidechat::prompt::PromptDocument;
use crate::projections::token_usage::Route;
use crate::sidechat::commit::require_good;
use crate::sidechat::fold::{Fold, FoldMode, Review};
use crate::sidechat::id::Id;
use crate::sidechat::language::Language;
use crate::sidechat::prepare::{self, Foldable, Prepared, checked_text};
use crate::sidechat::request::Request;
use crate::sidechat::structure::skeleton;
use crate::stores::steps::Unwatched;
use clap::Args;

/// The arguments.
#[derive(Debug, Args)]
#[command(before_long_help = "Examples:
  dshkit sidechat fold session-f2 --text message.md
  dshkit sidechat fold session-f2 --generate --edit --commit
  dshkit sidechat fold session-f2 --prompt | my_model")]
pub struct FoldArgs {
    #[command(flatten)]
    chat: OneChat,
    #[command(flatten)]
    source: SourceArgs,
    /// Edit the text in $VISUAL or $EDITOR; alone, that of the fold of --fold-id, or an empty form
    #[arg(long, conflicts_with = "prompt")]
    edit: bool,
    /// What the fold stands for
    #[arg(long, value_name = "MODE", value_enum, default_value_t)]
    mode: ModeArg,
    /// With --mode incremental: the committed revision it builds on
    #[arg(long, value_name = "REVISION", value_parser = revision)]
    base: Option<u64>,
    /// The fold's id, a UUID; one that was used before gives the same fold again [default: a new one]
    #[arg(long, value_name = "FOLD")]
    fold_id: Option<String>,
    /// Commit it at once
    #[arg(long, conflicts_with = "prompt")]
    commit: bool,
    /// The language a model is asked in, and of an empty form
    #[arg(long, value_name = "LANGUAGE", value_enum, default_value_t)]
    lang: Lang,
    /// Show what would be prepared, and change nothing; no model is asked
    #[arg(long)]
    dry_run: bool,
    /// With --commit: although the side chat has gone on
    #[arg(long, requires = "commit")]
    allow_stale: bool,
    #[command(flatten)]
    delivery: DeliveryArgs,
    #[command(flatten)]
    asking: ModelArgs,
    /// The model that is asked [default: the configured one, else that of the side chat's newest request, else the one
    /// it is meant for]
    #[arg(long, value_name = "MODEL", help_heading = "Asking a model")]
    model: Option<String>,
}

/// What a fold stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
enum ModeArg {
    /// The whole; it takes the place of every earlier one
    #[default]
    Full,
    /// What is new or has changed since --base
    Incremental,
}

/// Where the text comes from.
#[derive(Debug, Args)]
#[group(multiple = false)]
struct SourceArgs {
    /// Take the text of a file, or for `-` of standard input
    #[arg(long, value_name = "FILE")]
    text: Option<String>,
    /// Have a model write it
    #[arg(long)]
    generate: bool,
    /// Print what a model would be asked, to be given to any tool
    #[arg(long)]
    prompt: bool,
}

pub(super) fn run(args: &FoldArgs, context: &mut Context) -> anyhow::Result<u8> {
    let place = Place::of(context)?;
    let (ledger, child) = place.chat(&args.chat)?;
    let language = Language::from(args.lang);
    let given = args.fold_id.as_deref().map(Id::parse).transpose()?;
    let mode = mode(args)?;
    let foldable = prepare::foldable(&ledger, &place.sessions(), &child, mode)?;
    if args.source.prompt {
        return print_request(context, &foldable.request(language));
    }
    let old = match &given {
        Some(id) => prepare::existing(&ledger, id, &child)?,
        None => None,
    };
    drop(ledger);
    if foldable.reading.status.open_turn.is_some() {
        context.output.warn("the side chat's last turn has not ended; the fold will not hold what it still says");
    }
    let id = given.unwrap_or_else(Id::random);
    if args.dry_run {
        return trial(args, context, &foldable, language);
    }
    let work = Work { args, place: &place, foldable: &foldable, id: &id, language };
    let prepared = match &args.source.text {
        Some(file) => work.prepare(&work.edited_if_wanted(context, &from_file(file)?)?, context)?,
        None if args.source.generate => match old.filter(|old| old.prepared_text.is_some() && !args.edit) {
            // Nobody is asked for what is there, so nobody needs to be there to be asked.
            Some(fold) => foldable.same(fold)?,
            None => work.by_model(context)?,
        },
        None if args.edit => match old {
            Some(old) => work.edit(context, &old)?,
            None => work.prepare(&edited(context, &skeleton(language))?, context)?,
        },
        None => return Err(no_source().into()),
    };
    if let Some(reason) = &prepared.rewrite_failure {
        context.output.warn(&format!("the text is not as it must be, and was not written again: {reason}"));
    }
    if let Some(failure) = prepared.pointer_failure.as_ref().filter(|_| !args.commit) {
        context.output.warn(&format!("not yet to be committed: {failure}"));
    }
    if args.commit {
        let terms = CommitTerms { text: None, allow_stale: args.allow_stale, caller: None };
        return commit::run_with(&prepared.fold.id, &terms, &args.delivery, false, context);
    }
    let review = prepared.fold.text().map(|text| Review::in_language(text, language));
    for problem in review.iter().flat_map(|review| &review.problems) {
        context.output.warn(&format!("not yet to be committed: {problem}"));
    }
    if review.as_ref().is_some_and(|review| !review.fits()) {
        context.output.warn("not yet to be committed: the fold is longer than its budget");
    }
    context.output.document(&FoldDocument::of(&prepared, &foldable.chat))?;
    Ok(0)
}

/// Says what a text would be worth.
fn trial(args: &FoldArgs, context: &mut Context, foldable: &Foldable, language: Language) -> anyhow::Result<u8> {
    let text = match &args.source.text {
        Some(file) => from_file(file)?,
        None if args.source.generate => {
            args.asking.route(args.model.as_ref(), route(foldable), context)?;
            return print_request(context, &foldable.request(language));
        }
        None => return Err(no_source().into()),
    };
    let text = checked_text(&text)?;
    if args.commit {
        require_committable(foldable, text)?;
    }
    context.output.document(&FoldDocument::trial(foldable, text))?;
    Ok(0)
}

/// Refuses a text that could not be committed: who wants both wants both or nothing.
fn require_committable(foldable: &Foldable, text: &str) -> Result<(), Failure> {
    require_good(text)?;
    foldable.pointers(text).map(drop)
}

/// Prints what a model would be asked, as a filter does.
fn print_request(context: &mut Context, request: &Request) -> anyhow::Result<u8> {
    let format = context.output.filter_format();
    context.output.document_as(format, &PromptDocument::of(request))?;
    Ok(0)
}

fn mode(args: &FoldArgs) -> Result<FoldMode, Failure> {
    match (args.mode, args.base) {
        (ModeArg::Full, None) => Ok(FoldMode::Full),
        (ModeArg::Incremental, Some(base)) => Ok(FoldMode::Incremental { base }),
        (ModeArg::Full, Some(_)) => Err(Failure::new(Code::Usage, "--base goes with --mode incremental")),
        (ModeArg::Incremental, None) => Err(Failure::new(Code::Usage, "--mode incremental needs --base REVISION")),
    }
}

/// The model that is asked if nobody names one.
fn route(foldable: &Foldable) -> Option<&Route> {
    foldable.reading.route.as_ref().or(foldable.chat.model.route.as_ref())
}

fn no_source() -> Failure {
    Failure::new(Code::Usage, "nothing says where the text of the fold comes from")
        .hint("say --text FILE, --generate, --edit, or --prompt")
}

/// What a fold is prepared with.
struct Work<'w> {
    args: &'w FoldArgs,
    place: &'w Place,
    foldable: &'w Foldable,
    id: &'w Id,
    language: Language,
}

impl Work<'_> {
    fn edited_if_wanted(&self, context: &Context, text: &str) -> Result<String, Failure> {
        if self.args.edit { edited(context, text) } else { Ok(text.to_owned()) }
    }

    fn prepare(&self, text: &str, context: &Context) -> Result<Prepared, Failure> {
        let text = checked_text(text)?;
        if self.args.commit {
            require_committable(self.foldable, text)?;
        }
        prepare::from_text(&self.place.home, self.foldable, self.id, text, context.env.now, &mut Unwatched)
    }

    fn by_model(&self, context: &Context) -> Result<Prepared, Failure> {
        let (home, now) = (&self.place.home, context.env.now);
        let asker = self.args.asking.asker(self.args.model.as_ref(), route(self.foldable), context)?;
        let mut ask = |request: &_| {
            let _waiting = context.output.waiting("waiting for the model");
            asker.ask(request)
        };
        let prepared = prepare::by_model(home, self.foldable, self.id, self.language, now, &mut ask, &mut Unwatched)?;
        if self.args.edit { self.edit(context, &prepared.fold) } else { Ok(prepared) }
    }

    fn edit(&self, context: &Context, old: &Fold) -> Result<Prepared, Failure> {
        prepare::require_editable(old)?;
        let text = edited(context, old.text().unwrap_or(&skeleton(self.language)))?;
        let text = checked_text(&text)?;
        prepare::edit(&self.place.home, self.foldable, &old.id, text, context.env.now, &mut Unwatched)
    }
}
