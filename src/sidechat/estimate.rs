//! How many tokens a text is about.
//!
//! Two numbers, because budgets must agree with dsh's plugin, and people want to know the truth.

/// The budget of a fold or a cite, in compatible tokens.
pub const BUDGET: u64 = 500;

/// The length of a text as JavaScript counts it, in UTF-16 units.
pub fn utf16_len(text: &str) -> u64 {
    text.encode_utf16().count() as u64
}

/// The estimate the budgets count with: a quarter of the UTF-16 units, rounded up, whatever the script
/// (sidechat.md §2.7).
pub fn compatible_tokens(text: &str) -> u64 {
    utf16_len(text).div_ceil(4)
}

/// An estimate that knows scripts: by DeepSeek's own rule of thumb three tenths of a token for an ASCII
/// character; twice that for any other, of which Chinese ones are the most.
pub fn script_aware_tokens(text: &str) -> u64 {
    text.chars().map(|c| if c.is_ascii() { 3 } else { 6 }).sum::<u64>().div_ceil(10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_compatible_estimate_counts_utf16_units() {
        assert_eq!(compatible_tokens(""), 0);
        assert_eq!(compatible_tokens(&"a".repeat(2000)), 500);
        assert_eq!(compatible_tokens(&"a".repeat(2001)), 501);
        assert_eq!(compatible_tokens(&"😀".repeat(1000)), 500);
        assert_eq!(compatible_tokens(&"字".repeat(500)), 125);
    }

    #[test]
    fn the_other_estimate_knows_scripts() {
        assert_eq!(script_aware_tokens(&"字".repeat(500)), 300);
        assert_eq!(script_aware_tokens(&"a".repeat(500)), 150);
        assert_eq!(script_aware_tokens(""), 0);
    }
}
