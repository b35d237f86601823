//! Token usage: what dsh's own unit counted, forks without what they inherited, and numbers that are none.

use crate::support::{Differences, Outcome, Sandbox, corpora_folders, read_json, run_in_store, shared, write_log};
use dshkit::generations::{Generation, read_header};
use dshkit::model::event::{Envelope, Event};
use dshkit::model::header::Header;
use dshkit::model::js_string::JsStr;
use dshkit::model::json::parse;
use dshkit::projections::token_usage::{Inherited, Spent, TokenUsageFold, Tokens};
use serde_json::{Value, json};
use std::fs;

/// The names of the buckets in dsh's unit and in our documents.
const BUCKETS: [(&str, &str); 4] = [
    ("uncachedInputTokens", "inputTokens"),
    ("outputTokens", "outputTokens"),
    ("cacheReadTokens", "cacheReadTokens"),
    ("cacheWriteTokens", "cacheWriteTokens"),
];

/// The row of a key.
#[track_caller]
fn row<'v>(document: &'v Value, key: &str) -> &'v Value {
    let rows = document["rows"].as_array().unwrap();
    rows.iter().find(|row| row["key"] == key).unwrap_or_else(|| panic!("no row {key} in {document}"))
}

/// Members of a row, in this order.
fn members(row: &Value, names: &[&str]) -> Value {
    names.iter().map(|name| row[*name].clone()).collect()
}

#[track_caller]
fn usage_of_case(case: &str, more: &[&str]) -> Outcome {
    Sandbox::with_data(&format!("cases/{case}")).run(&[&["sessions", "usage", "--json"], more].concat())
}

#[test]
fn sums_are_those_of_dsh() {
    let Some(golden) = shared("golden") else { return };
    let mut differences = Differences::default();
    for entry in fs::read_dir(golden).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if !name.starts_with("usage-") {
            continue;
        }
        let expected = read_json(&path);
        let corpus = expected["corpus"].as_str().unwrap();
        let stores = corpora_folders().into_iter().map(|folder| folder.join(corpus).join("sessions"));
        let Some(store) = stores.into_iter().find(|store| store.is_dir()) else { continue };
        for (flags, fold) in [(&["--include-inherited"][..], "totals"), (&[], "ownSuffixFold")] {
            let usage = run_in_store(&store, &[&["sessions", "usage", "--json"], flags].concat()).success().json();
            let sessions = expected["sessions"].as_object().unwrap();
            differences.compare(format!("{corpus}, sessions"), usage["rows"].as_array().unwrap().len(), sessions.len());
            for (id, session) in sessions {
                let row = row(&usage, id);
                for (theirs, ours) in BUCKETS {
                    // dsh has 0 for what no report named.
                    let sum = row[ours].as_u64().unwrap_or(0);
                    differences.compare(format!("{corpus}, {id}, {fold}, {ours}"), sum, &session[fold][theirs]);
                }
            }
        }
    }
    differences.none_of_at_least(800);
}

/// The header of an invented log.
fn header(generation: Generation) -> Header {
    let mut line = json!({
        "type": "session", "version": generation.version(), "id": "s", "createdAt": 1, "delegationDepth": 0,
    });
    if generation >= Generation::V2 {
        line["isSeeded"] = json!(false);
    }
    read_header(generation, &line.to_string()).unwrap_or_else(|_| panic!("{line} is no header")).header
}

/// What a fold of the first events of an invented log counts, with how many steps.
fn fold(header: &Header, events: &[Value]) -> (Tokens, u64) {
    let (mut tokens, mut steps) = (Tokens::default(), 0);
    let mut take = |spent: Spent<'_>| match spent {
        Spent::Part(part) => {
            tokens.add(&part.tokens.unwrap_or_default());
            steps += u64::from(part.tokens.is_some());
        }
        Spent::WasInherited => panic!("nothing is inherited"),
    };
    let mut fold = TokenUsageFold::new(header, Inherited::Counted);
    for event in events {
        let text = event.to_string();
        let envelope = Envelope {
            seq: event["seq"].as_u64().unwrap(),
            time: event["time"].as_i64().unwrap(),
            kind: JsStr::from(event["type"].as_str().unwrap()),
            surface_op: None,
            source_event_seqs: None,
            ignorable: false,
        };
        let row = parse(&text).unwrap();
        fold.apply(&Event::from_row(envelope, row, row.get("data").unwrap()), &mut take);
    }
    fold.finish(&mut take);
    (tokens, steps)
}

#[test]
fn the_fold_steps_as_the_unit_of_dsh_does() {
    let Some(golden) = shared("golden") else { return };
    let mut differences = Differences::default();
    for (name, generation) in [("v0", Generation::V0), ("v4", Generation::V4)] {
        let vectors = read_json(&golden.join(format!("unit-vectors-{name}.json")));
        let header = header(generation);
        for (script, vector) in vectors["scripts"].as_object().unwrap() {
            let Some(states) = vector["units"]["tokenUsage"].as_array() else { continue };
            let events = vector["events"].as_array().unwrap();
            let mut expected = json!({});
            let mut next = states.iter().peekable();
            for (index, event) in events.iter().enumerate() {
                if let Some(state) = next.next_if(|state| state["seq"] == event["seq"]) {
                    expected = state["view"].clone();
                }
                // A report without the tokens written makes dsh's sums no numbers.
                if expected["schemaError"].is_string() {
                    break;
                }
                let (tokens, _) = fold(&header, &events[..=index]);
                let sums = [tokens.input, tokens.output, tokens.cache_read, tokens.cache_write];
                for ((theirs, _), sum) in BUCKETS.iter().zip(sums) {
                    let place = format!("{name}, {script}, {}, {theirs}", event["seq"]);
                    differences.compare(place, sum.known().unwrap_or(0), expected[theirs].as_u64().unwrap_or(0));
                }
            }
        }
    }
    differences.none_of_at_least(200);
}

#[test]
fn case_01_a_torn_log_counts_what_is_there() {
    let outcome = usage_of_case("01", &[]).success();
    let document = outcome.json();
    for (id, complete) in [("session-torn-small", true), ("session-torn-large", false)] {
        let names = ["inputTokens", "outputTokens", "cacheReadTokens", "steps", "complete"];
        assert_eq!(members(row(&document, id), &names), json!([2100, 100, 800, 2, complete]), "{id}");
        assert!(outcome.stderr.contains(id), "{outcome}");
    }
}

#[test]
fn case_03_a_session_counts_once_whatever_generations_it_has() {
    let outcome = usage_of_case("03", &[]).success();
    let document = outcome.json();
    let names = ["sessions", "steps", "inputTokens", "outputTokens", "cacheReadTokens"];
    assert_eq!(members(&document["total"], &names), json!([3, 5, 5000, 500, 2500]));
    let kinds: Vec<&Value> = document["notes"].as_array().unwrap().iter().map(|note| &note["kind"]).collect();
    assert_eq!(kinds, ["unsupported-version", "identity-mismatch"], "{outcome}");
    assert_eq!(outcome.stderr.lines().filter(|line| line.starts_with("warning: ")).count(), 2, "{outcome}");
    usage_of_case("03", &["--strict"]).exits(6);
    usage_of_case("03", &["--strict", "session-migrated-A"]).success();
}

#[test]
fn case_05_a_fork_counts_only_its_own_tokens() {
    let document = usage_of_case("05", &[]).success().json();
    let expected = [
        ("session-parent-P", [4, 4000, 800]),
        ("session-child-K", [2, 6100, 110]),
        ("session-nofork-N", [1, 400, 10]),
        ("session-child-V3", [1, 7000, 70]),
        ("session-retry-R", [1, 100, 9]),
    ];
    for (id, numbers) in expected {
        assert_eq!(members(row(&document, id), &["steps", "inputTokens", "outputTokens"]), json!(numbers), "{id}");
    }
    assert_eq!(members(&document["total"], &["inputTokens", "outputTokens", "complete"]), json!([17600, 999, true]));
    assert_eq!(document["includesInherited"], false);
    let document = usage_of_case("05", &["--include-inherited", "session-child-K"]).success().json();
    assert_eq!(members(&document["total"], &["inputTokens", "outputTokens"]), json!([10100, 910]));
    assert_eq!(document["includesInherited"], true);
    let sandbox = Sandbox::with_data("cases/05");
    let labelled = sandbox.run(&["sessions", "usage", "--include-inherited", "--jsonl"]).success();
    assert!(labelled.records().iter().all(|record| record["includesInherited"] == true), "{labelled}");
    let labelled = sandbox.run(&["sessions", "usage", "--include-inherited", "--format", "text"]).success();
    assert!(labelled.text().contains("inherited"), "{labelled}");
}

#[test]
fn a_session_that_is_named_twice_counts_once() {
    let document = usage_of_case("05", &["session-retry-R", "session-retry"]).success().json();
    assert_eq!(members(&document["total"], &["sessions", "inputTokens"]), json!([1, 100]));
}

/// The rows of a turn with a step for each usage.
fn turn(usages: &[Value]) -> Vec<String> {
    let mut rows = vec![json!({"type": "turn/start", "time": 1, "data": {"turn": 1}})];
    for (index, usage) in usages.iter().enumerate() {
        let step = json!({"turn": 1, "step": index + 1});
        let mut data = step.clone();
        data["message"] = json!({
            "id": format!("m{index}"), "role": "assistant", "content": [{"type": "text", "text": "yes"}],
            "source": {"kind": "model", "provider": "p", "model": format!("m{}", index % 2)},
        });
        if !usage.is_null() {
            data["usage"] = usage.clone();
        }
        let day = 86_400_000 * (index + 1);
        rows.push(json!({"type": "step/start", "time": 2, "data": step}));
        rows.push(json!({"type": "assistant/message", "time": day, "data": data, "surfaceOp": "append"}));
        rows.push(json!({"type": "step/end", "time": 4, "data": step}));
    }
    rows.push(json!({"type": "turn/end", "time": 5, "data": {"turn": 1, "reason": {"kind": "completed"}}}));
    let numbered = rows.iter_mut().enumerate().map(|(seq, row)| {
        row["seq"] = json!(seq);
        row.to_string()
    });
    numbered.collect()
}

/// A home with one session of one turn.
fn home(usages: &[Value]) -> Sandbox {
    let sandbox = Sandbox::new();
    let header = json!({"type": "session", "version": 0, "id": "s", "createdAt": 1, "cwd": "/w", "delegationDepth": 0});
    write_log(&sandbox, "--w--", &header, &turn(usages));
    sandbox
}

#[test]
fn what_no_report_names_is_null() {
    let document = home(&[
        json!({"inputTokens": 5, "outputTokens": 2}),
        json!({"inputTokens": 1, "outputTokens": 1, "cacheReadTokens": 7}),
    ])
    .run(&["sessions", "usage"])
    .success()
    .json();
    let names = ["inputTokens", "cacheReadTokens", "cacheWriteTokens", "reasoningTokens", "totalTokens", "complete"];
    assert_eq!(members(row(&document, "s"), &names), json!([6, 7, null, null, 16, true]));
    let document = home(&[Value::Null]).run(&["sessions", "usage"]).success().json();
    let names = ["turns", "steps", "inputTokens", "outputTokens", "totalTokens", "complete"];
    assert_eq!(members(row(&document, "s"), &names), json!([1, 0, null, null, null, false]));
}

#[test]
fn a_total_is_the_reported_one_and_reasoning_is_part_of_the_output() {
    let usage = json!({"inputTokens": 10, "outputTokens": 20, "cacheReadTokens": 1, "cacheWriteTokens": 2, "reasoningTokens": 15});
    let mut reported = usage.clone();
    reported["totalTokens"] = json!(40);
    let document = home(&[usage, reported]).run(&["sessions", "usage"]).success().json();
    assert_eq!(members(&document["total"], &["reasoningTokens", "totalTokens"]), json!([30, 73]));
}

#[test]
fn numbers_that_count_no_tokens_are_told_and_not_summed() {
    let good = json!({"inputTokens": 3, "outputTokens": 4});
    for bad in ["-5", "0.5", "1e300", "9007199254740992", "-0", "\"7\"", "{}", "true"] {
        let bad: Value = serde_json::from_str(bad).unwrap();
        let home = home(&[json!({"inputTokens": bad, "outputTokens": 2}), good.clone()]);
        let outcome = home.run(&["sessions", "usage", "--json"]).success();
        let document = outcome.json();
        let names = ["steps", "inputTokens", "outputTokens", "totalTokens", "complete"];
        assert_eq!(members(&document["total"], &names), json!([2, 3, 6, 7, false]), "{bad}");
        let note = &document["notes"][0];
        assert_eq!(members(note, &["kind", "seq", "sessionId"]), json!(["bad-row", 2, "s"]), "{bad}");
        assert!(outcome.stderr.contains("seq 2") && outcome.stderr.contains("inputTokens"), "{outcome}");
        home.run(&["sessions", "usage", "--strict"]).exits(6);
    }
    let bad = json!({"inputTokens": -1, "outputTokens": -1});
    let outcome = home(&[bad.clone(), bad]).run(&["sessions", "usage"]).success();
    assert_eq!(outcome.json()["notes"].as_array().unwrap().len(), 1);
    assert!(outcome.stderr.contains("3 more"), "{outcome}");
}

#[test]
fn a_sum_too_large_for_json_is_null() {
    let most = json!({"inputTokens": 9_007_199_254_740_991_u64, "outputTokens": 1});
    let document = home(&[most.clone(), most]).run(&["sessions", "usage"]).success().json();
    let names = ["inputTokens", "outputTokens", "totalTokens"];
    assert_eq!(members(&document["total"], &names), json!([null, 2, null]));
}

#[test]
fn rows_are_what_by_says() {
    let usage = json!({"inputTokens": 1, "outputTokens": 1});
    let home = home(&[usage.clone(), usage.clone(), usage]);
    let keys = |by: &str, names: &[&str]| -> Vec<Value> {
        let document = home.run(&["sessions", "usage", "--by", by]).success().json();
        assert_eq!(document["by"], by);
        assert_eq!(members(&document["total"], &["sessions", "turns", "steps"]), json!([1, 1, 3]), "{by}");
        document["rows"].as_array().unwrap().iter().map(|row| members(row, names)).collect()
    };
    assert_eq!(keys("session", &["key", "turns", "steps"]), [json!(["s", 1, 3])]);
    assert_eq!(keys("turn", &["key", "sessionId", "turn", "steps"]), [json!(["s#1", "s", 1, 3])]);
    assert_eq!(keys("cwd", &["key", "steps"]), [json!(["/w", 3])]);
    let models = [json!(["p/m0", "p", "m0", 1, 2]), json!(["p/m1", "p", "m1", 1, 1])];
    assert_eq!(keys("model", &["key", "provider", "model", "turns", "steps"]), models);
    let days = ["1970-01-02", "1970-01-03", "1970-01-04"].map(|day| json!([day, 1, 1]));
    assert_eq!(keys("day", &["key", "turns", "steps"]), days);
    // The day is that of whoever looks.
    let mut command = home.command();
    command.env("TZ", "EST5").args(["sessions", "usage", "--by", "day"]);
    let document = crate::support::outcome(command, b"").success().json();
    assert_eq!(document["rows"][0]["key"], "1970-01-01");
}

#[test]
fn sessions_are_chosen_as_in_a_listing() {
    let sandbox = Sandbox::with_data("cases/05");
    let document = sandbox.run(&["sessions", "usage", "--parent", "session-parent-P"]).success().json();
    assert_eq!(document["rows"].as_array().unwrap().len(), 2, "{document}");
    let none = sandbox.run(&["sessions", "usage", "--cwd", "/nowhere"]).success().json();
    assert_eq!(members(&none["total"], &["sessions", "steps", "inputTokens"]), json!([0, 0, null]));
    sandbox.run(&["sessions", "usage", "nobody"]).fails(3, "SESSION_QUERY_SESSION_NOT_FOUND");
}

#[test]
fn a_turn_that_is_open_is_not_complete() {
    let sandbox = Sandbox::new();
    let header = json!({"type": "session", "version": 0, "id": "s", "createdAt": 1, "delegationDepth": 0});
    let mut rows = turn(&[json!({"inputTokens": 1, "outputTokens": 1})]);
    rows.pop();
    write_log(&sandbox, "_no-cwd", &header, &rows);
    for by in ["session", "turn", "day", "cwd"] {
        let document = sandbox.run(&["sessions", "usage", "--by", by]).success().json();
        let names = ["turns", "steps", "inputTokens", "complete"];
        assert_eq!(members(&document["rows"][0], &names), json!([1, 1, 1, false]), "{by}");
        assert_eq!(document["total"]["complete"], false);
    }
}

#[test]
fn costs_are_by_the_users_own_rates_and_say_which() {
    let sandbox = Sandbox::new();
    let header = json!({"type": "session", "version": 0, "id": "s", "createdAt": 1, "delegationDepth": 0});
    let answer = |seq: u64, step: u64, model: &str, usage: Value| {
        let source = json!({"kind": "model", "provider": "p", "model": model});
        let message = json!({"id": format!("m{seq}"), "role": "assistant", "source": source, "content": []});
        let data = json!({"turn": 1, "step": step, "message": message, "usage": usage});
        json!({"type": "assistant/message", "seq": seq, "time": 2, "data": data, "surfaceOp": "append"}).to_string()
    };
    let rows = [
        json!({"type": "turn/start", "seq": 0, "time": 1, "data": {"turn": 1}}).to_string(),
        answer(1, 1, "m", json!({"inputTokens": 1000, "outputTokens": 100, "cacheReadTokens": 2000})),
        answer(2, 2, "other", json!({"inputTokens": 5, "outputTokens": 5})),
        json!({"type": "turn/end", "seq": 3, "time": 3, "data": {"turn": 1, "reason": {"kind": "completed"}}})
            .to_string(),
    ];
    write_log(&sandbox, "_no-cwd", &header, &rows);
    let rates = sandbox.path("rates.json");
    let used = json!({"input": 2.0, "output": 10.0, "cacheRead": 0.5});
    let file = json!({"currency": "EUR", "perTokens": 1000, "models": {"p/m": used, "q": {"input": 1, "output": 1}}});
    fs::write(&rates, file.to_string()).unwrap();
    let usage = ["sessions", "usage", "--json", "--by", "model", "--rates", rates.to_str().unwrap()];
    let document = sandbox.run(&usage).success().json();
    // 1000 × 2 + 100 × 10 + 2000 × 0.5, for a thousand.
    assert_eq!(row(&document, "p/m")["cost"], json!({"amount": 4.0, "complete": true}));
    assert_eq!(row(&document, "p/other")["cost"], json!({"amount": null, "complete": false}));
    assert_eq!(document["total"]["cost"], json!({"amount": 4.0, "complete": false}));
    assert_eq!(document["rates"], json!({"currency": "EUR", "perTokens": 1000, "models": {"p/m": used}}));
    let text =
        sandbox.run(&[&usage[..2], &["--format", "text", "--rates", rates.to_str().unwrap()]].concat()).success();
    assert!(text.text().contains("COST EUR") && text.text().contains("4.0000+"), "{text}");
    fs::write(&rates, "{\"currency\":\"EUR\",\"models\":{\"m\":{\"input\":1,\"output\":-1}}}").unwrap();
    sandbox.run(&usage).fails(2, "usage");
    fs::remove_file(&rates).unwrap();
    sandbox.run(&usage).fails(8, "io");
}
