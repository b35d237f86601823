//! `reference prepare`: a message, and the sessions it mentions as a bounded, untrusted context.

use super::target;
use crate::commands::{Context, select};
use crate::corpus::{Catalog, Corpus, Selector};
use crate::error::{Code, Failure};
use crate::model::js_string::JsString;
use crate::model::mention::Mention;
use crate::model::problem::Problem;
use crate::output::documents::explain::ExplainDocument;
use crate::output::documents::prepare::{PrepareDocument, omission_note};
use crate::reference::budget::{self, Budget, Origin};
use crate::reference::draft::{self, DraftError};
use crate::reference::omission::{FullSnapshot, Reason};
use crate::reference::prepare::{
    self as reference, Contract, MAX_REFERENCES, Request, Source, capture, check_max_references, sessions,
};
use crate::reference::transcript::Transcript;
use crate::stores::spill::SpillFiles;
use crate::stores::spool::Spool;
use clap::{Args, ValueEnum};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The arguments.
#[derive(Debug, Args)]
#[command(before_long_help = "Examples:
  dshkit reference prepare --reference latest='the mail queue' 'What did we decide?'
  dshkit reference prepare --draft message.md --spill saved > prompt.md
  dshkit reference prepare --reference latest --explain")]
pub struct PrepareArgs {
    /// The message; none without --reference, or `-`: standard input
    #[arg(value_name = "TEXT", allow_hyphen_values = true)]
    text: Option<String>,
    /// The file that holds the message, or `-`: standard input
    #[arg(long, value_name = "FILE", conflicts_with = "text")]
    draft: Option<PathBuf>,
    /// The conversation the message goes into, which it may not refer to; it need not be stored
    #[arg(long, value_name = "ID", allow_hyphen_values = true)]
    target: Option<String>,
    /// A session to refer to beside those the text mentions, and its label
    #[arg(long = "reference", value_name = "SESSION[=LABEL]", allow_hyphen_values = true)]
    references: Vec<String>,
    /// How many sessions may be referred to, at most 3
    #[arg(long, value_name = "N", default_value_t = MAX_REFERENCES as i64, allow_hyphen_values = true)]
    max_references: i64,
    /// How many bytes each session may take, serialised [default: what follows from the context window]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    max_bytes: Option<i64>,
    /// The context window the message goes into, in tokens [default: that of the target's newest request]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    context_window: Option<i64>,
    /// The part of the context window each session may take, from 0 to 1; it may always take 65536 bytes
    #[arg(long, value_name = "PART", default_value_t = budget::DEFAULT_FRACTION, allow_hyphen_values = true)]
    context_fraction: f64,
    /// Save the whole text of each session that does not fit in this directory
    #[arg(long, value_name = "DIR", conflicts_with_all = ["compat", "explain"])]
    spill: Option<PathBuf>,
    /// Print no message, but what of each session would be kept, cut and dropped, and why
    #[arg(long)]
    explain: bool,
    /// The contract of an older dsh
    #[arg(long, value_name = "DSH", value_enum)]
    compat: Option<Compat>,
}

/// Older contracts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Compat {
    /// dsh 0.1.0 to 0.1.2
    #[value(name = "dsh-0.1")]
    Dsh01,
}

impl PrepareArgs {
    fn contract(&self) -> Contract {
        if self.compat == Some(Compat::Dsh01) { Contract::Dsh01 } else { Contract::Newest }
    }
}

/// The numbers on the command line, checked.
struct Limits {
    max_bytes: Option<u64>,
    context_window: Option<u64>,
    fraction: f64,
}

pub(super) fn run(args: &PrepareArgs, context: &mut Context) -> anyhow::Result<u8> {
    let request = Request {
        target: args.target.as_deref().map(target).transpose()?,
        references: args.references.iter().map(|reference| parse_reference(reference)).collect::<Result<_, _>>()?,
        max_references: check_max_references(args.max_references)?,
    };
    let check = |name, count: Option<i64>| count.map(|count| budget::check_count(name, count)).transpose();
    let limits = Limits {
        max_bytes: check("--max-bytes", args.max_bytes)?,
        context_window: check("--context-window", args.context_window)?,
        fraction: budget::check_fraction(args.context_fraction)?,
    };
    let (text, mentions) = read_message(args)?;
    let (corpus, catalog) = context.catalog()?;
    let named = sessions(&catalog, mentions, &request)?;
    let mut is_complete = true;
    let budget = if named.is_empty() {
        Budget::unknown()
    } else {
        let (budget, problem) = budget_of(args, &limits, request.target.as_ref(), &corpus, &catalog, context);
        if let Some(problem) = problem {
            is_complete = false;
            context.output.warn(&format!("the target's context window is not known: {problem}"));
        }
        budget
    };
    let mut sources = capture(&corpus, named, budget.max_bytes)?;
    if args.explain {
        context.output.document(&ExplainDocument::of(&budget, &sources))?;
        return Ok(context.status_with_problems(!is_complete));
    }
    let mut files = SpillFiles::default();
    if let Some(directory) = &args.spill {
        is_complete &= spill(&mut sources, directory, &mut files, context);
    }
    let prepared = reference::Context::of(sources, args.contract());
    for source in prepared.iter().flat_map(|prepared| &prepared.sources) {
        if let Some(note) = omission_note(source) {
            context.output.warn(&note);
        }
    }
    let document = PrepareDocument::of(&text, prepared.as_ref());
    context.output.document(&document)?;
    document.check()?;
    // Not before the message is out is anything left that it names.
    context.output.flush()?;
    files.keep();
    Ok(context.status_with_problems(!is_complete))
}

/// The message without its mentions, and these.
fn read_message(args: &PrepareArgs) -> Result<(Spool, Vec<Mention>), Failure> {
    match (args.draft.as_deref(), args.text.as_deref()) {
        (Some(file), _) if file != Path::new("-") => {
            let input = File::open(file).map_err(|error| unreadable(&file.display().to_string(), error))?;
            read_draft(input, &file.display().to_string())
        }
        (Some(_), _) | (None, Some("-")) => read_draft(io::stdin().lock(), "standard input"),
        (None, None) if args.references.is_empty() => read_draft(io::stdin().lock(), "standard input"),
        // A line feed that was typed is meant.
        (None, text) => read_draft(format!("{}\n", text.unwrap_or_default()).as_bytes(), "the message"),
    }
}

fn read_draft(input: impl Read, name: &str) -> Result<(Spool, Vec<Mention>), Failure> {
    let mut text = Spool::default();
    let mentions = draft::read(input, &mut |piece| text.push(piece)).map_err(|error| match error {
        DraftError::Mention(error) => Failure::new(Code::InvalidReference, error.to_string()),
        DraftError::Io(error) => unreadable(name, error),
    })?;
    Ok((text, mentions))
}

fn unreadable(name: &str, error: io::Error) -> Failure {
    Failure::new(Code::Io, format!("could not read {name}: {error}"))
}

/// The budget, and what is wrong with the target where its context window would have counted.
fn budget_of(
    args: &PrepareArgs,
    limits: &Limits,
    target: Option<&JsString>,
    corpus: &Corpus,
    catalog: &Catalog,
    context: &mut Context,
) -> (Budget, Option<Problem>) {
    if let Some(max_bytes) = limits.max_bytes {
        return (Budget::fixed(max_bytes), None);
    }
    if args.contract() == Contract::Dsh01 {
        return (Budget::unknown(), None);
    }
    if let Some(window) = limits.context_window {
        return (Budget::of_window(window, limits.fraction, Origin::NamedWindow), None);
    }
    let stored = catalog.records.iter().find(|record| Some(record.id()) == target);
    let Some(record) = stored else { return (Budget::unknown(), None) };
    let registry = budget::registry();
    match context.derive(corpus, &[record], &registry).pop() {
        Some(Ok(derived)) => {
            let of_window = |window| Budget::of_window(window, limits.fraction, Origin::TargetWindow);
            (budget::context_window(&derived).map_or_else(Budget::unknown, of_window), None)
        }
        Some(Err(failure)) => (Budget::unknown(), Some(record.problem_of(failure))),
        None => (Budget::unknown(), None),
    }
}

/// Saves the whole of every source that was cut, and tells whether all could be saved.
fn spill(sources: &mut [Source], directory: &Path, files: &mut SpillFiles, context: &mut Context) -> bool {
    let mut is_complete = true;
    for (index, source) in sources.iter_mut().enumerate().filter(|(_, source)| source.retained.is_truncated()) {
        let text = Transcript::of(source).render();
        source.full_snapshot = match files.save(directory, &format!("session-reference-{}", index + 1), &text) {
            Ok(locator) => FullSnapshot::Saved { locator, bytes: text.len() as u64 },
            Err(error) => {
                is_complete = false;
                context.output.warn(&error.to_string());
                FullSnapshot::Unavailable(Reason::SaveFailed)
            }
        };
    }
    is_complete
}

fn parse_reference(text: &str) -> Result<(Selector, Option<JsString>), Failure> {
    let (selector, label) = match text.split_once('=') {
        Some((selector, label)) if !text.starts_with("@[") => (selector, Some(JsString::from(label.to_owned()))),
        _ => (text, None),
    };
    Ok((select::parse(selector)?, label))
}
