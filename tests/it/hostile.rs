//! Stores that somebody made to do harm, or that an accident made so. Everything is told of, nothing is
//! waited for, and no number in a file decides how much memory is taken.

#![cfg(target_os = "linux")]
#![expect(clippy::print_stderr, reason = "a skipped test says so")]

use crate::support::{Outcome, Sandbox, outcome};
use serde_json::{Value, json};
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Command;

const DEEP: usize = 1_000_000;

/// A home with one good session.
fn home() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.plain_log("good", &[r#"{"type":"turn/start","seq":0,"time":1,"data":{"turn":1}}"#]);
    sandbox
}

/// An empty directory for a session.
fn directory(sandbox: &Sandbox, id: &str) -> PathBuf {
    let path = sandbox.sessions().join("_no-cwd").join(id);
    fs::create_dir_all(&path).unwrap();
    path
}

fn header(id: &str) -> String {
    format!("{{\"type\":\"session\",\"version\":0,\"id\":\"{id}\",\"createdAt\":1000,\"delegationDepth\":0}}\n")
}

/// The problems of a listing: for each the last part of its path that is not a log's name, and its kind.
fn problems(document: &Value) -> Vec<String> {
    let problem = |problem: &Value| {
        let path = problem["path"].as_str().unwrap().trim_end_matches("/session.jsonl").to_owned();
        format!("{} {}", path.rsplit('/').next().unwrap(), problem["kind"].as_str().unwrap())
    };
    let mut found: Vec<String> = document["problems"].as_array().unwrap().iter().map(problem).collect();
    found.sort();
    found
}

/// Runs the program with no more than 1 GB of address space.
fn run_small(sandbox: &Sandbox, arguments: &[&str]) -> Outcome {
    let program = sandbox.command();
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -v 1000000 && exec \"$0\" \"$@\""]).arg(program.get_program());
    command.env_clear().env("PATH", "/usr/bin:/bin").envs(program.get_envs().filter_map(|(k, v)| Some((k, v?))));
    command.current_dir(program.get_current_dir().unwrap()).args(arguments);
    outcome(command, b"")
}

#[test]
fn what_is_no_file_is_not_read() {
    let sandbox = home();
    let pipe = directory(&sandbox, "pipe").join("session.jsonl");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    // Whoever read it would get this and not wait.
    let mut writer = OpenOptions::new().read(true).write(true).open(&pipe).unwrap();
    writer.write_all(header("pipe").as_bytes()).unwrap();
    symlink(&pipe, directory(&sandbox, "pipe-link").join("session.jsonl")).unwrap();
    symlink("/dev/zero", directory(&sandbox, "zero").join("session.jsonl")).unwrap();
    symlink("session.jsonl", directory(&sandbox, "loop").join("session.jsonl")).unwrap();
    symlink("nowhere", directory(&sandbox, "dangling").join("session.jsonl")).unwrap();
    fs::create_dir(directory(&sandbox, "folder").join("session.jsonl")).unwrap();
    let expected = [
        "dangling unreadable",
        "folder foreign-entry",
        "loop unreadable",
        "pipe foreign-entry",
        "pipe-link unreadable",
        "zero unreadable",
    ];
    for command in ["list", "check"] {
        let outcome = sandbox.run(&["sessions", command, "--json"]);
        let document = outcome.json();
        assert_eq!(problems(&document), expected, "{outcome}");
        let ids: Vec<&Value> = document["sessions"].as_array().unwrap().iter().map(|s| &s["sessionId"]).collect();
        assert_eq!(ids, ["good"], "{outcome}");
    }
    sandbox.run(&["sessions", "show", "zero", "--json"]).fails(8, "io");
    sandbox.run(&["sessions", "show", "pipe", "--json"]).fails(3, "SESSION_QUERY_SESSION_NOT_FOUND");
}

#[test]
fn links_to_directories_are_not_followed() {
    let sandbox = home();
    let sessions = sandbox.sessions();
    symlink(&sessions, sessions.join("again")).unwrap();
    symlink(sessions.join("_no-cwd"), sessions.join("project")).unwrap();
    symlink(sessions.join("_no-cwd/good"), sessions.join("_no-cwd/link")).unwrap();
    let outcome = sandbox.run(&["sessions", "list", "--json"]).success();
    assert_eq!(outcome.json()["sessions"].as_array().unwrap().len(), 1, "{outcome}");
    assert_eq!(problems(&outcome.json()), ["again foreign-entry", "link foreign-entry", "project foreign-entry"]);
}

#[test]
fn a_log_may_be_reached_by_a_link() {
    let sandbox = home();
    let elsewhere = sandbox.path("elsewhere.jsonl");
    fs::write(&elsewhere, header("linked")).unwrap();
    symlink(&elsewhere, directory(&sandbox, "linked").join("session.jsonl")).unwrap();
    sandbox.run(&["sessions", "show", "linked", "--json"]).success();
}

#[test]
fn deep_json_is_a_bad_row() {
    let sandbox = home();
    let deep = format!("{}{}", "[".repeat(DEEP), "]".repeat(DEEP));
    let end = r#"{"type":"turn/end","seq":1,"time":2,"data":{"turn":1,"reason":{"kind":"completed"}}}"#;
    sandbox.plain_log("row", &[&format!(r#"{{"type":"turn/start","seq":0,"time":1,"data":{deep}}}"#), end]);
    sandbox.plain_log("open", &[&r#"{"a":"#.repeat(DEEP)]);
    fs::write(directory(&sandbox, "head").join("session.jsonl"), deep + "\n").unwrap();
    let outcome = run_small(&sandbox, &["sessions", "check", "--json"]);
    let document = outcome.json();
    let kinds = |id: &str| {
        let sessions = document["sessions"].as_array().unwrap();
        sessions.iter().find(|session| session["sessionId"] == id).unwrap()["problems"][0]["kind"].clone()
    };
    assert_eq!((kinds("row"), kinds("open")), (json!("bad-row"), json!("bad-row")), "{outcome}");
    assert_eq!(problems(&document), ["head bad-header"], "{outcome}");
    for format in ["--json", "--jsonl"] {
        run_small(&sandbox, &["sessions", "events", "row", "--salvage", format]).success();
    }
    let error = run_small(&sandbox, &["uri", "encode", "--json", "--json-strings", "[[[[[["]);
    error.fails(2, "usage");
    run_small(&sandbox, &["reference", "prepare", "--json", "Go on", "--reference", "head"]).exits(4);
}

/// A frame header that states how many bytes come, a last block without any, and a checksum.
fn boastful_frame(bytes: u64) -> Vec<u8> {
    let mut frame = vec![0x28, 0xB5, 0x2F, 0xFD, 0xE4];
    frame.extend(bytes.to_le_bytes());
    frame.extend([1, 0, 0, 0, 0, 0, 0]);
    frame
}

/// A frame of blocks that each say one byte 131072 times.
fn bomb(blocks: usize) -> Vec<u8> {
    let mut frame = vec![0x28, 0xB5, 0x2F, 0xFD, 0x00, 0x38];
    let head = ((131_072u32 << 3) | (1 << 1)).to_le_bytes();
    for _ in 0..blocks {
        frame.extend([head[0], head[1], head[2], b' ']);
    }
    frame.extend([1, 0, 0]);
    frame
}

#[test]
fn a_frame_does_not_decide_how_much_memory_is_taken() {
    let sandbox = Sandbox::new();
    let mut logs = Vec::new();
    for (id, frame) in
        [("boast", boastful_frame(20 << 30)), ("boast-more", boastful_frame(u64::MAX)), ("bomb", bomb(24_000))]
    {
        let path = directory(&sandbox, id).join("session.jsonl.zstd");
        let mut bytes = zstd::bulk::compress(header(id).as_bytes(), 3).unwrap();
        bytes.extend(&frame);
        fs::write(path, bytes).unwrap();
        fs::write(directory(&sandbox, &format!("{id}-head")).join("session.jsonl.zstd"), frame).unwrap();
        logs.push(id);
    }
    let outcome = run_small(&sandbox, &["sessions", "check", "--json"]).exits(4);
    let document = outcome.json();
    let verdicts: Vec<Value> =
        document["sessions"].as_array().unwrap().iter().map(|s| json!([s["sessionId"], s["verdict"]])).collect();
    let expected: Vec<Value> = logs.iter().map(|id| json!([id, "damaged"])).collect();
    assert_eq!(verdicts, expected, "{outcome}");
    assert_eq!(document["problems"].as_array().unwrap().len(), 3, "{outcome}");
    for id in logs {
        run_small(&sandbox, &["sessions", "show", "--json", id]).fails(4, "SESSION_QUERY_CORRUPT_SESSION");
        run_small(&sandbox, &["sessions", "list", "--long", "--json"]).success();
        let salvaged = run_small(&sandbox, &["sessions", "show", "--json", "--salvage", id]);
        assert!(matches!(salvaged.status, Some(0 | 4)), "{salvaged}");
    }
}

#[test]
fn a_line_without_end_is_not_kept() {
    let sandbox = home();
    // Sparse: zeros up to the end.
    let row = directory(&sandbox, "row").join("session.jsonl");
    fs::write(&row, header("row")).unwrap();
    OpenOptions::new().append(true).open(&row).unwrap().set_len(1 << 30).unwrap();
    let head = directory(&sandbox, "head").join("session.jsonl");
    fs::File::create(&head).unwrap().set_len(1 << 34).unwrap();
    let outcome = run_small(&sandbox, &["sessions", "list", "--long", "--json"]).success();
    let document = outcome.json();
    assert_eq!(document["sessions"].as_array().unwrap().len(), 2, "{outcome}");
    assert_eq!(problems(&document).len(), 2, "{outcome}");
}

#[test]
fn an_unreadable_log_is_one_problem() {
    use std::os::unix::fs::PermissionsExt;
    let sandbox = home();
    let log = sandbox.plain_log("secret", &[]);
    fs::set_permissions(&log, fs::Permissions::from_mode(0o000)).unwrap();
    if fs::read(&log).is_ok() {
        eprintln!("skipped: this user may read what nobody may read");
        return;
    }
    let outcome = sandbox.run(&["sessions", "list", "--json"]).success();
    assert_eq!(problems(&outcome.json()), ["secret unreadable"]);
    sandbox.run(&["sessions", "show", "secret", "--json"]).fails(8, "io");
}
