//! What the tests share: a scratch home to run the program in, the stores that dsh itself wrote, and a
//! list of differences for tests that go through a table.

#![expect(clippy::print_stderr, reason = "a skipped test says so")]

use dshkit::corpus::{Catalog, Corpus, Record};
use dshkit::model::json::{parse, write_view};
use dshkit::model::surface::Surface;
use serde::Serialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::fmt;
use std::fs;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// A scratch directory with a DSH home in it, and the program to run there in a cleared environment.
pub(crate) struct Sandbox {
    scratch: TempDir,
}

/// What a run of the program left.
pub(crate) struct Outcome {
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
    pub(crate) status: Option<i32>,
    /// The signal that ended the program, if one did.
    pub(crate) signal: Option<i32>,
    command: String,
}

impl Sandbox {
    /// A home without sessions.
    pub(crate) fn new() -> Sandbox {
        let sandbox = Sandbox { scratch: TempDir::new().unwrap() };
        for folder in ["user", "cache", "config", "data", "home/sessions"] {
            fs::create_dir_all(sandbox.path(folder)).unwrap();
        }
        sandbox
    }

    /// A home with a copy of a folder of `tests/data`, which is laid out as a home is.
    pub(crate) fn with_data(name: &str) -> Sandbox {
        let sandbox = Sandbox::new();
        copy_tree(&data(name), &sandbox.home());
        sandbox
    }

    /// A path in the scratch directory.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.scratch.path().join(name)
    }

    /// The DSH home.
    pub(crate) fn home(&self) -> PathBuf {
        self.path("home")
    }

    /// The sessions directory.
    pub(crate) fn sessions(&self) -> PathBuf {
        self.path("home/sessions")
    }

    /// Writes the lines of a plain v0 log for a session without a working directory, header first.
    pub(crate) fn plain_log(&self, id: &str, rows: &[&str]) -> PathBuf {
        let header = format!(r#"{{"type":"session","version":0,"id":"{id}","createdAt":1000,"delegationDepth":0}}"#);
        let path = self.sessions().join("_no-cwd").join(id).join("session.jsonl");
        let mut text = header + "\n";
        for row in rows {
            text.push_str(row);
            text.push('\n');
        }
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    /// The program, its home set to the scratch home, to be given more.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dshkit"));
        command.env_clear().current_dir(self.scratch.path());
        command.env("HOME", self.path("user")).env("TZ", "UTC").env("DSH_HOME", self.home());
        for (name, folder) in [("CACHE", "cache"), ("CONFIG", "config"), ("DATA", "data"), ("STATE", "data")] {
            command.env(format!("XDG_{name}_HOME"), self.path(folder));
        }
        command
    }

    /// Runs the program.
    pub(crate) fn run(&self, arguments: &[&str]) -> Outcome {
        self.run_with_input(arguments, b"")
    }

    /// Runs the program with something on standard input.
    pub(crate) fn run_with_input(&self, arguments: &[&str], input: &[u8]) -> Outcome {
        let mut command = self.command();
        command.args(arguments);
        outcome(command, input)
    }
}

/// Runs the program on a sessions directory or a session database anywhere.
pub(crate) fn run_in_store(store: &Path, arguments: &[&str]) -> Outcome {
    let sandbox = Sandbox::new();
    let mut command = sandbox.command();
    command.arg("--store").arg(store).args(arguments);
    outcome(command, b"")
}

/// Runs a command to its end. What it printed must be as the schemas say.
#[track_caller]
pub(crate) fn outcome(mut command: Command, input: &[u8]) -> Outcome {
    let words: Vec<_> = command.get_args().map(|word| word.to_string_lossy().into_owned()).collect();
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    // A program that does not read its input may be gone before all of it is written.
    let writer = std::thread::spawn(move || stdin.write_all(&input).is_ok());
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    let outcome = Outcome {
        stdout: output.stdout,
        stderr: String::from_utf8(output.stderr).unwrap(),
        status: output.status.code(),
        signal: output.status.signal(),
        command: words.join(" "),
    };
    crate::schema::check(&outcome);
    outcome
}

impl Outcome {
    /// Asserts that the program did what it was asked.
    #[track_caller]
    pub(crate) fn success(self) -> Outcome {
        self.exits(0)
    }

    /// Asserts that the program ended with this status.
    #[track_caller]
    pub(crate) fn exits(self, status: i32) -> Outcome {
        assert_eq!(self.status, Some(status), "the exit status\n{self}");
        self
    }

    /// Asserts that the program ended with this status, printed no data, and said why under this code.
    /// Gives the error it printed.
    #[track_caller]
    pub(crate) fn fails(self, status: i32, code: &str) -> Value {
        assert_eq!(self.status, Some(status), "the exit status\n{self}");
        assert!(self.stdout.is_empty(), "no data\n{self}");
        let line = self.stderr.lines().last().unwrap_or_default();
        let document: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}\n{self}"));
        let error = document["error"].clone();
        assert_eq!(error["code"], code, "the code\n{self}");
        error
    }

    /// Asserts that the program ended with this status and said why under this code, whatever data it printed.
    #[track_caller]
    pub(crate) fn fails_with_data(mut self, status: i32, code: &str) -> Value {
        self.stdout.clear();
        self.fails(status, code)
    }

    /// Standard output as text.
    #[track_caller]
    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.stdout).unwrap_or_else(|error| panic!("{error}\n{self}"))
    }

    /// Standard output as one JSON document.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.stdout).unwrap_or_else(|error| panic!("{error}\n{self}"))
    }

    /// Standard output as JSON records, one a line.
    #[track_caller]
    pub(crate) fn records(&self) -> Vec<Value> {
        let record = |line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}\n{self}"));
        self.text().lines().map(record).collect()
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shortened = |text: &str| text.chars().take(4000).collect::<String>();
        writeln!(f, "$ dshkit {}", self.command)?;
        writeln!(f, "{}", shortened(&String::from_utf8_lossy(&self.stdout)))?;
        writeln!(f, "--- stderr, status {:?}\n{}", self.status, shortened(&self.stderr))
    }
}

/// A folder of `tests/data`.
pub(crate) fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

/// A part of the shared folder, which lies beside the repository or where `DSHKIT_SHARED` says. A test
/// that needs it is skipped where it is missing.
pub(crate) fn shared(part: &str) -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared");
    let path = variable("DSHKIT_SHARED").unwrap_or_else(beside).join(part);
    if !path.exists() {
        eprintln!("skipped: there is no {}", path.display());
        return None;
    }
    Some(path)
}

/// The folders with corpora: the shared one, and the one `DSHKIT_MORE_CORPORA` names.
pub(crate) fn corpora_folders() -> Vec<PathBuf> {
    shared("corpora").into_iter().chain(variable("DSHKIT_MORE_CORPORA")).collect()
}

/// Every folder in the folders with corpora that has a certain file.
pub(crate) fn corpora_with(file: &str) -> Vec<PathBuf> {
    let entries = corpora_folders().into_iter().flat_map(|folder| fs::read_dir(folder).unwrap());
    let mut found: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    found.retain(|path| path.join(file).is_file());
    found.sort();
    found
}

#[expect(clippy::disallowed_methods, reason = "where the shared folder is, only the environment can tell")]
pub(crate) fn variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// Reads a JSON file.
#[track_caller]
pub(crate) fn read_json(path: &Path) -> Value {
    let bytes = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_slice(&bytes).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// JSON text as `JSON.stringify` prints it.
pub(crate) fn compact(text: &str) -> String {
    let mut out = String::new();
    write_view(parse(text).unwrap(), &mut out);
    out
}

/// Copies a folder with everything in it and makes the copy writable. Times are not kept.
pub(crate) fn copy_tree(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap_or_else(|error| panic!("{}: {error}", from.display())) {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_tree(&entry.path(), &target);
        } else {
            // The bytes and not the permissions, which may forbid writing.
            fs::write(&target, fs::read(entry.path()).unwrap()).unwrap();
        }
    }
}

/// The rows of a turn in which one question is answered; the answer has seq 3.
pub(crate) fn turn(question: &str, answer: &str) -> Vec<String> {
    let user = json!({"id": "m1", "role": "user", "source": {"kind": "user"}, "content": [{"type": "text", "text": question}]});
    let model = json!({"kind": "model", "provider": "p", "model": "m"});
    let content = json!([{"type": "text", "text": answer}]);
    let message = json!({"id": "m3", "role": "assistant", "source": model, "content": content});
    let rows = [
        json!({"type": "turn/start", "seq": 0, "time": 10, "data": {"turn": 1}}),
        json!({"type": "user/message", "seq": 1, "time": 11, "data": user, "surfaceOp": "append"}),
        json!({"type": "step/start", "seq": 2, "time": 12, "data": {"turn": 1, "step": 1}}),
        json!({"type": "assistant/message", "seq": 3, "time": 13, "data": {"turn": 1, "step": 1, "message": message}, "surfaceOp": "append"}),
        json!({"type": "step/end", "seq": 4, "time": 14, "data": {"turn": 1, "step": 1}}),
        json!({"type": "turn/end", "seq": 5, "time": 15, "data": {"turn": 1, "reason": {"kind": "completed"}}}),
    ];
    rows.iter().map(Value::to_string).collect()
}

/// Writes a plain v0 log with this header into a project directory.
pub(crate) fn write_log(sandbox: &Sandbox, project: &str, header: &Value, rows: &[String]) -> PathBuf {
    let path = sandbox.sessions().join(project).join(header["id"].as_str().unwrap()).join("session.jsonl");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let lines: String = rows.iter().map(|row| format!("{row}\n")).collect();
    fs::write(&path, format!("{header}\n{lines}")).unwrap();
    path
}

/// A string that names bytes: their SHA-256 in hexadecimal.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// One event of a log that was read.
pub(crate) struct ReadEvent {
    pub(crate) seq: u64,
    pub(crate) kind: String,
    pub(crate) synthetic: bool,
    /// As `JSON.stringify` prints it.
    pub(crate) json: String,
}

/// A log that was read to its end by the library.
pub(crate) struct ReadLog {
    pub(crate) events: Vec<ReadEvent>,
    pub(crate) stored: u64,
    pub(crate) logical: u64,
    pub(crate) inherited: u64,
    pub(crate) surface: Result<Surface, String>,
}

impl ReadLog {
    /// Reads a session.
    pub(crate) fn of(corpus: &Corpus, record: &Record) -> Result<ReadLog, String> {
        let mut events = Vec::new();
        let read = corpus.read(record, &mut |event, _| {
            let mut json = String::new();
            event.write_json(&mut json);
            let kind = event.kind.to_string_lossy().into_owned();
            events.push(ReadEvent { seq: event.seq, kind, synthetic: event.synthetic, json });
        });
        let finished = read.map_err(|failure| failure.message)?.finished;
        Ok(ReadLog {
            events,
            stored: finished.stored_events,
            logical: finished.logical_events,
            inherited: finished.inherited_events,
            surface: finished.surface.map_err(|error| error.message),
        })
    }

    /// The digest of the events dsh found in the log.
    pub(crate) fn stored_sha256(&self) -> String {
        digest(self.events.iter().filter(|event| !event.synthetic))
    }

    /// The digest of these and the closers.
    pub(crate) fn logical_sha256(&self) -> String {
        digest(self.events.iter())
    }
}

/// The digest that the expected values have of a list of events: each as JSON, with a line feed.
pub(crate) fn digest<'e>(events: impl Iterator<Item = &'e ReadEvent>) -> String {
    sha256(events.flat_map(|event| [event.json.as_str(), "\n"]).collect::<String>().as_bytes())
}

/// The session of an id that is valid UTF-8.
pub(crate) fn record_of<'c>(catalog: &'c Catalog, id: &str) -> Option<&'c Record> {
    catalog.records.iter().find(|record| record.id() == id)
}

/// What a test that goes through a table found, told all at once.
#[derive(Default)]
pub(crate) struct Differences {
    found: Vec<String>,
    compared: usize,
}

impl Differences {
    /// Compares two values as JSON has them, where an absent one is `null`.
    pub(crate) fn compare(&mut self, place: impl fmt::Display, got: impl Serialize, expected: impl Serialize) {
        self.compared += 1;
        let (got, expected): (Value, Value) =
            (serde_json::to_value(got).unwrap(), serde_json::to_value(expected).unwrap());
        if got != expected {
            let short = |value: Value| value.to_string().chars().take(1500).collect::<String>();
            self.found.push(format!("{place}\n      got {}\n expected {}", short(got), short(expected)));
        }
    }

    /// Tells of something that is wrong.
    pub(crate) fn wrong(&mut self, message: String) {
        self.compared += 1;
        self.found.push(message);
    }

    /// Fails if anything differed, or if fewer values were compared than there must have been.
    #[track_caller]
    pub(crate) fn none_of_at_least(self, compared: usize) {
        let count = self.found.len();
        let shown = self.found.into_iter().take(40).collect::<Vec<_>>().join("\n");
        assert!(count == 0, "{count} of {} comparisons differ:\n{shown}", self.compared);
        assert!(self.compared >= compared, "only {} values were compared, not {compared}", self.compared);
    }
}
