//! The title of a side chat.

/// What every title begins with, so that a side chat shows in an ordinary list of sessions.
const PREFIX: &str = "澄清：";

/// How much of the question a title holds, in UTF-16 units.
const QUESTION_UNITS: usize = 48;

/// The title of a question: its white space collapsed, cut after 48 UTF-16 units, between characters.
pub fn of_question(question: &str) -> String {
    let words: Vec<&str> = question.split_whitespace().collect();
    format!("{PREFIX}{}", cut(&words.join(" "), QUESTION_UNITS))
}

/// A text of at most so many UTF-16 units, and `…` behind it if anything was cut.
fn cut(text: &str, units: usize) -> String {
    let mut left = units;
    let end = text.char_indices().find(|(_, c)| {
        let fits = c.len_utf16() <= left;
        left = left.saturating_sub(c.len_utf16());
        !fits
    });
    match end {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// The summary of a notice, which dsh keeps within 120 UTF-16 units, the last of them `…` if it was cut
/// (sidechat.md §2.1).
pub fn summary(text: &str) -> String {
    const SUMMARY_UNITS: usize = 120;
    if text.encode_utf16().count() <= SUMMARY_UNITS { text.to_owned() } else { cut(text, SUMMARY_UNITS - 1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_of_49_units_is_cut_after_48() {
        assert_eq!(of_question(&"a".repeat(48)), format!("澄清：{}", "a".repeat(48)));
        assert_eq!(of_question(&"a".repeat(49)), format!("澄清：{}…", "a".repeat(48)));
    }

    #[test]
    fn white_space_is_collapsed() {
        assert_eq!(of_question("  why\n\n does\tit\u{3000}retry? "), "澄清：why does it retry?");
    }

    #[test]
    fn no_character_is_cut_in_two() {
        assert_eq!(of_question(&format!("{}😀b", "a".repeat(47))), format!("澄清：{}…", "a".repeat(47)));
    }

    #[test]
    fn a_summary_has_120_units() {
        assert_eq!(summary(&"a".repeat(120)), "a".repeat(120));
        assert_eq!(summary(&"a".repeat(121)), format!("{}…", "a".repeat(119)));
    }
}
