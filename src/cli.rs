//! The command line, and the one place where an error becomes an exit status.

pub mod completion;
mod shell;

use crate::commands::{self, Command, Context};
use crate::config::{Config, FileFormat};
use crate::env::Env;
use crate::error::{Code, Failure};
use crate::output::{Color, Format, Output};
use clap::{Args, CommandFactory, FromArgMatches, Parser};
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

/// The version, and the commit where it is known (build.rs).
const VERSION: &str = env!("DSHKIT_VERSION");
/// The same, and what it reads.
const LONG_VERSION: &str = concat!(
    env!("DSHKIT_VERSION"),
    "\nreads session logs of the formats v0, v1, v2, v3 and v4, plain or zstd, and SQLite session databases"
);

/// Works on the session stores of DeepSeek Harness (dsh) from a shell
#[derive(Debug, Parser)]
#[command(name = "dshkit", version = VERSION, long_version = LONG_VERSION, about, propagate_version = true)]
#[command(after_help = "Wherever a session is named, an id will do, or the beginning of one, a dsh-session: URI, \
a Markdown mention, the path of a log, `latest`, `latest~N`, or `-` to read names from standard input.")]
pub struct Cli {
    #[command(flatten)]
    global: GlobalArgs,
    #[command(subcommand)]
    command: Command,
}

/// What every command takes.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Options of every command")]
pub struct GlobalArgs {
    /// The DSH home; sessions are in its `sessions` directory [default: $DSH_HOME, else ~/.dsh]
    #[arg(long, global = true, value_name = "DIR")]
    pub home: Option<PathBuf>,
    /// A sessions directory, or a SQLite session database, instead of a home
    #[arg(long, global = true, value_name = "PATH", conflicts_with = "home")]
    pub store: Option<PathBuf>,
    /// How to print [default: text on a terminal, json elsewhere]
    #[arg(long, global = true, value_name = "FORMAT", value_enum)]
    pub format: Option<Format>,
    /// The same as --format json
    #[arg(long, global = true, conflicts_with = "format")]
    pub json: bool,
    /// The same as --format jsonl
    #[arg(long, global = true, conflicts_with_all = ["format", "json"])]
    pub jsonl: bool,
    /// Exit with 6 if anything could not be read, after printing what could
    #[arg(long, global = true, conflicts_with = "salvage")]
    pub strict: bool,
    /// Show everything that can be decoded, and what is wrong in between
    #[arg(long, global = true)]
    pub salvage: bool,
    /// Neither use nor write the caches in the user's cache directory
    #[arg(long, global = true)]
    pub no_cache: bool,
    /// When to use colour
    #[arg(long, global = true, value_name = "WHEN", value_enum, default_value_t)]
    pub color: Color,
    /// Print to the terminal without a pager
    #[arg(long, global = true)]
    pub no_pager: bool,
    /// No warnings
    #[arg(short, long, global = true)]
    pub quiet: bool,
}

impl GlobalArgs {
    /// The format the flags ask for.
    pub fn format(&self) -> Option<Format> {
        match (self.json, self.jsonl) {
            (true, _) => Some(Format::Json),
            (_, true) => Some(Format::Jsonl),
            _ => self.format,
        }
    }
}

/// What stands in a help: the examples, which only `--help` has, before everything but the one line that says
/// what the command is for.
const HELP_TEMPLATE: &str = "{about-with-newline}\n{before-help}{usage-heading} {usage}\n\n{all-args}{after-help}";

/// The whole command line: what the definitions say, and what holds for every command.
pub fn command() -> clap::Command {
    let mut command = Cli::command();
    // Only now have the commands the options of every command.
    command.build();
    let of_every_command = command.get_arguments().filter(|arg| arg.is_global_set()).map(|arg| arg.get_id().clone());
    let of_every_command: Vec<clap::Id> = of_every_command.collect();
    let mut command = command.help_template(HELP_TEMPLATE);
    for family in command.get_subcommands_mut() {
        settle(family, &of_every_command);
    }
    command
}

/// Gives a command and those below it the form of a help, in which `-h` leaves out the options of every command.
fn settle(command: &mut clap::Command, of_every_command: &[clap::Id]) {
    let settled = std::mem::take(command).help_template(HELP_TEMPLATE);
    *command = settled.mut_args(|arg| {
        let is_short = of_every_command.contains(arg.get_id());
        if is_short { arg.hide_short_help(true) } else { arg }
    });
    for below in command.get_subcommands_mut() {
        settle(below, of_every_command);
    }
}

/// Runs the program with the arguments and environment of the process.
pub fn run() -> ExitCode {
    ExitCode::from(run_with(crate::env::arguments(), Env::of_process()))
}

/// Runs the program and gives its exit status.
fn run_with(arguments: impl Iterator<Item = OsString>, env: Env) -> u8 {
    let arguments: Vec<OsString> = arguments.collect();
    if let Some(completing) = &env.completing {
        let mut output = Output::new(Some(Format::Text), Color::Never, false, &env);
        return match completion::answer(completing, &arguments, &env) {
            Some(text) => {
                // A shell that does not read on has what it wants.
                let _ = output.raw(text.as_bytes());
                let _ = output.finish();
                0
            }
            None => {
                let message = format!("there is no completion for the shell {:?}", completing.shell);
                let failure = Failure::new(Code::Usage, message).hint("COMPLETE is bash, zsh, fish or powershell");
                output.failure(&failure);
                failure.status()
            }
        };
    }
    let parsed = command().try_get_matches_from(&arguments).and_then(|matches| Cli::from_arg_matches(&matches));
    let cli = match parsed {
        Ok(cli) => cli,
        Err(error) => {
            let mut output = Output::new(format_before_parsing(&arguments), Color::Auto, false, &env);
            let status = output.usage(&error);
            let _ = output.finish();
            return status;
        }
    };
    let output = Output::new(cli.global.format(), cli.global.color, cli.global.quiet, &env);
    let mut context = Context { env, global: cli.global, config: Config::default(), output };
    let result = match config_of(&cli.command, &context.env) {
        Ok(config) => {
            context.output.prefer(config.format.map(format_of));
            context.config = config;
            commands::run(cli.command, &mut context)
        }
        Err(failure) => Err(failure.into()),
    };
    let status = match &result {
        Ok(status) => *status,
        Err(error) => report(&mut context.output, error),
    };
    let status = match context.output.flush() {
        Err(error) if status == 0 => {
            report(&mut context.output, &anyhow::Error::new(error).context("could not write the output"))
        }
        _ => status,
    };
    let _ = context.output.finish();
    status
}

/// Where the configuration file is looked for; `None` where nobody has a place for it.
pub fn config_path(env: &Env) -> Option<PathBuf> {
    env.config.as_ref().map(|directory| directory.join("dshkit").join("config.toml"))
}

/// What the configuration file says to a command.
fn config_of(command: &Command, env: &Env) -> Result<Config, Failure> {
    match config_path(env) {
        Some(path) if !command.needs_no_config() => Config::read(&path),
        _ => Ok(Config::default()),
    }
}

fn format_of(format: FileFormat) -> Format {
    match format {
        FileFormat::Text => Format::Text,
        FileFormat::Json => Format::Json,
        FileFormat::Jsonl => Format::Jsonl,
    }
}

/// A wrong command line cannot say how its error is to be printed, but its words can be looked at.
fn format_before_parsing(arguments: &[OsString]) -> Option<Format> {
    let has =
        |words: &[&str]| arguments.windows(words.len()).any(|window| window.iter().zip(words).all(|(a, b)| a == b));
    if has(&["--json"]) || has(&["--format", "json"]) || has(&["--format=json"]) {
        Some(Format::Json)
    } else if has(&["--jsonl"]) || has(&["--format", "jsonl"]) || has(&["--format=jsonl"]) {
        Some(Format::Jsonl)
    } else if has(&["--format", "text"]) || has(&["--format=text"]) {
        Some(Format::Text)
    } else {
        None
    }
}

/// Tells of an error and gives its exit status. A reader that has seen enough is no error.
fn report(output: &mut Output, error: &anyhow::Error) -> u8 {
    if let Some(failure) = error.downcast_ref::<Failure>() {
        output.failure(failure);
        return failure.status();
    }
    let io = error.chain().find_map(|cause| cause.downcast_ref::<io::Error>());
    if io.is_some_and(is_closed_pipe) {
        return 0;
    }
    let json = error.chain().find_map(|cause| cause.downcast_ref::<serde_json::Error>());
    if json.and_then(serde_json::Error::io_error_kind) == Some(io::ErrorKind::BrokenPipe) {
        return 0;
    }
    let code = if io.is_some() { Code::Io } else { Code::Internal };
    output.failure(&Failure::new(code, format!("{error:#}")));
    code.status()
}

fn is_closed_pipe(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::BrokenPipe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        command().debug_assert();
    }

    #[test]
    fn the_version_names_every_format() {
        for generation in crate::generations::Generation::ALL {
            assert!(LONG_VERSION.contains(&format!("v{}", generation.version())));
        }
        assert!(LONG_VERSION.starts_with(VERSION) && VERSION.starts_with(env!("CARGO_PKG_VERSION")));
    }
}
