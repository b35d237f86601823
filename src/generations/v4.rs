//! v4, the format of dsh 0.1.7 to 0.2.1 (formats.md §3, §5.3).
//!
//! Tool results are messages of their own role, every message names its producer, and on loading dsh
//! also checks how the events hang together: [`relations`].

mod admission;
mod relations;

use super::envelope::Members;
use super::event_types::is_known;
use super::rows::{Admission, RowLog, check_surface_markers};
use super::{Generation, Rows, Start};
use crate::model::event::{Event, is_surface_type};
use crate::model::header::Header;
use crate::model::js_string::JsStr;
use crate::model::json::View;
use crate::model::problem::Fault;

pub(super) fn decoder(header: &Header, start: Start) -> Box<dyn Rows> {
    let relations = relations::Relations::new(header);
    Box::new(RowLog::new(V4 { relations }, header, start))
}

struct V4 {
    relations: relations::Relations,
}

impl Admission for V4 {
    fn generation(&self) -> Generation {
        Generation::V4
    }

    fn refuses_log(&self, _row: View<'_>, members: &Members<'_>) -> Result<(), Fault> {
        admission::check(members)
    }

    fn refuses_row(&self, _members: &Members<'_>, _kind: &JsStr<'_>, _seq: u64) -> Result<(), &'static str> {
        Ok(())
    }

    fn refuses_event(&self, members: &Members<'_>, kind: &JsStr<'_>, seq: u64) -> Result<(), &'static str> {
        if is_known(self.generation(), kind) {
            check_surface_markers(members, is_surface_type(kind), seq, self.replace_keys())
        } else {
            Ok(())
        }
    }

    fn relate(&mut self, event: &Event<'_>) -> Result<(), String> {
        self.relations.accept(event)
    }

    fn relate_end(&mut self, inherited_events: u64) -> Result<(), String> {
        self.relations.finish(inherited_events)
    }

    fn replace_keys(&self) -> (&'static str, &'static str) {
        ("startSeq", "endSeq")
    }
}
