//! A draft with mentions, read from its beginning to its end without being held.

use crate::model::js_string::JsString;
use crate::model::mention::{self, Mention};
use crate::model::uri::ParseUriError;
use std::collections::HashSet;
use std::io::{self, Read};

/// How much is read at once, in bytes.
const READ: usize = 64 << 10;

/// Why a draft could not be taken.
#[derive(Debug)]
pub enum DraftError {
    /// A mention is not valid.
    Mention(ParseUriError),
    /// It could not be read, or its text not be put anywhere.
    Io(io::Error),
}

/// Reads a draft, hands on its text with every mention replaced by its label, in pieces, and gives the
/// sessions mentioned, each once, in order. What is not UTF-8 becomes U+FFFD, and the line feed that ends
/// a file is not part of the text.
///
/// A piece is held until a place is found where no mention can go across: at white space outside of what
/// might be a label. So a draft takes memory only as far as it is one endless word or label.
///
/// # Errors
/// The first mention whose identifier is not valid; what reading and handing on said.
pub fn read(
    mut input: impl Read,
    sink: &mut dyn FnMut(&JsString) -> io::Result<()>,
) -> Result<Vec<Mention>, DraftError> {
    let mut mentions = Mentions::default();
    let mut held = Vec::new();
    let mut cutter = Cutter::default();
    loop {
        let before = held.len();
        input.by_ref().take(READ as u64).read_to_end(&mut held).map_err(DraftError::Io)?;
        if held.len() == before {
            break;
        }
        if let Some(cut) = cutter.cut(&held) {
            sink(&mentions.replaced(&held[..cut])?).map_err(DraftError::Io)?;
            held.drain(..cut);
            cutter.at -= cut;
        }
    }
    if held.last() == Some(&b'\n') {
        held.pop();
    }
    sink(&mentions.replaced(&held)?).map_err(DraftError::Io)?;
    Ok(mentions.found)
}

/// The sessions mentioned so far.
#[derive(Default)]
struct Mentions {
    found: Vec<Mention>,
    known: HashSet<JsString>,
}

impl Mentions {
    /// A piece of the draft with its mentions replaced.
    fn replaced(&mut self, piece: &[u8]) -> Result<JsString, DraftError> {
        let text = JsString::from(String::from_utf8_lossy(piece).into_owned());
        let (readable, mentions) = mention::parse(&text).map_err(DraftError::Mention)?;
        self.found.extend(mentions.into_iter().filter(|mention| self.known.insert(mention.session_id.clone())));
        Ok(readable)
    }
}

/// Looks for places where a text can be cut without cutting a mention.
///
/// A mention holds no white space but in its label, and where a label might begin inside another that
/// comes to nothing, it ends at the same bracket. So it is enough to follow labels from the first
/// beginning on.
#[derive(Default)]
struct Cutter {
    state: State,
    /// What has been looked at.
    at: usize,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum State {
    #[default]
    Outside,
    Label,
    /// In a label, behind a backslash.
    Escape,
}

impl Cutter {
    /// The last such place in what is new of the text.
    fn cut(&mut self, text: &[u8]) -> Option<usize> {
        let mut cut = None;
        for at in self.at..text.len() {
            let byte = text[at];
            self.state = match (self.state, byte) {
                (State::Outside, b'[') if at > 0 && text[at - 1] == b'@' => State::Label,
                (State::Label, b'\\') => State::Escape,
                // An escaped line feed is no label any more; those of Unicode are not looked for, which
                // costs a cut and nothing else.
                (State::Label, b']') | (State::Escape, b'\n' | b'\r') => State::Outside,
                (State::Escape, _) => State::Label,
                (state, _) => state,
            };
            if self.state == State::Outside && byte.is_ascii_whitespace() && at > 0 {
                cut = Some(at);
            }
        }
        self.at = text.len();
        cut
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::js_string::JsStr;
    use proptest::prelude::*;

    /// A reader that gives so many bytes at a time.
    struct Trickle<'t>(&'t [u8], usize);

    impl Read for Trickle<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let count = self.1.min(buffer.len()).min(self.0.len());
            buffer[..count].copy_from_slice(&self.0[..count]);
            self.0 = &self.0[count..];
            Ok(count)
        }
    }

    /// The text in pieces of a draft that is cut wherever it can be.
    fn pieces(draft: &str) -> Vec<String> {
        let mut cutter = Cutter::default();
        let mut held = Vec::new();
        let mut pieces = Vec::new();
        for byte in draft.bytes() {
            held.push(byte);
            if let Some(cut) = cutter.cut(&held) {
                pieces.push(String::from_utf8(held.drain(..cut).collect()).unwrap());
                cutter.at -= cut;
            }
        }
        pieces.push(String::from_utf8(held).unwrap());
        pieces
    }

    #[test]
    fn no_mention_is_cut() {
        assert_eq!(pieces("a b\nc"), ["a", " b", "\nc"]);
        let mention = "@[a \\] b](dsh-session:InMi)";
        assert_eq!(pieces(&format!("x {mention} y")), ["x", &format!(" {mention}"), " y"]);
        assert_eq!(pieces("@[a b"), ["@[a b"]);
        assert_eq!(pieces("@[a\\\nb c"), ["@[a\\", "\nb", " c"]);
        assert_eq!(pieces("@ [a b"), ["@", " [a", " b"]);
    }

    #[test]
    fn a_long_draft_is_not_held() {
        let line = "@[the one](dsh-session:InMi) and 漢字 and so on\n";
        let draft = line.repeat(200_000);
        let mut longest = 0;
        let mut length = 0;
        let mentions = read(draft.as_bytes(), &mut |piece| {
            longest = longest.max(piece.len_utf8());
            length += piece.len_utf8();
            Ok(())
        });
        assert_eq!(mentions.unwrap().len(), 1);
        assert!(longest < 2 * READ, "{longest}");
        assert_eq!(length, "@the one and 漢字 and so on\n".len() * 200_000 - 1);
    }

    proptest! {
        #[test]
        fn pieces_say_what_the_whole_says(
            parts in prop::collection::vec(prop::sample::select(vec![
                "@[", "[", "@", "]", "](", "](dsh-session:InMi)", "dsh-session:InMi", "(dsh-session:", ")", " ", "\n",
                "\\", "\\]", "\r", "\u{2028}", "\u{A0}", "x", "é", "😀", "@[l](dsh-session:InQi)",
            ]), 0..30),
            step in 1..5usize,
        ) {
            let draft = parts.concat();
            let stripped = draft.strip_suffix('\n').unwrap_or(&draft);
            let whole = mention::parse(&JsStr::from(stripped));
            let mut text = JsString::default();
            let mut held = pieces(&draft);
            if let Some(last) = held.last_mut() && last.ends_with('\n') {
                last.pop();
            }
            let mut mentions = Mentions::default();
            let by_pieces: Result<(), DraftError> = held.iter().try_for_each(|piece| {
                text.push_js(&mentions.replaced(piece.as_bytes())?);
                Ok(())
            });
            let mut read_text = JsString::default();
            let read = read(Trickle(draft.as_bytes(), step), &mut |piece| {
                read_text.push_js(piece);
                Ok(())
            });
            match whole {
                Err(_) => prop_assert!(by_pieces.is_err() && read.is_err()),
                Ok((readable, found)) => {
                    by_pieces.unwrap();
                    prop_assert_eq!(&text, &readable);
                    prop_assert_eq!(&read_text, &readable);
                    let ids = |mentions: &[Mention]| mentions.iter().map(|m| m.session_id.clone()).collect::<Vec<_>>();
                    let mut known = HashSet::new();
                    let once: Vec<Mention> =
                        found.into_iter().filter(|mention| known.insert(mention.session_id.clone())).collect();
                    prop_assert_eq!(ids(&mentions.found), ids(&once));
                    prop_assert_eq!(ids(&read.unwrap()), ids(&once));
                }
            }
        }
    }
}
