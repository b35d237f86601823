//! `sessions usage`: how many tokens were used.

use crate::commands::Context;
use crate::commands::select::ManySessions;
use crate::commands::session_filter::SessionFilterArgs;
use crate::corpus::{Catalog, Record};
use crate::error::{Code, Failure};
use crate::model::problem::{Problem, ProblemKind};
use crate::output::documents::usage::UsageDocument;
use crate::projections::token_usage::Inherited;
use crate::query::rates::Rates;
use crate::query::usage::{By, UsageQuery};
use clap::{Args, ValueEnum};
use jiff::tz::TimeZone;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// The arguments.
#[derive(Debug, Args)]
#[command(before_long_help = "Examples:
  dshkit sessions usage --by model --since 7d
  dshkit sessions usage --by day --rates rates.json --cwd .")]
pub struct UsageArgs {
    #[command(flatten)]
    named: ManySessions,
    #[command(flatten)]
    sessions: SessionFilterArgs,
    /// Only sessions that this filter admits, in dsh's form: a JSON array of clauses
    #[arg(long, value_name = "JSON")]
    filter: Option<String>,
    /// What a row stands for
    #[arg(long, value_name = "WHAT", value_enum, default_value_t = Grouping::Session)]
    by: Grouping,
    /// Also count what forks copied from the sessions they were forked from
    #[arg(long)]
    include_inherited: bool,
    /// Also what it cost, by the rates in this file
    ///
    /// The file is JSON: {"currency": "USD", "perTokens": 1000000, "models": {"PROVIDER/MODEL": {"input": 0.5,
    /// "output": 2, "cacheRead": 0.1, "cacheWrite": 0.5}}}. A model may be named without its provider; rates of
    /// caches may be left out.
    #[arg(long, value_name = "FILE")]
    rates: Option<PathBuf>,
}

/// What a row stands for.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Grouping {
    /// A session
    Session,
    /// A turn of a session
    Turn,
    /// A model of a provider
    Model,
    /// A local day, that of a step's last report
    Day,
    /// A working directory
    Cwd,
}

pub(super) fn run(args: &UsageArgs, context: &mut Context) -> anyhow::Result<u8> {
    let filter = args.sessions.resolve(args.filter.as_deref(), context)?;
    let query = UsageQuery {
        by: match args.by {
            Grouping::Session => By::Session,
            Grouping::Turn => By::Turn,
            Grouping::Model => By::Model,
            Grouping::Day => By::Day(TimeZone::system()),
            Grouping::Cwd => By::Cwd,
        },
        inherited: if args.include_inherited { Inherited::Counted } else { Inherited::LeftOut },
        mode: context.mode(),
    };
    let rates = args.rates.as_deref().map(read_rates).transpose()?;
    let (corpus, catalog) = context.catalog()?;
    let mut records = args.named.find(&catalog)?;
    let mut seen = HashSet::new();
    // Who names a session twice still used its tokens once.
    records.retain(|record| filter.admits(record) && seen.insert(std::ptr::from_ref::<Record>(record)));
    let mut usage = query.run(&corpus, &records);
    if args.named.is_empty() {
        usage.problems.extend(hidden_sessions(&catalog));
    }
    for problem in &usage.problems {
        context.output.warn(&format!("not all was counted: {problem}"));
    }
    if records.is_empty() {
        context.output.note("there is no such session");
    }
    context.output.document(&UsageDocument::of(&records, &query, &usage, rates.as_ref()))?;
    Ok(context.status_with_problems(!usage.problems.is_empty()))
}

fn read_rates(path: &Path) -> Result<Rates, Failure> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| Failure::new(Code::Io, format!("could not read {}: {error}", path.display())))?;
    Rates::parse(&text).map_err(|message| {
        Failure::new(Code::Usage, format!("{} is no file of rates: {message}", path.display()))
            .hint("`dshkit sessions usage --help` shows what one looks like")
    })
}

/// What may hide whole sessions from the listing, where they would have been counted.
fn hidden_sessions(catalog: &Catalog) -> impl Iterator<Item = Problem> {
    let hides = |kind| matches!(kind, ProblemKind::Unreadable | ProblemKind::FlatLayout);
    catalog.problems.iter().filter(move |problem| hides(problem.kind) && problem.session_id.is_none()).cloned()
}
