//! `sessions list`: which sessions there are.

use crate::commands::{Context, time_argument};
use crate::corpus::{Corpus, Record};
use crate::error::{Code, Failure};
use crate::model::js_string::{JsStr, JsString};
use crate::model::problem::{Problem, ProblemKind};
use crate::output::documents::list::{ListDocument, Listed};
use crate::projections::overview::Overview;
use clap::{Args, ValueEnum};
use std::path::Path;
use std::thread;

/// The arguments.
#[derive(Debug, Args)]
pub struct ListArgs {
    /// Only sessions of this working directory
    #[arg(long, value_name = "DIR")]
    cwd: Option<String>,
    /// Only sessions created then or later: a date, a time, 90m, 36h, 2d, or milliseconds
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Only sessions created then or earlier
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
    /// Only children of this session
    #[arg(long, value_name = "ID", allow_hyphen_values = true)]
    parent: Option<String>,
    /// Only sessions an agent started, or a person
    #[arg(long, value_name = "WHO", value_enum)]
    origin: Option<Origin>,
    /// At most so many
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Also title, turns, last prompt, end and health, which means reading every log
    #[arg(short, long)]
    long: bool,
}

/// Who started a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Origin {
    /// Another session's agent
    Subagent,
    /// A person
    User,
}

pub(super) fn run(args: &ListArgs, context: &mut Context) -> anyhow::Result<u8> {
    let filter = Filter::of(args, context)?;
    let (corpus, catalog) = context.catalog()?;
    let chosen = catalog.records.iter().filter(|record| filter.admits(record)).take(args.limit.unwrap_or(usize::MAX));
    let mut listed: Vec<Listed<'_>> = chosen.map(|record| Listed { record, long: None }).collect();
    let mut problems = catalog.problems;
    if args.long {
        problems.extend(read_all(&corpus, &mut listed));
    }
    for problem in &problems {
        if problem.kind != ProblemKind::ForeignEntry {
            context.output.warn_problem(problem);
        }
    }
    let document = ListDocument::new(&listed, &problems, corpus.path().display().to_string());
    context.output.document(&document)?;
    Ok(context.status_with_problems(!problems.is_empty()))
}

/// What was asked for, resolved.
struct Filter {
    cwd: Option<JsString>,
    since: Option<i64>,
    until: Option<i64>,
    parent: Option<JsString>,
    origin: Option<Origin>,
}

impl Filter {
    fn of(args: &ListArgs, context: &Context) -> Result<Filter, Failure> {
        let time = |text: &Option<String>| {
            text.as_deref()
                .map(|text| time_argument::parse(text, context.env.now))
                .transpose()
                .map_err(|message| Failure::new(Code::Usage, message))
        };
        let absolute = |dir: &String| {
            let path = std::path::absolute(Path::new(dir)).unwrap_or_else(|_| dir.into());
            JsString::from(path.to_string_lossy().trim_end_matches('/').to_owned())
        };
        let cwd =
            args.cwd.as_ref().map(|dir| if dir.starts_with('/') { JsString::from(dir.clone()) } else { absolute(dir) });
        Ok(Filter {
            cwd,
            since: time(&args.since)?,
            until: time(&args.until)?,
            parent: args.parent.as_deref().map(|id| JsStr::from(id).into_owned()),
            origin: args.origin,
        })
    }

    fn admits(&self, record: &Record) -> bool {
        let header = &record.stored.header;
        let created_at = header.created_at as i64;
        self.cwd.as_ref().is_none_or(|cwd| header.cwd.as_ref() == Some(cwd))
            && self.since.is_none_or(|since| created_at >= since)
            && self.until.is_none_or(|until| created_at <= until)
            && self.parent.as_ref().is_none_or(|parent| header.parent_session.as_ref() == Some(parent))
            && self.origin.is_none_or(|origin| header.is_subagent == (origin == Origin::Subagent))
    }
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
        let (overview, found) = match read {
            Ok(summary) => (Some(overview), summary.warnings),
            Err(failure) => (None, failure.problem.map(|problem| *problem).into_iter().collect()),
        };
        let gravest = found.iter().map(|problem| problem.kind).max();
        listed.long = Some((overview, gravest.map_or("ok", ProblemKind::name)));
        // What the header already told is in the listing's own problems.
        problems.extend(found.into_iter().filter(|problem| Some(problem) != listed.record.stored.refusal.as_ref()));
    }
    problems
}
