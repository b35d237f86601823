//! `sessions`: which there are, how one is named, what is shown of it.

use crate::support::{Sandbox, compact, outcome, turn, write_log};
use serde_json::{Value, json};
use std::fs;

/// A home with three sessions: `session-a2`, a child of `session-a1`, is the newest, `other` the next.
fn three() -> Sandbox {
    let sandbox = Sandbox::new();
    let header = json!({"type": "session", "version": 0, "id": "session-a1", "createdAt": 1000, "cwd": "/w/a", "delegationDepth": 0});
    write_log(&sandbox, "--w-a--", &header, &turn("a1 asks", "a1 answers"));
    let header = json!({
        "type": "session", "version": 0, "id": "session-a2", "createdAt": 3000, "cwd": "/w/b", "delegationDepth": 1,
        "parentSession": "session-a1", "origin": "subagent",
    });
    write_log(&sandbox, "--w-b--", &header, &turn("a2 asks", "a2 answers"));
    let header = json!({"type": "session", "version": 0, "id": "other", "createdAt": 2000, "delegationDepth": 0});
    write_log(&sandbox, "_no-cwd", &header, &turn("other asks", "other answers"));
    sandbox
}

/// The ids of a listing.
fn listed(sandbox: &Sandbox, arguments: &[&str]) -> Vec<String> {
    let arguments = [&["sessions", "list", "--jsonl"], arguments].concat();
    let records = sandbox.run(&arguments).success().records();
    records.iter().map(|record| record["sessionId"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn the_newest_session_is_listed_first() {
    let sandbox = three();
    assert_eq!(listed(&sandbox, &[]), ["session-a2", "other", "session-a1"]);
    let document = sandbox.run(&["sessions", "list", "--json"]).success().json();
    let sessions = document["sessions"].as_array().unwrap();
    let facts = |session: &Value| {
        ["sessionId", "cwd", "createdAt", "parentSession", "origin", "delegationDepth"].map(|key| session[key].clone())
    };
    assert_eq!(json!(facts(&sessions[0])), json!(["session-a2", "/w/b", 3000, "session-a1", "subagent", 1]));
    assert_eq!(json!(facts(&sessions[1])), json!(["other", null, 2000, null, null, 0]));
    assert_eq!(document["problems"], json!([]));
    let text = sandbox.run(&["sessions", "list", "--format", "text"]).success();
    let firsts: Vec<&str> = text.text().lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(firsts, ["SESSION", "session-a2", "other", "session-a1"]);
}

#[test]
fn listings_are_filtered() {
    let sandbox = three();
    let cases: [(&[&str], &[&str]); 10] = [
        (&["--cwd", "/w/a"], &["session-a1"]),
        (&["--cwd", "/w"], &[]),
        (&["--since", "2000"], &["session-a2", "other"]),
        (&["--until", "2000"], &["other", "session-a1"]),
        (&["--since", "1970-01-01T00:00:02Z", "--until", "2999"], &["other"]),
        (&["--parent", "session-a1"], &["session-a2"]),
        (&["--origin", "subagent"], &["session-a2"]),
        (&["--origin", "user"], &["other", "session-a1"]),
        (&["--limit", "1"], &["session-a2"]),
        (&["--limit", "0"], &[]),
    ];
    for (arguments, expected) in cases {
        assert_eq!(listed(&sandbox, arguments), expected, "{arguments:?}");
    }
    sandbox.run(&["sessions", "list", "--json", "--since", "yesterday"]).fails(2, "usage");
    sandbox.run(&["sessions", "list", "--json", "--limit", "-1"]).fails(2, "usage");
    sandbox.run(&["sessions", "list", "--json", "--origin", "robot"]).fails(2, "usage");
}

#[test]
fn an_empty_store_is_no_error_and_a_missing_one_is() {
    let sandbox = Sandbox::new();
    let document = sandbox.run(&["sessions", "list", "--json"]).success().json();
    assert_eq!((&document["sessions"], &document["problems"]), (&json!([]), &json!([])));
    assert!(sandbox.run(&["sessions", "list", "--jsonl"]).success().stdout.is_empty());
    // What a person is told is no data.
    let text = sandbox.run(&["sessions", "list", "--format", "text"]).success();
    assert!(text.stdout.is_empty() && text.stderr.contains("there are no sessions in "), "{text}");
    // A home in which dsh has not run yet.
    fs::remove_dir(sandbox.sessions()).unwrap();
    sandbox.run(&["sessions", "list", "--json"]).success();
    let missing = sandbox.path("missing");
    let missing = missing.to_str().unwrap();
    sandbox.run(&["--home", missing, "sessions", "list", "--json"]).fails(8, "io");
    sandbox.run(&["--store", missing, "sessions", "list", "--json"]).fails(8, "io");
    sandbox.run(&["--store", missing, "--home", missing, "sessions", "list", "--json"]).fails(2, "usage");
}

#[test]
fn the_home_is_named_or_set_or_the_users_own() {
    let sandbox = three();
    let ids = |command| -> Vec<String> {
        let records = outcome(command, b"").success().records();
        records.iter().map(|record| record["sessionId"].as_str().unwrap().to_owned()).collect()
    };
    let own = sandbox.path("user/.dsh/sessions/_no-cwd/own");
    fs::create_dir_all(&own).unwrap();
    fs::write(
        own.join("session.jsonl"),
        "{\"type\":\"session\",\"version\":0,\"id\":\"own\",\"createdAt\":1,\"delegationDepth\":0}\n",
    )
    .unwrap();
    let list = ["sessions", "list", "--jsonl"];
    for blank in ["", "  "] {
        let mut command = sandbox.command();
        command.env("DSH_HOME", blank).args(list);
        assert_eq!(ids(command), ["own"]);
    }
    let mut command = sandbox.command();
    command.env("DSH_HOME", "~/.dsh").args(list);
    assert_eq!(ids(command), ["own"]);
    let mut command = sandbox.command();
    command.args(list).arg("--home").arg(sandbox.path("user/.dsh"));
    assert_eq!(ids(command), ["own"]);
    let mut command = sandbox.command();
    command.args(list).arg("--store").arg(sandbox.path("user/.dsh/sessions"));
    assert_eq!(ids(command), ["own"]);
    let mut command = sandbox.command();
    command.args(list).arg("--json").env_remove("DSH_HOME").env_remove("HOME");
    assert_eq!(outcome(command, b"").status, Some(2));
}

#[test]
fn a_session_is_named_in_many_ways() {
    let sandbox = three();
    let log = sandbox.sessions().join("--w-a--/session-a1/session.jsonl");
    let directory = log.parent().unwrap().to_str().unwrap().to_owned();
    let uri = sandbox.run(&["uri", "encode", "session-a1"]).success().text().trim().to_owned();
    let mention = format!("@[what we said]({uri})");
    let cases = [
        ("session-a1", "session-a1"),
        ("other", "other"),
        ("o", "other"),
        (&uri, "session-a1"),
        (&mention, "session-a1"),
        (log.to_str().unwrap(), "session-a1"),
        (&directory, "session-a1"),
        ("./home/sessions/--w-a--/session-a1", "session-a1"),
        ("home/sessions/--w-a--/session-a1/session.jsonl", "session-a1"),
        ("latest", "session-a2"),
        ("latest~0", "session-a2"),
        ("latest~1", "other"),
        ("latest~2", "session-a1"),
    ];
    for (selector, id) in cases {
        for command in [&["sessions", "show", selector, "--json"][..], &["sessions", "event", selector, "3", "--json"]]
        {
            let document = sandbox.run(command).success().json();
            assert_eq!(document["session"]["sessionId"], id, "{selector}");
        }
        let document =
            sandbox.run_with_input(&["sessions", "path", "-", "--json"], selector.as_bytes()).success().json();
        assert_eq!(document["paths"][0]["sessionId"], id, "{selector} on standard input");
    }
}

#[test]
fn a_session_that_is_not_there_is_not_found() {
    let sandbox = three();
    let uri = sandbox.run(&["uri", "encode", "session-a"]).success().text().trim().to_owned();
    // What an identifier names is never the beginning of an id.
    for selector in [
        "nothing",
        "",
        "SESSION-A1",
        "session-a11",
        "latest~3",
        "latest~99999999999999999999",
        &uri,
        "/nowhere/session.jsonl",
    ] {
        for command in ["show", "events", "path", "check"] {
            let error = sandbox.run(&["sessions", command, "--json", selector]);
            error.fails(3, "SESSION_QUERY_SESSION_NOT_FOUND");
        }
    }
}

#[test]
fn an_ambiguous_beginning_names_its_candidates() {
    let sandbox = three();
    for command in ["show", "events", "path", "check"] {
        let error = sandbox.run(&["sessions", command, "--json", "session-a"]).fails(3, "ambiguous-session");
        let mut candidates: Vec<&str> =
            error["candidates"].as_array().unwrap().iter().map(|c| c.as_str().unwrap()).collect();
        candidates.sort_unstable();
        assert_eq!(candidates, ["session-a1", "session-a2"]);
    }
    let text = sandbox.run(&["sessions", "show", "--format", "text", "session-a"]).exits(3);
    let lines: Vec<&str> = text.stderr.lines().collect();
    assert!(lines[0].starts_with("error: "), "{text}");
    assert!(lines.contains(&"  session-a1") && lines.contains(&"  session-a2"), "{text}");
    assert!(text.stdout.is_empty());
}

#[test]
fn candidates_are_escaped_for_people_and_kept_for_programs() {
    let sandbox = Sandbox::new();
    for (directory, id) in [("evil~001B~005B1", r"evil\u001b[1"), ("evil~001B~005B2", r"evil\u001b[2")] {
        let path = sandbox.sessions().join("_no-cwd").join(directory).join("session.jsonl");
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(
            path,
            format!("{{\"type\":\"session\",\"version\":0,\"id\":\"{id}\",\"createdAt\":1,\"delegationDepth\":0}}\n"),
        )
        .unwrap();
    }
    let text = sandbox.run(&["sessions", "show", "--format", "text", "evil"]).exits(3);
    assert!(text.stderr.contains(r"  evil\x1b[1"), "{text}");
    assert!(!text.stderr.contains('\u{1b}'), "{}", text.stderr.escape_debug());
    let error = sandbox.run(&["sessions", "show", "--json", "evil"]).fails(3, "ambiguous-session");
    assert!(error["candidates"].as_array().unwrap().contains(&json!("evil\u{1b}[1")), "{error}");
}

#[test]
fn a_whole_id_is_no_beginning() {
    let sandbox = Sandbox::new();
    sandbox.plain_log("twin", &[]);
    sandbox.plain_log("twin-2", &[]);
    let path = sandbox.run(&["sessions", "path", "twin"]).success();
    assert!(path.text().ends_with("/twin/session.jsonl\n"), "{path}");
}

#[test]
fn an_id_in_two_places_is_ambiguous_until_the_path_is_named() {
    let sandbox = Sandbox::new();
    let header = |cwd: &str| json!({"type": "session", "version": 0, "id": "twice", "createdAt": 1, "cwd": cwd, "delegationDepth": 0});
    let log = write_log(&sandbox, "--w-a--", &header("/w/a"), &[]);
    write_log(&sandbox, "--w-b--", &header("/w/b"), &[]);
    let error = sandbox.run(&["sessions", "show", "twice", "--json"]).fails(3, "ambiguous-session");
    assert_eq!(error["candidates"].as_array().unwrap().len(), 2);
    // dsh loads neither.
    let log = log.to_str().unwrap();
    let error = sandbox.run(&["sessions", "show", log, "--json"]).fails(4, "SESSION_QUERY_CORRUPT_SESSION");
    assert_eq!(error["kind"], "duplicate-id");
    let shown = sandbox.run(&["sessions", "show", log, "--json", "--salvage"]).success().json();
    assert_eq!(shown["session"]["cwd"], "/w/a");
}

#[test]
fn selectors_are_read_from_standard_input() {
    let sandbox = three();
    let path = sandbox.run_with_input(&["sessions", "path", "-"], b"other\n\nlatest\n").success();
    let ends: Vec<&str> = path.text().lines().map(|line| line.rsplit('/').nth(1).unwrap()).collect();
    assert_eq!(ends, ["other", "session-a2"]);
    let mixed = sandbox.run_with_input(&["sessions", "path", "session-a1", "-", "--json"], b"other\n").success().json();
    let ids: Vec<&Value> = mixed["paths"].as_array().unwrap().iter().map(|path| &path["sessionId"]).collect();
    assert_eq!(ids, ["session-a1", "other"]);
    sandbox.run_with_input(&["sessions", "show", "-", "--json"], b"other\nlatest\n").fails(2, "usage");
    sandbox.run_with_input(&["sessions", "show", "-", "--json"], b"").fails(2, "usage");
    sandbox
        .run_with_input(&["sessions", "path", "-", "--json"], b"other\nnothing\n")
        .fails(3, "SESSION_QUERY_SESSION_NOT_FOUND");
}

#[test]
fn paths_are_lines_or_end_with_nul() {
    let sandbox = three();
    let log = sandbox.sessions().join("_no-cwd/other/session.jsonl");
    let log = log.to_str().unwrap();
    assert_eq!(sandbox.run(&["sessions", "path", "other"]).success().text(), format!("{log}\n"));
    assert_eq!(sandbox.run(&["sessions", "path", "-0", "other"]).success().text(), format!("{log}\0"));
    let document = sandbox.run(&["sessions", "path", "other", "--json"]).success().json();
    assert_eq!(document, json!({"schema": "dshkit/sessions.path/1", "paths": [{"sessionId": "other", "path": log}]}));
}

#[test]
fn a_transcript_is_shown() {
    let sandbox = three();
    let document = sandbox.run(&["sessions", "show", "other", "--json"]).success().json();
    let messages = document["messages"].as_array().unwrap();
    let facts: Vec<Value> =
        messages.iter().map(|m| json!([m["seq"], m["time"], m["turn"], m["role"], m["surface"], m["text"]])).collect();
    let expected =
        json!([[1, 11, 1, "user", "current", "other asks"], [3, 13, 1, "assistant", "current", "other answers"],]);
    assert_eq!(json!(facts), expected);
    assert_eq!(document["capturedThroughSeq"], 5);
    assert_eq!(document["warnings"], json!([]));
    let tail = sandbox.run(&["sessions", "show", "other", "--tail", "1", "--jsonl"]).success().records();
    assert_eq!(tail.iter().map(|message| &message["seq"]).collect::<Vec<_>>(), [3]);
    let text = sandbox.run(&["sessions", "show", "other", "--format", "text"]).success();
    let (question, answer) = (text.text().find("other asks"), text.text().find("other answers"));
    assert!(question.is_some() && question < answer, "{text}");
    let answer = sandbox.run(&["sessions", "show", "other", "--last-answer"]).success();
    assert_eq!(answer.text(), "other answers\n");
}

#[test]
fn events_are_filtered() {
    let sandbox = three();
    let cases: [(&[&str], &[u64]); 9] = [
        (&[], &[0, 1, 2, 3, 4, 5]),
        (&["--type", "turn/start"], &[0]),
        (&["--type", "turn/start,turn/end"], &[0, 5]),
        (&["--type", "turn"], &[]),
        (&["--surface", "current"], &[1, 3]),
        (&["--surface", "log-only"], &[0, 2, 4, 5]),
        (&["--seq", "2..4"], &[2, 3, 4]),
        (&["--seq", "4.."], &[4, 5]),
        (&["--seq", "..1", "--surface", "current"], &[1]),
    ];
    for (arguments, expected) in cases {
        let command = [&["sessions", "events", "other", "--jsonl"], arguments].concat();
        let records = sandbox.run(&command).success().records();
        let seqs: Vec<u64> = records.iter().map(|record| record["seq"].as_u64().unwrap()).collect();
        assert_eq!(seqs, expected, "{arguments:?}");
        assert!(records.iter().all(|record| record["sessionId"] == "other" && record.get("event").is_none()));
        let command = [&["sessions", "events", "other", "--json"], arguments].concat();
        let document = sandbox.run(&command).success().json();
        assert_eq!(document["events"], json!(records), "{arguments:?}");
        assert_eq!(document["session"]["sessionId"], "other");
    }
    for bad in [["--seq", "4..2"], ["--seq", "a..b"], ["--seq", "-1"], ["--surface", "gone"]] {
        sandbox.run(&[&["sessions", "events", "other", "--json"], &bad[..]].concat()).fails(2, "usage");
    }
}

#[test]
fn events_are_given_in_full_or_as_they_are_stored() {
    let sandbox = three();
    let log = fs::read(sandbox.sessions().join("_no-cwd/other/session.jsonl")).unwrap();
    assert_eq!(sandbox.run(&["sessions", "events", "other", "--raw"]).success().stdout, log);
    let full = sandbox.run(&["sessions", "events", "other", "--full", "--jsonl"]).success().records();
    let text = String::from_utf8(log).unwrap();
    let stored: Vec<Value> = text.lines().skip(1).map(|line| serde_json::from_str(&compact(line)).unwrap()).collect();
    let events: Vec<&Value> = full.iter().map(|record| &record["event"]).collect();
    assert_eq!(events, stored.iter().collect::<Vec<_>>());
    sandbox.run(&["sessions", "events", "other", "--raw", "--full", "--json"]).fails(2, "usage");
}

#[test]
fn the_stored_lines_of_a_compressed_log_are_its_text() {
    let sandbox = Sandbox::with_data("cases/03");
    let raw = sandbox.run(&["sessions", "events", "session-oldonly-B", "--raw"]).success();
    let lines: Vec<&str> = raw.text().lines().collect();
    assert_eq!(lines.len(), 7, "{raw}");
    assert!(lines[0].starts_with(r#"{"type":"session","version":0,"id":"session-oldonly-B","#), "{raw}");
    assert!(raw.text().ends_with("}\n"));
}

#[test]
fn an_event_is_shown_with_its_neighbours() {
    let sandbox = three();
    let cases: [(&[&str], u64, u64, u64); 5] = [
        (&["3"], 3, 3, 3),
        (&["3", "--before", "1", "--after", "1"], 3, 2, 4),
        (&["0", "--before", "5"], 0, 0, 0),
        (&["5", "--after", "50"], 5, 5, 5),
        (&["1", "--before", "50", "--after", "50"], 1, 0, 5),
    ];
    for (arguments, seq, start, end) in cases {
        let command = [&["sessions", "event", "other", "--json"], arguments].concat();
        let document = sandbox.run(&command).success().json();
        assert_eq!(document["target"]["seq"], seq, "{arguments:?}");
        assert_eq!(document["target"]["event"]["seq"], seq, "{arguments:?}");
        assert_eq!((&document["startSeq"], &document["endSeq"]), (&json!(start), &json!(end)), "{arguments:?}");
        let seqs: Vec<&Value> = document["events"].as_array().unwrap().iter().map(|event| &event["seq"]).collect();
        assert_eq!(seqs, (start..=end).collect::<Vec<u64>>(), "{arguments:?}");
    }
    let by_id = sandbox.run(&["sessions", "event", "--id", "other", "3", "--json"]).success().json();
    assert_eq!(by_id["target"]["surface"], "current");
    let event = |arguments: &[&str]| sandbox.run(&[&["sessions", "event", "--json"], arguments].concat());
    event(&["other", "6"]).fails(3, "SESSION_QUERY_EVENT_NOT_FOUND");
    event(&["other", "18446744073709551615"]).fails(3, "SESSION_QUERY_EVENT_NOT_FOUND");
    for bad in ["51", "-1"] {
        event(&["other", "3", "--before", bad]).fails(2, "SESSION_QUERY_INVALID_WINDOW");
        event(&["other", "3", "--after", bad]).fails(2, "SESSION_QUERY_INVALID_WINDOW");
    }
    event(&["other", "three"]).fails(2, "usage");
    event(&["other"]).fails(2, "usage");
}

#[test]
fn a_session_or_an_event_is_traced() {
    let sandbox = three();
    let trace = |arguments: &[&str]| sandbox.run(&[&["sessions", "trace", "--json"], arguments].concat());
    for arguments in [&["session-a1"][..], &["--id", "session-a1"], &["latest~2"]] {
        let document = trace(arguments).success().json();
        assert_eq!(document["target"]["sessionId"], "session-a1");
        assert_eq!(document["descendants"][0]["session"]["sessionId"], "session-a2");
        assert_eq!((&document["ancestors"], &document["complete"]), (&json!([]), &json!(true)));
    }
    let child = trace(&["session-a2"]).success().json();
    assert_eq!(child["ancestors"][0]["sessionId"], "session-a1");
    for arguments in [&["other", "3"][..], &["--id", "other", "3"], &["3", "--id", "other"]] {
        let document = trace(arguments).success().json();
        assert_eq!((&document["target"]["seq"], &document["target"]["surface"]), (&json!(3), &json!("current")));
    }
    trace(&["other", "99"]).fails(3, "SESSION_QUERY_EVENT_NOT_FOUND");
    for bad in [&["other", "three"][..], &["other", "3", "4"], &["--id", "other", "3", "4"], &[]] {
        trace(bad).fails(2, "usage");
    }
}

/// A home with a good session, one with a bad row before the end, one whose generation nobody knows, and
/// one with a torn tail.
fn unsound() -> Sandbox {
    let sandbox = three();
    let header = |id: &str| json!({"type": "session", "version": 0, "id": id, "createdAt": 500, "delegationDepth": 0});
    let mut rows = turn("before", "after");
    rows.insert(2, "{this is no row".to_owned());
    write_log(&sandbox, "_no-cwd", &header("damaged"), &rows);
    let torn = write_log(&sandbox, "_no-cwd", &header("torn"), &turn("torn asks", "torn answers"));
    fs::write(&torn, fs::read_to_string(&torn).unwrap() + "{\"type\":").unwrap();
    let future = write_log(&sandbox, "_no-cwd", &header("future"), &[]);
    let header = json!({"type": "session", "version": 7, "id": "future", "createdAt": 500, "isSeeded": false});
    fs::write(future.with_file_name("session.v7.jsonl"), format!("{header}\n")).unwrap();
    fs::remove_file(future).unwrap();
    sandbox
}

#[test]
fn a_check_ends_with_the_gravest_finding() {
    let sandbox = unsound();
    let document = sandbox.run(&["sessions", "check", "--json"]).exits(4).json();
    let mut verdicts: Vec<[&str; 2]> = Vec::new();
    for session in document["sessions"].as_array().unwrap() {
        verdicts.push([session["sessionId"].as_str().unwrap(), session["verdict"].as_str().unwrap()]);
    }
    verdicts.sort_unstable();
    let expected = [
        ["damaged", "damaged"],
        ["future", "unsupported"],
        ["other", "ok"],
        ["session-a1", "ok"],
        ["session-a2", "ok"],
        ["torn", "recoverable"],
    ];
    assert_eq!(verdicts, expected);
    let statuses: [(&[&str], i32); 7] = [
        (&["other"], 0),
        (&["other", "--strict"], 0),
        (&["torn"], 0),
        (&["torn", "--strict"], 6),
        (&["future", "other"], 5),
        (&["damaged"], 4),
        (&["future", "damaged", "torn"], 4),
    ];
    for (arguments, status) in statuses {
        let command = [&["sessions", "check", "--json"], arguments].concat();
        let document = sandbox.run(&command).exits(status).json();
        let named = arguments.iter().filter(|argument| !argument.starts_with("--")).count();
        assert_eq!(document["sessions"].as_array().unwrap().len(), named, "{arguments:?}");
    }
}

#[test]
fn a_check_says_where() {
    let sandbox = unsound();
    let document = sandbox.run(&["sessions", "check", "damaged", "--json"]).exits(4).json();
    let session = &document["sessions"][0];
    assert_eq!((&session["storedEvents"], &session["logicalEvents"]), (&json!(null), &json!(null)));
    let problem = &session["problems"][0];
    // The header is line 1, and two rows come before the bad one.
    assert_eq!((&problem["kind"], &problem["line"]), (&json!("bad-row"), &json!(4)), "{document}");
    assert!(problem["path"].as_str().unwrap().ends_with("/damaged/session.jsonl"), "{document}");
    let text = sandbox.run(&["sessions", "check", "--format", "text"]).exits(4);
    assert!(text.text().contains("bad-row: ") && text.text().contains("line 4"), "{text}");
}

#[test]
fn one_bad_log_hides_no_good_one() {
    let sandbox = unsound();
    let plain = sandbox.run(&["sessions", "list", "--long", "--json"]).success().json();
    let strict = sandbox.run(&["sessions", "list", "--long", "--json", "--strict"]).exits(6).json();
    assert_eq!(plain, strict, "strictness is in the exit status");
    let health: Vec<[&str; 2]> = plain["sessions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|session| [session["sessionId"].as_str().unwrap(), session["health"].as_str().unwrap()])
        .collect();
    let expected = [
        ["session-a2", "ok"],
        ["other", "ok"],
        ["session-a1", "ok"],
        ["damaged", "bad-row"],
        ["future", "unsupported-version"],
        ["torn", "torn-tail"],
    ];
    assert_eq!(health, expected);
    assert_eq!(plain["problems"].as_array().unwrap().len(), 3);
    let damaged = &plain["sessions"][3];
    assert_eq!((&damaged["turns"], &damaged["title"]), (&json!(null), &json!(null)), "unknown is null");
    assert!(sandbox.run(&["sessions", "list", "--long", "--json", "--quiet"]).success().stderr.is_empty());
}

#[test]
fn a_damaged_log_is_read_whole_or_not_at_all() {
    let sandbox = unsound();
    for command in [&["show", "damaged"][..], &["events", "damaged"], &["event", "damaged", "1"]] {
        for format in ["--json", "--jsonl"] {
            let command = [&["sessions"], command, &[format]].concat();
            let error = sandbox.run(&command).fails(4, "SESSION_QUERY_CORRUPT_SESSION");
            assert_eq!(
                (&error["kind"], &error["line"], &error["sessionId"]),
                (&json!("bad-row"), &json!(4), &json!("damaged"))
            );
        }
    }
    let torn = sandbox.run(&["sessions", "show", "torn", "--json"]).success();
    assert_eq!(torn.json()["warnings"][0]["kind"], "torn-tail");
    assert_eq!(torn.json()["messages"].as_array().unwrap().len(), 2);
    assert!(torn.stderr.starts_with("warning: torn-tail: "), "{torn}");
    sandbox.run(&["sessions", "show", "torn", "--json", "--strict"]).exits(6);
    sandbox.run(&["sessions", "events", "torn", "--json", "--strict"]).exits(6);
}

#[test]
fn salvage_shows_what_can_be_decoded_and_what_is_wrong_between() {
    let sandbox = unsound();
    let shown = sandbox.run(&["sessions", "show", "damaged", "--json", "--salvage"]).success().json();
    let texts: Vec<&Value> = shown["messages"].as_array().unwrap().iter().map(|message| &message["text"]).collect();
    assert_eq!(texts, ["before", "after"]);
    assert_eq!(shown["warnings"][0]["kind"], "bad-row");
    assert_eq!(shown["warnings"][0]["line"], 4);
    let events = sandbox.run(&["sessions", "events", "damaged", "--jsonl", "--salvage"]).success().records();
    let parts: Vec<Value> =
        events.iter().map(|record| record.get("seq").unwrap_or(&record["problem"]["kind"]).clone()).collect();
    assert_eq!(json!(parts), json!([0, 1, "bad-row", 2, 3, 4, 5]));
    let document = sandbox.run(&["sessions", "events", "damaged", "--json", "--salvage"]).success().json();
    assert_eq!(document["events"], json!(events));
    sandbox.run(&["sessions", "show", "damaged", "--json", "--salvage", "--strict"]).fails(2, "usage");
    // A log that is sound looks the same.
    let sound = sandbox.run(&["sessions", "show", "other", "--json"]).success().json();
    assert_eq!(sandbox.run(&["sessions", "show", "other", "--json", "--salvage"]).success().json(), sound);
}

#[test]
fn a_session_without_a_readable_header_is_damaged_and_not_missing() {
    let sandbox = three();
    fs::write(sandbox.sessions().join("_no-cwd/other/session.jsonl"), "no header\n").unwrap();
    let error = sandbox.run(&["sessions", "show", "other", "--json"]).fails(4, "SESSION_QUERY_CORRUPT_SESSION");
    assert_eq!(error["kind"], "bad-header");
    let list = sandbox.run(&["sessions", "list", "--json"]).success().json();
    assert_eq!(list["sessions"].as_array().unwrap().len(), 2);
    assert_eq!(list["problems"][0]["kind"], "bad-header");
}

/// A home with three sessions, told apart by title, tokens and last event.
fn differing() -> Sandbox {
    let sandbox = Sandbox::new();
    for (id, created, title, tokens, last) in
        [("a", 1000, Some("beta"), 30, 5000), ("b", 2000, Some("alpha"), 500, 2500), ("c", 3000, None, 0, 3100)]
    {
        let header = json!({"type": "session", "version": 0, "id": id, "createdAt": created, "delegationDepth": 0});
        let message = json!({"id": "m", "role": "assistant", "source": {"kind": "model", "provider": "p", "model": "m"}, "content": []});
        let mut rows = vec![json!({"type": "turn/start", "data": {"turn": 1}})];
        if let Some(title) = title {
            let data = json!({"title": title, "messageSeqs": [], "source": {"kind": "user"}});
            rows.push(json!({"type": "session/title", "data": data}));
        }
        if tokens > 0 {
            let usage = json!({"inputTokens": tokens, "outputTokens": 1});
            let data = json!({"turn": 1, "step": 1, "message": message, "usage": usage});
            rows.push(json!({"type": "assistant/message", "data": data, "surfaceOp": "append"}));
        }
        rows.push(json!({"type": "turn/end", "data": {"turn": 1, "reason": {"kind": "completed"}}}));
        let rows = rows.into_iter().enumerate().map(|(seq, mut row)| {
            row["seq"] = json!(seq);
            row["time"] = json!(last);
            row.to_string()
        });
        write_log(&sandbox, "_no-cwd", &header, &rows.collect::<Vec<_>>());
    }
    sandbox
}

#[test]
fn listings_have_the_members_and_the_order_asked_for() {
    let sandbox = differing();
    let ids = |sort: &str| -> Vec<String> {
        let list =
            sandbox.run(&["sessions", "list", "--json", "--fields", "sessionId", "--sort", sort]).success().json();
        let sessions = list["sessions"].as_array().unwrap();
        assert!(sessions.iter().all(|session| session.as_object().unwrap().len() == 1));
        sessions.iter().map(|session| session["sessionId"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(ids("created"), ["c", "b", "a"]);
    assert_eq!(ids("activity"), ["a", "c", "b"]);
    assert_eq!(ids("tokens"), ["b", "a", "c"]);
    assert_eq!(ids("title"), ["b", "a", "c"]);
    let list = ["sessions", "list", "--jsonl", "--fields", "tokens,title,lastActivityAt", "--sort", "activity"];
    let records = sandbox.run(&[&list[..], &["--limit", "2"]].concat()).success();
    let expected = "{\"tokens\":31,\"title\":\"beta\",\"lastActivityAt\":5000}\n\
                    {\"tokens\":null,\"title\":null,\"lastActivityAt\":3100}\n";
    assert_eq!(records.text(), expected);
    let text =
        sandbox.run(&["sessions", "list", "--format", "text", "--fields", "title,turns", "--limit", "1"]).success();
    assert_eq!(text.text(), " TITLE  TURNS\n -      1\n");
    sandbox.run(&["sessions", "list", "--fields", "name"]).exits(2);
}

#[test]
fn a_listing_for_a_member_of_the_log_tells_of_a_log_that_cannot_be_read() {
    let sandbox = differing();
    let path = sandbox.sessions().join("_no-cwd/b/session.jsonl");
    let damaged = fs::read_to_string(&path).unwrap().replace("\"seq\":1,", "\"seq\":7,");
    fs::write(&path, damaged).unwrap();
    let list = ["sessions", "list", "--json", "--fields", "sessionId,title"];
    let outcome = sandbox.run(&list).success();
    let document = outcome.json();
    assert_eq!(document["sessions"][1], json!({"sessionId": "b", "title": null}));
    assert_eq!(document["problems"][0]["kind"], "seq-gap", "{document}");
    sandbox.run(&[&list[..], &["--strict"]].concat()).exits(6);
}

#[test]
fn what_is_shown_has_a_heading_for_people() {
    let sandbox = differing();
    let shown = sandbox.run(&["sessions", "show", "a", "--format", "text"]).success();
    let heading = "beta\n1 turn, 30 tokens in, 1 out\n";
    assert!(shown.text().starts_with(heading), "{shown}");
    let untitled = sandbox.run(&["sessions", "show", "c", "--format", "text"]).success();
    assert!(untitled.text().starts_with("without a title\n"), "{untitled}");
}
