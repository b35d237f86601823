//! Having from the logs what the ledger has lost (seed §9.3), and naming what does not fit.

use super::{A, CWD, Chats, FOLD, KINDS_TO_TRY, PLAIN, Talk, write_session};
use crate::logs::Kind;
use dshkit::stores::Encoding;
use serde_json::{Value, json};
use std::fs;

const V4: Kind = Kind { version: 4, encoding: Encoding::Zstd };

/// A side chat with two folds, the second taken back, a cite in the parent and one elsewhere.
fn used(kind: Kind) -> (Chats, String) {
    let chats = Chats::new(kind);
    let made = chats.run(&["create", "--parent", A, "--question", "Which <key>?\n\nAnd why?"]).success().json();
    let child = made["chat"]["childSessionId"].as_str().unwrap().to_owned();
    chats.go_on(&child, |talk| {
        talk.exchange(("q1", "Is it safe?"), ("r1", "Yes, it is.\n\nReally."));
    });
    let mut talk = Talk::new(V4);
    talk.exchange(("u1", "One?"), ("a1", "Two."));
    write_session(&chats.sandbox, V4, "other", Some(CWD), &talk);
    let evidence = format!("见 [答复](sidechat://{child}/message/r1)");
    let first = chats.fold(&child, &FOLD.replace("a.rs", &evidence));
    chats.commit(&first, &[]).success();
    let file = chats.file("f.md", &FOLD.replace("a.rs", "b.rs"));
    let words = ["fold", &child, "--text", &file, "--mode", "incremental", "--base", "1"];
    let second = chats.run(&words).success().json()["fold"]["foldId"].as_str().unwrap().to_owned();
    chats.commit(&second, &[]).success();
    chats.stand_still();
    let mut withdraw = vec!["withdraw", &second, "--reason", "It was\n\nwrong."];
    withdraw.extend(chats.word());
    chats.run(&withdraw).success();
    chats.cite(&child, &["r1", "--range", "0-3"]).success();
    chats.cite(&child, &["r1", "--into", "other", "--cross-parent"]).success();
    (chats, child)
}

/// What of a side chat the logs tell.
fn told(chats: &Chats, child: &str) -> Value {
    let shown = chats.run(&["show", child]).success().json();
    let pick = |value: &Value, keys: &[&str]| -> Value {
        Value::Object(keys.iter().map(|key| ((*key).to_owned(), value[*key].clone())).collect())
    };
    let list = |name: &str, keys: &[&str]| -> Vec<Value> {
        shown[name].as_array().unwrap().iter().map(|item| pick(item, keys)).collect()
    };
    let mut cites = list("cites", &["citeId", "targetSessionId", "crossParent", "text", "state", "parentEventSeq"]);
    cites.sort_by_key(|cite| cite["citeId"].to_string());
    let folds = [
        "foldId",
        "revision",
        "state",
        "standing",
        "mode",
        "baseRevision",
        "text",
        "pointers",
        "supersedesRevision",
        "parentEventSeq",
        "parentFormat",
    ];
    json!({
        "chat": pick(&shown["chat"], &["childSessionId", "parentSessionId", "cwd", "question", "title", "latestFoldRevision"]),
        "folds": list("folds", &folds),
        "cites": cites,
        "withdrawals": list("withdrawals", &["foldId", "revision", "reason", "state", "parentEventSeq"]),
    })
}

#[test]
fn relations_and_revisions_are_had_from_the_logs_alone() {
    for kind in KINDS_TO_TRY {
        let (chats, child) = used(kind);
        assert_eq!(chats.run(&["doctor"]).success().json()["findings"], json!([]), "{kind:?}");
        let before = told(&chats, &child);
        fs::remove_dir_all(chats.sandbox.home().join("dshkit")).unwrap();
        let without = chats.everything();
        let doctor = chats.run(&["doctor"]).success().json();
        assert_eq!(
            (&doctor["findings"][0]["kind"], &doctor["findings"][0]["childSessionId"]),
            (&json!("chat-unknown"), &json!(child))
        );
        assert_eq!(chats.everything(), without, "looking makes nothing");
        let rebuilt = chats.run(&["doctor", "--rebuild"]).success().json();
        assert_eq!(rebuilt["restored"], json!({"chats": 1, "folds": 2, "cites": 2, "withdrawals": 1}));
        assert_eq!(rebuilt["findings"], json!([]));
        assert_eq!(told(&chats, &child), before, "{kind:?}");
        assert_eq!(chats.run(&["show", &child]).success().json()["chat"]["origin"], "restored");
        let again = chats.run(&["doctor", "--rebuild"]).success().json();
        assert_eq!(again["restored"], json!({"chats": 0, "folds": 0, "cites": 0, "withdrawals": 0}));
        // Life goes on: the next number, and a message for it.
        let next = chats.fold(&child, &FOLD.replace("a.rs", "c.rs"));
        let committed = chats.commit(&next, &[]).success().json();
        assert_eq!((&committed["fold"]["revision"], &committed["fold"]["supersedesRevision"]), (&json!(3), &json!(1)));
        assert_eq!(chats.written().len(), 5);
    }
}

#[test]
fn what_is_known_stays_and_only_what_is_missing_is_added() {
    let (chats, child) = used(V4);
    let before = chats.run(&["show", &child]).success().json();
    let ledger = chats.sandbox.home().join("dshkit/sidechat.sqlite");
    let connection = rusqlite::Connection::open(&ledger).unwrap();
    connection.execute("DELETE FROM withdrawals", []).unwrap();
    connection.execute("DELETE FROM folds WHERE revision = 2", []).unwrap();
    connection.execute("DELETE FROM cites WHERE is_cross_parent", []).unwrap();
    drop(connection);
    assert_eq!(kinds(&chats, 0), ["fold-unknown", "cite-unknown"]);
    let rebuilt = chats.run(&["doctor", "--rebuild"]).success().json();
    assert_eq!(rebuilt["restored"], json!({"chats": 0, "folds": 1, "cites": 1, "withdrawals": 1}));
    let after = chats.run(&["show", &child]).success().json();
    assert_eq!(after["folds"][0], before["folds"][0]);
    assert_eq!((&after["chat"]["origin"], &after["folds"][1]["standing"]), (&json!("dshkit"), &json!("withdrawn")));
}

#[test]
fn copies_of_messages_tell_no_relation() {
    let (chats, child) = used(PLAIN);
    // A fork of the parent holds its messages, and so does one of the side chat.
    for (id, of) in [("fork-a", A.to_owned()), ("fork-b", child.clone())] {
        let log = if of == A { chats.parent.clone() } else { chats.log_of(&child) };
        let text = fs::read_to_string(&log).unwrap();
        let events = text.lines().count() - 1;
        let header = format!(r#""id":"{id}","parentSession":"{of}","seedLength":{events}"#);
        let text = text.replacen(&format!(r#""id":"{of}""#), &header, 1);
        let folder = log.parent().unwrap().with_file_name(id);
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("session.jsonl"), text).unwrap();
    }
    fs::remove_dir_all(chats.sandbox.home().join("dshkit")).unwrap();
    let rebuilt = chats.run(&["doctor", "--rebuild"]).success().json();
    assert_eq!(rebuilt["restored"], json!({"chats": 1, "folds": 2, "cites": 2, "withdrawals": 1}), "{rebuilt}");
    let shown = chats.run(&["show", &child]).success().json();
    assert!(shown["cites"].as_array().unwrap().iter().all(|cite| cite["targetSessionId"] != "fork-a"));
}

#[test]
fn a_text_that_was_pasted_tells_nothing() {
    let (chats, child) = used(PLAIN);
    let text = chats.written()[0].1.replacen("rev=1", "rev=9", 1);
    let mut talk = Talk::new(PLAIN);
    talk.exchange(("u1", &text), ("a1", &text));
    write_session(&chats.sandbox, PLAIN, "pasted", Some(CWD), &talk);
    fs::remove_dir_all(chats.sandbox.home().join("dshkit")).unwrap();
    let rebuilt = chats.run(&["doctor", "--rebuild"]).success().json();
    assert_eq!(rebuilt["restored"]["folds"], 2);
    assert_eq!(chats.run(&["show", &child]).success().json()["chat"]["reservedRevision"], 2);
}

#[test]
fn what_does_not_fit_is_named() {
    let (chats, child) = used(PLAIN);
    let fold = chats.fold(&child, FOLD);
    chats.run(&["commit", &fold]).success();
    let doctor = chats.run(&["doctor"]).success().json();
    assert_eq!(
        (&doctor["findings"][0]["kind"], &doctor["findings"][0]["gravity"]),
        (&json!("pending"), &json!("note"))
    );
    // A message that the ledger is sure of is gone from the log.
    let text = fs::read_to_string(&chats.parent).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    fs::write(&chats.parent, format!("{}\n", lines[..lines.len() - 1].join("\n"))).unwrap();
    let doctor = chats.run(&["doctor"]).exits(4).json();
    assert!(
        doctor["findings"].as_array().unwrap().iter().any(|finding| finding["kind"] == "message-missing"),
        "{doctor}"
    );
    fs::remove_dir_all(chats.parent.parent().unwrap()).unwrap();
    let doctor = chats.run(&["doctor"]).success().json();
    let kinds: Vec<_> =
        doctor["findings"].as_array().unwrap().iter().map(|finding| finding["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["orphaned", "pending"]);
    fs::write(chats.sandbox.home().join("dshkit/sidechat.sqlite"), [b'x'; 5000]).unwrap();
    let doctor = chats.run(&["doctor"]).exits(4).json();
    assert_eq!(doctor["findings"][0]["kind"], "ledger-failed");
    chats.run(&["doctor", "--rebuild"]).fails(8, "ledger-failed");
}

/// The kinds of what the doctor finds.
fn kinds(chats: &Chats, status: i32) -> Vec<String> {
    let doctor = chats.run(&["doctor"]).exits(status).json();
    doctor["findings"].as_array().unwrap().iter().map(|finding| finding["kind"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_message_in_a_log_that_is_not_the_parents_tells_nothing() {
    let (chats, child) = used(PLAIN);
    let before = told(&chats, &child);
    let source = json!({"kind": "plugin", "plugin": "dsh-sidechat", "form": "notice", "summary": "s"});
    let rev_1 = before["folds"][0]["foldId"].as_str().unwrap();
    for (id, cwd) in [("stranger", "/srv/elsewhere"), ("neighbour", CWD)] {
        let mut talk = Talk::new(PLAIN);
        talk.exchange(("u1", "?"), ("a1", "!"));
        let forged = chats.written()[0].1.replacen(rev_1, "3f8b1c1e-4c55-4b0f-9d6a-0e2f5a7b8c9d", 1);
        let back = format!("[SideChat fold-withdrawal id={rev_1} rev=1 source={child}]\n\n> x\n\n撤回原因：x");
        let cite = format!(
            "[SideChat cite id=3f8b1c1e-4c55-4b0f-9d6a-0e2f5a7b8c9e source={child} message=r1]\n\n> x\n> y\n\nquoted"
        );
        for (number, text) in [forged.replacen("rev=1", "rev=9", 1), back, cite].iter().enumerate() {
            let content = json!([{"type": "text", "text": text}]);
            let id = format!("m-{id}-{number}");
            talk.surface("user/message", json!({"content": content, "source": source, "role": "user", "id": id}));
        }
        write_session(&chats.sandbox, PLAIN, id, Some(cwd), &talk);
        if id == "stranger" {
            assert_eq!(kinds(&chats, 0), ["elsewhere"; 3]);
            assert_eq!(chats.run(&["doctor", "--rebuild"]).success().json()["restored"]["folds"], 0);
            assert_eq!(told(&chats, &child), before);
        }
    }
    // A cite may stand in any session of the directory.
    assert_eq!(kinds(&chats, 0), [&["elsewhere"; 5][..], &["cite-unknown"]].concat());
    fs::remove_dir_all(chats.sandbox.home().join("dshkit")).unwrap();
    let rebuilt = chats.run(&["doctor", "--rebuild"]).success().json();
    assert_eq!(rebuilt["restored"], json!({"chats": 1, "folds": 2, "cites": 3, "withdrawals": 1}));
    assert_eq!(told(&chats, &child)["folds"], before["folds"]);
}

#[test]
fn a_side_chat_whose_session_is_gone_does_not_look_alive() {
    let (chats, child) = used(PLAIN);
    fs::remove_dir_all(chats.log_of(&child).parent().unwrap()).unwrap();
    assert_eq!(chats.run(&["show", &child]).success().json()["resume"], Value::Null);
    for words in [&["show", &child][..], &["list", "--parent", A], &["tree"]] {
        let text = chats.sandbox.run(&[&["--format", "text", "sidechat"], words].concat()).success();
        assert!(text.text().contains("open, its session is gone") && !text.text().contains("--resume"), "{text}");
    }
}

#[test]
fn a_copy_of_a_side_chats_log_makes_no_side_chat() {
    let (chats, child) = used(PLAIN);
    let log = chats.log_of(&child);
    let copy = log.parent().unwrap().with_file_name("copy");
    fs::create_dir(&copy).unwrap();
    let text = fs::read_to_string(&log).unwrap();
    fs::write(copy.join("session.jsonl"), text.replacen(&child, "copy", 1)).unwrap();
    assert_eq!(kinds(&chats, 0), [""; 0]);
    fs::remove_dir_all(chats.sandbox.home().join("dshkit")).unwrap();
    assert_eq!(chats.run(&["doctor", "--rebuild"]).success().json()["restored"]["chats"], 1);
}

#[test]
fn what_the_logs_say_otherwise_is_damage() {
    let (chats, child) = used(PLAIN);
    let ledger = chats.sandbox.home().join("dshkit/sidechat.sqlite");
    let good = fs::read(&ledger).unwrap();
    for (sql, kind) in [
        ("UPDATE folds SET committed_text = 'evil' WHERE revision = 1".to_owned(), "fold-differs"),
        ("UPDATE folds SET parent_event_seq = 1 WHERE revision = 1".to_owned(), "fold-differs"),
        ("UPDATE chats SET parent = 'other'".to_owned(), "parent-differs"),
        (format!("UPDATE chats SET parent = '{child}', parent_created_at = child_created_at"), "circle"),
        ("UPDATE chats SET child = 'other', child_created_at = 1790000000000".to_owned(), "ledger-failed"),
    ] {
        fs::write(&ledger, &good).unwrap();
        let connection = rusqlite::Connection::open(&ledger).unwrap();
        connection.pragma_update(None, "foreign_keys", false).unwrap();
        assert!(connection.execute(&sql, []).unwrap() > 0, "{sql}");
        drop(connection);
        let found = kinds(&chats, 4);
        assert!(found.iter().any(|found| found == kind), "{sql}: {found:?}");
        if kind == "circle" {
            let bytes = fs::read(chats.log_of(&child)).unwrap();
            chats.run(&["cite", &child, "r1", "--offline"]).fails(7, "relation-invalid");
            assert_eq!(fs::read(chats.log_of(&child)).unwrap(), bytes);
        }
    }
    // A session that is no side chat.
    fs::write(&ledger, &good).unwrap();
    let connection = rusqlite::Connection::open(&ledger).unwrap();
    let columns = "child_created_at, child_cwd, parent, parent_created_at, parent_cwd, question, title, is_published, status, \
        seed, permission, model, last_revision, created_at, updated_at";
    let copied = columns.replacen("child_created_at", "1790000000000", 1);
    let sql = format!("INSERT INTO chats (child, {columns}) SELECT 'other', {copied} FROM chats");
    connection.execute(&sql, []).unwrap();
    drop(connection);
    assert_eq!(kinds(&chats, 4), ["no-sidechat"]);
}

#[test]
fn what_a_rebuild_would_restore_is_told_and_nothing_is_made() {
    let (chats, _) = used(V4);
    let ledger = chats.sandbox.home().join("dshkit/sidechat.sqlite");
    let connection = rusqlite::Connection::open(&ledger).unwrap();
    connection.execute("DELETE FROM withdrawals", []).unwrap();
    connection.execute("DELETE FROM folds WHERE revision = 2", []).unwrap();
    drop(connection);
    let trial = |restored: Value| {
        let before = chats.everything();
        let trial = chats.run(&["doctor", "--rebuild", "--dry-run"]).success().json();
        assert_eq!((&trial["restored"], &trial["dryRun"]), (&restored, &json!(true)));
        assert_eq!(chats.everything(), before);
    };
    trial(json!({"chats": 0, "folds": 1, "cites": 0, "withdrawals": 1}));
    fs::remove_dir_all(chats.sandbox.home().join("dshkit")).unwrap();
    trial(json!({"chats": 1, "folds": 2, "cites": 2, "withdrawals": 1}));
}

#[test]
fn where_there_is_nothing_to_restore_nothing_is_made() {
    let chats = Chats::new(V4);
    let before = chats.everything();
    let rebuilt = chats.run(&["doctor", "--rebuild"]).success().json();
    assert_eq!((&rebuilt["restored"]["chats"], &rebuilt["ledger"]["present"]), (&json!(0), &json!(false)));
    assert_eq!(chats.everything(), before);
}
