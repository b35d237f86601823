//! The scenario of `cases/13-sidechat-recovery` on our ledger: a fold that was written and not marked, and one
//! that was not written.

use super::{A, Chats, FOLD, KINDS_TO_TRY};
use serde_json::json;
use std::fs;

#[test]
fn after_a_crash_what_was_written_is_marked_and_what_was_not_is_written() {
    for kind in KINDS_TO_TRY {
        let chats = Chats::new(kind);
        let child = chats.create(&[]);
        let ledger = chats.sandbox.home().join("dshkit/sidechat.sqlite");
        let first = chats.fold(&child, FOLD);
        chats.commit(&first, &[]).success();
        let second = chats.fold(&child, &FOLD.replace("a.rs", "b.rs"));
        // Decided on, while the parent could not be written to; then written; then the ledger lost that.
        let lock = fs::File::create(chats.parent.with_file_name("session.lock")).unwrap();
        lock.lock().unwrap();
        assert_eq!(chats.commit(&second, &[]).success().json()["fold"]["state"], "pending");
        lock.unlock().unwrap();
        let third = chats.fold(&child, &FOLD.replace("a.rs", "c.rs"));
        let pending = fs::read(&ledger).unwrap();
        chats.commit(&second, &[]).success();
        let bytes = chats.bytes();
        let seq = chats.written()[1].0;
        fs::write(&ledger, pending).unwrap();

        // The second: marked, not written again.
        let delivered = chats.run(&["deliver"]).success().json();
        assert_eq!(
            (&delivered["deliveries"][0]["state"], &delivered["deliveries"][0]["parentEventSeq"]),
            (&json!("committed"), &json!(seq)),
            "{kind:?}"
        );
        assert_eq!(chats.bytes(), bytes);
        for _ in 0..2 {
            let again = chats.commit(&second, &[]).success().json();
            assert_eq!((&again["fold"]["state"], &again["fold"]["parentEventSeq"]), (&json!("committed"), &json!(seq)));
            assert_eq!(chats.bytes(), bytes);
        }
        // The third: written once.
        assert_eq!(chats.commit(&third, &[]).success().json()["fold"]["revision"], 3);
        let written = chats.written();
        assert_eq!(written.len(), 3);
        assert!(written[0].1.ends_with(FOLD), "the first is never rewritten");
        let shown = chats.run(&["show", &child]).success().json();
        let standing: Vec<_> = shown["folds"].as_array().unwrap().iter().map(|fold| fold["standing"].clone()).collect();
        assert_eq!(standing, ["superseded", "superseded", "current"]);
        // A stranger, and a side chat that has gone on.
        chats.run(&["commit", &third, "--parent", &child]).fails(7, "relation-invalid");
        let fourth = chats.fold(&child, FOLD);
        chats.go_on(&child, |talk| {
            talk.exchange(("q1", "More?"), ("r1", "More."));
        });
        chats.commit(&fourth, &[]).fails(7, "fold-stale");
        assert_eq!(chats.run(&["list", "--parent", A]).success().json()["chats"][0]["latestFoldRevision"], 3);
    }
}
