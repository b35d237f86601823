//! A text that may be too long to be held: beyond some length it lies in an unnamed file in the system's
//! directory for temporary files, which is gone when the process is.

use crate::model::js_string::{JsStr, JsString};
use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};

/// The most bytes that are held.
const HELD: usize = 1 << 20;

/// How much of a file is read at once, in bytes.
const PIECE: u64 = 64 << 10;

/// The text, to be written first and then read, any number of times.
#[derive(Debug, Default)]
pub struct Spool {
    held: JsString,
    file: Option<File>,
    has_lone_surrogate: bool,
}

impl Spool {
    /// Adds to the text. It must not begin in the middle of a character that the text before began.
    ///
    /// # Errors
    /// The file could not be made or written.
    pub fn push(&mut self, piece: &JsStr<'_>) -> io::Result<()> {
        self.has_lone_surrogate |= piece.to_str().is_none();
        if let Some(file) = &mut self.file {
            return file.write_all(piece.as_bytes());
        }
        self.held.push_js(piece);
        if self.held.len_utf8() > HELD {
            let mut file = tempfile::tempfile()?;
            file.write_all(self.held.as_bytes())?;
            self.held = JsString::default();
            self.file = Some(file);
        }
        Ok(())
    }

    /// Whether the text has an unpaired surrogate, so that it is no `str`.
    pub fn has_lone_surrogate(&self) -> bool {
        self.has_lone_surrogate
    }

    /// Hands on the text, piece by piece.
    ///
    /// # Errors
    /// The file could not be read, or the sink failed.
    pub fn pieces(&self, sink: &mut dyn FnMut(&JsStr<'_>) -> io::Result<()>) -> io::Result<()> {
        let Some(mut file) = self.file.as_ref() else { return sink(&self.held) };
        file.seek(SeekFrom::Start(0))?;
        let mut bytes = Vec::new();
        loop {
            let is_last = file.take(PIECE).read_to_end(&mut bytes)? == 0;
            let end = if is_last { bytes.len() } else { last_boundary(&bytes) };
            if end > 0 {
                sink(&JsStr::from_wtf8(Cow::Borrowed(&bytes[..end])))?;
            }
            if is_last {
                return Ok(());
            }
            bytes.drain(..end);
        }
    }
}

/// Where the last character begins, which may not be all there.
fn last_boundary(bytes: &[u8]) -> usize {
    let begins = |byte: &u8| byte & 0xC0 != 0x80;
    bytes.iter().rposition(begins).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(spool: &Spool) -> (JsString, usize) {
        let (mut text, mut longest) = (JsString::default(), 0);
        let mut sink = |piece: &JsStr<'_>| {
            longest = longest.max(piece.len_utf8());
            text.push_js(piece);
            Ok(())
        };
        spool.pieces(&mut sink).unwrap();
        (text, longest)
    }

    #[test]
    fn a_long_text_comes_back_in_pieces() {
        let mut odd = JsStr::from("é😀").into_owned();
        odd.push_unit(0xD800);
        odd.push_str("漢x");
        let mut spool = Spool::default();
        let mut expected = JsString::default();
        for _ in 0..200_000 {
            spool.push(&odd).unwrap();
            expected.push_js(&odd);
        }
        assert!(spool.file.is_some() && spool.has_lone_surrogate());
        for _ in 0..2 {
            let (text, longest) = whole(&spool);
            assert!(text == expected && longest <= PIECE as usize + 4);
        }
    }

    #[test]
    fn a_short_text_is_held() {
        let mut spool = Spool::default();
        spool.push(&JsStr::from("a")).unwrap();
        spool.push(&JsStr::from("b")).unwrap();
        assert!(spool.file.is_none() && !spool.has_lone_surrogate());
        assert_eq!(whole(&spool).0, "ab");
        assert_eq!(whole(&Spool::default()).0, "");
    }
}
