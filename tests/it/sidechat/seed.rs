//! What a side chat is given of its parent (sidechat.md §7, cases 14 to 16, 19 to 22).

use super::{A, Chats, PLAIN, Talk};
use crate::logs::{KINDS, Kind};
use serde_json::{Value, json};

/// The ids and texts of a seed.
#[track_caller]
fn seed(chats: &Chats, mode: &str) -> Vec<(String, String)> {
    let document = chats.run(&["create", "--parent", A, "--question", "q", "--seed", mode]).success().json();
    let seed = &document["chat"]["seed"];
    assert_eq!(seed["mode"], if mode.starts_with("pick:") { "pick:1" } else { mode });
    let text = |message: &Value, key: &str| message[key].as_str().unwrap().to_owned();
    let messages = seed["messages"].as_array().unwrap();
    messages.iter().map(|message| (text(message, "messageId"), text(message, "text"))).collect()
}

fn ids(chats: &Chats, mode: &str) -> Vec<String> {
    seed(chats, mode).into_iter().map(|(id, _)| id).collect()
}

/// A question, something injected, a word before a tool call, its result, and a second question.
fn interrupted(kind: Kind) -> Talk {
    let mut talk = Talk::new(kind);
    talk.start().ask("u1", "First?").inject("p1", "It is noon.").answer_and_call("a1", "I shall look.", "A file.");
    talk.end("interrupted").start().ask("u2", "Second?").end("interrupted");
    talk
}

#[test]
fn only_direct_words_and_final_answers_are_taken() {
    for kind in [PLAIN, KINDS[2], KINDS[4]] {
        let chats = Chats::of(kind, &interrupted(kind));
        assert_eq!(ids(&chats, "tail:1"), ["u2"], "{kind:?}");
        assert_eq!(ids(&chats, "tail:2"), ["u1", "u2"], "a1 is not final");
        assert_eq!(ids(&chats, "tail:4"), ["u1", "u2"]);
        assert_eq!(ids(&chats, "none"), [""; 0]);
        assert_eq!(seed(&chats, "pick:u1"), [("u1".to_owned(), "First?".to_owned())]);
        for wrong in ["pick:a1", "pick:p1", "pick:a1-result"] {
            let outcome = chats.run(&["create", "--parent", A, "--question", "q", "--seed", wrong]);
            let status = if wrong == "pick:a1-result" { 3 } else { 7 };
            outcome.fails(status, "create-failed");
        }
    }
    let chats = Chats::new(PLAIN);
    assert_eq!(ids(&chats, "tail:4"), ["u1", "a1", "u2", "a2"]);
    assert_eq!(ids(&chats, "pick:a1"), ["a1"]);
}

#[test]
fn an_answer_that_was_broken_off_or_may_go_on_is_not_final() {
    let mut talk = Talk::new(PLAIN);
    talk.start().ask("u1", "First?").answer("a1", "Half an ans");
    let last = talk.events.last_mut().unwrap();
    last["data"]["interrupted"] = true.into();
    talk.end("interrupted");
    talk.start().ask("u2", "Second?").answer("a2", "Done, unless you object.");
    let chats = Chats::of(PLAIN, &talk);
    assert_eq!(ids(&chats, "tail:4"), ["u1", "u2"]);
}

#[test]
fn a_parent_without_words_gives_an_empty_seed() {
    let mut talk = Talk::new(PLAIN);
    talk.start().inject("p1", "It is noon.").end("interrupted");
    let chats = Chats::of(PLAIN, &talk);
    let document = chats.run(&["create", "--parent", A, "--question", "Which key?"]).success().json();
    assert_eq!(document["chat"]["seed"]["mode"], "tail:1");
    assert_eq!(document["chat"]["seed"]["messages"], json!([]));
    let message = document["message"].as_str().unwrap();
    assert!(message.ends_with("## 澄清问题\n\nWhich key?") && !message.contains("最小上下文\n"), "{message}");
    chats
        .run(&["create", "--parent", A, "--question", "q", "--seed", "task", "--model-command", "echo x"])
        .fails(7, "create-failed");
}

#[test]
fn a_seed_has_at_most_12000_characters() {
    for (units, is_good) in [(12_000, true), (12_001, false)] {
        let mut talk = Talk::new(PLAIN);
        talk.exchange(("u1", "q"), ("a1", &"字".repeat(units)));
        let chats = Chats::of(PLAIN, &talk);
        let outcome = chats.run(&["create", "--parent", A, "--question", "q"]);
        if is_good {
            outcome.success();
        } else {
            outcome.fails(7, "create-failed");
            assert!(!chats.sandbox.home().join("dshkit").exists());
        }
    }
}

#[test]
fn what_a_compaction_replaced_is_not_taken() {
    for kind in [PLAIN, KINDS[2], KINDS[4]] {
        let mut talk = Talk::new(kind);
        talk.exchange(("u1", "First?"), ("a1", "One."));
        let nodes: Vec<u64> = talk
            .events
            .iter()
            .zip(0..)
            .filter(|(event, _)| matches!(event["type"].as_str(), Some("user/message" | "assistant/message")))
            .map(|(_, seq)| seq)
            .collect();
        talk.compact(&nodes);
        talk.exchange(("u2", "Second?"), ("a2", "Two."));
        let chats = Chats::of(kind, &talk);
        assert_eq!(ids(&chats, "tail:4"), ["u2", "a2"], "{kind:?}");
        let error =
            chats.run(&["create", "--parent", A, "--question", "q", "--seed", "pick:a1"]).fails(7, "create-failed");
        assert!(error["message"].as_str().unwrap().contains("no longer before the model"), "{error}");
    }
}

#[test]
fn a_seed_stays_as_it_was() {
    let chats = Chats::new(PLAIN);
    let child = chats.create(&["--seed", "tail:2"]);
    let before = chats.run(&["show", &child]).success().json()["chat"]["seed"].clone();
    assert_eq!(
        before["messages"][1],
        json!({"messageId": "a2", "role": "assistant", "seq": 10, "text": "With a key for each request."})
    );
    assert_eq!((&before["capturedThroughSeq"], &before["capturedFormat"]), (&json!(12), &json!(0)));
    let text = String::from_utf8(chats.bytes()).unwrap().replace("With a key", "Without");
    std::fs::write(&chats.parent, text).unwrap();
    assert_eq!(chats.run(&["show", &child]).success().json()["chat"]["seed"], before);
}
