//! Texts as sets of three-character pieces, by which an index finds where a pattern can be.
//!
//! Characters are folded as patterns fold them, white space is one character whatever it is made of, and
//! a text ends with two blanks, so that every one or two characters of it begin a piece. What a pattern
//! matches has all pieces of the pattern; the reverse need not hold.

use super::pattern::Pattern;
use crate::model::js_string::{CodePoint, is_js_whitespace};
use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange};
use std::collections::{HashMap, HashSet};

/// Where ASCII characters that are neither letters nor digits are put, so that a tokenizer that knows
/// only ASCII takes every piece for one word.
const PRIVATE: u32 = 0xE000;

/// White space of any length: a character that no searched text holds (see `search::Document`).
const BLANK: char = '\u{FDD0}';

/// A piece of a text.
pub(super) type Gram = [char; 3];

/// Makes pieces; remembers how characters fold.
#[derive(Default)]
pub(super) struct Grams {
    folded: HashMap<char, char>,
}

impl Grams {
    /// Adds the pieces of a text to a set.
    pub(super) fn of_text(&mut self, text: &str, grams: &mut HashSet<Gram>) {
        let mut window = [BLANK; 3];
        let mut seen = 0;
        let mut push = |c: char| {
            window = [window[1], window[2], c];
            seen += 1;
            if seen >= 3 {
                grams.insert(window);
            }
        };
        let mut was_blank = false;
        for c in text.chars() {
            let folded = self.fold(c);
            if folded != BLANK || !was_blank {
                push(folded);
            }
            was_blank = folded == BLANK;
        }
        push(BLANK);
        push(BLANK);
    }

    /// The pieces of a pattern, or the beginning of pieces if it is too short for one.
    pub(super) fn of_pattern(&mut self, pattern: &Pattern) -> PatternGrams {
        let text = pattern.normalized();
        let folded: Vec<char> = text.chars().map(|c| self.fold(c)).collect();
        if folded.len() < 3 {
            return PatternGrams::Beginning(folded.into_iter().collect());
        }
        let grams: HashSet<Gram> = folded.windows(3).map(|window| [window[0], window[1], window[2]]).collect();
        PatternGrams::All(grams.into_iter().collect())
    }

    fn fold(&mut self, c: char) -> char {
        if c.is_ascii_alphanumeric() && !matches!(c, 'k' | 'K' | 's' | 'S') {
            return c.to_ascii_lowercase();
        }
        *self.folded.entry(c).or_insert_with(|| fold(c))
    }
}

/// What a text must have to hold a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PatternGrams {
    /// All of these pieces.
    All(Vec<Gram>),
    /// A piece that begins so.
    Beginning(String),
}

/// The one character that stands for all that differ from it only in case.
fn fold(c: char) -> char {
    if is_js_whitespace(CodePoint::Char(c)) {
        return BLANK;
    }
    let mut class = ClassUnicode::new([ClassUnicodeRange::new(c, c)]);
    let alike = match class.try_case_fold_simple() {
        Ok(()) => class.iter().map(ClassUnicodeRange::start).min().unwrap_or(c),
        Err(_) => c,
    };
    if alike.is_ascii_alphanumeric() {
        alike.to_ascii_lowercase()
    } else if alike.is_ascii() {
        char::from_u32(PRIVATE + alike as u32).unwrap_or(BLANK)
    } else {
        alike
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn can_hold(text: &str, query: &str) -> bool {
        let mut grams = Grams::default();
        let mut set = HashSet::new();
        grams.of_text(text, &mut set);
        match grams.of_pattern(&Pattern::of_query(query).unwrap()) {
            PatternGrams::All(wanted) => wanted.iter().all(|gram| set.contains(gram)),
            PatternGrams::Beginning(start) => {
                set.iter().any(|gram| gram.iter().collect::<String>().starts_with(&start))
            }
        }
    }

    #[test]
    fn case_and_white_space_do_not_matter() {
        assert!(can_hold("Straße\t\n nach", "STRAẞE NACH"));
        assert!(can_hold("\u{212A}elvin", "kelvin") && can_hold("ſo", "SO") && can_hold("ΣΑΣ", "σας"));
        assert!(can_hold("全文", "文") && can_hold("全文", "全文") && !can_hold("全文", "搜"));
        assert!(!can_hold("Straße", "strasse"));
    }

    proptest! {
        #[test]
        fn what_matches_has_the_pieces(text in "[a-cA-Ck\u{212A}ſsSßẞİıi \t\n\u{3000}中文σς.\"*\u{E020}\u{E022}]{0,12}", query in "[a-cA-CkKsSßiI 中σΣ.\"*\u{E020}\u{E022}]{1,4}") {
            if let Ok(pattern) = Pattern::of_query(&query) {
                prop_assert!(!pattern.is_in(&text) || can_hold(&text, &query));
            }
        }
    }
}
