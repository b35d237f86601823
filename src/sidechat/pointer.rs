//! Pointers: how a fold names messages of its side chat, so that they can be read when the fold is not enough
//! (seed §7.1, sidechat.md §4). The form is `sidechat://<child>/message/<id>`, both parts percent-encoded.

use super::estimate::utf16_len;
use super::reading::{Reading, Said};
use crate::error::{Code, Failure};
use crate::model::js_string::{JsStr, JsString};
use std::fmt::Write;

/// What every pointer begins with, in any case.
const SCHEME: &str = "sidechat://";

/// The most different messages a fold may point to.
pub const MOST: usize = 5;

/// The most a label may hold, in UTF-16 units.
const LABEL_UNITS: u64 = 160;

/// A pointer in the text of a fold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pointer {
    /// What the text calls it.
    pub label: String,
    /// The pointer.
    pub uri: String,
    /// The message.
    pub message_id: JsString,
}

/// What a pointer names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The side chat.
    pub child: JsString,
    /// The message.
    pub message_id: JsString,
}

/// The pointer to a message.
pub fn uri(child: &JsStr<'_>, message_id: &JsStr<'_>) -> String {
    format!("{SCHEME}{}/message/{}", encoded(child), encoded(message_id))
}

/// Whether a text is meant as a pointer: it begins as one does, or is a Markdown link to one.
pub fn is_meant(text: &str) -> bool {
    below_scheme(bare(text)).is_some()
}

/// What a pointer that stands alone, or in a Markdown link, names.
///
/// # Errors
/// It is none.
pub fn parse(text: &str) -> Result<Target, Failure> {
    let rest = below_scheme(bare(text)).ok_or_else(|| malformed(text))?;
    let (child, message) = parts(rest).ok_or_else(|| malformed(text))?;
    target(child, message).ok_or_else(|| malformed(text))
}

/// The pointers in the text of a fold, in its order, each message once. Every one must name a message of this
/// side chat that can be read.
///
/// # Errors
/// One is malformed, names another side chat or a message that is not there; there are too many.
pub fn pointers(text: &str, child: &JsString, chat: &Reading) -> Result<Vec<Pointer>, Failure> {
    let mut found: Vec<Pointer> = Vec::new();
    for (at, rest) in schemes(text) {
        let shown = &rest[..rest.find(char::is_whitespace).unwrap_or(rest.len())];
        let (host, message) = parts(rest).ok_or_else(|| malformed(&format!("{SCHEME}{shown}")))?;
        let named = named(host, message, chat).ok_or_else(|| malformed(&format!("{SCHEME}{shown}")))?;
        if named.child != *child {
            let message =
                format!("the pointer to {:?} leads to another side chat, {:?}", named.message_id, named.child);
            return Err(
                Failure::new(Code::PointerInvalid, message).hint("a fold points to messages of its own side chat only")
            );
        }
        if readable(chat, &named.message_id).is_none() {
            let message = format!("the side chat has no message {:?} that a pointer could lead to", named.message_id);
            return Err(Failure::new(Code::PointerInvalid, message).hint(
                "it must be something that the user or the model said; `dshkit sessions show SESSION --json` has the ids",
            ));
        }
        if !found.iter().any(|pointer| pointer.message_id == named.message_id) {
            let uri = uri(child, &named.message_id);
            found.push(Pointer { label: label(text, at, &named.message_id), uri, message_id: named.message_id });
        }
    }
    if found.len() > MOST {
        let message = format!("the fold points to {} messages, at most {MOST} are allowed", found.len());
        return Err(Failure::new(Code::PointerInvalid, message).hint("leave out those that matter least"));
    }
    Ok(found)
}

/// The pointers in a text that was checked before, each message once, with what they name.
pub(super) fn unchecked(text: &str) -> Vec<(Pointer, Target)> {
    let mut found: Vec<(Pointer, Target)> = Vec::new();
    for (at, rest) in schemes(text) {
        let named = parts(rest).and_then(|(child, message)| target(child, message));
        let Some(named) = named.filter(|named| !found.iter().any(|(_, known)| known == named)) else { continue };
        let message_id = named.message_id.clone();
        let uri = uri(&named.child, &message_id);
        found.push((Pointer { label: label(text, at, &message_id), uri, message_id }, named));
    }
    found
}

/// The message of this id that a pointer may lead to and that may be read: something the user or the model said.
pub fn readable<'r>(chat: &'r Reading, message_id: &JsString) -> Option<&'r Said> {
    chat.direct().rfind(|said| said.message_id == *message_id)
}

/// What stands behind the scheme a text begins with.
fn below_scheme(text: &str) -> Option<&str> {
    let (scheme, rest) = text.split_at_checked(SCHEME.len())?;
    scheme.eq_ignore_ascii_case(SCHEME).then_some(rest)
}

/// Every place where a pointer begins, and what stands behind its scheme.
fn schemes(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.char_indices().filter_map(|(at, _)| below_scheme(&text[at..]).map(|rest| (at, rest)))
}

/// What a Markdown link leads to; any other text as it is.
fn bare(text: &str) -> &str {
    let link = text.strip_suffix(')').filter(|text| text.starts_with('[')).and_then(|text| text.rsplit_once("]("));
    let Some((_, link)) = link else { return text };
    link.strip_prefix('<').and_then(|link| link.strip_suffix('>')).unwrap_or(link)
}

/// The two parts of what stands behind the scheme: up to the slash, and up to what no pointer holds. A character
/// that is not ASCII ends a pointer, so Chinese punctuation behind it is not part of it.
fn parts(rest: &str) -> Option<(&str, &str)> {
    let (child, rest) = rest.split_once('/')?;
    let rest = rest.strip_prefix("message/")?;
    let may_stand = |c: char| c.is_ascii_graphic() && !matches!(c, ')' | ']' | '>' | ',' | ';' | '"' | '<' | '`' | '|');
    let end = rest.find(|c| !may_stand(c)).unwrap_or(rest.len());
    let is_one = !child.is_empty() && child.chars().all(|c| c.is_ascii_graphic());
    (is_one && end > 0).then_some((child, &rest[..end]))
}

fn target(child: &str, message: &str) -> Option<Target> {
    Some(Target { child: decoded(child)?, message_id: decoded(message)? })
}

/// What a pointer names. Where no message is named so, marks at its end belong to the sentence around it.
fn named(child: &str, message: &str, chat: &Reading) -> Option<Target> {
    let whole = target(child, message)?;
    if readable(chat, &whole.message_id).is_some() {
        return Some(whole);
    }
    let bare = message.trim_end_matches(['.', '!', '?', ':', '\'', '*', '_', '}']);
    let shorter = target(child, bare).filter(|shorter| readable(chat, &shorter.message_id).is_some());
    Some(shorter.unwrap_or(whole))
}

/// What the text calls a pointer: the text of its link, else what stands before it in its line.
fn label(text: &str, at: usize, message_id: &JsString) -> String {
    let line = &text[text[..at].rfind('\n').map_or(0, |end| end + 1)..at];
    // Behind a pointer that stands before it in the line.
    let line = schemes(line).last().map_or(line, |(_, rest)| {
        &rest[rest.find(|c: char| !c.is_ascii_graphic() || matches!(c, ')' | '>')).unwrap_or(rest.len())..]
    });
    let link = line.strip_suffix("](").or(line.strip_suffix("](<"));
    let words = match link {
        Some(link) => &link[link.rfind('[').map_or(0, |start| start + 1)..],
        None => line.trim_start().trim_start_matches(['-', '*', '+', '>', ' ']),
    };
    let is_around = |c: char| {
        c.is_whitespace()
            || matches!(
                c,
                ':' | '：' | '(' | '（' | '<' | '`' | ')' | '>' | '*' | '.' | ',' | ';' | '。' | '，' | '、' | '；'
            )
    };
    let words = words.trim_matches(is_around);
    let mut label =
        if words.is_empty() { format!("message {}", message_id.to_string_lossy()) } else { words.to_owned() };
    while utf16_len(&label) > LABEL_UNITS {
        label.pop();
    }
    label.trim_end().to_owned()
}

fn malformed(shown: &str) -> Failure {
    Failure::new(Code::PointerInvalid, format!("{shown:?} is no pointer to a message"))
        .hint("a pointer is sidechat://SIDECHAT/message/ID, both parts percent-encoded")
}

/// A part of a pointer. More is encoded than `encodeURIComponent` does, so that nothing of an id ends a link.
fn encoded(id: &JsStr<'_>) -> String {
    let mut text = String::new();
    for byte in id.as_bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~') {
            text.push(char::from(*byte));
        } else {
            let _ = write!(text, "%{byte:02X}");
        }
    }
    text
}

/// The id that a part of a pointer, or of a marker, stands for; `None` if it is not well encoded.
pub(super) fn decoded(text: &str) -> Option<JsString> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        if *first == b'%' {
            let hex =
                std::str::from_utf8(tail.get(..2)?).ok().filter(|hex| hex.chars().all(|c| c.is_ascii_hexdigit()))?;
            bytes.push(u8::from_str_radix(hex, 16).ok()?);
            rest = &tail[2..];
        } else {
            bytes.push(*first);
            rest = tail;
        }
    }
    from_bytes(&bytes)
}

/// UTF-8, in which an unpaired surrogate takes the three bytes its code point would take.
fn from_bytes(mut bytes: &[u8]) -> Option<JsString> {
    let mut id = JsString::default();
    loop {
        let error = match std::str::from_utf8(bytes) {
            Ok(text) => {
                id.push_str(text);
                return Some(id);
            }
            Err(error) => error,
        };
        let (valid, rest) = bytes.split_at(error.valid_up_to());
        id.push_str(std::str::from_utf8(valid).ok()?);
        let [0xED, second @ 0xA0..=0xBF, third @ 0x80..=0xBF, tail @ ..] = rest else { return None };
        id.push_unit(0xD000 | u16::from(second & 0x3F) << 6 | u16::from(third & 0x3F));
        bytes = tail;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn js(text: &str) -> JsString {
        JsString::from(text.to_owned())
    }

    #[test]
    fn an_id_is_encoded_and_comes_back() {
        assert_eq!(uri(&js("B"), &js("m/1")), "sidechat://B/message/m%2F1");
        assert_eq!(parse("sidechat://B/message/m%2F1").unwrap(), Target { child: js("B"), message_id: js("m/1") });
        for same in [
            "SideChat://B/message/m%2F1",
            "[a [b] (c)](sidechat://B/message/m%2F1)",
            "[](<sidechat://B/message/m%2F1>)",
        ] {
            assert!(is_meant(same));
            assert_eq!(parse(same).unwrap(), parse("sidechat://B/message/m%2F1").unwrap(), "{same}");
        }
        for wrong in [
            "[x](y)",
            "sidechat:/",
            "sidechat://B/broken",
            "sidechat:///message/m",
            "sidechat://B/message/",
            "sidechat://B/message/%zz",
            "sidechat://B/message/%f0%9f",
            "sidechat://B",
            "m1",
            "",
        ] {
            assert_eq!(parse(wrong).unwrap_err().code, Code::PointerInvalid, "{wrong}");
        }
    }

    #[test]
    fn a_pointer_ends_where_its_sentence_goes_on() {
        let message = |text: &'static str| parts(text).map(|(_, message)| message);
        assert_eq!(message("B/message/m1。下一步"), Some("m1"));
        assert_eq!(message("B/message/m1，"), Some("m1"));
        assert_eq!(message("B/message/m1）"), Some("m1"));
        assert_eq!(message("B/message/m1) and"), Some("m1"));
        assert_eq!(message("B/message/m1 x"), Some("m1"));
        assert_eq!(message("B/broken"), None);
        assert_eq!(message("名/message/m1"), None);
    }

    #[test]
    fn a_label_is_what_the_text_calls_the_message() {
        let of = |text: &str| label(text, schemes(text).next().unwrap().0, &js("m1"));
        assert_eq!(of("x\n- [the log](sidechat://B/message/m1)"), "the log");
        assert_eq!(of("- 重试时序证据：sidechat://B/message/m1"), "重试时序证据");
        assert_eq!(of("- sidechat://B/message/m1"), "message m1");
        assert_eq!(of("- **the log**: SideChat://B/message/m1"), "the log");
        let second = |text: &str| label(text, schemes(text).nth(1).unwrap().0, &js("m1"));
        assert_eq!(second("见 sidechat://B/message/m1。还有 sidechat://B/message/m2"), "还有");
        assert_eq!(second("[a](<sidechat://B/message/m1>), [b](sidechat://B/message/m2)"), "b");
        assert_eq!(second("sidechat://B/message/m1 sidechat://B/message/m2"), "message m1");
        assert_eq!(of(&format!("{}: sidechat://B/message/m1", "a".repeat(200))), "a".repeat(160));
    }

    proptest! {
        #[test]
        fn every_pair_of_ids_survives(
            child in proptest::collection::vec(any::<u16>(), 1..20),
            message in proptest::collection::vec(any::<u16>(), 1..20),
        ) {
            let (child, message_id): (JsString, JsString) = (child.into_iter().collect(), message.into_iter().collect());
            let uri = uri(&child, &message_id);
            prop_assert_eq!(parse(&uri).unwrap(), Target { child, message_id });
        }

        #[test]
        fn nothing_panics(text in "(sidechat://|/message/|%[0-9a-f]|[a-z。，)\\[\\]]| ){0,12}") {
            let _ = parse(&text);
            if let Some((at, _)) = schemes(&text).next() {
                let _ = label(&text, at, &js("m"));
            }
        }
    }
}
