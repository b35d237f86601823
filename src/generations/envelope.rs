//! The members of a row, found in one walk over its text.

use crate::model::js_string::JsStr;
use crate::model::json::View;

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
    /// Whether there is a member that no envelope has.
    pub(super) has_stray: bool,
}

impl<'a> Members<'a> {
    pub(super) fn of(row: View<'a>) -> Members<'a> {
        let mut members = Members::default();
        for (key, value) in row.members() {
            let place = match key.to_str() {
                Some("type") => &mut members.kind,
                Some("seq") => &mut members.seq,
                Some("time") => &mut members.time,
                Some("data") => &mut members.data,
                Some("surfaceOp") => &mut members.surface_op,
                Some("sourceEventSeqs") => &mut members.source_event_seqs,
                Some("ignorable") => &mut members.ignorable,
                _ => {
                    members.has_stray = true;
                    continue;
                }
            };
            *place = Some(value);
        }
        members
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
