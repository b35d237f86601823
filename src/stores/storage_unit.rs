//! A unit of dsh's storage as its JSON backend keeps it: one document in one file (sidechat.md §1.3). It is only
//! read; a running host holds its own copy and would write over ours.

use super::ReadError;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The most that is read of a unit, in bytes.
const MAX_BYTES: u64 = 256 << 20;

/// Where a unit of a DSH home lies.
pub fn place(home: &Path, unit: &str) -> PathBuf {
    home.join("storages").join(format!("{unit}.json"))
}

/// The text of a unit. `None`: there is no such file, which is a unit without records. Bytes that are no UTF-8
/// become U+FFFD, as Node reads them.
///
/// # Errors
/// The operating system said no, or the file is larger than any that is read.
pub fn read(path: &Path) -> Result<Option<String>, ReadError> {
    let failed = |source| ReadError::Io { path: path.to_owned(), source };
    // Looked at before it is opened: opening a pipe would wait for who writes to it.
    match fs::metadata(path) {
        Ok(metadata) if !metadata.is_file() => return Err(failed(io::Error::other("it is no file"))),
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error)),
    }
    let file = File::open(path).map_err(failed)?;
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(failed(io::Error::new(io::ErrorKind::FileTooLarge, "it is larger than any that is read")));
    }
    Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
}
