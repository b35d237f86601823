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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kinds_are_those_of_the_system() {
        let kind = |number| WriteFault::new(Path::new("log"), io::Error::from_raw_os_error(number)).kind;
        // EROFS, EACCES, EPERM, ENOSPC, EDQUOT, EFBIG, EIO as Linux numbers them.
        let expected = [
            (30, WriteFaultKind::ReadOnly),
            (13, WriteFaultKind::NotPermitted),
            (1, WriteFaultKind::NotPermitted),
            (28, WriteFaultKind::Full),
            (122, WriteFaultKind::Full),
            (27, WriteFaultKind::Full),
            (5, WriteFaultKind::Other),
        ];
        if cfg!(target_os = "linux") {
            assert_eq!(expected.map(|(number, _)| kind(number)), expected.map(|(_, kind)| kind));
        }
    }
}
