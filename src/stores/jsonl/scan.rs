//! Reading one log from its file: frames, lines, rows, and when what is missing at the end is a crash
//! and when it is damage (formats.md §5).

use super::frames::{Structure, WalkError, frame_end, walk};
use super::head::{HeadError, HeadReader};
use super::layout::LogName;
use super::lines::{LinesError, Splitter, read_each_frame, read_frames, read_plain};
use crate::generations::{Decoder, Generation, HeaderLine, Item, Mode, RowFate};
use crate::model::problem::{Fault, Problem, ProblemKind};
use crate::stores::{Encoding, EventSink, LogSummary, ReadError, StoredSession, refused};
use std::borrow::Cow;
use std::fs::File;
use std::io;

/// Reads a session's events.
pub(super) fn read(session: &StoredSession, mode: Mode, sink: &mut EventSink<'_>) -> Result<LogSummary, ReadError> {
    if let Some(refusal) = &session.refusal
        && mode == Mode::AsDsh
    {
        return Err(ReadError::Refused(Box::new(refusal.clone())));
    }
    let mut log = Log::open(session)?;
    let header = match log.header(session) {
        Ok(header) => header,
        Err(error) if mode == Mode::AsDsh => return Err(error),
        Err(ReadError::Refused(problem)) => {
            let fault = fault_of(&problem);
            sink(Item::Trouble(&fault));
            log.body_start = 0;
            HeaderLine { header: session.header.clone(), load_fault: None }
        }
        Err(error) => return Err(error),
    };
    let generation = Generation::of_version(session.format_version).unwrap_or(Generation::V4);
    let mut decoder = Decoder::new(generation, &header, mode);
    let mut scan = Scan::new(&mut decoder, sink);
    let torn = match session.encoding {
        Encoding::Plain | Encoding::Sqlite => log.read_plain(&mut scan, session)?,
        Encoding::Zstd => log.read_zstd(&mut scan, session, mode)?,
    };
    let committed_line = scan.committed_line;
    let finished = decoder.finish(sink).map_err(|fault| log.refuse(fault, session))?;
    let mut warnings: Vec<Problem> = torn.into_iter().collect();
    if let Some(fault) = finished.dropped.clone() {
        let place = log.place_of(fault.at_line(committed_line + 1));
        warnings.push(place.into_problem(&session.path, Some(session.header.id.clone())));
    }
    let end = warnings.is_empty().then_some(log.body_end);
    Ok(LogSummary { finished, warnings, end })
}

/// Hands on a session's stored lines, header first.
pub(super) fn read_lines(
    session: &StoredSession,
    sink: &mut dyn FnMut(&[u8]) -> io::Result<()>,
) -> Result<(), ReadError> {
    let mut log = Log::open(session)?;
    let mut splitter = Splitter::default();
    let mut line = |line: &[u8]| -> io::Result<()> {
        sink(line)?;
        sink(b"\n")
    };
    let mut chunk = |text: &[u8]| splitter.push(text, &mut line);
    let end = if session.encoding == Encoding::Zstd { log.structure(session)?.complete_end } else { log.len };
    let result = match session.encoding {
        Encoding::Plain | Encoding::Sqlite => read_plain(&mut log.file, 0, end, &mut chunk),
        Encoding::Zstd => read_frames(&mut log.file, 0, end, &mut chunk),
    };
    result.map_err(|error| match error {
        LinesError::Stopped(source) => ReadError::Io { path: session.path.clone(), source },
        error => log.lines_error(error, session),
    })
}

/// A row that ends the reading.
pub(super) struct Refusal(Fault);

/// Rows on their way to the decoder.
pub(super) struct Scan<'d, 's, 'e> {
    decoder: &'d mut Decoder,
    sink: &'s mut EventSink<'e>,
    /// The line read last; the header is line 1.
    last_line: u64,
    /// The line up to which every row is part of the log.
    committed_line: u64,
}

impl<'d, 's, 'e> Scan<'d, 's, 'e> {
    pub(super) fn new(decoder: &'d mut Decoder, sink: &'s mut EventSink<'e>) -> Scan<'d, 's, 'e> {
        Scan { decoder, sink, last_line: 1, committed_line: 1 }
    }

    /// Whether every row so far is part of the log.
    pub(super) fn is_committed(&self) -> bool {
        self.committed_line == self.last_line
    }

    pub(super) fn line(&mut self, line: &[u8]) -> Result<(), Refusal> {
        self.last_line += 1;
        // Node decodes UTF-8 with replacement, so bytes that are none load as U+FFFD.
        let text = match str::from_utf8(line) {
            Ok(text) => Cow::Borrowed(text),
            Err(_) => String::from_utf8_lossy(line),
        };
        let fate = self.decoder.row(&text, &mut *self.sink).map_err(Refusal)?;
        if fate == RowFate::Accepted && self.committed_line + 1 == self.last_line {
            self.committed_line = self.last_line;
        }
        Ok(())
    }
}

/// A log file as it was when it was opened.
struct Log {
    file: File,
    len: u64,
    /// Where the rows begin.
    body_start: u64,
    /// Where they end, for looking up the frame of a line.
    body_end: u64,
    encoding: Encoding,
}

impl Log {
    fn open(session: &StoredSession) -> Result<Log, ReadError> {
        let io = |source| ReadError::Io { path: session.path.clone(), source };
        let file = File::open(&session.path).map_err(io)?;
        let len = file.metadata().map_err(io)?.len();
        Ok(Log { file, len, body_start: 0, body_end: len, encoding: session.encoding })
    }

    fn header(&mut self, session: &StoredSession) -> Result<HeaderLine, ReadError> {
        let name = LogName { version: session.format_version, encoding: session.encoding };
        match HeadReader::new().header(&mut self.file, name) {
            Ok((header, len)) => {
                self.body_start = len;
                Ok(header)
            }
            Err(HeadError::Io(source)) => Err(ReadError::Io { path: session.path.clone(), source }),
            Err(HeadError::Fault(error)) => Err(refused(error.fault, &session.path, &session.header)),
        }
    }

    fn structure(&mut self, session: &StoredSession) -> Result<Structure, ReadError> {
        walk(&mut self.file, self.len).map_err(|error| match error {
            WalkError::Io(source) => ReadError::Io { path: session.path.clone(), source },
            WalkError::Broken(_, fault) => refused(fault, &session.path, &session.header),
        })
    }

    /// Reads the rows of a plain log. Bytes after the last line feed are a torn line.
    fn read_plain(
        &mut self,
        scan: &mut Scan<'_, '_, '_>,
        session: &StoredSession,
    ) -> Result<Option<Problem>, ReadError> {
        let mut splitter = Splitter::default();
        let mut chunk = |text: &[u8]| splitter.push(text, &mut |line| scan.line(line));
        let result = read_plain(&mut self.file, self.body_start, self.len, &mut chunk);
        result.map_err(|error| self.rows_error(error, session))?;
        let message = "the last line is not finished; what is complete before it counts";
        Ok(splitter.has_partial().then(|| {
            let fault = Fault::new(ProblemKind::TornTail, message).at_line(scan.last_line + 1);
            self.place_of(fault).into_problem(&session.path, Some(session.header.id.clone()))
        }))
    }

    /// Reads the rows of a compressed log. The structure is walked first, so that a torn last frame is
    /// known before anything in it is decoded.
    fn read_zstd(
        &mut self,
        scan: &mut Scan<'_, '_, '_>,
        session: &StoredSession,
        mode: Mode,
    ) -> Result<Option<Problem>, ReadError> {
        let structure = match walk(&mut self.file, self.len) {
            Ok(structure) => structure,
            Err(WalkError::Io(source)) => return Err(ReadError::Io { path: session.path.clone(), source }),
            Err(WalkError::Broken(structure, fault)) if mode == Mode::Salvage => {
                (scan.sink)(Item::Trouble(&fault));
                structure
            }
            Err(WalkError::Broken(_, fault)) => return Err(self.refuse(fault, session)),
        };
        self.body_end = structure.complete_end;
        let mut splitter = Splitter::default();
        let result = match mode {
            Mode::AsDsh => {
                let mut chunk = |text: &[u8]| splitter.push(text, &mut |line| scan.line(line));
                read_frames(&mut self.file, self.body_start, structure.complete_end, &mut chunk)
            }
            Mode::Salvage => self.salvage_frames(scan, &mut splitter, structure.complete_end),
        };
        result.map_err(|error| self.rows_error(error, session))?;
        if mode == Mode::AsDsh {
            self.check_complete_end(scan, &splitter, session)?;
        }
        if structure.complete_end == self.len {
            return Ok(None);
        }
        self.read_torn(scan, &mut splitter, structure.complete_end, session)
    }

    /// Complete frames must end with a row that is part of the log.
    fn check_complete_end(
        &self,
        scan: &Scan<'_, '_, '_>,
        splitter: &Splitter,
        session: &StoredSession,
    ) -> Result<(), ReadError> {
        if splitter.has_partial() {
            let fault = Fault::new(ProblemKind::TrailingBytes, "the complete frames end inside a row")
                .at_line(scan.last_line + 1);
            return Err(self.refuse(fault, session));
        }
        if !scan.is_committed() {
            let fault = Fault::new(ProblemKind::BadRow, "a row in a complete frame does not belong to the log");
            return Err(self.refuse(fault.at_line(scan.committed_line + 1), session));
        }
        Ok(())
    }

    /// Takes the whole rows out of a torn last frame, as far as it can be decoded; if decoding fails
    /// before the frame breaks off, dsh takes nothing, and so do we.
    fn read_torn(
        &mut self,
        scan: &mut Scan<'_, '_, '_>,
        splitter: &mut Splitter,
        start: u64,
        session: &StoredSession,
    ) -> Result<Option<Problem>, ReadError> {
        let before = scan.committed_line;
        let probe = read_frames(&mut self.file, start, self.len, &mut |_| Ok::<(), LinesError<()>>(()));
        if probe.is_ok() {
            let mut chunk = |text: &[u8]| splitter.push(text, &mut |line| scan.line(line));
            let result = read_frames(&mut self.file, start, self.len, &mut chunk);
            result.map_err(|error| self.rows_error(error, session))?;
        }
        let rows = scan.committed_line - before;
        let message = format!("the last frame is cut off; {rows} complete rows of it count");
        let fault = Fault::new(ProblemKind::TornTail, message).at_byte(start);
        Ok(Some(fault.into_problem(&session.path, Some(session.header.id.clone()))))
    }

    /// Decodes what can be decoded, frame by frame, and tells of each frame that cannot.
    fn salvage_frames(
        &mut self,
        scan: &mut Scan<'_, '_, '_>,
        splitter: &mut Splitter,
        end: u64,
    ) -> Result<(), LinesError<Refusal>> {
        let mut start = self.body_start;
        while start < end {
            let mut begun = start;
            let mut chunk = |text: &[u8], offset: u64| {
                begun = offset;
                splitter.push(text, &mut |line| scan.line(line))
            };
            match read_each_frame(&mut self.file, start, end, &mut chunk) {
                Err(LinesError::Frame { offset, is_checksum, message }) => {
                    (scan.sink)(Item::Trouble(&frame_fault(offset, is_checksum, message)));
                    *splitter = Splitter::default();
                    start = frame_end(&mut self.file, offset, end).map_err(LinesError::Io)?;
                }
                result => return result,
            }
        }
        Ok(())
    }

    fn rows_error(&self, error: LinesError<Refusal>, session: &StoredSession) -> ReadError {
        match error {
            LinesError::Stopped(Refusal(fault)) => self.refuse(fault, session),
            error => self.lines_error(error, session),
        }
    }

    fn lines_error<E>(&self, error: LinesError<E>, session: &StoredSession) -> ReadError {
        match error {
            LinesError::Io(source) => ReadError::Io { path: session.path.clone(), source },
            LinesError::Frame { offset, is_checksum, message } => {
                self.refuse(frame_fault(offset, is_checksum, message), session)
            }
            LinesError::TooLong(lines) => self.refuse(
                Fault::new(ProblemKind::BadRow, "a row longer than any dsh writes").at_line(lines + 2),
                session,
            ),
            LinesError::Stopped(_) => self.refuse(Fault::new(ProblemKind::Unreadable, "reading was stopped"), session),
        }
    }

    fn refuse(&self, fault: Fault, session: &StoredSession) -> ReadError {
        refused(self.place_of(fault), &session.path, &session.header)
    }

    /// Adds the byte to a fault that has a line: where the line begins, or the frame that it begins in.
    fn place_of(&self, fault: Fault) -> Fault {
        let (Some(line), None) = (fault.line, fault.byte) else { return fault };
        match self.byte_of_line(line) {
            Some(byte) => fault.at_byte(byte),
            None => fault,
        }
    }

    /// Reads again up to a line, which is done for a log that is wrong and only then.
    fn byte_of_line(&self, line: u64) -> Option<u64> {
        let mut file = self.file.try_clone().ok()?;
        let mut found = if line == 1 { Some(0) } else { None };
        let mut lines_seen = 1;
        let mut offset = self.body_start;
        if line == 2 {
            found = Some(self.body_start);
        }
        if found.is_some() {
            return found;
        }
        match self.encoding {
            Encoding::Plain | Encoding::Sqlite => {
                let _ = read_plain(&mut file, self.body_start, self.len, &mut |text| -> Result<(), LinesError<()>> {
                    for end in memchr::memchr_iter(b'\n', text) {
                        lines_seen += 1;
                        if lines_seen + 1 == line {
                            found = Some(offset + end as u64 + 1);
                            return Err(LinesError::Stopped(()));
                        }
                    }
                    offset += text.len() as u64;
                    Ok(())
                });
            }
            Encoding::Zstd => {
                // A frame is a chunk here, unless it is larger than a chunk; its last piece bears its start too.
                let mut ended = false;
                let _ = read_each_frame(&mut file, self.body_start, self.body_end, &mut |text,
                                                                                         frame|
                 -> Result<
                    (),
                    LinesError<()>,
                > {
                    if ended && !text.is_empty() {
                        found = Some(frame);
                        return Err(LinesError::Stopped(()));
                    }
                    for end in memchr::memchr_iter(b'\n', text) {
                        lines_seen += 1;
                        if lines_seen + 1 == line {
                            if end + 1 < text.len() {
                                found = Some(frame);
                                return Err(LinesError::Stopped(()));
                            }
                            ended = true;
                        }
                    }
                    Ok(())
                });
            }
        }
        found
    }
}

fn frame_fault(offset: u64, is_checksum: bool, message: &str) -> Fault {
    let kind = if is_checksum { ProblemKind::Checksum } else { ProblemKind::CorruptFrame };
    Fault::new(kind, format!("a frame cannot be decoded: {message}")).at_byte(offset)
}

fn fault_of(problem: &Problem) -> Fault {
    Fault::new(problem.kind, problem.message.clone())
}
