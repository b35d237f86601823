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
        // A search sees dsh's marks as U+FFFD in every text, so in the query too.
        Ok(Pattern::of_words(words.iter().map(|word| word.replace(['\u{FDD0}', '\u{FDD1}'], "\u{FFFD}")).collect()))
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

    /// How often the text holds the pattern; `None` if not at all.
    pub fn count_in(&self, text: &str) -> Option<Occurrences> {
        let first = self.regex.find(text)?;
        let mut words = 0;
        let mut first_word = None;
        let mut covered = 0;
        let mut at = first.start();
        // As whole words matches can overlap ("a a" in "a a a"); dsh counts what overlaps as one.
        while let Some(found) = self.regex.find_at(text, at) {
            at = found.start() + text[found.start()..].chars().next().map_or(1, char::len_utf8);
            if !is_whole(text, found.start(), found.end()) {
                continue;
            }
            if first_word.is_none() || found.start() >= covered {
                words += 1;
            }
            first_word.get_or_insert_with(|| found.start() + found.as_str().find(is_word).unwrap_or(0));
            covered = found.end();
        }
        let all = || self.regex.find_iter(text).count() as u64;
        Some(match first_word {
            Some(start) => Occurrences { as_words: words, within_words: 0, start },
            None => Occurrences { as_words: 0, within_words: all(), start: first.start() },
        })
    }

    /// The places where the text holds the pattern, in bytes.
    pub fn places_in(&self, text: &str) -> Vec<(usize, usize)> {
        self.regex.find_iter(text).map(|found| (found.start(), found.end())).collect()
    }
}

/// How often a text holds a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Occurrences {
    /// How often as whole words, which is what dsh counts.
    pub as_words: u64,
    /// How often at all; counted only where it is never as whole words.
    pub within_words: u64,
    /// Where the first of those that were counted begins, in bytes; as whole words, where its first word
    /// does.
    pub start: usize,
}

/// Whether a place in a text begins and ends where words of dsh's tokenizer do.
fn is_whole(text: &str, start: usize, end: usize) -> bool {
    let cuts = |before: Option<char>, after: Option<char>| matches!((before, after), (Some(before), Some(after)) if is_word(before) && is_word(after));
    let (inside, before, after) = (&text[start..end], &text[..start], &text[end..]);
    !cuts(before.chars().next_back(), inside.chars().next()) && !cuts(inside.chars().next_back(), after.chars().next())
}

/// Whether a character belongs to a word: letters, numbers, marks on them, private use.
fn is_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '\u{300}'..='\u{36F}' | '\u{E000}'..='\u{F8FF}')
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
    fn the_marks_of_dsh_are_found_as_texts_show_them() {
        assert!(Pattern::of_query("\u{FDD0}a").unwrap().is_in("\u{FFFD}a"));
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
    fn whole_words_are_counted_first() {
        let count = |query, text| {
            let found = Pattern::of_query(query).unwrap().count_in(text).unwrap();
            (found.as_words, found.within_words, found.start)
        };
        assert_eq!(count("needle", "needles needle"), (1, 0, 8));
        assert_eq!(count("needle", "needles needlework"), (0, 2, 0));
        assert_eq!(count("a a", "a a a a a"), (1, 0, 0));
        assert_eq!(count("a a", "a a b a a"), (2, 0, 0));
        assert_eq!(count("文", "全文,文"), (1, 0, 7));
        assert_eq!(count("+", "a+b"), (1, 0, 1));
    }

    #[test]
    fn blank_and_nul_are_refused() {
        assert_eq!(Pattern::of_query(" \u{3000}").unwrap_err().code, Code::InvalidQuery);
        assert_eq!(Pattern::of_query("a\0b").unwrap_err().code, Code::InvalidQuery);
        assert_eq!(Pattern::of_filter("\n").unwrap_err().code, Code::InvalidFilter);
    }
}
