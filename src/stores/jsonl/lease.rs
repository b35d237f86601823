//! Whether a dsh is writing to a session right now (formats.md §1.4, observed.md §3).
//!
//! dsh 0.1.5 and later hold an exclusive `flock` on `session.lock` while they may write. The file stays
//! when they are gone, so its presence says nothing. To look without touching, the kernel's list of
//! locks is read: even a moment of holding the lock would make a dsh that starts then fail.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

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

#[cfg(unix)]
fn identity(path: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    let metadata = fs::metadata(path).ok()?;
    Some((metadata.dev(), metadata.ino()))
}

#[cfg(not(unix))]
fn identity(_path: &Path) -> Option<(u64, u64)> {
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
