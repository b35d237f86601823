//! Projections: the views of dsh's own units, kept states and when they may be used.

use crate::support::{Differences, corpora_folders, read_json, record_of, shared};
use dshkit::corpus::Corpus;
use dshkit::model::event::{Envelope, Event, SurfaceOp};
use dshkit::model::header::{Header, Seed};
use dshkit::model::js_string::JsStr;
use dshkit::model::json::{parse, write_value};
use dshkit::model::token_estimate::estimate_message;
use dshkit::projections::checkpoint::{Checkpoint, Row};
use dshkit::projections::fold::{CannotRestore, Fold, Folded, Snapshot};
use dshkit::projections::registry::{DuplicateKey, Registry, UnknownKey};
use dshkit::projections::unit::{Change, Definition, Unit};
use dshkit::projections::units;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;

/// What of a view of ours, which are by the newest dsh's rules, an older dsh's can be compared with.
pub(crate) fn by_the_rules_of(dsh: &str, key: &str, mut view: Value) -> Option<Value> {
    match key {
        // 0.1.5 remembers the weight of every node on the surface.
        "contextBreakdown" if dsh.starts_with("0.1.5") => return None,
        "subagentTiming" if dsh.starts_with("0.1.") => {
            view.as_object_mut().unwrap().remove("lastTurnCompleted");
        }
        _ => {}
    }
    Some(view)
}

/// Whether a dsh wrote logs of this generation. What it made of older ones, migrated in memory, is no
/// measure: their events are others then.
fn is_own(dsh: &str, header: &Header) -> bool {
    let generation = if dsh.starts_with("0.2") {
        4
    } else if dsh.starts_with("0.1.5") {
        3
    } else {
        0
    };
    header.version == generation
}

fn golden(prefix: &str) -> Vec<PathBuf> {
    let Some(folder) = shared("golden") else { return Vec::new() };
    let named = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().starts_with(prefix);
    let mut found: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.retain(named);
    found.sort();
    found
}

/// The corpus of this name, where it is at hand.
fn corpus_named(name: &str) -> Option<Corpus> {
    let stores = corpora_folders().into_iter().map(|folder| folder.join(name).join("sessions"));
    stores.into_iter().find(|store| store.is_dir()).map(|store| Corpus::at(&store))
}

/// A view as the golden files have it: a lone surrogate stands there as `<U+D83D>`.
fn shown(view: &dshkit::model::json::Value) -> Value {
    let mut text = String::new();
    write_value(view, &mut text);
    if let Ok(value) = serde_json::from_str(&text) {
        return value;
    }
    for unit in 0xD800..=0xDFFF {
        text = text.replace(&format!("\\u{unit:04x}"), &format!("<U+{unit:04X}>"));
    }
    serde_json::from_str(&text).unwrap()
}

fn views(snapshot: &Snapshot) -> Vec<(&'static str, Value)> {
    snapshot.views.iter().map(|(key, view)| (*key, shown(view))).collect()
}

/// What of an expected view the log alone can say. Where it does not say both the sandbox mode and the
/// approval policy, dsh's view tells how that dsh was set up.
fn from_the_log_alone(key: &str, unit: &Value) -> Value {
    let view = &unit["view"];
    match key {
        "permissions" if unit["state"]["sandbox"].is_null() || unit["state"]["approval"].is_null() => {
            json!({ "currentValue": null })
        }
        "permissions" => json!({ "currentValue": view["currentValue"] }),
        _ => view.clone(),
    }
}

#[test]
fn views_at_the_end_of_a_log_are_those_of_dsh() {
    let registry = units::all();
    let mut differences = Differences::default();
    let files = golden("projections-");
    for path in &files {
        let expected = read_json(path);
        let dsh = expected["dsh"].as_str().unwrap();
        let name = expected["corpus"].as_str().unwrap();
        let Some(corpus) = corpus_named(name) else { continue };
        let catalog = corpus.catalog().unwrap();
        for (id, session) in expected["sessions"].as_object().unwrap() {
            let record = record_of(&catalog, id).unwrap();
            if !is_own(dsh, &record.stored.header) {
                continue;
            }
            let mut stored = Fold::new(&registry, &record.stored.header);
            let mut logical = Fold::new(&registry, &record.stored.header);
            let read = corpus.read(record, &mut |event, _| {
                logical.apply(event);
                if !event.synthetic {
                    stored.apply(event);
                }
            });
            read.unwrap();
            for (cut, fold) in [("atEnd", logical), ("atStoredEnd", stored)] {
                let Some(cut_expected) = session.get(cut) else { continue };
                let place = format!("{name} {id} {cut}");
                let snapshot = fold.finish().unwrap().snapshot();
                differences.compare(format!("{place} asOfSeq"), snapshot.as_of_seq, &cut_expected["asOfSeq"]);
                for (key, view) in views(&snapshot) {
                    let Some(unit) = cut_expected["units"].get(key) else { continue };
                    if let Some(view) = by_the_rules_of(dsh, key, view) {
                        differences.compare(format!("{place} {key}"), view, from_the_log_alone(key, unit));
                    }
                }
            }
        }
    }
    differences.none_of_at_least(if files.is_empty() { 0 } else { 900 });
}

/// An event of the golden files, which stands in no log.
fn event(text: &str) -> Event<'_> {
    let row = parse(text).unwrap();
    let surface_op = row.get("surfaceOp").map(|op| {
        let end = |names: [&str; 2]| names.iter().find_map(|name| op.get(name)?.count());
        match (end(["start", "startSeq"]), end(["end", "endSeq"])) {
            (Some(start), Some(end)) => SurfaceOp::Replace { start, end },
            _ => SurfaceOp::Append,
        }
    });
    let envelope = Envelope {
        seq: row.get("seq").unwrap().count().unwrap(),
        time: row.get("time").unwrap().safe_integer().unwrap(),
        kind: row.get("type").unwrap().string().unwrap(),
        surface_op,
        source_event_seqs: None,
        ignorable: false,
    };
    Event::from_row(envelope, row, row.get("data").unwrap())
}

fn header(value: &Value) -> Header {
    let text = |name: &str| value[name].as_str().map(|text| JsStr::from(text).into_owned());
    Header {
        version: value["version"].as_u64().unwrap(),
        id: text("id").unwrap(),
        created_at: value["createdAt"].as_u64().unwrap(),
        cwd: text("cwd"),
        parent_session: None,
        is_subagent: false,
        delegation_depth: Some(0),
        agent_preset: None,
        seed: Seed::None,
    }
}

#[test]
fn the_context_after_each_turn_is_that_of_dsh() {
    let registry = units::all().only(&["contextPressure", "contextBreakdown", "tokenUsage"]).unwrap();
    let mut differences = Differences::default();
    let files = golden("usage-");
    for path in &files {
        let expected = read_json(path);
        let dsh = expected["dsh"].as_str().unwrap();
        let name = expected["corpus"].as_str().unwrap();
        let Some(corpus) = corpus_named(name) else { continue };
        let catalog = corpus.catalog().unwrap();
        for (id, session) in expected["sessions"].as_object().unwrap() {
            let Some(turns) = session["turns"].as_array() else { continue };
            let record = record_of(&catalog, id).unwrap();
            if !is_own(dsh, &record.stored.header) {
                continue;
            }
            let mut fold = Some(Fold::new(&registry, &record.stored.header));
            let read = corpus.read(record, &mut |event, _| {
                let mut next = fold.take().unwrap();
                next.apply(event);
                let folded = next.finish().unwrap();
                for turn in turns.iter().filter(|turn| turn["endSeq"] == event.seq) {
                    for (key, view) in views(&folded.snapshot()) {
                        let theirs = if key == "tokenUsage" { &turn["totals"] } else { &turn[key] };
                        if let Some(view) = by_the_rules_of(dsh, key, view) {
                            differences.compare(format!("{name} {id} {key} after {}", event.seq), view, theirs);
                        }
                    }
                }
                fold = Some(folded.resume());
            });
            read.unwrap();
        }
    }
    differences.none_of_at_least(if files.is_empty() { 0 } else { 300 });
}

#[test]
fn messages_weigh_what_dsh_estimates() {
    let Some(path) = shared("golden/text.json") else { return };
    let expected = &read_json(&path)["estimateMessage"];
    let mut differences = Differences::default();
    for (version, name) in [(0, "v0"), (4, "v4")] {
        for case in expected[name].as_array().unwrap() {
            let text = case.to_string();
            let tokens = estimate_message(parse(&text).unwrap(), version);
            differences.compare(format!("{name} {}", case["content"]), tokens, &case["tokens"]["ok"]);
        }
    }
    differences.none_of_at_least(30);
}

#[test]
fn views_after_each_event_are_those_of_dsh() {
    let mut differences = Differences::default();
    let registry = units::all();
    let files = golden("unit-vectors-");
    for path in &files {
        let expected = read_json(path);
        let version = expected["header"]["version"].as_u64().unwrap();
        let dsh = expected["dsh"].as_str().unwrap();
        let header = header(&expected["header"]);
        for (script, case) in expected["scripts"].as_object().unwrap() {
            let events: Vec<String> = case["events"].as_array().unwrap().iter().map(Value::to_string).collect();
            for key in registry.keys() {
                if expected["units"].get(key).is_none() {
                    continue;
                }
                let only = registry.only(&[key]).unwrap();
                let mut fold = Fold::new(&only, &header);
                let mut last = shown(&fold.finish().unwrap().snapshot().views[0].1);
                fold = Fold::new(&only, &header);
                let steps = case["units"].get(key).and_then(Value::as_array).cloned().unwrap_or_default();
                for text in &events {
                    let event = event(text);
                    fold.apply(&event);
                    // Each step goes on from a kept state, which must be all there is to know.
                    let checkpoint = fold.finish().unwrap().checkpoint();
                    let folded = Fold::restore(&only, &header, &checkpoint, event.seq + 1).unwrap().finish().unwrap();
                    let view = shown(&folded.snapshot().views[0].1);
                    fold = folded.resume();
                    let step = steps.iter().find(|step| step["seq"] == event.seq);
                    let place = format!("v{version} {script} {key} after {}", event.seq);
                    match step {
                        // Where dsh's own check refuses the view there is none to compare with.
                        Some(step) if step["view"].get("schemaError").is_some() => {}
                        Some(step) if step.get("applyError").is_some() => break,
                        Some(step) => {
                            if let Some(view) = by_the_rules_of(dsh, key, view.clone()) {
                                differences.compare(place, view, from_the_log_alone(key, step));
                            }
                        }
                        None => differences.compare(place, &view, &last),
                    }
                    last = view;
                }
            }
        }
    }
    differences.none_of_at_least(if files.is_empty() { 0 } else { 1_000 });
}

/// Restores states over part of a log, and reads it whole where the states are not usable and all of it
/// is at hand.
fn restore<'r>(
    registry: &'r Registry,
    header: &Header,
    checkpoint: &Checkpoint,
    events: &[String],
    base: u64,
) -> Result<Folded<'r>, CannotRestore> {
    let over = |checkpoint: &Checkpoint| {
        let mut fold = Fold::restore(registry, header, checkpoint, base)?;
        for text in events {
            fold.apply(&event(text));
        }
        fold.finish()
    };
    match over(checkpoint) {
        Err(CannotRestore::BeyondEnd(_)) if base == 0 => over(&Checkpoint::default()),
        restored => restored,
    }
}

#[test]
fn states_are_restored_and_refused_as_by_dsh() {
    let all = units::all();
    let mut differences = Differences::default();
    let files = golden("projections-");
    for path in &files {
        let expected = read_json(path);
        let cases = &expected["restoreCases"];
        let name = expected["corpus"].as_str().unwrap();
        let Some(corpus) = corpus_named(name) else { continue };
        if cases.is_null() {
            continue;
        }
        let catalog = corpus.catalog().unwrap();
        let record = record_of(&catalog, cases["session"].as_str().unwrap()).unwrap();
        let header = &record.stored.header;
        let mut log = Vec::new();
        corpus
            .read(record, &mut |event, _| {
                let mut text = String::new();
                event.write_json(&mut text);
                log.push(text);
            })
            .unwrap();
        let keys: Vec<&str> = cases["units"].as_array().unwrap().iter().map(|key| key.as_str().unwrap()).collect();
        let registry = all.only(&keys).unwrap();
        let theirs = |key: &str| {
            let units = expected["units"].as_array().unwrap();
            units.iter().find(|unit| unit["key"] == key).map(|unit| unit["stateVersion"].as_u64().unwrap())
        };
        // Our state after so many events stands for theirs, which is theirs alone.
        let state_at = |key: &str, through: usize| {
            let only = all.only(&[key]).unwrap();
            let mut fold = Fold::new(&only, header);
            log.iter().take(through).for_each(|text| {
                fold.apply(&event(text));
            });
            let folded = fold.finish().unwrap();
            folded.checkpoint().rows().next().unwrap().1.state.clone()
        };
        for case in cases["cases"].as_array().unwrap() {
            let label = case["label"].as_str().unwrap();
            let place = format!("{name}: {label}");
            let rows = case["checkpoint"].as_object().unwrap().iter().map(|(key, row)| {
                let seq = row["seq"].as_i64().unwrap();
                let own = all.definitions().iter().find(|unit| unit.key == key).map_or(1, |unit| unit.version);
                let version = if theirs(key).is_none_or(|ver| row["ver"] == ver) { own } else { own + 1 };
                let is_misshapen = label == "row state has the wrong shape" && key == "tokenUsage";
                let state = match keys.contains(&key.as_str()) {
                    true if !is_misshapen => state_at(key, (seq + 1) as usize),
                    _ => "{\"unknown\":1}".to_owned(),
                };
                (key.clone(), Row { version, seq: u64::try_from(seq).ok(), state })
            });
            let checkpoint: Checkpoint = rows.collect();
            differences.compare(format!("{place}, floor"), checkpoint.restore_floor(&registry), &case["restoreFloor"]);
            let base = case["baseSeq"].as_u64().unwrap();
            let supplied = &case["events"];
            let missing = supplied.get("missingSeqs").and_then(Value::as_array).cloned().unwrap_or_default();
            let events: Vec<String> = match supplied["firstSeq"].as_u64() {
                None => Vec::new(),
                Some(first) => {
                    let last = supplied["lastSeq"].as_u64().unwrap();
                    (first..=last)
                        .filter(|seq| !missing.contains(&json!(seq)))
                        .map(|seq| log[seq as usize].clone())
                        .collect()
                }
            };
            let restored = restore(&registry, header, &checkpoint, &events, base);
            // A hole in the tail passes in 0.1.0, and with us in none.
            let is_hole = label == "hole in the supplied tail" || label == "tail starts late";
            differences.compare(format!("{place}, served"), restored.is_ok(), case["result"]["ok"] == true && !is_hole);
            let Ok(folded) = restored else { continue };
            let snapshot = folded.snapshot();
            let as_of = snapshot.as_of_seq.map_or(-1, |seq| seq as i64);
            differences.compare(format!("{place}, asOfSeq"), as_of, &case["result"]["snapshot"]["asOfSeq"]);
            if label == "row state is not what the log says" {
                continue;
            }
            for (key, view) in views(&snapshot) {
                differences.compare(format!("{place}, {key}"), view, &case["result"]["snapshot"]["values"][key]);
            }
        }
    }
    differences.none_of_at_least(if files.is_empty() { 0 } else { 200 });
}

/// A unit that only this test has: the last word the person said.
#[derive(Serialize, Deserialize)]
struct LastWord(String);

impl Unit for LastWord {
    const KEY: &'static str = "lastWord";
    const VERSION: u32 = 1;
    const EVENTS: &'static [&'static str] = &["user/message"];

    fn init(_header: &Header) -> LastWord {
        LastWord(String::new())
    }

    fn apply(&mut self, event: &Event<'_>) -> Change {
        let text = event.data().get("content").unwrap().text().to_owned();
        let word = text.split('"').rev().find(|part| part.contains(' ')).and_then(|part| part.split(' ').next_back());
        self.0 = word.unwrap_or_default().to_owned();
        Change::Some
    }

    fn view(&self) -> dshkit::model::json::Value {
        self.0.as_str().into()
    }
}

const ASKED: &str = r#"{"type":"user/message","seq":0,"time":1,"data":{"content":[{"type":"text","text":"say hello"}],"role":"user","source":{"kind":"user"},"id":"u1"},"surfaceOp":"append"}"#;

#[test]
fn a_unit_is_one_type_and_one_line() {
    let mut registry = units::all();
    registry.register(Definition::of::<LastWord>()).unwrap();
    assert_eq!(registry.register(Definition::of::<LastWord>()), Err(DuplicateKey("lastWord")));
    let header = header(&json!({ "version": 4, "id": "s", "createdAt": 1 }));
    let mut fold = Fold::new(&registry, &header);
    assert_eq!(fold.apply(&event(ASKED)), Change::Some);
    let snapshot = fold.finish().unwrap().snapshot();
    assert_eq!(snapshot.as_of_seq, Some(0));
    assert_eq!(views(&snapshot).last().unwrap(), &("lastWord", json!("hello")));
    assert_eq!(registry.only(&["nobody"]).unwrap_err(), UnknownKey("nobody".to_owned()));
}

#[test]
fn an_event_that_concerns_no_unit_changes_nothing() {
    let registry = Registry::of([Definition::of::<LastWord>()]).unwrap();
    let header = header(&json!({ "version": 4, "id": "s", "createdAt": 1 }));
    let mut fold = Fold::new(&registry, &header);
    let boundary = r#"{"type":"turn/start","seq":0,"time":1,"data":{"turn":1}}"#;
    assert_eq!(fold.apply(&event(boundary)), Change::None);
    assert_eq!(fold.finish().unwrap().as_of_seq(), Some(0));
}

// What follows the golden values do not cover: the expectations are those of the rules of dsh's own units,
// which were also run over random events beside ours.

/// A header of this generation.
fn header_of(version: u64) -> Header {
    header(&json!({ "version": version, "id": "s", "createdAt": 1 }))
}

/// The view of a unit after each of these events.
fn views_of(key: &str, header: &Header, events: &[(&str, Value)]) -> Vec<Value> {
    let registry = units::all().only(&[key]).unwrap();
    let mut fold = Fold::new(&registry, header);
    let mut views = Vec::new();
    for (seq, (kind, data)) in events.iter().enumerate() {
        let row = json!({ "type": kind, "seq": seq, "time": 1_000 + seq, "data": data }).to_string();
        fold.apply(&event(&row));
        let folded = fold.finish().unwrap();
        views.push(shown(&folded.snapshot().views[0].1));
        fold = folded.resume();
    }
    views
}

fn last_view_of(key: &str, header: &Header, events: &[(&str, Value)]) -> Value {
    views_of(key, header, events).pop().unwrap()
}

fn timed_header() -> (&'static str, Value) {
    let tool =
        json!({ "name": "ask_user_question", "description": "", "parameters": { "properties": { "timeout": {} } } });
    ("request/header", json!({ "header": { "config": {}, "tools": [tool] } }))
}

fn asked(call: &str, arguments: &str) -> (&'static str, Value) {
    let data = json!({ "turn": 1, "step": 1, "callId": call, "name": "ask_user_question", "arguments": arguments });
    ("tool/call", data)
}

fn answered(call: &str, text: &str) -> (&'static str, Value) {
    let message = json!({ "role": "tool", "toolCallId": call, "content": [{ "type": "text", "text": text }] });
    ("tool/result", json!({ "turn": 1, "step": 1, "message": message }))
}

const WHY: &str = r#"{"questions":[{"id":"q","question":"Why?","multi_select":true,"options":[{"label":"A","x":1}]}]}"#;
const BECAUSE: &str = r#"{"answers":[{"id":"q","selected":["A"]}]}"#;

/// The view of [`WHY`] asked by one call, and of nothing else.
fn why(call: &str, state: &str) -> Value {
    let question = json!({ "id": "q", "question": "Why?", "multiSelect": true, "options": [{ "label": "A" }] });
    json!({ "active": [{ "callId": call, "questions": [question], "state": state }], "settled": [] })
}

#[test]
fn a_question_waits_until_it_is_answered() {
    let settled = json!([{ "callId": "c", "answers": [{ "id": "q", "selected": ["A"] }] }]);
    let views = views_of(
        "userQuestions",
        &header_of(4),
        &[
            asked("c", WHY),
            timed_header(),
            asked("c", WHY),
            answered("c", r#"{"pending":true}"#),
            answered("c", BECAUSE),
        ],
    );
    let none = json!({ "active": [], "settled": [] });
    let expected =
        [none.clone(), none, why("c", "open"), why("c", "continued"), json!({ "active": [], "settled": settled })];
    assert_eq!(views, expected);
}

#[test]
fn a_late_reply_settles_and_a_failure_drops() {
    let reply = |text: &str| {
        let source = json!({ "kind": "user-question-reply", "callId": "c" });
        ("user/message", json!({ "role": "user", "content": [{ "type": "text", "text": text }], "source": source }))
    };
    let last = |event| last_view_of("userQuestions", &header_of(4), &[timed_header(), asked("c", WHY), event]);
    let settled = |answers| json!({ "active": [], "settled": [{ "callId": "c", "answers": answers }] });
    assert_eq!(last(reply(BECAUSE)), settled(json!([{ "id": "q", "selected": ["A"] }])));
    assert_eq!(last(reply("no")), settled(json!([])));
    assert_eq!(last(answered("c", "no")), json!({ "active": [], "settled": [] }));
    assert_eq!(last(answered("d", BECAUSE)), why("c", "open"));
    let (kind, mut failed) = answered("c", BECAUSE);
    failed["error"] = json!({ "name": "E", "code": "X" });
    assert_eq!(last((kind, failed.clone())), json!({ "active": [], "settled": [] }));
    failed["error"]["code"] = json!("TOOL_OUTCOME_UNKNOWN");
    assert_eq!(last((kind, failed)), why("c", "continued"));
}

#[test]
fn a_question_of_a_program_counts_if_it_is_pending() {
    let dispatch = |kind, name: &str, text: &str| {
        let arguments: Value = serde_json::from_str(WHY).unwrap();
        let content = json!([{ "type": "text", "text": text }]);
        let data =
            json!({ "subCallId": "p", "name": name, "arguments": arguments, "isError": false, "content": content });
        last_view_of("userQuestions", &header_of(4), &[(kind, data)])
    };
    let pending = r#"{"pending":true}"#;
    assert_eq!(dispatch("tool/ptc-dispatch", "ask_user_question", pending), why("p", "continued"));
    assert_eq!(dispatch("tool/code-dispatch", "ask_user_question", pending), why("p", "continued"));
    assert_eq!(dispatch("tool/ptc-dispatch", "bash", pending), json!({ "active": [], "settled": [] }));
    assert_eq!(dispatch("tool/ptc-dispatch", "ask_user_question", BECAUSE), json!({ "active": [], "settled": [] }));
}

#[test]
fn the_result_of_an_old_log_is_a_block_of_its_message() {
    let block = json!({ "type": "tool-result", "toolCallId": "c", "content": [{ "type": "text", "text": BECAUSE }] });
    let result = ("tool/result", json!({ "message": { "role": "user", "content": [block] } }));
    let view = last_view_of("userQuestions", &header_of(3), &[timed_header(), asked("c", WHY), result]);
    assert_eq!(view["settled"][0]["answers"], json!([{ "id": "q", "selected": ["A"] }]));
}

#[test]
fn a_lone_surrogate_in_the_arguments_is_no_fault_unless_it_is_escaped() {
    let ask = |arguments: &str| {
        let registry = units::all().only(&["userQuestions"]).unwrap();
        let mut fold = Fold::new(&registry, &header_of(4));
        let (kind, data) = timed_header();
        fold.apply(&event(&json!({ "type": kind, "seq": 0, "time": 1, "data": data }).to_string()));
        let data = format!(r#"{{"callId":"c","name":"ask_user_question","arguments":"{arguments}"}}"#);
        fold.apply(&event(&format!(r#"{{"type":"tool/call","seq":1,"time":1,"data":{data}}}"#)));
        shown(&fold.finish().unwrap().snapshot().views[0].1)["active"].clone()
    };
    let question = |text: &str| format!(r#"{{\"questions\":[{{\"id\":\"q\",\"question\":\"{text}\"}}]}}"#);
    let shown = ask(&question(r"a\ud800"));
    assert_eq!(shown[0]["questions"][0]["question"], "a<U+D800>");
    assert_eq!(ask(&question(r"\\\\\ud800"))[0]["questions"][0]["question"], r"\<U+D800>");
    assert_eq!(ask(&question(r"\\\ud800")), json!([]));
}

#[test]
fn what_a_fork_inherited_is_not_its_own() {
    let child = json!({ "version": 0, "childId": "c", "childCreatedAt": 5, "mode": "one-shot" });
    let entry = || ("subagent/catalog", child.clone());
    let marker = |data| ("session/end-seed", data);
    let marked = Header { seed: Seed::Marked, ..header_of(4) };
    let catalog = |header: &Header, events: &[(&str, Value)]| {
        last_view_of("subagentCatalog", header, events).as_array().unwrap().len()
    };
    assert_eq!(catalog(&marked, &[entry(), marker(json!({})), entry()]), 2);
    assert_eq!(catalog(&marked, &[entry(), marker(json!({ "inherited": true })), entry()]), 1);
    let counted = Header { seed: Seed::Length(2), ..header_of(0) };
    assert_eq!(catalog(&counted, &[entry(), entry(), entry()]), 1);

    let questions = |events: &[(&str, Value)]| last_view_of("userQuestions", &marked, events)["active"].clone();
    let inherited = || marker(json!({ "inherited": true }));
    assert_eq!(questions(&[timed_header(), asked("c", WHY), inherited()]), json!([]));
    assert_eq!(questions(&[timed_header(), inherited(), asked("c", WHY)]), json!([]));
}

#[test]
fn an_entry_of_another_shape_is_no_child() {
    let entry = |entry: Value| last_view_of("subagentCatalog", &header_of(4), &[("subagent/catalog", entry)]);
    let none = json!([]);
    assert_eq!(entry(json!({ "version": 0, "childId": "c", "childCreatedAt": 5, "mode": "continuable" })), none);
    assert_eq!(entry(json!({ "version": 1, "childId": "c", "childCreatedAt": 5, "mode": "external" })), none);
    assert_eq!(entry(json!({ "version": 0, "childId": "c", "childCreatedAt": -5, "mode": "one-shot" })), none);
    assert_eq!(entry(json!({ "version": 0, "childId": "c", "childCreatedAt": 5, "mode": "one-shot", "x": 1 })), none);
}

#[test]
fn a_v0_log_may_be_of_either_dsh_that_described_sub_agents() {
    let descriptor =
        |version: u64| ("subagent/descriptor", json!({ "version": version, "mode": "one-shot", "provider": "spawn" }));
    let seq = |header: &Header, events: &[(&str, Value)]| last_view_of("subagent", header, events)["seq"].clone();
    assert_eq!(seq(&header_of(0), &[descriptor(3)]), 0);
    assert_eq!(seq(&header_of(0), &[descriptor(2)]), 0);
    assert_eq!(seq(&header_of(0), &[descriptor(2), descriptor(3)]), Value::Null);
    assert_eq!(seq(&header_of(2), &[descriptor(2)]), Value::Null);
    // What was inherited may be of an older dsh.
    let fork = Header { seed: Seed::Length(1), ..header_of(0) };
    assert_eq!(seq(&fork, &[descriptor(2)]), 0);
    assert_eq!(seq(&fork, &[descriptor(2), descriptor(3)]), 1);
}

#[test]
fn a_preset_has_its_present_name() {
    let selected = |preset: Value| ("agent-preset/selected", json!({ "agentPreset": preset }));
    let last = |header: &Header, preset: Value| last_view_of("agentPreset", header, &[selected(preset)]);
    let named = Header { agent_preset: Some(JsStr::from("code")), ..header_of(2) };
    assert_eq!(last(&named, json!(7)), "ptc");
    assert_eq!(last(&named, Value::Null), Value::Null);
    assert_eq!(last(&named, json!("code")), "ptc");
    assert_eq!(last(&Header { version: 3, ..named }, json!("code")), "code");
}

#[test]
fn a_splice_that_cannot_be_is_none() {
    let splice = |target: &str, start: i64, removed: u64, ids: &[&str]| {
        let inserted: Vec<Value> = ids.iter().map(|id| json!({ "id": id })).collect();
        let data = json!({ "target": target, "start": start, "removedCount": removed, "inserted": inserted });
        ("agent/inbox/spliced", data)
    };
    let first = || splice("next-turn", 0, 0, &["a", "b"]);
    let waiting = json!({ "next-turn": [{ "id": "a" }, { "id": "b" }], "next-step": [] });
    for impossible in [
        splice("next-step", 0, 0, &["a"]),
        splice("next-step", 0, 0, &["c", "c"]),
        splice("next-step", 1, 0, &[]),
        splice("next-turn", 1, 2, &[]),
        splice("next-turn", -1, 0, &[]),
        splice("toString", 0, 0, &[]),
        splice("next-turn", 1, u64::MAX, &[]),
    ] {
        assert_eq!(last_view_of("inbox", &header_of(4), &[first(), impossible]), waiting);
    }
    let again =
        [first(), splice("next-turn", 0, 1, &["a"]), splice("next-turn", 0, 1, &[]), splice("next-step", 0, 0, &["a"])];
    let expected = json!({ "next-turn": [{ "id": "b" }], "next-step": [{ "id": "a" }] });
    assert_eq!(last_view_of("inbox", &header_of(4), &again), expected);
}

#[test]
fn a_list_with_an_odd_item_leaves_the_one_before() {
    let write = |todos: Value| ("todo/write", json!({ "todos": todos }));
    let good = json!([{ "content": "a", "status": "pending" }]);
    let after = |todos| last_view_of("todos", &header_of(4), &[write(good.clone()), write(todos)]);
    assert_eq!(
        after(json!([{ "content": "b", "status": "completed", "x": 1 }])),
        json!([{ "content": "b", "status": "completed" }])
    );
    assert_eq!(after(json!([{ "content": "b", "status": "odd" }])), good);
    assert_eq!(after(json!("b")), good);
    assert_eq!(after(Value::Null), Value::Null);
}

/// A change of the goal `g`: operation, revision, phase, greatest number of rounds, rounds started, time.
fn goal_change(operation: &str, revision: u64, phase: &str, rounds: [u64; 2], at: u64) -> (&'static str, Value) {
    let [max, started] = rounds;
    let mut goal =
        json!({ "id": "g", "revision": revision, "objective": "Ship", "phase": phase, "maxGoalRounds": max });
    if phase == "blocked" {
        goal["blockedReason"] = json!({ "code": "need-input", "message": "Ask" });
    }
    let data = json!({
        "kind": "goal/change", "version": 1, "operation": operation, "goal": goal,
        "roundsStarted": started, "createdAt": 10, "updatedAt": at,
    });
    ("goal/change", data)
}

#[test]
fn a_goal_changes_only_as_it_may() {
    let create = || goal_change("create", 1, "active", [2, 0], 10);
    let pause = || goal_change("pause", 2, "paused", [2, 0], 20);
    let round = |round: u64| {
        let source = json!({ "kind": "goal", "goalId": "g", "revision": 1, "round": round });
        ("user/message", json!({ "role": "user", "content": [], "source": source }))
    };
    let clear = |revision: u64, at: u64| {
        let cleared = json!({ "id": "g", "revision": revision });
        let data =
            json!({ "kind": "goal/change", "version": 1, "operation": "clear", "cleared": cleared, "clearedAt": at });
        ("goal/change", data)
    };
    let refused: [&[(&str, Value)]; 13] = [
        &[create(), create()],
        &[create(), goal_change("edit", 2, "paused", [2, 0], 20)],
        &[create(), goal_change("pause", 2, "active", [2, 0], 20)],
        &[create(), goal_change("pause", 2, "paused", [3, 0], 20)],
        &[create(), goal_change("pause", 2, "paused", [2, 1], 20)],
        &[create(), goal_change("pause", 2, "paused", [2, 0], 9)],
        &[create(), goal_change("pause", 3, "paused", [2, 0], 20)],
        &[create(), pause(), goal_change("block", 3, "blocked", [2, 0], 30)],
        &[
            create(),
            goal_change("complete", 2, "complete", [2, 0], 20),
            goal_change("complete", 3, "complete", [2, 0], 30),
        ],
        &[create(), round(1), round(2), goal_change("resume", 2, "active", [2, 2], 20)],
        &[create(), round(2)],
        &[create(), clear(1, 20)],
        &[create(), clear(2, 9)],
    ];
    for events in refused {
        let events = [events, &[clear(2, 40)]].concat();
        let views = views_of("goal", &header_of(4), &events);
        let [.., before, after, at_end] = &views[..] else { panic!("too few events") };
        assert_eq!((after, at_end), (before, before), "{events:?}");
    }
    let cleared = last_view_of("goal", &header_of(4), &[create(), pause(), clear(3, 20)]);
    assert_eq!(cleared, Value::Null);
}
