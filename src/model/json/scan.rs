//! The grammar check: is this text a JSON value, and where does it end?

use super::view::View;
use crate::model::js_string::JsStr;
use std::fmt;

/// How deep arrays and objects may nest. Far deeper than dsh can write (its own `JSON.stringify` gives
/// up near this), and shallow enough that reading hostile nesting costs nothing.
pub const MAX_DEPTH: usize = 2_000;

/// Why a text is not JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JsonError {
    /// The byte offset in the text at which it went wrong.
    pub offset: usize,
    /// What was wrong there.
    pub reason: &'static str,
}

impl fmt::Display for JsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}", self.reason, self.offset)
    }
}

/// Checks that the whole text is one JSON value, white space around it allowed.
///
/// # Errors
/// Says what is wrong and at which byte; nesting deeper than [`MAX_DEPTH`] is wrong too.
pub fn parse(text: &str) -> Result<View<'_>, JsonError> {
    let (view, end) = parse_prefix(text)?;
    let end = skip_whitespace(text.as_bytes(), end);
    if end == text.len() { Ok(view) } else { Err(JsonError { offset: end, reason: "text after the value" }) }
}

/// Checks that the whole text is one JSON value, as [`parse`] does, and hands on its members if it is an
/// object: one walk instead of two. What was handed on before an error is found is worth nothing.
///
/// # Errors
/// As [`parse`].
pub fn parse_members<'a>(text: &'a str, mut member: impl FnMut(JsStr<'a>, View<'a>)) -> Result<View<'a>, JsonError> {
    let bytes = text.as_bytes();
    let start = skip_whitespace(bytes, 0);
    let mut at = skip_whitespace(bytes, start + 1);
    if bytes.get(start) != Some(&b'{') || bytes.get(at) == Some(&b'}') {
        return parse(text);
    }
    loop {
        let value = skip_key(bytes, at)?;
        let end = check_value(bytes, value, 1)?;
        let key = View::of_valid(&text[at..skip_string(bytes, at)?]).string().unwrap_or_default();
        member(key, View::of_valid(&text[value..end]));
        at = skip_whitespace(bytes, end);
        match bytes.get(at) {
            Some(b',') => at = skip_whitespace(bytes, at + 1),
            Some(b'}') => break,
            Some(_) => return Err(JsonError { offset: at, reason: "expected a comma or a closing bracket" }),
            None => return Err(JsonError { offset: at, reason: "unexpected end" }),
        }
    }
    let end = skip_whitespace(bytes, at + 1);
    if end != text.len() {
        return Err(JsonError { offset: end, reason: "text after the value" });
    }
    Ok(View::of_valid(&text[start..=at]))
}

/// Checks the JSON value a text begins with, and says at which byte it ends.
///
/// # Errors
/// As [`parse`].
pub fn parse_prefix(text: &str) -> Result<(View<'_>, usize), JsonError> {
    let start = skip_whitespace(text.as_bytes(), 0);
    let end = check_value(text.as_bytes(), start, 0)?;
    Ok((View::of_valid(&text[start..end]), end))
}

/// The first offset at or after `at` that is not JSON white space.
pub(super) fn skip_whitespace(bytes: &[u8], mut at: usize) -> usize {
    while let Some(b' ' | b'\t' | b'\n' | b'\r') = bytes.get(at) {
        at += 1;
    }
    at
}

/// Checks one value, which stands in so many arrays and objects, without recursion, and gives the offset
/// after it.
fn check_value(bytes: &[u8], mut at: usize, outer_depth: usize) -> Result<usize, JsonError> {
    let fail = |offset, reason| Err(JsonError { offset, reason });
    let mut open = Nesting::default();
    loop {
        // A value starts here.
        at = match bytes.get(at) {
            Some(b'"') => skip_string(bytes, at)?,
            Some(opening @ (b'{' | b'[')) => {
                if open.depth + outer_depth == MAX_DEPTH {
                    return fail(at, "nesting deeper than any log has");
                }
                let closing = opening + 2;
                let inner = skip_whitespace(bytes, at + 1);
                if bytes.get(inner) == Some(&closing) {
                    inner + 1
                } else {
                    open.push(closing == b'}');
                    at = if closing == b'}' { skip_key(bytes, inner)? } else { inner };
                    continue;
                }
            }
            Some(b't') => skip_word(bytes, at, b"true")?,
            Some(b'f') => skip_word(bytes, at, b"false")?,
            Some(b'n') => skip_word(bytes, at, b"null")?,
            Some(b'-' | b'0'..=b'9') => skip_number(bytes, at)?,
            Some(_) => return fail(at, "unexpected character"),
            None => return fail(at, "unexpected end"),
        };
        // A value ended here: close what it closes, or find the next one.
        loop {
            let Some(is_object) = open.innermost_is_object() else { return Ok(at) };
            at = skip_whitespace(bytes, at);
            match bytes.get(at) {
                Some(b',') => {
                    at = skip_whitespace(bytes, at + 1);
                    if is_object {
                        at = skip_key(bytes, at)?;
                    }
                    break;
                }
                Some(byte) if *byte == if is_object { b'}' } else { b']' } => {
                    open.depth -= 1;
                    at += 1;
                }
                Some(_) => return fail(at, "expected a comma or a closing bracket"),
                None => return fail(at, "unexpected end"),
            }
        }
    }
}

/// The arrays and objects we are inside of: a bit each, set for an object. Every row is checked, so this
/// takes no memory from the heap.
struct Nesting {
    is_object: [u64; MAX_DEPTH.div_ceil(64)],
    depth: usize,
}

impl Default for Nesting {
    fn default() -> Nesting {
        Nesting { is_object: [0; MAX_DEPTH.div_ceil(64)], depth: 0 }
    }
}

impl Nesting {
    fn push(&mut self, is_object: bool) {
        let bit = 1 << (self.depth % 64);
        let word = &mut self.is_object[self.depth / 64];
        *word = if is_object { *word | bit } else { *word & !bit };
        self.depth += 1;
    }

    fn innermost_is_object(&self) -> Option<bool> {
        let innermost = self.depth.checked_sub(1)?;
        Some(self.is_object[innermost / 64] >> (innermost % 64) & 1 == 1)
    }
}

/// Gives the offset after a value of a text that has been checked. Only quotes and brackets are looked
/// at, which is much faster than checking again.
pub(super) fn skip_value(bytes: &[u8], mut at: usize) -> Result<usize, JsonError> {
    match bytes.get(at) {
        Some(b'"') => return skip_string(bytes, at),
        Some(b'{' | b'[') => {}
        Some(_) => return Ok(skip_scalar(bytes, at)),
        None => return Err(JsonError { offset: at, reason: "unexpected end" }),
    }
    let mut depth = 0usize;
    loop {
        at = until_structure(bytes, at);
        match bytes.get(at) {
            Some(b'"') => {
                at = skip_string(bytes, at)?;
                continue;
            }
            Some(b'{' | b'[') => depth += 1,
            Some(b'}' | b']') => depth -= 1,
            Some(_) => {}
            None => return Err(JsonError { offset: at, reason: "unexpected end" }),
        }
        at += 1;
        if depth == 0 {
            return Ok(at);
        }
    }
}

/// From the start of a number or a word to its end.
fn skip_scalar(bytes: &[u8], at: usize) -> usize {
    let ends = |byte: &u8| matches!(byte, b',' | b'}' | b']' | b' ' | b'\t' | b'\n' | b'\r');
    bytes[at..].iter().position(ends).map_or(bytes.len(), |len| at + len)
}

/// From a key to the start of its value.
fn skip_key(bytes: &[u8], at: usize) -> Result<usize, JsonError> {
    if bytes.get(at) != Some(&b'"') {
        return Err(JsonError { offset: at, reason: "expected a key" });
    }
    let colon = skip_whitespace(bytes, skip_string(bytes, at)?);
    if bytes.get(colon) != Some(&b':') {
        return Err(JsonError { offset: colon, reason: "expected a colon" });
    }
    Ok(skip_whitespace(bytes, colon + 1))
}

/// From an opening quote to the offset after the closing one.
pub(super) fn skip_string(bytes: &[u8], at: usize) -> Result<usize, JsonError> {
    let mut at = plain_run(bytes, at + 1);
    loop {
        match bytes.get(at) {
            Some(b'"') => return Ok(at + 1),
            Some(b'\\') => {
                let len = match bytes.get(at + 1) {
                    Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => 2,
                    Some(b'u')
                        if bytes.get(at + 2..at + 6).is_some_and(|hex| hex.iter().all(u8::is_ascii_hexdigit)) =>
                    {
                        6
                    }
                    _ => return Err(JsonError { offset: at, reason: "bad escape in a string" }),
                };
                at = plain_run(bytes, at + len);
            }
            Some(_) => return Err(JsonError { offset: at, reason: "control character in a string" }),
            None => return Err(JsonError { offset: at, reason: "unterminated string" }),
        }
    }
}

/// The first offset at or after `at` that holds a quote, a backslash or a control character.
///
/// Short strings end within sixteen bytes. In long ones, where most of a log's bytes are, a vectorised
/// search pays.
fn plain_run(bytes: &[u8], at: usize) -> usize {
    let marks = |word: u64| {
        let control = word.wrapping_sub(ONES * 0x20) & !word & HIGHS;
        zeros(word ^ (ONES * u64::from(b'"'))) | zeros(word ^ (ONES * u64::from(b'\\'))) | control
    };
    let mut start = at;
    for _ in 0..2 {
        match word(bytes, start).map(marks) {
            Some(0) => start += 8,
            Some(found) => return start + (found.trailing_zeros() / 8) as usize,
            None => break,
        }
    }
    let rest = bytes.get(start..).unwrap_or_default();
    let run = &rest[..memchr::memchr2(b'"', b'\\', rest).unwrap_or(rest.len())];
    // The least byte is found without a branch; where it stands is only asked when it is wrong.
    let has_control = run.iter().fold(u8::MAX, |least, byte| least.min(*byte)) < 0x20;
    let len = if has_control { run.iter().position(|byte| *byte < 0x20) } else { None };
    start + len.unwrap_or(run.len())
}

/// The first offset at or after `at` that holds a quote or a bracket, or in a text that is not valid
/// perhaps one of the few other bytes that are brackets but for the bits of `0x26`.
fn until_structure(bytes: &[u8], mut at: usize) -> usize {
    const MASK: u8 = 0x26;
    const BRACKET: u8 = b'[' | MASK;
    while let Some(word) = word(bytes, at) {
        let brackets = zeros((word | (ONES * u64::from(MASK))) ^ (ONES * u64::from(BRACKET)));
        let found = brackets | zeros(word ^ (ONES * u64::from(b'"')));
        if found != 0 {
            return at + (found.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    while bytes.get(at).is_some_and(|byte| *byte != b'"' && *byte | MASK != BRACKET) {
        at += 1;
    }
    at
}

/// Eight bytes, the first the lowest.
fn word(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGHS: u64 = 0x8080_8080_8080_8080;

/// Marks the highest bit of every byte that is zero; above the first of them perhaps of others too.
fn zeros(word: u64) -> u64 {
    word.wrapping_sub(ONES) & !word & HIGHS
}

fn skip_word(bytes: &[u8], at: usize, word: &'static [u8]) -> Result<usize, JsonError> {
    if bytes[at..].starts_with(word) {
        Ok(at + word.len())
    } else {
        Err(JsonError { offset: at, reason: "unexpected word" })
    }
}

fn skip_number(bytes: &[u8], mut at: usize) -> Result<usize, JsonError> {
    let digits = |mut at: usize| -> Result<usize, JsonError> {
        let start = at;
        while bytes.get(at).is_some_and(u8::is_ascii_digit) {
            at += 1;
        }
        if at == start { Err(JsonError { offset: at, reason: "expected a digit" }) } else { Ok(at) }
    };
    if bytes[at] == b'-' {
        at += 1;
    }
    at = if bytes.get(at) == Some(&b'0') { at + 1 } else { digits(at)? };
    if bytes.get(at) == Some(&b'.') {
        at = digits(at + 1)?;
    }
    if let Some(b'e' | b'E') = bytes.get(at) {
        at += 1;
        if let Some(b'+' | b'-') = bytes.get(at) {
            at += 1;
        }
        at = digits(at)?;
    }
    Ok(at)
}

#[cfg(test)]
mod tests {
    use super::super::string_literal;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn takes_what_json_parse_takes() {
        for text in ["{}", " [1 , -0.5e+3,\"a\\ud83d\\n\" ]\r\n", "null", "{\"a\":{\"b\":[]}}", "\"\u{7f}é\"", "0"] {
            assert!(parse(text).is_ok(), "{text}");
        }
    }

    #[test]
    fn refuses_what_json_parse_refuses() {
        for text in [
            "",
            "{",
            "[1,]",
            "{\"a\":1,}",
            "01",
            "1.",
            ".5",
            "+1",
            "\"\t\"",
            "\"\\x\"",
            "\"\\u12g4\"",
            "tru",
            "[1 2]",
            "{\"a\" 1}",
            "{a:1}",
            "1 2",
            "\u{feff}{}",
            "NaN",
            "\"abc",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_million_brackets_are_an_error_and_not_a_crash() {
        let error = parse(&"[".repeat(1_000_000)).unwrap_err();
        assert_eq!(error.offset, MAX_DEPTH);
    }

    proptest! {
        #[test]
        fn agrees_with_serde_json_on_any_text(text in "[\\[\\]{},:\" 0-9a-z.\\\\e+-]{0,24}") {
            prop_assert_eq!(parse(&text).is_ok(), serde_json::from_str::<&serde_json::value::RawValue>(&text).is_ok());
        }

        #[test]
        fn members_are_found_in_the_same_walk(text in "[ {}\\[\\],:\"ab\\\\01]{0,24}", depth in 1_997usize..2_002) {
            let deep = format!("{{\"a\":{}1{}}}", "[".repeat(depth), "]".repeat(depth));
            for text in [&*text, &*format!("{{\"a\":1,\"b\":{text}}}"), &*deep] {
                let mut found = Vec::new();
                let walked = parse_members(text, |key, value| found.push((key, value.text())));
                prop_assert_eq!(walked.map(View::text), parse(text).map(View::text));
                if let Ok(view) = walked {
                    let members: Vec<_> = view.members().map(|(key, value)| (key, value.text())).collect();
                    prop_assert_eq!(found, members);
                }
            }
        }

        #[test]
        fn what_was_checked_is_skipped_as_it_was_checked(text in "[\\[\\]{},:\" 0-9a-z.\\\\+-]{0,24}", inner in "[ -~]{0,30}") {
            let whole = format!("{{\"a\":[1,[],{{}},{}],\"b\":[{text}]}}", string_literal(&JsStr::from(&*inner)));
            for text in [&*text, &*whole] {
                let text = text.trim_start();
                if let Ok(view) = parse(text) {
                    prop_assert_eq!(skip_value(text.as_bytes(), 0).unwrap(), view.text().len());
                }
            }
        }

        #[test]
        fn a_string_stops_where_a_slow_reader_stops(text in "[ -~\u{1}\u{1f}\u{e9}\u{1f600}]{0,40}", plain in "[ a-z\u{e9}]{0,120}") {
            let text = plain + &text;
            let slow = text.bytes().position(|b| b == b'"' || b == b'\\' || b < 0x20).unwrap_or(text.len());
            prop_assert_eq!(plain_run(text.as_bytes(), 0), slow);
        }
    }
}
