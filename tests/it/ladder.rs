//! Kept states: whatever becomes of a log or of the cache, the answer is that of the whole log; and where
//! nothing has changed, the log is not read.

use crate::support::{Outcome, Sandbox, copy_tree, corpora_folders, data};
use dshkit::corpus::{Corpus, Record};
use dshkit::generations::Mode;
use dshkit::model::event::Event;
use dshkit::model::header::Header;
use dshkit::model::json::Value as Derived;
use dshkit::projections::cache::{Cache, place};
use dshkit::projections::checkpoint::Checkpoint;
use dshkit::projections::fold::Snapshot;
use dshkit::projections::ladder::{Read, read_all};
use dshkit::projections::registry::Registry;
use dshkit::projections::unit::{Change, Definition, Unit};
use dshkit::projections::units;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use rusqlite::Connection;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use tempfile::TempDir;

const ALL: [&str; 5] = ["sessions", "projections", "-", "--jsonl", "--state"];

/// What is derived from every session of a sandbox.
fn derived(sandbox: &Sandbox, more: &[&str]) -> Outcome {
    let paths = sandbox.run(&["sessions", "path"]);
    sandbox.run_with_input(&[&ALL, more].concat(), &paths.stdout)
}

fn cache_of(sandbox: &Sandbox) -> PathBuf {
    let mut found: Vec<_> =
        fs::read_dir(sandbox.path("cache/dshkit/projections")).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.retain(|path| path.extension().is_some_and(|extension| extension == "sqlite"));
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
}

#[test]
fn a_warm_cache_changes_no_answer() {
    let mut compared = 0;
    let mut stores: Vec<PathBuf> = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/home/sessions")];
    stores.extend(["01", "03", "05", "07", "11"].map(|case| data(&format!("cases/{case}/sessions"))));
    let corpora = corpora_folders().into_iter().flat_map(|folder| fs::read_dir(folder).unwrap());
    stores.extend(corpora.map(|corpus| corpus.unwrap().path().join("sessions")).filter(|store| store.is_dir()));
    for store in stores {
        let sandbox = Sandbox::new();
        copy_tree(&store, &sandbox.sessions());
        let plain = derived(&sandbox, &["--no-cache"]);
        let [cold, warm] = [(); 2].map(|()| derived(&sandbox, &[]));
        let place = store.display();
        assert_eq!(String::from_utf8_lossy(&plain.stdout), String::from_utf8_lossy(&cold.stdout), "{place}");
        assert_eq!(String::from_utf8_lossy(&plain.stdout), String::from_utf8_lossy(&warm.stdout), "{place}");
        assert_eq!((&plain.stderr, plain.status), (&warm.stderr, warm.status), "{place}");
        for listing in [&["sessions", "list", "--long", "--json"][..], &["sessions", "latest", "--by", "activity"]] {
            let [cold, warm] = [(); 2].map(|()| sandbox.run(listing));
            let plain = sandbox.run(&[listing, &["--no-cache"]].concat());
            assert_eq!(String::from_utf8_lossy(&plain.stdout), String::from_utf8_lossy(&cold.stdout), "{place}");
            assert_eq!(String::from_utf8_lossy(&plain.stdout), String::from_utf8_lossy(&warm.stdout), "{place}");
            assert_eq!(plain.stderr, warm.stderr, "{place}");
        }
        compared += plain.stdout.split(|byte| *byte == b'\n').count() - 1;
    }
    assert!(compared > 15, "{compared}");
}

#[test]
fn what_the_cache_knows_is_told_with_its_seq() {
    let sandbox = Sandbox::new();
    let path = sandbox.plain_log("s", &[&title(0, "one")]);
    let cached = || sandbox.run(&["sessions", "projections", "s", "title", "--cached", "--json"]).success().json();
    assert_eq!((&cached()["asOfSeq"], &cached()["values"]), (&json!(null), &json!(null)));
    sandbox.run(&["sessions", "projections", "s"]).success();
    assert_eq!((&cached()["asOfSeq"], &cached()["values"]), (&json!(0), &json!({"title": "one"})));
    // The log goes on, and the cache is as it was; then somebody reads the log.
    append(&path, &title(1, "two"));
    assert_eq!(cached()["values"], json!({"title": "one"}));
    let read = sandbox.run(&["sessions", "projections", "s", "title", "--json"]).success().json();
    assert_eq!((&read["asOfSeq"], &read["values"]), (&json!(1), &json!({"title": "two"})));
    assert_eq!(cached()["values"], json!({"title": "two"}));
}

#[test]
fn a_key_nobody_has_is_told_with_those_there_are() {
    let sandbox = Sandbox::new();
    sandbox.plain_log("s", &[]);
    let error = sandbox.run(&["sessions", "projections", "s", "title", "titel", "--json"]).fails(2, "usage");
    let candidates = error["candidates"].as_array().unwrap();
    assert!(candidates.contains(&json!("title")) && candidates.len() == 19, "{error}");
    let empty = sandbox.run(&["sessions", "projections", "s", "--json"]).success().json();
    assert_eq!((&empty["asOfSeq"], &empty["values"]["title"]), (&json!(-1), &json!(null)));
}

/// Something that was done to a cache, and whether it is told.
type Tampering = (&'static str, &'static str, bool);

const TAMPERINGS: [Tampering; 8] = [
    ("another title", "UPDATE rows SET val = '\"forged\"' WHERE key = 'title'", true),
    ("a number that is none", "UPDATE rows SET val = '{\"totals\":' WHERE key = 'tokenUsage'", true),
    ("another seq", "UPDATE rows SET seq = seq + 1", true),
    ("another version", "UPDATE rows SET ver = ver + 1", true),
    (
        "rows of another session",
        "DELETE FROM rows WHERE key = 'title' AND log = 2; UPDATE rows SET log = 2 WHERE key = 'title'",
        true,
    ),
    ("another type", "UPDATE rows SET val = x'00ff'", true),
    ("cuts that say the log is as it was", "UPDATE cuts SET open = '{}', seq = seq + 1", true),
    ("no cuts", "DELETE FROM cuts", false),
];

#[test]
fn a_cache_that_somebody_wrote_into_is_not_believed() {
    for (what, statement, is_told) in TAMPERINGS {
        let sandbox = Sandbox::new();
        for (id, text) in [("s1", "first"), ("s2", "second")] {
            sandbox.plain_log(id, &[&title(0, text), &title(1, "more")]);
        }
        let expected = derived(&sandbox, &["--no-cache"]).success();
        derived(&sandbox, &[]).success();
        let connection = Connection::open(cache_of(&sandbox)).unwrap();
        connection.execute_batch(statement).unwrap_or_else(|error| panic!("{what}: {error}"));
        drop(connection);
        let got = derived(&sandbox, &[]).success();
        assert_eq!(got.text(), expected.text(), "{what}");
        assert_eq!(got.stderr.lines().count(), usize::from(is_told), "{what}: {}", got.stderr);
        let again = derived(&sandbox, &[]).success();
        assert_eq!((again.text(), again.stderr.as_str()), (expected.text(), ""), "{what}");
    }
}

#[test]
fn a_cache_that_is_none_is_made_anew_or_left_alone() {
    let sandbox = Sandbox::new();
    sandbox.plain_log("s", &[&title(0, "one")]);
    let expected = derived(&sandbox, &["--no-cache"]).success();
    derived(&sandbox, &[]).success();
    let path = cache_of(&sandbox);
    // Of another schema, and damaged: made anew. The mark of ours is in the header.
    Connection::open(&path).unwrap().execute_batch("PRAGMA user_version = 99").unwrap();
    let got = derived(&sandbox, &[]).success();
    assert_eq!((got.text(), got.stderr.as_str()), (expected.text(), ""));
    let mut bytes = fs::read(&path).unwrap();
    bytes[200..].fill(0xA5);
    fs::write(&path, &bytes).unwrap();
    for _ in 0..2 {
        assert_eq!(derived(&sandbox, &[]).success().text(), expected.text());
    }
    // Somebody else's: told, and left as it is.
    for foreign in [&b"somebody's notes"[..], &[0; 4096]] {
        for suffix in ["", "-wal", "-shm"] {
            let _ = fs::remove_file(format!("{}{suffix}", path.display()));
        }
        fs::write(&path, foreign).unwrap();
        let got = derived(&sandbox, &[]).success();
        assert_eq!(got.text(), expected.text());
        assert!(got.stderr.contains("is not dshkit's") && got.stderr.lines().count() == 1, "{}", got.stderr);
        assert_eq!(fs::read(&path).unwrap(), foreign);
    }
    // No place for one.
    let place = sandbox.path("cache/dshkit");
    fs::remove_dir_all(&place).unwrap();
    fs::write(&place, "a file").unwrap();
    let got = derived(&sandbox, &[]).success();
    assert_eq!((got.text(), got.stderr.lines().count()), (expected.text(), 1), "{}", got.stderr);
}

#[test]
fn a_log_that_migrates_is_another_log() {
    let sandbox = Sandbox::new();
    let path = sandbox.plain_log("s", &[&title(0, "old")]);
    let read = || sandbox.run(&["sessions", "projections", "s", "title", "--json"]).success().json()["values"].clone();
    assert_eq!(read(), json!({"title": "old"}));
    let header = r#"{"type":"session","version":3,"id":"s","createdAt":1000,"delegationDepth":0,"isSeeded":false}"#;
    let newer = path.with_file_name("session.v3.jsonl");
    fs::write(&newer, format!("{header}\n{}\n", title(0, "new"))).unwrap();
    assert_eq!(read(), json!({"title": "new"}));
    fs::remove_file(&newer).unwrap();
    assert_eq!(read(), json!({"title": "old"}));
}

static APPLIED: AtomicU64 = AtomicU64::new(0);

/// A unit that counts how often it was asked.
#[derive(Serialize, Deserialize)]
struct Asked<const VERSION: u32>(u64);

impl<const OF: u32> Unit for Asked<OF> {
    const KEY: &'static str = "asked";
    const VERSION: u32 = OF;
    const EVENTS: &'static [&'static str] = &["session/title"];

    fn init(_header: &Header) -> Self {
        Asked(0)
    }

    fn apply(&mut self, _event: &Event<'_>) -> Change {
        APPLIED.fetch_add(1, Ordering::Relaxed);
        self.0 += u64::from(OF);
        Change::Some
    }

    fn view(&self) -> Derived {
        Derived::from(self.0)
    }
}

/// A store with one log, and a cache for it.
struct Store {
    directory: TempDir,
    log: PathBuf,
    is_zstd: bool,
}

impl Store {
    fn new(is_zstd: bool) -> Store {
        let directory = TempDir::new().unwrap();
        let name = if is_zstd { "session.jsonl.zstd" } else { "session.jsonl" };
        let log = directory.path().join("sessions/_no-cwd/s").join(name);
        fs::create_dir_all(log.parent().unwrap()).unwrap();
        let store = Store { directory, log, is_zstd };
        store.write(&[]);
        store
    }

    fn encoded(&self, line: &str) -> Vec<u8> {
        let line = format!("{line}\n");
        if !self.is_zstd {
            return line.into_bytes();
        }
        let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
        encoder.include_checksum(true).unwrap();
        encoder.write_all(line.as_bytes()).unwrap();
        encoder.finish().unwrap()
    }

    fn bytes(&self, rows: &[String]) -> Vec<u8> {
        let header = r#"{"type":"session","version":0,"id":"s","createdAt":1000,"delegationDepth":0}"#;
        let mut bytes = self.encoded(header);
        rows.iter().for_each(|row| bytes.extend(self.encoded(row)));
        bytes
    }

    /// Writes the log over what it is.
    fn write(&self, rows: &[String]) {
        fs::write(&self.log, self.bytes(rows)).unwrap();
    }

    /// Puts another file in its place.
    fn replace(&self, rows: &[String]) {
        let other = self.log.with_file_name("other");
        fs::write(&other, self.bytes(rows)).unwrap();
        fs::rename(other, &self.log).unwrap();
    }

    fn append(&self, row: &str) {
        fs::OpenOptions::new().append(true).open(&self.log).unwrap().write_all(&self.encoded(row)).unwrap();
    }

    fn read(&self, registry: &Registry, with_cache: bool) -> Result<(Snapshot, Checkpoint), String> {
        let sessions = self.directory.path().join("sessions");
        let corpus = Corpus::at(&sessions);
        let catalog = corpus.catalog().unwrap();
        let records: Vec<&Record> = catalog.records.iter().collect();
        let path = place(self.directory.path(), &sessions);
        let mut cache = with_cache.then(|| Cache::open(&path, &sessions).unwrap());
        let Read { sessions, warning } = read_all(&corpus, &records, registry, Mode::AsDsh, cache.as_mut(), &|| {});
        assert_eq!(warning, None);
        let derived = sessions.into_iter().next().unwrap().map_err(|failure| failure.message)?;
        Ok((derived.folded.snapshot(), derived.folded.checkpoint()))
    }

    /// How many events the counting unit saw in a reading with the cache.
    fn applied(&self, registry: &Registry) -> u64 {
        let before = APPLIED.load(Ordering::Relaxed);
        let (snapshot, _) = self.read(registry, true).unwrap();
        let after = APPLIED.load(Ordering::Relaxed);
        let (plain, _) = self.read(registry, false).unwrap();
        assert_eq!(format!("{snapshot:?}"), format!("{plain:?}"));
        after - before
    }
}

#[test]
fn only_what_is_new_is_read() {
    let registry = Registry::of([Definition::of::<Asked<1>>()]).unwrap();
    let newer = Registry::of([Definition::of::<Asked<2>>()]).unwrap();
    for is_zstd in [false, true] {
        let store = Store::new(is_zstd);
        let rows: Vec<String> = (0..20).map(|seq| title(seq, &format!("title {seq}"))).collect();
        store.write(&rows[..10]);
        assert_eq!(store.applied(&registry), 10);
        assert_eq!(store.applied(&registry), 0);
        rows[10..13].iter().for_each(|row| store.append(row));
        assert_eq!(store.applied(&registry), 3);
        assert_eq!(store.applied(&registry), 0);
        // A file of the same bytes in its place is another file.
        store.replace(&rows[..13]);
        assert_eq!(store.applied(&registry), 13);
        // It ends before what is known of it.
        store.write(&rows[..5]);
        assert_eq!(store.applied(&registry), 5);
        // A newer version of the unit, and the older one again.
        assert_eq!(store.applied(&newer), 5);
        assert_eq!(store.applied(&newer), 0);
        assert_eq!(store.applied(&registry), 5);
    }
}

/// What may happen to a log between two readings.
#[derive(Clone, Debug)]
enum Step {
    /// Rows of these kinds are appended.
    Append(Vec<u8>),
    /// So many rows are cut off its end.
    Cut(usize),
    /// Another log takes its place.
    Replace(Vec<u8>),
    /// Only some of the units are read.
    ReadSome(bool),
}

fn title(seq: u64, title: &str) -> String {
    let data = json!({"title": title, "messageSeqs": [], "source": {"kind": "user"}});
    json!({"type": "session/title", "seq": seq, "time": 1000 + seq, "data": data}).to_string()
}

fn append(path: &Path, row: &str) {
    let mut file = fs::OpenOptions::new().append(true).open(path).unwrap();
    writeln!(file, "{row}").unwrap();
}

/// A row of one of the kinds that projections look at, or that a tail cannot judge.
fn row(seq: u64, kind: u8) -> String {
    let event =
        |kind: &str, data: serde_json::Value| json!({"type": kind, "seq": seq, "time": 1000 + seq, "data": data});
    let message = |id: &str| json!({"id": format!("{id}{seq}"), "role": "user", "source": {"kind": "user"}, "content": [{"type": "text", "text": format!("said {seq}")}]});
    let mut row = match kind % 9 {
        0 => return title(seq, &format!("title {seq}")),
        1 => event("turn/start", json!({"turn": 1 + seq})),
        2 => event("turn/end", json!({"turn": 1 + seq, "reason": {"kind": "completed"}})),
        3 => event("step/start", json!({"turn": 1, "step": 1 + seq})),
        4 => event("todo/write", json!({"items": [{"content": format!("do {seq}"), "status": "pending"}]})),
        5 => event(
            "assistant/message",
            json!({"turn": 1, "step": 1, "usage": {"inputTokens": seq, "outputTokens": 1}, "message": {"id": format!("a{seq}"), "role": "assistant", "source": {"kind": "model", "provider": "p", "model": "m"}, "content": [{"type": "tool-call", "id": format!("c{seq}"), "name": "run", "arguments": "{}"}]}}),
        ),
        6 => event(
            "tool/call",
            json!({"turn": 1, "step": 1, "callId": format!("c{}", seq.saturating_sub(1)), "name": "run", "arguments": "{}"}),
        ),
        7 => event("sandbox/mode", json!({"mode": "read-only"})),
        _ => event("user/message", message("m")),
    };
    if matches!(kind % 9, 5 | 8) {
        // One in a few takes the place of an earlier event, which most often is not there.
        let replaces = kind > 200 && seq > 0;
        row["surfaceOp"] =
            if replaces { json!({"op": "replace", "start": seq - 1, "end": seq - 1}) } else { json!("append") };
        if replaces && kind % 9 == 8 {
            row["sourceEventSeqs"] = json!([seq - 1]);
        }
    }
    row.to_string()
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let kinds = || proptest::collection::vec(any::<u8>(), 0..6);
    let step = prop_oneof![
        4 => kinds().prop_map(Step::Append),
        1 => (1usize..4).prop_map(Step::Cut),
        1 => kinds().prop_map(Step::Replace),
        2 => any::<bool>().prop_map(Step::ReadSome),
    ];
    proptest::collection::vec(step, 1..12)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 96, rng_seed: RngSeed::Fixed(4), failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn whatever_happens_to_a_log_the_answer_is_that_of_the_whole_log(steps in steps(), is_zstd in any::<bool>()) {
        let all = units::all();
        let some = [all.only(&["title", "tokenUsage"]).unwrap(), all.only(&["todos"]).unwrap()];
        let store = Store::new(is_zstd);
        let mut rows: Vec<String> = Vec::new();
        let rows_of = |from: usize, kinds: &[u8]| -> Vec<String> {
            kinds.iter().enumerate().map(|(at, kind)| row((from + at) as u64, *kind)).collect()
        };
        for step in steps {
            let mut registry = &all;
            match step {
                Step::Append(kinds) => {
                    let more = rows_of(rows.len(), &kinds);
                    more.iter().for_each(|row| store.append(row));
                    rows.extend(more);
                }
                Step::Cut(count) => {
                    rows.truncate(rows.len().saturating_sub(count));
                    store.write(&rows);
                }
                Step::Replace(kinds) => {
                    rows = rows_of(0, &kinds);
                    store.replace(&rows);
                }
                Step::ReadSome(which) => registry = &some[usize::from(which)],
            }
            let (cached, whole) = (store.read(registry, true), store.read(registry, false));
            prop_assert_eq!(format!("{:?}", cached), format!("{:?}", whole));
        }
    }
}

#[test]
fn several_processes_share_a_cache() {
    let sandbox = Sandbox::new();
    for number in 0..30 {
        sandbox.plain_log(&format!("s{number}"), &[&title(0, &format!("title {number}"))]);
    }
    let expected = sandbox.run(&["sessions", "list", "--long", "--no-cache"]).success();
    let spawn = || -> std::process::Child {
        let mut command: Command = sandbox.command();
        command.args(["sessions", "list", "--long"]).stdout(std::process::Stdio::piped());
        command.stderr(std::process::Stdio::piped()).spawn().unwrap()
    };
    let children: Vec<_> = (0..4).map(|_| spawn()).collect();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.stdout, expected.stdout);
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    }
}
