//! `dshkit/sessions.trace/1` and `dshkit/sessions.trace-event/1`

use super::events::EventRecord;
use super::list::time;
use super::session::SessionDocument;
use crate::corpus::Record;
use crate::output::json::Js;
use crate::output::terminal_text::visible_js;
use crate::output::{Document, Style, TextOut};
use crate::query::lineage::{Descendant, Lineage};
use crate::query::trace::EventTrace;
use schemars::JsonSchema;
use serde::Serialize;
use std::io;

/// Where a session came from and what came of it: `root`, or `unresolvedParentId` if an ancestor is not there.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TraceDocument<'l> {
    /// The session asked for.
    target: SessionDocument,
    /// Its parent first.
    ancestors: Vec<SessionDocument>,
    /// What came of it.
    descendants: Vec<DescendantDocument>,
    /// Whether every ancestor is in the store.
    complete: bool,
    /// The oldest ancestor, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    root: Option<SessionDocument>,
    /// The parent that is not in the store.
    #[serde(skip_serializing_if = "Option::is_none")]
    unresolved_parent_id: Option<Js>,
    #[serde(skip)]
    lineage: &'l Lineage<'l>,
}

/// A session, and what came of it.
#[derive(JsonSchema, Serialize)]
struct DescendantDocument {
    /// The session.
    session: SessionDocument,
    /// What came of it.
    descendants: Vec<DescendantDocument>,
}

impl DescendantDocument {
    fn of(descendant: &Descendant<'_>) -> DescendantDocument {
        DescendantDocument {
            session: SessionDocument::of(descendant.session),
            descendants: descendant.descendants.iter().map(DescendantDocument::of).collect(),
        }
    }
}

impl<'l> TraceDocument<'l> {
    /// The document of a session's family.
    pub fn of(lineage: &'l Lineage<'l>) -> TraceDocument<'l> {
        TraceDocument {
            target: SessionDocument::of(lineage.target),
            ancestors: lineage.ancestors.iter().map(|record| SessionDocument::of(record)).collect(),
            descendants: lineage.descendants.iter().map(DescendantDocument::of).collect(),
            complete: lineage.unresolved_parent.is_none(),
            root: lineage.root().map(SessionDocument::of),
            unresolved_parent_id: lineage.unresolved_parent.as_ref().map(Js::from),
            lineage,
        }
    }
}

impl Document for TraceDocument<'_> {
    const SCHEMA: &'static str = "dshkit/sessions.trace/1";

    fn text(&self, text: &mut TextOut<'_>) -> io::Result<()> {
        let mut depth = 0;
        if let Some(missing) = &self.lineage.unresolved_parent {
            text.line(&format!("{} (not in this store)", visible_js(missing)))?;
            depth = 1;
        }
        for ancestor in self.lineage.ancestors.iter().rev() {
            text.line(&format!("{}{}", branch(depth), session(ancestor)))?;
            depth += 1;
        }
        let target = text.styled(Style::Bold, &session(self.lineage.target));
        text.line(&format!("{}{target}", branch(depth)))?;
        descendants(text, &self.lineage.descendants, &"   ".repeat(depth))
    }
}

/// What stands before an ancestor so deep: each is the only child shown.
fn branch(depth: usize) -> String {
    if depth == 0 { String::new() } else { format!("{}└─ ", "   ".repeat(depth - 1)) }
}

fn descendants(text: &mut TextOut<'_>, children: &[Descendant<'_>], indent: &str) -> io::Result<()> {
    for (at, child) in children.iter().enumerate() {
        let is_last = at + 1 == children.len();
        let (fork, below) = if is_last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
        text.line(&format!("{indent}{fork}{}", session(child.session)))?;
        descendants(text, &child.descendants, &format!("{indent}{below}"))?;
    }
    Ok(())
}

fn session(record: &Record) -> String {
    let header = &record.stored.header;
    let who = if header.is_subagent { "  (sub-agent)" } else { "" };
    format!("{}  {}{who}", visible_js(&header.id), time(header.created_at as i64))
}

/// What took an event's place, whose place it took, what it was made from and used in.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TraceEventDocument {
    /// The session.
    session: SessionDocument,
    /// The event asked for.
    target: EventRecord,
    /// The event that took its place.
    #[serde(skip_serializing_if = "Option::is_none")]
    replaced_by: Option<u64>,
    /// That, and what took its place, and so on.
    replacement_chain: Vec<u64>,
    /// The events whose place it took.
    replaced_event_seqs: Vec<u64>,
    /// The events it was made from.
    source_event_seqs: Vec<u64>,
    /// The events that were made from it.
    derived_event_seqs: Vec<u64>,
}

impl TraceEventDocument {
    /// The document of an event's relations.
    pub fn of(record: &Record, trace: EventTrace) -> TraceEventDocument {
        TraceEventDocument {
            session: SessionDocument::of(record),
            target: EventRecord::of_trace(record.id(), &trace),
            replaced_by: trace.replaced_by,
            replacement_chain: trace.replacement_chain,
            replaced_event_seqs: trace.replaced_event_seqs,
            source_event_seqs: trace.source_event_seqs,
            derived_event_seqs: trace.derived_event_seqs,
        }
    }
}

impl Document for TraceEventDocument {
    const SCHEMA: &'static str = "dshkit/sessions.trace-event/1";

    fn text(&self, text: &mut TextOut<'_>) -> io::Result<()> {
        text.line(&self.target.heading())?;
        let relations = [
            ("replaced by", &self.replacement_chain),
            ("took the place of", &self.replaced_event_seqs),
            ("made from", &self.source_event_seqs),
            ("used in", &self.derived_event_seqs),
        ];
        for (name, seqs) in relations {
            if !seqs.is_empty() {
                let seqs: Vec<String> = seqs.iter().map(u64::to_string).collect();
                text.line(&format!("        {name} {}", seqs.join(", ")))?;
            }
        }
        Ok(())
    }
}
