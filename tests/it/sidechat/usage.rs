//! What a side chat cost (sidechat.md §7, cases 60 to 65).

use super::{Chats, PLAIN, Talk};
use crate::logs::Kind;
use crate::support::{Differences, record_of, shared};
use dshkit::corpus::Corpus;
use dshkit::projections::turn_usage::{ExactTokens, TurnUsageFold};
use dshkit::stores::Encoding;
use serde_json::{Value, json};

fn usage(chats: &Chats, child: &str) -> Value {
    chats.run(&["usage", child]).success().json()
}

#[test]
fn turns_that_are_exactly_known_are_summed() {
    for encoding in [Encoding::Plain, Encoding::Zstd] {
        let chats = Chats::new(Kind { version: 0, encoding });
        let child = chats.create(&[]);
        let fresh = usage(&chats, &child);
        assert_eq!(fresh["child"]["complete"], true, "the first message cost nothing, and that is certain");
        assert_eq!(fresh["child"]["totals"]["totalTokens"], 0);
        assert_eq!(fresh["child"]["latestTurn"], Value::Null);
        chats.go_on(&child, |talk| {
            talk.exchange(("q1", "One?"), ("r1", "Two."));
            talk.start().ask("q2", "Three?").answer_and_call("r2", "I look.", "A file.").end_step().step();
            talk.answer("r3", "Four.").end("completed");
        });
        let child_usage = usage(&chats, &child)["child"].clone();
        assert_eq!((&child_usage["complete"], &child_usage["completedTurns"]), (&json!(true), &json!(2)));
        assert_eq!(
            child_usage["totals"],
            json!({"uncachedInputTokens": 205, "outputTokens": 22, "totalTokens": 307, "cacheReadTokens": 80,
                "cacheWriteTokens": 0, "reasoningTokens": null,
                "routes": [{"provider": "deepseek-official", "model": "deepseek-v4-flash"}]})
        );
        assert_eq!(child_usage["latestTurn"]["totalTokens"], 157);
        // A turn that has not ended makes the whole incomplete, and never zero.
        chats.go_on(&child, |talk| {
            talk.start().ask("q4", "Five?");
        });
        let open = usage(&chats, &child)["child"].clone();
        assert_eq!(
            (&open["complete"], &open["incompleteTurns"], &open["totals"]),
            (&json!(false), &json!(1), &Value::Null)
        );
        assert_eq!(open["latestTurn"], child_usage["latestTurn"]);
        let text = chats.sandbox.run(&["--format", "text", "sidechat", "usage", &child]).success();
        assert!(text.text().contains("incomplete: 1 turns"), "{}", text.text());
    }
}

#[test]
fn a_report_that_leaves_a_doubt_makes_its_turn_incomplete() {
    let cases = [
        (json!({"inputTokens": 1, "outputTokens": 1, "cacheReadTokens": 0}), false),
        (json!({"inputTokens": 1, "outputTokens": 1, "totalTokens": 1}), false),
        (json!({"inputTokens": 1, "outputTokens": 1, "totalTokens": 2}), true),
        (json!({"inputTokens": 1, "outputTokens": 1, "totalTokens": 9}), true),
        (
            json!({"inputTokens": 1, "outputTokens": 1, "cacheReadTokens": 3, "cacheWriteTokens": 0, "totalTokens": 9}),
            false,
        ),
        (json!({"inputTokens": 1, "outputTokens": 1, "totalTokens": 2, "reasoningTokens": 2}), false),
        (json!({"inputTokens": 1.5, "outputTokens": 1, "totalTokens": 3}), false),
        (Value::Null, false),
    ];
    for (report, is_known) in cases {
        let chats = Chats::new(PLAIN);
        let child = chats.create(&[]);
        chats.go_on(&child, |talk| {
            talk.start().ask("q1", "One?");
            talk.answer_with("r1", json!([{"type": "text", "text": "Two."}]), report.clone()).end("completed");
        });
        assert_eq!(usage(&chats, &child)["child"]["complete"], is_known, "{report}");
    }
}

#[test]
fn attempts_that_were_made_again_count_each() {
    let report = |input: u64| json!({"inputTokens": input, "outputTokens": 1, "totalTokens": input + 1});
    let chunk = |talk: &mut Talk, chunk: Value| {
        let (turn, step) = (talk.turn, talk.step);
        talk.push("assistant/chunk", json!({"turn": turn, "step": step, "chunk": chunk}));
    };
    let chats = Chats::new(PLAIN);
    let child = chats.create(&[]);
    chats.go_on(&child, |talk| {
        talk.start().ask("q1", "One?");
        let (turn, step) = (talk.turn, talk.step);
        chunk(talk, json!({"type": "usage", "usage": report(10)}));
        let failure = json!({"message": "busy", "code": "RATE"});
        chunk(talk, json!({"type": "finish", "reason": {"kind": "error", "failure": failure}}));
        let retry = json!({"retryId": "x", "turn": turn, "step": step, "provider": "p", "mode": "normal", "policyKey": "k",
            "retry": 1, "delayMs": 1, "failure": failure});
        talk.push("llm/retry", retry);
        talk.push("llm/retry-started", json!({"retryId": "x", "turn": turn, "step": step, "retry": 1}));
        chunk(talk, json!({"type": "usage", "usage": report(999)}));
        talk.answer_with("r1", json!([{"type": "text", "text": "Two."}]), report(20)).end("completed");
    });
    let totals = usage(&chats, &child)["child"]["totals"].clone();
    assert_eq!((&totals["uncachedInputTokens"], &totals["totalTokens"]), (&json!(30), &json!(32)), "the message wins");
}

#[test]
fn what_the_parent_used_since_is_a_difference() {
    let chats = Chats::new(PLAIN);
    let child = chats.create(&[]);
    let delta = |chats: &Chats| usage(chats, &child)["parentDelta"].clone();
    assert_eq!(delta(&chats)["tokens"]["totalTokens"], 0);
    let mut more = Talk { kind: PLAIN, events: Vec::new(), turn: 2, step: 0 };
    more.exchange(("u3", "Five?"), ("a3", "Six."));
    let text = String::from_utf8(chats.bytes()).unwrap();
    let rows: String = more.rows(13).iter().map(|row| format!("{row}\n")).collect();
    std::fs::write(&chats.parent, format!("{text}{rows}")).unwrap();
    let used = delta(&chats);
    assert_eq!((&used["available"], &used["tokens"]["totalTokens"]), (&json!(true), &json!(150)));
    assert_eq!(used["tokens"]["cacheReadTokens"], 40);
    // Less than at first is no difference.
    std::fs::write(&chats.parent, text.replace("\"inputTokens\":100", "\"inputTokens\":1")).unwrap();
    assert_eq!(delta(&chats), json!({"available": false, "tokens": null}));
    // A parent that was in a turn has no beginning to count from.
    let mut talk = Talk::new(PLAIN);
    talk.exchange(("u1", "One?"), ("a1", "Two.")).start().ask("u2", "Three?");
    let chats = Chats::of(PLAIN, &talk);
    let child = chats.create(&[]);
    assert_eq!(usage(&chats, &child)["parentDelta"]["available"], false);
}

#[test]
fn calls_outside_any_session_are_told_apart() {
    let chats = Chats::new(PLAIN);
    let plain = chats.create(&[]);
    assert!(usage(&chats, &plain).get("seedCall").is_none());
    let seeded = chats.create(&["--seed", "task", "--model-command", "echo context"]);
    let good = format!("cat '{}'", chats.file("good", super::FOLD));
    let fold = chats.run(&["fold", &seeded, "--generate", "--model-command", &good]).success().json();
    chats.commit(fold["fold"]["foldId"].as_str().unwrap(), &[]).success();
    let report = usage(&chats, &seeded);
    assert_eq!(report["seedCall"]["usage"], Value::Null);
    assert_eq!(report["foldCalls"][0]["revision"], 1);
    assert_eq!(report["deliveries"], json!({"messages": 1, "modelCalls": 0}));
    let text = chats.sandbox.run(&["--format", "text", "sidechat", "usage", &seeded]).success();
    assert!(text.text().contains("seed          a model: not available"), "{}", text.text());
}

/// What dsh's own meter (0.2.1) says of the sessions it wrote: corpus, session, turns it is sure of and turns it
/// is not, everything, the last turn; tokens are input, output, total, cache read, cache write, reasoning, and
/// how many models.
const BY_DSH: &str = include_str!("../../data/turn_usage.tsv");

#[test]
fn dsh_counts_the_same() {
    let Some(corpora) = shared("corpora") else { return };
    let mut differences = Differences::default();
    for line in BY_DSH.lines() {
        let (corpus, rest) = line.split_once('\t').unwrap();
        let (id, expected) = rest.split_once('\t').unwrap();
        let corpus = Corpus::at(&corpora.join(corpus).join("sessions"));
        let catalog = corpus.catalog().unwrap();
        let mut fold = TurnUsageFold::default();
        corpus.read(record_of(&catalog, id).unwrap(), &mut |event, _| fold.apply(event)).unwrap();
        let usage = fold.finish();
        let tokens = |tokens: &Option<ExactTokens>| {
            let known = |sum: Option<u64>| sum.map_or_else(|| "-".to_owned(), |sum| sum.to_string());
            tokens.as_ref().map_or_else(
                || "-".to_owned(),
                |tokens| {
                    let sums =
                        [Some(tokens.uncached_input), Some(tokens.output), Some(tokens.total), tokens.cache_read];
                    let sums = sums.into_iter().chain([tokens.cache_write, tokens.reasoning]).map(known);
                    format!("{}/{}", sums.collect::<Vec<_>>().join("/"), tokens.routes.len())
                },
            )
        };
        let got = [
            usage.completed_turns.to_string(),
            usage.incomplete_turns.to_string(),
            tokens(&usage.totals),
            tokens(&usage.latest),
        ];
        differences.compare(id, got.join("\t"), expected);
    }
    differences.none_of_at_least(40);
}
