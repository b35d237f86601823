//! v2, the format of the 0.1.3 pre-releases (formats.md §3).
//!
//! No dsh that reads it as its own could be run; the rules are those of the released v2 codec, whose
//! checks on loading are the ones that also hold for v3, with the older names of a replacement's ends.

use super::envelope::Members;
use super::event_types::is_known;
use super::rows::{Admission, RowLog, check_surface_markers};
use super::{Generation, Rows, Start};
use crate::model::event::is_surface_type;
use crate::model::header::Header;
use crate::model::js_string::JsStr;
use crate::model::json::View;
use crate::model::problem::Fault;

pub(super) fn decoder(header: &Header, start: Start) -> Box<dyn Rows> {
    Box::new(RowLog::new(V2, header, start))
}

struct V2;

impl Admission for V2 {
    fn generation(&self) -> Generation {
        Generation::V2
    }

    fn refuses_log(&self, _row: View<'_>, _members: &Members<'_>) -> Result<(), Fault> {
        Ok(())
    }

    fn refuses_row(&self, members: &Members<'_>, kind: &JsStr<'_>, seq: u64) -> Result<(), &'static str> {
        if is_known(self.generation(), kind) {
            check_surface_markers(members, is_surface_type(kind), seq, self.replace_keys())
        } else {
            Ok(())
        }
    }

    fn replace_keys(&self) -> (&'static str, &'static str) {
        ("start", "end")
    }
}
