//! `sessions events`: the events of a session, as facts, in full, or as the stored lines.

use crate::commands::Context;
use crate::commands::event_filter::EventFilterArgs;
use crate::commands::select::OneSession;
use crate::corpus::{Corpus, Record};
use crate::error::{Code, Failure};
use crate::generations::{Item, Mode};
use crate::model::event::Event;
use crate::model::js_string::JsString;
use crate::model::semantic_text::semantic_text;
use crate::model::surface::Placement;
use crate::output::documents::events::{EventRecord, SCHEMA, TroubleRecord};
use crate::output::documents::problem::ProblemDocument;
use crate::output::json::Js;
use crate::output::terminal_text::{visible, visible_lines};
use crate::output::{Format, Output};
use crate::query::filter::{EventClause, EventFacts, EventFilter, Range};
use clap::Args;
use std::collections::HashMap;
use std::io;

/// The arguments.
#[derive(Debug, Args)]
#[command(before_long_help = "Examples:
  dshkit sessions events latest --type tool/call,tool/result --full
  dshkit sessions events latest --seq 40.. --jsonl
  dshkit sessions events latest --raw")]
pub struct EventsArgs {
    #[command(flatten)]
    session: OneSession,
    #[command(flatten)]
    events: EventFilterArgs,
    /// Only events from one seq to another, both included; either may be left out
    #[arg(long, value_name = "A..B")]
    seq: Option<String>,
    /// Only events that this filter admits, in dsh's form: a JSON array of clauses. As in dsh, only
    /// events that say something pass, whatever the clauses
    #[arg(long, value_name = "JSON", conflicts_with = "raw")]
    filter: Option<String>,
    /// With the text that filters and searches look at
    #[arg(long, conflicts_with = "raw")]
    text: bool,
    /// With the whole event
    #[arg(long, conflicts_with = "raw")]
    full: bool,
    /// The stored lines, byte for byte, header first
    #[arg(long, conflicts_with_all = ["types", "surface", "seq"])]
    raw: bool,
}

pub(super) fn run(args: &EventsArgs, context: &mut Context) -> anyhow::Result<u8> {
    let filter = Filter::of(args)?;
    let (corpus, catalog) = context.catalog()?;
    let record = args.session.find(&catalog)?;
    if args.raw {
        return raw(&corpus, record, &mut context.output);
    }
    let mode = context.mode();
    // The first reading tells whether the log is sound and where each event stands, the second prints.
    let summary = corpus.read_items(record, mode, &mut |_| {})?;
    let placements = match &summary.finished.surface {
        Ok(surface) => surface.placements(),
        Err(_) if mode == Mode::Salvage => HashMap::new(),
        Err(error) => return Err(Failure::from(error.clone()).into()),
    };
    for warning in &summary.warnings {
        context.output.warn_problem(warning);
    }
    context.output.page_unless(context.global.no_pager);
    let mut printer = Printer::begin(&mut context.output, record)?;
    let mut failed = None;
    corpus.read_items(record, mode, &mut |item| {
        if failed.is_some() {
            return;
        }
        let printed = match item {
            Item::Event(event, _) => {
                let placement = placements.get(&event.seq).copied().unwrap_or(Placement::LogOnly);
                let text = if filter.reads_text || args.text { semantic_text(event) } else { JsString::default() };
                if filter.admits(event, placement, &text) {
                    let shown = args.text.then_some(&text).filter(|text| !text.is_empty());
                    printer.event(event, placement, args.full, shown)
                } else {
                    Ok(())
                }
            }
            Item::Trouble(fault) => printer.trouble(&record.problem(fault.clone())),
        };
        failed = printed.err();
    })?;
    if let Some(error) = failed {
        return Err(error.into());
    }
    printer.end()?;
    Ok(context.status_with_problems(!summary.warnings.is_empty()))
}

fn raw(corpus: &Corpus, record: &Record, output: &mut Output) -> anyhow::Result<u8> {
    let is_terminal = output.is_terminal();
    // An error of the output is not one of the log.
    let mut failed = None;
    let read = corpus.read_lines(record, &mut |bytes| {
        let written = if is_terminal {
            let text = crate::model::js_string::JsString::from(String::from_utf8_lossy(bytes).into_owned());
            output.raw(visible_lines(&text).as_bytes())
        } else {
            output.raw(bytes)
        };
        written.map_err(|error| io::Error::from(failed.insert(error).kind()))
    });
    if let Some(error) = failed {
        return Err(error.into());
    }
    read?;
    Ok(0)
}

/// Which events, and whether telling takes their text.
struct Filter {
    events: EventFilter,
    reads_text: bool,
}

impl Filter {
    fn of(args: &EventsArgs) -> Result<Filter, Failure> {
        let mut events = args.filter.as_deref().map(EventFilter::parse).transpose()?.unwrap_or_default();
        args.events.extend(&mut events);
        if let Some((from, to)) = args.seq.as_deref().map(seq_range).transpose()? {
            events.0.push(EventClause::Seq(Range { from: Some(from as f64), to: Some(to as f64) }));
        }
        Ok(Filter { events, reads_text: args.filter.is_some() })
    }

    fn admits(&self, event: &Event<'_>, placement: Placement, text: &JsString) -> bool {
        let facts = EventFacts { seq: event.seq, time: event.time, kind: &event.kind, placement, text };
        !(self.reads_text && text.is_empty()) && self.events.admits(&facts)
    }
}

fn seq_range(text: &str) -> Result<(u64, u64), Failure> {
    let invalid = || Failure::new(Code::Usage, format!("{text:?} is no range of seqs; write A..B, A.., ..B, or A"));
    let number = |text: &str, default| if text.is_empty() { Ok(default) } else { text.parse().map_err(|_| invalid()) };
    let (from, to) = match text.split_once("..") {
        Some((from, to)) => (number(from, 0)?, number(to, u64::MAX)?),
        None => (text.parse().map_err(|_| invalid())?, text.parse().map_err(|_| invalid())?),
    };
    if from <= to { Ok((from, to)) } else { Err(invalid()) }
}

/// Prints events as they are read.
struct Printer<'o> {
    output: &'o mut Output,
    format: Format,
    session_id: Js,
    is_first: bool,
}

impl<'o> Printer<'o> {
    fn begin(output: &'o mut Output, record: &Record) -> io::Result<Printer<'o>> {
        let format = output.format();
        if format == Format::Json {
            let session = crate::output::documents::session::SessionDocument::of(record);
            let session = serde_json::to_string(&session)?;
            output.raw(format!(r#"{{"schema":"{SCHEMA}","session":{session},"events":["#).as_bytes())?;
        }
        Ok(Printer { output, format, session_id: Js::from(record.id()), is_first: true })
    }

    fn event(
        &mut self,
        event: &Event<'_>,
        placement: Placement,
        is_full: bool,
        text: Option<&JsString>,
    ) -> io::Result<()> {
        let record = EventRecord::of(&self.session_id, event, placement, is_full).text(text);
        match self.format {
            Format::Text => self.output.text_out().line(&record.line()),
            Format::Jsonl => self.output.record_out().write(&record),
            Format::Json => {
                self.comma()?;
                self.output.raw(serde_json::to_string(&record)?.as_bytes())
            }
        }
    }

    fn trouble(&mut self, problem: &crate::model::problem::Problem) -> io::Result<()> {
        let record = TroubleRecord { problem: ProblemDocument::from(problem) };
        match self.format {
            Format::Text => {
                let line = problem.to_string();
                let mut text = self.output.text_out();
                let line = text.styled(crate::output::Style::Yellow, &format!("!! {}", visible(&line)));
                text.line(&line)
            }
            Format::Jsonl => self.output.record_out().write(&record),
            Format::Json => {
                self.comma()?;
                self.output.raw(serde_json::to_string(&record)?.as_bytes())
            }
        }
    }

    fn comma(&mut self) -> io::Result<()> {
        let is_first = std::mem::replace(&mut self.is_first, false);
        if is_first { Ok(()) } else { self.output.raw(b",") }
    }

    fn end(self) -> io::Result<()> {
        if self.format == Format::Json { self.output.raw(b"]}\n") } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_seqs() {
        assert_eq!(seq_range("3..5").unwrap(), (3, 5));
        assert_eq!(seq_range("..5").unwrap(), (0, 5));
        assert_eq!(seq_range("3..").unwrap(), (3, u64::MAX));
        assert_eq!(seq_range("7").unwrap(), (7, 7));
        assert!(seq_range("5..3").is_err());
        assert!(seq_range("a..b").is_err());
    }
}
