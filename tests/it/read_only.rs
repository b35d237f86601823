//! Reading leaves every byte, name and time under the home as it is.

#![expect(clippy::print_stderr, reason = "a test that cannot do all it should says so")]

use crate::support::{Outcome, Sandbox, outcome, turn};
use rusqlite::{Connection, params};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::{self, OpenOptions, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What there is to know of an entry: its mode, when it was changed, and the bytes of a file.
#[derive(Debug, PartialEq, Eq)]
struct Entry {
    mode: u32,
    modified: (i64, i64),
    bytes: Option<Vec<u8>>,
}

/// Everything in a folder, itself included.
fn snapshot(folder: &Path) -> BTreeMap<PathBuf, Entry> {
    let mut found = BTreeMap::new();
    let mut paths = vec![folder.to_owned()];
    while let Some(path) = paths.pop() {
        let metadata = fs::symlink_metadata(&path).unwrap();
        let bytes = metadata.is_file().then(|| fs::read(&path).unwrap());
        if metadata.is_dir() {
            paths.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        }
        // A file that was made and removed again shows in the time of its folder.
        let modified = (metadata.mtime(), metadata.mtime_nsec());
        found.insert(path, Entry { mode: metadata.mode(), modified, bytes });
    }
    found
}

/// Every way to read a store.
const COMMANDS: [&[&str]; 38] = [
    &["sessions", "list"],
    &["sessions", "list", "--long"],
    &["sessions", "list", "--long", "--jsonl"],
    &["sessions", "list", "--long", "--format", "text"],
    &["sessions", "list", "--long", "--strict"],
    &["sessions", "list", "--limit", "1", "--since", "1d"],
    &["sessions", "show", "latest"],
    &["sessions", "show", "latest", "--all", "--view", "surface"],
    &["sessions", "show", "latest", "--salvage"],
    &["sessions", "show", "latest", "--last-answer"],
    &["sessions", "show", "latest~1", "--format", "text"],
    &["sessions", "show", "no-such-session"],
    &["sessions", "events", "latest", "--full"],
    &["sessions", "events", "latest", "--jsonl", "--salvage"],
    &["sessions", "events", "latest", "--raw"],
    &["sessions", "event", "latest", "0", "--after", "3"],
    &["sessions", "latest"],
    &["sessions", "status", "latest"],
    &["sessions", "usage"],
    &["sessions", "search", "a"],
    &["sessions", "search", "a", "--session", "latest", "--jsonl"],
    &["index", "status"],
    &["index", "build"],
    &["sessions", "search", "a", "--index"],
    &["index", "status"],
    &["index", "clear"],
    &["sessions", "trace", "latest"],
    &["sessions", "trace", "latest", "1"],
    &["sessions", "check"],
    &["sessions", "check", "--strict", "--format", "text"],
    &["sessions", "path"],
    &["sessions", "path", "latest"],
    &["reference", "prepare", "Go on", "--reference", "latest"],
    &["reference", "prepare", "Go on", "--reference", "latest", "--explain"],
    &["reference", "candidates", "a", "--target", "x"],
    &["reference", "prepare", "Go on", "--reference", "latest", "--reference", "latest~1", "--max-bytes", "500"],
    &["uri", "encode", "latest"],
    &["uri", "parse", "nothing here"],
];

/// Runs every command on a store and compares what is there before and after, then again with all of it
/// made read-only.
fn assert_untouched(sandbox: &Sandbox, store: &[&str]) {
    let home = sandbox.home();
    let run_all = || {
        for command in COMMANDS {
            let outcome = sandbox.run(&[store, command].concat());
            assert!(matches!(outcome.status, Some(0..=8)), "{outcome}");
        }
        // Nothing would be touched if nothing were found.
        let listed = sandbox.run(&[store, &["sessions", "list", "--json"]].concat()).success().json();
        assert!(listed["sessions"].as_array().unwrap().len() >= 2, "{listed}");
    };
    let before = snapshot(&home);
    run_all();
    assert_same(&before, &snapshot(&home));
    set_writable(&home, false);
    if before.iter().any(|(path, entry)| entry.bytes.is_some() && OpenOptions::new().append(true).open(path).is_ok()) {
        eprintln!("skipped in part: this user may write to files that nobody may write to");
    }
    let before = snapshot(&home);
    run_all();
    assert_same(&before, &snapshot(&home));
    // So that the folder can be removed.
    set_writable(&home, true);
}

fn assert_same(before: &BTreeMap<PathBuf, Entry>, after: &BTreeMap<PathBuf, Entry>) {
    let names = |snapshot: &BTreeMap<PathBuf, Entry>| snapshot.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(before), names(after));
    for (path, entry) in before {
        assert!(*entry == after[path], "{} was touched", path.display());
    }
    assert!(before.len() >= 3);
}

fn set_writable(folder: &Path, is_writable: bool) {
    for (path, entry) in snapshot(folder) {
        let mode = if is_writable { entry.mode | 0o200 } else { entry.mode & !0o222 };
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }
}

#[test]
fn plain_logs_stay_as_they_are() {
    let sandbox = Sandbox::with_data("cases/11");
    sandbox.plain_log("empty", &[]);
    let torn = sandbox.plain_log("torn", &["{\"type\":\"turn/start\",\"seq\":0,\"time\":1,\"data\":{\"turn\":1}}"]);
    fs::write(&torn, fs::read_to_string(&torn).unwrap() + "{\"type\":").unwrap();
    let bad = sandbox.plain_log("bad", &["no row", "{\"type\":\"turn/start\",\"seq\":0,\"time\":1,\"data\":{}}"]);
    fs::write(bad.with_file_name("session.jsonl.123.tmp"), "left behind").unwrap();
    fs::write(sandbox.sessions().join("notes.txt"), "foreign").unwrap();
    assert_untouched(&sandbox, &[]);
}

#[test]
fn compressed_logs_and_their_locks_stay_as_they_are() {
    for case in ["cases/01", "cases/03"] {
        assert_untouched(&Sandbox::with_data(case), &[]);
    }
}

#[test]
fn no_lock_is_made() {
    // The newest generations have a lock beside the log; here it is not there.
    let sandbox = Sandbox::with_data("cases/03");
    let lock = sandbox.sessions().join("--home-demo-api--/session-migrated-A/session.lock");
    fs::remove_file(&lock).unwrap();
    assert_untouched(&sandbox, &[]);
    assert!(!lock.exists());
}

/// A session database as dsh makes it, two sessions of six events each, half of them written to the
/// file and the others, if so wanted, still in the write-ahead log. Gives its path.
fn database(sandbox: &Sandbox, has_wal: bool) -> PathBuf {
    let origin = sandbox.path("origin.sqlite");
    let connection = Connection::open(&origin).unwrap();
    connection
        .execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0;
             PRAGMA application_id = 1146308688; PRAGMA user_version = 17;
             CREATE TABLE sessions (id TEXT PRIMARY KEY, version INTEGER NOT NULL, created_at INTEGER NOT NULL,
                 cwd TEXT, parent_session TEXT, seed_length INTEGER, origin TEXT, delegation_depth INTEGER,
                 agent_preset TEXT) STRICT;
             CREATE TABLE events (session_id TEXT NOT NULL, seq INTEGER NOT NULL, type TEXT NOT NULL,
                 time INTEGER NOT NULL, data ANY NOT NULL, source_event_seqs ANY, surface_op TEXT,
                 ignorable INTEGER, PRIMARY KEY (session_id, seq)) STRICT;
             INSERT INTO sessions (id, version, created_at, cwd) VALUES ('s1', 0, 1, '/w'), ('s2', 0, 2, '/w');",
        )
        .unwrap();
    let insert = |rows: &[String]| {
        for id in ["s1", "s2"] {
            for row in rows {
                let row: Value = serde_json::from_str(row).unwrap();
                let text = |key: &str| row[key].as_str().map(str::to_owned);
                let (seq, time) = (row["seq"].as_i64(), row["time"].as_i64());
                let op = row.get("surfaceOp").map(Value::to_string);
                let values = params![id, seq, text("type"), time, row["data"].to_string(), op];
                connection.execute("INSERT INTO events VALUES (?1, ?2, ?3, ?4, ?5, NULL, ?6, NULL)", values).unwrap();
            }
        }
    };
    let rows = turn("asked of the database", "answered by it");
    insert(&rows[..3]);
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    if has_wal {
        insert(&rows[3..]);
    }
    // As it lies there when the process that wrote it is killed.
    let target = sandbox.path("home/sessions.sqlite");
    for suffix in ["", "-wal", "-shm"] {
        let from = sandbox.path(&format!("origin.sqlite{suffix}"));
        let to = sandbox.path(&format!("home/sessions.sqlite{suffix}"));
        if has_wal || suffix.is_empty() {
            fs::copy(from, to).unwrap();
        }
    }
    target
}

fn counts(sandbox: &Sandbox, store: &[&str]) -> Vec<Value> {
    let checked = sandbox.run(&[store, &["sessions", "check", "--json"]].concat()).success().json();
    checked["sessions"].as_array().unwrap().iter().map(|session| session["storedEvents"].clone()).collect()
}

#[test]
fn a_database_stays_as_it_is() {
    let sandbox = Sandbox::new();
    let path = database(&sandbox, false);
    let store = ["--store", path.to_str().unwrap()];
    assert_eq!(counts(&sandbox, &store), [3, 3]);
    assert_untouched(&sandbox, &store);
}

#[test]
fn a_database_with_a_write_ahead_log_stays_as_it_is_and_is_read_with_it() {
    let sandbox = Sandbox::new();
    let path = database(&sandbox, true);
    let store = ["--store", path.to_str().unwrap()];
    assert!(fs::metadata(path.with_file_name("sessions.sqlite-wal")).unwrap().len() > 0);
    assert_eq!(counts(&sandbox, &store), [6, 6]);
    let shown = sandbox.run(&[&store[..], &["sessions", "show", "s1", "--last-answer"]].concat()).success();
    assert_eq!(shown.text(), "answered by it\n");
    assert_untouched(&sandbox, &store);
}

#[test]
fn private_copies_are_removed() {
    let sandbox = Sandbox::new();
    let path = database(&sandbox, true);
    let temporary = sandbox.path("temporary");
    fs::create_dir(&temporary).unwrap();
    let run = |arguments: &[&str]| -> Outcome {
        let mut command: Command = sandbox.command();
        command.env("TMPDIR", &temporary).arg("--store").arg(&path).args(arguments);
        outcome(command, b"")
    };
    let before = snapshot(&temporary);
    run(&["sessions", "check", "--json"]).success();
    run(&["sessions", "show", "nothing", "--json"]).fails(3, "SESSION_QUERY_SESSION_NOT_FOUND");
    assert_eq!(before.len(), snapshot(&temporary).len());
}
