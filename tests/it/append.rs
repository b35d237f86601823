//! Appending a message to somebody else's session.

#![expect(clippy::print_stderr, reason = "a skipped test says so")]

use crate::logs::{
    Blind, ById, FailAt, KINDS, Kind, NOW, Record, StopAt, contents, notice, offline, read, session, store,
};
use crate::support::{ReadLog, Sandbox, copy_tree, corpora_with};
use dshkit::corpus::Corpus;
use dshkit::generations::Generation;
use dshkit::generations::encode::PluginMessage;
use dshkit::model::event::Event;
use dshkit::stores::jsonl::{
    Addition, AppendError, Assurance, JsonlStore, LogState, Look, Outcome, STILL_FOR, Verdict, WriteFaultKind,
};
use dshkit::stores::steps::{Moment, Steps, Unwatched};
use dshkit::stores::{Encoding, StoredSession};
use serde_json::{Value, json};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Command;

const PLAIN: Kind = Kind { version: 0, encoding: Encoding::Plain };
const V3: Kind = Kind { version: 3, encoding: Encoding::Zstd };
const V4: Kind = Kind { version: 4, encoding: Encoding::Zstd };

/// A sandbox with one session `a` of a kind, its one turn closed.
fn closed(kind: Kind) -> (Sandbox, JsonlStore, PathBuf) {
    with(kind, &kind.header("a"), &kind.turn())
}

fn with(kind: Kind, header: &Value, events: &[Value]) -> (Sandbox, JsonlStore, PathBuf) {
    let sandbox = Sandbox::new();
    let path = kind.write(&sandbox, header, events);
    let store = store(&sandbox);
    (sandbox, store, path)
}

/// The bytes of the log that [`closed`] writes.
fn whole(kind: Kind) -> Vec<u8> {
    let (_sandbox, _store, path) = closed(kind);
    fs::read(path).unwrap()
}

fn add(store: &JsonlStore, addition: &Addition<'_>) -> Result<Outcome, AppendError> {
    store.append(&session(store, "a"), addition, &mut Blind, &mut Unwatched)
}

/// Asserts that a refusal with this reason changes nothing, neither as a question nor as a deed.
#[track_caller]
fn refuses(sandbox: &Sandbox, store: &JsonlStore, addition: &Addition<'_>, reason: &str, is_pending: bool) {
    let before = contents(&sandbox.sessions());
    let session = session(store, "a");
    let asked = store.check_append(&session, addition, &mut Blind).map(|_| ());
    let done = store.append(&session, addition, &mut Blind, &mut Unwatched).map(|_| ());
    for result in [asked, done] {
        let error = result.expect_err(reason);
        assert_eq!((error.reason(), error.is_pending()), (reason, is_pending), "{error}");
        assert!(!error.to_string().is_empty() && !error.advice().is_empty());
    }
    assert_eq!(contents(&sandbox.sessions()), before, "{reason}: nothing was changed or left");
}

#[test]
fn a_message_joins_the_end_of_every_kind_of_log() {
    for kind in KINDS {
        let (sandbox, store, path) = closed(kind);
        let before = fs::read(&path).unwrap();
        let next = kind.turn().len() as u64;
        let Outcome::Appended(appended) = add(&store, &offline(&notice(1))).unwrap() else { panic!("{kind:?}") };
        assert_eq!((appended.seq, appended.time, &appended.path), (next, NOW, &path));
        assert_eq!(appended.generation, Generation::of_version(kind.version).unwrap());
        let after = fs::read(&path).unwrap();
        assert!(after.starts_with(&before), "{kind:?}: what was there stays");
        assert_eq!(appended.state, (kind.version == 0).then(|| LogState::of_file(&path).unwrap()));

        let (events, nodes) = read(&sandbox.sessions(), "a");
        let source = if kind.version >= 4 {
            json!({"kind": "plugin:dsh-sidechat", "form": "notice", "summary": "Fold SideChat revision 1"})
        } else {
            json!({"kind": "plugin", "plugin": "dsh-sidechat", "form": "notice", "summary": "Fold SideChat revision 1"})
        };
        let message = json!({
            "id": "6f1c2a3b-0000-4000-8000-000000000001", "role": "user", "source": source,
            "content": [{"type": "text", "text": "[marker 1]\n\nWhat was found."}],
        });
        let event = json!({"type": "user/message", "seq": next, "time": NOW, "data": message, "surfaceOp": "append"});
        assert_eq!(events.last(), Some(&event), "{kind:?}");
        assert_eq!(nodes.last(), Some(&next), "{kind:?}");

        let lock = fs::metadata(path.with_file_name("session.lock")).unwrap();
        assert_eq!((lock.len(), lock.permissions().mode() & 0o777), (0, 0o600));
        // Again, with the time of the clock gone back.
        let message = notice(2);
        let addition = Addition { now: 5, ..offline(&message) };
        let assurance = appended.state.map_or(Assurance::None, Assurance::Ours);
        let addition = Addition { assurance: &assurance, ..addition };
        let Outcome::Appended(again) = add(&store, &addition).unwrap() else { panic!("{kind:?}") };
        assert_eq!((again.seq, again.time), (next + 1, NOW), "times do not step back");
        assert_eq!(read(&sandbox.sessions(), "a").1.last(), Some(&(next + 1)));
    }
}

#[test]
fn every_log_that_dsh_wrote_takes_a_message_or_keeps_its_bytes() {
    let mut appended = [0; 5];
    let mut refused = 0;
    for folder in corpora_with("expected.json") {
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        if name.contains("damaged") || !folder.join("sessions").is_dir() {
            continue;
        }
        let sandbox = Sandbox::new();
        copy_tree(&folder.join("sessions"), &sandbox.sessions());
        let store = store(&sandbox);
        let corpus = Corpus::at(&sandbox.sessions());
        for record in corpus.catalog().unwrap().records {
            let place = format!("{name} {:?}", record.id());
            let log = ReadLog::of(&corpus, &record).unwrap();
            let directory = record.stored.path.parent().unwrap();
            let before = contents(directory);
            let kinds: Vec<&str> =
                log.events.iter().filter(|event| !event.synthetic).map(|event| event.kind.as_str()).collect();
            let is_open = log.logical > log.stored;
            let expected = if record.stored.header.is_subagent {
                Some("subagent-session")
            } else if is_open {
                Some("open-turn")
            } else if !kinds.contains(&"step/start") {
                Some(if record.stored.format_version == 0 { "no-step" } else { "no-system-head" })
            } else {
                None
            };
            let result = store.append(&record.stored, &offline(&notice(1)), &mut Blind, &mut Unwatched);
            match (result, expected) {
                (Ok(Outcome::Appended(done)), None) => {
                    appended[record.stored.format_version as usize] += 1;
                    let after = fs::read(&record.stored.path).unwrap();
                    assert!(after.starts_with(before[&record.stored.path].as_ref().unwrap()), "{place}");
                    assert_eq!(done.seq, log.stored, "{place}");
                    let again = ReadLog::of(&corpus, &record).unwrap();
                    assert_eq!((again.stored, again.inherited), (log.stored + 1, log.inherited), "{place}");
                    let mut nodes = log.surface.unwrap().nodes;
                    nodes.push(done.seq);
                    assert_eq!(again.surface.unwrap().nodes, nodes, "{place}");
                }
                (Err(error), Some(reason)) => {
                    refused += 1;
                    assert_eq!(error.reason(), reason, "{place}");
                    assert_eq!(contents(directory), before, "{place}");
                }
                (result, expected) => panic!("{place}: {result:?}, expected {expected:?}"),
            }
        }
    }
    if !corpora_with("expected.json").is_empty() {
        let [v0, _, _, v3, v4] = appended;
        assert!(v0 > 30 && v3 > 20 && v4 > 20 && refused > 30, "{appended:?} appended, {refused} refused");
    }
}

#[test]
fn a_damaged_log_keeps_its_bytes() {
    let mut refused = 0;
    for folder in corpora_with("expected.json") {
        if !folder.to_string_lossy().contains("8-damaged") {
            continue;
        }
        for variant in fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()) {
            let sandbox = Sandbox::new();
            let from = if variant.join("sessions").is_dir() { variant.join("sessions") } else { variant.clone() };
            copy_tree(&from, &sandbox.sessions());
            let store = store(&sandbox);
            for record in Corpus::at(&sandbox.sessions()).catalog().unwrap().records {
                let before = contents(&sandbox.sessions());
                let log = before[&record.stored.path].clone().unwrap();
                match store.append(&record.stored, &offline(&notice(1)), &mut Blind, &mut Unwatched) {
                    Err(error) => {
                        refused += 1;
                        assert_eq!(contents(&sandbox.sessions()), before, "{}: {error}", variant.display());
                    }
                    Ok(Outcome::Appended(done)) => {
                        assert!(fs::read(done.path).unwrap().starts_with(&log), "{}", variant.display());
                        // What takes a message was whole, and is so afterwards.
                        read(&sandbox.sessions(), record.id().to_str().unwrap());
                    }
                    Ok(Outcome::Present { .. }) => panic!("{}", variant.display()),
                }
            }
        }
    }
    assert!(corpora_with("expected.json").is_empty() || refused > 60, "{refused} refused");
}

#[test]
fn generations_that_are_not_written_are_refused() {
    for (version, is_known) in [(1, true), (2, true), (5, false), (9, false)] {
        let kind = Kind { version, encoding: Encoding::Plain };
        let mut header = kind.header("a");
        if version == 1 {
            header.as_object_mut().unwrap().remove("isSeeded");
        }
        let (sandbox, store, path) = with(kind, &header, &kind.turn());
        assert!(is_known || session(&store, "a").refusal.is_some());
        refuses(&sandbox, &store, &offline(&notice(1)), "generation-not-written", false);
        drop(path);
    }
}

#[test]
fn a_migration_in_between_is_followed() {
    let (sandbox, store, old) = closed(PLAIN);
    let seen = session(&store, "a");
    let new = Kind { version: 3, encoding: Encoding::Plain };
    let path = new.write(&sandbox, &new.header("a"), &new.turn());
    let before = fs::read(&old).unwrap();
    let done = store.append(&seen, &offline(&notice(1)), &mut Blind, &mut Unwatched).unwrap();
    let Outcome::Appended(done) = done else { panic!() };
    assert_eq!((done.generation, done.path), (Generation::V3, path));
    assert_eq!(fs::read(&old).unwrap(), before, "the older log is history");
}

#[test]
fn a_database_is_not_written_to() {
    let (_sandbox, store, path) = closed(PLAIN);
    let seen = StoredSession { encoding: Encoding::Sqlite, path, ..session(&store, "a") };
    let error = store.append(&seen, &offline(&notice(1)), &mut Blind, &mut Unwatched).unwrap_err();
    assert!(matches!(error, AppendError::Database));
}

#[test]
fn what_does_not_lie_as_dsh_lays_it_is_refused() {
    let message = notice(1);
    let addition = offline(&message);

    let (sandbox, store, _) = closed(V3);
    let other = Kind { encoding: Encoding::Plain, ..V3 };
    other.write(&sandbox, &other.header("a"), &other.turn());
    refuses(&sandbox, &store, &addition, "mixed-encoding", false);

    let (sandbox, store, path) = closed(V3);
    let directory = path.parent().unwrap();
    let seen = session(&store, "a");
    let other = sandbox.sessions().join("--other--/a");
    copy_tree(directory, &other);
    let before = contents(&sandbox.sessions());
    let error = store.append(&seen, &addition, &mut Blind, &mut Unwatched).unwrap_err();
    assert!(matches!(&error, AppendError::Duplicate(path) if *path == other), "{error}");
    assert_eq!(contents(&sandbox.sessions()), before);

    let (sandbox, store, path) = closed(V3);
    let moved = sandbox.sessions().join("--other--");
    fs::create_dir(&moved).unwrap();
    fs::rename(path.parent().unwrap(), moved.join("a")).unwrap();
    refuses(&sandbox, &store, &addition, "identity-mismatch", false);

    let (sandbox, store, _) = closed(V3);
    fs::write(sandbox.sessions().join("_no-cwd/old.jsonl"), "").unwrap();
    refuses(&sandbox, &store, &addition, "flat-layout", false);

    let (sandbox, store, path) = closed(V3);
    let elsewhere = sandbox.path("elsewhere");
    fs::rename(&path, &elsewhere).unwrap();
    symlink(&elsewhere, &path).unwrap();
    refuses(&sandbox, &store, &addition, "linked-log", false);

    let (sandbox, store, path) = closed(V3);
    let seen = session(&store, "a");
    let directory = path.parent().unwrap();
    fs::rename(directory, sandbox.path("elsewhere")).unwrap();
    let append = || store.append(&seen, &addition, &mut Blind, &mut Unwatched).unwrap_err();
    assert!(matches!(append(), AppendError::Gone(_)));
    symlink(sandbox.path("elsewhere"), directory).unwrap();
    assert!(matches!(append(), AppendError::Linked(_)));
    assert!(!sandbox.path("elsewhere/session.lock").exists());
}

#[test]
fn a_log_that_is_not_whole_is_refused() {
    let message = notice(1);
    for kind in KINDS {
        // Half a record more: a crash, which dsh repairs.
        let (sandbox, store, path) = closed(kind);
        let whole = fs::read(&path).unwrap();
        let half = kind.batch(&[r#"{"type":"turn/start","seq":99,"time":1,"data":{"turn":2}}"#.to_owned()]);
        let torn = [&whole[..], &half[..half.len() - 2]].concat();
        fs::write(&path, torn).unwrap();
        refuses(&sandbox, &store, &offline(&message), "unfinished-tail", true);

        // A gap in the middle: damage.
        let mut events = kind.turn();
        events.insert(1, json!({"type": "no-such-type", "data": {}}));
        let (sandbox, store, _) = with(kind, &kind.header("a"), &events);
        refuses(&sandbox, &store, &offline(&message), "unsupported-log", false);
    }
    let (sandbox, store, path) = closed(V4);
    let mut bytes = fs::read(&path).unwrap();
    let at = bytes.len() - 2;
    bytes[at] ^= 0xFF;
    fs::write(&path, bytes).unwrap();
    refuses(&sandbox, &store, &offline(&message), "damaged-log", false);

    // A row that continues nothing at the end of a plain log, which dsh would cut off.
    let (sandbox, store, path) = closed(PLAIN);
    let mut file = OpenOptions::new().append(true).open(&path).unwrap();
    file.write_all(b"{\"type\":\"plan/mode\",\"seq\":77,\"time\":1,\"data\":{\"active\":true}}\n").unwrap();
    refuses(&sandbox, &store, &offline(&message), "unfinished-tail", true);
}

#[test]
fn a_session_at_work_is_left_alone() {
    let message = notice(1);
    for kind in KINDS {
        let turn = kind.turn();
        let (sandbox, store, _) = with(kind, &kind.header("a"), &turn[..turn.len() - 1]);
        refuses(&sandbox, &store, &offline(&message), "open-turn", true);

        let compaction = json!({"type": "compaction/start", "data": {"compactionId": "c", "turn": null}});
        let (sandbox, store, _) = with(kind, &kind.header("a"), &[&turn[..], &[compaction]].concat());
        refuses(&sandbox, &store, &offline(&message), "open-compaction", true);
    }
    // From v3 on the lock tells that nobody is at work on it any more.
    let crashed = |kind: Kind, lock: bool| {
        let turn = kind.turn();
        let (_sandbox, store, path) = with(kind, &kind.header("a"), &turn[..turn.len() - 1]);
        if lock {
            fs::write(path.with_file_name("session.lock"), "").unwrap();
        }
        match add(&store, &offline(&message)).unwrap_err() {
            AppendError::OpenTurn { is_crashed } => is_crashed,
            error => panic!("{error}"),
        }
    };
    assert_eq!([crashed(V3, true), crashed(V4, false), crashed(PLAIN, true)], [Some(true), Some(true), None]);
}

#[test]
fn a_session_that_a_message_would_spoil_is_refused() {
    let message = notice(1);
    let title = json!({"type": "session/title", "data": {"title": "t", "messageSeqs": [], "source": {"kind": "user"}}});
    for kind in KINDS {
        let reason = if kind.version == 0 { "no-step" } else { "no-system-head" };
        let (sandbox, store, _) = with(kind, &kind.header("a"), std::slice::from_ref(&title));
        refuses(&sandbox, &store, &offline(&message), reason, false);

        let mut header = kind.header("a");
        header["origin"] = "subagent".into();
        header["parentSession"] = "p".into();
        header["delegationDepth"] = 1.into();
        let (sandbox, store, _) = with(kind, &header, &kind.turn());
        refuses(&sandbox, &store, &offline(&message), "subagent-session", false);
    }
    for kind in [V3, V4] {
        let mut turn = kind.turn();
        turn.remove(2);
        let (sandbox, store, _) = with(kind, &kind.header("a"), &turn);
        refuses(&sandbox, &store, &offline(&message), "no-system-head", false);
    }
}

#[test]
fn the_id_of_a_message_is_used_once() {
    for kind in KINDS {
        let (sandbox, store, _) = closed(kind);
        let message = PluginMessage { id: "m-user".to_owned(), ..notice(1) };
        refuses(&sandbox, &store, &offline(&message), "message-id-taken", false);
    }
    let queued = json!({"type": "agent/inbox/spliced", "data": {"target": "next-turn", "start": 0, "inserted":
        [{"id": "m-queued", "role": "user", "source": {"kind": "user"}, "content": []}]}});
    let (sandbox, store, _) = with(V4, &V4.header("a"), &[&V4.turn()[..], &[queued]].concat());
    let message = PluginMessage { id: "m-queued".to_owned(), ..notice(1) };
    refuses(&sandbox, &store, &offline(&message), "message-id-taken", false);
}

fn addition<'a>(message: &'a PluginMessage, now: i64, assurance: &'a Assurance) -> Addition<'a> {
    Addition { message, now, assurance }
}

#[test]
fn a_v0_log_needs_a_reason_to_think_that_no_dsh_has_it_open() {
    let message = notice(1);
    for kind in [KINDS[0], KINDS[1]] {
        let (sandbox, store, path) = closed(kind);
        refuses(&sandbox, &store, &addition(&message, NOW, &Assurance::None), "unproven-offline", true);

        let modified = fs::metadata(&path).unwrap().modified().unwrap();
        let modified = modified.duration_since(std::time::UNIX_EPOCH).unwrap().as_millis() as i64;
        for now in [modified + STILL_FOR - 1, modified - 100_000] {
            refuses(&sandbox, &store, &addition(&message, now, &Assurance::Offline), "log-moving", true);
        }
        let ours = LogState::of_file(&path).unwrap();
        let other = Assurance::Ours(LogState { bytes: ours.bytes - 1, ..ours.clone() });
        refuses(&sandbox, &store, &addition(&message, NOW, &other), "log-changed", true);
        let other = Assurance::Ours(LogState { sha256: "0".repeat(64), ..ours.clone() });
        refuses(&sandbox, &store, &addition(&message, NOW, &other), "log-changed", true);

        let outcome = add(&store, &addition(&message, modified + STILL_FOR, &Assurance::Offline)).unwrap();
        let Outcome::Appended(done) = outcome else { panic!() };
        refuses(&sandbox, &store, &addition(&message, NOW, &Assurance::Ours(ours)), "message-id-taken", false);
        assert_eq!(done.state, Some(LogState::of_file(&path).unwrap()));
    }
    // The lock of the later dsh is proof enough.
    for kind in [V3, V4] {
        let (_sandbox, store, _) = closed(kind);
        assert!(add(&store, &addition(&message, 0, &Assurance::None)).is_ok());
    }
}

#[test]
fn a_session_that_somebody_holds_is_left_alone() {
    for kind in KINDS {
        let (sandbox, store, path) = closed(kind);
        let lock = File::create(path.with_file_name("session.lock")).unwrap();
        lock.try_lock().unwrap();
        refuses(&sandbox, &store, &offline(&notice(1)), "session-held", true);
        assert!(AppendError::Held.to_string().contains("dshkit"), "nobody can tell who it is");
        lock.unlock().unwrap();
        assert!(matches!(add(&store, &offline(&notice(1))), Ok(Outcome::Appended(_))));
        // And we let go of it ourselves.
        lock.try_lock().unwrap();
    }
}

/// Does something to the lock file or the log before a step.
struct Meddle<'a> {
    step: &'static str,
    times: u32,
    action: &'a dyn Fn(),
}

impl Steps for Meddle<'_> {
    fn reach(&mut self, moment: Moment, step: &'static str) -> io::Result<()> {
        if moment == Moment::Before && step == self.step && self.times > 0 {
            self.times -= 1;
            (self.action)();
        }
        Ok(())
    }
}

#[test]
fn what_happens_between_looking_and_locking_is_noticed() {
    let message = notice(1);
    let meddled = |kind: Kind, step, times, action: &dyn Fn(&Sandbox, &Path)| {
        let (sandbox, store, path) = closed(kind);
        let act = || action(&sandbox, &path);
        let mut steps = Meddle { step, times, action: &act };
        let result = store.append(&session(&store, "a"), &offline(&message), &mut Blind, &mut steps);
        (sandbox, path, result)
    };
    let replace = |_: &Sandbox, path: &Path| {
        let lock = path.with_file_name("session.lock");
        fs::write(path.with_file_name("new"), "").unwrap();
        fs::rename(path.with_file_name("new"), lock).unwrap();
    };
    for kind in [PLAIN, V3, V4] {
        let (_, _, result) = meddled(kind, "lock", 2, &replace);
        assert!(matches!(result, Ok(Outcome::Appended(_))), "a third try may succeed: {result:?}");
        let (_kept, path, result) = meddled(kind, "lock", 3, &replace);
        assert!(matches!(result, Err(AppendError::LockReplaced)), "{result:?}");
        assert_eq!(fs::read(path).unwrap(), whole(kind));
    }
    // A turn begins.
    let row = format!(r#"{{"type":"turn/start","seq":{},"time":1,"data":{{"turn":2}}}}"#, V4.turn().len());
    let theirs = V4.batch(&[row]);
    let begin = |_: &Sandbox, path: &Path| {
        OpenOptions::new().append(true).open(path).unwrap().write_all(&theirs).unwrap();
    };
    let (_, _, result) = meddled(V4, "lock", 1, &begin);
    assert!(matches!(result, Err(AppendError::OpenTurn { is_crashed: Some(true) })), "{result:?}");
    // Too late to look again, and still no harm.
    let (_kept, path, result) = meddled(V4, "log-open", 1, &begin);
    assert!(matches!(result, Err(AppendError::Moving)), "{result:?}");
    assert_eq!(fs::read(path).unwrap(), [whole(V4), theirs.clone()].concat());
    // A newer dsh migrates the log.
    let migrate = |sandbox: &Sandbox, _: &Path| {
        let new = Kind { encoding: Encoding::Plain, ..V4 };
        new.write(sandbox, &new.header("a"), &new.turn());
    };
    let (_, _, result) = meddled(PLAIN, "lock", 1, &migrate);
    let Ok(Outcome::Appended(done)) = result else { panic!("{result:?}") };
    assert_eq!((done.generation, done.seq), (Generation::V4, V4.turn().len() as u64));
}

#[test]
fn a_v0_dsh_that_writes_meanwhile_loses_nothing() {
    // Its record comes between ours and the look at it, so ours is not the last.
    let message = notice(1);
    let (_sandbox, store, path) = closed(PLAIN);
    let theirs = b"{\"type\":\"turn/start\",\"seq\":5,\"time\":1,\"data\":{\"turn\":2}}\n";
    let write = || OpenOptions::new().append(true).open(&path).unwrap().write_all(theirs).unwrap();
    let mut steps = Meddle { step: "log-sync", times: 1, action: &write };
    let error = store.append(&session(&store, "a"), &offline(&message), &mut Blind, &mut steps).unwrap_err();
    assert_eq!((error.reason(), error.is_pending()), ("write-not-undone", false), "{error}");
    assert!(fs::read(&path).unwrap().ends_with(theirs), "what somebody else wrote is not cut off");
}

#[test]
fn a_look_decides_before_everything_else_but_damage() {
    for kind in KINDS {
        let (sandbox, store, path) = closed(kind);
        let message = notice(1);
        let once = |assurance: &Assurance| {
            let addition = Addition { message: &message, now: NOW, assurance };
            store.append(&session(&store, "a"), &addition, &mut ById::of(&message), &mut Unwatched)
        };
        let Ok(Outcome::Appended(done)) = once(&Assurance::Offline) else { panic!("{kind:?}") };
        let present = Outcome::Present { seq: done.seq };
        let before = contents(&sandbox.sessions());
        assert_eq!(once(&Assurance::Offline).unwrap(), present);
        assert_eq!(once(&Assurance::None).unwrap(), present, "no word is needed to find it");
        let lock = File::open(path.with_file_name("session.lock")).unwrap();
        lock.try_lock().unwrap();
        assert_eq!(once(&Assurance::None).unwrap(), present, "nor the lock");
        let asked = store.check_append(&session(&store, "a"), &offline(&message), &mut ById::of(&message));
        assert_eq!(asked.unwrap(), Some(done.seq));
        assert_eq!(contents(&sandbox.sessions()), before);
    }

    struct No;
    impl Look for No {
        fn begin(&mut self, _session: &StoredSession) {}
        fn event(&mut self, _event: &Event<'_>) {}
        fn verdict(&mut self) -> Verdict {
            Verdict::Refuse
        }
    }
    let (sandbox, store, _) = closed(V4);
    let before = contents(&sandbox.sessions());
    let error = store.append(&session(&store, "a"), &offline(&notice(1)), &mut No, &mut Unwatched).unwrap_err();
    assert!(matches!(error, AppendError::Vetoed));
    assert_eq!(contents(&sandbox.sessions()), before);
}

#[test]
fn a_look_sees_the_log_again_under_the_lock() {
    #[derive(Default)]
    struct Count {
        readings: Vec<(u64, u64)>,
    }
    impl Look for Count {
        fn begin(&mut self, session: &StoredSession) {
            self.readings.push((session.format_version, 0));
        }
        fn event(&mut self, event: &Event<'_>) {
            let reading = self.readings.last_mut().unwrap();
            assert_eq!(event.seq, reading.1);
            reading.1 += 1;
        }
        fn verdict(&mut self) -> Verdict {
            Verdict::Append
        }
    }
    let (_sandbox, store, _) = closed(V4);
    let mut look = Count::default();
    store.append(&session(&store, "a"), &offline(&notice(1)), &mut look, &mut Unwatched).unwrap();
    let all = V4.turn().len() as u64;
    assert_eq!(look.readings, [(4, all), (4, all)]);
}

#[test]
fn a_failed_step_leaves_the_log_as_it_was() {
    for kind in KINDS {
        let (_sandbox, store, _) = closed(kind);
        let mut record = Record::default();
        store.append(&session(&store, "a"), &offline(&notice(1)), &mut Blind, &mut record).unwrap();
        let names: Vec<_> = record.0.iter().filter(|(moment, _)| *moment == Moment::Before).map(|s| s.1).collect();
        assert_eq!(names, ["lock-open", "lock", "log-open", "log-write", "log-sync"], "{kind:?}");
        for (moment, step) in record.0 {
            let (_sandbox, store, path) = closed(kind);
            let before = fs::read(&path).unwrap();
            let mut steps = FailAt { moment, step, failed: 0 };
            let error = store.append(&session(&store, "a"), &offline(&notice(1)), &mut Blind, &mut steps).unwrap_err();
            assert_eq!(steps.failed, 1);
            assert!(
                matches!(&error, AppendError::Write(fault) if fault.kind == WriteFaultKind::Full),
                "{kind:?} {moment:?} {step}: {error}"
            );
            assert!(!error.is_pending());
            assert_eq!(fs::read(&path).unwrap(), before, "{kind:?} {moment:?} {step}");
            // And nothing stands in the way of another try.
            assert!(matches!(add(&store, &offline(&notice(1))), Ok(Outcome::Appended(_))));
        }
    }
}

#[test]
fn what_cannot_be_taken_back_is_said() {
    struct Stuck;
    impl Steps for Stuck {
        fn reach(&mut self, moment: Moment, step: &'static str) -> io::Result<()> {
            let fails = (moment, step) == (Moment::After, "log-write") || step == "undo";
            if fails { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
        }
    }
    let (sandbox, store, _) = closed(V4);
    let message = notice(1);
    let error = store.append(&session(&store, "a"), &offline(&message), &mut Blind, &mut Stuck).unwrap_err();
    assert!(matches!(error, AppendError::NotUndone { .. }), "{error}");
    // Whoever looks finds it, and nothing is doubled.
    let again = store.append(&session(&store, "a"), &offline(&message), &mut ById::of(&message), &mut Unwatched);
    assert_eq!(again.unwrap(), Outcome::Present { seq: V4.turn().len() as u64 });
    assert_eq!(read(&sandbox.sessions(), "a").0.len(), V4.turn().len() + 1);
}

#[test]
fn a_lock_that_is_no_file_keeps_nobody_waiting() {
    let (sandbox, store, path) = closed(V4);
    let lock = path.with_file_name("session.lock");
    assert!(Command::new("mkfifo").arg(&lock).status().unwrap().success());
    let before = fs::read(&path).unwrap();
    let error = add(&store, &offline(&notice(1))).unwrap_err();
    assert_eq!(error.reason(), "write-failed", "{error}");
    fs::remove_file(&lock).unwrap();
    fs::create_dir(&lock).unwrap();
    assert_eq!(add(&store, &offline(&notice(1))).unwrap_err().reason(), "write-failed");
    assert_eq!(fs::read(&path).unwrap(), before);
    drop(sandbox);
}

#[test]
fn a_lock_that_is_a_link_is_not_followed() {
    for kind in [PLAIN, V4] {
        let (sandbox, store, path) = closed(kind);
        let lock = path.with_file_name("session.lock");
        let target = sandbox.path("elsewhere");
        symlink(&target, &lock).unwrap();
        refuses(&sandbox, &store, &offline(&notice(1)), "linked-lock", false);
        assert!(!target.exists(), "no file is made where it leads");
        fs::write(&target, "precious").unwrap();
        refuses(&sandbox, &store, &offline(&notice(1)), "linked-lock", false);
        // One that is put there after the look is not followed either.
        fs::remove_file(&lock).unwrap();
        fs::remove_file(&target).unwrap();
        let link = || symlink(&target, &lock).unwrap();
        let mut steps = Meddle { step: "lock-open", times: 1, action: &link };
        let error = store.append(&session(&store, "a"), &offline(&notice(1)), &mut Blind, &mut steps).unwrap_err();
        assert_eq!(error.reason(), "write-failed", "{error}");
        assert!(!target.exists());
        assert_eq!(fs::read(path).unwrap(), whole(kind));
    }
}

#[test]
fn what_may_not_be_written_is_left_alone() {
    let set = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    for (log, directory) in [(0o400, 0o700), (0o400, 0o500), (0o600, 0o500)] {
        let (sandbox, store, path) = closed(V4);
        let parent = path.parent().unwrap();
        set(&path, log);
        set(parent, directory);
        let before = contents(&sandbox.sessions());
        if OpenOptions::new().append(true).open(&path).is_ok() && log == 0o400 {
            eprintln!("skipped: this user may write to files that nobody may write to");
            set(parent, 0o700);
            return;
        }
        let error = add(&store, &offline(&notice(1))).unwrap_err();
        assert!(matches!(&error, AppendError::Write(fault) if fault.kind == WriteFaultKind::NotPermitted), "{error}");
        assert_eq!(contents(&sandbox.sessions()), before);
        set(parent, 0o700);
    }
}

/// What a child of this test is told, in variables of its environment.
const STORE: &str = "DSHKIT_TEST_STORE";
const NUMBER: &str = "DSHKIT_TEST_NUMBER";
const STOP_AT: &str = "DSHKIT_TEST_STOP_AT";
const TEXT: &str = "DSHKIT_TEST_TEXT";

#[expect(clippy::disallowed_methods, reason = "a child of a test is told by its environment what to do")]
fn told(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// This test binary, to be run as another process that appends to session `a` of a store.
fn child(root: &Path, number: u32) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "append::appends_as_told"]).env(STORE, root).env(NUMBER, number.to_string());
    command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
    command
}

/// The whole of a child process; by itself it appends to a log of its own.
#[test]
fn appends_as_told() {
    let (sandbox, own, _) = closed(V4);
    let store = told(STORE).map_or(own, JsonlStore::new);
    let number = told(NUMBER).map_or(1, |number| number.parse().unwrap());
    let mut message = notice(number);
    message.texts.extend(told(TEXT));
    let stop: u32 = told(STOP_AT).map_or(u32::MAX, |stop| stop.parse().unwrap());
    loop {
        let mut look = ById::of(&message);
        match store.append(&session(&store, "a"), &offline(&message), &mut look, &mut StopAt(stop)) {
            Err(AppendError::Held | AppendError::Moving) => std::thread::yield_now(),
            Err(error) => panic!("{error}"),
            Ok(_) => break,
        }
    }
    drop(sandbox);
}

#[test]
fn processes_at_once_all_append() {
    for kind in KINDS {
        let (sandbox, _store, _) = closed(kind);
        let children: Vec<_> = (1..=4).map(|number| child(&sandbox.sessions(), number).spawn().unwrap()).collect();
        for mut child in children {
            assert!(child.wait().unwrap().success(), "{kind:?}");
        }
        let first = kind.turn().len() as u64;
        let (events, nodes) = read(&sandbox.sessions(), "a");
        let appended = &events[first as usize..];
        let seqs: Vec<u64> = appended.iter().map(|event| event["seq"].as_u64().unwrap()).collect();
        assert_eq!(seqs, [first, first + 1, first + 2, first + 3], "{kind:?}");
        assert!(nodes.ends_with(&seqs));
        let mut ids: Vec<&str> = appended.iter().map(|event| event["data"]["id"].as_str().unwrap()).collect();
        ids.sort_unstable();
        assert_eq!(ids, [1, 2, 3, 4].map(|number| notice(number).id), "{kind:?}");
    }
}

#[test]
fn a_process_killed_at_any_step_leaves_a_log_that_loads_and_another_finishes() {
    for kind in [KINDS[0], KINDS[1], V3, V4] {
        let mut kills = 0;
        loop {
            let (sandbox, store, path) = closed(kind);
            let before = fs::read(&path).unwrap();
            let stop = kills + 1;
            let status = child(&sandbox.sessions(), 1).env(STOP_AT, stop.to_string()).status().unwrap();
            if status.success() {
                break;
            }
            assert!(status.signal().is_some(), "{kind:?}: it was killed, {status}");
            kills += 1;
            let (events, _) = read(&sandbox.sessions(), "a");
            assert!(fs::read(&path).unwrap().starts_with(&before));
            let message = notice(1);
            let mut look = ById::of(&message);
            let done = store.append(&session(&store, "a"), &offline(&message), &mut look, &mut Unwatched).unwrap();
            let was_there = events.len() > kind.turn().len();
            assert_eq!(matches!(done, Outcome::Present { .. }), was_there, "{kind:?}, killed at {stop}");
            let (events, _) = read(&sandbox.sessions(), "a");
            assert_eq!(events.len(), kind.turn().len() + 1, "{kind:?}, killed at {stop}: the message is there once");
        }
        assert_eq!(kills, 10, "{kind:?}: before and after each of five steps");
    }
}

#[test]
fn a_disk_that_is_full_half_way_leaves_the_log_as_it_was() {
    // A limit on the size of files makes the system write a part and then refuse, as a full disk does.
    let mut state = 1u32;
    let noise: String = (0..40_000)
        .map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            char::from(b'!' + (state >> 24) as u8 % 90)
        })
        .collect();
    for kind in KINDS {
        let (sandbox, store, path) = closed(kind);
        let before = fs::read(&path).unwrap();
        let direct = child(&sandbox.sessions(), 1);
        let limited = |blocks: &str| {
            let mut command = Command::new("sh");
            command.arg("-c").arg(format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\""));
            command.arg(direct.get_program()).args(direct.get_args());
            command.env(STORE, sandbox.sessions()).env(NUMBER, "1").env(TEXT, &noise);
            command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
            command
        };
        assert_eq!(limited("16").status().unwrap().code(), Some(101), "{kind:?}: the append failed");
        assert_eq!(fs::read(&path).unwrap(), before, "{kind:?}");
        assert!(path.with_file_name("session.lock").exists(), "it came as far as writing");
        assert!(limited("unlimited").status().unwrap().success(), "{kind:?}");
        assert!(fs::read(&path).unwrap().len() > 16 * 1024);
        assert!(matches!(add(&store, &offline(&notice(2))), Ok(Outcome::Appended(_))));
    }
}
