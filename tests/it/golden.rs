//! Values that dsh's own functions computed.

use crate::support::{
    Differences, ReadLog, Sandbox, compact, digest, read_json, record_of, run_in_store, sha256, shared,
};
use dshkit::corpus::Corpus;
use dshkit::generations::{decode_seq_ranges, encode_seq_ranges};
use dshkit::model::collation::LocaleOrder;
use dshkit::model::event::{Envelope, Event, SurfaceOp};
use dshkit::model::js_string::{JsStr, JsString};
use dshkit::model::json::parse;
use dshkit::model::surface::{Placement, Rules, Surface, SurfaceFold};
use dshkit::model::{header::Seed, mention};
use dshkit::stores::jsonl::layout::{decode_segment, encode_segment, project_key};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The cases of one function: one list where all versions agree, else one a version.
fn lists<'t>(text: &'t Value, function: &str) -> Vec<(String, &'t Value)> {
    let function = &text[function];
    if function["sameInAllVersions"] == true {
        return vec![("all".to_owned(), &function["cases"])];
    }
    let versions = ["v0", "v3", "v4"].into_iter();
    versions.filter(|version| function[version].is_array()).map(|v| (v.to_owned(), &function[v])).collect()
}

fn text_json() -> Option<Value> {
    Some(read_json(&shared("golden/text.json")?))
}

/// A string of the golden files, where `<U+D83D>` stands for that lone surrogate.
fn js(text: &str) -> JsString {
    let mut out = JsString::default();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("<U+") {
        out.push_str(before);
        let (hex, after) = after.split_once('>').unwrap();
        out.push_unit(u16::from_str_radix(hex, 16).unwrap());
        rest = after;
    }
    out.push_str(rest);
    out
}

#[test]
fn sessions_lie_where_dsh_locates_them() {
    let Some(text) = text_json() else { return };
    let mut differences = Differences::default();
    for (version, cases) in lists(&text, "locateById") {
        for case in cases.as_array().unwrap() {
            let id = js(case["id"].as_str().unwrap());
            let expected = case["ok"]["path"].as_str().map(|path| path.split('/').nth_back(1).unwrap().to_owned());
            let segment = encode_segment(&id);
            differences.compare(format!("{version} {id:?}"), &segment, &expected);
            let decoded = expected.as_deref().and_then(decode_segment);
            differences.compare(
                format!("{version} {id:?}: back"),
                decoded.is_some_and(|back| back == id),
                segment.is_some(),
            );
        }
    }
    for (version, cases) in lists(&text, "locateByCwd") {
        for case in cases.as_array().unwrap() {
            let cwd = js(case["cwd"].as_str().unwrap());
            let expected = case["ok"]["path"].as_str().map(|path| path.split('/').nth(1).unwrap().to_owned());
            differences.compare(format!("{version} {cwd:?}"), project_key(Some(&cwd)), expected);
        }
    }
    differences.none_of_at_least(150);
}

#[test]
fn lists_of_seqs_are_written_and_read_as_by_dsh() {
    let Some(text) = text_json() else { return };
    let mut differences = Differences::default();
    let decode = |value: &Value| decode_seq_ranges(parse(&value.to_string()).unwrap(), 1000).ok();
    for (_, cases) in lists(&text, "encodeSeqRanges") {
        for case in cases.as_array().unwrap() {
            let seqs: Vec<u64> = serde_json::from_value(case["seqs"].clone()).unwrap();
            let encoded = &case["encoded"]["ok"];
            differences.compare(encoded, encode_seq_ranges(&seqs), encoded.to_string());
            differences.compare(encoded, json!(decode(encoded)), &case["decoded"]["ok"]);
        }
    }
    for (_, cases) in lists(&text, "decodeSeqRanges") {
        for case in cases.as_array().unwrap() {
            // The one dsh was not asked holds a milliard numbers; that must not be tried.
            let expected = case.get("ok").cloned().unwrap_or(Value::Null);
            differences.compare(&case["value"], json!(decode(&case["value"])), expected);
        }
    }
    differences.none_of_at_least(36);
}

/// Cases of `foldSurface` that break rules of the rows, which here are looked at before the fold.
const RULES_OF_ROWS: [&str; 9] = [
    "citesEmpty",
    "replaceExtraField",
    "badOp",
    "noOp",
    "citesLater",
    "citesSelf",
    "citesTwice",
    "opOnLogEvent",
    "gap",
];

#[test]
fn surfaces_fold_as_in_dsh() {
    let Some(text) = text_json() else { return };
    let mut differences = Differences::default();
    for (version, cases) in lists(&text, "foldSurface") {
        let rules = if version == "v0" { Rules::WithoutHead } else { Rules::WithHead };
        for case in cases.as_array().unwrap() {
            let label = case["label"].as_str().unwrap();
            if RULES_OF_ROWS.contains(&label) || label == "citesNegative" {
                continue;
            }
            let folded = fold(rules, case["events"].as_array().unwrap()).map(|surface| surface_json(&surface));
            differences.compare(format!("{version} {label}"), folded, case["result"].get("ok").cloned());
        }
    }
    differences.none_of_at_least(45);
}

fn fold(rules: Rules, events: &[Value]) -> Option<Surface> {
    let mut fold = SurfaceFold::new(rules);
    for event in events {
        let seq = |value: &Value| value.as_u64();
        let op = &event["surfaceOp"];
        let surface_op = if op == "append" {
            Some(SurfaceOp::Append)
        } else if op.is_null() {
            None
        } else {
            let end = |key: &str, newer: &str| seq(op.get(key).unwrap_or(&op[newer]));
            Some(SurfaceOp::Replace { start: end("start", "startSeq")?, end: end("end", "endSeq")? })
        };
        let sources = event["sourceEventSeqs"].as_array().map(|seqs| seqs.iter().filter_map(seq).collect());
        let envelope = Envelope {
            seq: seq(&event["seq"]).unwrap(),
            time: 0,
            kind: JsStr::from(event["type"].as_str().unwrap()),
            surface_op,
            source_event_seqs: sources,
            ignorable: false,
        };
        fold.apply(&Event::from_text(envelope, r#"{"data":{}}"#.to_owned())).ok()?;
    }
    Some(fold.into_surface())
}

fn surface_json(surface: &Surface) -> Value {
    let replacements: Vec<Value> = surface
        .replacements
        .iter()
        .map(|r| json!({"seq": r.seq, "start": r.range.0, "end": r.range.1, "shadowedSeqs": r.removed}))
        .collect();
    json!({"nodes": surface.nodes, "replacements": replacements})
}

#[test]
fn packed_rows_unpack_to_the_events_dsh_packed() {
    #[derive(Deserialize)]
    struct Case {
        label: String,
        rows: Rows,
        unpacked: Rows,
    }
    #[derive(Deserialize)]
    struct Rows {
        ok: Vec<Box<RawValue>>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Functions {
        pack_chunk_runs: Versions,
    }
    #[derive(Deserialize)]
    struct Versions {
        v0: Vec<Case>,
    }
    let Some(path) = shared("golden/text.json") else { return };
    let functions: Functions = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    let mut differences = Differences::default();
    let lines = |rows: &Rows| rows.ok.iter().map(|row| compact(row.get())).collect::<Vec<String>>();
    for case in &functions.pack_chunk_runs.v0 {
        let sandbox = Sandbox::new();
        let rows = lines(&case.rows);
        sandbox.plain_log("packed", &rows.iter().map(String::as_str).collect::<Vec<_>>());
        let corpus = Corpus::at(&sandbox.sessions());
        let catalog = corpus.catalog().unwrap();
        match ReadLog::of(&corpus, &catalog.records[0]) {
            Ok(log) => {
                let events: Vec<&String> = log.events.iter().map(|event| &event.json).collect();
                differences.compare(&case.label, events, lines(&case.unpacked).iter().collect::<Vec<_>>());
            }
            Err(message) => differences.wrong(format!("{}: {message}", case.label)),
        }
    }
    differences.none_of_at_least(6);
}

#[test]
fn mentions_are_found_and_written_as_by_dsh() {
    let Some(text) = text_json() else { return };
    let mut differences = Differences::default();
    for case in text["parseSessionReferenceText"]["cases"].as_array().unwrap() {
        let input = case["text"].as_str().unwrap();
        let parsed = mention::parse(&JsStr::from(input)).ok().map(|(readable, mentions)| {
            let references: Vec<Value> = mentions
                .iter()
                .map(|m| json!({"sessionId": m.session_id.to_str().unwrap(), "label": m.label.to_str().unwrap()}))
                .collect();
            json!({"text": readable.to_str().unwrap(), "references": references})
        });
        differences.compare(input, parsed, case["result"].get("ok").cloned());
    }
    for case in text["formatSessionReferenceMention"]["cases"].as_array().unwrap() {
        let id = JsStr::from(case["sessionId"].as_str().unwrap());
        let label = case["label"].as_str().map_or(id.clone(), JsStr::from);
        let formatted = mention::format(&id, &label);
        differences.compare(format!("{id:?} {label:?}"), formatted.to_str(), case["result"]["ok"].as_str());
    }
    differences.none_of_at_least(31);
}

#[test]
fn strings_sort_as_in_dsh() {
    let Some(text) = text_json() else { return };
    let cases = &text["localeCompareOrder"]["cases"];
    let strings = |key: &str| -> Vec<JsString> {
        cases[key].as_array().unwrap().iter().map(|text| js(text.as_str().unwrap())).collect()
    };
    let order = LocaleOrder::new();
    // ICU orders ideographs outside the unified block U+4E00..U+9FFF by radical, our collator by code
    // point, after that block. No session id dsh makes holds one, so this one string may differ.
    let is_compared = |text: &JsString| *text != js("\u{20000}");
    let (mut sorted, mut expected) = (strings("input"), strings("sorted"));
    assert_eq!(sorted.iter().filter(|text| !is_compared(text)).count(), 1);
    sorted.retain(is_compared);
    expected.retain(is_compared);
    sorted.sort_by(|a, b| order.compare(a, b));
    assert_eq!(sorted, expected);
}

/// The golden files of the query service, and the store each is about.
pub(crate) fn queries() -> Vec<(String, PathBuf, Value)> {
    let (Some(golden), Some(corpora)) = (shared("golden"), shared("corpora")) else { return Vec::new() };
    let mut found = Vec::new();
    for entry in fs::read_dir(&golden).unwrap() {
        let file = entry.unwrap().file_name().into_string().unwrap();
        let Some(name) = file.strip_prefix("query-").and_then(|name| name.strip_suffix(".json")) else { continue };
        let store = match name.strip_prefix("synth-") {
            Some(synth) => golden.join("synth").join(synth),
            None => corpora.join(name),
        };
        found.push((name.to_owned(), store.join("sessions"), read_json(&golden.join(&file))));
    }
    found.sort_by(|a, b| a.0.cmp(&b.0));
    found
}

#[test]
fn the_query_service_lists_what_we_list() {
    let mut differences = Differences::default();
    let queries = queries();
    for (name, store, expected) in &queries {
        let catalog = Corpus::at(store).catalog().unwrap();
        let listed: Vec<Value> = catalog.records.iter().map(|record| header_json(&record.stored.header)).collect();
        let expected: Vec<Value> =
            expected["listSessions"].as_array().unwrap().iter().map(|session| session["header"].clone()).collect();
        differences.compare(name, listed, expected);
        differences.compare(name, catalog.dsh_lists, true);
    }
    differences.none_of_at_least(2 * queries.len());
}

/// A header with the keys dsh gives it.
fn header_json(header: &dshkit::model::header::Header) -> Value {
    let text = |text: &Option<JsString>| text.as_ref().map(|text| json!(text.to_str().unwrap()));
    let is_seeded = if header.version >= 2 { Some(json!(header.seed == Seed::Marked)) } else { None };
    let seed_length = if let Seed::Length(length) = header.seed { Some(json!(length)) } else { None };
    let facts = [
        ("version", Some(json!(header.version))),
        ("id", Some(json!(header.id.to_str().unwrap()))),
        ("createdAt", Some(json!(header.created_at))),
        ("cwd", text(&header.cwd)),
        ("parentSession", text(&header.parent_session)),
        ("isSeeded", is_seeded),
        ("seedLength", seed_length),
        ("origin", header.is_subagent.then(|| json!("subagent"))),
        ("delegationDepth", header.delegation_depth.map(|depth| json!(depth))),
        ("agentPreset", text(&header.agent_preset)),
    ];
    facts
        .into_iter()
        .filter_map(|(key, value)| Some((key.to_owned(), value?)))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

#[test]
fn the_query_service_reads_what_we_read() {
    let mut differences = Differences::default();
    let queries = queries();
    for (name, store, expected) in &queries {
        let corpus = Corpus::at(store);
        let catalog = corpus.catalog().unwrap();
        for (id, session) in expected["sessions"].as_object().unwrap() {
            let place = format!("{name} {id}");
            let record = record_of(&catalog, id).unwrap();
            match ReadLog::of(&corpus, record) {
                Ok(log) => compare_session(&mut differences, &place, &log, session),
                Err(message) => differences.wrong(format!("{place}: {message}")),
            }
        }
    }
    differences.none_of_at_least(60 * queries.len());
}

fn compare_session(differences: &mut Differences, place: &str, log: &ReadLog, expected: &Value) {
    let read = &expected["readSession"];
    differences.compare(format!("{place}: count"), json!(log.logical), &read["eventCount"]);
    differences.compare(format!("{place}: hash"), json!(log.logical_sha256()), &read["eventsSha256"]);
    if let Some(inherited) = read.get("inheritedEventCount") {
        differences.compare(format!("{place}: inherited"), json!(log.inherited), inherited);
    }
    let placements = log.surface.as_ref().unwrap().placements();
    let rows: Vec<Value> = log
        .events
        .iter()
        .map(|event| {
            let placement = placements.get(&event.seq).copied().unwrap_or(Placement::LogOnly);
            json!([event.seq, event.kind, placement.name()])
        })
        .collect();
    differences.compare(format!("{place}: events"), json!(rows), &expected["listEvents"]);
    for window in expected["readEvent"].as_array().unwrap() {
        let request = &window["request"];
        let (start, end) = (window["startSeq"].as_u64().unwrap(), window["endSeq"].as_u64().unwrap());
        let events = log.events.iter().filter(|event| (start..=end).contains(&event.seq));
        differences.compare(format!("{place} {request}"), json!(digest(events)), &window["eventsSha256"]);
        let target = log.events.iter().find(|event| Some(event.seq) == request["seq"].as_u64()).unwrap();
        differences.compare(
            format!("{place} {request}"),
            json!(sha256(target.json.as_bytes())),
            &window["targetSha256"],
        );
    }
}

#[test]
fn the_event_command_shows_the_windows_of_the_query_service() {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Window {
        target: Shown,
        events: Vec<Shown>,
        start_seq: u64,
        end_seq: u64,
    }
    #[derive(Deserialize)]
    struct Shown {
        event: Box<RawValue>,
    }
    let mut differences = Differences::default();
    let queries = queries();
    for (name, store, expected) in &queries {
        for (id, session) in expected["sessions"].as_object().unwrap() {
            let windows = session["readEvent"].as_array().unwrap().iter().rev();
            for expected in windows.filter(|window| window["request"]["before"].is_u64()).take(2) {
                let request = &expected["request"];
                let number = |key: &str| request[key].as_u64().unwrap_or(0).to_string();
                let (seq, before, after) = (number("seq"), number("before"), number("after"));
                let arguments =
                    ["sessions", "event", "--json", "--id", id, "--before", &before, "--after", &after, &seq];
                let outcome = run_in_store(Path::new(store), &arguments).success();
                let window: Window = serde_json::from_slice(&outcome.stdout).unwrap();
                let place = format!("{name} {id} {request}");
                let bounds = json!([window.start_seq, window.end_seq]);
                differences.compare(&place, bounds, json!([expected["startSeq"], expected["endSeq"]]));
                let lines: String = window.events.iter().flat_map(|shown| [shown.event.get(), "\n"]).collect();
                differences.compare(&place, json!(sha256(lines.as_bytes())), &expected["eventsSha256"]);
                let target = sha256(window.target.event.get().as_bytes());
                differences.compare(&place, json!(target), &expected["targetSha256"]);
            }
        }
    }
    differences.none_of_at_least(20 * queries.len());
}

#[test]
fn the_format_fixtures_read_as_the_released_codecs_read_them() {
    let Some(folder) = shared("format-fixtures") else { return };
    let expected = read_json(&folder.join("expected.json"));
    let mut differences = Differences::default();
    let files = BTreeMap::from([
        ("plain-v0", "plain-v0.session.jsonl"),
        ("plain-v0 zstd", "v0.session.jsonl.zstd"),
        ("fork-v0", "fork.session.jsonl"),
        ("fork-v0 zstd", "fork-v0.session.jsonl.zstd"),
        ("migrated-v2", "migrated.session.v2.jsonl"),
        ("migrated-v3", "migrated.session.v3.jsonl"),
        ("fork-v2", "fork.session.v2.jsonl"),
        ("fork-v3", "fork.session.v3.jsonl"),
    ]);
    for (name, file) in files {
        let expected = &expected[name.trim_end_matches(" zstd")];
        let sandbox = Sandbox::new();
        let log_name =
            file.split_once(".session").map_or("session.jsonl.zstd".to_owned(), |(_, end)| format!("session{end}"));
        let id = if name.starts_with("fork") { "fixture-2" } else { "fixture-1" };
        let directory = sandbox.sessions().join("--home-ann-my~0020proj--").join(id);
        fs::create_dir_all(&directory).unwrap();
        fs::copy(folder.join(file), directory.join(log_name)).unwrap();
        let corpus = Corpus::at(&sandbox.sessions());
        let catalog = corpus.catalog().unwrap();
        let log = match ReadLog::of(&corpus, &catalog.records[0]) {
            Ok(log) => log,
            Err(message) => {
                differences.wrong(format!("{name}: {message}"));
                continue;
            }
        };
        let got = [
            ("events", json!(log.stored)),
            ("surface", json!(log.surface.as_ref().map(|surface| &surface.nodes).ok())),
            ("cut", json!(log.inherited)),
            ("seedLength", json!(log.inherited)),
            ("idle", json!(log.stored == log.logical)),
        ];
        for (key, got) in got.into_iter().filter(|(key, _)| expected.get(*key).is_some()) {
            differences.compare(format!("{name}: {key}"), &got, &expected[key]);
        }
        let replacements = log.surface.iter().flat_map(|surface| &surface.replacements);
        let replacements: Vec<Value> =
            replacements.map(|replacement| json!({"seq": replacement.seq, "removed": replacement.removed})).collect();
        if let Some(expected) = expected.get("replacements") {
            differences.compare(format!("{name}: replacements"), json!(replacements), expected);
        }
    }
    differences.none_of_at_least(14);
}
