//! The `dsh-session:` identifier: a session id that survives any channel.

use crate::model::js_string::{JsStr, JsString};
use crate::model::json::{parse, string_literal};
use base64::Engine;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use std::fmt;

/// What every such identifier begins with.
pub const SCHEME: &str = "dsh-session:";

/// Base64url without padding, as `Buffer.toString("base64url")` writes it. Stray bits at the end are
/// taken, as Node takes them; the check that the text is canonical refuses them.
const BASE64URL: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::URL_SAFE,
    GeneralPurposeConfig::new()
        .with_encode_padding(false)
        .with_decode_padding_mode(DecodePaddingMode::RequireNone)
        .with_decode_allow_trailing_bits(true),
);

/// A text that is no canonical `dsh-session:` identifier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseUriError {
    uri: JsString,
    reason: &'static str,
}

impl fmt::Display for ParseUriError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "invalid session reference URI {:?}: {}", self.uri, self.reason)
    }
}

impl std::error::Error for ParseUriError {}

/// The identifier of a session: the scheme, then base64url of the UTF-8 of the id as a JSON string.
pub fn encode(session_id: &JsStr<'_>) -> String {
    let mut uri = String::from(SCHEME);
    BASE64URL.encode_string(string_literal(session_id), &mut uri);
    uri
}

/// The session an identifier names. Only the one canonical spelling of an id is accepted: what is
/// decoded must encode to the same text again (formats.md §8.1).
///
/// # Errors
/// Says what the text lacks.
pub fn decode(uri: &JsStr<'_>) -> Result<JsString, ParseUriError> {
    let refuse = |reason| ParseUriError { uri: uri.clone().into_owned(), reason };
    let payload =
        uri.as_bytes().strip_prefix(SCHEME.as_bytes()).ok_or_else(|| refuse("it does not begin with dsh-session:"))?;
    if payload.is_empty() || !payload.iter().all(|byte| is_payload_byte(*byte)) {
        return Err(refuse("its payload is not base64url"));
    }
    let literal = BASE64URL.decode(payload).map_err(|_| refuse("its payload is not base64url"))?;
    let literal = String::from_utf8(literal).map_err(|_| refuse("its payload is not UTF-8"))?;
    let id = parse(&literal)
        .ok()
        .and_then(|view| view.string())
        .ok_or_else(|| refuse("its payload is not a JSON string"))?
        .into_owned();
    if encode(&id).as_bytes() == uri.as_bytes() { Ok(id) } else { Err(refuse("it is not the canonical spelling")) }
}

/// Whether a byte may stand in the payload.
pub(super) fn is_payload_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_'
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn refuses_what_is_not_canonical() {
        for uri in [
            "dsh-session:",
            "dsh-session:abc",
            "dsh-session:InMi=",
            "DSH-SESSION:InMi",
            "InMi",
            "dsh-session:Ilx1MDA3MyI",
        ] {
            assert!(decode(&JsStr::from(uri)).is_err(), "{uri}");
        }
        assert_eq!(decode(&JsStr::from("dsh-session:InMi")).unwrap(), "s");
        assert!(decode(&JsStr::from("dsh-session:InMj")).is_err(), "not a string");
    }

    proptest! {
        #[test]
        fn every_string_survives(units in proptest::collection::vec(any::<u16>(), 0..40)) {
            let id: JsString = units.iter().copied().collect();
            let uri = encode(&id);
            prop_assert_eq!(decode(&JsStr::from(uri.as_str())).unwrap(), id);
        }
    }
}
