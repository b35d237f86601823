//! Several processes at once, a dsh that holds the parent, a dsh that migrates it.

use super::{A, Chats, FOLD, PLAIN, Talk, stand_still, written};
use crate::logs::{KINDS, Kind};
use crate::support::Outcome;
use dshkit::stores::Encoding;
use serde_json::{Value, json};
use std::fs::{self, File};
use std::process::{Child, Stdio};

const V4: Kind = Kind { version: 4, encoding: Encoding::Zstd };

fn start(chats: &Chats, words: &[&str]) -> Child {
    let mut command = chats.sandbox.command();
    command.arg("sidechat").args(words).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

fn documents(children: Vec<Child>) -> Vec<Value> {
    children
        .into_iter()
        .map(|child| {
            let output = child.wait_with_output().unwrap();
            let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(output.status.success(), "{stderr}");
            serde_json::from_slice(&output.stdout).unwrap()
        })
        .collect()
}

#[test]
fn the_same_fold_committed_at_once_becomes_one_message() {
    for kind in [KINDS[1], KINDS[3], V4] {
        let chats = Chats::new(kind);
        let child = chats.create(&[]);
        let fold = chats.fold(&child, FOLD);
        let mut words = vec!["commit", &fold];
        words.extend(chats.word());
        chats.stand_still();
        let done = documents((0..4).map(|_| start(&chats, &words)).collect());
        let written = chats.written();
        assert_eq!(written.len(), 1, "{kind:?}");
        for document in done {
            assert_eq!(
                (&document["fold"]["state"], &document["fold"]["parentEventSeq"]),
                (&json!("committed"), &json!(written[0].0))
            );
        }
    }
}

#[test]
fn different_folds_committed_at_once_all_arrive() {
    for kind in [KINDS[0], V4] {
        let chats = Chats::new(kind);
        let folds: Vec<String> = (0..3).map(|_| chats.create(&[])).map(|child| chats.fold(&child, FOLD)).collect();
        chats.stand_still();
        let commit = |fold: &String| {
            let mut words = vec!["commit", fold, "--wait", "20"];
            words.extend(chats.word());
            start(&chats, &words)
        };
        let done = documents(folds.iter().map(commit).collect());
        let mut seqs: Vec<u64> =
            done.iter().map(|document| document["fold"]["parentEventSeq"].as_u64().unwrap()).collect();
        seqs.sort_unstable();
        assert_eq!(seqs, chats.written().iter().map(|(seq, _)| *seq).collect::<Vec<_>>(), "{kind:?}");
        assert_eq!(seqs.len(), 3);
    }
}

#[test]
fn revisions_prepared_at_once_have_different_numbers() {
    let chats = Chats::new(V4);
    let child = chats.create(&[]);
    let file = chats.file("f.md", FOLD);
    let done = documents((0..4).map(|_| start(&chats, &["fold", &child, "--text", &file])).collect());
    let mut revisions: Vec<u64> = done.iter().map(|document| document["fold"]["revision"].as_u64().unwrap()).collect();
    revisions.sort_unstable();
    assert_eq!(revisions, [1, 2, 3, 4]);
}

#[test]
fn side_chats_made_at_once_are_all_there() {
    let chats = Chats::new(V4);
    let words = ["create", "--parent", A, "--question", "q"];
    let done = documents((0..4).map(|_| start(&chats, &words)).collect());
    assert_eq!(done.len(), 4);
    assert_eq!(chats.run(&["list", "--parent", A]).success().json()["chats"].as_array().unwrap().len(), 4);
}

#[test]
fn a_parent_that_a_dsh_holds_is_left_alone() {
    for kind in [KINDS[1], KINDS[3], V4] {
        let chats = Chats::new(kind);
        let child = chats.create(&[]);
        let fold = chats.fold(&child, FOLD);
        let lock = File::create(chats.parent.with_file_name("session.lock")).unwrap();
        lock.lock().unwrap();
        let bytes = chats.bytes();
        let document = chats.commit(&fold, &[]).success().json();
        assert_eq!(
            (&document["fold"]["state"], &document["delivery"]["reason"]),
            (&json!("pending"), &json!("session-held"))
        );
        assert_eq!(chats.bytes(), bytes, "{kind:?}");
        // Who waits gets it when the dsh is done.
        let mut words = vec!["deliver", "--wait", "60", "--require-delivered"];
        words.extend(chats.word());
        let waiting = start(&chats, &words);
        lock.unlock().unwrap();
        let done = documents(vec![waiting]);
        assert_eq!(done[0]["deliveries"][0]["state"], "committed", "{kind:?}");
        assert_eq!(chats.written().len(), 1);
    }
}

#[test]
fn a_migration_in_between_is_followed() {
    let chats = Chats::new(PLAIN);
    let child = chats.create(&[]);
    let fold = chats.fold(&child, FOLD);
    let v0 = chats.bytes();
    let first = chats.run(&["commit", &fold]).success().json();
    assert_eq!(first["fold"]["state"], "pending");
    // A newer dsh opens the parent and publishes its own generation beside the old.
    let kind = Kind { version: 4, encoding: Encoding::Plain };
    let mut talk = Talk::new(kind);
    talk.exchange(("u1", "Why is it written twice?"), ("a1", "Because it is retried."));
    let mut header = kind.header(A);
    header["createdAt"] = 1_790_000_000_000u64.into();
    header["cwd"] = super::CWD.into();
    let path = super::write_session_with(&chats.sandbox, kind, &header, &talk);
    stand_still(&path);
    let document = chats.run(&["commit", &fold]).success().json();
    assert_eq!((&document["fold"]["state"], &document["fold"]["parentFormat"]), (&json!("committed"), &json!(4)));
    assert_eq!(chats.bytes(), v0, "the older log is never touched");
    assert_eq!(written(&chats.sandbox.sessions(), A).len(), 1);
}

#[test]
fn a_writer_that_takes_too_long_is_told_of() {
    let chats = Chats::new(V4);
    chats.create(&[]);
    let lock = File::open(chats.sandbox.home().join("dshkit/sidechat.lock")).unwrap();
    lock.lock().unwrap();
    let before = chats.everything();
    let outcome: Outcome = chats.run(&["create", "--parent", A, "--question", "q"]);
    outcome.fails(7, "ledger-busy");
    assert_eq!(chats.everything(), before);
    chats.run(&["catalog"]).success();
    fs::remove_file(chats.sandbox.home().join("dshkit/sidechat.lock")).unwrap();
}
