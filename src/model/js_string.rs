//! Strings as JavaScript holds them.
//!
//! A session id or a message text is a sequence of UTF-16 code units and may hold an unpaired
//! surrogate, which no UTF-8 string can. [`JsStr`] keeps it as WTF-8: UTF-8, except that an unpaired
//! surrogate takes the three bytes its code point would take. The form is canonical (a high and a low
//! surrogate that meet are always joined), so two strings are equal in dsh exactly when their bytes are.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;

/// A JavaScript string, borrowed or owned, in WTF-8.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub struct JsStr<'a>(Cow<'a, [u8]>);

/// A JavaScript string that owns its bytes.
pub type JsString = JsStr<'static>;

/// One element of a JavaScript string when it is walked by code point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodePoint {
    /// A Unicode scalar value.
    Char(char),
    /// A surrogate without its partner, `0xD800..=0xDFFF`.
    LoneSurrogate(u16),
}

impl CodePoint {
    /// The code point's number, `0..=0x10FFFF`.
    pub fn to_u32(self) -> u32 {
        match self {
            CodePoint::Char(c) => c as u32,
            CodePoint::LoneSurrogate(unit) => u32::from(unit),
        }
    }

    /// How many UTF-16 code units it takes: 1 or 2.
    pub fn len_utf16(self) -> usize {
        match self {
            CodePoint::Char(c) => c.len_utf16(),
            CodePoint::LoneSurrogate(_) => 1,
        }
    }
}

impl<'a> JsStr<'a> {
    /// Takes bytes that are already canonical WTF-8. Only this module and the JSON reader make such bytes;
    /// others may give back what [`JsStr::as_bytes`] gave them.
    pub(crate) fn from_wtf8(bytes: Cow<'a, [u8]>) -> Self {
        JsStr(bytes)
    }

    /// The WTF-8 bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The text, when it holds no unpaired surrogate.
    pub fn to_str(&self) -> Option<&str> {
        std::str::from_utf8(&self.0).ok()
    }

    /// The text with every unpaired surrogate replaced by U+FFFD, as Node does when it encodes UTF-8.
    pub fn to_string_lossy(&self) -> Cow<'_, str> {
        match self.to_str() {
            Some(text) => Cow::Borrowed(text),
            None => Cow::Owned(
                self.code_points()
                    .map(|point| match point {
                        CodePoint::Char(c) => c,
                        CodePoint::LoneSurrogate(_) => char::REPLACEMENT_CHARACTER,
                    })
                    .collect(),
            ),
        }
    }

    /// Whether the string has no code units.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The length of the string's UTF-8 form in bytes, as `Buffer.byteLength` counts it: an unpaired
    /// surrogate counts as the three bytes of U+FFFD, which is also what it takes here.
    pub fn len_utf8(&self) -> usize {
        self.0.len()
    }

    /// The length in UTF-16 code units: JavaScript's `length`.
    pub fn len_utf16(&self) -> usize {
        self.code_points().map(CodePoint::len_utf16).sum()
    }

    /// Walks the string by code point.
    pub fn code_points(&self) -> CodePoints<'_> {
        CodePoints { rest: &self.0 }
    }

    /// The UTF-16 code units.
    pub fn units(&self) -> impl Iterator<Item = u16> + '_ {
        self.code_points().flat_map(|point| {
            let mut buffer = [0; 2];
            let len = match point {
                CodePoint::Char(c) => c.encode_utf16(&mut buffer).len(),
                CodePoint::LoneSurrogate(unit) => {
                    buffer[0] = unit;
                    1
                }
            };
            buffer.into_iter().take(len)
        })
    }

    /// Compares as JavaScript's `<` does: by UTF-16 code unit.
    pub fn cmp_utf16(&self, other: &JsStr<'_>) -> Ordering {
        self.units().cmp(other.units())
    }

    /// Gives the string its own bytes.
    pub fn into_owned(self) -> JsString {
        JsStr(Cow::Owned(self.0.into_owned()))
    }

    /// A view of the same string that borrows from this one.
    pub fn borrowed(&self) -> JsStr<'_> {
        JsStr(Cow::Borrowed(&self.0))
    }

    /// Appends another string, joining surrogates that meet, as JavaScript's `+` does.
    pub fn push_js(&mut self, other: &JsStr<'_>) {
        let bytes = self.0.to_mut();
        match (trailing_high_surrogate(bytes), leading_low_surrogate(&other.0)) {
            (Some(high), Some(low)) => {
                bytes.truncate(bytes.len() - 3);
                let joined = 0x10000 + ((u32::from(high) - 0xD800) << 10) + (u32::from(low) - 0xDC00);
                let c = char::from_u32(joined).unwrap_or(char::REPLACEMENT_CHARACTER);
                bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                bytes.extend_from_slice(&other.0[3..]);
            }
            _ => bytes.extend_from_slice(&other.0),
        }
    }

    /// Appends ordinary text.
    pub fn push_str(&mut self, text: &str) {
        self.0.to_mut().extend_from_slice(text.as_bytes());
    }

    /// Appends one UTF-16 code unit, joining it with a high surrogate before it.
    pub fn push_unit(&mut self, unit: u16) {
        let mut bytes = Vec::with_capacity(3);
        push_code_point(&mut bytes, u32::from(unit));
        self.push_js(&JsStr(Cow::Owned(bytes)));
    }

    /// Joins strings with a separator.
    pub fn join<'b>(parts: impl IntoIterator<Item = JsStr<'b>>, separator: &str) -> JsString {
        let mut joined = JsString::default();
        for (index, part) in parts.into_iter().enumerate() {
            if index > 0 {
                joined.push_str(separator);
            }
            joined.push_js(&part);
        }
        joined
    }

    /// Removes JavaScript white space at both ends, as `String.prototype.trim` does.
    pub fn trim_js(&self) -> JsStr<'_> {
        let mut start = 0;
        let mut end = self.0.len();
        let mut seen_ink = false;
        let mut offset = 0;
        for point in self.code_points() {
            let len = encoded_len(point);
            if !is_js_whitespace(point) {
                if !seen_ink {
                    start = offset;
                    seen_ink = true;
                }
                end = offset + len;
            }
            offset += len;
        }
        if seen_ink { JsStr(Cow::Borrowed(&self.0[start..end])) } else { JsStr::default() }
    }

    /// Part of the string by WTF-8 byte offsets, which must lie between code points.
    pub fn slice(&self, start: usize, end: usize) -> JsStr<'_> {
        JsStr(Cow::Borrowed(&self.0[start..end]))
    }

    /// Whether the string begins with this text.
    pub fn starts_with(&self, prefix: &str) -> bool {
        self.0.starts_with(prefix.as_bytes())
    }
}

/// How many WTF-8 bytes a code point takes.
pub fn encoded_len(point: CodePoint) -> usize {
    match point {
        CodePoint::Char(c) => c.len_utf8(),
        CodePoint::LoneSurrogate(_) => 3,
    }
}

/// White space by the rule of JavaScript's `\s` and `trim`: Unicode space separators, the line
/// terminators, tab, vertical tab, form feed and U+FEFF. (Rust's rule has U+0085 and lacks U+FEFF.)
pub fn is_js_whitespace(point: CodePoint) -> bool {
    let CodePoint::Char(c) = point else { return false };
    matches!(
        c,
        '\u{9}'..='\u{D}' | ' ' | '\u{A0}' | '\u{1680}' | '\u{2000}'..='\u{200A}' | '\u{2028}' | '\u{2029}'
            | '\u{202F}' | '\u{205F}' | '\u{3000}' | '\u{FEFF}'
    )
}

/// Appends a code point below `0x110000` in WTF-8 without joining surrogates.
pub(super) fn push_code_point(bytes: &mut Vec<u8>, point: u32) {
    match char::from_u32(point) {
        Some(c) => bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        None => bytes.extend_from_slice(&[
            0xE0 | (point >> 12) as u8,
            0x80 | ((point >> 6) & 0x3F) as u8,
            0x80 | (point & 0x3F) as u8,
        ]),
    }
}

fn trailing_high_surrogate(bytes: &[u8]) -> Option<u16> {
    match bytes {
        [.., 0xED, second @ 0xA0..=0xAF, third] => Some(surrogate(*second, *third)),
        _ => None,
    }
}

fn leading_low_surrogate(bytes: &[u8]) -> Option<u16> {
    match bytes {
        [0xED, second @ 0xB0..=0xBF, third, ..] => Some(surrogate(*second, *third)),
        _ => None,
    }
}

fn surrogate(second: u8, third: u8) -> u16 {
    0xD000 | (u16::from(second & 0x3F) << 6) | u16::from(third & 0x3F)
}

/// The iterator of [`JsStr::code_points`].
pub struct CodePoints<'a> {
    rest: &'a [u8],
}

impl Iterator for CodePoints<'_> {
    type Item = CodePoint;

    fn next(&mut self) -> Option<CodePoint> {
        let (&first, _) = self.rest.split_first()?;
        let len = match first {
            0x00..=0x7F => 1,
            0x80..=0xDF => 2,
            0xE0..=0xEF => 3,
            _ => 4,
        };
        let (head, rest) = self.rest.split_at(len.min(self.rest.len()));
        self.rest = rest;
        Some(match (head, std::str::from_utf8(head)) {
            (_, Ok(text)) => CodePoint::Char(text.chars().next().unwrap_or(char::REPLACEMENT_CHARACTER)),
            ([0xED, second, third], Err(_)) => CodePoint::LoneSurrogate(surrogate(*second, *third)),
            _ => CodePoint::Char(char::REPLACEMENT_CHARACTER),
        })
    }
}

impl<'a> From<&'a str> for JsStr<'a> {
    fn from(text: &'a str) -> Self {
        JsStr(Cow::Borrowed(text.as_bytes()))
    }
}

impl From<String> for JsString {
    fn from(text: String) -> Self {
        JsStr(Cow::Owned(text.into_bytes()))
    }
}

impl FromIterator<u16> for JsString {
    fn from_iter<I: IntoIterator<Item = u16>>(units: I) -> Self {
        let mut string = JsString::default();
        for unit in char::decode_utf16(units) {
            match unit {
                Ok(c) => string.push_str(c.encode_utf8(&mut [0; 4])),
                Err(error) => push_code_point(string.0.to_mut(), u32::from(error.unpaired_surrogate())),
            }
        }
        string
    }
}

impl PartialEq<str> for JsStr<'_> {
    fn eq(&self, other: &str) -> bool {
        *self.0 == *other.as_bytes()
    }
}

impl PartialEq<&str> for JsStr<'_> {
    fn eq(&self, other: &&str) -> bool {
        *self.0 == *other.as_bytes()
    }
}

impl PartialOrd for JsStr<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// By code point, which is byte order in WTF-8. Where dsh compares otherwise, say so: [`JsStr::cmp_utf16`].
impl Ord for JsStr<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.cmp(&other.0)
    }
}

/// The string as a JSON literal, which is unambiguous for every string and safe to print.
impl fmt::Debug for JsStr<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&super::json::string_literal(self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn js(units: &[u16]) -> JsString {
        units.iter().copied().collect()
    }

    #[test]
    fn surrogates_that_meet_become_one_character() {
        let mut text = js(&[0xD83D]);
        text.push_js(&js(&[0xDE00, 0x21]));
        assert_eq!(text.to_str(), Some("😀!"));
        let mut text = js(&[0x61]);
        text.push_unit(0xD83D);
        assert_eq!(text.to_str(), None);
        text.push_unit(0xDE00);
        assert_eq!(text.to_str(), Some("a😀"));
    }

    #[test]
    fn units_survive_a_round_trip() {
        for units in [&[0xDC00, 0xD83D][..], &[0x0, 0xFFFF, 0xD800], &[0xD83D, 0xDE00, 0xDE00]] {
            assert_eq!(js(units).units().collect::<Vec<_>>(), units);
        }
    }

    #[test]
    fn orders_differ_where_utf16_and_code_points_do() {
        let astral = JsStr::from("\u{1F600}");
        let private = JsStr::from("\u{FFFD}");
        assert_eq!(astral.cmp(&private), Ordering::Greater);
        assert_eq!(astral.cmp_utf16(&private), Ordering::Less);
    }

    #[test]
    fn trimming_follows_javascript() {
        assert_eq!(JsStr::from("\u{FEFF}\u{2003} a\u{85} ").trim_js(), "a\u{85}");
        assert_eq!(JsStr::from(" \n").trim_js(), "");
    }
}
