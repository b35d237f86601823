//! The small homes in `tests/data/cases`, each about one thing, and what must hold of them.

use crate::support::{Differences, Sandbox, compact, data, read_json, sha256};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

/// The session of an id in a list of sessions.
#[track_caller]
fn of<'v>(sessions: &'v Value, id: &str) -> &'v Value {
    let sessions = sessions.as_array().unwrap();
    sessions.iter().find(|session| session["sessionId"] == id).unwrap_or_else(|| panic!("there is no {id}"))
}

// 01: two logs whose last frame was cut off. The frame of the large one holds a whole block of 128 KiB,
// with 26 complete records in it; that of the small one holds none.

#[test]
fn case_01_torn_logs_are_listed_with_their_health_and_a_warning() {
    let outcome = Sandbox::with_data("cases/01").run(&["sessions", "list", "--long", "--json"]).success();
    let document = outcome.json();
    assert_eq!(document["sessions"].as_array().unwrap().len(), 2);
    for (id, byte) in [("session-torn-small", "1891"), ("session-torn-large", "1890")] {
        assert_eq!(of(&document["sessions"], id)["health"], "torn-tail");
        let path = of(&document["sessions"], id)["path"].as_str().unwrap().to_owned();
        let warnings: Vec<&str> = outcome.stderr.lines().filter(|line| line.contains(&path)).collect();
        assert_eq!(warnings.len(), 1, "{outcome}");
        assert!(warnings[0].contains(&format!("byte {byte}")), "{outcome}");
    }
}

#[test]
fn case_01_complete_records_of_a_torn_frame_count() {
    let document = Sandbox::with_data("cases/01").run(&["sessions", "check", "--json"]).success().json();
    let expected =
        [("session-torn-small", json!([13, 13, null, 1891])), ("session-torn-large", json!([39, 41, 3, 1890]))];
    for (id, expected) in expected {
        let session = of(&document["sessions"], id);
        let problem = &session["problems"][0];
        let facts = ["storedEvents", "logicalEvents", "openTurn"].map(|key| session[key].clone());
        let [stored, logical, turn] = facts;
        assert_eq!(json!([stored, logical, turn, problem["byte"]]), expected, "{id}");
        assert_eq!(session["verdict"], "recoverable", "{id}");
        assert_eq!(problem["kind"], "torn-tail", "{id}");
    }
    assert_eq!(document["dshLists"], true);
}

#[test]
fn case_01_an_interrupted_turn_is_closed_on_reading() {
    let sandbox = Sandbox::with_data("cases/01");
    let events = sandbox.run(&["sessions", "events", "session-torn-large", "--jsonl"]).success().records();
    let seqs: Vec<u64> = events.iter().map(|event| event["seq"].as_u64().unwrap()).collect();
    assert_eq!(seqs, (0..=40).collect::<Vec<u64>>());
    let synthetic: Vec<&Value> =
        events.iter().filter(|event| event["synthetic"] == true).map(|event| &event["seq"]).collect();
    assert_eq!(synthetic, [39, 40]);
    let small = sandbox.run(&["sessions", "events", "session-torn-small", "--jsonl"]).success().records();
    assert_eq!(small.last().unwrap()["seq"], 12);
}

#[test]
fn case_01_torn_logs_are_searched() {
    let sandbox = Sandbox::with_data("cases/01");
    for query in ["补一次历史数据", "SKU 77"] {
        let found = sandbox.run(&["sessions", "search", query, "--json"]).success().json();
        let mut ids: Vec<&Value> =
            found["items"].as_array().unwrap().iter().map(|item| &item["session"]["sessionId"]).collect();
        ids.sort_by_key(|id| id.to_string());
        assert_eq!(ids, ["session-torn-large", "session-torn-small"], "{query}");
        let within = ["sessions", "search", query, "--session", "session-torn-small", "--json"];
        assert_eq!(sandbox.run(&within).success().json()["items"].as_array().unwrap().len(), 1, "{query}");
    }
}

#[test]
fn case_01_a_plain_line_without_its_end_is_not_read() {
    let sandbox = Sandbox::new();
    let path = sandbox.plain_log("torn", &[r#"{"type":"turn/start","seq":0,"time":1,"data":{"turn":1}}"#]);
    let mut text = fs::read_to_string(&path).unwrap();
    let end = text.len();
    text.push_str(r#"{"type":"turn/end","seq":1,"time":2,"data":{"turn":1,"reason":{"kind":"completed"}}}"#);
    fs::write(&path, text).unwrap();
    let document = sandbox.run(&["sessions", "check", "--json"]).success().json();
    let session = of(&document["sessions"], "torn");
    assert_eq!(session["storedEvents"], 1);
    assert_eq!(session["problems"][0]["kind"], "torn-tail");
    assert_eq!(session["problems"][0]["byte"], end);
}

// 03: several generations in one directory, one that nobody knows, and one whose name and header disagree.

#[test]
fn case_03_a_session_is_one_row_whatever_lies_beside_it() {
    let sandbox = Sandbox::with_data("cases/03");
    let outcome = sandbox.run(&["sessions", "list", "--long", "--json"]).success();
    let document = outcome.json();
    let sessions = &document["sessions"];
    assert_eq!(sessions.as_array().unwrap().len(), 5);
    let migrated = of(sessions, "session-migrated-A");
    assert_eq!(migrated["formatVersion"], 3);
    assert_eq!(migrated["generations"], json!([0, 2, 3]));
    assert_eq!(migrated["turns"], 3);
    assert_eq!(migrated["health"], "ok");
    // The lock file is there and nobody holds the lock.
    assert_eq!(migrated["live"], false);
    let expected = [
        ("session-oldonly-B", 0, "ok", json!(1)),
        ("session-new-C", 3, "ok", json!(1)),
        ("session-future-D", 9, "unsupported-version", json!(null)),
        ("session-mismatch-E", 3, "identity-mismatch", json!(null)),
    ];
    for (id, version, health, turns) in expected {
        let session = of(sessions, id);
        assert_eq!(session["formatVersion"], version, "{id}");
        assert_eq!(session["health"], health, "{id}");
        assert_eq!(session["turns"], turns, "{id}");
        assert_eq!(session["cwd"], "/home/demo/api", "{id}");
    }
    let mut problems: Vec<[&str; 2]> = Vec::new();
    for problem in document["problems"].as_array().unwrap() {
        problems.push([problem["sessionId"].as_str().unwrap(), problem["kind"].as_str().unwrap()]);
    }
    problems.sort_unstable();
    assert_eq!(problems, [["session-future-D", "unsupported-version"], ["session-mismatch-E", "identity-mismatch"]]);
    assert_eq!(outcome.stderr.lines().count(), 2, "{outcome}");
    sandbox.run(&["sessions", "list", "--strict", "--json"]).exits(6);
}

#[test]
fn case_03_only_the_newest_generation_is_read() {
    let sandbox = Sandbox::with_data("cases/03");
    let show = ["sessions", "show", "session-migrated-A", "--json"];
    let document = sandbox.run(&show).success().json();
    let messages = document["messages"].as_array().unwrap();
    let asked: Vec<&str> =
        messages.iter().filter(|m| m["role"] == "user").map(|m| m["text"].as_str().unwrap()).collect();
    assert_eq!(asked, [1, 2, 3].map(|turn| format!("question {turn} of session-migrated-A")));
    let newest = document["session"]["path"].as_str().unwrap();
    assert!(newest.ends_with("/session-migrated-A/session.v3.jsonl.zstd"), "{newest}");
    // Not even where it cannot be read.
    fs::write(newest, b"not a frame").unwrap();
    sandbox.run(&show).fails(4, "SESSION_QUERY_CORRUPT_SESSION");
}

#[test]
fn case_03_logs_nobody_can_read_say_why() {
    let sandbox = Sandbox::with_data("cases/03");
    let error = sandbox.run(&["sessions", "show", "session-future-D", "--json"]).fails(5, "unsupported-format");
    assert_eq!(error["kind"], "unsupported-version");
    assert!(error["message"].as_str().unwrap().contains('9'), "{error}");
    let outcome = sandbox.run(&["sessions", "show", "session-mismatch-E", "--json"]);
    assert!(matches!(outcome.status, Some(4 | 5)), "{outcome}");
    assert!(outcome.stdout.is_empty(), "{outcome}");
    let error: Value = serde_json::from_str(&outcome.stderr).unwrap();
    assert_eq!(error["error"]["kind"], "identity-mismatch");
}

// 07: terminal controls in everything a log can hold.

/// Whether a character could do something to a terminal, or to the order of what it shows.
fn is_control(character: char) -> bool {
    character.is_control() && !matches!(character, '\n' | '\t')
        || matches!(character, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

#[test]
fn case_07_text_holds_no_control_characters() {
    let sandbox = Sandbox::with_data("cases/07");
    let strings = read_json(&data("cases/07/strings.json"));
    let id = strings["id"].as_str().unwrap();
    let missing = format!("{id}\u{1b}[2J\u{9b}31m\u{202e}");
    let commands: [&[&str]; 8] = [
        &["sessions", "list"],
        &["sessions", "list", "--long"],
        &["sessions", "show", "latest", "--all"],
        &["sessions", "events", "latest", "--full"],
        &["sessions", "event", "latest", "6"],
        &["sessions", "check"],
        &["sessions", "show", "--id", &missing],
        &["uri", "decode", &missing],
    ];
    for command in commands {
        for color in ["--color=never", "--color=auto"] {
            let mut arguments = command.to_vec();
            arguments.extend(["--format", "text", color]);
            let outcome = sandbox.run(&arguments);
            let (text, told) = (outcome.text(), &outcome.stderr);
            assert!(!text.is_empty() || !told.is_empty(), "{outcome}");
            assert_eq!(text.chars().find(|c| is_control(*c)), None, "{}", text.escape_debug());
            assert_eq!(told.chars().find(|c| is_control(*c)), None, "{}", told.escape_debug());
        }
    }
}

#[test]
fn case_07_a_title_with_controls_is_shown_escaped_on_one_row() {
    let sandbox = Sandbox::with_data("cases/07");
    let text = sandbox.run(&["sessions", "list", "--long", "--format", "text"]).success();
    assert_eq!(text.text().lines().count(), 2, "a heading and one row\n{text}");
    for shown in [r"id-\x1b]0;pwn\x07-7", r"title \x1b[5mblink\x1b[0m ", r"/home/demo/\x1b[41mcwd"] {
        assert!(text.text().contains(shown), "{text}");
    }
    for lines in ["\n", "\r\n", "\r"] {
        let sandbox = Sandbox::new();
        let title = json!(format!("one{lines}two"));
        let event = json!({"title": title, "messageSeqs": [], "source": {"kind": "user"}});
        sandbox.plain_log("lines", &[&format!(r#"{{"type":"session/title","seq":0,"time":1,"data":{event}}}"#)]);
        let text = sandbox.run(&["sessions", "list", "--long", "--format", "text"]).success();
        assert_eq!(text.text().lines().count(), 2, "{text}");
        assert!(text.text().contains("one\\"), "{text}");
    }
}

#[test]
fn case_07_escapes_are_not_cut_in_two() {
    let sandbox = Sandbox::with_data("cases/07");
    let mut cut = 0;
    for columns in 20..140 {
        let mut command = sandbox.command();
        command.env("COLUMNS", columns.to_string()).args(["sessions", "list", "--long", "--format", "text"]);
        let outcome = crate::support::outcome(command, b"").success();
        for (index, _) in outcome.text().match_indices('\\') {
            let rest = &outcome.text()[index + 1..];
            let is_whole = if let Some(hex) = rest.strip_prefix('x') {
                hex.chars().take(2).filter(char::is_ascii_hexdigit).count() == 2
            } else if let Some(hex) = rest.strip_prefix("u{") {
                hex.split_once('}').is_some_and(|(hex, _)| u32::from_str_radix(hex, 16).is_ok())
            } else {
                false
            };
            assert!(is_whole, "half an escape at {columns} columns\n{outcome}");
        }
        cut += usize::from(!outcome.text().contains("gpj.exe"));
    }
    assert!(cut > 10, "nothing was cut");
}

#[test]
fn case_07_colour_is_only_ours() {
    let sandbox = Sandbox::with_data("cases/07");
    let outcome = sandbox.run(&["sessions", "show", "latest", "--all", "--format", "text", "--color", "always"]);
    let text = outcome.text();
    let codes: Vec<&str> = text.split('\u{1b}').skip(1).collect();
    assert!(codes.len() > 2, "{outcome}");
    for code in codes {
        let styles = ["[0m", "[1m", "[2m", "[33m", "[36m"];
        assert!(styles.iter().any(|style| code.starts_with(style)), "{}", code.escape_debug());
    }
    let rest: String = text.chars().filter(|c| *c != '\u{1b}').collect();
    assert_eq!(rest.chars().find(|c| is_control(*c)), None, "{}", text.escape_debug());
}

#[test]
fn case_07_json_is_lossless() {
    let sandbox = Sandbox::with_data("cases/07");
    let strings = read_json(&data("cases/07/strings.json"));
    let listed = sandbox.run(&["sessions", "list", "--long", "--json"]).success().json();
    let session = &listed["sessions"][0];
    assert_eq!(session["sessionId"], strings["id"]);
    assert_eq!(session["cwd"], strings["cwd"]);
    assert_eq!(session["title"], "title \u{1b}[5mblink\u{1b}[0m \u{202e}gpj.exe");
    let shown = sandbox.run(&["sessions", "show", "latest", "--all", "--json"]).success().json();
    let evil = strings["evil"].as_str().unwrap();
    let texts: Vec<&Value> = shown["messages"].as_array().unwrap().iter().map(|message| &message["text"]).collect();
    assert_eq!(texts, [&json!(evil), &json!(""), &json!(evil), &json!(format!("reply {evil}"))]);
    let path = session["path"].as_str().unwrap();
    let (project, directory) = (strings["projectDir"].as_str().unwrap(), strings["sessionDir"].as_str().unwrap());
    assert!(path.ends_with(&format!("/{project}/{directory}/session.jsonl")), "{path}");
}

#[test]
fn case_07_the_identifier_is_untouched() {
    let sandbox = Sandbox::new();
    let strings = read_json(&data("cases/07/strings.json"));
    let (id, uri) = (strings["id"].as_str().unwrap(), strings["uri"].as_str().unwrap());
    assert_eq!(sandbox.run(&["uri", "encode", id]).success().text(), format!("{uri}\n"));
    assert_eq!(sandbox.run(&["uri", "decode", uri]).success().text(), format!("{id}\n"));
    let mention = sandbox.run(&["uri", "mention", id]).success();
    assert!(mention.text().ends_with(&format!("]({uri})\n")), "{mention}");
}

// 08: ids that no path and no line should be made of.

/// An id, how it is written as an identifier, and the directory it has.
#[derive(Deserialize)]
struct Vector {
    id: Box<RawValue>,
    uri: String,
    dir: String,
    project: Option<String>,
}

impl Vector {
    /// The id, where it is text.
    fn text(&self) -> Option<String> {
        serde_json::from_str(self.id.get()).ok()
    }

    /// The end of its log's path.
    fn log(&self) -> String {
        let project = self.project.as_deref().unwrap_or("--home-demo-ids--");
        format!("{project}/{}/session.jsonl", self.dir)
    }
}

fn vectors() -> Vec<Vector> {
    serde_json::from_slice(&fs::read(data("cases/08/vectors.json")).unwrap()).unwrap()
}

/// A home with a session for each vector.
fn home_of_vectors() -> Sandbox {
    let sandbox = Sandbox::new();
    for vector in vectors() {
        let path = sandbox.sessions().join(vector.log());
        let cwd = if vector.project.is_none() { r#""cwd":"/home/demo/ids","# } else { "" };
        let id = vector.id.get();
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let header = format!(r#"{{"type":"session","version":0,"id":{id},"createdAt":1,{cwd}"delegationDepth":0}}"#);
        fs::write(path, header + "\n").unwrap();
    }
    sandbox
}

#[test]
fn case_08_identifiers_are_written_and_read() {
    let vectors = vectors();
    let sandbox = Sandbox::new();
    let lines = |line: fn(&Vector) -> String| vectors.iter().map(|v| line(v) + "\n").collect::<String>();
    let ids = lines(|vector| compact(vector.id.get()));
    let uris = lines(|vector| vector.uri.clone());
    let encode = sandbox.run_with_input(&["uri", "encode", "--json-strings"], ids.as_bytes()).success();
    assert_eq!(encode.text(), uris);
    let decode = sandbox.run_with_input(&["uri", "decode", "--json-strings"], uris.as_bytes()).success();
    assert_eq!(decode.text(), ids);
    assert!(vectors.len() > 20);
}

#[test]
fn case_08_invalid_identifiers_are_refused() {
    let invalid = read_json(&data("cases/08/invalid-uris.json"));
    let sandbox = home_of_vectors();
    for case in invalid.as_array().unwrap() {
        let uri = case["uri"].as_str().unwrap();
        for command in [&["uri", "decode", "--json", uri], &["uri", "decode", "--jsonl", uri]] {
            sandbox.run(command).fails(2, "SESSION_REFERENCE_INVALID_REFERENCE");
        }
        if uri.starts_with("dsh-session:") {
            sandbox.run(&["sessions", "path", "--json", uri]).fails(2, "SESSION_REFERENCE_INVALID_REFERENCE");
        }
    }
    assert!(invalid.as_array().unwrap().len() >= 10);
}

#[test]
fn case_08_mentions_are_found_in_text() {
    let mentions = read_json(&data("cases/08/mentions.json"));
    let sandbox = Sandbox::new();
    let text = mentions["text"].as_str().unwrap();
    let mut parsed = sandbox.run(&["uri", "parse", "--json", text]).success().json();
    assert_eq!(parsed["text"], mentions["rendered"]);
    for reference in parsed["references"].as_array_mut().unwrap() {
        reference.as_object_mut().unwrap().remove("uri").unwrap();
    }
    assert_eq!(parsed["references"], mentions["references"]);
    let error = mentions["mustFail"].as_str().unwrap();
    sandbox.run(&["uri", "parse", "--json", error]).fails(2, "SESSION_REFERENCE_INVALID_REFERENCE");
}

#[test]
fn case_08_every_id_has_its_own_directory_and_every_way_to_name_it_finds_it() {
    let sandbox = home_of_vectors();
    let mut differences = Differences::default();
    for vector in vectors() {
        let log = vector.log();
        let mut ways = vec![vec!["sessions".to_owned(), "path".to_owned(), vector.uri.clone()]];
        ways.push(vec!["sessions".to_owned(), "path".to_owned(), format!("@[a \\] b]({})", vector.uri)]);
        if let Some(id) = vector.text().filter(|id| !id.contains('\0')) {
            ways.push(vec!["sessions".to_owned(), "path".to_owned(), "--".to_owned(), id]);
        }
        for way in ways {
            let arguments: Vec<&str> = way.iter().map(String::as_str).collect();
            let outcome = sandbox.run(&arguments);
            let path = outcome.text().trim_end_matches('\n');
            let found = Path::new(path).strip_prefix(sandbox.sessions()).map(|path| path.to_str().unwrap());
            differences.compare(format!("{way:?} {}", outcome.stderr), found.ok(), Some(&log));
        }
        if let Some(id) = vector.text().filter(|id| !id.contains('\0')) {
            let shown = sandbox.run(&["sessions", "show", "--json", &format!("--id={id}")]).success().json();
            differences.compare(format!("--id={id}"), &shown["session"]["sessionId"], &id);
        }
    }
    differences.none_of_at_least(70);
}

#[test]
fn case_08_lone_surrogates_are_printed_as_json_prints_them() {
    let sandbox = home_of_vectors();
    let outcome = sandbox.run(&["sessions", "list", "--json"]).success();
    for vector in vectors() {
        let id = format!(r#""sessionId":{},"#, compact(vector.id.get()));
        assert_eq!(outcome.text().matches(&id).count(), 1, "{id}\n{outcome}");
    }
}

#[test]
fn case_08_an_id_is_never_a_path() {
    let sandbox = Sandbox::new();
    // A session lies where the id would lead, were it a path.
    let outside = sandbox.path("home/escape");
    fs::create_dir_all(&outside).unwrap();
    fs::write(
        outside.join("session.jsonl"),
        "{\"type\":\"session\",\"version\":0,\"id\":\"../escape\",\"createdAt\":1,\"delegationDepth\":0}\n",
    )
    .unwrap();
    sandbox.plain_log("inside", &[]);
    for id in ["../escape", "../../escape", "..", ".", "_no-cwd/inside", "_no-cwd/../../escape"] {
        sandbox.run(&["sessions", "path", "--json", id]).fails(3, "SESSION_QUERY_SESSION_NOT_FOUND");
        sandbox.run(&["sessions", "show", "--json", "--id", id]).fails(3, "SESSION_QUERY_SESSION_NOT_FOUND");
    }
    let long = "y".repeat(300);
    sandbox.run(&["sessions", "path", "--json", &long]).fails(3, "SESSION_QUERY_SESSION_NOT_FOUND");
}

// 10: one long session under several budgets. The values are those of dsh.

#[test]
fn case_10_references_fit_their_budgets_as_in_dsh() {
    let sandbox = Sandbox::with_data("cases/10");
    let expected = read_json(&data("cases/10/expected.json"));
    let mut differences = Differences::default();
    for (budget, expected) in expected.as_object().unwrap() {
        let reference = "session-big-0010=长任务";
        let arguments =
            ["reference", "prepare", "Go on", "--reference", reference, "--max-bytes", budget, "--compat", "dsh-0.1"];
        let arguments = [&arguments[..], &["--json"]].concat();
        if expected.is_null() {
            sandbox.run(&arguments).fails(7, "SESSION_REFERENCE_BUDGET_EXCEEDED");
            continue;
        }
        let outcome = sandbox.run(&arguments).success();
        assert_eq!(outcome.stdout, sandbox.run(&arguments).stdout, "the same at each run");
        let document = outcome.json();
        let text = document["additionalContext"]["content"][0]["text"].as_str().unwrap();
        let (_, rest) = text.split_once("<referenced-sessions>\n[").unwrap();
        let (object, _) = rest.split_once("]\n</referenced-sessions>").unwrap();
        differences.compare(format!("{budget}: bytes"), object.len(), &expected["bytes"]);
        differences.compare(format!("{budget}: sha256"), sha256(object.as_bytes()), &expected["sha256"]);
        differences.compare(format!("{budget}: report"), &document["report"][0]["bytes"], &expected["bytes"]);
        let source = &document["additionalContext"]["source"]["references"][0];
        differences.compare(format!("{budget}: captured"), &source["capturedThroughSeq"], 250);
        for (key, value) in expected["stats"].as_object().unwrap() {
            differences.compare(format!("{budget}: {key}"), &source[key], value);
        }
        for turn in 1..=20 {
            let is_there = [format!("\"Q{turn} "), format!("\"A{turn} ")].iter().any(|text| object.contains(text));
            differences.compare(format!("{budget}: turn {turn} was compacted away"), is_there, false);
        }
    }
    differences.none_of_at_least(4 * 30);
}

// 11: what counts as the conversation.

/// Texts that a person saw or that were put before the model, and that are not part of what was said.
const NOT_SAID: [&str; 6] = ["SHADOWED-", "REASONING-", "TOOL-OUTPUT-", "INJECTED-", "LOGONLY-SUMMARY", "FOLD-TEXT"];

#[test]
fn case_11_a_reference_holds_what_was_said_and_nothing_else() {
    let sandbox = Sandbox::with_data("cases/11");
    let projection = read_json(&data("cases/11/projection.json"));
    let arguments = ["reference", "prepare", "Go on", "--reference", "session-surface-0011", "--json"];
    let outcome = sandbox.run(&arguments).success();
    let document = outcome.json();
    let text = document["additionalContext"]["content"][0]["text"].as_str().unwrap();
    assert_eq!(text.matches("</referenced-sessions>").count(), 1, "{outcome}");
    let (_, rest) = text.split_once("<referenced-sessions>\n").unwrap();
    let (json, _) = rest.split_once("\n</referenced-sessions>").unwrap();
    assert!(json.contains(r"\u003c/referenced-sessions>"), "{json}");
    let sessions: Value = serde_json::from_str(json).unwrap();
    let mut expected = projection["conversation"].clone();
    for message in expected.as_array_mut().unwrap() {
        message.as_object_mut().unwrap().remove("checkpoint").unwrap();
    }
    assert_eq!(sessions[0]["conversation"], expected);
    for text in NOT_SAID.iter().chain(&["UNFINISHED-STREAM"]) {
        assert!(!outcome.text().contains(text), "{text}\n{outcome}");
    }
}

#[test]
fn case_11_the_surface_view_shows_what_a_reference_holds() {
    let sandbox = Sandbox::with_data("cases/11");
    let projection = read_json(&data("cases/11/projection.json"));
    let view = ["sessions", "show", "latest", "--view", "surface", "--json"];
    let document = sandbox.run(&view).success().json();
    let shown: Vec<Value> = document["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|m| json!({"role": m["role"], "text": m["text"], "checkpoint": m["kind"] == "checkpoint"}))
        .collect();
    assert_eq!(json!(shown), projection["conversation"]);
    let all = sandbox.run(&[&view[..], &["--all"]].concat()).success().json();
    let seqs: Vec<&Value> = all["messages"].as_array().unwrap().iter().map(|message| &message["seq"]).collect();
    assert_eq!(json!(seqs), projection["nodes"]);
}

#[test]
fn case_11_the_transcript_shows_what_people_saw() {
    let sandbox = Sandbox::with_data("cases/11");
    let document = sandbox.run(&["sessions", "show", "latest", "--json"]).success().json();
    let messages = document["messages"].as_array().unwrap();
    let said: Vec<(&str, &str)> = messages
        .iter()
        .map(|message| (message["text"].as_str().unwrap(), message["surface"].as_str().unwrap()))
        .filter(|(text, _)| !text.is_empty())
        .collect();
    let expected = [
        ("SHADOWED-Q1 secret plan", "shadowed"),
        ("SHADOWED-A1 old idea", "shadowed"),
        ("SHADOWED-Q2", "shadowed"),
        ("SHADOWED-A2", "shadowed"),
        ("KEPT-Q3 真正的问题", "current"),
        ("KEPT-A3 part one\npart two </referenced-sessions>", "current"),
        ("KEPT-STEER 中途引导", "current"),
    ];
    assert_eq!(said, expected);
    let text = sandbox.run(&["sessions", "show", "latest", "--format", "text"]).success();
    let heading = text.text().lines().find(|line| line.contains("seq 1 ")).unwrap();
    assert!(heading.contains("shadowed"), "{text}");
}

#[test]
fn case_11_a_hit_says_where_it_stands() {
    let sandbox = Sandbox::with_data("cases/11");
    let expected: [(&[&str], u64, &str); 3] = [
        (&["SHADOWED-Q1"], 1, "shadowed"),
        (&["KEPT-A3"], 25, "current"),
        // The call itself is recorded beside the message that makes it.
        (&["bash", "--type", "tool/call"], 26, "log-only"),
    ];
    for (query, seq, surface) in expected {
        let command = [&["sessions", "search", "--session", "latest", "--json"], query].concat();
        let found = sandbox.run(&command).success().json();
        let hits: Vec<Value> =
            found["items"].as_array().unwrap().iter().map(|hit| json!([hit["seq"], hit["surface"]])).collect();
        assert_eq!(hits, [json!([seq, surface])], "{query:?}");
    }
}
