//! `sidechat create`: a side chat of a session.

use super::model_args::{ModelArgs, is_name};
use super::place::Place;
use super::text_argument::or_stdin;
use crate::commands::Context;
use crate::error::{Code, Failure};
use crate::model::js_string::JsString;
use crate::output::documents::sidechat::create::CreateDocument;
use crate::output::documents::sidechat::preview::PreviewDocument;
use crate::projections::token_usage::Route;
use crate::sidechat::chat::PermissionMode;
use crate::sidechat::create::{Wanted, WantedModel, draft};
use crate::sidechat::language::Language;
use crate::sidechat::seed;
use crate::stores::steps::Unwatched;
use clap::{Args, ValueEnum};

/// The arguments.
#[derive(Debug, Args)]
#[command(before_long_help = "Examples:
  dshkit sidechat create --parent latest --question 'Is the new key safe?'
  dshkit sidechat create --parent session-c3 --seed task --model-command my_model --question - < message.md")]
pub struct CreateArgs {
    /// The session it belongs to
    #[arg(long, value_name = "SESSION")]
    parent: String,
    /// What is to be cleared up; `-`: standard input
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    question: String,
    /// What it is given of its parent: none, tail:1, tail:2, tail:4, pick:ID,ID,..., turn:N,
    /// selection:ID:START-END; or task or summary:ID,ID,..., which ask a model
    #[arg(long, value_name = "SEED", default_value = "tail:1", allow_hyphen_values = true)]
    seed: String,
    /// What it may do
    #[arg(long, value_name = "WHAT", value_enum, default_value_t)]
    permission: Permission,
    /// The model it is meant for: inherit (that of its parent), default (that of dsh), or PROVIDER/MODEL
    #[arg(long, value_name = "MODEL", default_value = "inherit")]
    model: String,
    /// Its title [default: the beginning of the question]
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    title: Option<String>,
    /// The language of the sentences around seed and question
    #[arg(long, value_name = "LANGUAGE", value_enum, default_value_t)]
    lang: Lang,
    /// Show what would be made, and make nothing; no model is asked
    #[arg(long)]
    dry_run: bool,
    /// Show the text it would begin with, how long that is, and what a model would be asked; make nothing
    #[arg(long, conflicts_with = "dry_run")]
    preview: bool,
    #[command(flatten)]
    asking: ModelArgs,
    /// The model that writes the context of a task or a summary [default: the configured one, else for a task that of
    /// the parent's newest request, for a summary the one the side chat is meant for]
    #[arg(long, value_name = "MODEL", help_heading = "Asking a model")]
    task_model: Option<String>,
}

/// What a side chat may do.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum Permission {
    /// Read, and ask for nothing
    #[default]
    Readonly,
    /// What its parent may
    Inherit,
}

/// Languages.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(super) enum Lang {
    /// Chinese
    #[default]
    Zh,
    /// English
    En,
}

impl From<Lang> for Language {
    fn from(lang: Lang) -> Language {
        match lang {
            Lang::Zh => Language::Chinese,
            Lang::En => Language::English,
        }
    }
}

pub(super) fn run(args: &CreateArgs, context: &mut Context) -> anyhow::Result<u8> {
    let wanted = Wanted {
        question: or_stdin(&args.question)?,
        title: args.title.clone(),
        seed: seed::parse(&args.seed)?,
        permission: match args.permission {
            Permission::Readonly => PermissionMode::ReadOnly,
            Permission::Inherit => PermissionMode::Inherit,
        },
        model: model(&args.model)?,
        language: args.lang.into(),
    };
    let place = Place::of(context)?;
    let parent = place.session(&args.parent)?;
    let mut draft = draft(&place.corpus, parent, &wanted, context.env.now)?;
    if let Some(call) = draft.call() {
        args.asking.route(args.task_model.as_ref(), call.route.as_ref(), context)?;
    }
    if args.dry_run {
        context.output.document(&CreateDocument::trial(&draft))?;
        return Ok(0);
    }
    if args.preview {
        context.output.document(&PreviewDocument::of(&draft))?;
        return Ok(0);
    }
    if let Some(call) = draft.call() {
        let asker = args.asking.asker(args.task_model.as_ref(), call.route.as_ref(), context)?;
        let waiting = context.output.waiting("waiting for the model");
        draft.fill_in(&mut |request| asker.ask(request))?;
        drop(waiting);
    }
    let trial = CreateDocument::trial(&draft);
    let text = draft.text.clone();
    match draft.publish(&place.home, &place.corpus, &mut Unwatched) {
        Ok(chat) => context.output.document(&CreateDocument::of(&chat, &text))?,
        Err(failure) => {
            // What no session can be made of can still be pasted into one.
            if failure.code == Code::DatabaseStore {
                context.output.document(&trial)?;
            }
            return Err(failure.into());
        }
    }
    Ok(0)
}

fn model(text: &str) -> Result<WantedModel, Failure> {
    let js = |text: &str| JsString::from(text.to_owned());
    match (text, text.split_once('/')) {
        ("inherit", _) => Ok(WantedModel::Inherit),
        ("default", _) => Ok(WantedModel::Default),
        (_, Some((provider, model))) if is_name(provider) && is_name(model) => {
            Ok(WantedModel::Named(Route { provider: js(provider), model: js(model) }))
        }
        _ => Err(Failure::new(Code::BadRequest, format!("{text:?} is no model"))
            .hint("there are inherit, default, and PROVIDER/MODEL")),
    }
}
