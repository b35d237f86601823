//! The side chats that dsh's plugin remembers, beside ours (sidechat.md §1.2, §7, cases 1, 3 to 7).

use super::{A, CWD, Chats, FOLD, PLAIN};
use crate::logs::Kind;
use dshkit::stores::Encoding;
use serde_json::{Value, json};
use std::fs;

const V4: Kind = Kind { version: 4, encoding: Encoding::Zstd };
const FOLD_1: &str = "3f8b1c1e-4c55-4b0f-9d6a-0e2f5a7b8c9d";
const FOLD_2: &str = "0d4b6c8a-1e2f-4a3b-8c5d-7e9f1a2b3c4d";
const CITE: &str = "6f1c2a3b-7d5e-4c1a-9b8d-0e2f4a6c8b1d";

/// A row of a side chat with two folds, one of them taken back, and a cite in another session.
fn row(child: &str, created_at: &Value) -> Value {
    let fold = |id: &str, revision: u64, standing: &str| {
        json!({"foldId": id, "revision": revision, "state": "committed", "generatedContent": "draft", "committedContent": FOLD,
            "baselineSeq": 3, "previewThroughSeq": 9, "estimatedTokens": 10, "structureValid": true, "createdAt": 5,
            "updatedAt": 6, "committedAt": 6, "mode": "full", "revisionState": standing})
    };
    let mut withdrawn = fold(FOLD_2, 2, "withdrawn");
    withdrawn["withdrawalState"] = json!("committed");
    withdrawn["withdrawalReason"] = json!("Wrong.");
    withdrawn["withdrawnAt"] = json!(7);
    json!({
        "schema": 1, "childSessionId": child, "parentSessionId": A,
        "parent": {"createdAt": 1_790_000_000_000_u64, "cwd": CWD}, "child": {"createdAt": created_at, "cwd": CWD},
        "question": "Theirs?", "title": "澄清：Theirs?", "status": "archived",
        "seed": {"mode": "tail:2", "parentSessionId": A, "capturedThroughSeq": 4, "capturedAt": 2,
            "messages": [{"messageId": "u1", "role": "user", "text": "Why?", "seq": 2}]},
        "modelStrategy": {"kind": "inherit"}, "createdAt": 2, "updatedAt": 3, "revision": 2,
        "folds": [fold(FOLD_1, 1, "current"), withdrawn],
        "cites": [{"citeId": CITE, "messageId": "r1", "state": "committed", "content": "Yes.", "estimatedTokens": 1,
            "createdAt": 8, "updatedAt": 8, "committedAt": 8, "targetSessionId": "other", "target": {"createdAt": 1, "cwd": CWD},
            "crossParent": true}],
    })
}

/// A home with a side chat that only the plugin remembers, and its row.
fn theirs(kind: Kind) -> (Chats, String, Value) {
    let chats = Chats::new(kind);
    let child = chats.create(&[]);
    chats.go_on(&child, |talk| {
        talk.exchange(("q1", "Is it safe?"), ("r1", "Yes."));
    });
    fs::remove_dir_all(chats.sandbox.home().join("dshkit")).unwrap();
    let sessions = chats.sandbox.run(&["sessions", "list"]).success().json()["sessions"].clone();
    let created = sessions.as_array().unwrap().iter().find(|session| session["sessionId"] == *child).unwrap();
    let row = row(&child, &created["createdAt"]);
    (chats, child, row)
}

fn document(rows: &[(&str, &Value)]) -> Value {
    let mut table = json!({});
    for (key, row) in rows {
        table[*key] = (*row).clone();
    }
    json!({"unit": {"name": "sidechat", "version": 1}, "global": null, "tables": {"chats": table}})
}

fn put(chats: &Chats, document: &Value) {
    fs::create_dir_all(chats.sandbox.home().join("storages")).unwrap();
    let text = format!("{}\n", serde_json::to_string_pretty(document).unwrap());
    fs::write(chats.sandbox.home().join("storages/sidechat.json"), text).unwrap();
}

#[test]
fn side_chats_of_the_plugin_are_looked_at_and_never_changed() {
    for kind in [PLAIN, V4] {
        let (chats, child, row) = theirs(kind);
        put(&chats, &document(&[(&child, &row)]));
        let before = chats.everything();
        let listed = chats.run(&["list", "--parent", A]).success().json();
        let chat = &listed["chats"][0];
        assert_eq!(
            (&chat["childSessionId"], &chat["origin"], &chat["status"]),
            (&json!(child), &json!("plugin"), &json!("archived"))
        );
        assert_eq!((&chat["latestFoldRevision"], &chat["committedFolds"]), (&json!(1), &json!(2)));
        assert_eq!(nodes(&chats), std::slice::from_ref(&child));
        assert_eq!(chats.run(&["catalog"]).success().json()["chats"], listed["chats"]);
        let shown = chats.run(&["show", &child]).success().json();
        assert_eq!((&shown["folds"][0]["text"], &shown["folds"][1]["standing"]), (&json!(FOLD), &json!("withdrawn")));
        assert_eq!(shown["withdrawals"][0]["reason"], "Wrong.");
        assert_eq!(
            (&shown["cites"][0]["targetSessionId"], &shown["cites"][0]["source"]["seq"]),
            (&json!("other"), &Value::Null)
        );
        assert_eq!(shown["chat"]["seed"]["capturedFormat"], Value::Null);
        assert_eq!(chats.run(&["read", &child, "r1", "--as", A]).success().json()["messages"][0]["text"], "Yes.");
        let usage = chats.run(&["usage", &child]).success().json();
        assert_eq!((&usage["child"]["completedTurns"], &usage["parentDelta"]["available"]), (&json!(1), &json!(false)));
        assert_eq!(chats.run(&["cites", &child]).success().json()["cites"][0]["target"], "gone");
        assert_eq!(chats.run(&["compare", &child, "1", "2"]).success().json()["to"]["caveat"], "withdrawn");
        chats.run(&["resume", &child]).success();
        for change in [
            vec!["archive"],
            vec!["fold", "--prompt"],
            vec!["cite", "--fold", "1"],
            vec!["hide"],
            vec!["relink", "--parent", A],
        ] {
            let words = [&[change[0], child.as_str()], &change[1..]].concat();
            chats.run(&words).fails(7, "plugin-owned");
        }
        let fold = shown["folds"][0]["foldId"].as_str().unwrap();
        chats.run(&["commit", fold]).fails(7, "plugin-owned");
        chats.run(&["withdraw", fold, "--reason", "x"]).fails(7, "plugin-owned");
        // Everywhere it is marked as theirs.
        for words in [&["list", "--parent", A][..], &["tree"], &["catalog"], &["show", &child], &["usage", &child]] {
            let text = chats.sandbox.run(&[&["--format", "text", "sidechat"], words].concat()).success();
            assert!(text.text().contains("of dsh's plugin"), "{text}");
        }
        for words in [&["cites", &child][..], &["compare", &child, "1", "2"]] {
            let text = chats.sandbox.run(&[&["--format", "text", "sidechat"], words].concat()).success();
            assert!(text.text().starts_with("A side chat of dsh's plugin.\n"), "{text}");
            assert_eq!(chats.run(words).success().json()["origin"], "plugin");
        }
        assert_eq!(usage["origin"], "plugin");
        chats.run(&["doctor"]).success();
        assert_eq!(chats.everything(), before);
        // Ours are made and changed beside it.
        let ours = chats.create(&[]);
        let fold = chats.fold(&ours, FOLD);
        chats.commit(&fold, &[]).success();
        assert_eq!(nodes(&chats), [ours, child]);
        let file = chats.sandbox.home().join("storages/sidechat.json");
        assert_eq!(fs::read(&file).unwrap(), before[&file].clone().unwrap());
    }
}

fn nodes(chats: &Chats) -> Vec<String> {
    let tree = chats.run(&["tree"]).success().json();
    tree["nodes"].as_array().unwrap().iter().map(|node| node["childSessionId"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_row_that_would_stop_the_plugin_is_named_and_the_others_are_shown() {
    let (chats, child, good) = theirs(V4);
    let mut paused = good.clone();
    paused["status"] = json!("paused");
    paused["childSessionId"] = json!("b1");
    let mut wrong_fold = good.clone();
    wrong_fold["folds"][1]["foldId"] = json!("11111111-1111-1111-1111-111111111111");
    wrong_fold["extra"] = json!({"is": "fine"});
    put(&chats, &document(&[("b1", &paused), (&child, &good), ("b2", &wrong_fold)]));
    let before = chats.everything();
    let outcome = chats.run(&["catalog"]).success();
    assert_eq!(outcome.json()["chats"].as_array().unwrap().len(), 1);
    let problems = &outcome.json()["problems"];
    let place = |at: usize| (problems[at]["table"].clone(), problems[at]["key"].clone(), problems[at]["field"].clone());
    assert_eq!(place(0), (json!("chats"), json!("b1"), json!("status")));
    assert_eq!(place(1), (json!("chats"), json!("b2"), json!("folds[1].foldId")));
    assert_eq!(problems.as_array().unwrap().len(), 2);
    assert!(outcome.stderr.contains("key \"b1\", field status"), "{outcome}");
    chats.sandbox.run(&["--strict", "sidechat", "catalog"]).exits(6);
    // Who means the one with the wrong row is told so.
    let mut wrong = good.clone();
    wrong["status"] = json!("paused");
    put(&chats, &document(&[(&child, &wrong)]));
    for words in [&["show", &child][..], &["usage", &child], &["read", &child, "r1", "--as", A], &["hide", &child]] {
        chats.run(words).fails(4, "invalid-record");
    }
    chats.run(&["show", A]).fails(3, "not-sidechat");
    put(&chats, &document(&[("b1", &paused), (&child, &good), ("b2", &wrong_fold)]));
    let doctor = chats.run(&["doctor"]).exits(4).json();
    let finding = doctor["findings"].as_array().unwrap().iter().find(|finding| finding["key"] == "b1").unwrap().clone();
    assert_eq!(
        (&finding["kind"], &finding["table"], &finding["field"], &finding["gravity"]),
        (&json!("invalid-record"), &json!("chats"), &json!("status"), &json!("damage"))
    );
    assert_eq!(chats.everything(), before);
}

#[test]
fn a_file_that_is_none_or_newer_is_named() {
    let (chats, child, row) = theirs(V4);
    let ours = chats.create(&[]);
    let good = document(&[(&child, &row)]);
    let changed = |change: &dyn Fn(&mut Value)| {
        let mut document = good.clone();
        change(&mut document);
        document
    };
    let cases = [
        (changed(&|document| document["unit"]["version"] = json!(2)), 5, "version-mismatch"),
        (changed(&|document| document["unit"]["name"] = json!("other")), 4, "malformed-medium"),
        (changed(&|document| document["unit"]["version"] = json!("1")), 4, "malformed-medium"),
        (changed(&|document| document["tables"] = json!([])), 4, "malformed-medium"),
        (changed(&|document| document["tables"]["chats"] = json!([])), 4, "malformed-medium"),
        (json!([]), 4, "malformed-medium"),
    ];
    for (document, status, code) in cases {
        put(&chats, &document);
        let before = chats.everything();
        let listed = chats.run(&["list", "--parent", A]).success().json();
        assert_eq!(
            (&listed["chats"][0]["childSessionId"], &listed["problems"][0]["code"]),
            (&json!(ours), &json!(code))
        );
        chats.run(&["show", &child]).fails(status, code);
        chats.run(&["archive", &child]).fails(status, code);
        let doctor = chats.run(&["doctor"]).exits(status).json();
        assert!(doctor["findings"].as_array().unwrap().iter().any(|finding| finding["kind"] == code), "{doctor}");
        assert_eq!(chats.everything(), before);
    }
    put(&chats, &changed(&|document| document["tables"] = json!({})));
    assert_eq!(chats.run(&["catalog"]).success().json()["problems"], json!([]));
    fs::write(chats.sandbox.home().join("storages/sidechat.json"), "{\"unit\":").unwrap();
    assert_eq!(chats.run(&["catalog"]).success().json()["problems"][0]["code"], "malformed-medium");
    // Nobody waits for what will never come.
    let path = chats.sandbox.home().join("storages/sidechat.json");
    fs::remove_file(&path).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
    assert_eq!(chats.run(&["catalog"]).success().json()["problems"][0]["code"], "io");
}

#[test]
fn without_the_plugins_file_nothing_is_missing_and_nothing_made() {
    let chats = Chats::new(V4);
    let before = chats.everything();
    assert_eq!(
        chats.run(&["list", "--parent", A]).success().json(),
        json!({"schema": "dshkit/sidechat.list/1", "chats": [], "problems": []})
    );
    assert_eq!(chats.run(&["doctor"]).success().json()["plugin"]["present"], false);
    assert_eq!(chats.everything(), before);
}
