//! Side chats and their parents, judged by the real dsh. `DSHKIT_ORACLE` names the oracle directory; without
//! it these tests are skipped.

use super::{A, Chats, FOLD, KINDS_TO_TRY};
use crate::resume::{oracle, resume};

#[test]
fn dsh_goes_on_with_a_side_chat_and_with_its_parent() {
    let Some(oracle) = oracle() else { return };
    for kind in KINDS_TO_TRY {
        let chats = Chats::new(kind);
        let document =
            chats.run(&["create", "--parent", A, "--question", "Which key?", "--seed", "tail:2"]).success().json();
        let child = document["chat"]["childSessionId"].as_str().unwrap();
        chats.go_on(child, |talk| {
            talk.exchange(("q1", "Is it safe?"), ("r1", "Yes, it is."));
        });
        let fold = chats.fold(child, FOLD);
        chats.commit(&fold, &[]).success();
        chats.cite(child, &["r1"]).success();
        let fold = format!("[SideChat fold id={fold} rev=1 source={child}]");
        let cite = format!(" source={child} message=r1]");
        let versions: &[&str] = match kind.version {
            0 => &["v0", "v3", "v4"],
            3 => &["v3", "v4"],
            _ => &["v4"],
        };
        for version in versions {
            let keep = chats.sandbox.path(&format!("parent-by-{version}"));
            let texts = ["How do others do it?", "With a key for each request.", &fold, FOLD, &cite, "Please go on."];
            resume(&oracle, version, &chats.sandbox.sessions(), A, &texts, &keep);
        }
        let fresh = chats.create(&["--seed", "tail:2"]);
        for version in ["v0", "v3", "v4"] {
            let keep = chats.sandbox.path(&format!("child-by-{version}"));
            let texts = ["### user (u2)", "### assistant (a2)", "Which key?", "Please go on."];
            resume(&oracle, version, &chats.sandbox.sessions(), &fresh, &texts, &keep);
        }
    }
}

#[test]
fn dsh_goes_on_with_what_killed_writers_left() {
    let Some(oracle) = oracle() else { return };
    for kind in KINDS_TO_TRY {
        let chats = Chats::new(kind);
        let child = chats.create(&[]);
        let fold = chats.fold(&child, FOLD);
        for at in [14, 18] {
            let sandbox = super::crash::copy(&chats);
            assert!(super::crash::killed(&sandbox.home(), &format!("commit {fold}"), at));
            super::crash::deliver(&sandbox);
            let marker = format!("[SideChat fold id={fold} rev=1 source={child}]");
            let version = format!("v{}", kind.version);
            let keep = sandbox.path("keep");
            resume(&oracle, &version, &sandbox.sessions(), A, &[&marker, "Please go on."], &keep);
        }
    }
}
