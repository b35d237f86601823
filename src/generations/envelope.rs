//! The members of a row, found in one walk over its text.

use crate::model::js_string::JsStr;
use crate::model::json::{JsonError, View, parse_members};

/// The members of an event's envelope as they stand in a row; of a repeated key the last.
#[derive(Clone, Copy, Default)]
pub(super) struct Members<'a> {
    pub(super) kind: Option<View<'a>>,
    pub(super) seq: Option<View<'a>>,
    pub(super) time: Option<View<'a>>,
    pub(super) data: Option<View<'a>>,
    pub(super) surface_op: Option<View<'a>>,
    pub(super) source_event_seqs: Option<View<'a>>,
    pub(super) ignorable: Option<View<'a>>,
    /// The first seq of a packed row (formats.md §4); no event has it.
    pub(super) first_seq: Option<View<'a>>,
    /// The first time of a packed row.
    pub(super) first_time: Option<View<'a>>,
    /// Whether there is a member that no row has.
    has_stray: bool,
}

impl<'a> Members<'a> {
    /// Checks a row and finds its members.
    pub(super) fn parse(text: &'a str) -> Result<(View<'a>, Members<'a>), JsonError> {
        let mut members = Members::default();
        let row = parse_members(text, |key, value| members.set(&key, value))?;
        Ok((row, members))
    }

    pub(super) fn of(row: View<'a>) -> Members<'a> {
        let mut members = Members::default();
        for (key, value) in row.members() {
            members.set(&key, value);
        }
        members
    }

    fn set(&mut self, key: &JsStr<'_>, value: View<'a>) {
        let place = match key.as_bytes() {
            b"type" => &mut self.kind,
            b"seq" => &mut self.seq,
            b"time" => &mut self.time,
            b"data" => &mut self.data,
            b"surfaceOp" => &mut self.surface_op,
            b"sourceEventSeqs" => &mut self.source_event_seqs,
            b"ignorable" => &mut self.ignorable,
            b"seq0" => &mut self.first_seq,
            b"time0" => &mut self.first_time,
            _ => {
                self.has_stray = true;
                return;
            }
        };
        *place = Some(value);
    }

    /// Whether there is a member that no event has.
    pub(super) fn has_stray(&self) -> bool {
        self.has_stray || self.first_seq.is_some() || self.first_time.is_some()
    }

    /// The first seq, the first time and the data, if these and the type are all there is, as in a packed
    /// row.
    pub(super) fn of_packed_row(&self) -> Option<[View<'a>; 3]> {
        let others = [self.seq, self.time, self.surface_op, self.source_event_seqs, self.ignorable];
        if self.has_stray || others.iter().any(Option::is_some) {
            return None;
        }
        Some([self.first_seq?, self.first_time?, self.data?])
    }

    /// The type, if it is a string.
    pub(super) fn kind_string(&self) -> Option<JsStr<'a>> {
        self.kind?.string()
    }

    /// Whether the row is of this type.
    pub(super) fn is(&self, kind: &str) -> bool {
        self.kind.is_some_and(|value| value.is_string(kind))
    }

    /// Whether the row is marked as one that a reader may skip.
    pub(super) fn is_ignorable(&self) -> bool {
        self.ignorable.is_some_and(View::is_true)
    }
}
