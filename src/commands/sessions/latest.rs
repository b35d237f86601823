//! `sessions latest`: the session of a job, or nothing.

use crate::commands::Context;
use crate::commands::session_filter::WithinArgs;
use crate::corpus::{Catalog, Corpus, Directories, Record};
use crate::error::{Code, Failure};
use crate::output::documents::latest::LatestDocument;
use crate::projections::listing;
use crate::query::filter::{Origin, Range, SessionClause, SessionFilter};
use clap::{Args, ValueEnum};

/// The arguments.
#[derive(Debug, Args)]
#[command(before_long_help = "Examples:
  dshkit sessions latest --cwd . --since 2h
  dshkit sessions latest --one --json | jq -r .session.sessionId")]
pub struct LatestArgs {
    #[command(flatten)]
    within: WithinArgs,
    /// There must be only one; if there are more, fail and name them
    #[arg(long)]
    one: bool,
    /// Also sessions that an agent started
    #[arg(long)]
    include_subagents: bool,
    /// Which time counts
    #[arg(long, value_enum, default_value_t)]
    by: By,
}

/// The time by which sessions are ordered and chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum By {
    /// When the session was created
    #[default]
    Created,
    /// When its last event was recorded
    Activity,
}

pub(super) fn run(args: &LatestArgs, context: &mut Context) -> anyhow::Result<u8> {
    let range = args.within.span(context)?;
    let mut filter = SessionFilter::default();
    filter.0.extend(args.within.cwd_clause());
    if !args.include_subagents {
        filter.0.push(SessionClause::Origin(vec![Origin::User]));
    }
    let (corpus, catalog) = context.catalog()?;
    let found = match args.by {
        By::Created => by_creation(&catalog, &filter, range),
        By::Activity => by_activity(&corpus, &catalog, &filter, range, context),
    };
    if let ([_, _, ..], true) = (&found[..], args.one) {
        let message = format!("{} sessions fit, and --one wants only one", found.len());
        let ids = found.iter().map(|record| record.id().to_string_lossy().into_owned()).collect();
        let hint = "narrow it down with --cwd, --since, and --until";
        return Err(Failure::new(Code::AmbiguousSession, message).hint(hint).candidates(ids).into());
    }
    let latest = found.first().copied();
    let cwd_exists = latest.and_then(|record| Directories::default().exists(record));
    context.output.document(&LatestDocument::of(latest, cwd_exists))?;
    Ok(if latest.is_some() { 0 } else { Code::NothingFound.status() })
}

fn by_creation<'c>(catalog: &'c Catalog, filter: &SessionFilter, range: Range) -> Vec<&'c Record> {
    let is_in = |record: &&Record| range.admits(record.stored.header.created_at as f64);
    catalog.records.iter().filter(|record| filter.admits(record)).filter(is_in).collect()
}

/// A log's last event tells, and not when its file was modified: copying a store changes no answer. What
/// cannot be read, or has no event yet, counts from its creation.
fn by_activity<'c>(
    corpus: &Corpus,
    catalog: &'c Catalog,
    filter: &SessionFilter,
    range: Range,
    context: &mut Context,
) -> Vec<&'c Record> {
    let registry = listing::registry();
    let records: Vec<&Record> = catalog.records.iter().filter(|record| filter.admits(record)).collect();
    let mut active: Vec<(i64, &Record)> = Vec::new();
    for (record, derived) in records.iter().zip(context.derive(corpus, &records, &registry)) {
        let last_time = match derived {
            Ok(derived) => derived.last_time,
            Err(failure) => {
                context.output.warn(&failure.message);
                None
            }
        };
        let time = last_time.unwrap_or(record.stored.header.created_at as i64);
        if range.admits(time as f64) {
            active.push((time, record));
        }
    }
    // The order of the catalog decides between equal times.
    active.sort_by_key(|(time, _)| std::cmp::Reverse(*time));
    active.into_iter().map(|(_, record)| record).collect()
}
