//! Mentions of sessions in a text: `@[label](dsh-session:…)`, or the bare identifier.

use crate::model::js_string::{CodePoint, JsStr, JsString, encoded_len, is_js_whitespace};
use crate::model::uri::{self, ParseUriError, SCHEME};

/// A session a text mentions, in the place where it was mentioned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mention {
    /// The session named.
    pub session_id: JsString,
    /// The label shown; the id itself where the identifier stood bare.
    pub label: JsString,
}

/// The Markdown mention of a session: `\` and `]` in the label are escaped (formats.md §8.1).
pub fn format(session_id: &JsStr<'_>, label: &JsStr<'_>) -> JsString {
    let mut mention = JsStr::from("@[").into_owned();
    for point in label.code_points() {
        if let CodePoint::Char('\\' | ']') = point {
            mention.push_str("\\");
        }
        push_point(&mut mention, point);
    }
    mention.push_str("](");
    mention.push_str(&uri::encode(session_id));
    mention.push_str(")");
    mention
}

/// Finds the mentions in a text and gives the text with each replaced by `@label`. A Markdown mention
/// must hold a valid identifier. A bare identifier counts only with a payload of base64url letters, and
/// must then be valid too (formats.md §8.1, seed 002).
///
/// # Errors
/// The first mention whose identifier is not valid.
pub fn parse(text: &JsStr<'_>) -> Result<(JsString, Vec<Mention>), ParseUriError> {
    let bytes = text.as_bytes();
    let mut finder = Finder { bytes, hopeless_label: 0, hopeless_uri: 0 };
    let mut readable = JsString::default();
    let mut mentions = Vec::new();
    let mut copied = 0;
    let mut at = 0;
    while let Some(offset) = memchr::memchr2(b'@', b'd', &bytes[at..]) {
        at += offset;
        let Some(found) = finder.markdown_at(at).or_else(|| finder.bare_at(at)) else {
            at += 1;
            continue;
        };
        let session_id = uri::decode(&slice(bytes, found.uri.0, found.uri.1))?;
        let label = match found.label {
            Some((start, end)) => unescape_label(&slice(bytes, start, end)),
            None => session_id.clone(),
        };
        readable.push_js(&slice(bytes, copied, at));
        readable.push_str("@");
        readable.push_js(&label);
        mentions.push(Mention { session_id, label });
        at = found.end;
        copied = at;
    }
    readable.push_js(&slice(bytes, copied, bytes.len()));
    Ok((readable, mentions))
}

/// A mention's parts, as offsets in the text.
struct Found {
    label: Option<(usize, usize)>,
    uri: (usize, usize),
    end: usize,
}

/// Looks for mentions, and remembers up to where looking was in vain, so that a text full of beginnings
/// is walked once and not once for each of them.
struct Finder<'a> {
    bytes: &'a [u8],
    /// A label that begins before this offset has no proper end.
    hopeless_label: usize,
    /// An identifier that begins before this offset is not closed by a parenthesis.
    hopeless_uri: usize,
}

impl Finder<'_> {
    /// `@[` label `](dsh-session:` anything but white space and `)`, then `)`. In the label a backslash
    /// takes the next character with it, unless that is a line terminator, which JavaScript's `.` does
    /// not match.
    fn markdown_at(&mut self, at: usize) -> Option<Found> {
        let bytes = self.bytes;
        let label_start = at + 2;
        if !bytes[at..].starts_with(b"@[") || label_start < self.hopeless_label {
            return None;
        }
        let label_end = match self.label_end(label_start) {
            Ok(end) => end,
            Err(stopped) => {
                self.hopeless_label = stopped;
                return None;
            }
        };
        let uri_start = label_end + 2;
        let opens = bytes.get(label_end + 1) == Some(&b'(') && bytes[uri_start..].starts_with(SCHEME.as_bytes());
        if !opens {
            self.hopeless_label = label_end;
            return None;
        }
        let uri_end = self.uri_end(uri_start)?;
        Some(Found { label: Some((label_start, label_end)), uri: (uri_start, uri_end), end: uri_end + 1 })
    }

    /// Where the label's closing bracket is, or where the search for it ended.
    fn label_end(&self, start: usize) -> Result<usize, usize> {
        let mut at = start;
        let rest = slice(self.bytes, start, self.bytes.len());
        let mut points = rest.code_points();
        while let Some(point) = points.next() {
            match point {
                CodePoint::Char(']') => return Ok(at),
                CodePoint::Char('\\') => match points.next() {
                    Some(escaped) if !is_line_terminator(escaped) => at += 1 + encoded_len(escaped),
                    _ => return Err(at),
                },
                _ => at += encoded_len(point),
            }
        }
        Err(at)
    }

    /// Where the identifier's closing parenthesis is.
    fn uri_end(&mut self, start: usize) -> Option<usize> {
        if start < self.hopeless_uri {
            return None;
        }
        let mut at = start;
        for point in slice(self.bytes, start, self.bytes.len()).code_points() {
            if point == CodePoint::Char(')') {
                return Some(at);
            }
            if is_js_whitespace(point) {
                break;
            }
            at += encoded_len(point);
        }
        self.hopeless_uri = at;
        None
    }

    /// `dsh-session:` and at least one base64url letter.
    fn bare_at(&self, at: usize) -> Option<Found> {
        let payload_start = at + SCHEME.len();
        if !self.bytes[at..].starts_with(SCHEME.as_bytes()) {
            return None;
        }
        let len = self.bytes[payload_start..].iter().take_while(|byte| uri::is_payload_byte(**byte)).count();
        let end = payload_start + len;
        (len > 0).then_some(Found { label: None, uri: (at, end), end })
    }
}

fn unescape_label(label: &JsStr<'_>) -> JsString {
    let mut out = JsString::default();
    let mut points = label.code_points();
    while let Some(point) = points.next() {
        match point {
            CodePoint::Char('\\') => push_point(&mut out, points.next().unwrap_or(point)),
            _ => push_point(&mut out, point),
        }
    }
    out
}

fn is_line_terminator(point: CodePoint) -> bool {
    matches!(point, CodePoint::Char('\n' | '\r' | '\u{2028}' | '\u{2029}'))
}

fn push_point(out: &mut JsString, point: CodePoint) {
    match point {
        CodePoint::Char(c) => out.push_str(c.encode_utf8(&mut [0; 4])),
        CodePoint::LoneSurrogate(unit) => out.push_unit(unit),
    }
}

/// Part of a text, cut between code points.
fn slice(bytes: &[u8], start: usize, end: usize) -> JsStr<'_> {
    JsStr::from_wtf8(std::borrow::Cow::Borrowed(&bytes[start..end]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, readable: &str, mentions: &[(&str, &str)]) {
        let (got, found) = parse(&JsStr::from(text)).unwrap();
        assert_eq!(got, readable);
        let found: Vec<(&str, &str)> =
            found.iter().map(|m| (m.session_id.to_str().unwrap(), m.label.to_str().unwrap())).collect();
        assert_eq!(found, mentions);
    }

    #[test]
    fn both_forms_are_found() {
        check("a @[x \\] y](dsh-session:InMi) b", "a @x ] y b", &[("s", "x ] y")]);
        check("see dsh-session:InMi.", "see @s.", &[("s", "s")]);
        check("@[a](dsh-session:InMi)@[b](dsh-session:InMi)", "@a@b", &[("s", "a"), ("s", "b")]);
    }

    #[test]
    fn what_is_no_mention_stays() {
        for text in ["dsh-session:", "dsh-session:!", "@[a](http://x)", "@[a", "@[a](dsh-session:", "@[a\\\n](x)"] {
            check(text, text, &[]);
        }
    }

    #[test]
    fn an_invalid_identifier_is_an_error() {
        for text in ["@[a](dsh-session:)", "@[a](dsh-session:!)", "dsh-session:abc", "@[a](dsh-session:InMi,)"] {
            assert!(parse(&JsStr::from(text)).is_err(), "{text}");
        }
    }

    #[test]
    fn beginnings_without_end_cost_one_walk() {
        // Quadratic work on these would take minutes.
        for piece in ["@[", "@[](dsh-session:", "@[\\"] {
            let text = piece.repeat(1_000_000);
            assert!(parse(&JsStr::from(text.as_str())).unwrap().1.is_empty());
        }
    }

    #[test]
    fn labels_survive_formatting() {
        let label = JsStr::from("a\\b]c");
        let mention = format(&JsStr::from("s"), &label);
        assert_eq!(mention, "@[a\\\\b\\]c](dsh-session:InMi)");
        assert_eq!(parse(&mention).unwrap().1[0].label, label);
    }
}
