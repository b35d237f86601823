//! `sessions list`: which sessions there are.

use crate::commands::Context;
use crate::commands::session_filter::SessionFilterArgs;
use crate::corpus::{Corpus, Directories, Record};
use crate::error::Failure;
use crate::model::js_string::JsString;
use crate::model::problem::{Problem, ProblemKind};
use crate::output::documents::list::{Field, ListDocument, Listed, Long};
use crate::projections::listing::{self, Facts};
use crate::sidechat::chat::SessionRef;
use crate::sidechat::ledger::Ledger;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use std::cmp::Reverse;
use std::collections::HashSet;

/// The arguments.
#[derive(Debug, Args)]
#[command(before_long_help = "Examples:
  dshkit sessions list --long --cwd .
  dshkit sessions list --since 2d --sort tokens
  dshkit sessions list --jsonl | jq -r .sessionId")]
pub struct ListArgs {
    #[command(flatten)]
    sessions: SessionFilterArgs,
    /// Only sessions that this filter admits, in dsh's form: a JSON array of clauses
    #[arg(long, value_name = "JSON")]
    filter: Option<String>,
    /// At most so many
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Without the side chats that `sidechat hide` hides; needs a DSH home
    #[arg(long)]
    hide_sidechats: bool,
    /// Also title, turns, tokens, last prompt, end and health, which every log must be read for
    #[arg(short, long)]
    long: bool,
    /// Only these members of each session, in this order
    #[arg(long, value_name = "FIELD,…", value_parser = field(), value_delimiter = ',', conflicts_with = "long")]
    fields: Vec<Field>,
    /// What comes first: the newest, the last active, the one with most tokens, or by title
    #[arg(long, value_name = "ORDER", value_enum, default_value_t)]
    sort: Sort,
}

fn field() -> impl TypedValueParser<Value = Field> {
    let named = |name: String| Field::ALL.into_iter().find(|field| field.name() == name).expect("it is one of these");
    PossibleValuesParser::new(Field::ALL.map(Field::name)).map(named)
}

/// An order of sessions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Sort {
    /// Newest first, as dsh lists them
    #[default]
    Created,
    /// The one with the newest event first
    Activity,
    /// The one that used most tokens first
    Tokens,
    /// By title, those without last
    Title,
}

pub(super) fn run(args: &ListArgs, context: &mut Context) -> anyhow::Result<u8> {
    let filter = args.sessions.resolve(args.filter.as_deref(), context)?;
    let (corpus, catalog) = context.catalog()?;
    let hidden = if args.hide_sidechats { hidden(context)? } else { HashSet::new() };
    let is_wanted =
        |record: &&Record| filter.admits(record) && !hidden.contains(&SessionRef::of(&record.stored.header));
    let limit = args.limit.unwrap_or(usize::MAX);
    // Another order than that of the catalog is known only when all are read.
    let read_at_most = if args.sort == Sort::Created { limit } else { usize::MAX };
    let chosen = catalog.records.iter().filter(is_wanted).take(read_at_most);
    let mut directories = Directories::default();
    let mut listed: Vec<Listed<'_>> =
        chosen.map(|record| Listed { record, cwd_exists: directories.exists(record), long: None }).collect();
    let mut problems = catalog.problems;
    let fields = match &args.fields[..] {
        [] if args.long => Field::LONG.to_vec(),
        // People look for titles first.
        [] if context.output.is_terminal() => Field::WITH_TITLE.to_vec(),
        [] => Field::SHORT.to_vec(),
        fields => fields.to_vec(),
    };
    let is_derived = args.long || args.sort != Sort::Created || fields.iter().any(|field| field.is_derived());
    if is_derived {
        let found = read_all(&corpus, &mut listed, context);
        // A title that nobody asked for is no reason to tell what is wrong with the session.
        if args.long || !args.fields.is_empty() {
            problems.extend(found);
        }
    }
    sort(&mut listed, args.sort);
    listed.truncate(limit);
    for problem in &problems {
        if problem.kind != ProblemKind::ForeignEntry {
            context.output.warn_problem(problem);
        }
    }
    if listed.is_empty() && !catalog.records.is_empty() {
        let (held, place) = (catalog.records.len(), corpus.path().display());
        context.output.note(&format!("none of the {held} sessions in {place} is wanted"));
    }
    let members = (!args.fields.is_empty()).then_some(&args.fields[..]);
    context.output.document(&ListDocument::new(&listed, &problems, args.long, &fields, members))?;
    Ok(context.status_with_problems(!problems.is_empty()))
}

/// The side chats the user has hidden. A ledger that cannot be read hides nothing.
fn hidden(context: &mut Context) -> Result<HashSet<SessionRef>, Failure> {
    let chats = Ledger::open_existing(&context.dsh_home()?).and_then(|ledger| match ledger {
        Some(ledger) => ledger.chats(),
        None => Ok(Vec::new()),
    });
    match chats {
        Ok(chats) => Ok(chats.into_iter().filter(|chat| chat.is_hidden).map(|chat| chat.child).collect()),
        Err(failure) => {
            context.output.warn(&format!("no side chat is left out: {failure}"));
            Ok(HashSet::new())
        }
    }
}

/// Reads what the logs of all listed sessions tell. One that cannot be read says so in its own row and
/// hides no other.
fn read_all(corpus: &Corpus, listed: &mut [Listed<'_>], context: &mut Context) -> Vec<Problem> {
    let registry = listing::registry();
    let records: Vec<&Record> = listed.iter().map(|listed| listed.record).collect();
    let mut problems = Vec::new();
    for (listed, derived) in listed.iter_mut().zip(context.derive(corpus, &records, &registry)) {
        let (read, found) = match derived {
            Ok(derived) => (Ok(Facts::of(listed.record, &derived)), derived.problems),
            Err(failure) => {
                let found = failure.problem.as_deref().cloned().into_iter().collect();
                (Err(failure), found)
            }
        };
        let gravest = found.iter().map(|problem: &Problem| problem.kind).max();
        listed.long = Some(Long { read, health: gravest.map_or("ok", ProblemKind::name) });
        // What the header already told is in the listing's own problems.
        problems.extend(found.into_iter().filter(|problem| Some(problem) != listed.record.stored.refusal.as_ref()));
    }
    problems
}

/// Orders sessions; equal ones stay as the catalog has them, and what is not known comes last.
fn sort(listed: &mut [Listed<'_>], order: Sort) {
    let facts = |listed: &Listed<'_>| listed.long.as_ref().and_then(|long| long.read.as_ref().ok()).cloned();
    match order {
        Sort::Created => {}
        Sort::Activity => listed.sort_by_cached_key(|listed| {
            let created_at = listed.record.stored.header.created_at as i64;
            Reverse(facts(listed).map_or(created_at, |facts| facts.last_activity_at))
        }),
        Sort::Tokens => listed.sort_by_cached_key(|listed| Reverse(facts(listed).and_then(|facts| facts.tokens))),
        Sort::Title => listed.sort_by_cached_key(|listed| {
            let title: Option<JsString> = facts(listed).and_then(|facts| Some(facts.overview.title?.text.0));
            (title.is_none(), title)
        }),
    }
}
