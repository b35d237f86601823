//! Revisions, as people write them.

/// The number of a revision: `3`, or `rev-3` as it is shown.
///
/// # Errors
/// It is none.
pub(super) fn revision(text: &str) -> Result<u64, String> {
    let number = text.strip_prefix("rev-").unwrap_or(text).parse().ok().filter(|number| *number > 0);
    number.ok_or_else(|| "a revision is a number from 1, or rev-1".to_owned())
}
