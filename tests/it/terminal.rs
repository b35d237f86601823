//! A real terminal: tmux, with a program in it to type into and a screen to look at.

#![expect(clippy::print_stderr, reason = "a skipped test says so")]

use crate::support::Sandbox;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::sleep;
use std::time::{Duration, SystemTime};

/// How long something may take to appear. Nothing is waited for longer than it takes.
const PATIENCE: Duration = Duration::from_secs(30);

/// A tmux server of its own with one window.
pub(crate) struct Terminal {
    socket: PathBuf,
}

/// Whether all these programs are there; says that the test is skipped if not.
pub(crate) fn has(test: &str, programs: &[&str]) -> bool {
    let is_there = |program: &&&str| {
        ["/usr/bin", "/bin", "/usr/local/bin"].iter().any(|folder| Path::new(folder).join(program).exists())
    };
    let missing: Vec<&&str> = programs.iter().filter(|program| !is_there(program)).collect();
    if !missing.is_empty() {
        eprintln!("skipped: {test} needs {missing:?}, which .ci/run installs where it may");
    }
    missing.is_empty()
}

impl Terminal {
    /// A terminal so wide and high in which a command line runs, in the sandbox and its environment.
    pub(crate) fn open(sandbox: &Sandbox, (columns, rows): (u16, u16), command_line: &str) -> Terminal {
        // A server that is going away still holds its socket.
        static OPENED: AtomicUsize = AtomicUsize::new(0);
        let socket = sandbox.path(&format!("tmux-{}", OPENED.fetch_add(1, Ordering::Relaxed)));
        let program = sandbox.command();
        let programs = Path::new(program.get_program()).parent().unwrap().display().to_string();
        let mut command = Command::new("tmux");
        command.env_clear().env("PATH", format!("{programs}:/usr/local/bin:/usr/bin:/bin"));
        command.envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.env("LC_ALL", "C.UTF-8").env("TERM", "xterm-256color").current_dir(program.get_current_dir().unwrap());
        command.args(["-f", "/dev/null", "-u", "-S"]).arg(&socket).args(["new-session", "-d"]);
        command.args(["-x", &columns.to_string(), "-y", &rows.to_string(), command_line]);
        let status = command.status().unwrap();
        assert!(status.success(), "tmux starts: {status}");
        Terminal { socket }
    }

    fn tmux(&self, arguments: &[&str]) -> Vec<u8> {
        let mut command = Command::new("tmux");
        command.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin").env("LC_ALL", "C.UTF-8");
        command.args(["-u", "-S"]).arg(&self.socket).args(arguments).output().unwrap().stdout
    }

    /// Types text as it is.
    pub(crate) fn type_text(&self, text: &str) {
        self.tmux(&["send-keys", "-l", "--", text]);
    }

    /// Presses a key that has a name.
    pub(crate) fn press(&self, key: &str) {
        self.tmux(&["send-keys", key]);
    }

    /// What is on the screen, lines that were wrapped in one; with `colours` with the sequences that make them.
    pub(crate) fn screen(&self) -> String {
        String::from_utf8(self.tmux(&["capture-pane", "-p", "-J"])).unwrap()
    }

    /// A fact about the window, as tmux names it.
    pub(crate) fn fact(&self, name: &str) -> String {
        let format = format!("#{{{name}}}");
        String::from_utf8(self.tmux(&["display-message", "-p", &format])).unwrap().trim_end().to_owned()
    }

    /// Writes every byte that programs print from now on to a file.
    pub(crate) fn record(&self, file: &Path) {
        self.tmux(&["pipe-pane", &format!("cat > '{}'", file.display())]);
        assert!(wait_for(|| file.exists()), "tmux records");
    }

    /// Waits until the screen is as wanted.
    #[track_caller]
    pub(crate) fn wait(&self, what: &str, is_wanted: impl Fn(&str) -> bool) -> String {
        let mut screen = String::new();
        let came = wait_for(|| {
            screen = self.screen();
            is_wanted(&screen)
        });
        assert!(came, "{what} did not appear; the screen is\n{screen}");
        screen
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
    }
}

/// Waits until something is so; `false` if it takes too long.
pub(crate) fn wait_for(mut is_so: impl FnMut() -> bool) -> bool {
    #[expect(clippy::disallowed_methods, reason = "a test that waits for another program has to give up once")]
    let now = SystemTime::now;
    let begin = now();
    loop {
        if is_so() {
            return true;
        }
        if begin.elapsed().is_ok_and(|waited| waited > PATIENCE) {
            return false;
        }
        sleep(Duration::from_millis(20));
    }
}
