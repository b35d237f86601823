//! v0, the format of dsh 0.0.1 to 0.1.2 (formats.md §3–§6).
//!
//! Streamed pieces are rows of their own, mostly packed. A row that cannot be read, or whose seq does
//! not continue the log, ends the log, and only a `turn/end` after it makes that damage. Then dsh goes
//! over the events in passes; all of them are checked here in one, and [`Faults`] keeps them apart.

mod legacy;

use super::envelope::Members;
use super::event_types::is_known;
use super::fold::{Faults, Finished, Fold, Item, Sink};
use super::packed::{PackedRow, is_packed_tag};
use super::seq_ranges::decode_seq_ranges;
use super::shapes::{check_message, check_request_header};
use super::{Generation, Mode, RowFate, Rows, Start};
use crate::model::event::{Envelope, Event, SurfaceOp, is_surface_type};
use crate::model::header::{Header, Seed};
use crate::model::js_string::{JsStr, JsString};
use crate::model::json::{View, parse};
use crate::model::problem::{Fault, ProblemKind};

pub(super) fn decoder(header: &Header, start: Start) -> Box<dyn Rows> {
    Box::new(PackedLog::new(Generation::V0, header, start))
}

/// The decoder of v0, and of v1, which is the same without the spellings of before the first release.
pub(super) struct PackedLog {
    generation: Generation,
    mode: Mode,
    fold: Fold,
    faults: Faults,
    /// The first row that does not belong to the log.
    issue: Option<Fault>,
    legacy: Option<legacy::Legacy>,
    seed_length: u64,
    line: u64,
}

impl PackedLog {
    pub(super) fn new(generation: Generation, header: &Header, start: Start) -> PackedLog {
        let mut faults = Faults::default();
        if let Some(fault) = start.load_fault {
            faults.late(fault);
        }
        PackedLog {
            generation,
            mode: start.mode,
            fold: Fold::new(generation, start.before),
            faults,
            issue: None,
            legacy: (generation == Generation::V0).then(|| legacy::Legacy::new(&header.id)),
            seed_length: match header.seed {
                Seed::Length(length) => length,
                Seed::None | Seed::Marked => 0,
            },
            line: 1,
        }
    }

    /// A row that is not part of the log. A later `turn/end` turns it into damage.
    fn reject(&mut self, fault: Fault, ends_turn: bool, sink: &mut Sink<'_>) -> Result<RowFate, Fault> {
        if self.mode == Mode::Salvage {
            sink(Item::Trouble(&fault));
            return Ok(RowFate::Dropped);
        }
        let issue = self.issue.get_or_insert(fault);
        if ends_turn { Err(issue.clone()) } else { Ok(RowFate::Dropped) }
    }

    fn bad_row(&self, message: impl Into<String>) -> Fault {
        Fault::new(ProblemKind::BadRow, message).at_line(self.line)
    }

    fn gap(&self, found: &str) -> Fault {
        let expected = self.fold.stored;
        Fault::new(ProblemKind::SeqGap, format!("expected seq {expected}, got {found}"))
            .at_line(self.line)
            .at_seq(expected)
    }

    fn packed(&mut self, members: &Members<'_>, tag: &str, sink: &mut Sink<'_>) -> Result<RowFate, Fault> {
        let packed = match PackedRow::decode(members, tag) {
            Ok(packed) => packed,
            Err(message) => return self.reject(self.bad_row(message), false, sink),
        };
        if self.issue.is_some() {
            return Ok(RowFate::Dropped);
        }
        if packed.first_seq != self.fold.stored {
            let gap = self.gap(&packed.first_seq.to_string());
            let fate = self.reject(gap, false, sink)?;
            if self.mode == Mode::AsDsh {
                return Ok(fate);
            }
        }
        for event in packed.events() {
            self.fold.accept(&event, sink);
        }
        self.renumber_expectation(packed.first_seq + packed.count);
        Ok(RowFate::Accepted)
    }

    fn plain(&mut self, view: View<'_>, members: Members<'_>, sink: &mut Sink<'_>) -> Result<RowFate, Fault> {
        let ends_turn = members.is("turn/end");
        if let Some(issue) = &self.issue {
            return if ends_turn { Err(issue.clone()) } else { Ok(RowFate::Dropped) };
        }
        let seq = members.seq.and_then(View::safe_integer).and_then(|seq| u64::try_from(seq).ok());
        if seq != Some(self.fold.stored) {
            let gap = self.gap(members.seq.map_or("none", View::text));
            let fate = self.reject(gap, ends_turn, sink)?;
            if self.mode == Mode::AsDsh || seq.is_none() {
                return Ok(fate);
            }
        }
        self.event(view, members, seq.unwrap_or(self.fold.stored), sink);
        self.renumber_expectation(seq.unwrap_or(self.fold.stored) + 1);
        Ok(RowFate::Accepted)
    }

    /// Salvage goes on from wherever the log went on.
    fn renumber_expectation(&mut self, next: u64) {
        if self.mode == Mode::Salvage {
            self.fold.stored = next;
        }
    }

    /// Checks an event that belongs to the log, in all of dsh's passes, and takes it in.
    fn event(&mut self, view: View<'_>, members: Members<'_>, seq: u64, sink: &mut Sink<'_>) {
        let place = |fault: Fault, line| fault.at_line(line).at_seq(seq);
        let bad = |message: &str| Fault::new(ProblemKind::BadRow, message);
        let kind = members.kind_string();
        if let Some(message) = retired(&members) {
            self.faults.early(place(bad(message), self.line));
        }
        let modern = match self.legacy.as_mut().map(|legacy| legacy.modernise(view, &members, seq)) {
            None | Some(Ok(None)) => None,
            Some(Ok(Some(text))) => Some(text),
            Some(Err(message)) => {
                self.faults.early(place(bad(message), self.line));
                None
            }
        };
        // A spelling of before the first release is one row in a thousand logs, so its text may cost.
        let modern_view = modern.as_deref().map(|text| parse(text).expect("text made here is JSON"));
        let members = modern_view.map_or(members, Members::of);
        let kind = modern_view.map_or(kind, |_| members.kind_string());
        let Some(kind) = kind else {
            self.faults.unsupported(place(Fault::new(ProblemKind::UnknownEvent, "its type is not a word"), self.line));
            self.fold.stored += 1;
            return;
        };
        if let Err(message) = check_message(self.generation, &kind, members.data) {
            self.faults.early(place(bad(message), self.line));
        }
        if !is_known(self.generation, &kind) && !members.is_ignorable() {
            let fault =
                Fault::new(ProblemKind::UnknownEvent, format!("unknown event type {kind:?}, not marked as ignorable"));
            self.faults.unsupported(place(fault, self.line));
        }
        if kind == "request/header"
            && let Err(message) = check_request_header(members.data)
        {
            self.faults.late(place(bad(message), self.line));
        }
        match envelope(kind, &members, seq) {
            Ok(envelope) => {
                let event = match &modern {
                    Some(text) => Event::from_text(owned(envelope), text.clone()),
                    None => Event::from_row(envelope, view, members.data.unwrap_or(view)),
                };
                self.fold.accept(&event, sink);
                if let Some(fault) = self.fold.surface_fault() {
                    self.faults.late(fault.at_line(self.line));
                }
            }
            Err(fault) => {
                self.faults.late(place(fault, self.line));
                self.fold.stored += 1;
            }
        }
    }
}

impl Rows for PackedLog {
    fn row(&mut self, text: &str, sink: &mut Sink<'_>) -> Result<RowFate, Fault> {
        self.line += 1;
        let (view, members) = match Members::parse(text) {
            Ok(row) => row,
            Err(error) => return self.reject(self.bad_row(format!("the row is not JSON: {error}")), false, sink),
        };
        if view.text() == "null" {
            // dsh looks into it without asking and fails, wherever in the log it stands.
            return match self.mode {
                Mode::AsDsh => Err(self.bad_row("the row is null")),
                Mode::Salvage => self.reject(self.bad_row("the row is null"), false, sink),
            };
        }
        let tag = members.kind_string();
        match tag.as_ref().and_then(|tag| tag.to_str()).filter(|tag| is_packed_tag(tag)) {
            Some(tag) => self.packed(&members, tag, sink),
            None => self.plain(view, members, sink),
        }
    }

    fn finish(&mut self, sink: &mut Sink<'_>) -> Result<Finished, Fault> {
        let finished = self.fold.finish(self.seed_length, self.issue.take(), sink);
        if self.mode == Mode::AsDsh {
            std::mem::take(&mut self.faults).into_result()?;
        }
        Ok(finished)
    }
}

/// Events that no release ever wrote, by which dsh tells a log of before the first one.
fn retired(members: &Members<'_>) -> Option<&'static str> {
    if members.is("request/header-delta") || members.is("mode/set") {
        return Some("an event type of before the first release");
    }
    let is_fallback = members.is("request/header")
        && members.data.and_then(|data| data.get("reason")).is_some_and(|reason| reason.is_string("fallback"));
    is_fallback.then_some("a request header with a reason of before the first release")
}

/// The envelope of an event whose seq is known to be right.
fn envelope<'a>(kind: JsStr<'a>, members: &Members<'_>, seq: u64) -> Result<Envelope<'a>, Fault> {
    let bad = |message: &str| Fault::new(ProblemKind::BadRow, message);
    let surface = |message: &str| Fault::new(ProblemKind::InvalidSurface, message);
    if members.has_stray() {
        return Err(bad("the event has a member no event has"));
    }
    let time = members.time.and_then(View::safe_integer).ok_or_else(|| bad("the event has no valid time"))?;
    if members.data.is_none() {
        return Err(bad("the event has no data"));
    }
    if members.ignorable.is_some_and(|ignorable| !ignorable.is_true()) {
        return Err(bad("ignorable is something else than true"));
    }
    let is_surface = is_v0_surface_type(&kind);
    if !is_surface && (members.surface_op.is_some() || members.source_event_seqs.is_some()) {
        return Err(surface("an event that is not on the surface carries surfaceOp or sourceEventSeqs"));
    }
    let surface_op = match (is_surface, members.surface_op) {
        (false, _) => None,
        (true, None) => return Err(surface("a surface event has no surfaceOp")),
        (true, Some(op)) => {
            Some(read_surface_op(op).ok_or_else(|| surface("surfaceOp is neither append nor a replacement"))?)
        }
    };
    let source_event_seqs = match members.source_event_seqs {
        None => None,
        Some(seqs) => Some(read_sources(seqs, &kind, seq).map_err(surface)?),
    };
    Ok(Envelope { seq, time, kind, surface_op, source_event_seqs, ignorable: members.is_ignorable() })
}

fn is_v0_surface_type(kind: &JsStr<'_>) -> bool {
    is_surface_type(kind) && *kind != "system/message" && *kind != "developer/message"
}

fn read_surface_op(op: View<'_>) -> Option<SurfaceOp> {
    if op.is_string("append") {
        return Some(SurfaceOp::Append);
    }
    let seq = |key| u64::try_from(op.get(key)?.safe_integer()?).ok();
    let is_replace = op.get("op")?.is_string("replace") && op.members().count() == 3;
    is_replace.then_some(SurfaceOp::Replace { start: seq("start")?, end: seq("end")? })
}

fn read_sources(seqs: View<'_>, kind: &JsStr<'_>, seq: u64) -> Result<Vec<u64>, &'static str> {
    let seqs = decode_seq_ranges(seqs, seq.saturating_add(1))?;
    if seqs.is_empty() && *kind != "assistant/message" {
        return Err("sourceEventSeqs is empty");
    }
    let mut sorted = seqs.clone();
    sorted.sort_unstable();
    if sorted.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err("sourceEventSeqs names an event twice");
    }
    if sorted.last().is_some_and(|last| *last >= seq) {
        return Err("sourceEventSeqs names an event that is not earlier");
    }
    Ok(seqs)
}

fn owned(envelope: Envelope<'_>) -> Envelope<'static> {
    let kind: JsString = envelope.kind.into_owned();
    Envelope {
        seq: envelope.seq,
        time: envelope.time,
        kind,
        surface_op: envelope.surface_op,
        source_event_seqs: envelope.source_event_seqs,
        ignorable: envelope.ignorable,
    }
}
