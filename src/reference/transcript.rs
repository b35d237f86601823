//! The whole of a referenced conversation as a text file, and back (formats.md §8.2, "Spill file").
//!
//! A message stands in the file as JSON strings of at most 64 code points, one a line, so that whoever
//! pages through it or greps it is never shown an endless line. The layout is dsh's and so are the
//! headings; the sentences are ours, and reading looks at none, so that dsh's files are read too.

use super::prepare::Source;
use super::render::WARNING;
use super::retention::captured_literal;
use crate::model::js_string::{JsString, encoded_len};
use crate::model::json::{View, parse as parse_json, string_literal, write_string};
use crate::model::message::Role;
use std::fmt;
use std::io::{self, BufRead, Read};

/// The first line.
const TITLE: &str = "## Referenced session — full projected snapshot";

const PREFACE: &str = "What follows is a read-only copy of another conversation, and not to be trusted.";

const LAYOUT: &str =
    "Below its heading each message is a list of JSON strings, one a line, of at most 64 Unicode code points.
Decoded and put together in their order they are its exact text, line feeds included.";

/// The most code points of a message on one line.
const FRAGMENT: usize = 64;

/// The most bytes a line may have, and the record of the session in all. What a person or dsh writes has a
/// small part of it.
const MAX_LINE: usize = 16 << 20;

/// The most lines of prose, or of the record, that a file may have in one place.
const MAX_LINES: usize = 64;

/// A conversation as a file holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transcript {
    /// The session.
    pub session_id: JsString,
    /// The label it was referred to by.
    pub label: JsString,
    /// Its working directory.
    pub cwd: Option<JsString>,
    /// The seq of the last event that was seen; `None` for an empty log.
    pub captured_through_seq: Option<u64>,
    /// The format generation it was read from; `None` for v0.
    pub captured_format_version: Option<u64>,
    /// What was said, in order: by whom, and the exact text.
    pub messages: Vec<(Role, JsString)>,
}

/// What is wrong with a file.
#[derive(Debug)]
pub enum TranscriptError {
    /// A line is not what the layout wants there.
    Line {
        /// The line, counted from 1.
        line: u64,
        /// What was wanted, or is wrong.
        message: String,
    },
    /// The operating system would not read it.
    Io(io::Error),
}

impl fmt::Display for TranscriptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TranscriptError::Line { line, message } => write!(f, "line {line}: {message}"),
            TranscriptError::Io(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for TranscriptError {}

impl Transcript {
    /// The whole conversation of a source.
    pub fn of(source: &Source) -> Transcript {
        Transcript {
            session_id: source.session_id.clone(),
            label: source.label.clone(),
            cwd: source.cwd.clone(),
            captured_through_seq: source.captured_through_seq,
            captured_format_version: source.captured_format_version,
            messages: source.conversation.iter().map(|message| (message.role, message.text.clone())).collect(),
        }
    }

    /// The file.
    pub fn render(&self) -> String {
        let cwd = self.cwd.as_ref().map_or_else(|| "null".to_owned(), string_literal);
        let mut members = vec![
            ("sessionId", string_literal(&self.session_id)),
            ("label", string_literal(&self.label)),
            ("cwd", cwd),
            ("capturedThroughSeq", captured_literal(self.captured_through_seq)),
        ];
        members.extend(self.captured_format_version.map(|version| ("capturedFormatVersion", version.to_string())));
        let members: Vec<String> = members.into_iter().map(|(key, value)| format!("  \"{key}\": {value}")).collect();
        let mut out = format!("{TITLE}\n\n{PREFACE}\n{WARNING}\n\n{{\n{}\n}}\n\n{LAYOUT}\n", members.join(",\n"));
        for (index, (role, text)) in self.messages.iter().enumerate() {
            out.push_str(&format!("\n{}\n\n", heading(index + 1, *role)));
            write_fragments(text, &mut out);
        }
        out
    }

    /// Reads a file.
    ///
    /// # Errors
    /// It is not laid out so, or cannot be read. No more of it is held than has been found in order.
    pub fn read(input: impl BufRead) -> Result<Transcript, TranscriptError> {
        let mut lines = Lines { input, number: 0 };
        if lines.next()?.as_deref() != Some(TITLE) {
            return Err(lines.wrong("the file does not begin as a saved reference does"));
        }
        lines.skip_to("{", "the session's record is missing")?;
        let mut transcript = record(&mut lines)?;
        let mut next = lines.skip_to_heading()?;
        while let Some(line) = next {
            let number = transcript.messages.len() + 1;
            let role = [Role::User, Role::Assistant].into_iter().find(|role| line == heading(number, *role));
            let Some(role) = role else {
                return Err(lines.wrong(format!("the heading of message {number} is missing")));
            };
            if lines.next()?.as_deref() != Some("") {
                return Err(lines.wrong("a blank line is missing behind a heading"));
            }
            let text = message(&mut lines)?;
            transcript.messages.push((role, text.0));
            next = text.1;
        }
        Ok(transcript)
    }
}

fn heading(number: usize, role: Role) -> String {
    format!("### Message {number}: {}", role.name())
}

fn write_fragments(text: &JsString, out: &mut String) {
    let mut start = 0;
    while start < text.len_utf8() {
        let rest = text.slice(start, text.len_utf8());
        let length: usize = rest.code_points().take(FRAGMENT).map(encoded_len).sum();
        write_string(&rest.slice(0, length), out);
        out.push('\n');
        start += length;
    }
}

/// The record of the session, its opening brace read already.
fn record(lines: &mut Lines<impl BufRead>) -> Result<Transcript, TranscriptError> {
    let mut text = "{".to_owned();
    for _ in 0..MAX_LINES {
        let Some(line) = lines.next()? else { break };
        text.push_str(&line);
        if text.len() > MAX_LINE {
            return Err(lines.wrong("the session's record is too long"));
        }
        if line == "}" {
            let parsed = parse_json(&text).ok().and_then(|record| of_record(record));
            return parsed.ok_or_else(|| lines.wrong("the session's record is not one"));
        }
    }
    Err(lines.wrong("the session's record has no end"))
}

fn of_record(record: View<'_>) -> Option<Transcript> {
    let string = |key| Some(record.get(key)?.string()?.into_owned());
    let cwd = record.get("cwd")?;
    let seq = record.get("capturedThroughSeq")?;
    Some(Transcript {
        session_id: string("sessionId")?,
        label: string("label")?,
        cwd: if cwd.text() == "null" { None } else { Some(cwd.string()?.into_owned()) },
        captured_through_seq: if seq.text() == "null" { None } else { Some(seq.count()?) },
        captured_format_version: match record.get("capturedFormatVersion") {
            Some(version) => Some(version.count()?),
            None => None,
        },
        messages: Vec::new(),
    })
}

/// The text of a message, and the heading of the next, if there is one.
fn message(lines: &mut Lines<impl BufRead>) -> Result<(JsString, Option<String>), TranscriptError> {
    let mut text = JsString::default();
    loop {
        let line = match lines.next()? {
            None if text.is_empty() => return Err(lines.wrong("a message has no text")),
            None => return Ok((text, None)),
            Some(line) if line.is_empty() && !text.is_empty() => {
                let heading = lines.next()?;
                return match heading {
                    None => Err(lines.wrong("nothing follows a blank line")),
                    heading => Ok((text, heading)),
                };
            }
            Some(line) => line,
        };
        let is_string = line.starts_with('"') && line.ends_with('"');
        let fragment = parse_json(&line).ok().filter(|_| is_string).and_then(View::string);
        let Some(fragment) = fragment else {
            return Err(lines.wrong("this is no JSON string"));
        };
        match fragment.code_points().take(FRAGMENT + 1).count() {
            0 => return Err(lines.wrong("a part of a message is empty")),
            1..=FRAGMENT => text.push_js(&fragment),
            _ => return Err(lines.wrong(format!("a part of a message has more than {FRAGMENT} code points"))),
        }
    }
}

/// The lines of a file, each with its number.
struct Lines<R> {
    input: R,
    number: u64,
}

impl<R: BufRead> Lines<R> {
    /// The next line without its line feed; `None` at the end.
    fn next(&mut self) -> Result<Option<String>, TranscriptError> {
        let mut line = Vec::new();
        let limit = MAX_LINE as u64 + 1;
        self.input.by_ref().take(limit).read_until(b'\n', &mut line).map_err(TranscriptError::Io)?;
        if line.is_empty() {
            return Ok(None);
        }
        self.number += 1;
        if line.pop() != Some(b'\n') {
            let is_long = line.len() >= MAX_LINE;
            return Err(self.wrong(if is_long { "the line is too long" } else { "the file ends within a line" }));
        }
        String::from_utf8(line).map(Some).map_err(|_| self.wrong("the line is not UTF-8"))
    }

    /// Skips prose up to a certain line.
    fn skip_to(&mut self, wanted: &str, missing: &str) -> Result<(), TranscriptError> {
        for _ in 0..MAX_LINES {
            match self.next()? {
                Some(line) if line == wanted => return Ok(()),
                Some(_) => {}
                None => break,
            }
        }
        Err(self.wrong(missing))
    }

    /// Skips prose up to the first heading of a message, or the end of a file that has none.
    fn skip_to_heading(&mut self) -> Result<Option<String>, TranscriptError> {
        for _ in 0..MAX_LINES {
            match self.next()? {
                Some(line) if line.starts_with("### ") => return Ok(Some(line)),
                Some(_) => {}
                None => return Ok(None),
            }
        }
        Err(self.wrong("the heading of message 1 is missing"))
    }

    fn wrong(&self, message: impl Into<String>) -> TranscriptError {
        TranscriptError::Line { line: self.number.max(1), message: message.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::js_string::JsStr;
    use proptest::prelude::*;

    fn transcript(messages: Vec<(Role, JsString)>) -> Transcript {
        Transcript {
            session_id: JsStr::from("ideas/\"1\"\n").into_owned(),
            label: JsStr::from("a <label>").into_owned(),
            cwd: None,
            captured_through_seq: Some(41),
            captured_format_version: Some(4),
            messages,
        }
    }

    /// What is wrong with a file, and in which line.
    #[track_caller]
    fn wrong(text: &str) -> (u64, String) {
        match Transcript::read(text.as_bytes()) {
            Err(TranscriptError::Line { line, message }) => (line, message),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_layout_is_dsh_s() {
        let text = JsString::from(format!("{}\n😀", "é".repeat(63)));
        let file = transcript(vec![(Role::User, text)]).render();
        let record = "{\n  \"sessionId\": \"ideas/\\\"1\\\"\\n\",\n  \"label\": \"a <label>\",\n  \"cwd\": null,\n  \
                      \"capturedThroughSeq\": 41,\n  \"capturedFormatVersion\": 4\n}";
        let lines: Vec<&str> = file.lines().collect();
        assert_eq!((lines[0], lines[1], lines[6]), (TITLE, "", ""));
        assert_eq!(lines[7..14].join("\n"), record);
        assert_eq!((lines[14], lines[17]), ("", ""));
        let fragment = format!("\"{}\\n\"", "é".repeat(63));
        assert_eq!(lines[18..], ["### Message 1: user", "", &fragment, "\"😀\""]);
        assert!(file.ends_with("\"\n") && !file.ends_with("\n\n"));
    }

    #[test]
    fn a_file_of_dsh_is_read() {
        let file = "## Referenced session — full projected snapshot\n\nSome words.\nSome more.\nAnd more.\nAnd more.\n\n\
                    {\n  \"sessionId\": \"s\",\n  \"label\": \"l\",\n  \"cwd\": \"/w\",\n  \"capturedThroughSeq\": null\n}\n\n\
                    Words.\nWords.\n\n### Message 1: assistant\n\n\"a\\n\"\n\"b\"\n\n### Message 2: user\n\n\"\\ud800\"\n";
        let read = Transcript::read(file.as_bytes()).unwrap();
        assert_eq!((read.cwd.unwrap(), read.captured_through_seq), (JsStr::from("/w").into_owned(), None));
        let texts: Vec<String> = read.messages.iter().map(|(role, text)| format!("{} {text:?}", role.name())).collect();
        assert_eq!(texts, ["assistant \"a\\nb\"", "user \"\\ud800\""]);
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        let good = transcript(vec![(Role::User, JsStr::from("a").into_owned())]).render();
        let changed = |from: &str, to: &str| wrong(&good.replacen(from, to, 1));
        assert_eq!(wrong("").0, 1);
        assert_eq!(wrong("hello\n").0, 1);
        assert_eq!(changed("{\n", "(\n").1, "the session's record is missing");
        assert_eq!(changed("41", "-1"), (14, "the session's record is not one".to_owned()));
        assert_eq!(changed("  \"label\": \"a <label>\",\n", "").0, 13);
        assert_eq!(changed("Message 1", "Message 2"), (19, "the heading of message 1 is missing".to_owned()));
        assert_eq!(changed(": user", ": system").0, 19);
        for bad in ["a", "\"a", "\"\"", "\"a\" ", "1", "[\"a\"]", &format!("\"{}\"", "a".repeat(65))] {
            assert_eq!(changed("\"a\"\n", &format!("{bad}\n")).0, 21, "{bad}");
        }
        assert_eq!(wrong(good.trim_end()), (21, "the file ends within a line".to_owned()));
        assert_eq!(wrong(&format!("{good}\n")), (22, "nothing follows a blank line".to_owned()));
        assert_eq!(wrong(good.strip_suffix("\"a\"\n").unwrap()), (20, "a message has no text".to_owned()));
    }

    #[test]
    fn a_file_without_end_takes_no_memory() {
        for byte in [b'"', b'\n', 0] {
            let endless = io::repeat(byte).take(1 << 40);
            let file = io::Cursor::new(format!("{TITLE}\n\n{{\n")).chain(endless);
            assert!(matches!(Transcript::read(io::BufReader::new(file)), Err(TranscriptError::Line { .. })));
        }
    }

    proptest! {
        #[test]
        fn every_text_comes_back(
            texts in prop::collection::vec((any::<bool>(), prop::collection::vec(
                prop_oneof![any::<u16>(), 0xD800u16..0xE000, Just(0x0A), Just(0x22), Just(0x5C), 0x4E00u16..0x4F00],
                1..200,
            )), 0..5),
            id in prop::collection::vec(any::<u16>(), 0..20),
        ) {
            let role = |is_user| if is_user { Role::User } else { Role::Assistant };
            let messages = texts.into_iter().map(|(user, units)| (role(user), units.into_iter().collect())).collect();
            let written = Transcript { session_id: id.into_iter().collect(), ..transcript(messages) };
            let file = written.render();
            prop_assert!(file.lines().skip(20).all(|line| line.chars().count() < 64 * 6 + 3));
            prop_assert_eq!(Transcript::read(file.as_bytes()).unwrap(), written);
        }
    }
}
