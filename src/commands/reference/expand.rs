//! `reference expand`: a saved reference as the messages it was made from.

use crate::commands::Context;
use crate::error::{Code, Failure};
use crate::model::problem::{Problem, ProblemKind};
use crate::output::documents::expand::ExpandDocument;
use crate::reference::transcript::{Transcript, TranscriptError};
use clap::Args;
use std::fs::File;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};

/// The arguments.
#[derive(Debug, Args)]
#[command(before_long_help = "Examples:
  dshkit reference expand saved/session-1.txt
  dshkit reference expand - --jsonl < saved/session-1.txt")]
pub struct ExpandArgs {
    /// The file, or `-`: standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

pub(super) fn run(args: &ExpandArgs, context: &mut Context) -> anyhow::Result<u8> {
    let transcript = if args.file == Path::new("-") {
        Transcript::read(io::stdin().lock())
    } else {
        File::open(&args.file).map_err(TranscriptError::Io).and_then(|file| Transcript::read(BufReader::new(file)))
    };
    let transcript = transcript.map_err(|error| failure(&args.file, error))?;
    context.output.document(&ExpandDocument::of(&transcript))?;
    Ok(0)
}

fn failure(path: &Path, error: TranscriptError) -> Failure {
    match error {
        TranscriptError::Io(error) => Failure::new(Code::Io, format!("could not read {}: {error}", path.display())),
        TranscriptError::Line { line, message } => {
            let told = format!("{}, line {line}: {message}", path.display());
            let mut problem = Problem::at(ProblemKind::BadRow, path, message);
            problem.line = Some(line);
            let mut failure = Failure::new(Code::CorruptTranscript, told)
                .hint("only what `reference prepare --spill` or dsh saved can be expanded");
            failure.problem = Some(Box::new(problem));
            failure
        }
    }
}
