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
        let mut file = File::open(path)?;
        let mut hasher = Sha256::new();
        let mut buffer = vec![0; 256 << 10];
        let mut bytes = 0;
        loop {
            match file.read(&mut buffer) {
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
    }
}
