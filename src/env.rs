//! What the process was given: environment, clock, terminals. Read once, here, and passed on.

#![expect(clippy::disallowed_methods, reason = "this is the one place that reads the environment and the clock")]

use std::env;
use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

/// What a shell says when it wants completion.
#[derive(Clone, Debug)]
pub struct Completing {
    /// `COMPLETE`: the shell.
    pub shell: String,
    /// `_DSHKIT_WORD`: the word that is being typed, as the shell has it.
    pub word: String,
    /// `_DSHKIT_LIST`: whether candidates are only listed. bash says why it wants them: 63, `?`, is for a list.
    pub lists: bool,
}

/// The environment of a run.
#[derive(Clone, Debug)]
pub struct Env {
    /// The user's home directory.
    pub home: Option<PathBuf>,
    /// The user's cache directory: `XDG_CACHE_HOME` if it is absolute, else `.cache` in the home directory.
    pub cache: Option<PathBuf>,
    /// The user's directory of configurations: `XDG_CONFIG_HOME` if it is absolute, else `.config` in the home
    /// directory.
    pub config: Option<PathBuf>,
    /// `DSH_HOME`, if it says anything.
    pub dsh_home: Option<PathBuf>,
    /// What a shell wants to complete, if one does.
    pub completing: Option<Completing>,
    /// `NO_COLOR` is set.
    pub no_color: bool,
    /// `CLICOLOR_FORCE` is set.
    pub force_color: bool,
    /// `TERM` is `dumb`.
    pub is_dumb: bool,
    /// `PAGER`, if it says anything.
    pub pager: Option<String>,
    /// `VISUAL`, else `EDITOR`, if they say anything.
    pub editor: Option<String>,
    /// The width to fit text into, in columns: `COLUMNS`, else that of the terminal, else none.
    pub columns: Option<usize>,
    /// Whether standard output is a terminal.
    pub stdout_is_terminal: bool,
    /// Whether standard error is a terminal.
    pub stderr_is_terminal: bool,
    /// Now, in milliseconds since the epoch.
    pub now: i64,
}

impl Env {
    /// Reads the environment of the process.
    pub fn of_process() -> Env {
        let text = |name| env::var_os(name).filter(|value| !is_blank(value));
        let stdout_is_terminal = std::io::stdout().is_terminal();
        let home = env::home_dir().filter(|home| !home.as_os_str().is_empty());
        let user_directory = |variable, default| {
            let named = text(variable).map(PathBuf::from).filter(|directory| directory.is_absolute());
            named.or_else(|| home.as_ref().map(|home| home.join(default)))
        };
        Env {
            cache: user_directory("XDG_CACHE_HOME", ".cache"),
            config: user_directory("XDG_CONFIG_HOME", ".config"),
            home,
            dsh_home: text("DSH_HOME").map(PathBuf::from),
            completing: text("COMPLETE").filter(|shell| shell != "0").map(|shell| Completing {
                shell: shell.to_string_lossy().into_owned(),
                word: env::var_os("_DSHKIT_WORD").unwrap_or_default().to_string_lossy().into_owned(),
                lists: text("_DSHKIT_LIST").is_some_and(|kind| kind == "63"),
            }),
            no_color: text("NO_COLOR").is_some(),
            force_color: text("CLICOLOR_FORCE").is_some_and(|value| value != "0"),
            is_dumb: text("TERM").is_some_and(|term| term == "dumb"),
            pager: text("PAGER").and_then(|pager| pager.into_string().ok()),
            editor: text("VISUAL").or_else(|| text("EDITOR")).and_then(|editor| editor.into_string().ok()),
            columns: text("COLUMNS").and_then(|columns| columns.into_string().ok()?.parse().ok()).or_else(|| {
                stdout_is_terminal.then(terminal_size::terminal_size)?.map(|(width, _)| usize::from(width.0))
            }),
            stdout_is_terminal,
            stderr_is_terminal: std::io::stderr().is_terminal(),
            now: now(),
        }
    }

    /// A path as dsh reads one: a leading `~` is the home directory.
    pub fn expand_home(&self, path: PathBuf) -> PathBuf {
        match (path.strip_prefix("~"), &self.home) {
            (Ok(rest), Some(home)) => home.join(rest),
            _ => path,
        }
    }
}

fn is_blank(value: &OsString) -> bool {
    value.to_str().is_some_and(|text| text.trim().is_empty())
}

/// Now, in milliseconds since the epoch, for who has waited since the run began.
pub fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as i64)
}

/// The variable that holds the key of a model, if it says anything. Its name is the user's.
pub fn key(name: &str) -> Option<String> {
    env::var(name).ok().map(|key| key.trim().to_owned()).filter(|key| !key.is_empty())
}

/// Has this called whenever the user wants the process to stop (Ctrl-C, `SIGTERM`, `SIGHUP`), instead of its being
/// stopped. May be said once in a process.
///
/// # Errors
/// The system would not have it.
pub fn on_interrupt(call: impl FnMut() + Send + 'static) -> std::io::Result<()> {
    ctrlc::set_handler(call).map_err(std::io::Error::other)
}

/// The arguments of the process, its name first.
pub fn arguments() -> impl Iterator<Item = OsString> {
    env::args_os()
}

/// The directory the process is in.
///
/// # Errors
/// It is gone, or may not be known.
pub fn current_dir() -> std::io::Result<PathBuf> {
    env::current_dir()
}
