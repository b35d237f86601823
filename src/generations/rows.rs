//! The log of one event a row, which v2, v3 and v4 share (formats.md §3.1, §5.3).
//!
//! The three differ in what makes a row unfit ([`Admission`]), and in what is asked of the log as a
//! whole; where rows end, gaps, and the cut of inherited events are the same.

use super::envelope::Members;
use super::event_types::is_known;
use super::fold::{Faults, Finished, Fold, Item, Sink};
use super::seq_ranges::decode_seq_ranges;
use super::shapes::check_message;
use super::{Generation, Mode, RowFate, Rows, Start};
use crate::model::event::{Envelope, Event, SurfaceOp};
use crate::model::header::{Header, Seed};
use crate::model::js_string::JsStr;
use crate::model::json::View;
use crate::model::problem::{Fault, ProblemKind};

/// What a generation adds to the common rules.
pub(super) trait Admission {
    /// The generation.
    fn generation(&self) -> Generation;
    /// Refuses a log for a row wherever the row stands, even in a tail that would be dropped.
    fn refuses_log(&self, row: View<'_>, members: &Members<'_>) -> Result<(), Fault>;
    /// Refuses a row, which the tail rule may then forgive.
    fn refuses_row(&self, members: &Members<'_>, kind: &JsStr<'_>, seq: u64) -> Result<(), &'static str>;
    /// Refuses a log for an event in it that the row rules let pass.
    fn refuses_event(&self, _members: &Members<'_>, _kind: &JsStr<'_>, _seq: u64) -> Result<(), &'static str> {
        Ok(())
    }
    /// Looks at an event of the log in its place among the others; what it finds spoils the log.
    fn relate(&mut self, _event: &Event<'_>) -> Result<(), String> {
        Ok(())
    }
    /// Looks at the log once it is whole; what it finds spoils the log.
    fn relate_end(&mut self, _inherited_events: u64) -> Result<(), String> {
        Ok(())
    }
    /// How it names the ends of a replacement.
    fn replace_keys(&self) -> (&'static str, &'static str);
}

/// The decoder of v2, v3 and v4.
pub(super) struct RowLog<A> {
    admission: A,
    mode: Mode,
    fold: Fold,
    faults: Faults,
    issue: Option<Fault>,
    is_seeded: bool,
    /// The last marker that says how far the inherited events go.
    inherited_marker: Option<u64>,
    line: u64,
}

impl<A: Admission> RowLog<A> {
    pub(super) fn new(admission: A, header: &Header, start: Start) -> RowLog<A> {
        let fold = Fold::new(admission.generation(), start.before);
        RowLog {
            admission,
            mode: start.mode,
            fold,
            faults: Faults::default(),
            issue: None,
            is_seeded: header.seed == Seed::Marked,
            inherited_marker: None,
            line: 1,
        }
    }

    fn bad_row(&self, message: impl Into<String>) -> Fault {
        Fault::new(ProblemKind::BadRow, message).at_line(self.line)
    }

    /// A row that is not part of the log. If it, or one after it, ends a turn, that is damage.
    fn reject(&mut self, fault: Fault, ends_turn: bool, sink: &mut Sink<'_>) -> Result<RowFate, Fault> {
        if self.mode == Mode::Salvage {
            sink(Item::Trouble(&fault));
            return Ok(RowFate::Dropped);
        }
        let issue = self.issue.get_or_insert(fault);
        if ends_turn { Err(issue.clone()) } else { Ok(RowFate::Dropped) }
    }

    /// The envelope of a row that may join the log at the next seq.
    fn envelope<'a>(&self, view: View<'a>, members: &Members<'a>) -> Result<Envelope<'a>, Fault> {
        let bad = |message: &str| self.bad_row(message);
        if !view.is_object() {
            return Err(bad("the row is not an object"));
        }
        let (Some(kind), Some(seq), Some(time), Some(_)) = (members.kind, members.seq, members.time, members.data)
        else {
            return Err(bad("the row lacks type, seq, time or data"));
        };
        if members.has_stray() {
            return Err(bad("the row has a member no event has"));
        }
        let kind = kind.string().ok_or_else(|| bad("the row's type is not a word"))?;
        let time = time
            .safe_integer()
            .filter(|_| !time.is_negative_zero())
            .ok_or_else(|| bad("the row's time is not a whole number"))?;
        if members.ignorable.is_some_and(|ignorable| !ignorable.is_true()) {
            return Err(bad("ignorable is something else than true"));
        }
        let expected = self.fold.stored;
        let own_seq = seq.count();
        let source_event_seqs = match members.source_event_seqs {
            None => None,
            Some(seqs) => {
                let limit = own_seq.ok_or_else(|| bad("the row's seq is not a count"))?;
                Some(decode_unique_earlier(seqs, limit).map_err(bad)?)
            }
        };
        if own_seq != Some(expected) {
            let message = format!("expected seq {expected}, got {}", seq.text());
            return Err(Fault::new(ProblemKind::SeqGap, message).at_line(self.line).at_seq(expected));
        }
        let surface_op = members.surface_op.and_then(|op| self.surface_op(op));
        Ok(Envelope { seq: expected, time, kind, surface_op, source_event_seqs, ignorable: members.is_ignorable() })
    }

    /// What the operation is; `None` for one that is not valid, which [`Admission`] refuses.
    fn surface_op(&self, op: View<'_>) -> Option<SurfaceOp> {
        if op.is_string("append") {
            return Some(SurfaceOp::Append);
        }
        let (start, end) = self.admission.replace_keys();
        let is_replace = op.get("op")?.is_string("replace") && op.members().count() == 3;
        is_replace.then_some(SurfaceOp::Replace { start: op.get(start)?.count()?, end: op.get(end)?.count()? })
    }

    fn accept(&mut self, event: &Event<'_>, members: &Members<'_>, sink: &mut Sink<'_>) {
        let (line, seq) = (self.line, event.seq);
        let place = |fault: Fault| fault.at_line(line).at_seq(seq);
        if event.is("session/end-seed") && event.data().get("inherited").is_some_and(View::is_true) {
            self.inherited_marker = Some(seq);
        }
        let is_known = is_known(self.admission.generation(), &event.kind);
        if is_known {
            if !self.fold.is_tail()
                && let Err(message) = self.admission.relate(event)
            {
                self.faults.early(place(Fault::new(ProblemKind::BadRow, message)));
            }
        } else if !event.ignorable {
            let message = format!("unknown event type {:?}, not marked as ignorable", event.kind);
            self.faults.unsupported(place(Fault::new(ProblemKind::UnknownEvent, message)));
        }
        let is_fallback =
            event.is("request/header") && event.data().get("reason").is_some_and(|reason| reason.is_string("fallback"));
        if is_fallback {
            let message = "a request header with a reason of before the first release";
            self.faults.unsupported(place(Fault::new(ProblemKind::UnknownEvent, message)));
        }
        let fits = self.admission.refuses_event(members, &event.kind, seq);
        let fits = fits.and_then(|()| check_message(self.admission.generation(), &event.kind, members.data));
        if let Err(message) = fits {
            self.faults.late(place(Fault::new(ProblemKind::BadRow, message)));
        }
        self.fold.accept(event, sink);
    }
}

impl<A: Admission> Rows for RowLog<A> {
    fn row(&mut self, text: &str, sink: &mut Sink<'_>) -> Result<RowFate, Fault> {
        self.line += 1;
        let (view, members) = match Members::parse(text) {
            Ok(row) => row,
            Err(error) => return self.reject(self.bad_row(format!("the row is not JSON: {error}")), false, sink),
        };
        if let Err(fault) = self.admission.refuses_log(view, &members) {
            let fault = fault.at_line(self.line);
            return if self.mode == Mode::Salvage { self.reject(fault, false, sink) } else { Err(fault) };
        }
        let ends_turn = members.is("turn/end");
        if let Some(issue) = &self.issue {
            return if ends_turn { Err(issue.clone()) } else { Ok(RowFate::Dropped) };
        }
        let mut envelope = match self.envelope(view, &members) {
            Ok(envelope) => envelope,
            Err(gap) if gap.kind == ProblemKind::SeqGap && self.mode == Mode::Salvage => {
                sink(Item::Trouble(&gap));
                let Some(seq) = members.seq.and_then(View::count) else { return Ok(RowFate::Dropped) };
                self.fold.stored = seq;
                match self.envelope(view, &members) {
                    Ok(envelope) => envelope,
                    Err(fault) => return self.reject(fault, ends_turn, sink),
                }
            }
            Err(fault) => return self.reject(fault, ends_turn, sink),
        };
        if let Err(message) = self.admission.refuses_row(&members, &envelope.kind, envelope.seq) {
            return self.reject(self.bad_row(message).at_seq(envelope.seq), ends_turn, sink);
        }
        if !is_known(self.admission.generation(), &envelope.kind) {
            // On a type nobody knows the markers have no effect, whatever they say.
            envelope.surface_op = None;
        }
        self.accept(&Event::from_row(envelope, view, members.data.unwrap_or(view)), &members, sink);
        Ok(RowFate::Accepted)
    }

    fn finish(&mut self, sink: &mut Sink<'_>) -> Result<Finished, Fault> {
        let inherited = self.inherited_marker;
        let finished = self.fold.finish(inherited.unwrap_or(0), self.issue.take(), sink);
        if self.mode == Mode::Salvage {
            return Ok(finished);
        }
        if self.fold.is_tail() {
            std::mem::take(&mut self.faults).into_result()?;
            return match &finished.surface {
                Ok(_) => Ok(finished),
                Err(error) => Err(error.clone().into()),
            };
        }
        if self.is_seeded != inherited.is_some() {
            let message = if self.is_seeded {
                "the header says that the session inherits events, and no marker says how many"
            } else {
                "a marker says that events are inherited, and the header says that none are"
            };
            let fault = Fault::new(ProblemKind::BadHeader, message);
            return Err(inherited.map_or(fault.clone(), |seq| fault.at_seq(seq)));
        }
        if let Err(message) = self.admission.relate_end(inherited.unwrap_or(0)) {
            self.faults.early(Fault::new(ProblemKind::BadRow, message));
        }
        std::mem::take(&mut self.faults).into_result()?;
        Ok(finished)
    }
}

fn decode_unique_earlier(seqs: View<'_>, own_seq: u64) -> Result<Vec<u64>, &'static str> {
    let seqs = decode_seq_ranges(seqs, own_seq.saturating_add(1))?;
    let mut sorted = seqs.clone();
    sorted.sort_unstable();
    if sorted.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err("sourceEventSeqs names an event twice");
    }
    if sorted.last().is_some_and(|last| *last >= own_seq) {
        return Err("sourceEventSeqs names an event that is not earlier");
    }
    Ok(seqs)
}

/// The rules for surface markers that v2 and v3 check row by row (formats.md §3.1): required on surface
/// types and nowhere else, replacements of earlier events, sources not empty and never on an
/// assistant's message.
pub(super) fn check_surface_markers(
    members: &Members<'_>,
    is_surface: bool,
    seq: u64,
    keys: (&str, &str),
) -> Result<(), &'static str> {
    if !is_surface {
        let has_marker = members.surface_op.is_some() || members.source_event_seqs.is_some();
        return if has_marker {
            Err("an event that is not on the surface carries surfaceOp or sourceEventSeqs")
        } else {
            Ok(())
        };
    }
    let op = members.surface_op.ok_or("a surface event has no surfaceOp")?;
    if !op.is_string("append") {
        let is_replace =
            op.is_object() && op.members().count() == 3 && op.get("op").is_some_and(|kind| kind.is_string("replace"));
        let (Some(start), Some(end), true) = (op.get(keys.0), op.get(keys.1), is_replace) else {
            return Err("surfaceOp is neither append nor a replacement");
        };
        for value in [start, end] {
            if value.count().ok_or("a replacement names no event")? >= seq {
                return Err("a replacement names an event that is not earlier");
            }
        }
    }
    match members.source_event_seqs {
        Some(_) if members.is("assistant/message") => Err("an assistant's message carries sourceEventSeqs"),
        Some(seqs) if seqs.elements().next().is_none() => Err("sourceEventSeqs is empty"),
        _ => Ok(()),
    }
}
