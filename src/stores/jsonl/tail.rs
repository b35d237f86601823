//! Reading only what was appended to a log since it was last read.
//!
//! dsh only ever appends to a log, so what was read before need not be read again, if it is still the same
//! log. That is told by its last bytes of then, which an [`Anchor`] has a digest of. What follows them is
//! read here as long as it is in order by itself; everything else is for a reading of the whole log.

use super::frames::{WalkError, walk_from};
use super::head::{HeadError, HeadReader};
use super::layout::LogName;
use super::lines::{LinesError, Splitter, read_frames_here, read_plain};
use super::scan::{Refusal, Scan};
use crate::generations::{Before, Decoder, Generation};
use crate::stores::{Anchor, Encoding, EventSink, LogSummary, ReadError, StoredSession};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

/// How many bytes before a place make it known again. An appended row is some hundreds of bytes.
const KNOWN_BY: u64 = 64 << 10;

/// The anchor at a place in a log.
pub(super) fn anchor(session: &StoredSession, end: u64) -> Result<Option<Anchor>, ReadError> {
    let io = |source| ReadError::Io { path: session.path.clone(), source };
    let mut file = File::open(&session.path).map_err(io)?;
    let start = end.saturating_sub(KNOWN_BY);
    let digest = digest(&mut file, start, end).map_err(io)?;
    Ok(digest.map(|digest| Anchor { start, end, digest }))
}

/// Reads the events behind an anchor.
pub(super) fn read(
    session: &StoredSession,
    anchor: &Anchor,
    before: Before,
    sink: &mut EventSink<'_>,
) -> Result<Option<LogSummary>, ReadError> {
    let io = |source| ReadError::Io { path: session.path.clone(), source };
    let Some(generation) = Generation::of_version(session.format_version).filter(|_| session.refusal.is_none()) else {
        return Ok(None);
    };
    let mut file = File::open(&session.path).map_err(io)?;
    let len = file.metadata().map_err(io)?.len();
    if digest(&mut file, anchor.start, anchor.end).map_err(io)? != Some(anchor.digest) {
        return Ok(None);
    }
    let name = LogName { version: session.format_version, encoding: session.encoding };
    let header = match HeadReader::new().header(&mut file, name) {
        Ok((header, _)) => header,
        Err(HeadError::Io(source)) => return Err(io(source)),
        Err(HeadError::Fault(_)) => return Ok(None),
    };
    let mut decoder = Decoder::of_tail(generation, &header, before);
    let mut scan = Scan::new(&mut decoder, sink);
    let mut splitter = Splitter::default();
    let mut chunk = |text: &[u8]| splitter.push(text, &mut |line| scan.line(line));
    let result: Result<(), LinesError<Refusal>> = match session.encoding {
        Encoding::Plain | Encoding::Sqlite => read_plain(&mut file, anchor.end, len, &mut chunk),
        Encoding::Zstd => match walk_from(&mut file, anchor.end, len) {
            Ok(structure) if structure.complete_end == len => read_frames_here(&mut file, anchor.end, len, &mut chunk),
            Ok(_) | Err(WalkError::Broken(..)) => return Ok(None),
            Err(WalkError::Io(source)) => return Err(io(source)),
        },
    };
    match result {
        Ok(()) => {}
        Err(LinesError::Io(source)) => return Err(io(source)),
        Err(LinesError::Frame { .. } | LinesError::TooLong(_) | LinesError::Stopped(_)) => return Ok(None),
    }
    if splitter.has_partial() || !scan.is_committed() {
        return Ok(None);
    }
    let finished = decoder.finish(sink).ok().filter(|finished| finished.dropped.is_none());
    Ok(finished.map(|finished| LogSummary { finished, warnings: Vec::new(), end: Some(len) }))
}

/// The digest of part of a file; `None` if the file ends before.
fn digest(file: &mut File, start: u64, end: u64) -> io::Result<Option<[u8; 32]>> {
    let Some(len) = end.checked_sub(start).filter(|len| *len <= KNOWN_BY) else { return Ok(None) };
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    file.take(len).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 == len).then(|| Sha256::digest(&bytes).into()))
}
