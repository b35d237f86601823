//! Side chats of side chats, quoting across parents, hiding, new parents (sidechat.md §7, cases 51, 59).

use super::{A, CWD, Chats, FOLD, PLAIN, Talk, write_session};
use crate::logs::Kind;
use dshkit::stores::Encoding;
use serde_json::{Value, json};
use std::fs;

const V4: Kind = Kind { version: 4, encoding: Encoding::Zstd };

/// Another session, in a working directory or none.
fn session(chats: &Chats, id: &str, cwd: Option<&str>) {
    let mut talk = Talk::new(V4);
    talk.exchange(("u1", "One?"), ("a1", "Two."));
    write_session(&chats.sandbox, V4, id, cwd, &talk);
}

fn below(chats: &Chats, parent: &str) -> String {
    let made = chats.run(&["create", "--parent", parent, "--question", "Deeper?"]).success().json();
    made["chat"]["childSessionId"].as_str().unwrap().to_owned()
}

/// A side chat in which something was answered.
fn answered(chats: &Chats) -> String {
    let child = chats.create(&[]);
    chats.go_on(&child, |talk| {
        talk.exchange(("q1", "Is it safe?"), ("r1", "Yes."));
    });
    child
}

fn nodes(tree: &Value) -> Vec<(String, u64)> {
    let node = |node: &Value| (node["childSessionId"].as_str().unwrap().to_owned(), node["depth"].as_u64().unwrap());
    tree["nodes"].as_array().unwrap().iter().map(node).collect()
}

#[test]
fn a_tree_shows_side_chats_of_side_chats() {
    let chats = Chats::new(V4);
    assert_eq!(chats.run(&["tree"]).success().json()["nodes"], json!([]));
    let first = chats.create(&[]);
    let deeper = below(&chats, &first);
    let second = chats.create(&[]);
    let tree = chats.run(&["tree"]).success().json();
    assert_eq!(nodes(&tree), [(second.clone(), 0), (first.clone(), 0), (deeper.clone(), 1)]);
    assert_eq!(tree["nodes"][0]["rootSessionId"], A);
    assert_eq!(nodes(&chats.run(&["tree", A]).success().json()), nodes(&tree));
    assert_eq!(nodes(&chats.run(&["tree", &first]).success().json()), [(deeper.clone(), 0)]);
    // Something happens in the older one.
    let fold = chats.fold(&deeper, FOLD);
    chats.run(&["commit", &fold]).success();
    chats.run(&["archive", &first]).success();
    assert_eq!(nodes(&chats.run(&["tree"]).success().json())[0].0, first);
    let text = chats.sandbox.run(&["--format", "text", "sidechat", "tree"]).success();
    assert!(
        text.text().starts_with(&format!("{A}\n  {first}  archived"))
            && text.text().contains(&format!("\n    {deeper}  ")),
        "{text}"
    );
    chats.run(&["tree", "nobody"]).fails(3, "SESSION_QUERY_SESSION_NOT_FOUND");
}

#[test]
fn a_circle_is_cut() {
    let chats = Chats::new(V4);
    let first = chats.create(&[]);
    let second = below(&chats, &first);
    let ledger = chats.sandbox.home().join("dshkit/sidechat.sqlite");
    let connection = rusqlite::Connection::open(ledger).unwrap();
    let columns = "question, title, is_published, status, seed, permission, model, parent_baseline, last_revision, \
        created_at, updated_at";
    let sql = format!(
        "INSERT INTO chats (child, child_created_at, child_cwd, parent, parent_created_at, parent_cwd, {columns}) \
         SELECT ?1, 1790000000000, child_cwd, ?2, 1, child_cwd, {columns} FROM chats WHERE child = ?2"
    );
    connection.execute(&sql, [A, &second]).unwrap();
    let expected = [(first.clone(), 0), (second.clone(), 1)];
    assert_eq!(nodes(&chats.run(&["tree", A]).success().json()), expected);
    assert_eq!(chats.run(&["tree"]).success().json()["nodes"].as_array().unwrap().len(), 2);
}

#[test]
fn a_reply_is_quoted_in_another_session_of_the_directory_only_on_the_users_word() {
    let chats = Chats::new(V4);
    let child = answered(&chats);
    session(&chats, "other", Some(CWD));
    session(&chats, "elsewhere", Some("/srv/demo/other"));
    session(&chats, "nowhere", None);
    let before = chats.everything();
    let cite = |arguments: &[&str]| chats.run(&[&["cite", &child, "r1"], arguments].concat());
    cite(&["--into", "other"]).fails(7, "disabled");
    cite(&["--parent", "other"]).fails(7, "relation-invalid");
    cite(&["--into", "elsewhere", "--cross-parent"]).fails(7, "workspace-denied");
    cite(&["--into", "nowhere", "--cross-parent"]).fails(7, "workspace-unknown");
    cite(&["--into", &child, "--cross-parent"]).fails(7, "relation-invalid");
    cite(&["--cross-parent"]).fails(2, "usage");
    chats.run(&["cite", &child[..child.len() - 1], "r1", "--into", "other", "--cross-parent"]).fails(2, "usage");
    assert_eq!(chats.everything(), before);

    let cited = cite(&["--into", "other", "--cross-parent"]).success().json();
    let id = cited["cite"]["citeId"].as_str().unwrap().to_owned();
    assert_eq!((&cited["cite"]["targetSessionId"], &cited["cite"]["crossParent"]), (&json!("other"), &json!(true)));
    let written = super::written(&chats.sandbox.sessions(), "other");
    let origin = format!("\n> 来源：属于另一会话 {A}，工作区 {CWD}\n");
    assert!(written.len() == 1 && written[0].1.contains(&origin) && written[0].1.ends_with("\n\nYes."), "{written:?}");
    assert_eq!(chats.written().len(), 0, "the parent gets nothing");
    cite(&["--into", "other", "--cross-parent", "--id", &id]).success();
    assert_eq!(super::written(&chats.sandbox.sessions(), "other").len(), 1);
    cite(&["--id", &id]).fails(7, "id-collision");
    // The parent itself needs no such word.
    cite(&["--into", A]).success();

    // Who quotes it, whatever becomes of the sessions.
    chats.run(&["archive", &child]).success();
    fs::remove_dir_all(chats.parent.parent().unwrap()).unwrap();
    let cites = chats.run(&["cites", &child]).success().json();
    let who: Vec<_> = cites["cites"]
        .as_array()
        .unwrap()
        .iter()
        .map(|cite| (cite["targetSessionId"].clone(), cite["target"].clone()))
        .collect();
    assert_eq!(who, [(json!("other"), json!("here")), (json!(A), json!("gone"))]);
    assert_eq!(cites["cites"][0]["text"], "Yes.");
    let text = chats.sandbox.run(&["--format", "text", "sidechat", "cites", &child]).success();
    assert_eq!(text.text().matches("\n      Yes.\n").count(), 2, "{text}");
    let listed = chats.run(&["show", &child]).success().json();
    assert_eq!(listed["cites"].as_array().unwrap().len(), 2);
}

#[test]
fn a_quotation_for_another_session_that_changed_is_not_delivered() {
    let chats = Chats::new(PLAIN);
    let child = answered(&chats);
    let mut talk = Talk::new(PLAIN);
    talk.exchange(("u1", "One?"), ("a1", "Two."));
    let path = write_session(&chats.sandbox, PLAIN, "other", Some(CWD), &talk);
    let pending = chats.run(&["cite", &child, "r1", "--into", "other", "--cross-parent"]).success().json();
    assert_eq!(pending["cite"]["state"], "pending");
    assert_eq!(chats.run(&["deliver", "--parent", A, "--dry-run"]).success().json()["deliveries"], json!([]));
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replacen("1790000000000", "1790000000001", 1)).unwrap();
    super::stand_still(&path);
    let delivered = chats.run(&["deliver", "--offline"]).success().json();
    assert_eq!(delivered["deliveries"][0]["error"]["code"], "relation-invalid");
    fs::write(&path, &text).unwrap();
    super::stand_still(&path);
    let delivered = chats.sandbox.run(&["--format", "text", "sidechat", "deliver", "--offline"]).success();
    assert!(
        delivered.text().contains("cite  committed, seq ") && delivered.text().contains(" of other"),
        "{delivered}"
    );
    assert_eq!(super::written(&chats.sandbox.sessions(), "other").len(), 1);
}

#[test]
fn hiding_changes_listings_only() {
    let chats = Chats::new(V4);
    let (hidden, shown) = (answered(&chats), chats.create(&[]));
    let listed = |arguments: &[&str]| -> Vec<String> {
        let document = chats.sandbox.run(&[&["sessions", "list"], arguments].concat()).success().json();
        let sessions = document["sessions"].as_array().unwrap().clone();
        sessions.iter().map(|session| session["sessionId"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(listed(&["--hide-sidechats"]).len(), 3, "nothing is hidden unless the user hides it");
    assert_eq!(chats.run(&["hide", &hidden, "--dry-run"]).success().json()["chat"]["hidden"], true);
    assert_eq!(listed(&["--hide-sidechats"]).len(), 3);
    let of = |id: &str| chats.run(&["show", id]).success().json()["chat"]["lastActivityAt"].clone();
    let before = of(&hidden);
    assert_eq!(chats.run(&["hide", &hidden]).success().json()["chat"]["hidden"], true);
    assert_eq!(of(&hidden), before, "and it stays where it was in lists");
    assert_eq!(listed(&[]).len(), 3);
    let left = listed(&["--hide-sidechats"]);
    assert!(left.len() == 2 && !left.contains(&hidden) && left.contains(&shown), "{left:?}");
    // It is reached in every way.
    for arguments in [["sessions", "show", &hidden], ["sidechat", "show", &hidden], ["sidechat", "resume", &hidden]] {
        chats.sandbox.run(&arguments).success();
    }
    assert_eq!(chats.run(&["list", "--parent", A]).success().json()["chats"].as_array().unwrap().len(), 2);
    chats.run(&["unhide", &hidden]).success();
    assert_eq!(listed(&["--hide-sidechats"]).len(), 3);
    chats.run(&["hide", A]).fails(3, "not-sidechat");
    // Without a ledger that can be read, nothing is hidden.
    fs::write(
        chats.sandbox.home().join("dshkit/sidechat.sqlite"),
        "no database, but long enough to be one ".repeat(99),
    )
    .unwrap();
    assert_eq!(listed(&["--hide-sidechats"]).len(), 3);
}

#[test]
fn an_orphan_gets_a_new_parent_on_the_users_word_alone() {
    let chats = Chats::new(V4);
    let child = answered(&chats);
    let deeper = below(&chats, &child);
    for (id, cwd) in [("heir", Some(CWD)), ("elsewhere", Some("/srv/demo/other")), ("nowhere", None)] {
        session(&chats, id, cwd);
    }
    let first = chats.fold(&child, FOLD);
    chats.commit(&first, &[]).success();
    let relink = |parent: &str, more: &[&str]| chats.run(&[&["relink", &child, "--parent", parent], more].concat());
    relink("heir", &[]).fails(7, "status-invalid");
    fs::remove_dir_all(chats.parent.parent().unwrap()).unwrap();
    let before = chats.everything();
    relink("elsewhere", &[]).fails(7, "workspace-denied");
    relink("nowhere", &[]).fails(7, "workspace-unknown");
    relink(&child, &[]).fails(7, "relation-invalid");
    relink(&deeper, &[]).fails(7, "relation-invalid");
    relink("nobody", &[]).fails(3, "SESSION_QUERY_SESSION_NOT_FOUND");
    assert_eq!(relink("heir", &["--dry-run"]).success().json()["chat"]["parentSessionId"], "heir");
    assert_eq!(chats.everything(), before);
    let record = relink("heir", &[]).success().json()["relink"].clone();
    assert_eq!(relink("heir", &[]).success().json()["relink"], record, "once");
    assert_eq!((&record["fromSessionId"], &record["toSessionId"]), (&json!(A), &json!("heir")));
    let shown = chats.run(&["show", &child]).success().json();
    assert_eq!((&shown["chat"]["status"], &shown["relinks"]), (&json!("open"), &json!([record])));
    assert_eq!(chats.run(&["usage", &child]).success().json()["parentDelta"]["available"], false);
    // What stands in the former parent's log is not taken back in this one; what is new comes here.
    chats.run(&["withdraw", &first, "--reason", "Wrong."]).fails(7, "fold-withdraw-invalid");
    let second = chats.fold(&child, &FOLD.replace("a.rs", "b.rs"));
    chats.run(&["commit", &second]).success();
    assert_eq!(super::written(&chats.sandbox.sessions(), "heir").len(), 1);
    chats.run(&["read", &child, "r1", "--as", "heir"]).success();
    // Each says where it stands.
    let shown = chats.run(&["show", &child]).success().json();
    let whose: Vec<_> = shown["folds"].as_array().unwrap().iter().map(|fold| fold["parentSessionId"].clone()).collect();
    assert_eq!(whose, [A, "heir"]);
    let text = chats.sandbox.run(&["--format", "text", "sidechat", "show", &child]).success();
    assert!(
        text.text().contains(&format!(" of {A}, about")) && text.text().contains(" of the parent, about"),
        "{text}"
    );
    // The ledger is lost: what stands in the new parent is named, and comes back when the user says whose it is.
    fs::remove_dir_all(chats.sandbox.home().join("dshkit")).unwrap();
    let rebuilt = chats.run(&["doctor", "--rebuild"]).success().json();
    assert_eq!((&rebuilt["restored"]["chats"], &rebuilt["restored"]["folds"]), (&json!(2), &json!(0)));
    let kinds: Vec<_> = rebuilt["findings"].as_array().unwrap().iter().map(|finding| &finding["kind"]).collect();
    assert_eq!(kinds, ["orphaned", "elsewhere"]);
    relink("heir", &[]).success();
    assert_eq!(chats.run(&["doctor", "--rebuild"]).success().json()["restored"]["folds"], 1);
    assert_eq!(chats.run(&["doctor"]).success().json()["findings"], json!([]));
    let shown = chats.run(&["show", &child]).success().json();
    assert_eq!((&shown["chat"]["latestFoldRevision"], &shown["chat"]["model"]["strategy"]), (&json!(2), &json!(null)));
}
