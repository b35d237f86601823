//! `sidechat catalog`: the side chats of a directory, or all.

use super::place::Place;
use crate::commands::Context;
use crate::env;
use crate::error::{Code, Failure};
use crate::model::js_string::JsString;
use crate::output::documents::sidechat::list::CatalogDocument;
use crate::sidechat::listing::catalog;
use clap::Args;

/// The arguments.
#[derive(Debug, Args)]
#[command(before_long_help = "Examples:
  dshkit sidechat catalog
  dshkit sidechat catalog --cwd . --jsonl")]
pub struct CatalogArgs {
    /// Only those of this working directory; `.`: the current one
    #[arg(long, value_name = "DIR")]
    cwd: Option<String>,
    /// Those of this session first
    #[arg(long, value_name = "SESSION")]
    parent: Option<String>,
}

pub(super) fn run(args: &CatalogArgs, context: &mut Context) -> anyhow::Result<u8> {
    let place = Place::of(context)?;
    let cwd = match args.cwd.as_deref() {
        Some(".") => Some(current_dir()?),
        cwd => cwd.map(|cwd| JsString::from(cwd.to_owned())),
    };
    let first = place.session_if(args.parent.as_ref())?.map(|record| record.id().clone());
    let known = place.known(context)?;
    let listed = catalog(&known, &place.sessions(), cwd.as_ref(), first.as_ref())?;
    context.output.document(&CatalogDocument::new(&listed, &known.plugin))?;
    Ok(context.status_with_problems(!known.plugin.problems.is_empty()))
}

fn current_dir() -> Result<JsString, Failure> {
    let directory = env::current_dir()
        .map_err(|error| Failure::new(Code::Io, format!("the current directory is not known: {error}")))?;
    Ok(JsString::from(directory.to_string_lossy().into_owned()))
}
