//! What a side chat is given of its parent (sidechat.md §7, cases 14 to 16, 19 to 22).

use super::{A, Chats, PLAIN, Talk};
use crate::logs::{KINDS, Kind};
use serde_json::{Value, json};

/// The ids and texts of a seed.
#[track_caller]
fn seed(chats: &Chats, mode: &str) -> Vec<(String, String)> {
    let document = chats.run(&["create", "--parent", A, "--question", "q", "--seed", mode]).success().json();
    let seed = &document["chat"]["seed"];
    let name = match mode.split_once(':') {
        Some(("pick", ids)) if ids.contains(',') => "pick:many",
        Some(("pick", _)) => "pick:1",
        Some((kind @ ("turn" | "selection"), _)) => kind,
        _ => mode,
    };
    assert_eq!(seed["mode"], name);
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
fn what_it_was_given_is_shown() {
    let chats = Chats::new(PLAIN);
    let show = |child: &str| chats.sandbox.run(&["--format", "text", "sidechat", "show", child]).success();
    let shown = show(&chats.create(&["--seed", "tail:2"]));
    let given =
        "\nWhich key?\n\ngiven user u2\nHow do others do it?\n\ngiven assistant a2\nWith a key for each request.\n";
    assert!(shown.text().contains(given), "{shown}");
    let shown = show(&chats.create(&["--seed", "task", "--model-command", "echo 'Keys are at stake.'"]));
    assert!(shown.text().contains("\ngiven instead, written by a model\nKeys are at stake.\n"), "{shown}");
}

#[test]
fn no_id_adds_a_line_to_the_first_message() {
    let mut talk = Talk::new(PLAIN);
    talk.exchange(("u\n## 澄清问题\n\nPay.", "First?"), ("a1", "One."));
    let chats = Chats::of(PLAIN, &talk);
    let document =
        chats.run(&["create", "--parent", A, "--question", "Which key?", "--seed", "tail:2"]).success().json();
    let message = document["message"].as_str().unwrap();
    assert_eq!(message.matches("\n## 澄清问题\n").count(), 1, "{message}");
    assert!(message.contains("### user (u%0A##%20澄清问题%0A%0APay.)\n"), "{message}");
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
        json!({"messageId": "a2", "role": "assistant", "seq": 10, "turn": 2, "selection": null,
            "text": "With a key for each request."})
    );
    assert_eq!((&before["capturedThroughSeq"], &before["capturedFormat"]), (&json!(12), &json!(0)));
    let text = String::from_utf8(chats.bytes()).unwrap().replace("With a key", "Without");
    std::fs::write(&chats.parent, text).unwrap();
    assert_eq!(chats.run(&["show", &child]).success().json()["chat"]["seed"], before);
}

#[test]
fn several_messages_are_taken_in_the_order_of_the_log() {
    let chats = Chats::new(PLAIN);
    assert_eq!(ids(&chats, "pick:u2,a1"), ["a1", "u2"]);
    let twice = chats.run(&["create", "--parent", A, "--question", "q", "--seed", "pick:u2,a1,u2"]).success().json();
    assert_eq!(twice["chat"]["seed"]["messages"].as_array().unwrap().len(), 2, "a repeated id counts once");
    let before = chats.everything();
    let create = |seed: &str| chats.run(&["create", "--parent", A, "--question", "q", "--seed", seed]);
    create("pick:u2,gone").fails(3, "create-failed");
    let nine = "pick:u1,a1,u2,a2,m5,m6,m7,m8,m9";
    create(nine).fails(2, "bad-request");
    for wrong in ["pick:u1,,a1", "turn:0", "turn:one", "selection:a1", "selection:a1:1", "selection::0-1", "summary:"] {
        create(wrong).fails(2, "bad-request");
    }
    assert_eq!(chats.everything(), before);
}

#[test]
fn a_turn_is_taken_as_far_as_it_was_said() {
    for kind in [PLAIN, KINDS[2], KINDS[4]] {
        let mut talk = interrupted(kind);
        talk.exchange(("u3", "Third?"), ("a3", "Three."));
        let chats = Chats::of(kind, &talk);
        assert_eq!(ids(&chats, "turn:1"), ["u1"], "{kind:?}: neither the plugin nor a word between tool calls");
        assert_eq!(ids(&chats, "turn:3"), ["u3", "a3"]);
        chats.run(&["create", "--parent", A, "--question", "q", "--seed", "turn:4"]).fails(7, "create-failed");
        let document = chats.run(&["create", "--parent", A, "--question", "q", "--seed", "turn:3"]).success().json();
        assert_eq!(document["chat"]["seed"]["messages"][1]["turn"], 3);
    }
}

#[test]
fn a_part_of_a_message_is_frozen_with_its_place() {
    let mut talk = Talk::new(PLAIN);
    talk.exchange(("u1", "abcdef"), ("m:1", "It is 😀, and so on."));
    let chats = Chats::of(PLAIN, &talk);
    assert_eq!(seed(&chats, "selection:u1:1-4"), [("u1".to_owned(), "bcd".to_owned())]);
    let document =
        chats.run(&["create", "--parent", A, "--question", "q", "--seed", "selection:m:1:6-8"]).success().json();
    let message = &document["chat"]["seed"]["messages"][0];
    assert_eq!((&message["text"], &message["selection"]), (&json!("😀"), &json!({"start": 6, "end": 8})));
    assert!(document["message"].as_str().unwrap().contains("### assistant (m:1, 6-8)\n\n😀"), "{document}");
    let child = document["chat"]["childSessionId"].as_str().unwrap();
    assert_eq!(chats.run(&["show", child]).success().json()["chat"]["seed"], document["chat"]["seed"]);
    let before = chats.everything();
    for wrong in ["u1:4-4", "u1:4-1", "u1:0-7", "m:1:6-7", "m:1:7-8", "m:1:5-6"] {
        let seed = format!("selection:{wrong}");
        chats.run(&["create", "--parent", A, "--question", "q", "--seed", &seed]).fails(2, "bad-request");
    }
    chats.run(&["create", "--parent", A, "--question", "q", "--seed", "selection:gone:0-1"]).fails(3, "create-failed");
    assert_eq!(chats.everything(), before);
}

#[test]
fn a_long_message_can_be_summed_up_by_one_call_or_taken_in_part() {
    let mut talk = Talk::new(PLAIN);
    talk.exchange(("u1", "How long is it?"), ("a1", &format!("Long: {}", "字".repeat(12_000))));
    let chats = Chats::of(PLAIN, &talk);
    let create = |more: &[&str]| {
        chats.run(&[&["create", "--parent", A, "--question", "Which key?", "--lang", "en"], more].concat())
    };
    create(&["--seed", "pick:u1,a1"]).fails(7, "create-failed");
    assert!(!chats.sandbox.home().join("dshkit").exists());
    create(&["--seed", "selection:a1:0-12000"]).success();
    let seen = chats.sandbox.path("seen");
    let command = format!("cat > {}; echo \"$DSHKIT_MODEL $DSHKIT_MAX_TOKENS: it is long.\"", seen.display());
    let asking = ["--seed", "summary:a1,u1", "--model", "elsewhere/big", "--model-command", &command];
    let document = create(&asking).success().json();
    let seed = &document["chat"]["seed"];
    assert_eq!((&seed["mode"], &seed["generated"]["text"]), (&json!("summary"), &json!("big 500: it is long.")));
    let ids: Vec<&Value> = seed["messages"].as_array().unwrap().iter().map(|message| &message["messageId"]).collect();
    assert_eq!(ids, ["u1", "a1"], "its sources, in the order of the log");
    let message = document["message"].as_str().unwrap();
    assert!(message.contains("### A summary that a model wrote (u1, a1)\n\nbig 500: it is long.\n"), "{message}");
    let seen = std::fs::read_to_string(seen).unwrap();
    assert!(seen.contains("How long is it?") && seen.contains("字字") && seen.contains("Which key?"), "{seen}");
    let usage = chats.run(&["usage", document["chat"]["childSessionId"].as_str().unwrap()]).success().json();
    assert!(usage["seedCall"].is_object(), "{usage}");
    // A model that fails leaves nothing.
    let before = chats.everything();
    create(&["--seed", "summary:a1", "--model-command", "exit 1"]).fails(8, "model-failed");
    assert_eq!(chats.everything(), before);
}

#[test]
fn a_preview_shows_what_it_would_cost_before_anything_exists() {
    let chats = Chats::new(PLAIN);
    let before = chats.everything();
    let preview = |more: &[&str]| {
        chats
            .run(&[&["create", "--parent", A, "--question", "Which key?", "--preview"], more].concat())
            .success()
            .json()
    };
    let plain = preview(&["--seed", "pick:a1,u2"]);
    assert_eq!((&plain["seed"]["mode"], &plain["seed"]["characters"]), (&json!("pick:many"), &json!(42)));
    assert_eq!((&plain["seed"]["estimatedTokens"], &plain["seed"]["scriptAwareTokens"]), (&json!(11), &json!(13)));
    assert_eq!(plain["calls"], json!([]));
    let made = chats.run(&["create", "--parent", A, "--question", "Which key?", "--seed", "pick:a1,u2", "--dry-run"]);
    assert_eq!(plain["message"]["text"], made.success().json()["message"]);
    let text = plain["message"]["text"].as_str().unwrap();
    assert_eq!(plain["message"]["characters"], text.encode_utf16().count());
    for (mode, purpose, route) in [
        ("task", "task", json!({"provider": "deepseek-official", "model": "deepseek-v4-flash"})),
        ("summary:a1", "summary", json!({"provider": "elsewhere", "model": "big"})),
    ] {
        let asked = preview(&["--seed", mode, "--model", "elsewhere/big"]);
        assert_eq!(asked["message"], Value::Null, "a model has yet to write it");
        let call = &asked["calls"][0];
        assert_eq!((&call["purpose"], &call["route"], &call["maxTokens"]), (&json!(purpose), &route, &json!(500)));
        let length = |key: &str| call[key].as_str().unwrap().encode_utf16().count();
        assert_eq!(call["characters"], length("instructions") + length("input"));
        assert_eq!(asked["calls"].as_array().unwrap().len(), 1);
    }
    assert_eq!(chats.everything(), before);
}
