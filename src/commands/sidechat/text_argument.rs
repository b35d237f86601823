//! Texts from arguments, files, standard input, and an editor.

use crate::commands::Context;
use crate::error::{Code, Failure};
use std::fs;
use std::io::{self, Read, Write};
use std::process::{Command, Stdio};

/// The most that is read of a text, in bytes; no text of a side chat may be nearly as long.
const MAX_BYTES: u64 = 1 << 20;

/// The text in a file, or for `-` on standard input.
pub(super) fn from_file(path: &str) -> Result<String, Failure> {
    let name = if path == "-" { "standard input" } else { path };
    let unreadable = |error: io::Error| Failure::new(Code::Io, format!("could not read {name}: {error}"));
    let source: Box<dyn Read> =
        if path == "-" { Box::new(io::stdin().lock()) } else { Box::new(fs::File::open(path).map_err(unreadable)?) };
    let mut bytes = Vec::new();
    source.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(Failure::new(Code::BadRequest, format!("{name} holds more than {MAX_BYTES} bytes")));
    }
    String::from_utf8(bytes)
        .map_err(|_| Failure::new(Code::BadRequest, format!("{name} holds something else than text")))
}

/// The text itself, or for `-` that on standard input.
pub(super) fn or_stdin(text: &str) -> Result<String, Failure> {
    if text == "-" { from_file("-") } else { Ok(text.to_owned()) }
}

/// Lets the user edit a text in their editor.
pub(super) fn edited(context: &Context, text: &str) -> Result<String, Failure> {
    let editor = context.env.editor.as_ref().ok_or_else(|| {
        Failure::new(Code::Usage, "there is no editor: neither VISUAL nor EDITOR is set")
            .hint("write the text to a file and say --text FILE")
    })?;
    let failed = |error: io::Error| Failure::new(Code::Io, format!("the text could not be edited: {error}"));
    let mut file = tempfile::Builder::new().prefix("dshkit-fold-").suffix(".md").tempfile().map_err(failed)?;
    file.write_all(text.as_bytes()).map_err(failed)?;
    file.flush().map_err(failed)?;
    // What the editor prints is not part of our output.
    let status = Command::new("sh")
        .args(["-c", &format!("{editor} \"$1\" >&2"), "sh"])
        .arg(file.path())
        .stdin(Stdio::inherit())
        .status()
        .map_err(failed)?;
    if !status.success() {
        return Err(Failure::new(Code::Io, format!("the editor failed, {status}")).hint("nothing was changed"));
    }
    let path = file.path().display().to_string();
    from_file(&path)
}
