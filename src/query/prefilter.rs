//! Which logs can hold a match at all, told from their stored rows without decoding them.
//!
//! A prefilter may say yes too often and never no where a match is. It looks for the longest word of a
//! query as JSON has it, in any case; what could spell it differently counts as a yes.

use super::pattern::Pattern;
use crate::model::closers;
use crate::model::js_string::JsStr;
use crate::model::json::{View, parse};
use memchr::memmem;
use regex::bytes::{Regex, RegexBuilder};

/// Rows of these types are never searched; some of them are large, and in every log.
const SILENT: [&str; 8] = [
    "assistant/attempt",
    "assistant/chunk",
    "developer/message",
    "request/header",
    "session/title-llm-request",
    "step/start",
    "system/message",
    "web/deepseek-search-llm-request",
];

/// Words that reading an old log can add to it (see `generations`), beside those of closers.
const ENDS: [&str; 4] = ["error", "aborted", "max-tokens", "interrupted"];

/// A test of stored rows.
#[derive(Clone, Debug)]
pub struct Prefilter {
    /// `None`: there is nothing to go by.
    word: Option<Regex>,
    escape: memmem::Finder<'static>,
}

impl Prefilter {
    /// The prefilter of a pattern.
    pub fn of(pattern: &Pattern) -> Prefilter {
        let is_plain = |c: char| !c.is_control() && c != char::REPLACEMENT_CHARACTER;
        let parts = pattern.words().iter().flat_map(|word| word.split(|c| !is_plain(c)));
        let longest = parts.max_by_key(|part| part.len()).unwrap_or_default();
        let word = (!longest.is_empty() && !is_added_on_reading(longest)).then(|| as_in_json(longest));
        Prefilter { word, escape: memmem::Finder::new(b"\\u") }
    }

    /// Whether it says yes to everything.
    pub fn admits_all(&self) -> bool {
        self.word.is_none()
    }

    /// Whether a block of whole lines can hold a match.
    pub fn admits(&self, block: &[u8]) -> bool {
        let Some(word) = &self.word else { return true };
        self.any_speaking(block, |at| word.find_at(block, at).map(|found| found.start()))
            || self.any_speaking(block, |at| self.unusual_escape(block, at))
    }

    /// Whether one of the places lies in a row that is searched.
    fn any_speaking(&self, block: &[u8], next: impl Fn(usize) -> Option<usize>) -> bool {
        let mut at = 0;
        while let Some(found) = next(at) {
            let start = memchr::memrchr(b'\n', &block[..found]).map_or(0, |end| end + 1);
            let end = memchr::memchr(b'\n', &block[found..]).map_or(block.len(), |end| found + end);
            if speaks(&block[start..end]) {
                return true;
            }
            at = end;
        }
        false
    }

    /// The next `\u` escape of a character that dsh would not have escaped.
    fn unusual_escape(&self, block: &[u8], from: usize) -> Option<usize> {
        let mut at = from;
        while let Some(found) = self.escape.find(&block[at..]) {
            let found = at + found;
            let backslashes = block[..found].iter().rev().take_while(|byte| **byte == b'\\').count();
            let hex = block.get(found + 2..found + 6).and_then(|hex| std::str::from_utf8(hex).ok());
            let code = hex.and_then(|hex| u32::from_str_radix(hex, 16).ok());
            // After an even number of backslashes this one escapes.
            if backslashes % 2 == 0 && code.is_none_or(|code| code >= 0x20) {
                return Some(found);
            }
            at = found + 2;
        }
        None
    }
}

/// A word as JSON text can have it, in any case. A solidus may have a backslash before it.
fn as_in_json(word: &str) -> Regex {
    let spell = |c| match c {
        '"' => "\\\\\"".to_owned(),
        '\\' => "\\\\\\\\".to_owned(),
        '/' => "\\\\?/".to_owned(),
        c => regex::escape(c.encode_utf8(&mut [0; 4])),
    };
    let spelled: String = word.chars().map(spell).collect();
    let regex = RegexBuilder::new(&spelled).case_insensitive(true).size_limit(1 << 28).build();
    regex.expect("an escaped literal is a valid pattern")
}

/// Whether a word can be in what reading a log adds to it.
fn is_added_on_reading(word: &str) -> bool {
    let Ok(pattern) = Pattern::of_query(word) else { return true };
    closers::SAYINGS.iter().chain(&ENDS).any(|text| pattern.is_in(text))
}

/// Whether a row is of a type that is searched. What cannot be read may be.
fn speaks(line: &[u8]) -> bool {
    let text = String::from_utf8_lossy(line);
    let Ok(row) = parse(&text) else { return true };
    let kind = row.get("type").and_then(View::string);
    let kind = kind.as_ref().and_then(JsStr::to_str);
    !kind.is_some_and(|kind| SILENT.contains(&kind))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn admits(query: &str, line: &str) -> bool {
        Prefilter::of(&Pattern::of_query(query).unwrap()).admits(line.as_bytes())
    }

    #[test]
    fn rows_that_are_not_searched_are_passed_over() {
        assert!(!admits("needle", "{\"type\":\"request/header\",\"x\":\"a needle\"}\n{\"type\":\"user/message\"}\n"));
        assert!(admits(
            "needle",
            "{\"type\":\"request/header\",\"x\":\"needle\"}\n{\"type\":\"user/message\",\"x\":\"NEEDLE\"}\n"
        ));
    }

    #[test]
    fn other_spellings_are_not_missed() {
        let row = |text: &str| format!("{{\"type\":\"user/message\",\"x\":\"{text}\"}}\n");
        assert!(admits("needle", &row("n\\u0065edle")));
        assert!(!admits("needle", &row("n\\\\u0065edle")));
        assert!(!admits("needle", &row("\\u001b[0m")));
        assert!(admits("a/b", &row("a\\/b")));
        assert!(admits("say \"hello\"", &row("say \\\"hello\\\"")));
        assert!(admits("c:\\dir", &row("C:\\\\DIR")));
    }

    #[test]
    fn words_of_closers_admit_every_log() {
        assert!(admits("interrupted", "{}\n") && admits("Harness", "{}\n") && admits("ERROR", "{}\n"));
    }

    proptest! {
        #[test]
        fn what_holds_the_query_is_admitted(before in "\\PC{0,6}", query in "[\\PC&&[^ ]]{1,6}", after in "\\PC{0,6}") {
            prop_assume!(Pattern::of_query(&query).is_ok());
            let text = format!("{before}{query}{after}");
            let row = format!("{{\"type\":\"user/message\",\"x\":{}}}\n", serde_json::to_string(&text).unwrap());
            prop_assert!(admits(&query, &row));
        }
    }
}
