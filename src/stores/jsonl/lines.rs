//! The lines of a log, whichever way it is encoded.
//!
//! One decoder context and a few buffers serve a whole log, however many frames it has. Of a large
//! compressed log one thread decodes while the other reads the lines.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use zstd::zstd_safe::{DCtx, InBuffer, OutBuffer, get_error_name};

/// The longest line that is read, in bytes. dsh moves what is larger than 50 KB out of the log; this is
/// some thousands of times that, and keeps a hostile log from taking all memory.
pub(super) const MAX_LINE: usize = 128 << 20;

/// How much plain text goes from one thread to the other at a time.
const CHUNK: usize = 256 << 10;

/// From how many compressed bytes on a second thread is worth its start.
const PARALLEL_FROM: u64 = 256 << 10;

/// Why the lines of a log ended early.
#[derive(Debug)]
pub(super) enum LinesError<E> {
    /// The file could not be read.
    Io(io::Error),
    /// A frame could not be decoded: where it begins, and whether it was the checksum.
    Frame { offset: u64, is_checksum: bool, message: &'static str },
    /// A line is longer than [`MAX_LINE`]. The number of lines before it is given.
    TooLong(u64),
    /// The receiver of the lines wanted no more.
    Stopped(E),
}

/// Where chunks of text go.
pub(super) type ChunkSink<'s, E> = dyn FnMut(&[u8]) -> Result<(), LinesError<E>> + 's;

/// Where chunks of text go together with the offset at which their frame begins.
pub(super) type FrameSink<'s, E> = dyn FnMut(&[u8], u64) -> Result<(), LinesError<E>> + 's;

/// Cuts chunks of text into lines.
#[derive(Default)]
pub(super) struct Splitter {
    carry: Vec<u8>,
    lines: u64,
}

impl Splitter {
    /// Hands on every line that ends in the chunk, without its line feed.
    pub(super) fn push<E>(
        &mut self,
        chunk: &[u8],
        line: &mut dyn FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), LinesError<E>> {
        let mut rest = chunk;
        while let Some(end) = memchr::memchr(b'\n', rest) {
            if self.carry.is_empty() {
                line(&rest[..end]).map_err(LinesError::Stopped)?;
            } else {
                self.carry.extend_from_slice(&rest[..end]);
                let result = line(&self.carry);
                self.carry.clear();
                result.map_err(LinesError::Stopped)?;
            }
            self.lines += 1;
            rest = &rest[end + 1..];
        }
        if self.carry.len() + rest.len() > MAX_LINE {
            return Err(LinesError::TooLong(self.lines));
        }
        self.carry.extend_from_slice(rest);
        Ok(())
    }

    /// Whether a line has begun that has not ended.
    pub(super) fn has_partial(&self) -> bool {
        !self.carry.is_empty()
    }
}

/// Reads part of a plain file in chunks.
pub(super) fn read_plain<E>(
    file: &mut File,
    start: u64,
    end: u64,
    chunk: &mut ChunkSink<'_, E>,
) -> Result<(), LinesError<E>> {
    file.seek(SeekFrom::Start(start)).map_err(LinesError::Io)?;
    let mut buffer = vec![0; CHUNK.min((end - start) as usize + 1)];
    let mut left = end - start;
    while left > 0 {
        let want = (buffer.len() as u64).min(left) as usize;
        let read = file.read(&mut buffer[..want]).map_err(LinesError::Io)?;
        if read == 0 {
            break;
        }
        left -= read as u64;
        chunk(&buffer[..read])?;
    }
    Ok(())
}

/// Decodes the frames in part of a file and hands on the plain text in chunks.
pub(super) fn read_frames<E: Send>(
    file: &mut File,
    start: u64,
    end: u64,
    chunk: &mut ChunkSink<'_, E>,
) -> Result<(), LinesError<E>> {
    if end - start < PARALLEL_FROM {
        return decode(file, start, end, Emit::WhenFull, &mut |text, _| chunk(text));
    }
    thread::scope(|scope| {
        let (filled_sender, filled): (SyncSender<Vec<u8>>, Receiver<Vec<u8>>) = sync_channel(3);
        let (empty_sender, empty) = sync_channel::<Vec<u8>>(4);
        let decoder = scope.spawn(move || -> Result<(), LinesError<Hung>> {
            decode(file, start, end, Emit::WhenFull, &mut |text, _| {
                let mut buffer = empty.try_recv().unwrap_or_default();
                buffer.clear();
                buffer.extend_from_slice(text);
                filled_sender.send(buffer).map_err(|_| LinesError::Stopped(Hung))
            })
        });
        let mut result = Ok(());
        for buffer in filled {
            result = chunk(&buffer);
            if result.is_err() {
                break;
            }
            let _ = empty_sender.try_send(buffer);
        }
        // The loop above has dropped its end of the channel, so a decoder that still runs stops.
        let decoded = match decoder.join() {
            Ok(decoded) => decoded,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        result?;
        match decoded {
            Ok(()) | Err(LinesError::Stopped(Hung)) => Ok(()),
            Err(LinesError::Io(error)) => Err(LinesError::Io(error)),
            Err(LinesError::Frame { offset, is_checksum, message }) => {
                Err(LinesError::Frame { offset, is_checksum, message })
            }
            Err(LinesError::TooLong(lines)) => Err(LinesError::TooLong(lines)),
        }
    })
}

/// Decodes the frames in part of a file on this thread, for callers that have one for each log.
pub(super) fn read_frames_here<E>(
    file: &mut File,
    start: u64,
    end: u64,
    chunk: &mut ChunkSink<'_, E>,
) -> Result<(), LinesError<E>> {
    decode(file, start, end, Emit::WhenFull, &mut |text, _| chunk(text))
}

/// The reading thread has gone.
#[derive(Debug)]
struct Hung;

/// Decodes frame by frame and hands on each frame's text with the offset at which the frame begins.
pub(super) fn read_each_frame<E>(
    file: &mut File,
    start: u64,
    end: u64,
    chunk: &mut FrameSink<'_, E>,
) -> Result<(), LinesError<E>> {
    decode(file, start, end, Emit::EachFrame, chunk)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Emit {
    /// When a chunk is full, whatever frames are in it.
    WhenFull,
    /// At the end of each frame too.
    EachFrame,
}

fn decode<E>(
    file: &mut File,
    start: u64,
    end: u64,
    emit: Emit,
    chunk: &mut FrameSink<'_, E>,
) -> Result<(), LinesError<E>> {
    file.seek(SeekFrom::Start(start)).map_err(LinesError::Io)?;
    let mut context = DCtx::create();
    let mut input = vec![0; CHUNK.min((end - start) as usize + 1)];
    let mut output = vec![0; CHUNK];
    let mut filled = 0;
    let mut frame_start = start;
    let mut offset = start;
    while offset < end {
        let want = (input.len() as u64).min(end - offset) as usize;
        let read = file.read(&mut input[..want]).map_err(LinesError::Io)?;
        if read == 0 {
            break;
        }
        let mut source = InBuffer::around(&input[..read]);
        loop {
            let mut target = OutBuffer::around_pos(&mut output[..], filled);
            let hint = context.decompress_stream(&mut target, &mut source).map_err(|code| {
                let message = get_error_name(code);
                LinesError::Frame { offset: frame_start, is_checksum: message.contains("checksum"), message }
            })?;
            filled = target.pos();
            let is_full = filled == output.len();
            if hint == 0 && emit == Emit::EachFrame || is_full {
                chunk(&output[..filled], frame_start)?;
                filled = 0;
            }
            if hint == 0 {
                frame_start = offset + source.pos() as u64;
            }
            if source.pos() == read && !is_full {
                break;
            }
        }
        offset += read as u64;
    }
    if filled > 0 { chunk(&output[..filled], frame_start) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Write;

    fn split(chunks: &[&[u8]]) -> (Vec<Vec<u8>>, bool) {
        let mut splitter = Splitter::default();
        let mut lines = Vec::new();
        for chunk in chunks {
            let mut keep = |line: &[u8]| -> Result<(), ()> {
                lines.push(line.to_vec());
                Ok(())
            };
            splitter.push(chunk, &mut keep).unwrap();
        }
        (lines, splitter.has_partial())
    }

    proptest! {
        #[test]
        fn lines_do_not_depend_on_where_chunks_end(text in "[ab\n]{0,40}", cut in 0usize..40) {
            let cut = cut.min(text.len());
            let (lines, partial) = split(&[&text.as_bytes()[..cut], &text.as_bytes()[cut..]]);
            let mut expected: Vec<Vec<u8>> = text.split('\n').map(|line| line.as_bytes().to_vec()).collect();
            let last = expected.pop().unwrap();
            prop_assert_eq!(lines, expected);
            prop_assert_eq!(partial, !last.is_empty());
        }
    }

    #[test]
    fn one_thread_and_two_read_the_same() {
        let mut file = tempfile::tempfile().unwrap();
        let mut expected = Vec::new();
        let mut state = 1u32;
        for size in (0..3_000).map(|n| n % 1_000) {
            let text: Vec<u8> = (0..size)
                .map(|_| {
                    state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    (state >> 24) as u8
                })
                .collect();
            file.write_all(&zstd::encode_all(&text[..], 1).unwrap()).unwrap();
            expected.extend(text);
        }
        let end = file.stream_position().unwrap();
        assert!(end > PARALLEL_FROM);
        let mut parallel = Vec::new();
        read_frames(&mut file, 0, end, &mut |text| {
            parallel.extend_from_slice(text);
            Ok::<(), LinesError<()>>(())
        })
        .unwrap();
        assert_eq!(parallel, expected);
        let mut frames = 0;
        read_each_frame(&mut file, 0, end, &mut |_, _| {
            frames += 1;
            Ok::<(), LinesError<()>>(())
        })
        .unwrap();
        assert_eq!(frames, 3_000);
    }

    #[test]
    fn a_receiver_that_stops_stops_the_decoder() {
        let mut file = tempfile::tempfile().unwrap();
        for _ in 0..20_000 {
            file.write_all(&zstd::encode_all(&[b'x'; 4_000][..], 1).unwrap()).unwrap();
        }
        let end = file.stream_position().unwrap();
        let stopped = read_frames(&mut file, 0, end, &mut |_| Err(LinesError::Stopped("enough")));
        assert!(matches!(stopped, Err(LinesError::Stopped("enough"))));
    }
}
