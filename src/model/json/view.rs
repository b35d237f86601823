//! A look into JSON text that has been checked, without copying it.

use super::scan::{skip_string, skip_value, skip_whitespace};
use super::value::{Object, Value};
use crate::model::js_string::{JsStr, push_code_point};
use std::borrow::Cow;

/// One JSON value, as its text. The text is known to be valid, so every question has an answer.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    text: &'a str,
}

/// What a JSON value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `null`
    Null,
    /// `true` or `false`
    Bool,
    /// A number
    Number,
    /// A string
    String,
    /// An array
    Array,
    /// An object
    Object,
}

impl<'a> View<'a> {
    /// Wraps text the scanner has accepted, without the white space around it.
    pub(super) fn of_valid(text: &'a str) -> Self {
        View { text }
    }

    /// The text of the value as it stands in the log.
    pub fn text(self) -> &'a str {
        self.text
    }

    /// What the value is.
    pub fn kind(self) -> Kind {
        match self.text.as_bytes()[0] {
            b'n' => Kind::Null,
            b't' | b'f' => Kind::Bool,
            b'"' => Kind::String,
            b'[' => Kind::Array,
            b'{' => Kind::Object,
            _ => Kind::Number,
        }
    }

    /// Whether the value is an object.
    pub fn is_object(self) -> bool {
        self.kind() == Kind::Object
    }

    /// Whether the value is the literal `true`.
    pub fn is_true(self) -> bool {
        self.text == "true"
    }

    /// The boolean, if it is one.
    pub fn bool(self) -> Option<bool> {
        match self.text {
            "true" => Some(true),
            "false" => Some(false),
            _ => None,
        }
    }

    /// The string, if it is one.
    pub fn string(self) -> Option<JsStr<'a>> {
        (self.kind() == Kind::String).then(|| unescape(&self.text[1..self.text.len() - 1]))
    }

    /// The beginning of the string, if the value is one: at least so many UTF-16 code units, as far as it
    /// has them, and perhaps a few more. The rest is not decoded.
    pub fn string_start(self, units: usize) -> Option<JsStr<'a>> {
        if self.kind() != Kind::String {
            return None;
        }
        let raw = &self.text[1..self.text.len() - 1];
        let mut end = 0;
        for _ in 0..units {
            end += match raw.as_bytes()[end..] {
                [] => break,
                [b'\\', b'u', ..] => 6,
                [b'\\', ..] => 2,
                _ => raw[end..].chars().next().map_or(0, char::len_utf8),
            };
        }
        Some(unescape(&raw[..end]))
    }

    /// Whether the value is exactly this string.
    pub fn is_string(self, text: &str) -> bool {
        const LONGEST_ESCAPE: usize = 6;
        if self.kind() != Kind::String {
            return false;
        }
        let raw = &self.text[1..self.text.len() - 1];
        let has_escape = || memchr::memchr(b'\\', raw.as_bytes()).is_some();
        if raw.len() <= text.len() {
            // An escape is longer than what it stands for.
            return raw == text && !has_escape();
        }
        raw.len() <= text.len().saturating_mul(LONGEST_ESCAPE) && has_escape() && unescape(raw) == text
    }

    /// How many UTF-16 code units the string has, if the value is one. Its text is not decoded.
    pub fn len_utf16(self) -> Option<usize> {
        if self.kind() != Kind::String {
            return None;
        }
        let mut raw = &self.text.as_bytes()[1..self.text.len() - 1];
        // A code unit a character, and one more for those that have four bytes.
        let units = |bytes: &[u8]| {
            let characters = bytes.iter().filter(|byte| (**byte as i8) >= -0x40).count();
            characters + bytes.iter().filter(|byte| **byte >= 0xF0).count()
        };
        let mut len = 0;
        while let Some(escape) = memchr::memchr(b'\\', raw) {
            // Every escape stands for one code unit.
            let escape_len = if raw[escape + 1] == b'u' { 6 } else { 2 };
            len += units(&raw[..escape]) + 1;
            raw = &raw[escape + escape_len..];
        }
        Some(len + units(raw))
    }

    /// The number, if it is one, as JavaScript holds it.
    pub fn number(self) -> Option<f64> {
        if self.kind() == Kind::Number { self.text.parse().ok() } else { None }
    }

    /// The number, if it is an integer that JavaScript holds exactly (|n| ≤ 2^53−1). `-0` is 0 here;
    /// where dsh refuses it, ask [`View::is_negative_zero`] too.
    pub fn safe_integer(self) -> Option<i64> {
        const MAX: f64 = 9_007_199_254_740_991.0;
        if self.kind() != Kind::Number {
            return None;
        }
        if self.text.len() <= 15
            && let Ok(integer) = self.text.parse::<i64>()
        {
            return Some(integer);
        }
        let number = self.number()?;
        (number.fract() == 0.0 && number.abs() <= MAX).then_some(number as i64)
    }

    /// The number, if it is a count: a safe integer, not negative, not `-0` (formats.md, "Conventions").
    pub fn count(self) -> Option<u64> {
        if self.is_negative_zero() { None } else { u64::try_from(self.safe_integer()?).ok() }
    }

    /// Whether the value is the number `-0`, however it is spelled.
    pub fn is_negative_zero(self) -> bool {
        self.text.starts_with('-') && self.number() == Some(0.0)
    }

    /// An object's members in the order of the text, repeated keys included; of other values none.
    pub fn members(self) -> Members<'a> {
        Members { text: if self.is_object() { self.text } else { "{}" }, at: 1 }
    }

    /// An array's elements; of other values none.
    pub fn elements(self) -> Elements<'a> {
        Elements { text: if self.kind() == Kind::Array { self.text } else { "[]" }, at: 1 }
    }

    /// The elements, if the value is an array.
    pub fn array(self) -> Option<Elements<'a>> {
        (self.kind() == Kind::Array).then(|| self.elements())
    }

    /// An object's member. Of a repeated key the last value counts, as `JSON.parse` has it.
    pub fn get(self, key: &str) -> Option<View<'a>> {
        self.members().filter(|(name, _)| *name == key).map(|(_, value)| value).last()
    }

    /// Whether an object has a member of this name.
    pub fn has(self, key: &str) -> bool {
        self.members().any(|(name, _)| name == key)
    }

    /// An object's members of these names, found in one walk; see [`View::get`].
    pub fn pick<const N: usize>(self, keys: [&str; N]) -> [Option<View<'a>>; N] {
        let mut picked = [None; N];
        for (name, value) in self.members() {
            if let Some(at) = keys.iter().position(|key| name == *key) {
                picked[at] = Some(value);
            }
        }
        picked
    }

    /// The value as a tree.
    pub fn to_value(self) -> Value {
        match self.kind() {
            Kind::Null => Value::Null,
            Kind::Bool => Value::Bool(self.is_true()),
            Kind::Number => Value::Number(self.number().unwrap_or(f64::NAN)),
            Kind::String => Value::String(self.string().unwrap_or_default().into_owned()),
            Kind::Array => Value::Array(self.elements().map(View::to_value).collect()),
            Kind::Object => Value::Object(Object::from_members(
                self.members().map(|(key, value)| (key.into_owned(), value.to_value())).collect(),
            )),
        }
    }
}

/// The iterator of [`View::members`].
pub struct Members<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Iterator for Members<'a> {
    type Item = (JsStr<'a>, View<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let bytes = self.text.as_bytes();
        let key_start = next_item(bytes, self.at)?;
        let key_end = skip_string(bytes, key_start).ok()?;
        let colon = skip_whitespace(bytes, key_end);
        let start = skip_whitespace(bytes, colon + 1);
        let end = skip_value(bytes, start).ok()?;
        self.at = end;
        Some((unescape(&self.text[key_start + 1..key_end - 1]), View::of_valid(&self.text[start..end])))
    }
}

/// The iterator of [`View::elements`].
#[derive(Clone)]
pub struct Elements<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Iterator for Elements<'a> {
    type Item = View<'a>;

    fn next(&mut self) -> Option<View<'a>> {
        let bytes = self.text.as_bytes();
        let start = next_item(bytes, self.at)?;
        let end = skip_value(bytes, start).ok()?;
        self.at = end;
        Some(View::of_valid(&self.text[start..end]))
    }
}

/// From inside a container to its next item; none when the closing bracket comes.
fn next_item(bytes: &[u8], at: usize) -> Option<usize> {
    let at = skip_whitespace(bytes, at);
    match bytes.get(at)? {
        b'}' | b']' => None,
        b',' => Some(skip_whitespace(bytes, at + 1)),
        _ => Some(at),
    }
}

/// The string a literal stands for, given what is between its quotes.
fn unescape(raw: &str) -> JsStr<'_> {
    let bytes = raw.as_bytes();
    let Some(first) = memchr::memchr(b'\\', bytes) else {
        return JsStr::from_wtf8(Cow::Borrowed(bytes));
    };
    let mut out = Vec::with_capacity(raw.len());
    out.extend_from_slice(&bytes[..first]);
    let mut at = first;
    while at < bytes.len() {
        let run = memchr::memchr(b'\\', &bytes[at..]).map_or(bytes.len(), |offset| at + offset);
        out.extend_from_slice(&bytes[at..run]);
        at = run;
        let Some(&escape) = bytes.get(at + 1) else { break };
        at += 2;
        match escape {
            b'b' => out.push(0x08),
            b'f' => out.push(0x0C),
            b'n' => out.push(b'\n'),
            b'r' => out.push(b'\r'),
            b't' => out.push(b'\t'),
            b'u' => {
                let unit = hex4(bytes, at);
                at += 4;
                let low = (bytes[at..].starts_with(b"\\u")).then(|| hex4(bytes, at + 2));
                match (unit, low) {
                    (0xD800..=0xDBFF, Some(low @ 0xDC00..=0xDFFF)) => {
                        push_code_point(&mut out, 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00));
                        at += 6;
                    }
                    _ => push_code_point(&mut out, unit),
                }
            }
            literal => out.push(literal),
        }
    }
    JsStr::from_wtf8(Cow::Owned(out))
}

fn hex4(bytes: &[u8], at: usize) -> u32 {
    bytes[at..at + 4].iter().fold(0, |unit, &digit| unit << 4 | (digit as char).to_digit(16).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use proptest::prelude::*;

    #[test]
    fn escapes_become_code_units() {
        let text = r#""a\u00e9\ud83d\ude00\ud83d x\udc00\/\n""#;
        let units: Vec<u16> = parse(text).unwrap().string().unwrap().units().collect();
        let expected: Vec<u16> = "aé😀".encode_utf16().chain([0xD83D, 0x20, 0x78, 0xDC00, 0x2F, 0x0A]).collect();
        assert_eq!(units, expected);
    }

    proptest! {
        #[test]
        fn what_is_told_of_a_string_without_decoding_it_is_true(
            pieces in proptest::collection::vec(
                prop_oneof![
                    Just(r"\\"), Just(r"\u0041"), Just(r"\ud83d"), Just(r"\ude00"), Just(r#"\""#), Just("😀"), Just("é"), Just("a"),
                    Just("中"), Just(r"\n"),
                ],
                0..12,
            ),
            units in 0usize..8,
        ) {
            let literal = format!("\"{}\"", pieces.concat());
            let view = parse(&literal).unwrap();
            let string = view.string().unwrap();
            prop_assert_eq!(view.len_utf16(), Some(string.len_utf16()));
            let start: Vec<u16> = view.string_start(units).unwrap().units().take(units).collect();
            prop_assert_eq!(start, string.units().take(units).collect::<Vec<_>>());
            for text in ["", "a", "\\", "A", "a\\", "\"", "\n", "😀", r"\\"] {
                prop_assert_eq!(view.is_string(text), string == text, "{}", text);
            }
            if let Some(text) = string.to_str() {
                prop_assert!(view.is_string(text));
            }
        }
    }

    #[test]
    fn the_last_of_a_repeated_key_counts() {
        let view = parse(r#"{"seq":0,"b":[1, 2],"seq":7}"#).unwrap();
        assert_eq!(view.get("seq").unwrap().count(), Some(7));
        assert_eq!(view.get("b").unwrap().elements().count(), 2);
        assert!(view.get("c").is_none());
    }

    #[test]
    fn integers_follow_javascript() {
        let count = |text: &str| parse(text).unwrap().count();
        assert_eq!(count("1e3"), Some(1000));
        assert_eq!(count("1.0"), Some(1));
        assert_eq!(count("9007199254740991"), Some(9_007_199_254_740_991));
        assert_eq!(count("9007199254740993"), None);
        assert_eq!(count("-0"), None);
        assert_eq!(count("0.5"), None);
        assert_eq!(parse("-0").unwrap().safe_integer(), Some(0));
        assert_eq!(parse("-12").unwrap().safe_integer(), Some(-12));
    }
}
