//! The first line of a log, which is all a listing reads of it.

use super::frames::first_frame_end;
use super::layout::LogName;
use crate::generations::{Generation, HeaderError, HeaderLine, read_header};
use crate::model::problem::{Fault, ProblemKind};
use crate::stores::Encoding;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use zstd::zstd_safe::DCtx;

/// The longest header line that is read, in bytes.
const MAX_HEADER: usize = 1 << 20;

/// Why a log has no readable first line.
#[derive(Debug)]
pub(super) enum HeadError {
    /// The file could not be read.
    Io(io::Error),
    /// What it begins with is no header.
    Fault(Box<HeaderError>),
}

impl HeadError {
    fn of(fault: Fault) -> HeadError {
        HeadError::Fault(Box::new(HeaderError { fault, facts: None }))
    }
}

/// Reads first lines, one after the other, with one decoder and one buffer.
pub(super) struct HeadReader {
    context: DCtx<'static>,
    stored: Vec<u8>,
    /// Kept at its length from log to log: clearing it each time would cost more than the decoding.
    plain: Vec<u8>,
}

impl HeadReader {
    pub(super) fn new() -> HeadReader {
        HeadReader { context: DCtx::create(), stored: Vec::new(), plain: vec![0; 4 << 10] }
    }

    /// The first line of a log, without its line feed, and how many bytes of the file it takes.
    pub(super) fn first_line(&mut self, file: &mut File, encoding: Encoding) -> Result<(&[u8], u64), HeadError> {
        file.seek(SeekFrom::Start(0)).map_err(HeadError::Io)?;
        self.stored.clear();
        match encoding {
            Encoding::Zstd => self.first_frame(file),
            Encoding::Plain | Encoding::Sqlite => self.first_plain_line(file),
        }
    }

    fn first_plain_line(&mut self, file: &mut File) -> Result<(&[u8], u64), HeadError> {
        let mut searched = 0;
        loop {
            if let Some(end) = memchr::memchr(b'\n', &self.stored[searched..]) {
                let end = searched + end;
                return Ok((&self.stored[..end], end as u64 + 1));
            }
            searched = self.stored.len();
            if searched > MAX_HEADER {
                return Err(HeadError::of(
                    Fault::new(ProblemKind::BadHeader, "the first line is too long for a header").at_line(1),
                ));
            }
            if self.read_more(file)? == 0 {
                return Err(HeadError::of(no_header(searched)));
            }
        }
    }

    fn first_frame(&mut self, file: &mut File) -> Result<(&[u8], u64), HeadError> {
        let end = loop {
            if let Some(end) = first_frame_end(&self.stored).map_err(HeadError::of)? {
                break end;
            }
            if self.stored.len() > MAX_HEADER {
                return Err(HeadError::of(
                    Fault::new(ProblemKind::HeaderFrameNotAlone, "the first frame is too long for a header").at_byte(0),
                ));
            }
            if self.read_more(file)? == 0 {
                return Err(HeadError::of(no_header(self.stored.len())));
            }
        };
        let plain = loop {
            match self.context.decompress(&mut self.plain[..], &self.stored[..end]) {
                Ok(len) => break &self.plain[..len],
                Err(code) => {
                    let message = zstd::zstd_safe::get_error_name(code);
                    if message.contains("too small") && self.plain.len() < MAX_HEADER {
                        let len = self.plain.len() * 4;
                        self.plain.resize(len, 0);
                        continue;
                    }
                    let kind = if message.contains("too small") {
                        ProblemKind::HeaderFrameNotAlone
                    } else if message.contains("checksum") {
                        ProblemKind::Checksum
                    } else {
                        ProblemKind::CorruptFrame
                    };
                    return Err(HeadError::of(
                        Fault::new(kind, format!("the first frame cannot be decoded: {message}")).at_byte(0),
                    ));
                }
            }
        };
        match memchr::memchr(b'\n', plain) {
            Some(newline) if newline + 1 == plain.len() => Ok((&plain[..newline], end as u64)),
            _ => Err(HeadError::of(
                Fault::new(ProblemKind::HeaderFrameNotAlone, "the first frame is not exactly the header line")
                    .at_byte(0),
            )),
        }
    }

    fn read_more(&mut self, file: &mut File) -> Result<usize, HeadError> {
        let before = self.stored.len();
        self.stored.resize(before + if before == 0 { 4096 } else { before }, 0);
        let read = loop {
            match file.read(&mut self.stored[before..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => break result.map_err(HeadError::Io)?,
            }
        };
        self.stored.truncate(before + read);
        Ok(read)
    }

    /// The header of a log, by the generation its name states, and how many bytes of the file it takes.
    pub(super) fn header(&mut self, file: &mut File, name: LogName) -> Result<(HeaderLine, u64), HeadError> {
        let (line, len) = self.first_line(file, name.encoding)?;
        let line = String::from_utf8_lossy(line);
        // What no generation knows is read by the rules of the newest, to tell what can be told.
        let generation = Generation::of_version(name.version).unwrap_or(Generation::V4);
        match read_header(generation, &line) {
            Ok(_) if Generation::of_version(name.version).is_none() => {
                let fault = Fault::new(
                    ProblemKind::IdentityMismatch,
                    format!("file v{}, header v{}", name.version, generation.version()),
                );
                let facts = read_header(generation, &line).ok().map(|line| line.header);
                Err(HeadError::Fault(Box::new(HeaderError { fault: unsupported(fault), facts })))
            }
            Ok(header) => Ok((header, len)),
            Err(mut error) => {
                if Generation::of_version(name.version).is_none()
                    && error.facts.as_ref().is_some_and(|facts| facts.version != name.version)
                {
                    let header_version = error.facts.as_ref().map_or(0, |facts| facts.version);
                    let message = format!("file v{}, header v{header_version}", name.version);
                    error.fault = unsupported(Fault::new(ProblemKind::IdentityMismatch, message).at_line(1));
                }
                Err(HeadError::Fault(error))
            }
        }
    }
}

fn unsupported(mut fault: Fault) -> Fault {
    fault.unsupported = true;
    fault
}

fn no_header(len: usize) -> Fault {
    if len == 0 {
        Fault::new(ProblemKind::Empty, "the file is empty").at_byte(0)
    } else {
        Fault::new(ProblemKind::NoHeaderFrame, "the file ends before its header does").at_byte(0)
    }
}
