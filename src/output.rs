//! The only owner of standard output and standard error.
//!
//! Data goes to the one, everything else to the other. A command hands over a [`Document`] or writes
//! records as it finds them; how that looks is decided here, by the format the user chose.

pub mod documents;
pub mod json;
pub mod progress;
pub mod schema;
pub mod table;
pub mod terminal_text;

use crate::env::Env;
use crate::error::{Code, Failure};
use crate::model::js_string::JsStr;
use crate::model::problem::Problem;
use clap::error::{ContextKind, ContextValue};
use schemars::JsonSchema;
use serde::Serialize;
use std::io::{self, BufWriter, Write};
use std::process::{Child, Command, Stdio};
use terminal_text::{visible, visible_lines};

/// How data is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// For people.
    Text,
    /// One JSON document.
    Json,
    /// One JSON record a line, as it is found.
    Jsonl,
}

impl Format {
    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Format::Text => "text",
            Format::Json => "json",
            Format::Jsonl => "jsonl",
        }
    }
}

/// When colour is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Color {
    /// On a terminal or where `CLICOLOR_FORCE` asks for it, unless `NO_COLOR` says no.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// What a command prints as one document.
pub trait Document: Serialize + JsonSchema {
    /// The name and version of its shape, for example `dshkit/sessions.list/1`.
    const SCHEMA: &'static str;

    /// The document for people.
    fn text(&self, text: &mut TextOut<'_>) -> io::Result<()>;

    /// Whether it tells what would be, and nothing was changed; people are told so.
    fn is_dry_run(&self) -> bool {
        false
    }

    /// The document as records, one a line; by default the whole is one.
    fn records(&self, records: &mut RecordOut<'_>) -> io::Result<()>
    where
        Self: Sized,
    {
        records.write(self)
    }
}

/// Where a document's text goes.
pub struct TextOut<'o> {
    out: &'o mut dyn Write,
    /// The width of the terminal in columns; `None` where nothing needs cutting.
    pub width: Option<usize>,
    /// Whether colour may be used.
    pub color: bool,
    /// Whether this is for a terminal.
    pub is_terminal: bool,
}

impl TextOut<'_> {
    /// Writes a line of our own words.
    pub fn line(&mut self, line: &str) -> io::Result<()> {
        writeln!(self.out, "{line}")
    }

    /// Writes text as it is.
    pub fn raw(&mut self, text: &[u8]) -> io::Result<()> {
        self.out.write_all(text)
    }

    /// Puts a style around our own words where colour may be used.
    pub fn styled(&self, style: Style, text: &str) -> String {
        if !self.color {
            return text.to_owned();
        }
        let code = match style {
            Style::Bold => "1",
            Style::Dim => "2",
            Style::Cyan => "36",
            Style::Yellow => "33",
        };
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }
}

/// A style for our own words.
#[derive(Clone, Copy, Debug)]
pub enum Style {
    /// Strong.
    Bold,
    /// Faint.
    Dim,
    /// For what a person said.
    Cyan,
    /// For what is wrong.
    Yellow,
}

/// Where a document's records go.
pub struct RecordOut<'o> {
    out: &'o mut dyn Write,
}

impl RecordOut<'_> {
    /// Writes one record on a line of its own.
    pub fn write(&mut self, record: &impl Serialize) -> io::Result<()> {
        serde_json::to_writer(&mut *self.out, record)?;
        self.out.write_all(b"\n")
    }
}

/// The output of a run.
pub struct Output {
    format: Option<Format>,
    preferred: Option<Format>,
    color: Color,
    quiet: bool,
    env: Env,
    out: Box<dyn Write>,
    pager: Option<Child>,
}

impl Output {
    /// The output of a process with these choices.
    pub fn new(format: Option<Format>, color: Color, quiet: bool, env: &Env) -> Output {
        let out = Box::new(BufWriter::new(io::stdout().lock()));
        Output { format, preferred: None, color, quiet, env: env.clone(), out, pager: None }
    }

    /// Takes a format for where none was chosen.
    pub fn prefer(&mut self, format: Option<Format>) {
        self.preferred = format;
    }

    /// The format: as chosen, else as preferred, else text on a terminal and JSON elsewhere.
    pub fn format(&self) -> Format {
        let usual = if self.env.stdout_is_terminal { Format::Text } else { Format::Json };
        self.format.or(self.preferred).unwrap_or(usual)
    }

    /// The format of a command that is a filter: text, unless JSON was asked for.
    pub fn filter_format(&self) -> Format {
        self.format.unwrap_or(Format::Text)
    }

    /// Whether standard output is a terminal.
    pub fn is_terminal(&self) -> bool {
        self.env.stdout_is_terminal
    }

    /// Prints a document.
    pub fn document<D: Document>(&mut self, document: &D) -> io::Result<()> {
        self.document_as(self.format(), document)
    }

    /// Prints a document in a given format.
    pub fn document_as<D: Document>(&mut self, format: Format, document: &D) -> io::Result<()> {
        match format {
            Format::Text => {
                let mut text = self.text_out();
                if document.is_dry_run() {
                    text.line("Nothing was changed. This is what would be:")?;
                }
                document.text(&mut text)
            }
            Format::Json => {
                serde_json::to_writer(&mut self.out, &WithSchema { schema: D::SCHEMA, document })?;
                self.out.write_all(b"\n")
            }
            Format::Jsonl => document.records(&mut RecordOut { out: &mut self.out }),
        }
    }

    /// Where text goes, for commands that print as they read.
    pub fn text_out(&mut self) -> TextOut<'_> {
        let is_terminal = self.env.stdout_is_terminal;
        let color = match self.color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => !self.env.no_color && (self.env.force_color || is_terminal && !self.env.is_dumb),
        };
        TextOut { out: &mut self.out, width: self.env.columns, color, is_terminal }
    }

    /// Where records go, for commands that print as they read.
    pub fn record_out(&mut self) -> RecordOut<'_> {
        RecordOut { out: &mut self.out }
    }

    /// Writes bytes as they are.
    pub fn raw(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.write_all(bytes)
    }

    /// Hands what was written to whoever reads it.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    /// Sends text through the pager from here on, if there is a terminal and a pager for it, and the
    /// user wants one.
    pub fn page_unless(&mut self, unwanted: bool) {
        if unwanted || !self.env.stdout_is_terminal || self.format() != Format::Text || self.env.is_dumb {
            return;
        }
        let Some(pager) = self.env.pager.clone().or_else(|| Some("less".to_owned())).filter(|pager| pager != "cat")
        else {
            return;
        };
        let child = Command::new("sh").args(["-c", &pager]).env("LESS", "FRX").stdin(Stdio::piped()).spawn();
        if let Ok(mut child) = child
            && let Some(stdin) = child.stdin.take()
        {
            self.out = Box::new(BufWriter::new(stdin));
            self.pager = Some(child);
        }
    }

    /// Tells of something that is wrong and does not stop the work.
    pub fn warn(&mut self, message: &str) {
        if !self.quiet {
            self.error_line(&format!("warning: {}", visible(message)));
        }
    }

    /// A progress bar, shown only on a terminal and only if the work takes a while.
    pub fn progress(&self, message: &'static str) -> progress::Progress {
        progress::Progress::new(message, self.env.stderr_is_terminal && !self.quiet)
    }

    /// Says that something is waited for, only on a terminal and only if it takes a while.
    pub fn waiting(&self, message: &'static str) -> progress::Waiting {
        progress::Waiting::new(message, self.env.stderr_is_terminal && !self.quiet)
    }

    /// Tells people what the output does not say.
    pub fn note(&mut self, message: &str) {
        if !self.quiet && self.format() == Format::Text {
            self.error_line(&visible(message));
        }
    }

    /// Tells of a problem of a store that does not stop the work.
    pub fn warn_problem(&mut self, problem: &Problem) {
        self.warn(&problem.to_string());
    }

    /// Tells of a failure, in the form the format asks for.
    pub fn failure(&mut self, failure: &Failure) {
        let _ = self.out.flush();
        if self.fails_in_text() {
            self.error_line(&format!("error: {}", visible(&failure.message)));
            for candidate in &failure.candidates {
                self.error_line(&format!("  {}", visible(candidate)));
            }
            if let Some(hint) = &failure.hint {
                self.error_line(&format!("hint: {}", visible(hint)));
            }
        } else if let Ok(text) = serde_json::to_string(&documents::error::ErrorDocument::of(failure)) {
            self.error_line(&text);
        }
    }

    /// Whether errors are for people: where output is, or where nobody said and they would see it.
    fn fails_in_text(&self) -> bool {
        self.format() == Format::Text || self.format.is_none() && self.env.stderr_is_terminal
    }

    /// Prints what the command line parser says: help to the one, errors to the other.
    pub fn usage(&mut self, error: &clap::Error) -> u8 {
        if !error.use_stderr() {
            let _ = write!(self.out, "{}", error.render());
            let _ = self.out.flush();
            return 0;
        }
        let text = error.render().to_string();
        if self.fails_in_text() {
            // What was typed stands in it.
            self.error_line(&visible_lines(&JsStr::from(text.trim_end())));
        } else {
            // What is wrong comes before the first blank line, the usage after it.
            let wrong = text.trim_start_matches("error: ").split("\n\n").next().unwrap_or_default();
            let words: Vec<&str> = wrong.split_whitespace().collect();
            let hint = suggestion(error)
                .map_or_else(|| "`--help` shows what can be said".to_owned(), |right| format!("there is `{right}`"));
            self.failure(&Failure::new(Code::Usage, words.join(" ")).hint(hint));
        }
        Code::Usage.status()
    }

    fn error_line(&mut self, line: &str) {
        let _ = writeln!(io::stderr().lock(), "{line}");
    }

    /// Writes out what is still held back, and waits for the pager.
    pub fn finish(mut self) -> io::Result<()> {
        self.out.flush()?;
        drop(self.out);
        if let Some(mut pager) = self.pager {
            let _ = pager.wait();
        }
        Ok(())
    }
}

/// The word that was probably meant.
fn suggestion(error: &clap::Error) -> Option<String> {
    let kinds = [ContextKind::SuggestedSubcommand, ContextKind::SuggestedArg, ContextKind::SuggestedValue];
    kinds.into_iter().find_map(|kind| match error.get(kind)? {
        ContextValue::String(word) => Some(word.clone()),
        ContextValue::Strings(words) => words.first().cloned(),
        _ => None,
    })
}

#[derive(Serialize)]
struct WithSchema<'d, D> {
    schema: &'static str,
    #[serde(flatten)]
    document: &'d D,
}
