//! What was left out of a reference: that it is told, saved whole, and comes back exactly.

use crate::support::{Outcome, Sandbox, turn, write_log};
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;

const QUESTION: &str = "one\ntwo\r\n\u{2028}漢字 😀 \"quoted\" <tag> \\ \u{1b}[2J";

/// A home with the sessions `s1` and `s2`, whose answers do not fit into 400 bytes, and a directory for
/// what is saved.
fn home() -> Sandbox {
    let sandbox = Sandbox::new();
    for (number, id) in [(1, "s1"), (2, "s2")] {
        let header = json!({"type": "session", "version": 0, "id": id, "createdAt": number, "delegationDepth": 0});
        write_log(&sandbox, "_no-cwd", &header, &turn(QUESTION, &answer(id)));
    }
    fs::create_dir(sandbox.path("spill")).unwrap();
    sandbox
}

fn answer(id: &str) -> String {
    format!("{id}: {}", "漢字 and 😀😀 words\n".repeat(60))
}

fn prepare(sandbox: &Sandbox, more: &[&str]) -> Outcome {
    let words = ["reference", "prepare", "--json", "Go on", "--max-bytes", "400", "--reference", "s1"];
    sandbox.run(&[&words, more].concat())
}

/// What the model is told of omissions: the list behind the heading.
#[track_caller]
fn omissions(outcome: &Outcome) -> Value {
    let document = outcome.json();
    let text = document["additionalContext"]["content"][0]["text"].as_str().unwrap().to_owned();
    let (_, notice) = text.split_once("\n</referenced-sessions>").unwrap();
    let lines: Vec<&str> = notice.split('\n').collect();
    let [_, "", "## Reference omissions", "", _, json] = lines[..] else { panic!("{notice}") };
    assert!(!json.contains('<'), "{json}");
    serde_json::from_str(json).unwrap()
}

fn saved(sandbox: &Sandbox) -> Vec<String> {
    let name = |entry: Result<fs::DirEntry, _>| entry.unwrap().file_name().into_string().unwrap();
    let mut names: Vec<String> = fs::read_dir(sandbox.path("spill")).unwrap().map(name).collect();
    names.sort();
    names
}

#[test]
fn what_is_left_out_is_told_behind_the_envelope() {
    let sandbox = home();
    let outcome = prepare(&sandbox, &[]).success();
    let document = outcome.json();
    let (report, told) = (&document["report"][0], omissions(&outcome));
    let expected = json!([{
        "sessionId": "s1",
        "capturedThroughSeq": 5,
        "omittedMessages": report["omittedMessages"],
        "omittedBytes": report["omittedBytes"],
        "fullSnapshot": {"status": "unavailable", "reason": "storage-not-configured"},
    }]);
    assert_eq!(told, expected);
    assert_eq!(report["fullSnapshot"], expected[0]["fullSnapshot"]);
    let whole = sandbox.run(&["reference", "prepare", "--json", "Go on", "--reference", "s1"]).success();
    assert!(!whole.text().contains("omissions"), "{whole}");
    let old = prepare(&sandbox, &["--compat", "dsh-0.1"]).success();
    assert!(!old.text().contains("omissions") && !old.text().contains("fullSnapshot"), "{old}");
}

#[test]
fn only_what_does_not_fit_is_saved_and_it_comes_back_exactly() {
    let sandbox = home();
    sandbox.plain_log("empty", &[]);
    let more = ["--reference", "empty", "--reference", "s2=the <second>", "--spill", "spill"];
    let outcome = prepare(&sandbox, &more).success();
    assert_eq!(saved(&sandbox), ["session-reference-1.txt", "session-reference-3.txt"]);
    let told = omissions(&outcome);
    assert_eq!(told.as_array().unwrap().len(), 2);
    for (index, (id, label)) in [("s1", "s1"), ("s2", "the <second>")].into_iter().enumerate() {
        let full = &told[index]["fullSnapshot"];
        assert_eq!((&told[index]["sessionId"], &full["status"]), (&json!(id), &json!("saved")), "{outcome}");
        let members: Vec<&String> = full.as_object().unwrap().keys().collect();
        assert_eq!(members, ["bytes", "locator", "retrievalHint", "status"]);
        let path = PathBuf::from(full["locator"].as_str().unwrap());
        let file = fs::read(&path).unwrap();
        assert!(path.is_absolute() && file.len() as u64 == full["bytes"].as_u64().unwrap(), "{outcome}");
        let expected = json!({
            "schema": "dshkit/reference.expand/1",
            "sessionId": id,
            "label": label,
            "cwd": null,
            "capturedThroughSeq": 5,
            "messages": [{"role": "user", "text": QUESTION}, {"role": "assistant", "text": answer(id)}],
        });
        assert_eq!(sandbox.run(&["reference", "expand", "--json", path.to_str().unwrap()]).success().json(), expected);
        assert_eq!(sandbox.run_with_input(&["reference", "expand", "--json", "-"], &file).success().json(), expected);
        let records = sandbox.run(&["reference", "expand", "--jsonl", path.to_str().unwrap()]).success().records();
        assert_eq!(json!(records), expected["messages"]);
        let text = sandbox.run(&["reference", "expand", "--format", "text", path.to_str().unwrap()]).success();
        assert!(text.text().contains("one\ntwo\\r\n") && !text.text().contains('\u{1b}'), "{text}");
    }
}

#[test]
fn unpaired_surrogates_come_back() {
    let sandbox = home();
    let log = sandbox.sessions().join("_no-cwd/s1/session.jsonl");
    // On both sides of the end of a line of 64 code points, and in the middle of one.
    let odd = format!(r"{}\ud83d\ud83d{}\udc00\ude00", "漢".repeat(63), "x".repeat(9));
    let text = fs::read_to_string(&log).unwrap().replacen("s1: ", &format!("{odd}s1: "), 1);
    fs::write(&log, text).unwrap();
    prepare(&sandbox, &["--spill", "spill"]).success();
    let expanded = sandbox.run(&["reference", "expand", "--json", "spill/session-reference-1.txt"]).success();
    assert!(expanded.text().contains(&format!(r#""text":"{odd}s1: 漢字 and 😀😀 words\n"#)), "{expanded}");
}

#[test]
fn nothing_is_overwritten_and_files_are_their_owner_s() {
    let sandbox = home();
    fs::write(sandbox.path("spill/session-reference-1.txt"), "mine").unwrap();
    for count in 2..4 {
        let outcome = prepare(&sandbox, &["--spill", "spill"]).success();
        let locator = omissions(&outcome)[0]["fullSnapshot"]["locator"].as_str().unwrap().to_owned();
        assert!(locator.ends_with(&format!("spill/session-reference-1-{count}.txt")), "{locator}");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(fs::metadata(&locator).unwrap().permissions().mode() & 0o777, 0o600);
        }
    }
    assert_eq!(fs::read_to_string(sandbox.path("spill/session-reference-1.txt")).unwrap(), "mine");
}

#[test]
fn a_preview_comes_also_if_nothing_can_be_saved() {
    let sandbox = home();
    fs::write(sandbox.path("a-file"), "").unwrap();
    for directory in ["missing", "a-file", "/proc"] {
        let outcome = prepare(&sandbox, &["--spill", directory]).success();
        let expected = json!({"status": "unavailable", "reason": "save-failed"});
        assert_eq!(omissions(&outcome)[0]["fullSnapshot"], expected, "{outcome}");
        assert_eq!(outcome.json()["report"][0]["fullSnapshot"], expected, "{outcome}");
        assert!(outcome.stderr.starts_with("warning: could not save a file in "), "{outcome}");
        let strict = prepare(&sandbox, &["--spill", directory, "--strict"]).exits(6);
        assert_eq!(strict.stdout, outcome.stdout);
    }
    assert!(!sandbox.path("missing").exists());
    // Where nothing need be saved nothing can fail.
    let words = ["reference", "prepare", "Go on", "--reference", "s1", "--spill", "missing", "--strict"];
    assert!(sandbox.run(&words).success().stderr.is_empty());
}

#[test]
fn what_fails_leaves_no_file() {
    let sandbox = home();
    let log = sandbox.sessions().join("_no-cwd/s2/session.jsonl");
    let damaged = fs::read_to_string(&log).unwrap().replacen("\"seq\":1,", "\"seq\":7,", 1);
    fs::write(&log, damaged).unwrap();
    let failing: [&[&str]; 3] = [
        &["--reference", "s2", "--spill", "spill"],
        &["--reference", "missing", "--spill", "spill"],
        &["--max-references", "1", "--reference", "s2", "--spill", "spill"],
    ];
    for words in failing {
        assert_ne!(prepare(&sandbox, words).status, Some(0));
        assert!(saved(&sandbox).is_empty(), "{words:?}");
    }
    #[cfg(target_os = "linux")]
    {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut command = sandbox.command();
        command.args(["reference", "prepare", "Go on", "--max-bytes", "400", "--reference", "s1", "--spill", "spill"]);
        let output = command.stdin(std::process::Stdio::null()).stdout(full).output().unwrap();
        assert_eq!(output.status.code(), Some(8));
        assert!(saved(&sandbox).is_empty(), "a message that nobody got names no file");
    }
}

#[test]
fn a_file_that_is_none_is_refused_with_its_line() {
    let sandbox = home();
    prepare(&sandbox, &["--spill", "spill"]).success();
    let good = fs::read_to_string(sandbox.path("spill/session-reference-1.txt")).unwrap();
    let expand = |text: &[u8]| {
        fs::write(sandbox.path("changed.txt"), text).unwrap();
        let outcome = sandbox.run(&["reference", "expand", "--json", "changed.txt"]);
        let error = outcome.fails(4, "corrupt-transcript");
        assert_eq!((&error["path"], &error["kind"]), (&json!("changed.txt"), &json!("bad-row")));
        error["line"].as_u64().unwrap()
    };
    let line_of = |text: &str| good.lines().position(|line| line.contains(text)).unwrap() as u64 + 1;
    assert_eq!(expand(b""), 1);
    assert_eq!(expand(b"\xff\xfe\n"), 1);
    assert_eq!(expand(good.replacen("### Message 2", "### Message 3", 1).as_bytes()), line_of("### Message 2"));
    assert_eq!(expand(good.replacen("\"one", "one", 1).as_bytes()), line_of("\"one"));
    assert_eq!(expand(good.replacen("\"label\"", "label", 1).as_bytes()), line_of("\"label\"") + 4 - 1);
    assert_eq!(expand(good.trim_end().as_bytes()), good.lines().count() as u64);
    let mut bytes = good.clone().into_bytes();
    let at = good.find("\"one").unwrap();
    bytes[at + 1] = 0xFF;
    assert_eq!(expand(&bytes), line_of("\"one"));
    let text = sandbox.run(&["reference", "expand", "--format", "text", "changed.txt"]).exits(4);
    assert!(text.stdout.is_empty() && text.stderr.starts_with("error: changed.txt, line "), "{text}");
    for missing in ["missing.txt", "spill"] {
        sandbox.run(&["reference", "expand", "--json", missing]).fails(8, "io");
    }
}
