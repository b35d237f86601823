//! What every command has in common: the shape of documents and errors, and how the program ends.

use crate::support::{Sandbox, turn, write_log};
use serde_json::{Value, json};
use std::io::Read;
use std::process::{Command, Stdio};

/// A home with two sessions.
fn home() -> Sandbox {
    let sandbox = Sandbox::new();
    for (number, id) in [(1, "s1"), (2, "s2")] {
        let header = json!({"type": "session", "version": 0, "id": id, "createdAt": number, "delegationDepth": 0});
        write_log(&sandbox, "_no-cwd", &header, &turn("asks", "answers"));
    }
    sandbox
}

/// Every command that prints a document, the document's name, and its members beside `schema`.
const DOCUMENTS: [(&[&str], &str, &[&str]); 19] = [
    (&["uri", "encode", "a"], "uri.encode", &["uris"]),
    (&["uri", "decode", "dsh-session:ImEi"], "uri.decode", &["sessions"]),
    (&["uri", "mention", "a"], "uri.mention", &["mentions"]),
    (&["uri", "parse", "a"], "uri.parse", &["references", "text"]),
    (&["sessions", "list"], "sessions.list", &["problems", "sessions"]),
    (&["sessions", "list", "--long"], "sessions.list", &["problems", "sessions"]),
    (&["sessions", "show", "s1"], "sessions.show", &["capturedThroughSeq", "messages", "session", "warnings"]),
    (&["sessions", "events", "s1"], "sessions.events", &["events", "session"]),
    (&["sessions", "event", "s1", "3"], "sessions.event", &["endSeq", "events", "session", "startSeq", "target"]),
    (&["sessions", "latest"], "sessions.latest", &["session"]),
    (&["sessions", "search", "answers"], "sessions.search", &["items", "notes"]),
    (&["sessions", "trace", "s1"], "sessions.trace", &["ancestors", "complete", "descendants", "root", "target"]),
    (
        &["sessions", "status", "s1"],
        "sessions.status",
        &[
            "completed",
            "errorCode",
            "lastSeq",
            "lastTime",
            "live",
            "openStep",
            "openTurn",
            "pending",
            "reason",
            "session",
            "state",
            "turns",
        ],
    ),
    (&["sessions", "check"], "sessions.check", &["dshLists", "problems", "sessions"]),
    (&["sessions", "path"], "sessions.path", &["paths"]),
    (&["sessions", "projections", "s1"], "sessions.projections", &["asOfSeq", "session", "values"]),
    (&["sessions", "usage"], "sessions.usage", &["by", "includesInherited", "notes", "rows", "total"]),
    (&["reference", "candidates", "--target", "s1"], "reference.candidates", &["candidates"]),
    (&["reference", "prepare", "Go on", "--reference", "s1", "--explain"], "reference.explain", &["budget", "sources"]),
];

/// The members of an object.
fn members(value: &Value) -> Vec<&str> {
    let mut members: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
    members.sort_unstable();
    members
}

#[test]
fn every_document_names_its_schema() {
    let sandbox = home();
    for (command, name, expected) in DOCUMENTS {
        for format in [&["--json"][..], &["--format", "json"], &["--format=json"]] {
            let outcome = sandbox.run(&[command, format].concat()).success();
            let mut document = outcome.json();
            let schema = document.as_object_mut().unwrap().remove("schema").unwrap();
            assert_eq!(schema, format!("dshkit/{name}/1"), "{outcome}");
            assert!(outcome.text().starts_with(r#"{"schema":""#), "{outcome}");
            assert!(outcome.text().ends_with("}\n") && outcome.text().lines().count() == 1, "{outcome}");
            assert_eq!(members(&document), expected, "{outcome}");
            assert!(outcome.stderr.is_empty(), "{outcome}");
        }
    }
    let prepare = ["reference", "prepare", "Go on", "--reference", "s1", "--json"];
    let document = sandbox.run(&prepare).success().json();
    assert_eq!(document["schema"], "dshkit/reference.prepare/1");
    assert_eq!(members(&document), ["additionalContext", "content", "report", "schema"]);
}

#[test]
fn sessions_have_the_same_members_everywhere() {
    let sandbox = home();
    let plain = [
        "agentPreset",
        "bytes",
        "createdAt",
        "cwd",
        "delegationDepth",
        "encoding",
        "formatVersion",
        "generations",
        "isSeeded",
        "live",
        "origin",
        "parentSession",
        "path",
        "persisted",
        "seedLength",
        "sessionId",
    ];
    let list = sandbox.run(&["sessions", "list", "--json"]).success().json();
    assert_eq!(members(&list["sessions"][0]), plain);
    for command in [&["show", "latest"][..], &["events", "latest"], &["event", "latest", "0"]] {
        let document = sandbox.run(&[&["sessions", "--json"], command].concat()).success().json();
        assert_eq!(document["session"], list["sessions"][0], "{command:?}");
    }
    let long = sandbox.run(&["sessions", "list", "--long", "--json"]).success().json();
    let more = ["endState", "health", "lastActivityAt", "lastPromptAt", "title", "titleSource", "tokens", "turns"];
    let mut all: Vec<&str> = plain.into_iter().chain(more).collect();
    all.sort_unstable();
    assert_eq!(members(&long["sessions"][0]), all);
}

#[test]
fn records_are_the_members_of_the_document_one_a_line() {
    let sandbox = home();
    for (command, name, _) in DOCUMENTS {
        let records = sandbox.run(&[command, &["--jsonl"]].concat()).success().records();
        let document = sandbox.run(&[command, &["--json"]].concat()).success().json();
        let list = match name {
            // These are one record each.
            "uri.parse" | "sessions.latest" | "sessions.trace" | "sessions.status" | "sessions.projections" => {
                assert_eq!(records.len(), 1, "{command:?}");
                continue;
            }
            "sessions.search" => "items",
            "uri.encode" => "uris",
            "uri.decode" | "sessions.list" | "sessions.check" => "sessions",
            "uri.mention" => "mentions",
            "sessions.show" => "messages",
            "sessions.path" => "paths",
            "sessions.usage" => "rows",
            "reference.candidates" => "candidates",
            "reference.explain" => "sources",
            _ => "events",
        };
        // Records come as they are found, the document may order them.
        let sorted = |mut values: Vec<Value>| {
            if name == "sessions.search" {
                values.sort_by_key(Value::to_string);
            }
            values
        };
        assert_eq!(sorted(records.clone()), sorted(document[list].as_array().unwrap().clone()), "{command:?}");
        assert!(!records.is_empty(), "{command:?}");
    }
}

#[test]
fn filters_print_lines_and_other_commands_json_where_no_terminal_is() {
    let sandbox = home();
    for (command, name, _) in DOCUMENTS {
        let outcome = sandbox.run(command).success();
        let is_filter = name.starts_with("uri.") || name == "sessions.path";
        assert_eq!(outcome.text().starts_with('{'), !is_filter, "{outcome}");
    }
}

#[test]
fn an_index_changes_no_answer() {
    for case in ["cases/01", "cases/07", "cases/10", "cases/11"] {
        let sandbox = Sandbox::with_data(case);
        // The first run makes the index, the second finds it, the third finds that it is gone.
        for run in 0..3 {
            for query in ["KEPT", "SKU 77", "补一次历史数据", "a", "换行", "is nowhere", "<tag>", "%", "\"quote\""]
            {
                let plain = sandbox.run(&["sessions", "search", "--json", "--", query]);
                let indexed = sandbox.run(&["sessions", "search", "--json", "--index", "--", query]);
                assert!(matches!(plain.status, Some(0 | 1)), "{plain}");
                assert_eq!((plain.status, &plain.stdout), (indexed.status, &indexed.stdout), "{run}: {query}");
            }
            if run == 1 {
                std::fs::remove_dir_all(sandbox.path("cache")).unwrap();
            }
        }
    }
}

#[test]
fn errors_go_to_standard_error_alone() {
    let sandbox = home();
    let errors: [(&[&str], i32, &str); 8] = [
        (&["uri", "decode", "dsh-session:!"], 2, "SESSION_REFERENCE_INVALID_REFERENCE"),
        (&["sessions", "show", "missing"], 3, "SESSION_QUERY_SESSION_NOT_FOUND"),
        (&["sessions", "events", "missing"], 3, "SESSION_QUERY_SESSION_NOT_FOUND"),
        (&["sessions", "event", "s1", "99"], 3, "SESSION_QUERY_EVENT_NOT_FOUND"),
        (&["sessions", "list", "--store", "missing"], 8, "io"),
        (&["reference", "prepare", "Go on", "--reference", "missing"], 3, "SESSION_REFERENCE_READ_FAILED"),
        (&["reference", "candidates", "--target", "x", "--limit", "0"], 2, "SESSION_REFERENCE_INVALID_REFERENCE"),
        (&["reference", "expand", "missing"], 8, "io"),
    ];
    for (command, status, code) in errors {
        for format in [&["--json"][..], &["--jsonl"], &["--format", "jsonl"]] {
            let outcome = sandbox.run(&[command, format].concat());
            assert_eq!(outcome.stderr.lines().count(), 1, "{outcome}");
            let error = outcome.fails(status, code);
            let message = error["message"].as_str().unwrap();
            assert!(!message.is_empty() && !message.ends_with('.'), "{message}");
        }
        let text = sandbox.run(&[command, &["--format", "text"]].concat()).exits(status);
        assert!(text.stdout.is_empty() && text.stderr.starts_with("error: "), "{text}");
        assert!(text.stderr.lines().skip(1).all(|line| line.starts_with("hint: ")), "{text}");
    }
}

#[test]
fn a_wrong_command_line_is_a_usage_error() {
    let sandbox = home();
    let wrong: [&[&str]; 16] = [
        &["sessions", "list", "--no-such-option"],
        &["sessions", "no-such-command"],
        &["no-such-command"],
        &["sessions", "show"],
        &["sessions", "show", "s1", "s2"],
        &["sessions", "show", "s1", "--tail", "x"],
        &["sessions", "show", "s1", "--view", "x"],
        &["sessions", "list", "--format", "x"],
        &["sessions", "list", "--json", "--jsonl"],
        &["sessions", "list", "--strict", "--salvage"],
        &["reference", "prepare", "a", "b"],
        &["reference", "prepare", "a", "--compat", "x"],
        &["reference", "prepare", "a", "--draft", "b"],
        &["reference", "prepare", "a", "--explain", "--spill", "b"],
        &["reference", "candidates"],
        &["reference", "expand"],
    ];
    for command in wrong {
        let outcome = sandbox.run(command).exits(2);
        assert!(outcome.stdout.is_empty() && !outcome.stderr.is_empty(), "{outcome}");
        if !command.contains(&"--jsonl") && !command.contains(&"--format") {
            sandbox.run(&[command, &["--json"]].concat()).fails(2, "usage");
        }
    }
    for command in [&[][..], &["sessions"], &["uri"]] {
        let outcome = sandbox.run(command).exits(2);
        assert!(outcome.stdout.is_empty(), "{outcome}");
    }
}

#[test]
fn help_and_version_are_data() {
    let sandbox = Sandbox::new();
    for command in [&["--help"][..], &["sessions", "--help"], &["sessions", "list", "--help"], &["uri", "encode", "-h"]]
    {
        let outcome = sandbox.run(command).success();
        assert!(outcome.text().contains("Usage: dshkit"), "{outcome}");
        assert!(outcome.stderr.is_empty(), "{outcome}");
    }
    let short = sandbox.run(&["-V"]).success();
    assert!(short.text().starts_with(concat!("dshkit ", env!("CARGO_PKG_VERSION"))), "{short}");
    assert_eq!(short.text().lines().count(), 1, "{short}");
    let long = sandbox.run(&["--version"]).success();
    assert!(long.text().starts_with(short.text()) && long.text().contains("v0, v1, v2, v3 and v4"), "{long}");
}

/// A home with a session that is more than a pipe holds, whatever is shown of it.
fn long_home() -> Sandbox {
    let sandbox = Sandbox::new();
    let mut rows = vec![json!({"type": "turn/start", "seq": 0, "time": 1, "data": {"turn": 1}}).to_string()];
    let text = "a line of a long session ".repeat(6);
    for seq in 1..2000 {
        let content = json!([{"type": "text", "text": text}]);
        let data = json!({"id": format!("m{seq}"), "role": "user", "source": {"kind": "user"}, "content": content});
        rows.push(
            json!({"type": "user/message", "seq": seq, "time": 1, "data": data, "surfaceOp": "append"}).to_string(),
        );
    }
    let header = json!({"type": "session", "version": 0, "id": "long", "createdAt": 1, "delegationDepth": 0});
    write_log(&sandbox, "_no-cwd", &header, &rows);
    sandbox
}

/// Runs a command whose reader goes away after so many bytes.
fn with_closed_pipe(mut command: Command, bytes: usize) -> (Option<i32>, String) {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdout = child.stdout.take().unwrap();
    stdout.read_exact(&mut vec![0; bytes]).unwrap();
    drop(stdout);
    let output = child.wait_with_output().unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn a_closed_pipe_ends_quietly() {
    let sandbox = long_home();
    let commands: [&[&str]; 9] = [
        &["sessions", "show", "long", "--json"],
        &["sessions", "show", "long", "--jsonl"],
        &["sessions", "show", "long", "--format", "text"],
        &["sessions", "events", "long", "--json"],
        &["sessions", "events", "long", "--jsonl"],
        &["sessions", "events", "long", "--format", "text"],
        &["sessions", "events", "long", "--full", "--jsonl"],
        &["sessions", "events", "long", "--raw"],
        &["reference", "prepare", "Go on", "--reference", "long", "--max-bytes", "2000000", "--json"],
    ];
    for arguments in commands {
        // Or there would be nothing to break off.
        assert!(sandbox.run(arguments).success().stdout.len() > 100_000, "{arguments:?}");
        for bytes in [0, 5000] {
            let mut command = sandbox.command();
            command.args(arguments);
            assert_eq!(with_closed_pipe(command, bytes), (Some(0), String::new()), "{arguments:?} {bytes}");
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn output_that_cannot_be_written_is_an_error() {
    let sandbox = long_home();
    for arguments in [
        &["sessions", "list", "--json"][..],
        &["sessions", "show", "long", "--json"],
        &["sessions", "events", "long", "--jsonl"],
        &["sessions", "events", "long", "--raw"],
        &["sessions", "path"],
        &["uri", "encode", "a"],
    ] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut command = sandbox.command();
        let output = command.args(arguments).stdin(Stdio::null()).stdout(full).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(8), "{arguments:?}\n{stderr}");
        assert!(!stderr.is_empty(), "{arguments:?}");
    }
}
