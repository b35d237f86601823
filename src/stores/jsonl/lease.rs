//! Whether a dsh is writing to a session right now, and keeping it from that (formats.md §1.4,
//! observed.md §3).
//!
//! dsh 0.1.5 and later hold an exclusive `flock` on `session.lock` while they may write. The file stays
//! when they are gone, so its presence says nothing. To look without touching, the kernel's list of
//! locks is read: even a moment of holding the lock would make a dsh that starts then fail. A writer
//! takes the lock, and only when everything else allows it to write.

use super::layout::LOCK;
use crate::stores::steps::{Steps, take};
use std::collections::HashSet;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::Path;

/// How often a lock file that was replaced under our hands is tried, as often as dsh does.
const TRIES: usize = 3;

/// The right to write to a session, given back when dropped. The lock file stays, as dsh leaves it.
pub(super) struct Lease {
    file: File,
}

impl Drop for Lease {
    /// Closing the file would do, were it not for a child process that is just being started by another
    /// thread and still has a copy of it.
    fn drop(&mut self) {
        let _ = self.file.unlock();
    }
}

/// Why there is no lease.
#[derive(Debug)]
pub(super) enum LeaseError {
    /// Somebody else has it.
    Held,
    /// The lock file was another one each time we had locked it.
    Replaced,
    /// The lock file could not be opened or made.
    Io(io::Error),
    /// The file system has no such locks.
    NoLocks(io::Error),
}

impl Lease {
    /// Takes the lease of a session directory, without waiting.
    pub(super) fn take(directory: &Path, steps: &mut dyn Steps) -> Result<Lease, LeaseError> {
        let path = directory.join(LOCK);
        if cfg!(not(unix)) {
            // There dsh uses a named semaphore.
            return Err(LeaseError::NoLocks(io::ErrorKind::Unsupported.into()));
        }
        for _ in 0..TRIES {
            let file = take(steps, "lock-open", || open(&path)).map_err(LeaseError::Io)?;
            match take(steps, "lock", || Ok(file.try_lock())).map_err(LeaseError::Io)? {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Err(LeaseError::Held),
                Err(TryLockError::Error(error)) => return Err(LeaseError::NoLocks(error)),
            }
            let held = identity_of(&file.metadata().map_err(LeaseError::Io)?);
            if held == identity(&path) {
                return Ok(Lease { file });
            }
        }
        Err(LeaseError::Replaced)
    }
}

/// Opens the lock file, which is made if it is missing. What is in it, if anything, stays. A link in its place is not
/// followed: a file would be made wherever it leads.
fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    // Reading too, so that not even a pipe in its place could keep us waiting.
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600).custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed());
    }
    let file = options.open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("the lock is no file")) }
}

/// The files somebody holds an exclusive `flock` on, at one moment.
pub struct HeldLocks {
    /// Device and inode, as the kernel names them; `None` where there is no such list.
    held: Option<HashSet<(u64, u64)>>,
}

impl HeldLocks {
    /// Reads the kernel's list.
    pub fn read() -> HeldLocks {
        HeldLocks { held: fs::read_to_string("/proc/locks").ok().map(|text| parse(&text)) }
    }

    /// Whether the file is locked. `None`: there is no telling, or there is no such file.
    pub fn is_held(&self, path: &Path) -> Option<bool> {
        let held = self.held.as_ref()?;
        let (device, inode) = identity(path)?;
        if held.contains(&(device, inode)) {
            return Some(true);
        }
        // Some file systems give the kernel another device number than they give us.
        if held.iter().any(|(_, held_inode)| *held_inode == inode) { None } else { Some(false) }
    }
}

/// Lines look like `1: FLOCK  ADVISORY  WRITE 1234 fe:00:5678 0 EOF`: major and minor device number in
/// hexadecimal, inode in decimal.
fn parse(text: &str) -> HashSet<(u64, u64)> {
    text.lines()
        .filter_map(|line| {
            let mut words = line.split_whitespace().skip_while(|word| *word != "FLOCK").skip(2);
            let mode = words.next()?;
            let mut identity = words.nth(1)?.split(':');
            let major = u64::from_str_radix(identity.next()?, 16).ok()?;
            let minor = u64::from_str_radix(identity.next()?, 16).ok()?;
            let inode = identity.next()?.parse().ok()?;
            (mode == "WRITE").then_some((make_device(major, minor), inode))
        })
        .collect()
}

/// A device number as `stat` gives it on Linux.
fn make_device(major: u64, minor: u64) -> u64 {
    (minor & 0xFF) | (major & 0xFFF) << 8 | (minor & !0xFF) << 12 | (major & !0xFFF) << 32
}

fn identity(path: &Path) -> Option<(u64, u64)> {
    identity_of(&fs::metadata(path).ok()?)
}

#[cfg(unix)]
fn identity_of(metadata: &fs::Metadata) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    Some((metadata.dev(), metadata.ino()))
}

#[cfg(not(unix))]
fn identity_of(_metadata: &fs::Metadata) -> Option<(u64, u64)> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_kernels_list() {
        let text = "1: POSIX  ADVISORY  READ 9 00:2c:77 0 EOF\n2: FLOCK  ADVISORY  WRITE 12 fe:01:42 0 EOF\n\
                    2: -> FLOCK  ADVISORY  WRITE 13 fe:01:43 0 EOF\n3: FLOCK  ADVISORY  READ 14 fe:01:44 0 EOF\n";
        let held = parse(text);
        assert!(held.contains(&(make_device(0xFE, 1), 42)));
        assert!(!held.contains(&(make_device(0xFE, 1), 44)));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn sees_a_lock_and_its_end() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert_eq!(HeldLocks::read().is_held(file.path()), Some(false));
        file.as_file().try_lock().unwrap();
        assert_eq!(HeldLocks::read().is_held(file.path()), Some(true));
        file.as_file().unlock().unwrap();
        assert_eq!(HeldLocks::read().is_held(file.path()), Some(false));
    }
}
