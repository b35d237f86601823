//! `reference candidates`: which sessions a conversation could refer to.

use super::target;
use crate::commands::Context;
use crate::commands::session_filter::spellings;
use crate::corpus::Catalog;
use crate::model::problem::ProblemKind;
use crate::output::documents::candidates::CandidatesDocument;
use crate::reference::candidates::{DEFAULT_LIMIT, Needle, Target, check_limit, ranked, registry};
use clap::Args;
use std::fmt::Display;

/// The arguments.
#[derive(Debug, Args)]
#[command(before_long_help = "Examples:
  dshkit reference candidates --target session-1 --target-cwd . mail
  dshkit reference candidates --target session-1 --limit 5 --json | jq -r '.candidates[].mention'")]
pub struct CandidatesArgs {
    /// Only sessions with this in their id, working directory or title, in any case
    #[arg(value_name = "QUERY", allow_hyphen_values = true, default_value = "", hide_default_value = true)]
    query: String,
    /// The conversation that would refer to them; it need not be stored
    #[arg(long, value_name = "ID", allow_hyphen_values = true)]
    target: String,
    /// Its working directory [default: that of the stored session]
    #[arg(long, value_name = "DIR")]
    target_cwd: Option<String>,
    /// At most so many
    #[arg(long, value_name = "N", default_value_t = DEFAULT_LIMIT as i64, allow_hyphen_values = true)]
    limit: i64,
}

pub(super) fn run(args: &CandidatesArgs, context: &mut Context) -> anyhow::Result<u8> {
    let limit = check_limit(args.limit)?;
    let id = target(&args.target)?;
    let (corpus, catalog) = context.catalog()?;
    let cwd = match &args.target_cwd {
        Some(dir) => spellings(dir),
        None => catalog
            .records
            .iter()
            .find(|record| *record.id() == id)
            .and_then(|record| record.stored.header.cwd.clone())
            .into_iter()
            .collect(),
    };
    let target = Target { id, cwd };
    let needle = Needle::of(&args.query);
    let mut records = ranked(&catalog, &target);
    if needle.is_empty() {
        // Titles choose nothing then, so no more logs are looked at than are shown.
        records.truncate(limit);
    }
    let registry = registry();
    let mut problems = catalog.problems.clone();
    let mut candidates = Vec::new();
    for (record, derived) in records.iter().zip(context.derive(&corpus, &records, &registry)) {
        let candidate = match derived {
            Ok(derived) => target.candidate(record, Some(&derived)),
            Err(failure) => {
                let problem = record.problem_of(failure);
                // What the header already told is in the catalog's own problems.
                if !problems.contains(&problem) {
                    problems.push(problem);
                }
                target.candidate(record, None)
            }
        };
        if needle.is_in(&candidate) {
            candidates.push(candidate);
        }
    }
    candidates.truncate(limit);
    for problem in problems.iter().filter(|problem| problem.kind != ProblemKind::ForeignEntry) {
        context.output.warn_problem(problem);
    }
    if candidates.is_empty() {
        note_none(&catalog, corpus.path().display(), context);
    }
    context.output.document(&CandidatesDocument::of(&candidates))?;
    Ok(context.status_with_problems(!problems.is_empty()))
}

fn note_none(catalog: &Catalog, place: impl Display, context: &mut Context) {
    context.output.note(&match catalog.records.len() {
        0 => format!("no sessions in {place}"),
        held => format!("none of the {held} sessions in {place} fits"),
    });
}
