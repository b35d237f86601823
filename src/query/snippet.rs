//! A window into a text, around what was found (formats.md §9.5).

use crate::model::js_string::{CodePoint, is_js_whitespace};

/// How long a snippet is at most, in code points.
pub const SNIPPET_LENGTH: usize = 240;

/// Cuts a snippet of at most so many code points: white space made single, beginning about a third of
/// the window before the match, `…` where it was cut. The match is given by its byte offset.
pub fn snippet(text: &str, match_start: usize, length: usize) -> String {
    let (characters, matched) = normalize(text, match_start);
    if characters.len() <= length {
        return characters.into_iter().collect();
    }
    if length <= 1 {
        return "…".to_owned();
    }
    let matched = matched.min(characters.len() - 1);
    let mut start = matched.saturating_sub(length / 3);
    let prefix = usize::from(start > 0);
    let mut suffix = 1;
    let mut content = (length - prefix).saturating_sub(suffix);
    if content < 1 {
        start = matched;
        suffix = 0;
        content = length - prefix;
    } else if matched >= start + content {
        start = matched - content + 1;
    }
    let mut end = (start + content).min(characters.len());
    if end == characters.len() {
        suffix = 0;
        content = length - prefix;
        start = end.saturating_sub(content);
    }
    end = (start + content).min(characters.len());
    let mut out = String::new();
    if prefix == 1 {
        out.push('…');
    }
    out.extend(&characters[start..end]);
    if suffix == 1 {
        out.push('…');
    }
    out
}

/// The text with white space made single and none at the ends, and where in it the match begins.
fn normalize(text: &str, match_start: usize) -> (Vec<char>, usize) {
    let mut characters = Vec::new();
    let mut matched = None;
    for (at, c) in text.char_indices() {
        if at == match_start {
            matched = Some(characters.len());
        }
        if !is_js_whitespace(CodePoint::Char(c)) {
            characters.push(c);
        } else if characters.last().is_some_and(|last| *last != ' ') {
            characters.push(' ');
        }
    }
    if characters.last() == Some(&' ') {
        characters.pop();
    }
    (characters, matched.unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn short_texts_stay_whole() {
        assert_eq!(snippet(" a \n b ", 0, 10), "a b");
    }

    #[test]
    fn the_match_is_in_the_window() {
        let text = format!("{}needle{}", "a".repeat(300), "b".repeat(300));
        let cut = snippet(&text, 300, 60);
        assert!(cut.contains("needle") && cut.starts_with('…') && cut.ends_with('…'), "{cut}");
        assert_eq!(cut.chars().count(), 60);
    }

    proptest! {
        #[test]
        fn a_snippet_is_never_longer_than_asked(text in "\\PC{0,80}", start in 0usize..80, length in 1usize..40) {
            prop_assert!(snippet(&text, start, length).chars().count() <= length.max(1));
        }
    }
}
