//! Side chats and their parents, judged by the real dsh. `DSHKIT_ORACLE` names the oracle directory; without
//! it these tests are skipped.

use super::{A, Chats, FOLD, KINDS_TO_TRY};
use crate::resume::{oracle, resume};
use serde_json::Value;

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
fn dsh_goes_on_with_a_side_chat_that_was_asked() {
    let Some(oracle) = oracle() else { return };
    for kind in [KINDS_TO_TRY[0], super::PLAIN] {
        let chats = Chats::new(kind);
        let child = chats.create(&["--seed", "tail:2"]);
        let ask = |text: &str, command: &str| {
            let words = if text.is_empty() { vec!["ask", &child] } else { vec!["ask", &child, text] };
            chats.run(&[&words[..], &["--model-command", command]].concat())
        };
        ask("", "echo 'The key of the request.'").success();
        ask("Is it safe?", "printf 'It '; sleep 0.02; printf 'is '; sleep 0.02; printf 'safe.'").success();
        ask("Will it fail?", "echo half; exit 1").fails_with_data(8, "model-failed");
        let model = super::loop_by_model::Model::new(vec![super::ask::answer(&["It ", "works."])]);
        chats.run(&["ask", &child, "And now?", "--endpoint", &model.url]).success();
        for version in ["v0", "v3", "v4"] {
            let keep = chats.sandbox.path(&format!("asked-by-{version}"));
            let texts = [
                "### assistant (a2)",
                "Which key?",
                "The key of the request.",
                "Is it safe?",
                "It is safe.",
                "Will it fail?",
                "And now?",
                "It works.",
                "Please go on.",
            ];
            resume(&oracle, version, &chats.sandbox.sessions(), &child, &texts, &keep);
            // dsh counts what was used as we do.
            let cached = keep.join(format!("storages/session_projcache/sessions/{child}.json"));
            if version != "v0" {
                let cached: Value = serde_json::from_slice(&std::fs::read(cached).unwrap()).unwrap();
                let theirs = &cached["record"]["rows"]["tokenUsage"]["val"]["totals"];
                assert_eq!(theirs["cacheReadTokens"], 128, "{theirs}");
                let mut command = chats.sandbox.command();
                command.arg("--home").arg(&keep).args(["--no-cache", "sessions", "projections", &child]);
                let ours = crate::support::outcome(command, b"").success().json();
                assert_eq!(ours["values"]["tokenUsage"], *theirs);
            }
            // What a dsh has gone on with is continued there.
            let mut command = chats.sandbox.command();
            command.args(["--home"]).arg(&keep).args(["sidechat", "ask", &child, "x", "--model-command", "echo no"]);
            crate::support::copy_tree(&chats.sandbox.home().join("dshkit"), &keep.join("dshkit"));
            crate::support::outcome(command, b"").fails(7, "continue-in-dsh");
        }
    }
}

#[test]
fn dsh_goes_on_with_what_killed_writers_left() {
    let Some(oracle) = oracle() else { return };
    for kind in KINDS_TO_TRY {
        let chats = Chats::new(kind);
        let child = chats.create(&[]);
        if kind.version == 0 {
            for (at, texts) in
                [(8, &["Which key?", "Please go on."][..]), (14, &["Is it safe?", "It is safe.", "Please go on."])]
            {
                let sandbox = super::crash::copy(&chats);
                assert!(super::crash::killed(&sandbox.home(), &format!("ask {child}"), at));
                for version in ["v0", "v3", "v4"] {
                    let keep = sandbox.path(&format!("asked-by-{version}"));
                    resume(&oracle, version, &sandbox.sessions(), &child, texts, &keep);
                }
            }
        }
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
