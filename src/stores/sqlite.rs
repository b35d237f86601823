//! Sessions in a SQLite database, which dsh 0.0.1 to 0.1.1 could be set up for (observed.md §6).
//!
//! The rows of a session are the rows of a v0 log with their members in columns, so they are put
//! together again and go through the v0 decoder. The database is opened so that nothing beside it or in
//! it changes: as it is when no write-ahead log waits, else from a private copy of both.

use super::revision::Revision;
use super::{
    Anchor, BlockTest, Encoding, EventSink, Identity, Listing, LogSummary, ReadError, Store, StoredSession, refused,
};
use crate::generations::{Before, Decoder, Generation, HeaderLine, Mode};
use crate::model::header::{Header, Seed};
use crate::model::js_string::{JsStr, JsString};
use crate::model::json::{parse, string_literal};
use crate::model::problem::{Fault, Problem, ProblemKind};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, Row};
use std::fmt::Write;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// How every SQLite database begins.
pub(crate) const MAGIC: &[u8; 16] = b"SQLite format 3\0";

/// `DSHP`, by which dsh marks its session databases.
const APPLICATION_ID: i64 = 1_146_308_688;

/// The largest event that is unpacked from a compressed column, in bytes.
const MAX_DATA: u64 = 128 << 20;

/// A session database.
pub struct SqliteStore {
    path: PathBuf,
}

/// An open database, and the copy it may live in.
struct Database {
    connection: Connection,
    schema: i64,
    _copy: Option<TempDir>,
}

impl SqliteStore {
    /// The store in a database file.
    pub fn new(path: impl Into<PathBuf>) -> SqliteStore {
        SqliteStore { path: path.into() }
    }

    /// Whether a file begins as a SQLite database does.
    pub fn is_database(path: &Path) -> bool {
        let mut magic = [0; 16];
        fs::File::open(path).and_then(|mut file| file.read_exact(&mut magic)).is_ok() && magic == *MAGIC
    }

    fn open(&self) -> Result<Database, ReadError> {
        let io = |source| ReadError::Io { path: self.path.clone(), source };
        let wal = sibling(&self.path, "-wal");
        let has_wal = fs::metadata(&wal).is_ok_and(|metadata| metadata.len() > 0);
        let (path, copy) = if has_wal {
            let copy = tempfile::tempdir().map_err(io)?;
            let path = copy.path().join("sessions.sqlite");
            fs::copy(&self.path, &path).map_err(io)?;
            fs::copy(&wal, sibling(&path, "-wal")).map_err(io)?;
            (path, Some(copy))
        } else {
            (self.path.clone(), None)
        };
        let flags = OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = if copy.is_some() {
            make_writable(&path).map_err(io)?;
            Connection::open_with_flags(&path, OpenFlags::SQLITE_OPEN_READ_WRITE | flags)
        } else {
            Connection::open_with_flags(immutable_uri(&path), OpenFlags::SQLITE_OPEN_READ_ONLY | flags)
        };
        let connection = connection.map_err(|error| self.broken(&error))?;
        let pragma = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
        let application = pragma("application_id").map_err(|error| self.broken(&error))?;
        let schema = pragma("user_version").map_err(|error| self.broken(&error))?;
        if application != APPLICATION_ID || !matches!(schema, 14 | 17) {
            let message = format!(
                "a database of application {application}, schema {schema}; known are the session schemas 14 and 17"
            );
            return Err(ReadError::Refused(Box::new(Problem::at(
                ProblemKind::UnsupportedVersion,
                &self.path,
                message,
            ))));
        }
        Ok(Database { connection, schema, _copy: copy })
    }

    fn broken(&self, error: &rusqlite::Error) -> ReadError {
        ReadError::Refused(Problem::boxed_at(
            ProblemKind::Unreadable,
            &self.path,
            format!("the database cannot be read: {error}"),
        ))
    }
}

impl Store for SqliteStore {
    fn list(&self) -> Result<Listing, ReadError> {
        let database = self.open()?;
        let broken = |error: rusqlite::Error| self.broken(&error);
        let columns =
            "id, version, created_at, cwd, parent_session, seed_length, origin, delegation_depth, agent_preset";
        let mut statement = database.connection.prepare(&format!("SELECT {columns} FROM sessions")).map_err(broken)?;
        let headers = statement.query_map([], header).map_err(broken)?;
        let mut listing = Listing { dsh_lists: true, ..Listing::default() };
        for header in headers {
            let header = header.map_err(broken)?;
            let mut refusal = None;
            if header.version != 0 {
                let fault = Fault::new(
                    ProblemKind::UnsupportedVersion,
                    format!("format version {} is not known here", header.version),
                );
                refusal = Some(fault.into_problem(&self.path, Some(header.id.clone())));
                listing.problems.extend(refusal.clone());
            }
            listing.sessions.push(StoredSession {
                format_version: header.version,
                generations: vec![header.version],
                encoding: Encoding::Sqlite,
                path: self.path.clone(),
                bytes: None,
                lock: None,
                refusal,
                identity: Identity::Fits,
                header,
            });
        }
        Ok(listing)
    }

    fn read(&self, session: &StoredSession, mode: Mode, sink: &mut EventSink<'_>) -> Result<LogSummary, ReadError> {
        if let Some(refusal) = &session.refusal {
            return Err(ReadError::Refused(Box::new(refusal.clone())));
        }
        let database = self.open()?;
        let broken = |error: rusqlite::Error| self.broken(&error);
        let ignorable = if database.schema >= 17 { "ignorable" } else { "NULL" };
        let query = format!(
            "SELECT type, seq, time, data, source_event_seqs, surface_op, {ignorable} FROM events WHERE session_id = ? ORDER BY seq"
        );
        let mut statement = database.connection.prepare(&query).map_err(broken)?;
        let mut rows = statement.query([session.header.id.to_string_lossy()]).map_err(broken)?;
        let line = HeaderLine { header: session.header.clone(), load_fault: None };
        let mut decoder = Decoder::new(Generation::V0, &line, mode);
        while let Some(row) = rows.next().map_err(broken)? {
            // What cannot be put together is a row that is no JSON, wherever it stands.
            let text = row_text(row, database.schema).unwrap_or_default();
            decoder.row(&text, sink).map_err(|fault| refused(fault, &self.path, &session.header))?;
        }
        let finished = decoder.finish(sink).map_err(|fault| refused(fault, &self.path, &session.header))?;
        let id = || Some(session.header.id.clone());
        let warnings = finished.dropped.clone().map(|fault| fault.into_problem(&self.path, id())).into_iter().collect();
        Ok(LogSummary { finished, warnings, end: None })
    }

    fn anchor(&self, _session: &StoredSession, _end: u64) -> Result<Option<Anchor>, ReadError> {
        Ok(None)
    }

    fn read_tail(
        &self,
        _session: &StoredSession,
        _anchor: &Anchor,
        _before: Before,
        _sink: &mut EventSink<'_>,
    ) -> Result<Option<LogSummary>, ReadError> {
        Ok(None)
    }

    fn read_lines(
        &self,
        _session: &StoredSession,
        _sink: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    ) -> Result<(), ReadError> {
        let source = io::Error::new(io::ErrorKind::Unsupported, "a session in a database has no stored lines");
        Err(ReadError::Io { path: self.path.clone(), source })
    }

    fn any_block(&self, _session: &StoredSession, _test: &mut BlockTest<'_>) -> Result<bool, ReadError> {
        Ok(true)
    }

    /// Rows are only ever added, so their number and the last seq tell; and whether it is the same file.
    fn revisions(&self, sessions: &[&StoredSession]) -> Vec<Option<Revision>> {
        let revisions = || -> Option<Vec<Option<Revision>>> {
            let database = self.open().ok()?;
            let file = fs::metadata(&self.path).ok()?;
            let [device, inode, ..] = Revision::of_file(&file).0;
            let query = "SELECT count(*), max(seq), max(time) FROM events WHERE session_id = ?";
            let mut statement = database.connection.prepare(query).ok()?;
            let mut revision = |session: &&StoredSession| {
                let number = |row: &Row<'_>, column| row.get::<_, Option<i64>>(column).map(Option::unwrap_or_default);
                let of_row =
                    |row: &Row<'_>| Ok(Revision([device, inode, number(row, 0)?, number(row, 1)?, number(row, 2)?]));
                statement.query_row([session.header.id.to_string_lossy()], of_row).ok()
            };
            Some(sessions.iter().map(&mut revision).collect())
        };
        revisions().unwrap_or_else(|| vec![None; sessions.len()])
    }
}

fn header(row: &Row<'_>) -> rusqlite::Result<Header> {
    let string =
        |index| -> rusqlite::Result<Option<JsString>> { Ok(row.get::<_, Option<String>>(index)?.map(JsString::from)) };
    let count = |index| -> rusqlite::Result<Option<u64>> {
        Ok(row.get::<_, Option<i64>>(index)?.and_then(|n| u64::try_from(n).ok()))
    };
    Ok(Header {
        version: count(1)?.unwrap_or(0),
        id: string(0)?.unwrap_or_default(),
        created_at: count(2)?.unwrap_or(0),
        cwd: string(3)?,
        parent_session: string(4)?,
        seed: count(5)?.map_or(Seed::None, Seed::Length),
        is_subagent: string(6)?.is_some_and(|origin| origin == "subagent"),
        delegation_depth: count(7)?,
        agent_preset: string(8)?,
    })
}

/// A row as the line it would be in a log.
fn row_text(row: &Row<'_>, schema: i64) -> Result<String, RowError> {
    let kind: String = row.get(0)?;
    let (seq, time): (i64, i64) = (row.get(1)?, row.get(2)?);
    let ignorable: Option<i64> = row.get(6)?;
    let data = text_of(row.get_ref(3)?)?;
    parse(&data).map_err(|_| RowError)?;
    let kind = string_literal(&JsStr::from(kind.as_str()));
    // In schema 17 a zero marks a row that is packed, whose seq and time are those of its first member.
    let (seq_key, time_key) = if ignorable == Some(0) { ("seq0", "time0") } else { ("seq", "time") };
    let mut text = format!(r#"{{"type":{kind},"{seq_key}":{seq},"{time_key}":{time},"data":{data}"#);
    match row.get_ref(4)? {
        ValueRef::Null => {}
        ValueRef::Blob(bytes) if schema >= 17 => {
            let seqs = decode_delta_varints(bytes, seq)?;
            let _ = write!(text, r#","sourceEventSeqs":{}"#, plain_list(&seqs));
        }
        value => {
            let _ = write!(text, r#","sourceEventSeqs":{}"#, text_of(value)?);
        }
    }
    if let Some(op) = row.get::<_, Option<String>>(5)? {
        let _ = write!(text, r#","surfaceOp":{op}"#);
    }
    if ignorable == Some(1) {
        text.push_str(r#","ignorable":true"#);
    }
    text.push('}');
    Ok(text)
}

/// A column that does not hold what it should.
struct RowError;

impl From<rusqlite::Error> for RowError {
    fn from(_: rusqlite::Error) -> RowError {
        RowError
    }
}

/// Text as it is, or from a Zstandard blob, which schema 17 makes of everything from 4 KiB on.
fn text_of(value: ValueRef<'_>) -> Result<String, RowError> {
    match value {
        ValueRef::Text(text) => Ok(String::from_utf8_lossy(text).into_owned()),
        ValueRef::Blob(bytes) => {
            let mut text = Vec::new();
            let decoder = zstd::Decoder::new(bytes).map_err(|_| RowError)?;
            decoder.take(MAX_DATA + 1).read_to_end(&mut text).map_err(|_| RowError)?;
            if text.len() as u64 > MAX_DATA { Err(RowError) } else { Ok(String::from_utf8_lossy(&text).into_owned()) }
        }
        _ => Err(RowError),
    }
}

/// Numbers as a first varint and zigzag varints of the differences. A list names earlier events, each
/// once, so it is never longer than the event's own seq.
fn decode_delta_varints(bytes: &[u8], own_seq: i64) -> Result<Vec<u64>, RowError> {
    let mut seqs: Vec<u64> = Vec::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        if seqs.len() as i64 >= own_seq {
            return Err(RowError);
        }
        let raw = take_varint(&mut rest).ok_or(RowError)?;
        let seq = match seqs.last() {
            None => raw,
            Some(&last) => {
                let difference = (raw >> 1) as i64 ^ -((raw & 1) as i64);
                last.checked_add_signed(difference).ok_or(RowError)?
            }
        };
        seqs.push(seq);
    }
    Ok(seqs)
}

fn take_varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0u64;
    for shift in (0..63).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7F) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

fn plain_list(seqs: &[u64]) -> String {
    let numbers: Vec<String> = seqs.iter().map(u64::to_string).collect();
    format!("[{}]", numbers.join(","))
}

/// The file that SQLite keeps beside a database under this suffix.
pub(crate) fn sibling(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// A URI that tells SQLite to take the file as it is: no journal, no lock, no file beside it.
fn immutable_uri(path: &Path) -> String {
    let mut uri = String::from("file:");
    for byte in path.as_os_str().as_encoded_bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'.' | b'-' | b'_' | b'~') {
            uri.push(*byte as char);
        } else {
            let _ = write!(uri, "%{byte:02X}");
        }
    }
    uri.push_str("?immutable=1");
    uri
}

/// A copy keeps the mode of its original, and merging a write-ahead log writes to it.
#[cfg(unix)]
fn make_writable(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    for path in [path.to_owned(), sibling(path, "-wal")] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
    }
    Ok(())
}

#[cfg(not(unix))]
fn make_writable(_path: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_zigzag_varints() {
        let decode = |bytes: &[u8]| decode_delta_varints(bytes, 1_000).ok();
        assert_eq!(decode(&[0x05, 0x02, 0x01, 0x80, 0x01]), Some(vec![5, 6, 5, 69]));
        assert_eq!(decode(&[0x80]), None, "cut off");
        assert_eq!(decode(&[0x00, 0x01]), None, "below zero");
        assert_eq!(decode_delta_varints(&[1, 2, 2, 2], 3).ok(), None, "longer than the log before it");
    }

    #[test]
    fn a_path_cannot_smuggle_parameters_into_the_uri() {
        assert_eq!(immutable_uri(Path::new("/a b?mode=rwc#x")), "file:/a%20b%3Fmode%3Drwc%23x?immutable=1");
    }
}
