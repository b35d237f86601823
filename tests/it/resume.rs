//! What was written, judged by the real dsh: it resumes the session, and the next request to the model
//! holds each message once and in its place.
//!
//! `DSHKIT_ORACLE` names the oracle directory; without it these tests are skipped. A run of dsh takes some
//! seconds.

#![expect(clippy::print_stderr, reason = "a skipped test says so, and what dsh said is worth seeing")]

use crate::logs::{Blind, notice, offline, read, session, store};
use crate::publish::{new_session, publish, seed};
use crate::support::{Sandbox, copy_tree, shared};
use dshkit::stores::Encoding;
use dshkit::stores::jsonl::{JsonlStore, Outcome};
use dshkit::stores::steps::Unwatched;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

#[expect(clippy::disallowed_methods, reason = "where the oracle is, only the environment can tell")]
pub(crate) fn oracle() -> Option<PathBuf> {
    let oracle = std::env::var_os("DSHKIT_ORACLE").map(PathBuf::from);
    if oracle.is_none() {
        eprintln!("skipped: DSHKIT_ORACLE does not name the oracle");
    }
    oracle
}

/// A message of a request to a model.
pub(crate) struct Sent {
    /// `system`, `user`, `assistant`.
    pub(crate) role: String,
    /// Its text.
    pub(crate) text: String,
}

/// Lets a dsh go on with a session of a store by a prompt, and keeps the home it leaves. Asserts that dsh is
/// content and woke by nothing else, and gives the messages of the one request it makes.
#[track_caller]
pub(crate) fn request(oracle: &Path, version: &str, store: &Path, id: &str, prompt: &str, keep: &Path) -> Vec<Sent> {
    let mut command = Command::new(oracle.join("resume-check"));
    command.arg(version).arg(store).args([id, prompt, "--only", "--full", "--keep"]).arg(keep);
    let output = command.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let verdict: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    let place = format!("{version} {id}");
    assert_eq!(verdict["ok"], true, "{place}: {} {}", verdict["error"], verdict["prompt"]);
    assert_eq!(verdict["onResume"]["turnsStartedAlone"], 0, "{place}: nothing woke it");
    assert_eq!(verdict["loadsAgain"]["ok"], true, "{place}");
    assert_eq!(verdict["events"]["beforeKept"], true, "{place}");
    let requests: Vec<&Value> =
        verdict["requests"].as_array().unwrap().iter().filter(|request| request["kind"] == "turn").collect();
    let [request] = requests[..] else { panic!("{place}: {} requests", requests.len()) };
    assert_eq!(request["phase"], "prompt", "{place}");
    assert_eq!(request["problems"], Value::Array(Vec::new()), "{place}");
    let text = |message: &Value, key: &str| message[key].as_str().unwrap().to_owned();
    let messages = request["messages"].as_array().unwrap().iter();
    messages.map(|message| Sent { role: text(message, "role"), text: text(message, "text") }).collect()
}

/// Lets a dsh go on with a session of a store and keeps the home it leaves. Asserts that dsh is content,
/// and that each text stands once in the one request it makes, in this order and before the prompt. Says
/// where.
#[track_caller]
pub(crate) fn resume(oracle: &Path, version: &str, store: &Path, id: &str, texts: &[&str], keep: &Path) -> Vec<usize> {
    let messages = request(oracle, version, store, id, texts.last().unwrap(), keep);
    let messages: Vec<&str> = messages.iter().map(|message| message.text.as_str()).collect();
    let place = format!("{version} {id}");
    // Some dsh puts messages of the same role together.
    let places: Vec<(usize, usize)> = texts
        .iter()
        .map(|text| {
            let found = messages
                .iter()
                .zip(0..)
                .flat_map(|(message, at)| message.match_indices(text).map(move |(offset, _)| (at, offset)));
            let found: Vec<(usize, usize)> = found.collect();
            let [at] = found[..] else { panic!("{place}: {text:?} stands at {found:?} of {messages:#?}") };
            at
        })
        .collect();
    assert!(places.is_sorted(), "{place}: {places:?}");
    let places: Vec<usize> = places.into_iter().map(|(message, _)| message).collect();
    eprintln!("{place}: ok, at {places:?} of {} messages", messages.len());
    places
}

/// Appends a notice and says what its first line is.
fn append(store: &JsonlStore, id: &str, number: u32) -> String {
    let message = notice(number);
    let done = store.append(&session(store, id), &offline(&message), &mut Blind, &mut Unwatched).unwrap();
    assert!(matches!(done, Outcome::Appended(_)));
    format!("[marker {number}]")
}

#[test]
fn dsh_goes_on_with_a_message_we_appended() {
    let (Some(oracle), Some(corpora)) = (oracle(), shared("corpora")) else { return };
    let cases: [(&str, &[&str]); 6] = [
        ("1-zstd", &["v0", "v3", "v4"]),
        ("2-plain", &["v0", "v3", "v4"]),
        ("3-compaction", &["v0"]),
        ("7-v3-1-zstd", &["v3", "v4"]),
        ("7-v3-3-compaction", &["v3"]),
        ("7-v4-1-zstd", &["v4"]),
    ];
    for (corpus, versions) in cases {
        let id = "session-0a1b2c3d-0001-4000-8000-000000000001";
        let id = if corpus.contains("compaction") { "session-0c0c0c0c-0001-4000-8000-000000000000" } else { id };
        let sandbox = Sandbox::new();
        copy_tree(&corpora.join(corpus).join("sessions"), &sandbox.sessions());
        let store = store(&sandbox);
        let marker = append(&store, id, 1);
        let (events, nodes) = read(&sandbox.sessions(), id);
        let last = &events[nodes[nodes.len() - 2] as usize]["data"];
        let blocks = last.get("message").unwrap_or(last)["content"].as_array().unwrap().clone();
        let last = blocks.last().unwrap()["text"].as_str().unwrap();
        for version in versions {
            let keep = sandbox.path(&format!("keep-{version}"));
            let texts: Vec<&str> = vec![last, &marker, "Please go on."];
            let places = resume(&oracle, version, &sandbox.sessions(), id, &texts, &keep);
            assert_eq!(places[1], places[0] + 1, "{corpus} by {version}: it directly follows the last answer");
        }
    }
}

#[test]
fn dsh_goes_on_with_a_session_we_made() {
    let Some(oracle) = oracle() else { return };
    let id = "session-2f0e6c1a-0000-4000-8000-000000000001";
    for encoding in [Encoding::Zstd, Encoding::Plain] {
        for version in ["v0", "v3", "v4"] {
            let sandbox = Sandbox::new();
            let mut session = new_session(id, Some("/srv/demo/project-a"));
            session.created_at = 1_795_984_260_156;
            let made = publish(&store(&sandbox), &session, encoding, &mut Unwatched).unwrap();
            assert!(made.path.exists());
            let keep = sandbox.path("keep");
            resume(&oracle, version, &sandbox.sessions(), id, &[&seed().texts[0], "Please go on."], &keep);
            // What its tools may do stays as it was set.
            let (events, _) = read(&keep.join("sessions"), id);
            let last = |kind: &str, key: &str| {
                let event = events.iter().rev().find(|event| event["type"] == kind).unwrap();
                event["data"][key].clone()
            };
            assert_eq!(
                (last("sandbox/mode", "mode"), last("approval/policy", "policy")),
                ("read-only".into(), "never".into())
            );
            assert_eq!(last("session/title", "title"), "澄清：What follows");
            assert!(events.iter().all(|event| event["type"] != "session/title-llm-request"));
        }
    }
}

#[test]
fn a_session_we_made_and_appended_to_goes_through_every_dsh() {
    let Some(oracle) = oracle() else { return };
    let id = "session-2f0e6c1a-0000-4000-8000-000000000001";
    let sandbox = Sandbox::new();
    let mut session = new_session(id, Some("/srv/demo/project-a"));
    session.created_at = 1_795_984_260_156;
    publish(&store(&sandbox), &session, Encoding::Zstd, &mut Unwatched).unwrap();
    let mut root = sandbox.sessions();
    let mut texts = vec![seed().texts[0].clone()];
    for (number, version) in (1..).zip(["v0", "v3", "v3", "v4", "v4"]) {
        texts.push(append(&JsonlStore::new(&root), id, number));
        texts.push(format!("Please go on, for the time of number {number}."));
        let keep = sandbox.path(&format!("hop-{number}"));
        let shown: Vec<&str> = texts.iter().map(String::as_str).collect();
        resume(&oracle, version, &root, id, &shown, &keep);
        root = keep.join("sessions");
    }
    // The log of each generation ended in a message of ours when the next dsh took over.
    let newest = crate::logs::session(&JsonlStore::new(&root), id);
    assert_eq!((newest.format_version, newest.generations), (4, vec![0, 3, 4]));
}
