//! Incremental folds, comparing, taking back (sidechat.md §7, cases 42, 57, 66).

use super::{Chats, FOLD, KINDS_TO_TRY, PLAIN};
use crate::logs::Kind;
use dshkit::stores::Encoding;
use serde_json::{Value, json};
use std::fs::File;

const V4: Kind = Kind { version: 4, encoding: Encoding::Zstd };
const ID: &str = "3f8b1c1e-4c55-4b0f-9d6a-0e2f5a7b8c9d";

fn other(name: &str) -> String {
    FOLD.replace("a.rs", name)
}

fn withdraw(chats: &Chats, fold: &str, reason: &str, extra: &[&str]) -> crate::support::Outcome {
    chats.stand_still();
    let mut words = vec!["withdraw", fold, "--reason", reason];
    words.extend(chats.word());
    words.extend(extra);
    chats.run(&words)
}

fn standing(chats: &Chats, child: &str) -> Vec<Value> {
    let shown = chats.run(&["show", child]).success().json();
    shown["folds"].as_array().unwrap().iter().map(|fold| fold["standing"].clone()).collect()
}

#[test]
fn an_incremental_fold_builds_on_a_committed_one() {
    for kind in KINDS_TO_TRY {
        let chats = Chats::new(kind);
        let child = chats.create(&[]);
        let file = chats.file("f.md", &other("b.rs"));
        let incremental = |base: &str, more: &[&str]| {
            let words = ["fold", &child, "--text", &file, "--mode", "incremental", "--base", base];
            chats.run(&[&words[..], more].concat())
        };
        incremental("1", &[]).fails(7, "fold-base-invalid");
        let first = chats.fold(&child, FOLD);
        incremental("1", &[]).fails(7, "fold-base-invalid");
        chats.commit(&first, &[]).success();
        let prompt = ["fold", &child, "--prompt", "--json", "--mode", "incremental", "--base", "1"];
        let prompt = chats.run(&prompt).success().json();
        assert!(
            prompt["input"].as_str().unwrap().contains("<base>\n")
                && prompt["instructions"].as_str().unwrap().contains("rev-1")
        );
        let second = incremental("1", &["--fold-id", ID]).success().json();
        assert_eq!((&second["fold"]["mode"], &second["fold"]["baseRevision"]), (&json!("incremental"), &json!(1)));
        chats.run(&["fold", &child, "--text", &file, "--fold-id", ID]).fails(7, "id-collision");
        chats.commit(ID, &[]).success();
        let text = &chats.written()[1].1;
        assert!(text.contains("\n> mode=incremental · base=rev-1 · supersedes=rev-1\n"), "{text}");
        // What it builds on is taken back before it is decided on.
        let third = incremental("1", &[]).success().json()["fold"]["foldId"].as_str().unwrap().to_owned();
        let withdrawn = withdraw(&chats, &first, "Wrong.", &[]).success();
        let warning = "revision 2 is current and builds on a withdrawn one";
        assert!(withdrawn.stderr.contains(warning), "{withdrawn}");
        let again = withdraw(&chats, &first, "Late.", &[]).success();
        assert!(again.stderr.contains("keeps its first reason") && again.json()["withdrawal"]["reason"] == "Wrong.");
        assert!(chats.run(&["show", &child]).success().stderr.contains(warning));
        chats.commit(&third, &[]).fails(7, "fold-base-invalid");
        incremental("1", &[]).fails(7, "fold-base-invalid");
        for wrong in [vec!["--base", "1"], vec!["--mode", "incremental"]] {
            chats.run(&[&["fold", &child, "--text", &file][..], &wrong].concat()).fails(2, "usage");
        }
    }
}

#[test]
fn two_revisions_are_compared_line_by_line() {
    let chats = Chats::new(V4);
    let child = chats.create(&[]);
    let (first, second) = (chats.fold(&child, FOLD), chats.fold(&child, &other("b.rs")));
    let before = chats.everything();
    let compared = chats.run(&["compare", &child, "1", "2"]).success();
    assert!(compared.stderr.contains("revision 1 is uncommitted"), "{compared}");
    let document = compared.json();
    assert_eq!(document["from"]["caveat"], "uncommitted");
    let changed: Vec<_> =
        document["lines"].as_array().unwrap().iter().filter(|line| line["change"] != "same").collect();
    assert_eq!(
        changed,
        [&json!({"change": "added", "text": "- 依据：b.rs"}), &json!({"change": "removed", "text": "- 依据：a.rs"})]
    );
    assert_eq!(chats.run(&["compare", &child, "1", "2"]).success().json(), document, "it is always the same");
    assert_eq!(chats.run(&["compare", &child, "rev-1", "2"]).success().json(), document);
    chats.run(&["compare", &child, "1", "0"]).fails(2, "usage");
    assert_eq!(chats.run(&["compare", &child, "1", "1"]).success().json()["identical"], true);
    chats.run(&["compare", &child, "1", "3"]).fails(3, "fold-not-found");
    chats.run(&["compare", &child, "1"]).fails(2, "usage");
    assert_eq!(chats.everything(), before);
    chats.commit(&first, &[]).success();
    chats.commit(&second, &[]).success();
    withdraw(&chats, &second, "Wrong.", &[]).success();
    let list = chats.sandbox.run(&["--format", "text", "sidechat", "list", "--parent", super::A]).success();
    assert!(list.text().contains("2 (rev-1)"), "{list}");
    let document = chats.run(&["compare", &child, "1", "2"]).success().json();
    assert_eq!((&document["from"]["caveat"], &document["to"]["caveat"]), (&Value::Null, &json!("withdrawn")));
    let text = chats.sandbox.run(&["--format", "text", "sidechat", "compare", &child, "1", "2"]).success();
    assert!(
        text.text().contains("+++ rev-2 (withdrawn)") && text.text().contains("\n+- 依据：b.rs\n-- 依据：a.rs\n"),
        "{text}"
    );
    chats.run(&["fold", &child, "--generate", "--model-command", "exit 1"]).fails(8, "model-failed");
    chats.run(&["compare", &child, "1", "3"]).fails(7, "fold-failed");
}

#[test]
fn what_was_taken_back_stays_and_one_notice_says_so() {
    for kind in KINDS_TO_TRY {
        let chats = Chats::new(kind);
        let child = chats.create(&[]);
        let (first, second) = (chats.fold(&child, FOLD), chats.fold(&child, &other("b.rs")));
        chats.commit(&first, &[]).success();
        chats.commit(&second, &[]).success();
        let bytes = chats.bytes();
        chats.stand_still();
        let told = chats.sandbox.run(
            &[&["--format", "text", "sidechat", "withdraw", &second, "--reason", "x", "--dry-run"], &chats.word()[..]]
                .concat(),
        );
        let told = told.success();
        let (heading, rest) = told.text().split_once('\n').unwrap();
        assert_eq!(heading, "Nothing was changed. This is what would be:");
        assert!(rest.contains("\nThe message:\n\n[SideChat fold-withdrawal id="), "{told}");
        let trial = withdraw(&chats, &second, " It was wrong. ", &["--dry-run"]).success().json();
        assert_eq!((&trial["dryRun"], &trial["currentRevision"]), (&json!(true), &json!(1)));
        assert_eq!(chats.bytes(), bytes);
        let document = withdraw(&chats, &second, " It was wrong. ", &[]).success().json();
        assert_eq!((&document["withdrawal"]["state"], &document["currentRevision"]), (&json!("committed"), &json!(1)));
        assert_eq!(standing(&chats, &child), ["current", "withdrawn"]);
        assert!(chats.bytes().starts_with(&bytes), "nothing was taken out");
        let written = chats.written();
        assert_eq!(written.len(), 3);
        assert_eq!(document["withdrawal"]["parentEventSeq"], written[2].0);
        let marker = format!("[SideChat fold-withdrawal id={second} rev=2 source={child}]\n\n> ");
        assert!(
            written[2].1.starts_with(&marker) && written[2].1.ends_with("\n\n撤回原因：It was wrong."),
            "{}",
            written[2].1
        );
        let bytes = chats.bytes();
        let again = withdraw(&chats, &second, "Another reason.", &[]).success().json();
        assert_eq!(again["withdrawal"], document["withdrawal"]);
        assert_eq!(chats.bytes(), bytes);
        assert_eq!(chats.run(&["list", "--parent", super::A]).success().json()["chats"][0]["latestFoldRevision"], 1);
        // An older one that was prepared may take its place now.
        let third = chats.fold(&child, &other("c.rs"));
        let fourth = chats.fold(&child, &other("d.rs"));
        chats.commit(&fourth, &[]).success();
        chats.commit(&third, &[]).fails(7, "fold-superseded");
        withdraw(&chats, &fourth, "Wrong again.", &[]).success();
        let committed = chats.commit(&third, &[]).success().json();
        assert_eq!(
            (&committed["fold"]["standing"], &committed["fold"]["supersedesRevision"]),
            (&json!("current"), &json!(1))
        );
        assert_eq!(standing(&chats, &child), ["superseded", "withdrawn", "current", "withdrawn"]);
        chats.cite(&child, &["--fold", "4"]).fails(7, "status-invalid");
        assert_eq!(chats.run(&["doctor"]).success().json()["findings"], json!([]));
    }
}

#[test]
fn only_what_is_committed_is_taken_back_and_for_a_reason() {
    let chats = Chats::new(PLAIN);
    let child = chats.create(&[]);
    let fold = chats.fold(&child, FOLD);
    withdraw(&chats, &fold, "Wrong.", &[]).fails(7, "fold-withdraw-invalid");
    chats.run(&["commit", &fold]).success();
    withdraw(&chats, &fold, "Wrong.", &[]).fails(7, "fold-withdraw-invalid");
    chats.commit(&fold, &[]).success();
    let before = chats.everything();
    for reason in ["", " \n", &"x".repeat(2_001)] {
        withdraw(&chats, &fold, reason, &[]).fails(2, "bad-request");
    }
    withdraw(&chats, ID, "Wrong.", &[]).fails(3, "fold-not-found");
    withdraw(&chats, "1", "Wrong.", &[]).fails(2, "bad-request");
    withdraw(&chats, &fold, "Wrong.", &["--parent", &child]).fails(7, "relation-invalid");
    assert_eq!(chats.everything(), before);
    withdraw(&chats, &fold, &"x".repeat(2_000), &[]).success();
}

#[test]
fn a_notice_that_has_to_wait_is_delivered_later() {
    let chats = Chats::new(V4);
    let child = chats.create(&[]);
    let fold = chats.fold(&child, FOLD);
    chats.commit(&fold, &[]).success();
    let lock = File::create(chats.parent.with_file_name("session.lock")).unwrap();
    lock.lock().unwrap();
    let document = withdraw(&chats, &fold, "Wrong.", &[]).success().json();
    assert_eq!(
        (&document["withdrawal"]["state"], &document["message"]["marker"].is_string()),
        (&json!("pending"), &true)
    );
    assert_eq!(standing(&chats, &child), ["withdrawn"], "it does not count from then on");
    withdraw(&chats, &fold, "Wrong.", &["--require-delivered"]).fails_with_data(7, "delivery-pending");
    assert_eq!(chats.run(&["list", "--parent", super::A]).success().json()["chats"][0]["pending"], 1);
    lock.unlock().unwrap();
    let delivered = chats.run(&["deliver"]).success().json();
    assert_eq!(
        (&delivered["deliveries"][0]["kind"], &delivered["deliveries"][0]["state"]),
        (&json!("withdrawal"), &json!("committed"))
    );
    assert_eq!(chats.written().len(), 2);
    assert_eq!(chats.run(&["deliver"]).success().json()["deliveries"], json!([]));
}
