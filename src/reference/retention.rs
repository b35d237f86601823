//! Fitting a conversation into a number of bytes (formats.md §8.1).
//!
//! dsh drops the oldest message that is neither a checkpoint nor the newest, until the rest fits; when
//! none is left to drop, it cuts the longest text in the middle, as often as need be. It serialises
//! everything again for each message dropped. The result here is the same, but each message is
//! serialised once: what is left after dropping some is a sum.

use super::projection::Message;
use crate::model::js_string::{JsStr, JsString};
use crate::model::json::{number_literal, string_literal};
use crate::model::message::Role;

/// What is retained of a session, and the numbers about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Retained {
    /// The messages that are left, texts cut where they had to be.
    pub conversation: Vec<RetainedMessage>,
    /// What became of each message of the conversation, in its order.
    pub fates: Vec<Fate>,
    /// Whether the conversation holds the checkpoint of a compaction.
    pub compacted: bool,
    /// How many messages the conversation has.
    pub original_messages: usize,
    /// How many were dropped whole.
    pub omitted_messages: usize,
    /// How many bytes of text were left out, of dropped messages and of cut ones.
    pub omitted_bytes: u64,
    /// The size of the serialised snapshot in bytes.
    pub bytes: u64,
}

impl Retained {
    /// Whether anything was left out.
    pub fn is_truncated(&self) -> bool {
        self.omitted_messages > 0 || self.omitted_bytes > 0
    }
}

/// What became of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is left as it was.
    Kept,
    /// It is left, without so many bytes of its text.
    Cut {
        /// How many bytes of UTF-8 are missing.
        omitted: u64,
    },
    /// It is gone.
    Dropped,
}

/// A message that is left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetainedMessage {
    /// Who said it.
    pub role: Role,
    /// What is left of the text.
    pub text: JsString,
}

/// The parts of a snapshot beside its conversation.
#[derive(Clone, Debug)]
pub struct Frame<'a> {
    /// The session.
    pub session_id: &'a JsStr<'a>,
    /// The label it goes by.
    pub label: &'a JsStr<'a>,
    /// Its working directory.
    pub cwd: Option<&'a JsStr<'a>>,
    /// The seq of the last event that was seen; `None` for an empty log.
    pub captured_through_seq: Option<u64>,
}

/// Serialises a snapshot as dsh does: compact JSON, keys in dsh's order, every `<` as `\u003c`.
pub fn serialize(frame: &Frame<'_>, conversation: &[RetainedMessage]) -> String {
    let mut out = frame_open(frame);
    for (index, message) in conversation.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        out.push_str(&message_open(message.role));
        out.push_str(&tag_safe_literal(&message.text));
        out.push('}');
    }
    out.push_str(FRAME_CLOSE);
    out
}

const FRAME_CLOSE: &str = "]}";

fn frame_open(frame: &Frame<'_>) -> String {
    let cwd = frame.cwd.map_or_else(|| "null".to_owned(), tag_safe_literal);
    let seq = captured_literal(frame.captured_through_seq);
    format!(
        r#"{{"sessionId":{},"label":{},"cwd":{cwd},"capturedThroughSeq":{seq},"conversation":["#,
        tag_safe_literal(frame.session_id),
        tag_safe_literal(frame.label),
    )
}

/// The seq of the last event that was seen, as it is serialised.
pub(super) fn captured_literal(seq: Option<u64>) -> String {
    seq.map_or_else(|| "null".to_owned(), |seq| number_literal(seq as f64))
}

fn message_open(role: Role) -> String {
    format!(r#"{{"role":"{}","text":"#, role.name())
}

/// A string literal in which no tag can be spelled.
pub fn tag_safe_literal(text: &JsStr<'_>) -> String {
    string_literal(text).replace('<', "\\u003c")
}

/// A message with the sizes that are needed again and again.
struct Sized<'m> {
    message: &'m Message,
    /// Bytes of the text.
    text_bytes: u64,
    /// Bytes of the serialised message, without a comma.
    json_bytes: u64,
}

fn sized(message: &Message) -> Sized<'_> {
    let json = message_open(message.role).len() + tag_safe_literal(&message.text).len() + 1;
    Sized { message, text_bytes: message.text.len_utf8() as u64, json_bytes: json as u64 }
}

/// Retains what fits. `None` if even everything cut to nothing does not.
pub fn retain(frame: &Frame<'_>, conversation: &[Message], max_bytes: u64) -> Option<Retained> {
    let fixed = (frame_open(frame).len() + FRAME_CLOSE.len()) as u64;
    let all: Vec<Sized<'_>> = conversation.iter().map(sized).collect();
    let mut kept_bytes: u64 = all.iter().map(|item| item.json_bytes).sum();
    let mut kept_count = all.len() as u64;
    let size = |bytes: u64, count: u64| fixed + bytes + count.saturating_sub(1);
    let newest = all.len().saturating_sub(1);
    let mut omitted_messages = 0;
    let mut omitted_bytes = 0;
    let mut fates = vec![Fate::Kept; all.len()];
    let mut kept: Vec<Sized<'_>> = Vec::new();
    let mut places: Vec<usize> = Vec::new();
    // dsh looks for the oldest it may drop each time; walking forward once finds the same ones.
    for (index, item) in all.into_iter().enumerate() {
        let may_drop = !item.message.is_checkpoint && index != newest;
        if may_drop && size(kept_bytes, kept_count) > max_bytes {
            kept_bytes -= item.json_bytes;
            kept_count -= 1;
            omitted_messages += 1;
            omitted_bytes += item.text_bytes;
            fates[index] = Fate::Dropped;
        } else {
            kept.push(item);
            places.push(index);
        }
    }
    let mut texts: Vec<Cut> =
        kept.iter().map(|item| Cut { text: item.message.text.clone(), bytes: item.text_bytes, omitted: 0 }).collect();
    while size(kept_bytes, kept_count) > max_bytes {
        let overflow = size(kept_bytes, kept_count) - max_bytes;
        let longest = (0..texts.len()).rev().max_by_key(|index| texts[*index].bytes)?;
        if texts[longest].bytes == 0 {
            return None;
        }
        let target = texts[longest].bytes.saturating_sub(overflow);
        let cut = cut_to(&kept[longest].message.text, target);
        if cut.text == texts[longest].text {
            return None;
        }
        let literal = |text: &JsStr<'_>| tag_safe_literal(text).len() as u64;
        kept_bytes = kept_bytes - literal(&texts[longest].text) + literal(&cut.text);
        texts[longest] = cut;
    }
    for (place, cut) in places.into_iter().zip(&texts) {
        if cut.omitted > 0 {
            fates[place] = Fate::Cut { omitted: cut.omitted };
        }
    }
    omitted_bytes += texts.iter().map(|cut| cut.omitted).sum::<u64>();
    let conversation_left =
        kept.iter().zip(texts).map(|(item, cut)| RetainedMessage { role: item.message.role, text: cut.text });
    Some(Retained {
        conversation: conversation_left.collect(),
        fates,
        compacted: conversation.iter().any(|message| message.is_checkpoint),
        original_messages: conversation.len(),
        omitted_messages,
        omitted_bytes,
        bytes: size(kept_bytes, kept_count),
    })
}

/// A text that may have been cut.
struct Cut {
    text: JsString,
    bytes: u64,
    omitted: u64,
}

/// Cuts a text to a number of bytes, its head and tail kept and a notice at the end. The longest cut
/// that fits is looked for as dsh looks for it, by halving, because sizes do not quite grow with what
/// is kept and the same steps must find the same one. A text that fits nothing becomes empty.
fn cut_to(text: &JsStr<'_>, target: u64) -> Cut {
    let bytes = text.len_utf8() as u64;
    if bytes <= target {
        return Cut { text: text.clone().into_owned(), bytes, omitted: 0 };
    }
    let mut best = None;
    let (mut low, mut high) = (0i64, target as i64);
    while low <= high {
        let keep = (low + high) / 2;
        let gap = gap(text.as_bytes(), keep as usize);
        let size = gap.0 + (text.len_utf8() - gap.1) + notice(gap.1 - gap.0).len();
        if size as u64 <= target {
            best = Some((gap, size as u64));
            low = keep + 1;
        } else {
            high = keep - 1;
        }
    }
    let Some(((head, tail), size)) = best else {
        return Cut { text: JsString::default(), bytes: 0, omitted: bytes };
    };
    let mut cut = JsString::from(text.slice(0, head).to_string_lossy().into_owned());
    cut.push_str(&text.slice(tail, text.len_utf8()).to_string_lossy());
    cut.push_str(&notice(tail - head));
    Cut { text: cut, bytes: size, omitted: (tail - head) as u64 }
}

fn notice(omitted: usize) -> String {
    format!("\n[… omitted {omitted} UTF-8 bytes …]")
}

/// Where the head ends and the tail begins when so many bytes are kept, half and half, without half
/// characters.
fn gap(bytes: &[u8], keep: usize) -> (usize, usize) {
    let mut head = keep.div_ceil(2).min(bytes.len());
    let mut tail = bytes.len() - (keep / 2).min(bytes.len() - head);
    if head < tail {
        while head > 0 && is_continuation(bytes[head]) {
            head -= 1;
        }
        while tail < bytes.len() && is_continuation(bytes[tail]) {
            tail += 1;
        }
    }
    (head, tail)
}

fn is_continuation(byte: u8) -> bool {
    byte & 0xC0 == 0x80
}
