//! `sessions check`: what dsh of its generation makes of each session.

use crate::commands::Context;
use crate::commands::select::ManySessions;
use crate::corpus::{Corpus, Record};
use crate::error::{Code, Failure};
use crate::model::problem::{Problem, ProblemKind};
use crate::output::documents::check::{CheckDocument, Checked, Verdict};
use clap::Args;

/// The arguments.
#[derive(Debug, Args)]
#[command(before_long_help = "Examples:
  dshkit sessions check
  dshkit sessions check latest --json")]
pub struct CheckArgs {
    #[command(flatten)]
    sessions: ManySessions,
}

pub(super) fn run(args: &CheckArgs, context: &mut Context) -> anyhow::Result<u8> {
    let (corpus, catalog) = context.catalog()?;
    let records = args.sessions.find(&catalog)?;
    let checked: Vec<Checked> = records.iter().map(|record| check(&corpus, record)).collect::<Result<_, _>>()?;
    let is_listed =
        |problem: &&Problem| catalog.records.iter().any(|record| record.stored.refusal.as_ref() == Some(*problem));
    let others: Vec<Problem> = if args.sessions.is_empty() {
        catalog.problems.iter().filter(|problem| !is_listed(problem)).cloned().collect()
    } else {
        Vec::new()
    };
    context.output.document(&CheckDocument::new(&checked, &others, catalog.dsh_lists))?;
    let has = |verdict| checked.iter().any(|checked| checked.verdict == verdict);
    let damaged_elsewhere = |problem: &Problem| {
        !matches!(
            problem.kind,
            ProblemKind::ForeignEntry | ProblemKind::OrphanTemp | ProblemKind::MixedEncoding | ProblemKind::FlatLayout
        )
    };
    if has(Verdict::Damaged) || others.iter().any(damaged_elsewhere) {
        return Ok(Code::CorruptSession.status());
    }
    if has(Verdict::Unsupported) {
        return Ok(Code::UnsupportedFormat.status());
    }
    let has_problems = !others.is_empty() || checked.iter().any(|checked| !checked.problems.is_empty());
    Ok(context.status_with_problems(has_problems))
}

fn check(corpus: &Corpus, record: &Record) -> Result<Checked, Failure> {
    let mut checked = Checked {
        session_id: record.id().clone(),
        path: record.stored.path.display().to_string(),
        verdict: Verdict::Ok,
        stored_events: None,
        logical_events: None,
        open_turn: None,
        dangling_calls: Vec::new(),
        problems: Vec::new(),
    };
    match corpus.read(record, &mut |_, _| {}) {
        Ok(summary) => {
            let finished = summary.finished;
            checked.stored_events = Some(finished.stored_events);
            checked.logical_events = Some(finished.logical_events);
            checked.open_turn = finished.open.turn();
            checked.dangling_calls =
                if finished.open.is_open() { finished.open.pending_calls().cloned().collect() } else { Vec::new() };
            checked.problems = summary.warnings;
            if let Err(error) = finished.surface {
                checked.problems.push(record.problem(error.into()));
            }
            if !checked.problems.is_empty() {
                checked.verdict = Verdict::Recoverable;
            }
        }
        Err(failure) => {
            checked.verdict =
                if failure.code == Code::UnsupportedFormat { Verdict::Unsupported } else { Verdict::Damaged };
            match failure.problem {
                Some(problem) => checked.problems.push(*problem),
                None => {
                    checked.problems.push(Problem::at(ProblemKind::Unreadable, &record.stored.path, failure.message))
                }
            }
        }
    }
    Ok(checked)
}
