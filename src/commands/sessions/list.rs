//! `sessions list`: which sessions there are.

use crate::commands::Context;
use crate::commands::session_filter::SessionFilterArgs;
use crate::corpus::{Corpus, Directories};
use crate::model::problem::{Problem, ProblemKind};
use crate::output::documents::list::{ListDocument, Listed, Long};
use crate::projections::overview::Overview;
use clap::Args;
use std::thread;

/// The arguments.
#[derive(Debug, Args)]
pub struct ListArgs {
    #[command(flatten)]
    sessions: SessionFilterArgs,
    /// Only sessions that this filter admits, in dsh's form: a JSON array of clauses
    #[arg(long, value_name = "JSON")]
    filter: Option<String>,
    /// At most so many
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Also title, turns, last prompt, end and health, which means reading every log
    #[arg(short, long)]
    long: bool,
}

pub(super) fn run(args: &ListArgs, context: &mut Context) -> anyhow::Result<u8> {
    let filter = args.sessions.resolve(args.filter.as_deref(), context)?;
    let (corpus, catalog) = context.catalog()?;
    let chosen = catalog.records.iter().filter(|record| filter.admits(record)).take(args.limit.unwrap_or(usize::MAX));
    let mut directories = Directories::default();
    let mut listed: Vec<Listed<'_>> =
        chosen.map(|record| Listed { record, cwd_exists: directories.exists(record), long: None }).collect();
    let mut problems = catalog.problems;
    if args.long {
        problems.extend(read_all(&corpus, &mut listed));
    }
    for problem in &problems {
        if problem.kind != ProblemKind::ForeignEntry {
            context.output.warn_problem(problem);
        }
    }
    if listed.is_empty() {
        let place = corpus.path().display();
        context.output.note(&match catalog.records.len() {
            0 => format!("no sessions in {place}"),
            held => format!("none of the {held} sessions in {place} is wanted"),
        });
    }
    let document = ListDocument::new(&listed, &problems);
    context.output.document(&document)?;
    Ok(context.status_with_problems(!problems.is_empty()))
}

/// Reads every listed log, on as many threads as there are processors. One that cannot be read says so
/// in its own row and hides no other.
fn read_all(corpus: &Corpus, listed: &mut [Listed<'_>]) -> Vec<Problem> {
    let workers = thread::available_parallelism().map_or(1, |count| count.get());
    let share = listed.len().div_ceil(workers).max(1);
    thread::scope(|scope| {
        let readers: Vec<_> =
            listed.chunks_mut(share).map(|chunk| scope.spawn(move || read_chunk(corpus, chunk))).collect();
        let joined =
            readers.into_iter().map(|reader| reader.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        joined.flatten().collect()
    })
}

fn read_chunk(corpus: &Corpus, listed: &mut [Listed<'_>]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for listed in listed {
        let mut overview = Overview::default();
        let read = corpus.read(listed.record, &mut |event, _| overview.apply(event));
        let (long, found) = match read {
            Ok(summary) => (Ok(overview), summary.warnings),
            Err(failure) => {
                let found = failure.problem.as_deref().cloned().into_iter().collect();
                (Err(failure), found)
            }
        };
        let gravest = found.iter().map(|problem: &Problem| problem.kind).max();
        listed.long = Some(Long { read: long, health: gravest.map_or("ok", ProblemKind::name) });
        // What the header already told is in the listing's own problems.
        problems.extend(found.into_iter().filter(|problem| Some(problem) != listed.record.stored.refusal.as_ref()));
    }
    problems
}
