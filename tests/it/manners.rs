//! How the program behaves in a real terminal: colour, width, pager, progress, and an interrupt.

use crate::support::{Sandbox, turn, write_log};
use crate::terminal::{Terminal, has, wait_for};
use serde_json::json;
use std::fs;

/// A home with a few sessions.
fn home() -> Sandbox {
    let sandbox = Sandbox::new();
    for number in 0..3 {
        let cwd = format!("/a/directory/with/a/long/name/{}", "x".repeat(60));
        let id = format!("s{number}");
        let header =
            json!({"type": "session", "version": 0, "id": id, "createdAt": number, "cwd": cwd, "delegationDepth": 0});
        let project = dshkit::stores::jsonl::layout::project_key(Some(&cwd.as_str().into())).unwrap();
        write_log(&sandbox, &project, &header, &turn("asks", "answers"));
    }
    sandbox
}

/// What a terminal so wide is sent by a command line.
fn printed(sandbox: &Sandbox, columns: u16, command_line: &str) -> String {
    for file in ["go", "done", "bytes"] {
        let _ = fs::remove_file(sandbox.path(file));
    }
    let script =
        format!("while [ ! -e go ]; do sleep 0.05; done\n{command_line}\necho end-of-it\ntouch done\nsleep 1000\n");
    fs::write(sandbox.path("run.sh"), script).unwrap();
    let terminal = Terminal::open(sandbox, (columns, 40), "sh run.sh");
    terminal.record(&sandbox.path("bytes"));
    fs::write(sandbox.path("go"), "").unwrap();
    assert!(wait_for(|| sandbox.path("done").exists()), "{command_line} ends; the screen is\n{}", terminal.screen());
    let read = || String::from_utf8_lossy(&fs::read(sandbox.path("bytes")).unwrap_or_default()).into_owned();
    assert!(wait_for(|| read().contains("end-of-it")), "{}", read());
    read().replace("\r\n", "\n")
}

#[test]
fn a_terminal_gets_text_in_colour_and_in_its_width() {
    if !has("colour and width in a terminal", &["tmux"]) {
        return;
    }
    let sandbox = home();
    let list = printed(&sandbox, 70, "dshkit sessions list");
    assert!(list.contains("\u{1b}[1m SESSION") && list.contains('…'), "{list}");
    let plain = |line: &str| line.replace("\u{1b}[1m", "").replace("\u{1b}[0m", "");
    let width = list.lines().map(|line| unicode_width::UnicodeWidthStr::width(&*plain(line))).max().unwrap();
    assert!(width <= 70, "{width} columns\n{list}");
    let wide = printed(&sandbox, 70, "COLUMNS=200 dshkit sessions list");
    assert!(!wide.contains('…'), "{wide}");
    for without in ["NO_COLOR=1 dshkit", "TERM=dumb dshkit", "dshkit --color never"] {
        let list = printed(&sandbox, 120, &format!("{without} sessions list"));
        assert!(list.contains("SESSION") && !list.contains('\u{1b}'), "{list:?}");
    }
    let piped = printed(&sandbox, 120, "dshkit sessions list | cat");
    assert!(piped.starts_with('{'), "{piped}");
}

#[test]
fn long_text_goes_through_the_pager_on_a_terminal_alone() {
    if !has("the pager", &["tmux"]) {
        return;
    }
    let sandbox = home();
    let pager = "PAGER='sed s/^/PAGED:/' dshkit";
    let shown = printed(&sandbox, 100, &format!("{pager} sessions show s1"));
    assert!(shown.contains("PAGED:asks"), "{shown}");
    for command in ["sessions show s1 --no-pager", "sessions show s1 | cat", "sessions list", "--json sessions show s1"]
    {
        let shown = printed(&sandbox, 100, &format!("{pager} {command}"));
        assert!(!shown.contains("PAGED") && (shown.contains("s1") || shown.contains("asks")), "{command}: {shown}");
    }
    // A pager that is not there, or reads nothing, is no error of ours.
    for pager in ["no-such-pager", "true", "cat"] {
        let shown = printed(&sandbox, 100, &format!("PAGER={pager} dshkit sessions show s1; echo status $?"));
        assert!(shown.contains("status 0"), "{pager}: {shown}");
    }
}

#[test]
fn quiet_says_nothing_but_the_answer() {
    let sandbox = home();
    fs::write(sandbox.sessions().join("stray.jsonl"), "").unwrap();
    let bad = sandbox.sessions().join("_no-cwd/bad");
    fs::create_dir_all(&bad).unwrap();
    fs::write(bad.join("session.jsonl"), "no header\n").unwrap();
    let loud = sandbox.run(&["sessions", "list", "--format", "text"]).success();
    assert!(loud.stderr.contains("warning: "), "{loud}");
    let quiet = sandbox.run(&["sessions", "list", "--format", "text", "-q"]).success();
    assert!(quiet.stderr.is_empty() && quiet.text() == loud.text(), "{quiet}");
    // An error is no warning.
    assert!(!sandbox.run(&["sessions", "show", "nobody", "-q"]).exits(3).stderr.is_empty());
}

#[cfg(unix)]
#[test]
fn an_interrupted_build_leaves_an_index_that_is_used() {
    use std::process::Command;
    let sandbox = Sandbox::new();
    for number in 0..300 {
        let header = json!({"type": "session", "version": 0, "id": format!("s{number}"), "createdAt": number, "delegationDepth": 0});
        write_log(&sandbox, "_no-cwd", &header, &turn(&"asks something long ".repeat(200), "answers"));
    }
    let mut command = sandbox.command();
    let mut child = command.args(["index", "build"]).spawn().unwrap();
    // As soon as there is anything to leave half-written.
    assert!(wait_for(|| sandbox.path("cache/dshkit/index").exists()));
    let status = Command::new("/bin/sh").args(["-c", &format!("kill -INT {}", child.id())]).status().unwrap();
    assert!(status.success());
    child.wait().unwrap();
    let found = sandbox.run(&["sessions", "search", "--index", "answers", "--jsonl"]).success();
    assert_eq!(found.records().len(), 300);
    assert!(found.stderr.is_empty(), "{found}");
}
