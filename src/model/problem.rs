//! What can be wrong with a stored session, in stable words.

use crate::model::js_string::JsString;
use std::fmt;
use std::path::PathBuf;

/// The kind of a problem. The names are part of the JSON contract (DESIGN, "Problem kinds").
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ProblemKind {
    /// Something lies in the store that dsh did not put there; it is ignored.
    ForeignEntry,
    /// A temporary file that a crash left behind; it is ignored.
    OrphanTemp,
    /// The last record or frame is incomplete; what is complete before it counts.
    TornTail,
    /// A row that cannot be read; harmless only at the end of a log.
    BadRow,
    /// A row whose sequence number does not continue the log; harmless only at the end of a log.
    SeqGap,
    /// A replacement or a surface marker breaks the rules of the surface.
    InvalidSurface,
    /// The file has no bytes.
    Empty,
    /// A Zstandard frame does not begin with the magic number.
    BadMagic,
    /// No complete first frame, or no complete first line.
    NoHeaderFrame,
    /// The first frame holds more or less than the header line.
    HeaderFrameNotAlone,
    /// The first line is not a session header.
    BadHeader,
    /// A frame's content does not match its checksum.
    Checksum,
    /// A frame cannot be decoded.
    CorruptFrame,
    /// Complete frames end inside a record, or bytes follow the last frame.
    TrailingBytes,
    /// Header, file name and directory do not belong together.
    IdentityMismatch,
    /// Plain and compressed logs of one session, or in one store.
    MixedEncoding,
    /// The same session id in two directories.
    DuplicateId,
    /// A log that lies in the project directory itself.
    FlatLayout,
    /// A required event of an unknown type.
    UnknownEvent,
    /// A format generation that this program or its dsh does not know.
    UnsupportedVersion,
    /// The operating system would not let us read it.
    Unreadable,
}

impl ProblemKind {
    /// Every kind, mildest first.
    pub const ALL: [ProblemKind; 21] = [
        ProblemKind::ForeignEntry,
        ProblemKind::OrphanTemp,
        ProblemKind::TornTail,
        ProblemKind::BadRow,
        ProblemKind::SeqGap,
        ProblemKind::InvalidSurface,
        ProblemKind::Empty,
        ProblemKind::BadMagic,
        ProblemKind::NoHeaderFrame,
        ProblemKind::HeaderFrameNotAlone,
        ProblemKind::BadHeader,
        ProblemKind::Checksum,
        ProblemKind::CorruptFrame,
        ProblemKind::TrailingBytes,
        ProblemKind::IdentityMismatch,
        ProblemKind::MixedEncoding,
        ProblemKind::DuplicateId,
        ProblemKind::FlatLayout,
        ProblemKind::UnknownEvent,
        ProblemKind::UnsupportedVersion,
        ProblemKind::Unreadable,
    ];

    /// The stable name.
    pub fn name(self) -> &'static str {
        match self {
            ProblemKind::ForeignEntry => "foreign-entry",
            ProblemKind::OrphanTemp => "orphan-temp",
            ProblemKind::TornTail => "torn-tail",
            ProblemKind::BadRow => "bad-row",
            ProblemKind::SeqGap => "seq-gap",
            ProblemKind::InvalidSurface => "invalid-surface",
            ProblemKind::Empty => "empty",
            ProblemKind::BadMagic => "bad-magic",
            ProblemKind::NoHeaderFrame => "no-header-frame",
            ProblemKind::HeaderFrameNotAlone => "header-frame-not-alone",
            ProblemKind::BadHeader => "bad-header",
            ProblemKind::Checksum => "checksum",
            ProblemKind::CorruptFrame => "corrupt-frame",
            ProblemKind::TrailingBytes => "trailing-bytes",
            ProblemKind::IdentityMismatch => "identity-mismatch",
            ProblemKind::MixedEncoding => "mixed-encoding",
            ProblemKind::DuplicateId => "duplicate-id",
            ProblemKind::FlatLayout => "flat-layout",
            ProblemKind::UnknownEvent => "unknown-event",
            ProblemKind::UnsupportedVersion => "unsupported-version",
            ProblemKind::Unreadable => "unreadable",
        }
    }
}

impl fmt::Display for ProblemKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One thing that is wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// What kind of thing.
    pub kind: ProblemKind,
    /// The file or directory.
    pub path: PathBuf,
    /// The session it concerns, where that is known.
    pub session_id: Option<JsString>,
    /// The byte offset in the file as it lies on disk.
    pub byte: Option<u64>,
    /// The line of the plain log, the header being line 1.
    pub line: Option<u64>,
    /// The event's sequence number.
    pub seq: Option<u64>,
    /// One sentence for a person, without the place.
    pub message: String,
    /// Whether the log is not damaged but of a kind nobody here can read.
    pub is_unsupported: bool,
}

impl Problem {
    /// A problem with a path and nothing else known about its place.
    pub fn at(kind: ProblemKind, path: impl Into<PathBuf>, message: impl Into<String>) -> Problem {
        Problem {
            kind,
            path: path.into(),
            session_id: None,
            byte: None,
            line: None,
            seq: None,
            message: message.into(),
            is_unsupported: is_unsupported(kind),
        }
    }
}

impl Problem {
    /// As [`Problem::at`], for an error.
    pub fn boxed_at(kind: ProblemKind, path: impl Into<PathBuf>, message: impl Into<String>) -> Box<Problem> {
        Box::new(Problem::at(kind, path, message))
    }
}

/// One line: kind, place, sentence.
impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind, self.path.display())?;
        for (name, place) in [("byte", self.byte), ("line", self.line), ("seq", self.seq)] {
            if let Some(place) = place {
                write!(f, ", {name} {place}")?;
            }
        }
        write!(f, ": {}", self.message)
    }
}

fn is_unsupported(kind: ProblemKind) -> bool {
    matches!(kind, ProblemKind::UnsupportedVersion | ProblemKind::UnknownEvent)
}

/// Why a log cannot be used, before it is known where the log lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What kind of thing is wrong.
    pub kind: ProblemKind,
    /// The byte offset in the file as it lies on disk.
    pub byte: Option<u64>,
    /// The line of the plain log, the header being line 1.
    pub line: Option<u64>,
    /// The event's sequence number.
    pub seq: Option<u64>,
    /// One sentence for a person.
    pub message: String,
    /// Whether the log is not damaged but of a kind nobody here can read.
    pub unsupported: bool,
}

impl Fault {
    /// A fault of a kind, its place still unknown.
    pub fn new(kind: ProblemKind, message: impl Into<String>) -> Fault {
        Fault { kind, byte: None, line: None, seq: None, message: message.into(), unsupported: is_unsupported(kind) }
    }

    /// The same fault at a line.
    pub fn at_line(mut self, line: u64) -> Fault {
        self.line.get_or_insert(line);
        self
    }

    /// The same fault at an event.
    pub fn at_seq(mut self, seq: u64) -> Fault {
        self.seq.get_or_insert(seq);
        self
    }

    /// The same fault at a byte of the file.
    pub fn at_byte(mut self, byte: u64) -> Fault {
        self.byte.get_or_insert(byte);
        self
    }

    /// The fault as a problem of a file.
    pub fn into_problem(self, path: impl Into<PathBuf>, session_id: Option<JsString>) -> Problem {
        Problem {
            kind: self.kind,
            path: path.into(),
            session_id,
            byte: self.byte,
            line: self.line,
            seq: self.seq,
            message: self.message,
            is_unsupported: self.unsupported,
        }
    }
}
