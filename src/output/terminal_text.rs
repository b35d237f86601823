//! Foreign text made safe to look at.
//!
//! A log holds what a model, a tool or a stranger wrote: escape sequences that move the cursor or fill
//! the clipboard, marks that turn the direction of text, characters nobody sees. In text for people they
//! are all spelled out (DESIGN §2). JSON is for programs and stays as it is.

use crate::model::js_string::{CodePoint, JsStr};
use std::borrow::Cow;
use std::fmt::Write;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Whether a character must not reach a terminal as it is.
fn is_unsafe(c: char) -> bool {
    matches!(c,
        '\u{0}'..='\u{1F}' | '\u{7F}'..='\u{9F}'           // controls
        | '\u{AD}' | '\u{34F}' | '\u{61C}'                 // soft hyphen, grapheme joiner, Arabic mark
        | '\u{115F}'..='\u{1160}' | '\u{3164}' | '\u{FFA0}' // Hangul fillers
        | '\u{17B4}'..='\u{17B5}' | '\u{180B}'..='\u{180F}' // Khmer vowels nobody sees, Mongolian marks
        | '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}' // zero-width, marks, separators, overrides
        | '\u{2060}'..='\u{206F}' | '\u{FEFF}'             // joiners, isolates, byte order mark
        | '\u{FE00}'..='\u{FE0D}'                          // variants of characters; those of emoji stay
        | '\u{FFF0}'..='\u{FFFB}'                          // unassigned ones nobody sees, annotations
        | '\u{1BCA0}'..='\u{1BCA3}' | '\u{1D173}'..='\u{1D17A}' // marks of shorthand and music
        | '\u{E0000}'..='\u{E0FFF}') // tags, more variants
}

/// One line of text with everything unsafe spelled out, line feeds too.
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        push_visible(&mut out, c);
    }
    Cow::Owned(out)
}

/// One line of a JavaScript string with everything unsafe spelled out.
pub fn visible_js(text: &JsStr<'_>) -> String {
    let mut out = String::with_capacity(text.len_utf8());
    for point in text.code_points() {
        match point {
            CodePoint::Char(c) => push_visible(&mut out, c),
            CodePoint::LoneSurrogate(unit) => {
                let _ = write!(out, "\\u{unit:04x}");
            }
        }
    }
    out
}

/// Several lines of a JavaScript string: line feeds and tabs stay.
pub fn visible_lines(text: &JsStr<'_>) -> String {
    let mut out = String::with_capacity(text.len_utf8());
    for point in text.code_points() {
        match point {
            CodePoint::Char(c @ ('\n' | '\t')) => out.push(c),
            CodePoint::Char(c) => push_visible(&mut out, c),
            CodePoint::LoneSurrogate(unit) => {
                let _ = write!(out, "\\u{unit:04x}");
            }
        }
    }
    out
}

fn push_visible(out: &mut String, c: char) {
    let _ = match c {
        '\n' => write!(out, "\\n"),
        '\t' => write!(out, "\\t"),
        '\r' => write!(out, "\\r"),
        c if is_unsafe(c) && (c as u32) < 0x100 => write!(out, "\\x{:02x}", c as u32),
        c if is_unsafe(c) => write!(out, "\\u{{{:x}}}", c as u32),
        c => {
            out.push(c);
            Ok(())
        }
    };
}

/// Cuts text that is already safe to a width in terminal columns, with an ellipsis where it was cut.
/// What was spelled out stays whole.
pub fn cut_to_width(text: &str, width: usize) -> Cow<'_, str> {
    if text.width() <= width {
        return Cow::Borrowed(text);
    }
    let mut kept = 0;
    let mut used = 0;
    while kept < text.len() {
        let piece = first_piece(&text[kept..]);
        used += piece.width();
        if used >= width {
            break;
        }
        kept += piece.len();
    }
    Cow::Owned(format!("{}…", &text[..kept]))
}

/// The first character of a text with what only changes how it looks, or the first that was spelled out.
fn first_piece(text: &str) -> &str {
    let length = if text.starts_with("\\u{") {
        text.find('}').map_or(1, |end| end + 1)
    } else if text.starts_with("\\u") {
        6
    } else if text.starts_with("\\x") {
        4
    } else if text.starts_with('\\') {
        2
    } else {
        let mut characters = text.char_indices().skip(1);
        characters.find(|(_, c)| c.width() != Some(0)).map_or(text.len(), |(at, _)| at)
    };
    // A backslash may also be one that somebody wrote.
    text.get(..length).unwrap_or_else(|| &text[..text.chars().next().map_or(0, char::len_utf8)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_escape_sequence_is_spelled_out() {
        assert_eq!(visible("\u{1b}]0;pwn\u{7}"), "\\x1b]0;pwn\\x07");
    }

    #[test]
    fn direction_overrides_are_spelled_out() {
        assert_eq!(visible("a\u{202e}b\u{2066}"), "a\\u{202e}b\\u{2066}");
    }

    #[test]
    fn a_carriage_return_cannot_overwrite_a_line() {
        assert_eq!(visible("safe\revil\n"), "safe\\revil\\n");
    }

    #[test]
    fn ordinary_text_costs_nothing() {
        assert!(matches!(visible("ünïcode 名 😀"), Cow::Borrowed(_)));
    }

    #[test]
    fn cutting_counts_columns_and_not_characters() {
        assert_eq!(cut_to_width("名名名名", 5), "名名…");
        assert_eq!(cut_to_width("abc", 3), "abc");
    }

    #[test]
    fn a_character_and_its_marks_are_one_piece() {
        // A heart becomes two columns wide by what follows it.
        assert_eq!(cut_to_width("\u{2764}\u{FE0F}\u{2764}\u{FE0F}x", 4), "\u{2764}\u{FE0F}…");
        assert_eq!(cut_to_width("e\u{301}e\u{301}e\u{301}", 2), "e\u{301}…");
    }

    #[test]
    fn what_hides_text_is_spelled_out() {
        assert_eq!(visible("a\u{E0161}\u{FE00}\u{3164}\u{34F}"), "a\\u{e0161}\\u{fe00}\\u{3164}\\u{34f}");
        assert_eq!(visible("\u{2764}\u{FE0F}"), "\u{2764}\u{FE0F}");
    }

    #[test]
    fn what_is_spelled_out_is_not_cut_in_two() {
        for width in 2..=5 {
            assert_eq!(cut_to_width(r"a\x1b[0m", width), "a…");
            assert_eq!(cut_to_width(r"a\u{202e}b", width), "a…");
        }
        assert_eq!(cut_to_width(r"a\x1b[0m", 6), r"a\x1b…");
        assert_eq!(cut_to_width(r"\ud83d\n0123456", 7), r"\ud83d…");
    }

    proptest! {
        #[test]
        fn nothing_unsafe_is_left(units in proptest::collection::vec(any::<u16>(), 0..60), width in 1usize..40) {
            let text: crate::model::js_string::JsString = units.into_iter().collect();
            let safe = visible_js(&text);
            prop_assert!(!safe.contains(is_unsafe));
            prop_assert!(cut_to_width(&safe, width).width() <= width.max(1));
        }

        #[test]
        fn emoji_and_marks_are_cut_to_width(text in "[a❤\u{FE0F}👍🏽名e\u{301}🇩🇪한]{0,30}", width in 1usize..20) {
            prop_assert!(cut_to_width(&visible(&text), width).width() <= width);
        }
    }
}
