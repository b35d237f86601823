//! Two of the shared cases: which session a job has just run and how it ended (15), and what a fork
//! took from its parent (05). The homes lie in `tests/data/cases`.

use crate::support::{ReadLog, Sandbox, record_of};
use dshkit::corpus::Corpus;
use dshkit::model::js_string::JsStr;
use dshkit::stores::jsonl::layout::project_key;
use serde_json::{Value, json};
use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, SystemTime};

/// When the first session of case 15 was created, in milliseconds.
const T0: u64 = 1_790_000_000_000;
const MINUTE: u64 = 60_000;

/// A time of case 15 as an argument: so many milliseconds after the first session.
fn at(offset: u64) -> String {
    (T0 + offset).to_string()
}

/// The id of the session that `sessions latest` names; `None`, and exit status 1, if it names none.
#[track_caller]
fn latest(sandbox: &Sandbox, arguments: &[&str]) -> Option<String> {
    let outcome = sandbox.run(&[&["sessions", "latest", "--json"], arguments].concat());
    let document = outcome.json();
    let id = document["session"]["sessionId"].as_str().map(str::to_owned);
    assert!(id.is_some() || document["session"].is_null(), "{outcome}");
    outcome.exits(if id.is_some() { 0 } else { 1 });
    id
}

const CI: [&str; 2] = ["--cwd", "/home/demo/ci"];

#[test]
fn the_latest_session_of_a_directory() {
    let sandbox = Sandbox::with_data("cases/15");
    let latest = |arguments: &[&str]| latest(&sandbox, arguments);
    assert_eq!(latest(&CI).as_deref(), Some("session-ci-future"));
    assert_eq!(latest(&["--cwd", "/home/demo/ci/"]).as_deref(), Some("session-ci-future"));
    assert_eq!(latest(&["--cwd", "/home/demo/ci-other"]).as_deref(), Some("session-ci-other"));
    for other in ["/home/demo", "/home/demo/c", "/home/demo/ci/sub"] {
        assert_eq!(latest(&["--cwd", other]), None, "{other}");
    }
    assert_eq!(latest(&[]).as_deref(), Some("session-ci-future"));
    assert_eq!(latest(&["--until", &at(45 * MINUTE)]).as_deref(), Some("session-ci-other"));
}

#[test]
fn the_latest_session_of_a_span_of_time_or_none() {
    let sandbox = Sandbox::with_data("cases/15");
    let (since, until) = (at(9 * MINUTE), at(11 * MINUTE));
    let window = [&CI[..], &["--since", &since, "--until", &until]].concat();
    assert_eq!(latest(&sandbox, &window).as_deref(), Some("session-ci-b"));
    let with_subagents = [&window[..], &["--include-subagents"]].concat();
    assert_eq!(latest(&sandbox, &with_subagents).as_deref(), Some("session-ci-sub"));

    // Both ends belong to the span.
    let exactly = at(10 * MINUTE);
    let moment = [&CI[..], &["--since", &exactly, "--until", &exactly, "--one"]].concat();
    assert_eq!(latest(&sandbox, &moment).as_deref(), Some("session-ci-a"));

    // Never an older one instead.
    let after = at(51 * MINUTE);
    assert_eq!(latest(&sandbox, &[&CI[..], &["--since", &after]].concat()), None);
    let before = at(MINUTE);
    let between = [&CI[..], &["--since", &before, "--until", &since, "--one"]].concat();
    assert_eq!(latest(&sandbox, &between), None);
    let text = [&["sessions", "latest", "--format", "text", "--since", &after], &CI[..]].concat();
    assert_eq!(sandbox.run(&text).exits(1).text(), "");
}

#[test]
fn one_session_is_wanted_and_there_are_two() {
    let sandbox = Sandbox::with_data("cases/15");
    let (since, until) = (at(9 * MINUTE), at(11 * MINUTE));
    let window =
        ["sessions", "latest", "--json", "--cwd", "/home/demo/ci", "--since", &since, "--until", &until, "--one"];
    let candidates = |error: &Value| {
        let mut ids: Vec<String> = serde_json::from_value(error["candidates"].clone()).unwrap();
        ids.sort();
        ids
    };
    let error = sandbox.run(&window).fails(3, "ambiguous-session");
    assert_eq!(candidates(&error), ["session-ci-a", "session-ci-b"]);
    let error = sandbox.run(&[&window[..], &["--include-subagents"]].concat()).fails(3, "ambiguous-session");
    assert_eq!(candidates(&error), ["session-ci-a", "session-ci-b", "session-ci-sub"]);
}

#[test]
fn activity_is_the_time_of_the_last_event() {
    let sandbox = Sandbox::with_data("cases/15");
    // Only session-ci-a has its last event here; none was created here but the sub-agent's.
    let (since, until) = (at(10 * MINUTE + 1_200), at(10 * MINUTE + 1_600));
    let window = [&CI[..], &["--since", &since, "--until", &until]].concat();
    assert_eq!(latest(&sandbox, &window), None);
    let active = [&window[..], &["--by", "activity", "--one"]].concat();
    assert_eq!(latest(&sandbox, &active).as_deref(), Some("session-ci-a"));
}

#[test]
fn the_times_of_files_decide_nothing() {
    let sandbox = Sandbox::with_data("cases/15");
    let (since, until) = (at(9 * MINUTE), at(11 * MINUTE));
    let window = [&CI[..], &["--since", &since, "--until", &until]].concat();
    let ask = || {
        let by_activity = [&CI[..], &["--by", "activity"]].concat();
        let asked = [&CI[..], &window, &by_activity];
        let list = sandbox.run(&["sessions", "list", "--json"]).success().json();
        let ids: Vec<Value> =
            list["sessions"].as_array().unwrap().iter().map(|session| session["sessionId"].clone()).collect();
        (asked.map(|arguments| latest(&sandbox, arguments)), ids)
    };
    let before = ask();
    // The oldest session becomes the newest file, and the newest the oldest.
    let logs = logs(&sandbox.sessions());
    assert_eq!(logs.len(), 8);
    for (path, id) in logs {
        let age = match id.as_str() {
            "session-ci-old" => 0,
            "session-ci-a" => 1,
            "session-ci-future" => 1_000_000,
            _ => 10_000,
        };
        let file = File::options().write(true).open(path).unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000 - age)).unwrap();
    }
    assert_eq!(ask(), before);
    assert_eq!(before.0, ["session-ci-future", "session-ci-b", "session-ci-future"].map(|id| Some(id.to_owned())));
}

/// The logs of a sessions directory, and the ids of their sessions.
fn logs(sessions: &Path) -> Vec<(std::path::PathBuf, String)> {
    let entries = |path: &Path| fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect::<Vec<_>>();
    let homes = entries(sessions).into_iter().flat_map(|project| entries(&project));
    let named = |home: std::path::PathBuf| {
        let id = home.file_name().unwrap().to_str().unwrap().to_owned();
        entries(&home).into_iter().map(move |log| (log, id.clone()))
    };
    homes.flat_map(named).collect()
}

#[test]
fn how_a_session_ended() {
    let sandbox = Sandbox::with_data("cases/15");
    let cases = [
        ("session-ci-a", "completed", None),
        ("session-ci-old", "completed", None),
        ("session-ci-b", "error", Some("QUOTA_EXCEEDED")),
        ("session-ci-term", "aborted", None),
        ("session-ci-crash", "open", None),
        ("session-ci-future", "paused-by-plugin", None),
    ];
    for (id, state, code) in cases {
        let arguments = ["sessions", "status", "--json", id];
        let outcome = sandbox.run(&arguments);
        let document = outcome.json();
        let got = json!([document["session"]["sessionId"], document["state"], document["errorCode"]]);
        assert_eq!(got, json!([id, state, code]), "{outcome}");
        assert_eq!(document["completed"], state == "completed", "{outcome}");
        // Without being asked to, a failed session is no failure of the command.
        outcome.success();
        let status = i32::from(state != "completed");
        sandbox.run(&[&arguments[..], &["--exit-code"]].concat()).exits(status);
    }
    // A turn that was not closed does not prove that a process lives.
    let crash = sandbox.run(&["sessions", "status", "--json", "session-ci-crash"]).success().json();
    assert_ne!(crash["live"], true);
    assert_eq!((&crash["openTurn"], &crash["openStep"]), (&json!(1), &json!(null)));
    let text = sandbox.run(&["sessions", "status", "--format", "text", "session-ci-future"]).success();
    assert!(text.text().contains("paused-by-plugin"), "{text}");
}

#[test]
fn the_last_answer_is_what_a_headless_run_prints() {
    let sandbox = Sandbox::with_data("cases/15");
    let outcome = sandbox.run(&["sessions", "show", "--last-answer", "--format", "text", "session-ci-a"]).success();
    assert_eq!(outcome.text().trim_end_matches('\n'), "answer A");
}

#[test]
fn forks_stand_under_their_parents() {
    let sandbox = Sandbox::with_data("cases/05");
    let trace = |id: &str| sandbox.run(&["sessions", "trace", "--json", id]).success().json();
    let ids = |sessions: &Value| -> Vec<String> {
        let id = |session: &Value| session.get("session").unwrap_or(session)["sessionId"].as_str().unwrap().to_owned();
        sessions.as_array().unwrap().iter().map(id).collect()
    };
    let parent = trace("session-parent-P");
    assert_eq!(ids(&parent["ancestors"]), [""; 0]);
    assert_eq!(ids(&parent["descendants"]), ["session-child-V3", "session-child-K"]);
    for child in ["session-child-V3", "session-child-K"] {
        let child = trace(child);
        assert_eq!(ids(&child["ancestors"]), ["session-parent-P"]);
        assert_eq!(child["root"]["sessionId"], "session-parent-P");
    }
    // The session may be named by its id, and then the one word that is left is a seq.
    let by_id = sandbox.run(&["sessions", "trace", "--json", "--id", "session-parent-P"]).success().json();
    assert_eq!(by_id, parent);
    for named in [&["session-parent-P"][..], &["--id", "session-parent-P"]] {
        let traced = sandbox.run(&[&["sessions", "trace", "--json"], named, &["3"]].concat()).success().json();
        assert_eq!((&traced["target"]["seq"], &traced["target"]["type"]), (&json!(3), &json!("assistant/message")));
        sandbox.run(&[&["sessions", "trace", "--json"], named, &["three"]].concat()).fails(2, "usage");
    }
    // One with a seed and no parent is nobody's child.
    for single in ["session-nofork-N", "session-retry-R"] {
        let single = trace(single);
        assert_eq!((ids(&single["ancestors"]), ids(&single["descendants"])), (vec![], vec![]));
        assert_eq!(single["root"], single["target"]);
    }
    let children = sandbox.run(&["sessions", "list", "--json", "--parent", "session-parent-P"]).success().json();
    let filter = r#"[{"kind":"parent","values":["session-parent-P"]}]"#;
    let filtered = sandbox.run(&["sessions", "list", "--json", "--filter", filter]).success().json();
    for listed in [children, filtered] {
        let mut listed = ids(&listed["sessions"]);
        listed.sort();
        assert_eq!(listed, ["session-child-K", "session-child-V3"]);
    }
}

/// The tokens that a session used itself say where the cut lies: what it inherited, its parent used.
#[test]
fn a_fork_owns_what_comes_after_its_cut() {
    let sandbox = Sandbox::with_data("cases/05");
    let corpus = Corpus::at(&sandbox.sessions());
    let catalog = corpus.catalog().unwrap();
    let cases = [
        ("session-parent-P", 0, (4000, 800)),
        ("session-child-K", 25, (6100, 110)),
        ("session-child-V3", 13, (7000, 70)),
        ("session-retry-R", 0, (100, 9)),
    ];
    let used = |log: &ReadLog, from: u64| {
        let own = log.events.iter().filter(|event| event.seq >= from && event.kind == "assistant/message");
        own.fold((0, 0), |(input, output), event| {
            let event: Value = serde_json::from_str(&event.json).unwrap();
            let count = |key: &str| event["data"]["usage"][key].as_u64().unwrap();
            (input + count("inputTokens"), output + count("outputTokens"))
        })
    };
    for (id, inherited, usage) in cases {
        let log = ReadLog::of(&corpus, record_of(&catalog, id).unwrap()).unwrap();
        assert_eq!(log.inherited, inherited, "{id}");
        assert_eq!(used(&log, log.inherited), usage, "{id}");
    }
    // As dsh counts; without a parent they are still this session's own use.
    let log = ReadLog::of(&corpus, record_of(&catalog, "session-nofork-N").unwrap()).unwrap();
    assert_eq!(log.inherited, 4);
    assert_eq!(used(&log, 0), (400, 10));
}

/// The ids a list has under some flags, in code point order.
#[track_caller]
fn listed(sandbox: &Sandbox, arguments: &[&str]) -> Vec<String> {
    let document = sandbox.run(&[&["sessions", "list", "--json"], arguments].concat()).success().json();
    let id = |session: &Value| session["sessionId"].as_str().unwrap().to_owned();
    let mut ids: Vec<String> = document["sessions"].as_array().unwrap().iter().map(id).collect();
    ids.sort();
    ids
}

#[test]
fn flags_and_filters_narrow_a_list_together() {
    let sandbox = Sandbox::with_data("cases/15");
    let listed = |arguments: &[&str]| listed(&sandbox, arguments);
    assert_eq!(listed(&["--origin", "subagent"]), ["session-ci-sub"]);
    assert_eq!(listed(&["--filter", r#"[{"kind":"origin","values":["subagent"]}]"#]), ["session-ci-sub"]);
    assert_eq!(listed(&["--origin", "user"]).len(), 7);
    assert_eq!(listed(&["--cwd", "/home/demo/ci-other"]), ["session-ci-other"]);
    assert_eq!(listed(&["--cwd", "/home/demo"]), [""; 0]);
    assert_eq!(listed(&["--parent", "session-ci-b"]), ["session-ci-sub"]);
    assert_eq!(listed(&["--filter", r#"[{"kind":"parent","values":[null]}]"#]).len(), 7);
    // Values are alternatives, clauses and flags are not, and no value is no alternative.
    let either = r#"[{"kind":"id","values":["session-ci-a","session-ci-b","session-ci-other"]}]"#;
    assert_eq!(listed(&["--filter", either]), ["session-ci-a", "session-ci-b", "session-ci-other"]);
    assert_eq!(listed(&["--filter", either, "--cwd", "/home/demo/ci"]), ["session-ci-a", "session-ci-b"]);
    assert_eq!(
        listed(&["--filter", either, "--cwd", "/home/demo/ci", "--since", &at(10 * MINUTE + 1)]),
        ["session-ci-b"]
    );
    let both =
        r#"[{"kind":"id","values":["session-ci-a","session-ci-b"]},{"kind":"id","values":["session-ci-b","x"]}]"#;
    assert_eq!(listed(&["--filter", both]), ["session-ci-b"]);
    assert_eq!(listed(&["--filter", r#"[{"kind":"id","values":[]}]"#]), [""; 0]);
    // Both ends of a range belong to it.
    let range = |from: u64, to: u64| format!(r#"[{{"kind":"created-at","from":{from},"to":{to}}}]"#);
    assert_eq!(
        listed(&["--filter", &range(T0 + 10 * MINUTE, T0 + 10 * MINUTE + 900)]),
        ["session-ci-a", "session-ci-b"]
    );
    assert_eq!(listed(&["--filter", &range(T0 + 10 * MINUTE + 1, T0 + 10 * MINUTE + 899)]), [""; 0]);
}

#[test]
fn a_working_directory_is_the_one_of_the_header() {
    let sandbox = Sandbox::new();
    let here = fs::canonicalize(sandbox.path("user")).unwrap().to_str().unwrap().to_owned();
    let sessions = [
        ("windows", "C:\\Users\\ann\\shop"),
        ("other-case", "C:\\Users\\ann\\Shop"),
        ("share", "\\\\host\\share\\x"),
        ("gone", "/no/such/directory"),
        ("here", &here),
    ];
    for (id, cwd) in sessions {
        let directory = sandbox.sessions().join(project_key(Some(&JsStr::from(cwd))).unwrap()).join(id);
        fs::create_dir_all(&directory).unwrap();
        let header =
            json!({"type": "session", "version": 0, "id": id, "createdAt": 1000, "cwd": cwd, "delegationDepth": 0});
        fs::write(directory.join("session.jsonl"), format!("{header}\n")).unwrap();
    }
    let cases: &[(&str, &[&str])] = &[
        ("C:\\Users\\ann\\shop", &["windows"]),
        ("c:/Users/ann/shop", &["windows"]),
        ("c:\\Users\\ann/shop\\", &["windows"]),
        ("C:/Users/ann/Shop", &["other-case"]),
        ("C:\\users\\ann\\shop", &[]),
        ("D:\\Users\\ann\\shop", &[]),
        ("//host/share/x", &[]),
        ("\\\\host/share\\x", &["share"]),
        ("/no/such/directory", &["gone"]),
        ("/no/such/directory/", &["gone"]),
        ("/no/such", &[]),
        (&here, &["here"]),
    ];
    for (cwd, expected) in cases {
        assert_eq!(listed(&sandbox, &["--cwd", cwd]), *expected, "{cwd}");
    }
    // A process is told its directory without the symbolic links by which a person may name it.
    #[cfg(unix)]
    {
        let link = sandbox.path("link");
        std::os::unix::fs::symlink(&here, &link).unwrap();
        assert_eq!(listed(&sandbox, &["--cwd", link.to_str().unwrap()]), ["here"]);
    }
    // dsh's own clause takes the very string.
    let clause = |cwd: &str| json!([{"kind": "cwd", "values": [cwd]}]).to_string();
    assert_eq!(listed(&sandbox, &["--filter", &clause("C:\\Users\\ann\\shop")]), ["windows"]);
    assert_eq!(listed(&sandbox, &["--filter", &clause("c:/Users/ann/shop")]), [""; 0]);
    // A directory that is no more is told, and hides nothing.
    let document = sandbox.run(&["sessions", "list", "--json"]).success().json();
    let listed = document["sessions"].as_array().unwrap();
    assert_eq!(listed.len(), sessions.len());
    for session in listed {
        assert_eq!(session["cwdExists"], session["sessionId"] == "here", "{session}");
    }
}
