//! Literal text as a pattern: any case, any white space between its words (formats.md §9.3, §9.5).

use crate::error::{Code, Failure};
use crate::model::js_string::{CodePoint, JsStr};
use regex::{Regex, RegexBuilder};

/// JavaScript's `\s`, which Rust's differs from: it has U+FEFF and lacks U+0085.
const JS_SPACE: &str = r"[\t-\r \x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}\x{FEFF}]+";

/// A text to look for: its words in order, case folded simply as in JavaScript's `/iu`, with any white
/// space where it has some. Diacritics count.
#[derive(Clone, Debug)]
pub struct Pattern {
    words: Vec<String>,
    regex: Regex,
}

impl Pattern {
    /// The pattern of a filter's text.
    ///
    /// # Errors
    /// The text is blank.
    pub fn of_filter(text: &str) -> Result<Pattern, Failure> {
        let words = words(text);
        if words.is_empty() {
            return Err(Failure::new(
                Code::InvalidFilter,
                "a text filter must contain something else than white space",
            ));
        }
        Ok(Pattern::of_words(words))
    }

    /// The pattern of a query.
    ///
    /// # Errors
    /// The query is blank, or holds NUL.
    pub fn of_query(text: &str) -> Result<Pattern, Failure> {
        let words = words(text);
        if words.is_empty() {
            return Err(Failure::new(Code::InvalidQuery, "the query is blank"));
        }
        if text.contains('\0') {
            return Err(Failure::new(Code::InvalidQuery, "the query holds a NUL character"));
        }
        Ok(Pattern::of_words(words))
    }

    fn of_words(words: Vec<String>) -> Pattern {
        let escaped: Vec<String> = words.iter().map(|word| regex::escape(word)).collect();
        let regex = RegexBuilder::new(&escaped.join(JS_SPACE)).case_insensitive(true).size_limit(1 << 28).build();
        Pattern { words, regex: regex.expect("an escaped literal is a valid pattern") }
    }

    /// The words.
    pub fn words(&self) -> &[String] {
        &self.words
    }

    /// The query in its normal form: its words with one space between.
    pub fn normalized(&self) -> String {
        self.words.join(" ")
    }

    /// Whether the text holds the pattern.
    pub fn is_in(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }

    /// How often the text holds the pattern, and the byte offset of the first place.
    pub fn count_in(&self, text: &str) -> Option<(u64, usize)> {
        let first = self.regex.find(text)?;
        Some((self.regex.find_iter(text).count() as u64, first.start()))
    }
}

impl Pattern {
    /// The places where the text holds the pattern, in bytes.
    pub fn places_in(&self, text: &str) -> Vec<(usize, usize)> {
        self.regex.find_iter(text).map(|found| (found.start(), found.end())).collect()
    }
}

/// The parts of a text between JavaScript white space.
fn words(text: &str) -> Vec<String> {
    let is_space = |c: char| crate::model::js_string::is_js_whitespace(CodePoint::Char(c));
    text.split(is_space).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// Text as patterns see it: an unpaired surrogate is U+FFFD.
pub fn searchable<'a>(text: &'a JsStr<'_>) -> std::borrow::Cow<'a, str> {
    text.to_string_lossy()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_never_syntax() {
        for query in ["a.b", "x OR y", "\"quoted\"", "foo*", "NEAR(a b)", "'; DROP TABLE", "[a-z]", "(?i)", "\\d"] {
            let pattern = Pattern::of_query(query).unwrap();
            assert!(pattern.is_in(&format!("before {query} after")), "{query}");
            assert!(!pattern.is_in("zzz"), "{query}");
        }
        assert!(!Pattern::of_query("a.b").unwrap().is_in("axb"));
    }

    #[test]
    fn case_folds_simply_and_diacritics_count() {
        let is_in = |query, text| Pattern::of_query(query).unwrap().is_in(text);
        assert!(is_in("straße", "STRAẞE"));
        assert!(!is_in("strasse", "Straße"));
        assert!(!is_in("cafe", "café"));
        assert!(is_in("К", "к"));
        assert!(is_in("k", "\u{212A}"));
        assert!(is_in("搜", "全文搜索"));
        assert!(is_in("a\u{3000}b", "A\n\u{FEFF} B"));
        assert!(!is_in("a b", "a\u{85}b"));
    }

    #[test]
    fn blank_and_nul_are_refused() {
        assert_eq!(Pattern::of_query(" \u{3000}").unwrap_err().code, Code::InvalidQuery);
        assert_eq!(Pattern::of_query("a\0b").unwrap_err().code, Code::InvalidQuery);
        assert_eq!(Pattern::of_filter("\n").unwrap_err().code, Code::InvalidFilter);
    }
}
