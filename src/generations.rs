//! The format generations of the session log: one file each, from wire text to [`crate::model`], and for
//! the few events that are written, [`encode`]d back.
//!
//! A log is a header line and one row a line. What a generation decides is which rows it takes, what an
//! event must look like, and when a log as a whole is refused; the file it stands in, and how that is
//! compressed, is the business of [`crate::stores`]. The rules are those of the dsh that wrote the
//! generation: 0.1.0 for v0, 0.1.5 for v3, 0.2.1 for v4, and the released codecs for v1 and v2
//! (formats.md §2–§6).

pub mod encode;
mod envelope;
mod event_types;
mod fold;
mod header;
mod packed;
mod rows;
mod seq_ranges;
mod shapes;
mod v0;
mod v1;
mod v2;
mod v3;
mod v4;

pub use fold::{Before, Finished, Item, Sink};
pub use header::{HeaderError, HeaderLine, read_header};
pub use seq_ranges::{decode_seq_ranges, encode_seq_ranges};

use crate::model::closers::ResultShape;
use crate::model::header::Header;
use crate::model::problem::Fault;
use crate::model::surface::Rules;

/// A format generation this program reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Generation {
    /// dsh 0.0.1 to 0.1.2.
    V0,
    /// Never written by a release; a stop of the migration.
    V1,
    /// dsh 0.1.3 pre-releases.
    V2,
    /// dsh 0.1.5 and 0.1.6.
    V3,
    /// dsh 0.1.7 to 0.2.1.
    V4,
}

impl Generation {
    /// Every generation, oldest first.
    pub const ALL: [Generation; 5] = [Generation::V0, Generation::V1, Generation::V2, Generation::V3, Generation::V4];

    /// The generation of a version number; forks of dsh disagree about what comes after 4.
    pub fn of_version(version: u64) -> Option<Generation> {
        Generation::ALL.into_iter().find(|generation| generation.version() == version)
    }

    /// The version number in headers and file names.
    pub fn version(self) -> u64 {
        self as u64
    }

    /// The rules of its surface.
    pub fn surface_rules(self) -> Rules {
        if self >= Generation::V3 { Rules::WithHead } else { Rules::WithoutHead }
    }

    /// The shape of its tool results.
    pub fn result_shape(self) -> ResultShape {
        if self >= Generation::V4 { ResultShape::Unwrapped } else { ResultShape::Wrapped }
    }
}

/// How strictly rows are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// As dsh takes them: the log loads or it does not.
    AsDsh,
    /// Everything that can be decoded, with what is wrong told in between.
    Salvage,
}

/// What became of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowFate {
    /// It is part of the log.
    Accepted,
    /// It was left out, as the tail of a crash is.
    Dropped,
}

/// Decodes the rows of one log, in order.
pub struct Decoder {
    rows: Box<dyn Rows>,
}

/// How a decoder starts.
struct Start {
    mode: Mode,
    /// What is wrong with the header, if the log is not loaded for it.
    load_fault: Option<Fault>,
    /// What is known of the events before the first row; nothing is before the first of a whole log.
    before: Option<Before>,
}

/// What the decoders of the generations have in common.
trait Rows {
    /// Takes the next line, without its line feed.
    fn row(&mut self, text: &str, sink: &mut Sink<'_>) -> Result<RowFate, Fault>;
    /// Ends the log: what is wrong with it as a whole, the closers of an interrupted turn, the result.
    fn finish(&mut self, sink: &mut Sink<'_>) -> Result<Finished, Fault>;
}

impl Decoder {
    /// A decoder for the rows that follow a header. A header that its generation lists but does not
    /// load makes [`Decoder::finish`] fail.
    pub fn new(generation: Generation, line: &HeaderLine, mode: Mode) -> Decoder {
        Decoder::starting(generation, line, Start { mode, load_fault: line.load_fault.clone(), before: None })
    }

    /// A decoder for the rows behind events that were decoded before. It takes what fits the rules of a
    /// row and the order of events; an event that only the whole log can judge makes [`Decoder::finish`]
    /// fail. What it tells of the surface and of inherited events means nothing.
    pub fn of_tail(generation: Generation, line: &HeaderLine, before: Before) -> Decoder {
        let start = Start { mode: Mode::AsDsh, load_fault: line.load_fault.clone(), before: Some(before) };
        Decoder::starting(generation, line, start)
    }

    fn starting(generation: Generation, line: &HeaderLine, start: Start) -> Decoder {
        let header: &Header = &line.header;
        let rows: Box<dyn Rows> = match generation {
            Generation::V0 => v0::decoder(header, start),
            Generation::V1 => v1::decoder(header, start),
            Generation::V2 => v2::decoder(header, start),
            Generation::V3 => v3::decoder(header, start),
            Generation::V4 => v4::decoder(header, start),
        };
        Decoder { rows }
    }

    /// Takes the next line, without its line feed, and hands the sink what it holds.
    ///
    /// # Errors
    /// The log is one its dsh refuses, and no later line can change that.
    pub fn row(&mut self, text: &str, sink: &mut Sink<'_>) -> Result<RowFate, Fault> {
        self.rows.row(text, sink)
    }

    /// Ends the log. The sink gets the closers of an interrupted turn.
    ///
    /// # Errors
    /// The log is one its dsh refuses. What the sink got before must then be thrown away.
    pub fn finish(&mut self, sink: &mut Sink<'_>) -> Result<Finished, Fault> {
        self.rows.finish(sink)
    }
}
