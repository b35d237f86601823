//! Names in a sessions directory (formats.md §1.2).

use crate::model::js_string::{JsStr, JsString};
use crate::stores::Encoding;
use std::fmt::Write;

/// The directory of sessions that have no working directory.
pub const NO_CWD: &str = "_no-cwd";
/// The lock file that a writing dsh holds.
pub const LOCK: &str = "session.lock";
/// How much of a project's readable name is kept, in characters.
const PROJECT_NAME_LIMIT: usize = 251;

/// The directory name of a session id. It is injective and holds only letters, digits, `.`, `_`, `-`
/// and `~`, so no id can reach outside its project. `None` for the empty id, which has no name.
pub fn encode_segment(id: &JsStr<'_>) -> Option<String> {
    match id.to_str() {
        Some("") => None,
        Some(".") => Some("~002E".to_owned()),
        Some("..") => Some("~002E~002E".to_owned()),
        _ => {
            let mut name = String::new();
            for unit in id.units() {
                push_unit(&mut name, unit);
            }
            Some(name)
        }
    }
}

/// The session id a directory name stands for, if it is one that [`encode_segment`] makes.
pub fn decode_segment(name: &str) -> Option<JsString> {
    let mut units = Vec::new();
    let mut rest = name;
    while let Some(c) = rest.chars().next() {
        if c == '~' {
            let hex = rest.get(1..5)?;
            units.push(u16::from_str_radix(hex, 16).ok()?);
            rest = &rest[5..];
        } else {
            units.push(u16::try_from(u32::from(c)).ok()?);
            rest = &rest[c.len_utf8()..];
        }
    }
    let id: JsString = units.into_iter().collect();
    (encode_segment(&id)? == name).then_some(id)
}

/// The directory name of a working directory: readable, lossy, and never read back. `None` for the
/// empty path, which dsh refuses.
pub fn project_key(cwd: Option<&JsStr<'_>>) -> Option<String> {
    let Some(cwd) = cwd else { return Some(NO_CWD.to_owned()) };
    if cwd.is_empty() {
        return None;
    }
    let mut slug = String::new();
    let mut in_separators = false;
    for unit in cwd.units() {
        let is_separator = [b'/', b'\\', b':'].into_iter().any(|separator| unit == u16::from(separator));
        if !is_separator {
            push_unit(&mut slug, unit);
        } else if !in_separators {
            slug.push('-');
        }
        in_separators = is_separator;
    }
    let slug = slug.trim_start_matches('-');
    let slug = if slug.is_empty() { "root" } else { slug };
    Some(format!("--{}--", &slug[..slug.len().min(PROJECT_NAME_LIMIT)]))
}

fn push_unit(name: &mut String, unit: u16) {
    match u8::try_from(unit) {
        Ok(byte) if byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-') => name.push(byte as char),
        _ => {
            let _ = write!(name, "~{unit:04X}");
        }
    }
}

/// What a canonical log name says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LogName {
    /// The generation: 0 without a number.
    pub version: u64,
    /// Plain or compressed.
    pub encoding: Encoding,
}

impl LogName {
    /// Reads a file name: `session.jsonl`, `session.vN.jsonl`, each also with `.zstd`.
    pub fn parse(name: &str) -> Option<LogName> {
        let (stem, encoding) = match name.strip_suffix(".zstd") {
            Some(stem) => (stem, Encoding::Zstd),
            None => (name, Encoding::Plain),
        };
        let stem = stem.strip_suffix(".jsonl")?.strip_prefix("session")?;
        if stem.is_empty() {
            return Some(LogName { version: 0, encoding });
        }
        let digits = stem.strip_prefix(".v")?;
        let is_canonical = digits.bytes().all(|byte| byte.is_ascii_digit()) && !digits.starts_with('0');
        let version = digits.parse().ok().filter(|version| *version <= 9_007_199_254_740_991)?;
        is_canonical.then_some(LogName { version, encoding })
    }

    /// The file name.
    pub fn file_name(self) -> String {
        let suffix = if self.encoding == Encoding::Zstd { ".zstd" } else { "" };
        match self.version {
            0 => format!("session.jsonl{suffix}"),
            version => format!("session.v{version}.jsonl{suffix}"),
        }
    }
}

/// Whether a name is one that dsh gives to a file while it writes it.
pub fn is_temporary(name: &str) -> bool {
    name.ends_with(".tmp") || name.contains(".tmp-") || name.starts_with(".dsh-mkdir-")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_are_those_of_the_format() {
        let key = |cwd: &str| project_key(Some(&JsStr::from(cwd))).unwrap();
        assert_eq!(key("/home/ann/my proj"), "--home-ann-my~0020proj--");
        assert_eq!(key("C:\\Users\\x"), "--C-Users-x--");
        assert_eq!(key("/"), "--root--");
        assert_eq!(project_key(None).unwrap(), "_no-cwd");
        assert_eq!(encode_segment(&JsStr::from("..")).unwrap(), "~002E~002E");
        assert_eq!(encode_segment(&JsStr::from("../escape")).unwrap(), "..~002Fescape");
        assert_eq!(encode_segment(&JsStr::from("😀")).unwrap(), "~D83D~DE00");
        assert_eq!(encode_segment(&JsStr::from("")), None);
    }

    #[test]
    fn only_canonical_log_names_count() {
        let version = |name| LogName::parse(name).map(|name| name.version);
        assert_eq!(version("session.jsonl"), Some(0));
        assert_eq!(version("session.v12.jsonl.zstd"), Some(12));
        for name in [
            "session.v0.jsonl",
            "session.v01.jsonl",
            "session.v.jsonl",
            "session.jsonl.zst",
            "a.jsonl",
            "session.v-1.jsonl",
        ] {
            assert_eq!(version(name), None, "{name}");
        }
        for name in ["session.jsonl", "session.v3.jsonl.zstd"] {
            assert_eq!(LogName::parse(name).unwrap().file_name(), name);
        }
    }

    proptest! {
        #[test]
        fn ids_survive_and_stay_one_segment(units in proptest::collection::vec(any::<u16>(), 1..40)) {
            let id: JsString = units.iter().copied().collect();
            let name = encode_segment(&id).unwrap();
            prop_assert!(name != "." && name != ".." && !name.contains('/'));
            prop_assert_eq!(decode_segment(&name), Some(id));
        }
    }
}
