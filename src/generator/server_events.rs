//! A stream of server-sent events: what stands behind `data:`, event by event.

use std::io::{self, BufRead};

/// The longest line, in bytes.
const MAX_LINE: u64 = 1 << 20;

/// Gives the data of each event to `take`, until that says that it has seen enough. Whether it has.
///
/// # Errors
/// The stream cannot be read, a line is too long or no text.
pub(super) fn read(mut stream: impl BufRead, take: &mut dyn FnMut(&str) -> bool) -> io::Result<bool> {
    let mut data = String::new();
    let mut line = Vec::new();
    loop {
        line.clear();
        if io::Read::take(&mut stream, MAX_LINE).read_until(b'\n', &mut line)? == 0 {
            return Ok(false);
        }
        if line.len() as u64 == MAX_LINE {
            return Err(io::Error::other("a line of the stream is too long"));
        }
        let text = str::from_utf8(&line).map_err(|_| io::Error::other("the stream is something else than text"))?;
        let text = text.trim_end_matches(['\r', '\n']);
        if text.is_empty() && !data.is_empty() {
            if take(&data) {
                return Ok(true);
            }
            data.clear();
        }
        if let Some(more) = text.strip_prefix("data:") {
            if !data.is_empty() {
                data.push('\n');
            }
            data.push_str(more.strip_prefix(' ').unwrap_or(more));
            if data.len() as u64 > MAX_LINE {
                return Err(io::Error::other("an event of the stream is too long"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(stream: &str) -> (Vec<String>, bool) {
        let mut taken = Vec::new();
        let is_over = read(stream.as_bytes(), &mut |data| {
            taken.push(data.to_owned());
            data == "[DONE]"
        });
        (taken, is_over.unwrap())
    }

    #[test]
    fn each_event_is_its_data() {
        let stream =
            ": keep-alive\n\ndata: {\"a\":1}\n\nevent: x\r\ndata:one\r\ndata: two\r\n\r\ndata: [DONE]\n\ndata: 3\n\n";
        assert_eq!(events(stream), (vec!["{\"a\":1}".to_owned(), "one\ntwo".to_owned(), "[DONE]".to_owned()], true));
    }

    #[test]
    fn a_stream_that_breaks_off_has_no_end() {
        assert_eq!(events("data: 1\n\ndata: 2"), (vec!["1".to_owned()], false), "the second may go on");
        assert_eq!(events(""), (vec![], false));
    }

    #[test]
    fn a_hostile_stream_is_an_error() {
        let long = format!("data: {}", "x".repeat(2 << 20));
        assert!(read(long.as_bytes(), &mut |_| false).is_err());
        assert!(read(&b"data: \xff\n\n"[..], &mut |_| false).is_err());
        let endless = "data: 0123456789\n".repeat(100_000);
        assert!(read(endless.as_bytes(), &mut |_| false).is_err());
    }
}
