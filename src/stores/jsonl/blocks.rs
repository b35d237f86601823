//! Looking at the stored rows of a log without decoding them.

use super::head::{HeadError, HeadReader};
use super::lines::{LinesError, MAX_LINE, read_frames_here};
use crate::stores::{BlockTest, Encoding, ReadError, StoredSession};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

/// How much of a log is looked at at once. Small enough to stay in the processor's cache while a few
/// searches go over it.
const BLOCK: usize = 256 << 10;

/// The test said yes.
struct Passed;

/// Whether any block of whole lines behind the header passes a test.
pub(super) fn any(session: &StoredSession, test: &mut BlockTest<'_>) -> Result<bool, ReadError> {
    let found = match session.encoding {
        Encoding::Zstd => any_in_frames(session, test),
        Encoding::Plain | Encoding::Sqlite => any_in_plain(session, test),
    };
    found.map_err(|source| ReadError::Io { path: session.path.clone(), source })
}

fn any_in_plain(session: &StoredSession, test: &mut BlockTest<'_>) -> io::Result<bool> {
    let mut file = File::open(&session.path)?;
    let end = file.metadata()?.len();
    let Some(start) = body_start(&mut file, session)? else { return Ok(true) };
    file.seek(SeekFrom::Start(start))?;
    let mut file = file.take(end.saturating_sub(start));
    let mut block = vec![0; BLOCK];
    let mut filled = 0;
    loop {
        let read = file.read(&mut block[filled..])?;
        filled += read;
        if read == 0 {
            return Ok(filled > 0 && test(&block[..filled]));
        }
        match memchr::memrchr(b'\n', &block[filled - read..filled]) {
            Some(last) => {
                let whole = filled - read + last + 1;
                if test(&block[..whole]) {
                    return Ok(true);
                }
                block.copy_within(whole..filled, 0);
                filled -= whole;
            }
            // A line longer than a block: the block grows with what is there, not with what is claimed.
            None if filled > MAX_LINE => return Ok(true),
            None if filled == block.len() => block.resize(filled * 2, 0),
            None => {}
        }
    }
}

fn any_in_frames(session: &StoredSession, test: &mut BlockTest<'_>) -> io::Result<bool> {
    let mut file = File::open(&session.path)?;
    let end = file.metadata()?.len();
    let Some(start) = body_start(&mut file, session)? else { return Ok(true) };
    let mut carry: Vec<u8> = Vec::new();
    let mut chunk = |text: &[u8]| {
        let Some(last) = memchr::memrchr(b'\n', text) else {
            if carry.len() > MAX_LINE {
                return Err(LinesError::Stopped(Passed));
            }
            carry.extend_from_slice(text);
            return Ok(());
        };
        let (whole, rest) = text.split_at(last + 1);
        // The line that began in the last chunk ends here; the others are looked at where they are.
        let first = if carry.is_empty() { 0 } else { memchr::memchr(b'\n', whole).map_or(0, |first| first + 1) };
        carry.extend_from_slice(&whole[..first]);
        let passes = !carry.is_empty() && test(&carry) || test(&whole[first..]);
        carry.clear();
        carry.extend_from_slice(rest);
        if passes { Err(LinesError::Stopped(Passed)) } else { Ok(()) }
    };
    match read_frames_here(&mut file, start, end, &mut chunk) {
        Ok(()) => Ok(!carry.is_empty() && test(&carry)),
        Err(LinesError::Io(error)) => Err(error),
        Err(LinesError::Stopped(Passed) | LinesError::Frame { .. } | LinesError::TooLong(_)) => Ok(true),
    }
}

/// Where the rows begin; `None` if the header cannot be read.
fn body_start(file: &mut File, session: &StoredSession) -> io::Result<Option<u64>> {
    match HeadReader::new().first_line(file, session.encoding) {
        // Of a plain log the line feed belongs to the header as well.
        Ok((_, len)) => Ok(Some(len)),
        Err(HeadError::Io(error)) => Err(error),
        Err(HeadError::Fault(_)) => Ok(None),
    }
}
