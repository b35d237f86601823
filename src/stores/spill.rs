//! Texts that go into a directory of the user's: each a new file of its owner alone, whole or not there,
//! and gone again if what they were made for fails.

use std::fmt;
use std::fs;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf, absolute};
use tempfile::Builder;

/// How many files of one name there may be in a directory.
const MAX_NAMESAKES: usize = 10_000;

/// Files that were made. Unless they are kept they are removed when this is dropped.
#[derive(Debug, Default)]
pub struct SpillFiles {
    made: Vec<PathBuf>,
}

/// Why a text could not be saved. Nothing is left of it.
#[derive(Debug)]
pub struct SpillError {
    directory: PathBuf,
    source: io::Error,
}

impl fmt::Display for SpillError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "could not save a file in {}: {}", self.directory.display(), self.source)
    }
}

impl std::error::Error for SpillError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

impl SpillFiles {
    /// Saves a text in a directory, which must be there, as `NAME.txt`, or `NAME-2.txt` and so on where
    /// there is something of that name. Gives the file's absolute path.
    ///
    /// # Errors
    /// The operating system said no, or the path is not Unicode and cannot be told.
    pub fn save(&mut self, directory: &Path, name: &str, text: &str) -> Result<String, SpillError> {
        self.try_save(directory, name, text).map_err(|source| SpillError { directory: directory.to_owned(), source })
    }

    fn try_save(&mut self, directory: &Path, name: &str, text: &str) -> io::Result<String> {
        let directory = absolute(directory)?;
        // It is written under another name, so that no half of it is ever seen under its own; files of
        // this kind are made for their owner alone.
        let mut file = Builder::new().prefix(".dshkit-").suffix(".tmp").tempfile_in(&directory)?;
        file.write_all(text.as_bytes())?;
        file.as_file().sync_all()?;
        for number in 1..=MAX_NAMESAKES {
            let suffix = if number == 1 { String::new() } else { format!("-{number}") };
            let path = directory.join(format!("{name}{suffix}.txt"));
            let Some(locator) = path.to_str().map(str::to_owned) else {
                return Err(io::Error::new(ErrorKind::InvalidFilename, "its path is not Unicode"));
            };
            match file.persist_noclobber(&path) {
                Ok(_) => {
                    self.made.push(path);
                    return Ok(locator);
                }
                Err(refused) if refused.error.kind() == ErrorKind::AlreadyExists => file = refused.file,
                Err(refused) => return Err(refused.error),
            }
        }
        Err(io::Error::new(ErrorKind::AlreadyExists, format!("there are {MAX_NAMESAKES} files of that name")))
    }

    /// Lets the files stay.
    pub fn keep(mut self) {
        self.made.clear();
    }
}

impl Drop for SpillFiles {
    fn drop(&mut self) {
        for path in &self.made {
            let _ = fs::remove_file(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(directory: &Path) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn files_are_new_and_stay_only_if_kept() {
        let directory = tempfile::tempdir().unwrap();
        let mut kept = SpillFiles::default();
        let first = kept.save(directory.path(), "a", "one").unwrap();
        kept.keep();
        let mut dropped = SpillFiles::default();
        let second = dropped.save(directory.path(), "a", "two").unwrap();
        assert_eq!(names(directory.path()), ["a-2.txt", "a.txt"]);
        assert_eq!(
            (fs::read_to_string(&first).unwrap(), fs::read_to_string(&second).unwrap()),
            ("one".into(), "two".into())
        );
        drop(dropped);
        assert_eq!(names(directory.path()), ["a.txt"]);
        assert!(SpillFiles::default().save(&directory.path().join("missing"), "a", "x").is_err());
    }

    #[cfg(unix)]
    #[test]
    fn a_link_is_not_followed_and_nobody_else_may_read() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let directory = tempfile::tempdir().unwrap();
        symlink("elsewhere", directory.path().join("a.txt")).unwrap();
        let mut files = SpillFiles::default();
        let path = files.save(directory.path(), "a", "text").unwrap();
        assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(names(directory.path()), ["a-2.txt", "a.txt"]);
    }
}
