//! `sessions search`: where something was said.

use crate::commands::Context;
use crate::commands::event_filter::EventFilterArgs;
use crate::commands::select;
use crate::commands::session_filter::SessionFilterArgs;
use crate::corpus::{Catalog, Corpus, Record};
use crate::error::{Code, Failure};
use crate::model::problem::Problem;
use crate::output::documents::problem::ProblemDocument;
use crate::output::documents::search::{
    HitDocument, NoteRecord, SearchDocument, SearchSessionDocument, SessionHitDocument, note_line,
};
use crate::output::documents::session::SessionDocument;
use crate::output::terminal_text::visible_js;
use crate::output::{Format, Output};
use crate::query::cursor;
use crate::query::filter::EventFilter;
use crate::query::index::{Index, search_indexed};
use crate::query::page::{Request, Scope, limit};
use crate::query::pattern::Pattern;
use crate::query::search::{Extra, Found, Hit, Query, Wanted, rank_sessions, search_session, search_sessions};
use clap::Args;
use std::collections::HashSet;
use std::io;
use std::ops::ControlFlow;

/// The arguments.
#[derive(Debug, Args)]
#[command(before_long_help = "Examples:
  dshkit sessions search 'mail queue'
  dshkit sessions search --session latest --type tool/result 'no such file'
  dshkit sessions search --index --since 30d timeout --jsonl")]
pub struct SearchArgs {
    /// The text to look for, as it stands; only white space and case may differ
    #[arg(value_name = "QUERY", allow_hyphen_values = true)]
    query: String,
    /// Only in this session, and then every event that matches
    #[arg(long, value_name = "SESSION")]
    session: Option<String>,
    #[command(flatten)]
    sessions: SessionFilterArgs,
    /// Only sessions that this filter admits, in dsh's form: a JSON array of clauses
    #[arg(long, value_name = "JSON")]
    session_filter: Option<String>,
    /// Only events that this filter admits, in dsh's form
    #[arg(long, value_name = "JSON")]
    event_filter: Option<String>,
    #[command(flatten)]
    events: EventFilterArgs,
    /// At most so many, from 1 to 100 [default: 20]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    limit: Option<i64>,
    /// The page that begins here: `nextCursor` of the page before, of the same request
    #[arg(long, value_name = "CURSOR", allow_hyphen_values = true)]
    cursor: Option<String>,
    /// Also in the model's reasoning
    #[arg(long)]
    reasoning: bool,
    /// Also in the titles of sessions
    #[arg(long)]
    titles: bool,
    /// Make the search index or bring it up to date, and use it; it changes how long this takes and
    /// nothing else
    #[arg(long)]
    index: bool,
    /// Search without the index, whatever the configuration says
    #[arg(long, conflicts_with = "index")]
    no_index: bool,
}

pub(super) fn run(args: &SearchArgs, context: &mut Context) -> anyhow::Result<u8> {
    let sessions = args.sessions.resolve(args.session_filter.as_deref(), context)?;
    let events = event_filter(args)?;
    let request = Request {
        query: Query {
            pattern: Pattern::of_query(&args.query)?,
            events,
            extra: Extra { reasoning: args.reasoning, titles: args.titles },
        },
        sessions,
        limit: limit(args.limit)?,
    };
    let (corpus, catalog) = context.catalog()?;
    match &args.session {
        Some(selector) => {
            let record = catalog.select(&select::parse(selector)?)?;
            in_session(&request, args.cursor.as_deref(), &corpus, record, context)
        }
        None => in_sessions(&request, args, &corpus, &catalog, context),
    }
}

fn event_filter(args: &SearchArgs) -> Result<EventFilter, Failure> {
    let mut filter = args.event_filter.as_deref().map(EventFilter::parse_for_search).transpose()?.unwrap_or_default();
    args.events.extend(&mut filter);
    Ok(filter)
}

fn in_session(
    request: &Request,
    cursor: Option<&str>,
    corpus: &Corpus,
    record: &Record,
    context: &mut Context,
) -> anyhow::Result<u8> {
    let binding = request.binding(Scope::Session(record.id()), corpus, &[record]);
    let offset = cursor.map_or(Ok(0), |cursor| cursor::decode(cursor, binding))?;
    let admitted = request.sessions.admits(record);
    let found = match (&record.stored.refusal, admitted) {
        (_, false) => Found::default(),
        (Some(refusal), true) => Found { hits: Vec::new(), problem: Some(refusal.clone()) },
        (None, true) => search_session(corpus, record, &request.query, Wanted::All)?,
    };
    let notes: Vec<Problem> = found.problem.into_iter().collect();
    warn(&mut context.output, &notes);
    let is_empty = found.hits.is_empty();
    let (hits, next_cursor) = request.page(found.hits, offset, binding);
    let document = SearchSessionDocument {
        session: SessionDocument::of(record),
        items: hits.iter().map(|hit| hit_document(hit, &request.query)).collect(),
        next_cursor,
        notes: notes.iter().map(ProblemDocument::from).collect(),
    };
    context.output.document(&document)?;
    Ok(status(context, is_empty, &notes))
}

fn in_sessions(
    request: &Request,
    args: &SearchArgs,
    corpus: &Corpus,
    catalog: &Catalog,
    context: &mut Context,
) -> anyhow::Result<u8> {
    let admitted: Vec<&Record> = catalog.records.iter().filter(|record| request.sessions.admits(record)).collect();
    let searcher =
        Searcher { corpus, records: &admitted, query: &request.query, index: index(args, corpus, catalog, context) };
    if context.output.format() == Format::Jsonl && args.limit.is_none() && args.cursor.is_none() {
        return stream(&searcher, context);
    }
    let everything: Vec<&Record> = catalog.records.iter().collect();
    let binding = request.binding(Scope::Sessions, corpus, &everything);
    let offset = args.cursor.as_deref().map_or(Ok(0), |cursor| cursor::decode(cursor, binding))?;
    let (mut found, mut notes) = (Vec::new(), Vec::new());
    searcher.search(context, &mut |record, result, _| {
        let (hits, problem) = taken(record, result);
        found.extend(hits.into_iter().map(|hit| (record, hit)));
        notes.extend(problem);
        ControlFlow::Continue(())
    });
    found.sort_by(|(a, a_hit), (b, b_hit)| rank_sessions((a, a_hit), (b, b_hit)));
    notes.sort_by(|a, b| a.path.cmp(&b.path));
    warn(&mut context.output, &notes);
    let is_empty = found.is_empty();
    let (found, next_cursor) = request.page(found, offset, binding);
    let document = SearchDocument {
        items: found.iter().map(|(record, hit)| session_hit(record, hit, &request.query)).collect(),
        next_cursor,
        notes: notes.iter().map(ProblemDocument::from).collect(),
    };
    context.output.document(&document)?;
    Ok(status(context, is_empty, &notes))
}

/// The index, if it is wanted and can be had. Without it the search takes longer and finds the same.
fn index(args: &SearchArgs, corpus: &Corpus, catalog: &Catalog, context: &mut Context) -> Option<Index> {
    let with_index = args.index || context.config.index == Some(true) && !args.no_index;
    if !with_index {
        return None;
    }
    match context.refreshed_index(corpus, catalog) {
        Ok((index, _)) => Some(index),
        Err(failure) => {
            context.output.warn(&format!("{}; every log is read instead", failure.message));
            None
        }
    }
}

/// What finds hits: an index, or reading every log.
struct Searcher<'s, 'r> {
    corpus: &'s Corpus,
    records: &'s [&'r Record],
    query: &'s Query,
    index: Option<Index>,
}

/// What takes what was found in a session, and can print.
type FoundSink<'s, 'r> = dyn FnMut(&'r Record, Result<Found, Failure>, &mut Output) -> ControlFlow<()> + 's;

impl<'r> Searcher<'_, 'r> {
    fn search(&self, context: &mut Context, found: &mut FoundSink<'_, 'r>) {
        let output = &mut context.output;
        let mut told = HashSet::new();
        if let Some(index) = &self.index {
            let searched = search_indexed(index, self.corpus, self.records, self.query, &mut |record, result| {
                told.insert(std::ptr::from_ref(record));
                found(record, result, output)
            });
            match searched {
                Ok(()) => return,
                Err(failure) => output.warn(&format!("{}; every log is read instead", failure.message)),
            }
        }
        let rest: Vec<&Record> =
            self.records.iter().copied().filter(|record| !told.contains(&std::ptr::from_ref(*record))).collect();
        search_sessions(self.corpus, &rest, self.query, &mut |record, result| found(record, result, output));
    }
}

/// Prints every session that matches as it is found.
fn stream(searcher: &Searcher<'_, '_>, context: &mut Context) -> anyhow::Result<u8> {
    let mut notes = Vec::new();
    let mut is_empty = true;
    let mut printed: io::Result<()> = Ok(());
    searcher.search(context, &mut |record, result, output| {
        let (hits, problem) = taken(record, result);
        for hit in &hits {
            is_empty = false;
            let item = session_hit(record, hit, searcher.query);
            printed = output.record_out().write(&item).and_then(|()| output.flush());
        }
        if let (Some(problem), Ok(())) = (&problem, &printed) {
            let note = ProblemDocument::from(problem);
            printed = output.record_out().write(&NoteRecord { note: &note });
        }
        notes.extend(problem);
        if printed.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    printed?;
    warn(&mut context.output, &notes);
    Ok(status(context, is_empty, &notes))
}

/// What was found in a session. One that the system would not let us read is a note like any other.
fn taken(record: &Record, result: Result<Found, Failure>) -> (Vec<Hit>, Option<Problem>) {
    match result {
        Ok(found) => (found.hits, found.problem),
        Err(failure) => (Vec::new(), Some(record.problem_of(failure))),
    }
}

fn session_hit(record: &Record, hit: &Hit, query: &Query) -> SessionHitDocument {
    let header = &record.stored.header;
    let cwd = header.cwd.as_ref().map_or_else(String::new, |cwd| format!("  {}", visible_js(cwd)));
    SessionHitDocument {
        session: SessionDocument::of(record),
        best_match: hit_document(hit, query),
        heading: format!("{}{cwd}", visible_js(&header.id)),
    }
}

fn hit_document(hit: &Hit, query: &Query) -> HitDocument {
    HitDocument::of(hit, &query.pattern.places_in(&hit.snippet))
}

fn warn(output: &mut Output, notes: &[Problem]) {
    for note in notes {
        output.warn(&note_line(note));
    }
}

fn status(context: &Context, is_empty: bool, notes: &[Problem]) -> u8 {
    match context.status_with_problems(!notes.is_empty()) {
        0 if is_empty => Code::NothingFound.status(),
        status => status,
    }
}
