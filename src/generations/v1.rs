//! v1: v0 with its old spellings gone. No release ever wrote it; it is a stop of the migration, and
//! readable in case somebody kept one (formats.md §2.2).

use super::v0::PackedLog;
use super::{Generation, Rows, Start};
use crate::model::header::Header;

pub(super) fn decoder(header: &Header, start: Start) -> Box<dyn Rows> {
    Box::new(PackedLog::new(Generation::V1, header, start))
}
