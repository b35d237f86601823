//! `reference candidates`, against what dsh's own service listed for the same stores.

use crate::support::{Differences, Sandbox, corpora_with, read_json, run_in_store, shared, turn, write_log};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Runs the command for a target, which is `{id, cwd}`. Runs in one sandbox share a cache of titles.
fn candidates(sandbox: &Sandbox, store: &Path, target: &Value, more: &[&str]) -> Vec<Value> {
    let mut arguments = vec!["--store", store.to_str().unwrap(), "reference", "candidates", "--json"];
    arguments.extend(["--target", target["id"].as_str().unwrap()]);
    if let Some(cwd) = target["cwd"].as_str() {
        arguments.extend(["--target-cwd", cwd]);
    }
    let outcome = sandbox.run(&[&arguments[..], more].concat()).success();
    outcome.json()["candidates"].as_array().unwrap().clone()
}

/// The sessions of which dsh knew no title: since 0.1.5 it looks for one in its cache and not in the log.
fn untitled(listed: &Value, is_from_log: bool) -> HashSet<String> {
    let untitled =
        listed.as_array().unwrap().iter().filter(|entry| !is_from_log && entry["label"] == entry["sessionId"]);
    untitled.map(|entry| entry["sessionId"].as_str().unwrap().to_owned()).collect()
}

/// Compares candidates as far as dsh knew their titles.
fn compare(differences: &mut Differences, place: &str, got: &[Value], expected: &Value, untitled: &HashSet<String>) {
    let expected = expected.as_array().unwrap();
    let is_expected = |candidate: &Value| expected.iter().any(|entry| entry["sessionId"] == candidate["sessionId"]);
    let is_untitled = |candidate: &Value| untitled.contains(candidate["sessionId"].as_str().unwrap());
    // What is found by a title that dsh did not know is no difference.
    let got: Vec<&Value> = got.iter().filter(|candidate| is_expected(candidate) || !is_untitled(candidate)).collect();
    let ids = |candidates: &[&Value]| candidates.iter().map(|one| one["sessionId"].clone()).collect::<Vec<_>>();
    differences.compare(format!("{place}: ids"), ids(&got), ids(&expected.iter().collect::<Vec<_>>()));
    for (got, expected) in got.iter().zip(expected) {
        let place = format!("{place} {}", expected["sessionId"]);
        for member in ["cwd", "createdAt"] {
            differences.compare(format!("{place}: {member}"), &got[member], &expected[member]);
        }
        if expected.get("sameWorkspace").is_some() {
            differences.compare(format!("{place}: sameWorkspace"), &got["sameWorkspace"], &expected["sameWorkspace"]);
        }
        if !is_untitled(got) {
            for member in ["label", "mention"] {
                differences.compare(format!("{place}: {member}"), &got[member], &expected[member]);
            }
            let display_title = got.get("displayTitle").unwrap_or(&got["label"]);
            let expected = expected.get("displayTitle").unwrap_or(&expected["label"]);
            differences.compare(format!("{place}: displayTitle"), display_title, expected);
        }
    }
}

fn golden() -> Vec<(PathBuf, Value)> {
    let Some(folder) = shared("golden") else { return Vec::new() };
    let mut files: Vec<PathBuf> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.file_name().unwrap().to_str().unwrap().starts_with("candidates-"));
    files.sort();
    let with_store = |path: PathBuf| {
        let golden = read_json(&path);
        let corpus = golden["corpus"].as_str().unwrap().to_owned();
        let store = match corpus.strip_prefix("synth-") {
            Some(version) => folder.join("synth").join(version),
            None => folder.join("../corpora").join(corpus),
        };
        (store.join("sessions"), golden)
    };
    files.into_iter().map(with_store).collect()
}

#[test]
fn candidates_are_those_of_dsh() {
    let mut differences = Differences::default();
    let files = golden();
    for (store, golden) in &files {
        let sandbox = Sandbox::new();
        let corpus = golden["corpus"].as_str().unwrap();
        let is_from_log = golden["dsh"].as_str().unwrap().starts_with("0.1.0");
        let cases = golden["cases"].as_array().unwrap();
        let untitled: HashSet<String> =
            cases.iter().flat_map(|case| untitled(&case["candidates"], is_from_log)).collect();
        for case in cases {
            let (target, query) = (&case["target"], case["query"].as_str().unwrap());
            let place = format!("{corpus} {target} {query:?}");
            let got = candidates(&sandbox, store, target, &["--", query]);
            compare(&mut differences, &place, &got, &case["candidates"], &untitled);
        }
        let target = &cases[0]["target"];
        for case in golden["limits"].as_array().unwrap() {
            let Some(limit) = case["limit"].as_i64() else { continue };
            let limit = limit.to_string();
            let place = format!("{corpus} limit {limit}");
            if case.get("ids").is_some() {
                let got = candidates(&sandbox, store, target, &["--limit", &limit]);
                let ids: Vec<&Value> = got.iter().map(|candidate| &candidate["sessionId"]).collect();
                differences.compare(place, ids, &case["ids"]);
            } else {
                let arguments = ["reference", "candidates", "--json", "--target", "x", "--limit", &limit];
                let error = run_in_store(store, &arguments).fails(2, case["error"]["code"].as_str().unwrap());
                differences.compare(place, &error["code"], &case["error"]["code"]);
            }
        }
    }
    differences.none_of_at_least(files.len() * 100);
}

#[test]
fn candidates_are_those_that_hosts_listed() {
    let mut differences = Differences::default();
    let folders = corpora_with("cand-all.json");
    for folder in &folders {
        let sandbox = Sandbox::new();
        let is_from_log = read_json(&folder.join("expected.json"))["formatVersion"] == 0;
        let target = json!({"id": "session-0d0d0d0d-0001-4000-8000-000000000000"});
        let all = read_json(&folder.join("cand-all.json"));
        let untitled = untitled(&all, is_from_log);
        for (file, query) in [("cand-all.json", ""), ("cand-notes.json", "NOTES")] {
            let expected = read_json(&folder.join(file));
            let mut got = candidates(&sandbox, &folder.join("sessions"), &target, &[query]);
            // Sessions that were made later are not in the host's list.
            let was_there = |candidate: &Value| {
                all.as_array().unwrap().iter().any(|entry| entry["sessionId"] == candidate["sessionId"])
            };
            got.retain(was_there);
            compare(&mut differences, &format!("{} {file}", folder.display()), &got, &expected, &untitled);
        }
    }
    differences.none_of_at_least(folders.len() * 10);
}

/// A home with sessions of three places.
fn home() -> Sandbox {
    let sandbox = Sandbox::new();
    for (number, id, cwd) in
        [(1, "here-1", Some("/w")), (2, "none", None), (3, "there", Some("/W2")), (4, "here-2", Some("/w"))]
    {
        let mut header = json!({"type": "session", "version": 0, "id": id, "createdAt": number, "delegationDepth": 0});
        if let Some(cwd) = cwd {
            header["cwd"] = json!(cwd);
        }
        let project = match cwd {
            None => "_no-cwd".to_owned(),
            Some(cwd) => format!("--{}--", cwd.trim_start_matches('/')),
        };
        let mut rows = turn("the secret word", "answers");
        let title = json!({"title": format!("Title ] \\ of {id}"), "messageSeqs": [], "source": {"kind": "user"}});
        rows.push(json!({"type": "session/title", "seq": 6, "time": 16, "data": title}).to_string());
        write_log(&sandbox, &project, &header, &rows);
    }
    sandbox
}

fn listed(sandbox: &Sandbox, more: &[&str]) -> Vec<String> {
    let outcome = sandbox.run(&[&["reference", "candidates", "--json"], more].concat()).success();
    let document = outcome.json();
    let id = |candidate: &Value| candidate["sessionId"].as_str().unwrap().to_owned();
    document["candidates"].as_array().unwrap().iter().map(id).collect()
}

#[test]
fn the_nearest_come_first() {
    let sandbox = home();
    assert_eq!(listed(&sandbox, &["--target", "here-1"]), ["here-2", "none", "there"]);
    assert_eq!(listed(&sandbox, &["--target", "there"]), ["none", "here-2", "here-1"]);
    assert_eq!(listed(&sandbox, &["--target", "not stored"]), ["none", "here-2", "there", "here-1"]);
    assert_eq!(listed(&sandbox, &["--target", "x", "--target-cwd", "/W2"]), ["there", "none", "here-2", "here-1"]);
    assert_eq!(listed(&sandbox, &["--target", "x", "--target-cwd", "/w/", "--limit", "2"]), ["here-2", "here-1"]);
    // An identifier is the target it names.
    assert_eq!(listed(&sandbox, &["--target", "dsh-session:ImhlcmUtMSI"]), ["here-2", "none", "there"]);
}

#[test]
fn a_query_looks_at_names_and_places_and_never_at_what_was_said() {
    let sandbox = home();
    let with = |query| listed(&sandbox, &["--target", "x", "--", query]);
    assert_eq!(with("HERE-"), ["here-2", "here-1"]);
    assert_eq!(with("/w2"), ["there"]);
    assert_eq!(with("title ] \\ OF none"), ["none"]);
    assert_eq!(with("-1"), ["here-1"]);
    assert!(with("secret").is_empty() && with("answers").is_empty());
    assert_eq!(listed(&sandbox, &["--target", "x", "TITLE", "--limit", "1"]), ["none"]);
}

#[test]
fn a_candidate_has_a_mention_that_works() {
    let sandbox = home();
    let outcome = sandbox.run(&["reference", "candidates", "--json", "--target", "x", "none"]).success();
    let expected = json!({"schema": "dshkit/reference.candidates/1", "candidates": [{
        "sessionId": "none",
        "label": "Title ] \\ of none",
        "createdAt": 2,
        "sameWorkspace": false,
        "mention": "@[Title \\] \\\\ of none](dsh-session:Im5vbmUi)",
    }]});
    assert_eq!(outcome.json(), expected);
    let mention = expected["candidates"][0]["mention"].as_str().unwrap();
    let prepared = sandbox.run(&["reference", "prepare", "--json", mention]).success().json();
    assert_eq!(prepared["content"][0]["text"], "@Title ] \\ of none");
    let text = sandbox.run(&["reference", "candidates", "--format", "text", "--target", "x", "none"]).success();
    assert!(text.text().starts_with(&format!("{mention}  1970-01-01")), "{text}");
}

#[test]
fn a_damaged_log_goes_by_its_id_with_a_warning() {
    let sandbox = home();
    let log = sandbox.sessions().join("--w--/here-2/session.jsonl");
    let damaged = fs::read_to_string(&log).unwrap().replacen("\"seq\":1,", "\"seq\":7,", 1);
    fs::write(&log, damaged).unwrap();
    // The second time the others come from the cache.
    for _ in 0..2 {
        let outcome = sandbox.run(&["reference", "candidates", "--json", "--target", "here-1", "here"]).success();
        let found = &outcome.json()["candidates"][0];
        assert_eq!((&found["sessionId"], &found["label"]), (&json!("here-2"), &json!("here-2")), "{outcome}");
        assert!(outcome.stderr.starts_with("warning: ") && outcome.stderr.contains("here-2"), "{outcome}");
        assert_eq!(outcome.stderr.lines().count(), 1, "{outcome}");
    }
    sandbox.run(&["reference", "candidates", "--strict", "--json", "--target", "here-1"]).exits(6);
}

#[test]
fn hostile_names_do_nothing_to_a_terminal() {
    let sandbox = Sandbox::new();
    let evil = "\u{1b}]0;x\u{7}\u{202e}\n](dsh-session:x)";
    let header = json!({"type": "session", "version": 0, "id": "evil", "createdAt": 1, "delegationDepth": 0});
    let mut rows = turn("asks", "answers");
    let title = json!({"title": evil, "messageSeqs": [], "source": {"kind": "user"}});
    rows.push(json!({"type": "session/title", "seq": 6, "time": 16, "data": title}).to_string());
    write_log(&sandbox, "_no-cwd", &header, &rows);
    let text = sandbox.run(&["reference", "candidates", "--format", "text", "--target", "x"]).success();
    assert_eq!(text.text().lines().count(), 1, "{text}");
    assert!(!text.text().contains(['\u{1b}', '\u{7}', '\u{202e}']), "{text}");
    let json = sandbox.run(&["reference", "candidates", "--json", "--target", "x"]).success().json();
    assert_eq!(json["candidates"][0]["label"], evil);
}
