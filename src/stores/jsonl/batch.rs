//! Rows as the bytes that are appended to a log: one frame, or lines (formats.md §5.1, §11.2).

use crate::stores::Encoding;
use std::io::{self, Write};

/// Rows, each without its line feed, as one batch. A compressed batch is one frame with a checksum and
/// without a content size, as dsh writes it.
pub(super) fn encode<R: AsRef<str>>(encoding: Encoding, rows: &[R]) -> io::Result<Vec<u8>> {
    let mut text = String::new();
    for row in rows {
        text.push_str(row.as_ref());
        text.push('\n');
    }
    match encoding {
        Encoding::Plain | Encoding::Sqlite => Ok(text.into_bytes()),
        Encoding::Zstd => {
            let mut encoder = zstd::Encoder::new(Vec::new(), zstd::DEFAULT_COMPRESSION_LEVEL)?;
            encoder.include_checksum(true)?;
            encoder.write_all(text.as_bytes())?;
            encoder.finish()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_is_one_frame_of_the_kind_dsh_writes() {
        for rows in [vec!["{}"], vec!["{\"a\":1}"; 5_000]] {
            let frame = encode(Encoding::Zstd, &rows).unwrap();
            assert_eq!(frame[..5], [0x28, 0xB5, 0x2F, 0xFD, 0x04], "magic, and a descriptor with a checksum only");
            assert_eq!(super::super::frames::first_frame_end(&frame).unwrap(), Some(frame.len()));
            let plain = encode(Encoding::Plain, &rows).unwrap();
            assert_eq!(zstd::decode_all(&frame[..]).unwrap(), plain);
            assert_eq!(plain, rows.iter().map(|row| format!("{row}\n")).collect::<String>().into_bytes());
        }
    }
}
