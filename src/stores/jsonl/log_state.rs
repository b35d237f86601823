//! Whether a log has exactly the bytes it had, told by reading it.

use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// What identifies the content of a log file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogState {
    /// Its length in bytes.
    pub bytes: u64,
    /// The SHA-256 of all of it, in lower-case hexadecimal.
    pub sha256: String,
}

impl LogState {
    /// The state of a file.
    ///
    /// # Errors
    /// The operating system would not let us read it.
    pub fn of_file(path: &Path) -> io::Result<LogState> {
        LogState::of(File::open(path)?)
    }

    /// The state a file had when it was so many bytes long, if nothing but its length has changed since.
    ///
    /// # Errors
    /// The operating system would not let us read it.
    pub fn of_beginning(path: &Path, bytes: u64) -> io::Result<LogState> {
        LogState::of(File::open(path)?.take(bytes))
    }

    fn of(mut source: impl Read) -> io::Result<LogState> {
        let mut hasher = Sha256::new();
        let mut buffer = vec![0; 256 << 10];
        let mut bytes = 0;
        loop {
            match source.read(&mut buffer) {
                Ok(0) => break,
                Ok(read) => {
                    hasher.update(&buffer[..read]);
                    bytes += read as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(LogState { bytes, sha256: hexadecimal(&hasher.finalize()) })
    }
}

/// Bytes in lower-case hexadecimal.
pub(super) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn a_state_is_length_and_digest() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(b"abc").unwrap();
        let state = LogState::of_file(file.path()).unwrap();
        // The first example of FIPS 180-2.
        assert_eq!(state.sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_eq!(state.bytes, 3);
        file.write_all(b"def").unwrap();
        assert_eq!(LogState::of_beginning(file.path(), 3).unwrap(), state);
    }
}
