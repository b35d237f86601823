//! The ledger as a file: of another program, of a newer dshkit, half written, in use.

use super::{A, Chats, FOLD, PLAIN};
use crate::logs::Kind;
use crate::support::sha256;
use dshkit::stores::Encoding;
use rusqlite::Connection;
use serde_json::json;
use std::fs;

const V4: Kind = Kind { version: 4, encoding: Encoding::Zstd };

fn ledger(chats: &Chats) -> std::path::PathBuf {
    chats.sandbox.home().join("dshkit/sidechat.sqlite")
}

#[test]
fn a_ledger_that_is_not_ours_is_left_alone() {
    let chats = Chats::new(V4);
    let child = chats.create(&[]);
    let ours = fs::read(ledger(&chats)).unwrap();
    let newer: &dyn Fn() = &|| {
        let connection = Connection::open(ledger(&chats)).unwrap();
        connection.pragma_update(None, "user_version", 99).unwrap();
    };
    let foreign: &dyn Fn() = &|| {
        fs::remove_file(ledger(&chats)).unwrap();
        let connection = Connection::open(ledger(&chats)).unwrap();
        connection.execute_batch("CREATE TABLE notes (text TEXT)").unwrap();
    };
    let garbage: &dyn Fn() = &|| fs::write(ledger(&chats), [b'x'; 5000]).unwrap();
    for (spoil, status, code) in
        [(newer, 5, "unsupported-format"), (foreign, 5, "unsupported-format"), (garbage, 8, "ledger-failed")]
    {
        spoil();
        let before = (sha256(&fs::read(ledger(&chats)).unwrap()), chats.bytes());
        chats.run(&["create", "--parent", A, "--question", "q"]).fails(status, code);
        chats.run(&["catalog"]).fails(status, code);
        chats.run(&["show", &child]).fails(status, code);
        chats.run(&["deliver"]).fails(status, code);
        assert_eq!((sha256(&fs::read(ledger(&chats)).unwrap()), chats.bytes()), before);
        fs::write(ledger(&chats), &ours).unwrap();
    }
    chats.run(&["show", &child]).success();
}

#[test]
fn an_empty_ledger_is_none() {
    let chats = Chats::new(V4);
    fs::create_dir(chats.sandbox.home().join("dshkit")).unwrap();
    for content in [0, 1] {
        fs::write(ledger(&chats), "").unwrap();
        if content == 1 {
            Connection::open(ledger(&chats)).unwrap().execute_batch("VACUUM").unwrap();
        }
        assert_eq!(chats.run(&["catalog"]).success().json()["chats"], json!([]));
    }
    chats.create(&[]);
}

#[test]
fn a_transaction_that_a_killed_writer_left_is_taken_back() {
    let chats = Chats::new(V4);
    let child = chats.create(&[]);
    let fold = chats.fold(&child, FOLD);
    let path = ledger(&chats);
    let journal = chats.sandbox.home().join("dshkit/sidechat.sqlite-journal");
    // A transaction that has come as far as the file, and its journal, as a kill leaves them.
    let connection = Connection::open(&path).unwrap();
    connection.execute_batch("PRAGMA cache_size = 1; PRAGMA cache_spill = 1; BEGIN IMMEDIATE;").unwrap();
    let text = "x".repeat(5000);
    for number in 0..50 {
        let sql = "UPDATE chats SET title = ?, question = ?";
        connection.execute(sql, [format!("broken {number}"), text.clone()]).unwrap();
        connection.execute("UPDATE folds SET prepared_text = ?", [&text]).unwrap();
    }
    let (half, back) = (fs::read(&path).unwrap(), fs::read(&journal).unwrap());
    connection.execute_batch("ROLLBACK").unwrap();
    drop(connection);
    fs::write(&path, &half).unwrap();
    fs::write(&journal, &back).unwrap();
    let before = chats.everything();
    let shown = chats.run(&["show", &child]).success().json();
    assert_eq!(shown["chat"]["question"], "Which key?");
    assert_eq!(chats.everything(), before, "looking changed nothing");
    assert_eq!(chats.commit(&fold, &[]).success().json()["fold"]["text"], FOLD);
    assert!(!journal.exists());
}

#[test]
fn who_only_looks_makes_and_changes_nothing() {
    let chats = Chats::new(V4);
    let looks = |child: &str| {
        [
            vec!["catalog".to_owned()],
            vec!["list".to_owned(), "--parent".to_owned(), A.to_owned()],
            vec!["deliver".to_owned(), "--dry-run".to_owned()],
            vec!["show".to_owned(), child.to_owned()],
            vec!["usage".to_owned(), child.to_owned()],
            vec!["resume".to_owned(), child.to_owned()],
            vec!["fold".to_owned(), child.to_owned(), "--prompt".to_owned()],
        ]
    };
    let before = chats.everything();
    for words in looks(A) {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        chats.run(&words);
    }
    chats.run(&["deliver"]).success();
    assert_eq!(chats.everything(), before);
    let child = chats.create(&[]);
    let before = chats.everything();
    for words in looks(&child) {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        chats.run(&words).success();
    }
    assert_eq!(chats.everything(), before);
}

#[test]
fn ids_that_no_utf8_can_hold_are_kept() {
    let chats = Chats::new(PLAIN);
    let text = fs::read_to_string(&chats.parent).unwrap().replacen(r#""id":"parent-a""#, r#""id":"odd\ud800""#, 1);
    let directory = chats.parent.parent().unwrap().with_file_name("odd~D800");
    fs::create_dir(&directory).unwrap();
    fs::write(directory.join("session.jsonl"), text).unwrap();
    let path = directory.to_str().unwrap();
    let document = chats.run(&["create", "--parent", path, "--question", "q"]).success();
    assert!(document.text().contains(r#""parentSessionId":"odd\ud800""#), "{}", document.text());
    let listed = chats.run(&["catalog"]).success();
    assert!(listed.text().contains(r#""parentSessionId":"odd\ud800""#) && listed.text().contains(r#""parent":"here""#));
}
