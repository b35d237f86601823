//! The commands: one file each, its arguments and then what it does with them.
//!
//! A command decides nothing that a caller of the library could need. It resolves what was typed, asks
//! the library, and hands the result to [`crate::output`].

pub mod candidates;
mod config;
mod derived;
mod event_filter;
mod index;
mod reference;
mod schema;
mod select;
mod session_filter;
mod sessions;
mod sidechat;
mod time_argument;
mod uri;

use crate::cli::GlobalArgs;
use crate::config::Config;
use crate::corpus::Corpus;
use crate::env::Env;
use crate::error::{Code, Failure};
use crate::generations::Mode;
use crate::output::Output;
use crate::stores::sqlite::SqliteStore;
use clap::Subcommand;
use std::path::PathBuf;

/// The families of commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Session identifiers: the dsh-session: URI and its mentions
    #[command(subcommand)]
    Uri(uri::UriCommand),
    /// Sessions: which there are, what is in them, whether they are sound
    #[command(subcommand)]
    Sessions(sessions::SessionsCommand),
    /// References: a session as background for another conversation
    #[command(subcommand)]
    Reference(reference::ReferenceCommand),
    /// Side chats: small side conversations, whose conclusions are folded back
    #[command(subcommand)]
    Sidechat(sidechat::SidechatCommand),
    /// The search index of a store, which `sessions search --index` uses
    #[command(subcommand)]
    Index(index::IndexCommand),
    /// The configuration: where it is and what holds
    #[command(subcommand, after_help = config::FILE_HELP)]
    Config(config::ConfigCommand),
    /// The JSON Schema of what dshkit prints
    Schema(schema::SchemaArgs),
}

impl Command {
    /// Whether the command is there to repair what the configuration file gets wrong.
    pub fn needs_no_config(&self) -> bool {
        matches!(self, Command::Config(config::ConfigCommand::Path))
    }
}

/// What a command works with.
pub struct Context {
    /// The environment.
    pub env: Env,
    /// What every command takes.
    pub global: GlobalArgs,
    /// What the configuration file says.
    pub config: Config,
    /// Where results go.
    pub output: Output,
}

/// Runs a command and gives its exit status.
pub fn run(command: Command, context: &mut Context) -> anyhow::Result<u8> {
    match command {
        Command::Uri(command) => uri::run(command, context),
        Command::Sessions(command) => sessions::run(command, context),
        Command::Reference(command) => reference::run(command, context),
        Command::Sidechat(command) => sidechat::run(command, context),
        Command::Index(command) => index::run(command, context),
        Command::Config(command) => config::run(command, context),
        Command::Schema(args) => schema::run(&args, context),
    }
}

impl Context {
    /// The corpus the user means.
    fn corpus(&self) -> Result<Corpus, Failure> {
        Ok(Corpus::at(&self.sessions_path()?))
    }

    /// Where it is: `--store`, or `sessions` in `--home`, `$DSH_HOME`, the configured home, or `~/.dsh`.
    fn sessions_path(&self) -> Result<PathBuf, Failure> {
        if let Some(store) = &self.global.store {
            let store = self.env.expand_home(store.clone());
            if !store.exists() {
                return Err(Failure::new(Code::Io, format!("there is no store at {}", store.display())));
            }
            if store.is_file() && !SqliteStore::is_database(&store) {
                let message = format!("{} is neither a sessions directory nor a session database", store.display());
                return Err(Failure::new(Code::Io, message));
            }
            if store.join("sessions").is_dir() {
                let message = format!("{} is a DSH home and no sessions directory", store.display());
                return Err(Failure::new(Code::Usage, message).hint("name it with --home"));
            }
            return Ok(store);
        }
        Ok(self.dsh_home()?.join("sessions"))
    }

    /// The DSH home: `--home`, `$DSH_HOME`, or `~/.dsh`.
    fn dsh_home(&self) -> Result<PathBuf, Failure> {
        let in_environment = || self.env.dsh_home.clone();
        let named = self.global.home.clone().or_else(in_environment).or_else(|| self.config.home.clone());
        let home = match (named, &self.env.home) {
            (Some(home), _) => self.env.expand_home(home),
            (None, Some(user)) => user.join(".dsh"),
            (None, None) => {
                let message = "there is no telling where the sessions are: neither DSH_HOME nor HOME is set";
                return Err(Failure::new(Code::Usage, message)
                    .hint("name the DSH home with --home, or a sessions directory with --store"));
            }
        };
        if !home.exists() && self.global.home.is_some() {
            return Err(Failure::new(Code::Io, format!("there is no DSH home at {}", home.display())));
        }
        Ok(home)
    }

    /// How strictly logs are read.
    fn mode(&self) -> Mode {
        if self.global.salvage { Mode::Salvage } else { Mode::AsDsh }
    }

    /// The exit status of work that was done in spite of problems.
    fn status_with_problems(&self, has_problems: bool) -> u8 {
        if has_problems && self.global.strict { Code::Incomplete.status() } else { 0 }
    }
}
