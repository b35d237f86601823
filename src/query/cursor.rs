//! Where a page of results ends, as a text that can be handed back later (formats.md §9.5).
//!
//! A cursor belongs to one request and one state of what was searched. It holds digests of both and an
//! offset, so it survives the process, and whoever changes it or the request gets an error and not the
//! wrong page.

use crate::error::{Code, Failure};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use std::hash::{DefaultHasher, Hash, Hasher};

/// The version of the form below.
const VERSION: u8 = 1;

/// What a cursor is bound to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Binding {
    /// A digest of the normalised request: scope, query, filters, limit.
    pub request: u64,
    /// A digest of what was searched: which sessions, and at which revision.
    pub corpus: u64,
}

/// A digest of anything that can be told apart. It is the same in every run of the same program.
pub fn digest(value: &(impl Hash + ?Sized)) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// Makes the cursor of the page that begins at an offset.
pub fn encode(binding: Binding, offset: u64) -> String {
    let mut bytes = vec![VERSION];
    for number in [binding.request, binding.corpus, offset] {
        bytes.extend(number.to_be_bytes());
    }
    bytes.extend(digest(&bytes).to_be_bytes());
    URL_SAFE_NO_PAD.encode(bytes)
}

/// Reads a cursor that should belong to a request.
///
/// # Errors
/// It is no cursor, was changed, or belongs to another request; or what was searched has changed since.
pub fn decode(cursor: &str, binding: Binding) -> Result<u64, Failure> {
    let invalid = || {
        Failure::new(Code::InvalidCursor, "the cursor does not belong to this request")
            .hint("repeat the request it came from, or leave the cursor out")
    };
    let bytes = URL_SAFE_NO_PAD.decode(cursor).map_err(|_| invalid())?;
    let (body, seal) = bytes.split_at_checked(25).ok_or_else(invalid)?;
    let number = |bytes: &[u8]| bytes.try_into().map(u64::from_be_bytes).map_err(|_| invalid());
    if body[0] != VERSION || number(seal)? != digest(body) {
        return Err(invalid());
    }
    let (request, corpus, offset) = (number(&body[1..9])?, number(&body[9..17])?, number(&body[17..25])?);
    if request != binding.request {
        return Err(invalid());
    }
    if corpus != binding.corpus {
        return Err(Failure::new(Code::StaleCursor, "what was searched has changed since the cursor was made")
            .hint("search again from the first page"));
    }
    Ok(offset)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BINDING: Binding = Binding { request: 7, corpus: 9 };

    #[test]
    fn a_cursor_comes_back() {
        assert_eq!(decode(&encode(BINDING, 40), BINDING).unwrap(), 40);
    }

    #[test]
    fn another_request_and_another_corpus_are_told_apart() {
        let cursor = encode(BINDING, 40);
        let code = |binding| decode(&cursor, binding).unwrap_err().code;
        assert_eq!(code(Binding { request: 8, ..BINDING }), Code::InvalidCursor);
        assert_eq!(code(Binding { corpus: 8, ..BINDING }), Code::StaleCursor);
    }

    #[test]
    fn an_edited_cursor_is_refused() {
        let cursor = encode(BINDING, 40);
        for at in 0..cursor.len() {
            let mut edited = cursor.clone().into_bytes();
            edited[at] = if edited[at] == b'A' { b'B' } else { b'A' };
            let edited = String::from_utf8(edited).unwrap();
            assert_eq!(decode(&edited, BINDING).unwrap_err().code, Code::InvalidCursor, "{edited}");
        }
        for text in ["", "AAAA", "not base64!"] {
            assert_eq!(decode(text, BINDING).unwrap_err().code, Code::InvalidCursor);
        }
    }
}
