//! When two working directories are the same, by their names alone.

use crate::model::js_string::JsStr;

/// Whether two names mean the same directory. Names are compared as they stand; only those of Windows
/// are compared without regard to the case of the drive and to which way the slashes lean.
pub fn is_same(a: &JsStr<'_>, b: &JsStr<'_>) -> bool {
    a == b || matches!((windows(a), windows(b)), (Some(a), Some(b)) if a == b)
}

/// A Windows path in one spelling; `None` for any other.
fn windows(path: &JsStr<'_>) -> Option<String> {
    let path = path.to_str()?;
    let bytes = path.as_bytes();
    let has_drive =
        bytes.len() >= 3 && bytes[0].is_ascii_alphabetic() && bytes[1] == b':' && matches!(bytes[2], b'\\' | b'/');
    if !has_drive && !path.starts_with("\\\\") {
        return None;
    }
    let mut folded = path.replace('\\', "/");
    if has_drive {
        folded[..1].make_ascii_lowercase();
    }
    while folded.len() > 3 && folded.ends_with('/') {
        folded.pop();
    }
    Some(folded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_windows_paths_are_folded() {
        let same = |a: &'static str, b: &'static str| is_same(&JsStr::from(a), &JsStr::from(b));
        assert!(same("C:\\Users\\me", "c:/Users/me/"));
        assert!(same("\\\\host\\share", "\\\\host/share"));
        assert!(!same("C:\\Users\\me", "C:\\users\\me"));
        assert!(!same("/work/a", "/work/A") && !same("/work/a", "/work/a/") && !same("/work/a", "/work/ab"));
        assert!(!same("/c:/x", "c:/x"));
    }
}
