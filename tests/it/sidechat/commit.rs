//! Committing folds and delivering them (sidechat.md §7, cases 33, 36, 37, 40 to 46).

use super::{A, Chats, FOLD, PLAIN, Talk, stand_still, write_session};
use crate::logs::{KINDS, Kind, read};
use crate::support::shared;
use dshkit::stores::Encoding;
use serde_json::{Value, json};
use std::fs::{self, File};
use std::io::Write;

const V4: Kind = Kind { version: 4, encoding: Encoding::Zstd };

#[test]
fn a_fold_becomes_one_message_of_the_parent() {
    for kind in KINDS {
        let chats = Chats::new(kind);
        let (before, nodes) = read(&chats.sandbox.sessions(), A);
        let bytes = chats.bytes();
        let child = chats.create(&[]);
        let fold = chats.fold(&child, FOLD);
        assert_eq!(chats.bytes(), bytes, "{kind:?}");
        let document = chats.commit(&fold, &[]).success().json();
        let seq = before.len() as u64;
        assert_eq!(document["fold"]["state"], "committed");
        assert_eq!(
            (&document["fold"]["parentEventSeq"], &document["fold"]["standing"]),
            (&json!(seq), &json!("current"))
        );
        assert_eq!((&document["delivery"]["state"], &document["message"]), (&json!("delivered"), &Value::Null));
        assert!(document["fold"]["committedAt"].is_i64());

        assert!(chats.bytes().starts_with(&bytes), "the log only grew");
        let (after, new_nodes) = read(&chats.sandbox.sessions(), A);
        assert_eq!(after.len(), before.len() + 1, "no turn, no request, no answer");
        assert_eq!(after[..before.len()], before);
        assert_eq!(new_nodes, [&nodes[..], &[seq]].concat(), "it stands last before the model");
        let event = &after[before.len()];
        let mut expected = json!({
            "content": [{"type": "text", "text": format!(
                "[SideChat fold id={fold} rev=1 source={child}]\n\n> 来自 SideChat：澄清：Which key?\n> mode=full\n\n{FOLD}"
            )}],
            "source": {"kind": "plugin", "plugin": "dsh-sidechat", "form": "notice",
                "summary": "SideChat Fold · 澄清：Which key? · rev-1"},
            "role": "user",
            "id": fold,
        });
        if kind.version == 4 {
            let source = json!({"kind": "plugin:dsh-sidechat", "form": "notice", "summary": "SideChat Fold · 澄清：Which key? · rev-1"});
            expected["source"] = source;
        }
        assert_eq!((&event["data"], &event["surfaceOp"]), (&expected, &json!("append")), "{kind:?}");
    }
}

#[test]
fn committing_again_changes_nothing() {
    let chats = Chats::new(V4);
    let child = chats.create(&[]);
    let fold = chats.fold(&child, FOLD);
    let first = chats.commit(&fold, &[]).success().json();
    let bytes = chats.bytes();
    let other = chats.file("other.md", &FOLD.replace("a.rs", "b.rs"));
    for extra in [vec![], vec!["--text", &other], vec!["--allow-stale"]] {
        let again = chats.commit(&fold, &extra).success().json();
        assert_eq!(again["fold"], first["fold"]);
    }
    assert_eq!(chats.bytes(), bytes);
    assert_eq!(chats.run(&["deliver"]).success().json()["deliveries"], json!([]));
}

#[test]
fn what_waits_keeps_the_text_that_was_decided_on() {
    let chats = Chats::new(PLAIN);
    let child = chats.create(&[]);
    let fold = chats.fold(&child, FOLD);
    assert_eq!(chats.run(&["commit", &fold]).success().json()["fold"]["state"], "pending");
    let other = chats.file("other.md", &FOLD.replace("a.rs", "b.rs"));
    let committed = chats.commit(&fold, &["--text", &other]).success().json();
    assert_eq!((&committed["fold"]["state"], &committed["fold"]["text"]), (&json!("committed"), &json!(FOLD)));
    let written = chats.written();
    assert!(written.len() == 1 && written[0].1.ends_with(FOLD), "{written:?}");
}

#[test]
fn a_trial_changes_nothing() {
    let chats = Chats::new(V4);
    let child = chats.create(&[]);
    let fold = chats.fold(&child, FOLD);
    let before = chats.everything();
    let trial = chats.run(&["commit", &fold, "--dry-run"]).success().json();
    assert_eq!((&trial["dryRun"], &trial["delivery"]["state"]), (&json!(true), &json!("possible")));
    let marker = trial["message"]["marker"].as_str().unwrap();
    assert!(trial["message"]["text"].as_str().unwrap().starts_with(&format!("{marker}\n\n> ")));
    assert_eq!(chats.everything(), before);
}

#[test]
fn the_text_can_be_put_right_while_committing() {
    let chats = Chats::new(V4);
    let child = chats.create(&[]);
    let fold = chats.fold(&child, "nothing of a fold");
    let file = chats.file("good.md", FOLD);
    let committed = chats.commit(&fold, &["--text", &file]).success().json();
    assert_eq!(committed["fold"]["text"], FOLD);
    assert!(chats.written()[0].1.ends_with(FOLD));
}

#[test]
fn a_side_chat_that_has_gone_on_makes_a_fold_stale() {
    for kind in [PLAIN, V4] {
        let chats = Chats::new(kind);
        let child = chats.create(&[]);
        let fold = chats.fold(&child, FOLD);
        chats.go_on(&child, |talk| {
            talk.exchange(("q1", "And then?"), ("r1", "Nothing."));
        });
        let before = chats.everything();
        chats.commit(&fold, &[]).fails(7, "fold-stale");
        assert_eq!(chats.everything(), before);
        chats.commit(&fold, &["--allow-stale"]).success();
        // What dsh puts down when it opens a session says nothing new.
        let fold = chats.fold(&child, FOLD);
        chats.go_on(&child, |talk| {
            talk.push("session/end-seed", json!({})).push("sandbox/mode", json!({"mode": "read-only"}));
        });
        chats.commit(&fold, &[]).success();
    }
}

#[test]
fn only_the_newest_revision_can_be_committed() {
    let chats = Chats::new(V4);
    let child = chats.create(&[]);
    let first = chats.fold(&child, FOLD);
    let second = chats.fold(&child, FOLD);
    let document = chats.commit(&second, &[]).success().json();
    assert_eq!(document["fold"]["supersedesRevision"], Value::Null);
    for extra in [vec![], vec!["--allow-stale"]] {
        chats.commit(&first, &extra).fails(7, "fold-superseded");
    }
    let third = chats.fold(&child, &FOLD.replace("a.rs", "c.rs"));
    let document = chats.commit(&third, &[]).success().json();
    assert_eq!(document["fold"]["supersedesRevision"], 2);
    let written = chats.written();
    assert_eq!(written.len(), 2);
    assert!(written[1].1.contains("\n> mode=full · supersedes=rev-2\n"));
    let folds = chats.run(&["show", &child]).success().json()["folds"].clone();
    let standing: Vec<_> = folds.as_array().unwrap().iter().map(|fold| fold["standing"].clone()).collect();
    assert_eq!(standing, [Value::Null, json!("superseded"), json!("current")]);
    assert_eq!(folds[1]["text"], FOLD, "unchanged for ever");
    // One that is only pending counts as decided on.
    let fourth = chats.fold(&child, FOLD);
    let fifth = chats.fold(&child, FOLD);
    open_turn(&chats);
    assert_eq!(chats.commit(&fifth, &[]).success().json()["fold"]["state"], "pending");
    chats.commit(&fourth, &["--allow-stale"]).fails(7, "fold-superseded");
}

/// A turn begins in the parent.
fn open_turn(chats: &Chats) {
    append(chats, |talk| {
        talk.start().ask("u9", "Go on?");
    });
}

/// A dsh writes to the parent.
fn append(chats: &Chats, more: impl FnOnce(&mut Talk)) {
    let (events, _) = read(&chats.sandbox.sessions(), A);
    let stored = stored(&events);
    let turns = events[..stored].iter().filter(|event| event["type"] == "turn/start").count() as u64;
    let mut talk = Talk { kind: chats.kind, events: Vec::new(), turn: turns, step: 1 };
    more(&mut talk);
    let mut file = File::options().append(true).open(&chats.parent).unwrap();
    file.write_all(&chats.kind.batch(&talk.rows(stored as u64))).unwrap();
    drop(file);
    chats.stand_still();
}

/// How many events are stored: the closers of an open turn are not.
fn stored(events: &[Value]) -> usize {
    let closers = events.iter().rev().take_while(|event| {
        event["type"] == "step/end" || event["type"] == "turn/end" && event["data"]["reason"]["kind"] == "interrupted"
    });
    let open = closers.count();
    // Only an open turn of these tests is closed as interrupted.
    if open >= 2 { events.len() - open } else { events.len() }
}

#[test]
fn a_parent_at_work_is_left_alone_until_it_is_done() {
    for kind in [PLAIN, KINDS[2], V4] {
        let chats = Chats::new(kind);
        let child = chats.create(&[]);
        let fold = chats.fold(&child, FOLD);
        open_turn(&chats);
        let bytes = chats.bytes();
        let document = chats.commit(&fold, &[]).success().json();
        assert_eq!(document["fold"]["state"], "pending", "{kind:?}");
        assert_eq!(
            (&document["delivery"]["state"], &document["delivery"]["reason"]),
            (&json!("pending"), &json!("open-turn"))
        );
        assert!(document["message"]["text"].as_str().unwrap().contains(FOLD), "it can be pasted");
        chats.commit(&fold, &["--require-delivered"]).fails_with_data(7, "delivery-pending");
        let mut deliver = vec!["deliver", "--parent", A];
        deliver.extend(chats.word());
        assert_eq!(chats.run(&deliver).success().json()["deliveries"][0]["state"], "pending");
        chats.run(&["deliver", "--require-delivered"]).fails_with_data(7, "delivery-pending");
        assert_eq!(chats.bytes(), bytes);
        assert_eq!(chats.run(&["list", "--parent", A]).success().json()["chats"][0]["pending"], 1);

        append(&chats, |talk| {
            talk.answer("a9", "Done.").end("completed");
        });
        assert_eq!(chats.run(&["deliver", "--dry-run"]).success().json()["deliveries"][0]["state"], "pending");
        let delivered = chats.run(&deliver).success().json();
        assert_eq!(delivered["deliveries"][0]["state"], "committed");
        assert_eq!(chats.run(&deliver).success().json()["deliveries"], json!([]));
        assert_eq!(chats.written().len(), 1);
        let (events, _) = read(&chats.sandbox.sessions(), A);
        assert_eq!(events[events.len() - 2]["type"], "turn/end", "after the turn, not in it");
    }
}

#[test]
fn a_v0_parent_wants_the_users_word() {
    let chats = Chats::new(PLAIN);
    let child = chats.create(&[]);
    let fold = chats.fold(&child, FOLD);
    let bytes = chats.bytes();
    let document = chats.run(&["commit", &fold]).success().json();
    assert_eq!(
        (&document["fold"]["state"], &document["delivery"]["reason"]),
        (&json!("pending"), &json!("unproven-offline"))
    );
    assert_eq!(chats.bytes(), bytes);
    // Two at once: the second waits for the moment that proves the log stands still.
    chats.run(&["deliver", "--offline"]).success();
    let document = chats.run(&["cite", &child, "--fold", "1", "--offline"]).success().json();
    assert_eq!(document["cite"]["state"], "committed");
    assert_eq!(chats.written().len(), 2);
}

#[test]
fn a_side_chat_of_a_side_chat_wants_nobodys_word_while_its_log_is_ours() {
    let chats = Chats::new(PLAIN);
    let child = chats.create(&[]);
    let made = chats.run(&["create", "--parent", &child, "--question", "Why a key?"]).success().json();
    assert_eq!(made["chat"]["seed"]["messages"], json!([]), "the first message is not the person's own word");
    let grandchild = made["chat"]["childSessionId"].as_str().unwrap();
    for _ in 0..2 {
        let fold = chats.fold(grandchild, FOLD);
        let document = chats.run(&["commit", &fold]).success().json();
        assert_eq!(document["fold"]["state"], "committed");
    }
    assert_eq!(super::written(&chats.sandbox.sessions(), &child).len(), 2);
    chats.go_on(&child, |talk| {
        talk.exchange(("q1", "So?"), ("r1", "So."));
    });
    let fold = chats.fold(grandchild, FOLD);
    let document = chats.run(&["commit", &fold]).success().json();
    assert_eq!(
        (&document["fold"]["state"], &document["delivery"]["reason"]),
        (&json!("pending"), &json!("log-changed"))
    );
}

#[test]
fn a_pasted_marker_is_not_ours() {
    let chats = Chats::new(V4);
    let child = chats.create(&[]);
    let fold = chats.fold(&child, FOLD);
    let marker = format!("[SideChat fold id={fold} rev=1 source={child}]");
    append(&chats, |talk| {
        talk.start().ask("u9", &format!("{marker}\n\nI pasted this.")).inject("p9", &format!("{marker}\nAnd I."));
        talk.answer("a9", &format!("{marker} indeed")).end("completed");
    });
    let document = chats.commit(&fold, &[]).success().json();
    assert_eq!(document["fold"]["state"], "committed");
    let written = chats.written();
    assert_eq!(written.len(), 1);
    assert_eq!(document["fold"]["parentEventSeq"], written[0].0);
}

#[test]
fn what_is_there_already_is_not_written_again() {
    for kind in KINDS {
        let chats = Chats::new(kind);
        let child = chats.create(&[]);
        let fold = chats.fold(&child, FOLD);
        let ledger = chats.sandbox.home().join("dshkit/sidechat.sqlite");
        let prepared = fs::read(&ledger).unwrap();
        let first = chats.commit(&fold, &[]).success().json();
        let bytes = chats.bytes();
        // The ledger knows nothing of it, as after a crash that lost it.
        fs::write(&ledger, prepared).unwrap();
        let again = chats.run(&["commit", &fold]).success().json();
        assert_eq!(again["fold"]["parentEventSeq"], first["fold"]["parentEventSeq"], "{kind:?}");
        assert_eq!(again["fold"]["state"], "committed");
        assert_eq!(chats.bytes(), bytes);
    }
}

#[test]
fn a_caller_that_is_not_the_parent_is_refused() {
    let chats = Chats::new(V4);
    let child = chats.create(&[]);
    let fold = chats.fold(&child, FOLD);
    let talk = {
        let mut talk = Talk::new(V4);
        talk.exchange(("u1", "One?"), ("a1", "Two."));
        talk
    };
    write_session(&chats.sandbox, V4, "other", Some(super::CWD), &talk);
    let before = chats.everything();
    for words in [["commit", &fold, "--parent", "other"].as_slice(), &["cite", &child, "r1", "--parent", "other"]] {
        chats.run(words).fails(7, "relation-invalid");
    }
    assert_eq!(chats.everything(), before);
    chats.run(&["commit", &fold, "--parent", A]).success();
}

#[test]
fn logs_that_are_not_written_to_are_refused_with_the_text_to_paste() {
    for version in [1, 2] {
        let chats = Chats::new(Kind { version, encoding: Encoding::Plain });
        let child = chats.create(&[]);
        chats.go_on(&child, |talk| {
            talk.exchange(("q1", "Is it safe?"), ("r1", "Yes."));
        });
        let fold = chats.fold(&child, FOLD);
        let before = chats.everything();
        let outcome = chats.commit(&fold, &["--offline"]);
        let document = outcome.json();
        assert_eq!(
            (&document["fold"]["state"], &document["delivery"]["state"]),
            (&json!("prepared"), &json!("refused"))
        );
        assert!(document["message"]["text"].as_str().unwrap().ends_with(FOLD));
        outcome.fails_with_data(7, "generation-not-written");
        let outcome = chats.cite(&child, &["r1", "--offline"]);
        assert!(outcome.json()["message"]["text"].as_str().unwrap().ends_with("\n\nYes."));
        outcome.fails_with_data(7, "generation-not-written");
        assert_eq!(chats.everything(), before, "v{version}");
    }
}

#[test]
fn a_log_of_a_dsh_of_the_future_is_left_alone() {
    let chats = Chats::new(V4);
    let child = chats.create(&[]);
    let fold = chats.fold(&child, FOLD);
    let newer = chats.parent.with_file_name("session.v5.jsonl");
    let header = json!({"type": "session", "version": 5, "id": A, "createdAt": 1_790_000_000_000u64, "cwd": super::CWD,
        "isSeeded": false, "delegationDepth": 0});
    fs::write(&newer, format!("{header}\n")).unwrap();
    let before = chats.everything();
    chats.run(&["commit", &fold]).fails_with_data(7, "generation-not-written");
    chats.run(&["create", "--parent", A, "--question", "q"]).fails(5, "unsupported-format");
    assert_eq!(chats.everything(), before);
}

#[test]
fn a_session_in_a_database_gets_the_text_to_paste() {
    let Some(database) = shared("corpora/6-sqlite-v14") else { return };
    let database = fs::read_dir(database).unwrap().map(|entry| entry.unwrap().path());
    let database = database.into_iter().find(|path| path.extension().is_some_and(|end| end == "db" || end == "sqlite"));
    let Some(database) = database else { panic!("the corpus has a database") };
    let sandbox = crate::support::Sandbox::new();
    let store = database.to_str().unwrap();
    let list = sandbox.run(&["--store", store, "sessions", "list", "--json"]).success().json();
    let sessions = list["sessions"].as_array().unwrap();
    let parent = sessions.iter().find(|session| session["origin"].is_null()).unwrap()["sessionId"].as_str().unwrap();
    let words = ["--store", store, "sidechat", "create", "--parent", parent, "--question", "q", "--seed", "none"];
    let outcome = sandbox.run(&words);
    assert!(outcome.json()["message"].as_str().unwrap().ends_with("q"));
    outcome.fails_with_data(7, "database-store");
    assert!(!sandbox.home().join("dshkit").exists());
}

#[test]
fn what_was_decided_on_comes_to_its_end_although_the_side_chat_was_given_up() {
    let chats = Chats::new(V4);
    let child = chats.create(&[]);
    let fold = chats.fold(&child, FOLD);
    let lock = File::create(chats.parent.with_file_name("session.lock")).unwrap();
    lock.lock().unwrap();
    assert_eq!(chats.commit(&fold, &[]).success().json()["fold"]["state"], "pending");
    chats.run(&["abandon", &child]).success();
    lock.unlock().unwrap();
    // A parent that is gone is told of, and no error of the others.
    let aside = chats.sandbox.path("aside");
    fs::rename(chats.parent.parent().unwrap(), &aside).unwrap();
    let document = chats.run(&["deliver"]).success().json();
    assert_eq!(
        (&document["deliveries"][0]["state"], &document["deliveries"][0]["error"]["code"]),
        (&json!("pending"), &json!("orphaned"))
    );
    fs::rename(&aside, chats.parent.parent().unwrap()).unwrap();
    assert_eq!(chats.run(&["deliver"]).success().json()["deliveries"][0]["state"], "committed");
}

#[test]
fn several_messages_for_one_v0_log_are_delivered_at_once() {
    let chats = Chats::new(PLAIN);
    for _ in 0..3 {
        let child = chats.create(&[]);
        let fold = chats.fold(&child, FOLD);
        assert_eq!(chats.run(&["commit", &fold]).success().json()["fold"]["state"], "pending");
    }
    chats.stand_still();
    let document = chats.run(&["deliver", "--offline", "--require-delivered"]).success().json();
    let states: Vec<_> = document["deliveries"].as_array().unwrap().iter().map(|done| done["state"].clone()).collect();
    assert_eq!(states, ["committed", "committed", "committed"]);
    assert_eq!(chats.written().len(), 3);
}

#[test]
fn a_parent_that_has_not_begun_is_refused() {
    for kind in [PLAIN, KINDS[2], V4] {
        let mut talk = Talk::new(kind);
        talk.push("session/title", json!({"title": "Empty", "messageSeqs": [], "source": {"kind": "user"}}));
        let chats = Chats::of(kind, &talk);
        let child = chats.create(&["--seed", "none"]);
        let fold = chats.fold(&child, FOLD);
        let before = chats.everything();
        let code = if kind.version == 0 { "no-step" } else { "no-system-head" };
        chats.commit(&fold, &[]).fails(7, code);
        assert_eq!(chats.everything(), before, "{kind:?}");
        assert_eq!(chats.run(&["show", &child]).success().json()["folds"][0]["state"], "prepared");
    }
}

#[test]
fn what_could_not_be_written_has_failed_and_can_be_tried_again() {
    let chats = Chats::new(V4);
    let child = chats.create(&[]);
    let fold = chats.fold(&child, FOLD);
    let bytes = chats.bytes();
    // A directory in the place of the lock file is a failure of the file system, not of the session.
    let lock = chats.parent.with_file_name("session.lock");
    fs::create_dir(&lock).unwrap();
    chats.commit(&fold, &[]).fails(8, "delivery-failed");
    let failed = chats.run(&["show", &child]).success().json()["folds"][0].clone();
    assert_eq!(failed["state"], "failed");
    assert!(failed["reason"].as_str().unwrap().contains("session.lock"), "{failed}");
    assert_eq!(chats.bytes(), bytes);
    fs::remove_dir(&lock).unwrap();
    assert_eq!(chats.commit(&fold, &[]).success().json()["fold"]["state"], "committed");
    assert_eq!(chats.written().len(), 1);
    stand_still(&chats.parent);
}

#[test]
fn what_was_decided_on_first_is_delivered_first() {
    let chats = Chats::new(PLAIN);
    let child = chats.create(&[]);
    let first = chats.fold(&child, FOLD);
    chats.run(&["commit", &first]).success();
    let second = chats.fold(&child, &FOLD.replace("a.rs", "b.rs"));
    chats.commit(&second, &[]).success();
    // The older one had to be written first, and then the log had to stand still again.
    let written = chats.written();
    let revisions: Vec<bool> = written.iter().map(|(_, text)| text.contains(" rev=1 ")).collect();
    assert_eq!(revisions, [true, false]);
    let folds = chats.run(&["show", &child]).success().json()["folds"].clone();
    assert_eq!((&folds[0]["standing"], &folds[1]["standing"]), (&json!("superseded"), &json!("current")));
}
