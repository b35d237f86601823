//! Whether a log is still the one it was, told without reading it.

use std::fs::Metadata;

/// What changes whenever a log does: of a file its device, inode, size, and times of modification and
/// change in nanoseconds; of a session in a database how many rows it has and which is the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Revision(pub [i64; 5]);

impl Revision {
    /// When a file was modified last, in milliseconds since the epoch.
    pub fn modified(self) -> i64 {
        self.0[3].div_euclid(1_000_000)
    }

    /// The revision of a file.
    #[cfg(unix)]
    pub fn of_file(metadata: &Metadata) -> Revision {
        use std::os::unix::fs::MetadataExt;
        let nanoseconds = |seconds: i64, rest: i64| seconds.wrapping_mul(1_000_000_000).wrapping_add(rest);
        Revision([
            metadata.dev() as i64,
            metadata.ino() as i64,
            metadata.size() as i64,
            nanoseconds(metadata.mtime(), metadata.mtime_nsec()),
            nanoseconds(metadata.ctime(), metadata.ctime_nsec()),
        ])
    }

    /// Whether both are of the same file, or of the same database.
    pub fn is_of_file_of(&self, other: &Revision) -> bool {
        self.0[..2] == other.0[..2]
    }

    /// The revision of a file, as far as this system tells.
    #[cfg(not(unix))]
    pub fn of_file(metadata: &Metadata) -> Revision {
        let since = metadata.modified().ok().and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
        Revision([0, 0, metadata.len() as i64, since.map_or(0, |since| since.as_nanos() as i64), 0])
    }
}
