//! The least that reading compressed logs can cost on one thread: every frame decoded, the text thrown
//! away. The other side of the benchmarks.
//!
//! ```text
//! decode_loop LOG…
//! ```
//!
//! One decoder and one buffer serve all frames. Where a frame ends is found by walking its block headers,
//! so that each can be decoded in one call.

#![allow(clippy::print_stdout, clippy::disallowed_methods, reason = "a program of its own, not part of dshkit")]

use std::env;
use std::fs::File;
use std::io::{self, Read};
use zstd::zstd_safe::{DCtx, find_frame_compressed_size, get_error_name};

/// How much of the file is read at a time. A larger frame makes the buffer grow.
const CHUNK: usize = 1 << 20;

fn main() -> io::Result<()> {
    // Cargo runs every benchmark when it is told no name; then there is nothing to do.
    let mut decoder = DCtx::create();
    let mut plain = vec![0; CHUNK];
    for path in env::args().skip(1).filter(|argument| argument != "--bench") {
        decode_log(&path, &mut decoder, &mut plain)?;
    }
    Ok(())
}

fn decode_log(path: &str, decoder: &mut DCtx<'_>, plain: &mut Vec<u8>) -> io::Result<()> {
    let mut file = File::open(path)?;
    let mut stored = Vec::new();
    let (mut frames, mut bytes) = (0u64, 0u64);
    loop {
        let kept = stored.len();
        let read = (&mut file).take(CHUNK as u64).read_to_end(&mut stored)?;
        let mut at = 0;
        while let Ok(len) = find_frame_compressed_size(&stored[at..]) {
            let frame = &stored[at..at + len];
            bytes += decode(decoder, frame, plain)?;
            frames += 1;
            at += len;
        }
        stored.drain(..at);
        if read == 0 {
            break;
        }
        debug_assert!(stored.len() <= kept + read);
    }
    println!("{frames} frames, {bytes} bytes");
    if stored.is_empty() { Ok(()) } else { Err(io::Error::other("the log does not end with a whole frame")) }
}

/// Decodes a frame, into a larger buffer if it needs one, and gives its length.
fn decode(decoder: &mut DCtx<'_>, frame: &[u8], plain: &mut Vec<u8>) -> io::Result<u64> {
    loop {
        match decoder.decompress(&mut plain[..], frame) {
            Ok(len) => return Ok(len as u64),
            Err(code) if get_error_name(code).contains("too small") && plain.len() < 1 << 30 => {
                plain.resize(plain.len() * 2, 0);
            }
            Err(code) => return Err(io::Error::other(get_error_name(code))),
        }
    }
}
