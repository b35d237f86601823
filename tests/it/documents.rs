//! The shape of every JSON document, to the last member: each is read into a type that knows no other
//! members than these and misses none. A change here is a change of the contract.

use crate::support::{Outcome, Sandbox, turn, write_log};
use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;

/// A member that must be there and may be null. (An `Option` alone may also be left out.)
pub(crate) fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    Option::deserialize(deserializer)
}

macro_rules! mirror {
    ($($(#[$outer:meta])* $name:ident { $($(#[$inner:meta])* $field:ident: $type:ty,)* })*) => {$(
        $(#[$outer])*
        #[derive(Debug, Deserialize)]
        #[serde(rename_all = "camelCase", deny_unknown_fields)]
        #[expect(dead_code, reason = "what matters is that it can be read")]
        struct $name { $($(#[$inner])* $field: $type,)* }
    )*};
}
pub(crate) use mirror;

mirror! {
    List { schema: String, sessions: Vec<Session>, problems: Vec<Problem>, }
    LongList { schema: String, sessions: Vec<LongSession>, problems: Vec<Problem>, }
    Session {
        session_id: String,
        #[serde(deserialize_with = "present")] cwd: Option<String>,
        created_at: u64,
        #[serde(deserialize_with = "present")] parent_session: Option<String>,
        #[serde(deserialize_with = "present")] origin: Option<Origin>,
        #[serde(deserialize_with = "present")] delegation_depth: Option<u64>,
        #[serde(deserialize_with = "present")] agent_preset: Option<String>,
        is_seeded: bool,
        #[serde(deserialize_with = "present")] seed_length: Option<u64>,
        format_version: u64,
        generations: Vec<u64>,
        encoding: Encoding,
        path: String,
        #[serde(deserialize_with = "present")] bytes: Option<u64>,
        #[serde(deserialize_with = "present")] live: Option<bool>,
        persisted: bool,
        cwd_exists: Option<bool>,
    }
    LongSession {
        session_id: String,
        #[serde(deserialize_with = "present")] cwd: Option<String>,
        created_at: u64,
        #[serde(deserialize_with = "present")] parent_session: Option<String>,
        #[serde(deserialize_with = "present")] origin: Option<Origin>,
        #[serde(deserialize_with = "present")] delegation_depth: Option<u64>,
        #[serde(deserialize_with = "present")] agent_preset: Option<String>,
        is_seeded: bool,
        #[serde(deserialize_with = "present")] seed_length: Option<u64>,
        format_version: u64,
        generations: Vec<u64>,
        encoding: Encoding,
        path: String,
        #[serde(deserialize_with = "present")] bytes: Option<u64>,
        #[serde(deserialize_with = "present")] live: Option<bool>,
        persisted: bool,
        #[serde(deserialize_with = "present")] title: Option<String>,
        #[serde(deserialize_with = "present")] title_source: Option<String>,
        #[serde(deserialize_with = "present")] turns: Option<u64>,
        #[serde(deserialize_with = "present")] tokens: Option<u64>,
        #[serde(deserialize_with = "present")] last_prompt_at: Option<i64>,
        #[serde(deserialize_with = "present")] last_activity_at: Option<i64>,
        #[serde(deserialize_with = "present")] end_state: Option<String>,
        health: String,
        cwd_exists: Option<bool>,
        error: Option<Failure>,
    }
    Problem {
        kind: String,
        path: String,
        session_id: Option<String>,
        byte: Option<u64>,
        line: Option<u64>,
        seq: Option<u64>,
        message: String,
    }
    Show {
        schema: String,
        session: Session,
        #[serde(deserialize_with = "present")] captured_through_seq: Option<u64>,
        messages: Vec<Message>,
        warnings: Vec<Problem>,
    }
    Message {
        seq: u64,
        time: i64,
        #[serde(deserialize_with = "present")] turn: Option<u64>,
        role: Role,
        kind: String,
        #[serde(deserialize_with = "present")] message_id: Option<String>,
        surface: Surface,
        text: String,
        tool_calls: Option<Vec<ToolCall>>,
        tool_call_id: Option<String>,
        interrupted: Option<bool>,
        synthetic: Option<bool>,
    }
    ToolCall { id: String, name: String, arguments: String, }
    Events { schema: String, session: Session, events: Vec<Event>, }
    Event {
        session_id: String,
        seq: u64,
        #[serde(rename = "type")] kind: String,
        time: i64,
        surface: Surface,
        synthetic: Option<bool>,
        event: Option<Value>,
    }
    Window {
        schema: String,
        session: Session,
        target: Event,
        events: Vec<Event>,
        start_seq: u64,
        end_seq: u64,
    }
    Check { schema: String, sessions: Vec<Checked>, problems: Vec<Problem>, dsh_lists: bool, }
    Checked {
        session_id: String,
        path: String,
        verdict: Verdict,
        #[serde(deserialize_with = "present")] stored_events: Option<u64>,
        #[serde(deserialize_with = "present")] logical_events: Option<u64>,
        #[serde(deserialize_with = "present")] open_turn: Option<u64>,
        dangling_calls: Vec<String>,
        problems: Vec<Problem>,
    }
    Latest { schema: String, #[serde(deserialize_with = "present")] session: Option<Session>, }
    Status {
        schema: String,
        session: Session,
        state: String,
        completed: bool,
        #[serde(deserialize_with = "present")] reason: Option<Value>,
        #[serde(deserialize_with = "present")] error_code: Option<String>,
        turns: u64,
        #[serde(deserialize_with = "present")] open_turn: Option<u64>,
        #[serde(deserialize_with = "present")] open_step: Option<u64>,
        pending: u64,
        #[serde(deserialize_with = "present")] live: Option<bool>,
        #[serde(deserialize_with = "present")] last_seq: Option<u64>,
        #[serde(deserialize_with = "present")] last_time: Option<i64>,
    }
    Trace {
        schema: String,
        target: Session,
        ancestors: Vec<Session>,
        descendants: Vec<Descendant>,
        complete: bool,
        root: Option<Session>,
        unresolved_parent_id: Option<String>,
    }
    Descendant { session: Session, descendants: Vec<Descendant>, }
    EventTrace {
        schema: String,
        session: Session,
        target: Event,
        replaced_by: Option<u64>,
        replacement_chain: Vec<u64>,
        replaced_event_seqs: Vec<u64>,
        source_event_seqs: Vec<u64>,
        derived_event_seqs: Vec<u64>,
    }
    Search { schema: String, items: Vec<SessionHit>, next_cursor: Option<String>, notes: Vec<Problem>, }
    SearchSession {
        schema: String,
        session: Session,
        items: Vec<Hit>,
        next_cursor: Option<String>,
        notes: Vec<Problem>,
    }
    SessionHit { session: Session, best_match: Hit, }
    Hit {
        seq: u64,
        #[serde(rename = "type")] kind: String,
        time: i64,
        surface: Surface,
        snippet: String,
        matches: Vec<Span>,
    }
    Span { start: u64, end: u64, }
    Usage {
        schema: String,
        by: String,
        includes_inherited: bool,
        rows: Vec<UsageRow>,
        total: UsageSums,
        notes: Vec<Problem>,
    }
    UsageRow {
        #[serde(deserialize_with = "present")] key: Option<String>,
        session_id: Option<String>,
        turn: Option<u64>,
        provider: Option<String>,
        model: Option<String>,
        sessions: u64,
        turns: u64,
        steps: u64,
        #[serde(deserialize_with = "present")] input_tokens: Option<u64>,
        #[serde(deserialize_with = "present")] output_tokens: Option<u64>,
        #[serde(deserialize_with = "present")] cache_read_tokens: Option<u64>,
        #[serde(deserialize_with = "present")] cache_write_tokens: Option<u64>,
        #[serde(deserialize_with = "present")] reasoning_tokens: Option<u64>,
        #[serde(deserialize_with = "present")] total_tokens: Option<u64>,
        complete: bool,
    }
    UsageSums {
        sessions: u64,
        turns: u64,
        steps: u64,
        #[serde(deserialize_with = "present")] input_tokens: Option<u64>,
        #[serde(deserialize_with = "present")] output_tokens: Option<u64>,
        #[serde(deserialize_with = "present")] cache_read_tokens: Option<u64>,
        #[serde(deserialize_with = "present")] cache_write_tokens: Option<u64>,
        #[serde(deserialize_with = "present")] reasoning_tokens: Option<u64>,
        #[serde(deserialize_with = "present")] total_tokens: Option<u64>,
        complete: bool,
    }
    Projections {
        schema: String,
        session: Session,
        #[serde(deserialize_with = "present")] as_of_seq: Option<i64>,
        #[serde(deserialize_with = "present")] values: Option<BTreeMap<String, Value>>,
        units: Option<BTreeMap<String, ProjectionUnit>>,
    }
    ProjectionUnit { ver: u32, seq: i64, state: Value, view: Value, }
    Paths { schema: String, paths: Vec<PathOf>, }
    PathOf { session_id: String, path: String, }
    Prepared { schema: String, content: Vec<Text>, additional_context: Option<Context>, report: Vec<Report>, }
    Text { #[serde(rename = "type")] kind: String, text: String, }
    Context { role: String, content: Vec<Text>, source: Source, }
    Source { kind: String, form: String, version: u64, references: Vec<Reference>, }
    Reference {
        session_id: String,
        label: String,
        captured_format_version: Option<u64>,
        #[serde(deserialize_with = "present")] captured_through_seq: Option<u64>,
        compacted: bool,
        original_messages: u64,
        retained_messages: u64,
        omitted_messages: u64,
        omitted_bytes: u64,
        truncated: bool,
        input_index: u64,
    }
    Report {
        session_id: String,
        label: String,
        #[serde(deserialize_with = "present")] cwd: Option<String>,
        bytes: u64,
        max_bytes: u64,
        original_messages: u64,
        retained_messages: u64,
        omitted_messages: u64,
        omitted_bytes: u64,
        truncated: bool,
        full_snapshot: Option<FullSnapshot>,
    }
    Candidates { schema: String, candidates: Vec<Candidate>, }
    Candidate {
        session_id: String,
        label: String,
        display_title: Option<String>,
        cwd: Option<String>,
        same_workspace: bool,
        created_at: u64,
        mention: String,
    }
    Expanded {
        schema: String,
        session_id: String,
        label: String,
        #[serde(deserialize_with = "present")] cwd: Option<String>,
        #[serde(deserialize_with = "present")] captured_through_seq: Option<u64>,
        captured_format_version: Option<u64>,
        messages: Vec<ExpandedMessage>,
    }
    ExpandedMessage { role: String, text: String, }
    Explanation { schema: String, budget: Budget, sources: Vec<ExplainedSource>, }
    Budget {
        max_bytes: u64,
        origin: BudgetOrigin,
        #[serde(deserialize_with = "present")] context_window: Option<u64>,
        #[serde(deserialize_with = "present")] fraction: Option<f64>,
    }
    ExplainedSource {
        session_id: String,
        label: String,
        #[serde(deserialize_with = "present")] cwd: Option<String>,
        bytes: u64,
        truncated: bool,
        other_events: u64,
        messages: Vec<ExplainedMessage>,
    }
    ExplainedMessage {
        seq: u64,
        role: String,
        checkpoint: bool,
        bytes: u64,
        kept_bytes: u64,
        fate: Fate,
        why: Why,
    }
    Encoded { schema: String, uris: Vec<Uri>, }
    Decoded { schema: String, sessions: Vec<Uri>, }
    Uri { session_id: String, uri: String, }
    Mentions { schema: String, mentions: Vec<Mention>, }
    Mention { session_id: String, label: String, mention: String, }
    Parsed { schema: String, text: String, references: Vec<Mentioned>, }
    Mentioned { session_id: String, label: String, uri: String, }
    Failed { error: Failure, }
    Failure {
        code: String,
        message: String,
        hint: Option<String>,
        kind: Option<String>,
        path: Option<String>,
        session_id: Option<String>,
        byte: Option<u64>,
        line: Option<u64>,
        seq: Option<u64>,
        candidates: Option<Vec<String>>,
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Origin {
    Subagent,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum BudgetOrigin {
    MaxBytes,
    ContextWindow,
    Target,
    Default,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Fate {
    Kept,
    Cut,
    Dropped,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Why {
    Fits,
    Newer,
    Checkpoint,
    Newest,
    Longest,
    Oldest,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "status", rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
#[expect(dead_code, reason = "what matters is that it can be read")]
enum FullSnapshot {
    Saved { locator: String, bytes: u64, retrieval_hint: String },
    Unavailable { reason: String },
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Encoding {
    Plain,
    Zstd,
    Sqlite,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Role {
    User,
    Assistant,
    Tool,
    System,
    Developer,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Surface {
    Current,
    Shadowed,
    LogOnly,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Verdict {
    Ok,
    Recoverable,
    Damaged,
    Unsupported,
}

/// Reads what a run printed as one document of a shape.
#[track_caller]
pub(crate) fn read<T: DeserializeOwned>(outcome: &Outcome) -> T {
    serde_json::from_slice(&outcome.stdout).unwrap_or_else(|error| panic!("{error}\n{outcome}"))
}

/// Homes with compacted, interrupted, migrated, damaged and odd sessions.
fn homes() -> Vec<Sandbox> {
    let mut homes: Vec<Sandbox> =
        ["01", "03", "07", "10", "11"].iter().map(|case| Sandbox::with_data(&format!("cases/{case}"))).collect();
    let own = Sandbox::new();
    let header = json!({
        "type": "session", "version": 0, "id": "child", "createdAt": 1, "cwd": "/w", "delegationDepth": 1,
        "parentSession": "parent", "origin": "subagent", "agentPreset": "standard", "seedLength": 2,
    });
    write_log(&own, "--w--", &header, &turn("asks", "answers"));
    let mut rows = turn("asks", "answers");
    rows.insert(1, "no row".to_owned());
    let header = json!({"type": "session", "version": 0, "id": "damaged", "createdAt": 1, "delegationDepth": 0});
    write_log(&own, "_no-cwd", &header, &rows);
    own.plain_log("empty", &[]);
    fs::write(own.sessions().join("stray"), "").unwrap();
    homes.push(own);
    homes
}

#[test]
fn listings_and_checks() {
    for home in homes() {
        let list: List = read(&home.run(&["sessions", "list", "--json"]).success());
        let long: LongList = read(&home.run(&["sessions", "list", "--long", "--json"]).success());
        let check: Check = read(&home.run(&["sessions", "check", "--json"]));
        let paths: Paths = read(&home.run(&["sessions", "path", "--json"]).success());
        let counts = [long.sessions.len(), check.sessions.len(), paths.paths.len()];
        assert_eq!(counts, [list.sessions.len(); 3]);
        assert!(!list.sessions.is_empty());
        for by in ["session", "turn", "model", "day", "cwd"] {
            let usage: Usage = read(&home.run(&["sessions", "usage", "--by", by, "--json"]).success());
            assert!(by != "session" || !usage.rows.is_empty());
        }
    }
}

#[test]
fn sessions_and_events() {
    let mut read_whole = 0;
    for home in homes() {
        let paths: Paths = read(&home.run(&["sessions", "path", "--json"]).success());
        for PathOf { session_id: id, .. } in &paths.paths {
            for more in [&["--all"][..], &["--view", "surface", "--salvage"], &["--salvage"]] {
                let outcome = home.run(&[&["sessions", "show", "--json", "--id", id], more].concat());
                if outcome.status != Some(0) {
                    let _: Failed = serde_json::from_str(outcome.stderr.lines().last().unwrap()).unwrap();
                    continue;
                }
                read_whole += 1;
                let _: Show = read(&outcome);
            }
            if home.run(&["sessions", "show", "--json", "--id", id]).status != Some(0) {
                continue;
            }
            let events: Events = read(&home.run(&["sessions", "events", "--json", "--id", id]).success());
            let full: Events = read(&home.run(&["sessions", "events", "--full", "--json", "--id", id]).success());
            assert!(events.events.iter().all(|event| event.event.is_none()));
            assert!(full.events.iter().all(|event| event.event.is_some()));
            if let Some(event) = events.events.last() {
                let seq = event.seq.to_string();
                let window = ["sessions", "event", "--json", "--before", "50", "--id", id, &seq];
                let _: Window = read(&home.run(&window).success());
                let trace = home.run(&["sessions", "trace", "--json", id, &seq]).success();
                let _: EventTrace = read(&trace);
            }
        }
    }
    assert!(read_whole > 20, "only {read_whole} documents");
}

#[test]
fn how_sessions_stand_and_where_they_come_from() {
    for home in homes() {
        let paths: Paths = read(&home.run(&["sessions", "path", "--json"]).success());
        let mut traced = 0;
        for PathOf { session_id: id, .. } in &paths.paths {
            let trace = home.run(&["sessions", "trace", "--json", "--id", id]);
            if trace.status == Some(0) {
                let _: Trace = read(&trace);
                traced += 1;
            }
            let status = home.run(&["sessions", "status", "--json", "--id", id]);
            if status.status == Some(0) {
                let _: Status = read(&status);
            }
        }
        assert!(traced > 0, "{traced}");
        let latest: Latest = read(&home.run(&["sessions", "latest", "--json"]).success());
        assert!(latest.session.is_some());
    }
    let none: Latest = read(&Sandbox::new().run(&["sessions", "latest", "--json"]).exits(1));
    assert!(none.session.is_none());
}

#[test]
fn what_is_derived() {
    let mut derived = 0;
    for home in homes() {
        let paths: Paths = read(&home.run(&["sessions", "path", "--json"]).success());
        for PathOf { session_id: id, .. } in &paths.paths {
            let unknown: Projections =
                read(&home.run(&["sessions", "projections", "--cached", "--json", "--id", id]).success());
            assert!(unknown.values.is_none() && unknown.as_of_seq.is_none());
            let outcome = home.run(&["sessions", "projections", "--state", "--json", "--id", id]);
            if outcome.status != Some(0) {
                continue;
            }
            derived += 1;
            let whole: Projections = read(&outcome);
            let (values, units) = (whole.values.unwrap(), whole.units.unwrap());
            assert!(values.iter().all(|(key, view)| units[key].view == *view && units[key].ver > 0));
            assert!(units.values().all(|unit| Some(unit.seq) == whole.as_of_seq));
            let one: Projections =
                read(&home.run(&["sessions", "projections", "--json", "--id", id, "title"]).success());
            assert_eq!(
                one.values.unwrap().into_iter().collect::<Vec<_>>(),
                [("title".to_owned(), values["title"].clone())]
            );
            assert!(one.units.is_none());
        }
    }
    assert!(derived > 5, "{derived}");
}

#[test]
fn hits() {
    let home = Sandbox::with_data("cases/11");
    let found: Search = read(&home.run(&["sessions", "search", "KEPT", "--json"]).success());
    assert_eq!(found.items.len(), 1);
    let within = ["sessions", "search", "KEPT", "--session", "latest", "--json"];
    let within: SearchSession = read(&home.run(&within).success());
    // Three messages hold the word.
    assert_eq!(within.items.len(), 3);
    let none: Search = read(&home.run(&["sessions", "search", "nowhere to be found", "--json"]).exits(1));
    assert!(none.items.is_empty());
}

#[test]
fn references() {
    for (case, count) in [("01", 2), ("03", 1), ("07", 1), ("10", 1), ("11", 1)] {
        let home = Sandbox::with_data(&format!("cases/{case}"));
        // The newest session of that home is of a generation that nobody knows.
        let names = if case == "03" { &["latest~1"][..] } else { &["latest", "latest~1"][..count] };
        let mut arguments = vec!["reference", "prepare", "Go on", "--json", "--max-bytes", "600"];
        for name in names {
            arguments.extend(["--reference", name]);
        }
        let prepared: Prepared = read(&home.run(&arguments).success());
        assert_eq!(
            (prepared.report.len(), prepared.additional_context.unwrap().source.references.len()),
            (count, count)
        );
    }
    let plain: Prepared = read(&Sandbox::new().run(&["reference", "prepare", "--json", "Go on"]).success());
    assert!(plain.additional_context.is_none());
}

#[test]
fn what_goes_with_references() {
    let home = Sandbox::with_data("cases/10");
    fs::create_dir(home.path("spill")).unwrap();
    let prepare = ["reference", "prepare", "Go on", "--json", "--max-bytes", "600", "--reference", "latest"];
    let prepared: Prepared = read(&home.run(&[&prepare[..], &["--spill", "spill"]].concat()).success());
    let Some(FullSnapshot::Saved { locator, .. }) = &prepared.report[0].full_snapshot else { panic!("{prepared:?}") };
    let expanded: Expanded = read(&home.run(&["reference", "expand", "--json", locator]).success());
    assert_eq!(expanded.messages.len(), 43);
    let prepared: Prepared = read(&home.run(&prepare).success());
    assert!(matches!(prepared.report[0].full_snapshot, Some(FullSnapshot::Unavailable { .. })));
    for limit in [&["--max-bytes", "600"][..], &["--context-window", "9"], &[]] {
        let explain = ["reference", "prepare", "Go on", "--json", "--explain", "--reference", "latest"];
        let explained: Explanation = read(&home.run(&[&explain[..], limit].concat()).success());
        assert_eq!(explained.sources[0].messages.len(), 43);
    }
    for case in ["01", "05", "07"] {
        let home = Sandbox::with_data(&format!("cases/{case}"));
        let found: Candidates = read(&home.run(&["reference", "candidates", "--json", "--target", "x"]).success());
        assert!(!found.candidates.is_empty());
    }
}

#[test]
fn the_format_version_is_told_of_all_generations_but_the_oldest() {
    let home = Sandbox::with_data("cases/03");
    let version = |more: &[&str], id: &str| {
        let arguments = [&["reference", "prepare", "Go on", "--json", "--reference", id], more].concat();
        let prepared: Prepared = read(&home.run(&arguments).success());
        prepared.additional_context.unwrap().source.references[0].captured_format_version
    };
    assert_eq!(version(&[], "session-new-C"), Some(3));
    assert_eq!(version(&[], "session-oldonly-B"), None);
    assert_eq!(version(&["--compat", "dsh-0.1"], "session-new-C"), None);
}

#[test]
fn identifiers() {
    let sandbox = Sandbox::new();
    let encoded: Encoded = read(&sandbox.run(&["uri", "encode", "a", "b", "--json"]).success());
    assert_eq!(encoded.uris.len(), 2);
    let decoded: Decoded = read(&sandbox.run(&["uri", "decode", "dsh-session:ImEi", "--json"]).success());
    assert_eq!(decoded.sessions.len(), 1);
    let mentions: Mentions = read(&sandbox.run(&["uri", "mention", "a", "--json"]).success());
    assert_eq!(mentions.mentions.len(), 1);
    let parsed: Parsed = read(&sandbox.run(&["uri", "parse", "@[b](dsh-session:ImEi)", "--json"]).success());
    assert_eq!(parsed.references.len(), 1);
}

#[test]
fn a_mirror_misses_no_member_and_takes_no_other() {
    let whole = json!({"sessionId": "a", "uri": "b"});
    assert!(serde_json::from_value::<Uri>(whole.clone()).is_ok());
    for (key, value) in [("sessionId", None), ("more", Some(json!(1)))] {
        let mut changed = whole.clone();
        match value {
            Some(value) => changed[key] = value,
            None => changed.as_object_mut().unwrap().remove(key).map(drop).unwrap(),
        }
        assert!(serde_json::from_value::<Uri>(changed).is_err(), "{key}");
    }
    let report = json!({
        "sessionId": "a", "label": "a", "cwd": null, "bytes": 1, "maxBytes": 1, "originalMessages": 0,
        "retainedMessages": 0, "omittedMessages": 0, "omittedBytes": 0, "truncated": false,
    });
    assert!(serde_json::from_value::<Report>(report.clone()).is_ok());
    let mut without = report;
    without.as_object_mut().unwrap().remove("cwd").unwrap();
    assert!(serde_json::from_value::<Report>(without).is_err(), "null is not the same as nothing");
}
