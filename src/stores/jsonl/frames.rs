//! The structure of a compressed log: a walk over frame and block headers that decodes nothing
//! (formats.md §5.1).
//!
//! The walk tells complete frames from a torn last one, which is how a crash is told from damage. No
//! size found in a header is ever used to allocate memory; it only says where the next header is.

use crate::model::problem::{Fault, ProblemKind};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

const MAGIC: u32 = 0xFD2F_B528;

/// The structure of a compressed log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Structure {
    /// Where the first frame ends, if it is complete.
    pub(super) first_end: Option<u64>,
    /// How many frames are complete.
    pub(super) complete: u64,
    /// Where complete frames end and a torn one begins; the length of the log if none does.
    pub(super) complete_end: u64,
}

/// Why a walk ended.
#[derive(Debug)]
pub(super) enum WalkError {
    /// The file could not be read.
    Io(io::Error),
    /// The structure is broken: complete frames up to somewhere, then no frame. Salvage goes so far.
    Broken(Structure, Fault),
}

/// Walks the first `len` bytes of a file.
pub(super) fn walk(file: &mut File, len: u64) -> Result<Structure, WalkError> {
    walk_from(file, 0, len)
}

/// Walks a file from where a frame begins up to `len`.
pub(super) fn walk_from(file: &mut File, start: u64, len: u64) -> Result<Structure, WalkError> {
    file.seek(SeekFrom::Start(start)).map_err(WalkError::Io)?;
    let mut source = Source { file, buffer: vec![0; 1 << 18], filled: 0, at: 0, offset: start, len };
    let mut structure = Structure::default();
    loop {
        let start = source.offset;
        structure.complete_end = start;
        if start == len {
            return Ok(structure);
        }
        match walk_frame(&mut source) {
            Ok(()) => {
                structure.complete += 1;
                structure.first_end.get_or_insert(source.offset);
            }
            Err(FrameError::Torn) => return Ok(structure),
            Err(FrameError::Io(error)) => return Err(WalkError::Io(error)),
            Err(FrameError::Broken(message, offset)) => {
                // Whatever follows the last frame and is no frame is stray; before any frame it is no log.
                let fault = Fault::new(ProblemKind::BadMagic, message).at_byte(offset);
                return Err(WalkError::Broken(structure, fault));
            }
        }
    }
}

/// Where the frame that begins at an offset ends; the end of the log if there is no telling.
pub(super) fn frame_end(file: &mut File, start: u64, len: u64) -> io::Result<u64> {
    file.seek(SeekFrom::Start(start))?;
    let mut source = Source { file, buffer: vec![0; 1 << 18], filled: 0, at: 0, offset: start, len };
    match walk_frame(&mut source) {
        Ok(()) => Ok(source.offset),
        Err(FrameError::Torn | FrameError::Broken(..)) => Ok(len),
        Err(FrameError::Io(error)) => Err(error),
    }
}

/// Where the first frame in a buffer ends, `None` if it is not complete.
pub(super) fn first_frame_end(bytes: &[u8]) -> Result<Option<usize>, Fault> {
    let mut source = Slice { bytes, at: 0 };
    match walk_frame(&mut source) {
        Ok(()) => Ok(Some(source.at)),
        Err(FrameError::Torn) => Ok(None),
        Err(FrameError::Broken(message, offset)) => Err(Fault::new(ProblemKind::BadMagic, message).at_byte(offset)),
        Err(FrameError::Io(error)) => Err(Fault::new(ProblemKind::Unreadable, error.to_string())),
    }
}

enum FrameError {
    Torn,
    Io(io::Error),
    Broken(&'static str, u64),
}

/// Bytes that can be taken or passed over.
trait Bytes {
    /// Where we are in the file.
    fn offset(&self) -> u64;
    /// The next bytes, or torn.
    fn take<const N: usize>(&mut self) -> Result<[u8; N], FrameError>;
    /// Passes over bytes, or torn.
    fn skip(&mut self, count: u64) -> Result<(), FrameError>;
}

fn walk_frame(source: &mut impl Bytes) -> Result<(), FrameError> {
    let start = source.offset();
    if u32::from_le_bytes(source.take()?) != MAGIC {
        return Err(FrameError::Broken("no frame begins here", start));
    }
    let [descriptor] = source.take()?;
    if descriptor & 0b1_1000 != 0 {
        return Err(FrameError::Broken("a reserved bit is set in the frame header", start + 4));
    }
    let is_single_segment = descriptor & 0b10_0000 != 0;
    let window = u64::from(!is_single_segment);
    let dictionary = [0, 1, 2, 4][usize::from(descriptor & 0b11)];
    let content_size = match descriptor >> 6 {
        0 => u64::from(is_single_segment),
        flag => 1 << flag,
    };
    source.skip(window + dictionary + content_size)?;
    loop {
        let at = source.offset();
        let [a, b, c] = source.take()?;
        let header = u32::from_le_bytes([a, b, c, 0]);
        let size = u64::from(header >> 3);
        match (header >> 1) & 0b11 {
            3 => return Err(FrameError::Broken("a block of the reserved type", at)),
            1 => source.skip(1)?,
            _ => source.skip(size)?,
        }
        if header & 1 == 1 {
            break;
        }
    }
    if descriptor & 0b100 != 0 {
        source.skip(4)?;
    }
    Ok(())
}

struct Slice<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Bytes for Slice<'_> {
    fn offset(&self) -> u64 {
        self.at as u64
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N], FrameError> {
        let taken =
            self.bytes.get(self.at..self.at + N).and_then(|bytes| bytes.try_into().ok()).ok_or(FrameError::Torn)?;
        self.at += N;
        Ok(taken)
    }

    fn skip(&mut self, count: u64) -> Result<(), FrameError> {
        let count = usize::try_from(count).map_err(|_| FrameError::Torn)?;
        if count > self.bytes.len() - self.at {
            return Err(FrameError::Torn);
        }
        self.at += count;
        Ok(())
    }
}

/// A file read through one buffer; long stretches are passed over without reading them.
struct Source<'f> {
    file: &'f mut File,
    buffer: Vec<u8>,
    filled: usize,
    at: usize,
    offset: u64,
    len: u64,
}

impl Source<'_> {
    /// Makes at least `count` bytes available, a handful.
    fn fill(&mut self, count: usize) -> Result<(), FrameError> {
        self.buffer.copy_within(self.at..self.filled, 0);
        self.filled -= self.at;
        self.at = 0;
        while self.filled < count {
            let read = self.file.read(&mut self.buffer[self.filled..]).map_err(FrameError::Io)?;
            if read == 0 {
                return Err(FrameError::Torn);
            }
            self.filled += read;
        }
        Ok(())
    }
}

impl Bytes for Source<'_> {
    fn offset(&self) -> u64 {
        self.offset
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N], FrameError> {
        if self.offset + N as u64 > self.len {
            return Err(FrameError::Torn);
        }
        if self.filled - self.at < N {
            self.fill(N)?;
        }
        let taken = self.buffer[self.at..self.at + N].try_into().map_err(|_| FrameError::Torn)?;
        self.at += N;
        self.offset += N as u64;
        Ok(taken)
    }

    fn skip(&mut self, count: u64) -> Result<(), FrameError> {
        if count > self.len - self.offset {
            return Err(FrameError::Torn);
        }
        self.offset += count;
        let buffered = (self.filled - self.at) as u64;
        if count <= buffered {
            self.at += count as usize;
        } else {
            self.at = 0;
            self.filled = 0;
            self.file.seek(SeekFrom::Start(self.offset)).map_err(FrameError::Io)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Write;

    fn frame(text: &[u8]) -> Vec<u8> {
        let mut encoder = zstd::Encoder::new(Vec::new(), 3).unwrap();
        encoder.include_checksum(true).unwrap();
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    fn structure(bytes: &[u8]) -> Result<Structure, WalkError> {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        walk(&mut file, bytes.len() as u64)
    }

    #[test]
    fn a_cut_log_ends_in_a_torn_frame_wherever_it_is_cut() {
        let frames =
            [frame(b"one"), frame(&[b'x'; 300_000]), frame(&(0..=255).cycle().take(400_000).collect::<Vec<u8>>())];
        let log = frames.concat();
        let whole = structure(&log).unwrap();
        assert_eq!((whole.complete, whole.complete_end), (3, log.len() as u64));
        let second = (frames[0].len() + frames[1].len()) as u64;
        for cut in [second + 1, second + 4, second + 7, log.len() as u64 - 1] {
            let torn = structure(&log[..cut as usize]).unwrap();
            assert_eq!((torn.complete, torn.complete_end), (2, second), "cut at {cut}");
        }
    }

    #[test]
    fn what_is_no_frame_is_told_from_a_torn_one() {
        let log = [frame(b"one"), vec![0; 64]].concat();
        assert!(matches!(structure(&log), Err(WalkError::Broken(Structure { complete: 1, .. }, _))));
        assert_eq!(structure(&[frame(b"one"), vec![0; 3]].concat()).unwrap().complete, 1);
        assert!(matches!(
            structure(b"{\"type\":\"session\"}"),
            Err(WalkError::Broken(Structure { complete: 0, .. }, _))
        ));
    }

    proptest! {
        #[test]
        fn any_bytes_are_walked(bytes in proptest::collection::vec(any::<u8>(), 0..200), prefix in any::<bool>()) {
            let bytes = if prefix { [&MAGIC.to_le_bytes()[..], &bytes].concat() } else { bytes };
            let from_file = structure(&bytes).ok().and_then(|structure| structure.first_end);
            prop_assert_eq!(first_frame_end(&bytes).ok().flatten().map(|end| end as u64), from_file.or(match structure(&bytes) {
                Err(WalkError::Broken(structure, _)) => structure.first_end,
                _ => None,
            }));
        }
    }
}
