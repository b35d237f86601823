//! Status, orphans, listings (sidechat.md §7, cases 53 to 56).

use super::{A, Chats, FOLD, PLAIN};
use crate::logs::Kind;
use dshkit::stores::Encoding;
use serde_json::{Value, json};
use std::fs;

const V4: Kind = Kind { version: 4, encoding: Encoding::Zstd };

#[test]
fn a_side_chat_is_put_away_and_taken_out_and_given_up_for_good() {
    let chats = Chats::new(V4);
    let child = chats.create(&[]);
    let status = |words: &[&str]| chats.run(words).success().json()["chat"]["status"].as_str().unwrap().to_owned();
    assert_eq!(status(&["archive", &child, "--dry-run"]), "archived");
    assert_eq!(status(&["archive", &child]), "archived");
    assert_eq!(status(&["archive", &child]), "archived");
    let fold = chats.fold(&child, FOLD);
    chats.commit(&fold, &[]).success();
    assert_eq!(status(&["restore", &child]), "open");
    let later = chats.fold(&child, FOLD);
    assert_eq!(status(&["abandon", &child]), "abandoned");
    let before = chats.everything();
    for change in ["archive", "restore"] {
        chats.run(&[change, &child]).fails(7, "status-invalid");
    }
    chats.commit(&later, &[]).fails(7, "status-invalid");
    chats.run(&["fold", &child, "--prompt"]).fails(7, "status-invalid");
    chats.run(&["cite", &child, "--fold", "1"]).fails(7, "status-invalid");
    assert_eq!(chats.everything(), before);
    let listed = chats.run(&["list", "--parent", A]).success().json();
    assert_eq!(listed["chats"][0]["status"], "abandoned");
}

#[test]
fn a_side_chat_is_an_orphan_only_while_its_parent_is_really_gone() {
    let chats = Chats::new(V4);
    let child = chats.create(&[]);
    let fold = chats.fold(&child, FOLD);
    let directory = chats.parent.parent().unwrap();
    let aside = chats.sandbox.path("aside");
    fs::rename(directory, &aside).unwrap();
    let listed = chats.run(&["list", "--parent", A]).success().json();
    assert_eq!((&listed["chats"][0]["status"], &listed["chats"][0]["parent"]), (&json!("orphaned"), &json!("gone")));
    chats.run(&["commit", &fold]).fails(7, "orphaned");
    chats.run(&["cite", &child, "x"]).fails(7, "orphaned");
    chats.run(&["fold", &child, "--prompt"]).fails(7, "orphaned");
    chats.run(&["archive", &child]).fails(7, "orphaned");
    let usage = chats.run(&["usage", &child]).success().json();
    assert_eq!(usage["parentDelta"], json!({"available": false, "tokens": null}));
    chats.run(&["show", &child]).success();
    chats.run(&["resume", &child]).success();
    // It is back, and nothing has to be linked again.
    fs::rename(&aside, directory).unwrap();
    let listed = chats.run(&["list", "--parent", A]).success().json();
    assert_eq!((&listed["chats"][0]["status"], &listed["chats"][0]["parent"]), (&json!("open"), &json!("here")));
    chats.commit(&fold, &[]).success();
}

#[test]
fn a_parent_that_cannot_be_read_is_not_gone() {
    let chats = Chats::new(V4);
    let child = chats.create(&[]);
    let fold = chats.fold(&child, FOLD);
    let bytes = chats.bytes();
    fs::write(&chats.parent, b"\x28\xb5\x2f\xfd garbage").unwrap();
    let listed = chats.run(&["catalog"]).success().json();
    assert_eq!((&listed["chats"][0]["status"], &listed["chats"][0]["parent"]), (&json!("open"), &json!("unreadable")));
    let outcome = chats.run(&["commit", &fold]);
    let code: Value = serde_json::from_str(outcome.stderr.lines().last().unwrap()).unwrap();
    assert_ne!(code["error"]["code"], "orphaned");
    assert_ne!(outcome.status, Some(0));
    // The whole sessions directory out of reach is no proof either.
    fs::write(&chats.parent, bytes).unwrap();
    let aside = chats.sandbox.path("aside");
    fs::rename(chats.sandbox.sessions(), &aside).unwrap();
    let listed = chats.run(&["catalog"]).success().json();
    assert_eq!(listed["chats"][0]["status"], "open");
    fs::rename(&aside, chats.sandbox.sessions()).unwrap();
    chats.commit(&fold, &[]).success();
}

#[test]
fn another_session_of_the_same_id_is_not_the_parent() {
    let chats = Chats::new(PLAIN);
    let child = chats.create(&[]);
    let fold = chats.fold(&child, FOLD);
    let text = fs::read_to_string(&chats.parent).unwrap();
    fs::write(&chats.parent, text.replacen("1790000000000", "1790000000001", 1)).unwrap();
    let before = chats.everything();
    chats.commit(&fold, &[]).fails(7, "relation-invalid");
    chats.cite(&child, &["x"]).fails(7, "relation-invalid");
    let listed = chats.run(&["catalog"]).success().json();
    assert_eq!((&listed["chats"][0]["status"], &listed["chats"][0]["parent"]), (&json!("open"), &json!("replaced")));
    assert_eq!(chats.everything().keys().collect::<Vec<_>>(), before.keys().collect::<Vec<_>>());
    assert_eq!(chats.bytes(), fs::read(&chats.parent).unwrap());
}

#[test]
fn a_parent_in_another_workspace_gets_nothing() {
    let chats = Chats::new(PLAIN);
    let child = chats.create(&[]);
    let fold = chats.fold(&child, FOLD);
    let text = fs::read_to_string(&chats.parent).unwrap().replacen(super::CWD, "/srv/demo/other", 1);
    let moved = chats.sandbox.sessions().join("--srv-demo-other--").join(A);
    fs::create_dir_all(&moved).unwrap();
    fs::write(moved.join("session.jsonl"), &text).unwrap();
    fs::remove_dir_all(chats.parent.parent().unwrap()).unwrap();
    for words in [["commit", &fold].as_slice(), &["cite", &child, "x"], &["fold", &child, "--prompt"]] {
        chats.run(words).fails(7, "workspace-denied");
    }
    assert_eq!(fs::read_to_string(moved.join("session.jsonl")).unwrap(), text);
}

#[test]
fn a_listing_shows_what_a_person_looks_for() {
    let chats = Chats::new(V4);
    assert_eq!(chats.run(&["list", "--parent", A]).success().json()["chats"], json!([]));
    assert!(!chats.sandbox.home().join("dshkit").exists(), "looking makes nothing");
    let first = chats.create(&["--seed", "none"]);
    let second = chats.create(&["--model", "other/model-x"]);
    chats.go_on(&first, |talk| {
        talk.start().ask("q1", "So?").header("deepseek-flash");
        let last = talk.events.len() - 1;
        talk.events[last]["time"] = json!(1);
    });
    let listed = chats.run(&["list", "--parent", A]).success().json();
    let chat = |id: &str| {
        listed["chats"].as_array().unwrap().iter().find(|chat| chat["childSessionId"] == id).unwrap().clone()
    };
    assert_eq!(
        (&chat(&first)["running"], &chat(&first)["currentModel"]["model"]),
        (&json!(true), &json!("deepseek-flash"))
    );
    assert_eq!(
        (&chat(&second)["running"], &chat(&second)["currentModel"]["provider"]),
        (&json!(false), &json!("other"))
    );
    assert_eq!(chat(&first)["seed"]["mode"], "none");
    let text = chats.sandbox.run(&["--format", "text", "sidechat", "list", "--parent", A]).success();
    assert!(text.text().contains("other/model-x"), "{}", text.text());
    let resume = chats.run(&["resume", &first]).success().json();
    assert_eq!(resume["sessionId"], first);
    assert_eq!(resume["cwd"], super::CWD);
    assert_eq!(resume["command"], format!("dsh --profile tui --resume {first}"));
    assert!(resume["uri"].as_str().unwrap().starts_with("dsh-session:"));
    assert_eq!(chats.run(&["catalog", "--cwd", "/nowhere"]).success().json()["chats"], json!([]));
    assert_eq!(chats.run(&["catalog", "--cwd", super::CWD]).success().json()["chats"].as_array().unwrap().len(), 2);
    // A prefix will do, and a side chat whose log is gone is still known.
    fs::remove_dir_all(chats.log_of(&second).parent().unwrap()).unwrap();
    let shown = chats.run(&["show", &second]).success().json();
    assert_eq!((&shown["chat"]["child"], &shown["replies"]), (&json!("gone"), &Value::Null));
    chats.run(&["resume", &second]).fails(3, "SESSION_QUERY_SESSION_NOT_FOUND");
}
