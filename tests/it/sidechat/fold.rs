//! Preparing folds (sidechat.md §7, cases 28 to 30, 34, 35, 47).

use super::{Chats, FOLD, PLAIN};
use serde_json::json;
use std::fs;

const ID: &str = "3f8b1c1e-4c55-4b0f-9d6a-0e2f5a7b8c9d";

#[test]
fn a_text_becomes_the_next_revision() {
    let chats = Chats::new(PLAIN);
    let before = chats.bytes();
    let child = chats.create(&[]);
    let file = chats.file("f.md", &format!("\n{FOLD}\n"));
    let document = chats.run(&["fold", &child, "--text", &file]).success().json();
    let fold = &document["fold"];
    assert_eq!((&fold["revision"], &fold["state"]), (&json!(1), &json!("prepared")));
    assert_eq!(fold["text"], FOLD);
    assert_eq!(fold["structure"], json!({"valid": true, "problems": []}));
    assert_eq!(fold["throughSeq"], 7);
    let units = FOLD.encode_utf16().count() as u64;
    assert_eq!(fold["estimatedTokens"], units.div_ceil(4));
    let piped = chats.sandbox.run_with_input(&["sidechat", "fold", &child, "--text", "-"], FOLD.as_bytes());
    assert_eq!(piped.success().json()["fold"]["revision"], 2);
    assert_eq!(chats.bytes(), before);
}

#[test]
fn what_is_wrong_with_a_text_is_told_one_by_one() {
    let chats = Chats::new(PLAIN);
    let child = chats.create(&[]);
    let bad = FOLD.replace("- 背景：", "- 背景:").replace("- 依据：a.rs\n", "");
    let file = chats.file("f.md", &bad);
    let trial = chats.run(&["fold", &child, "--text", &file, "--dry-run"]).success().json();
    let problems = trial["fold"]["structure"]["problems"].as_array().unwrap().clone();
    let told: Vec<_> =
        problems.iter().map(|problem| (problem["kind"].as_str().unwrap(), problem["line"].as_u64())).collect();
    assert_eq!(told, [("wrong-colon", Some(3)), ("missing", None)]);
    // Who wants it committed at once gets nothing prepared.
    chats.run(&["fold", &child, "--text", &file, "--commit"]).fails(7, "fold-structure");
    assert_eq!(chats.run(&["show", &child]).success().json()["folds"], json!([]));
    let fold = chats.fold(&child, &bad);
    let error = chats.commit(&fold, &[]).fails(7, "fold-structure");
    assert_eq!(error["candidates"].as_array().unwrap().len(), 2);
    assert!(error["hint"].as_str().unwrap().contains(&fold), "{error}");
    let long = format!("{FOLD}{}", "x".repeat(2_001 - FOLD.encode_utf16().count()));
    let fold = chats.fold(&child, &long);
    chats.commit(&fold, &[]).fails(7, "fold-too-large");
    let fits = chats.fold(&child, &long[..long.len() - 1]);
    chats.commit(&fits, &[]).success();
    for nothing in ["", " \n "] {
        let file = chats.file("f.md", nothing);
        chats.run(&["fold", &child, "--text", &file]).fails(2, "bad-request");
    }
}

#[test]
fn an_id_stands_for_one_fold() {
    let chats = Chats::new(PLAIN);
    let child = chats.create(&[]);
    let file = chats.file("f.md", FOLD);
    let first = chats.run(&["fold", &child, "--text", &file, "--fold-id", ID]).success().json();
    assert_eq!(first["existed"], false);
    let again = chats.run(&["fold", &child, "--text", &file, "--fold-id", ID]).success().json();
    assert_eq!((&again["existed"], &again["fold"]), (&json!(true), &first["fold"]));
    let asked_again =
        chats.run(&["fold", &child, "--generate", "--model-command", "exit 9", "--fold-id", ID]).success().json();
    assert_eq!(asked_again["fold"], first["fold"], "no model was asked");
    let nobody_to_ask = chats.run(&["fold", &child, "--generate", "--fold-id", ID]).success().json();
    assert_eq!(nobody_to_ask["fold"], first["fold"]);
    let other = chats.file("g.md", &FOLD.replace("a.rs", "b.rs"));
    chats.run(&["fold", &child, "--text", &other, "--fold-id", ID]).fails(7, "id-collision");
    let second = chats.create(&[]);
    chats.run(&["fold", &second, "--text", &file, "--fold-id", ID]).fails(7, "id-collision");
    for wrong in ["11111111-1111-1111-1111-111111111111", "fold-1", ""] {
        chats.run(&["fold", &child, "--text", &file, "--fold-id", wrong]).fails(2, "bad-request");
    }
    assert_eq!(chats.run(&["show", &child]).success().json()["chat"]["reservedRevision"], 1);
}

#[test]
fn a_model_writes_a_fold_and_once_a_better_one() {
    let chats = Chats::new(PLAIN);
    let child = chats.create(&[]);
    chats.go_on(&child, |talk| {
        talk.exchange(("q1", "Is it <safe>?"), ("r1", "Yes."));
    });
    // It answers badly at first, and says at the second time what it was told.
    let script = format!(
        "n=$(cat '{count}' 2>/dev/null || echo 0); echo $((n+1)) > '{count}'; cat > '{asked}'$n; \
         if [ $n = 0 ]; then echo nonsense; else cat '{good}'; fi",
        count = chats.sandbox.path("count").display(),
        asked = chats.sandbox.path("asked").display(),
        good = chats.file("good", FOLD),
    );
    let document = chats.run(&["fold", &child, "--generate", "--model-command", &script]).success().json();
    assert_eq!(document["fold"]["text"], FOLD);
    assert_eq!(document["fold"]["calls"].as_array().unwrap().len(), 2);
    let asked = |n: u32| fs::read_to_string(chats.sandbox.path(&format!("asked{n}"))).unwrap();
    assert!(asked(0).contains("Is it \\u003csafe>?") && asked(0).contains("Which key?"), "{}", asked(0));
    assert!(asked(1).contains("no line begins with") && asked(1).contains("<attempt>\n\"nonsense\""), "{}", asked(1));
    // A third time it is not asked.
    let document = chats.run(&["fold", &child, "--generate", "--model-command", "echo bad"]).success().json();
    assert_eq!(document["fold"]["structure"]["valid"], false, "it is there to be edited");
    let prompt = chats.run(&["fold", &child, "--prompt"]).success();
    assert_eq!(format!("{}\n", prompt.text().trim_end()), asked(0).trim_end().to_owned() + "\n");
}

#[test]
fn a_failed_attempt_uses_up_its_revision_and_can_be_made_again() {
    let chats = Chats::new(PLAIN);
    let child = chats.create(&[]);
    let generate = |command: &str, id: &[&str]| {
        let words: Vec<&str> =
            ["fold", &child, "--generate", "--model-command", command].iter().chain(id).copied().collect();
        chats.run(&words)
    };
    generate("echo why >&2; exit 1", &["--fold-id", ID]).fails(8, "model-failed");
    let failed = chats.run(&["show", &child]).success().json()["folds"][0].clone();
    assert_eq!((&failed["revision"], &failed["state"]), (&json!(1), &json!("failed")));
    chats.commit(ID, &[]).fails(7, "fold-failed");
    let good = format!("cat '{}'", chats.file("good", FOLD));
    assert_eq!(generate(&good, &[]).success().json()["fold"]["revision"], 2);
    assert_eq!(generate(&good, &["--fold-id", ID]).success().json()["fold"]["revision"], 1);
    let shown = chats.run(&["show", &child]).success().json();
    assert_eq!((&shown["chat"]["latestFoldRevision"], &shown["chat"]["reservedRevision"]), (&json!(null), &json!(2)));
}

#[test]
fn while_a_model_writes_nothing_can_be_committed_and_nobody_is_kept_waiting() {
    let chats = Chats::new(PLAIN);
    let child = chats.create(&[]);
    // The model itself tries to commit, to prepare, and to clear away, what it is asked for.
    let program = env!("CARGO_BIN_EXE_dshkit");
    let out = chats.sandbox.path("out");
    let good = chats.file("good", FOLD);
    let script = format!(
        "cat > /dev/null; '{program}' --json sidechat commit {ID} 2>> '{out}'; '{program}' --json sidechat fold {child} \
         --generate --model-command false --fold-id {ID} 2>> '{out}'; '{program}' --json sidechat deliver >> '{out}'; \
         '{program}' --json sidechat fold {child} --text \
         '{good}' > /dev/null && cat '{good}'",
        out = out.display()
    );
    let document =
        chats.run(&["fold", &child, "--generate", "--model-command", &script, "--fold-id", ID]).success().json();
    assert_eq!(document["fold"]["revision"], 1);
    let told = fs::read_to_string(out).unwrap();
    assert_eq!(told.matches("\"code\":\"fold-generating\"").count(), 2, "{told}");
    assert!(told.contains(r#""deliveries":[]"#), "{told}");
    assert_eq!(document["fold"]["text"], FOLD);
    assert_eq!(chats.run(&["show", &child]).success().json()["folds"].as_array().unwrap().len(), 2);
}

#[test]
fn what_a_killed_writer_left_generating_is_cleared() {
    let chats = Chats::new(PLAIN);
    let child = chats.create(&[]);
    let kill = "cat > /dev/null; kill -9 $PPID";
    let outcome = chats.run(&["fold", &child, "--generate", "--model-command", kill, "--fold-id", ID]);
    assert_eq!(outcome.signal, Some(9));
    chats.run(&["commit", ID]).fails(7, "fold-generating");
    let delivered = chats.run(&["deliver"]).success().json();
    assert_eq!(delivered["deliveries"][0]["state"], "failed");
    let good = format!("cat '{}'", chats.file("good", FOLD));
    let generate =
        |command: &str| chats.run(&["fold", &child, "--generate", "--model-command", command, "--fold-id", ID]);
    // Or written again at once.
    assert_eq!(generate(kill).signal, Some(9));
    assert_eq!(generate(&good).success().json()["fold"]["revision"], 1);
}

#[test]
fn a_text_can_be_edited_until_it_is_decided_on() {
    let chats = Chats::new(PLAIN);
    let child = chats.create(&[]);
    let edit = |editor: &str, arguments: &[&str]| {
        let mut command = chats.sandbox.command();
        command.env("EDITOR", editor).args(["sidechat", "fold", &child]).args(arguments);
        crate::support::outcome(command, b"")
    };
    let form = edit("true", &["--edit"]).success().json();
    assert_eq!((&form["fold"]["revision"], &form["fold"]["structure"]["valid"]), (&json!(1), &json!(true)));
    let fold = chats.fold(&child, &FOLD.replace("- 结论：", "- 结论:"));
    let edited = edit("sed -i s/结论:/结论：/", &["--edit", "--fold-id", &fold]).success().json();
    assert_eq!((&edited["fold"]["revision"], &edited["fold"]["text"]), (&json!(2), &json!(FOLD)));
    edit("false", &["--edit", "--fold-id", &fold]).fails(8, "io");
    chats.commit(&fold, &[]).success();
    edit("true", &["--edit", "--fold-id", &fold]).fails(7, "status-invalid");
    chats.run(&["fold", &child, "--edit"]).fails(2, "usage");
    chats.run(&["fold", &child]).fails(2, "usage");
}

#[test]
fn a_session_that_is_no_side_chat_is_not_folded() {
    let chats = Chats::new(PLAIN);
    chats.run(&["fold", super::A, "--prompt"]).fails(3, "not-sidechat");
    chats.run(&["commit", ID]).fails(3, "fold-not-found");
    chats.create(&[]);
    chats.run(&["fold", super::A, "--prompt"]).fails(3, "not-sidechat");
    chats.run(&["commit", ID]).fails(3, "fold-not-found");
}
