//! What the operating system says against a write, told apart as far as a person can do something.

use std::fmt;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// A write that the operating system would not do.
#[derive(Debug)]
pub struct WriteFault {
    /// What kind of refusal it is.
    pub kind: WriteFaultKind,
    /// The file or directory.
    pub path: PathBuf,
    /// What the system said.
    pub source: io::Error,
}

/// Why a write failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteFaultKind {
    /// The file system is read-only.
    ReadOnly,
    /// The file or directory belongs to somebody else.
    NotPermitted,
    /// The disk, or what this user may use of it, is full.
    Full,
    /// Anything else.
    Other,
}

impl WriteFault {
    pub(super) fn new(path: &Path, source: io::Error) -> WriteFault {
        let kind = match source.kind() {
            ErrorKind::ReadOnlyFilesystem => WriteFaultKind::ReadOnly,
            ErrorKind::PermissionDenied => WriteFaultKind::NotPermitted,
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => WriteFaultKind::Full,
            _ => WriteFaultKind::Other,
        };
        WriteFault { kind, path: path.to_owned(), source }
    }
}

impl fmt::Display for WriteFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "could not write {}: {}", self.path.display(), self.source)
    }
}

impl std::error::Error for WriteFault {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}
