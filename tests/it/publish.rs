//! Making a new session.

use crate::logs::{Blind, FailAt, NOW, Record, StopAt, contents, read, session, store};
use crate::support::{Sandbox, outcome};
use dshkit::generations::encode::{
    ApprovalPolicy, Form, NewEvent, NewSession, PluginMessage, SandboxMode, Section, opening,
};
use dshkit::model::js_string::JsStr;
use dshkit::stores::Encoding;
use dshkit::stores::jsonl::{
    Addition, Assurance, JsonlStore, LogState, Outcome, PublishError, Published, WriteFaultKind,
};
use dshkit::stores::steps::{Moment, Steps, Unwatched};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Command;

const ID: &str = "session-2f0e6c1a-0000-4000-8000-000000000001";
const ENCODINGS: [Encoding; 2] = [Encoding::Plain, Encoding::Zstd];

pub(crate) fn new_session(id: &str, cwd: Option<&str>) -> NewSession {
    NewSession {
        id: JsStr::from(id).into_owned(),
        created_at: NOW as u64,
        cwd: cwd.map(|cwd| JsStr::from(cwd).into_owned()),
    }
}

pub(crate) fn seed() -> PluginMessage {
    let text = "Known facts about this conversation.".to_owned();
    PluginMessage {
        id: "6f1c2a3b-0000-4000-8000-00000000000a".to_owned(),
        texts: vec!["What follows from the seed?".to_owned()],
        plugin: "dsh-sidechat".to_owned(),
        form: Form::Snapshot { sections: vec![Section { name: "SideChat seed and question".to_owned(), text }] },
    }
}

/// Makes the session as a SideChat does.
pub(crate) fn publish(
    store: &JsonlStore,
    session: &NewSession,
    encoding: Encoding,
    steps: &mut dyn Steps,
) -> Result<Published, PublishError> {
    let seed = seed();
    let events = opening("澄清：What follows", Some(SandboxMode::ReadOnly), Some(ApprovalPolicy::Never), &seed);
    store.publish(session, encoding, &events, steps)
}

#[test]
fn a_session_appears_where_dsh_looks_for_it_with_what_was_given() {
    for encoding in ENCODINGS {
        for (cwd, project) in [(Some("/srv/demo/project b"), "--srv-demo-project~0020b--"), (None, "_no-cwd")] {
            let sandbox = Sandbox::new();
            let store = store(&sandbox);
            let made = publish(&store, &new_session(ID, cwd), encoding, &mut Unwatched).unwrap();
            let name = if encoding == Encoding::Zstd { "session.jsonl.zstd" } else { "session.jsonl" };
            assert_eq!(made.path, sandbox.sessions().join(project).join(ID).join(name));
            assert_eq!(made.state, LogState::of_file(&made.path).unwrap());
            let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
            let directory = made.path.parent().unwrap();
            assert_eq!([mode(&made.path), mode(directory), mode(directory.parent().unwrap())], [0o600, 0o700, 0o700]);
            assert_eq!(fs::read_dir(directory).unwrap().count(), 1, "nothing but the log");

            let listed = session(&store, ID);
            assert_eq!((listed.format_version, listed.encoding), (0, encoding));
            assert_eq!(listed.header.cwd.as_ref().map(|cwd| cwd.to_string_lossy().into_owned()).as_deref(), cwd);
            assert_eq!((listed.header.created_at, listed.header.delegation_depth), (NOW as u64, Some(0)));
            assert!(listed.header.parent_session.is_none() && !listed.header.is_subagent);
            let (events, nodes) = read(&sandbox.sessions(), ID);
            let kinds: Vec<&Value> = events.iter().map(|event| &event["type"]).collect();
            let expected = [
                "session/title",
                "sandbox/mode",
                "approval/policy",
                "turn/start",
                "step/start",
                "user/message",
                "step/end",
                "turn/end",
            ];
            assert_eq!(kinds, expected);
            assert_eq!(nodes, [5], "the seed is before the model");

            // The program itself shows it.
            let mut command = sandbox.command();
            command.args(["sessions", "list", "--long", "--json"]);
            let document = outcome(command, b"").success().json();
            assert_eq!(document["sessions"][0]["title"], "澄清：What follows");
            assert_eq!((&document["sessions"][0]["health"], &document["problems"]), (&json!("ok"), &json!([])));
        }
    }
}

#[test]
fn a_compressed_log_has_the_frames_dsh_writes() {
    let sandbox = Sandbox::new();
    let made = publish(&store(&sandbox), &new_session(ID, None), Encoding::Zstd, &mut Unwatched).unwrap();
    let bytes = fs::read(made.path).unwrap();
    let starts: Vec<usize> =
        (0..bytes.len()).filter(|at| bytes[*at..].starts_with(&[0x28, 0xB5, 0x2F, 0xFD, 0x04])).collect();
    assert_eq!((starts.len(), starts[0]), (2, 0), "one for the header, one for the events");
    let header = zstd::decode_all(&bytes[..starts[1]]).unwrap();
    let expected =
        format!(r#"{{"type":"session","version":0,"id":"{ID}","createdAt":{NOW},"delegationDepth":0}}{}"#, "\n");
    assert_eq!(String::from_utf8(header).unwrap(), expected);
}

#[test]
fn our_own_session_takes_a_message_while_it_is_as_we_left_it() {
    for encoding in ENCODINGS {
        let sandbox = Sandbox::new();
        let store = store(&sandbox);
        let mut state = publish(&store, &new_session(ID, None), encoding, &mut Unwatched).unwrap().state;
        for number in 1..=3 {
            let message = crate::logs::notice(number);
            let assurance = Assurance::Ours(state);
            let addition = Addition { message: &message, now: NOW, assurance: &assurance };
            let done = store.append(&session(&store, ID), &addition, &mut Blind, &mut Unwatched).unwrap();
            let Outcome::Appended(done) = done else { panic!() };
            assert_eq!(done.seq, 7 + u64::from(number));
            state = done.state.unwrap();
        }
        assert_eq!(read(&sandbox.sessions(), ID).1, [5, 8, 9, 10]);
    }
}

#[test]
fn what_is_there_stays() {
    let sandbox = Sandbox::new();
    let store = store(&sandbox);
    let made = publish(&store, &new_session(ID, Some("/w")), Encoding::Zstd, &mut Unwatched).unwrap();
    let before = contents(&sandbox.sessions());
    for (cwd, encoding) in [(Some("/w"), Encoding::Zstd), (Some("/w"), Encoding::Plain), (Some("/v"), Encoding::Zstd)] {
        let error = publish(&store, &new_session(ID, cwd), encoding, &mut Unwatched).unwrap_err();
        assert!(matches!(&error, PublishError::Exists(path) if *path == made.path.parent().unwrap()), "{error}");
        assert_eq!(contents(&sandbox.sessions()), before);
    }
    // Somebody else is quicker by one step.
    struct Quicker<'a>(&'a Path);
    impl Steps for Quicker<'_> {
        fn reach(&mut self, moment: Moment, step: &'static str) -> std::io::Result<()> {
            if (moment, step) == (Moment::Before, "publish") {
                fs::write(self.0, "theirs")?;
            }
            Ok(())
        }
    }
    let theirs = sandbox.sessions().join("--w--/other/session.jsonl.zstd");
    let result = publish(&store, &new_session("other", Some("/w")), Encoding::Zstd, &mut Quicker(&theirs));
    assert!(matches!(result, Err(PublishError::Exists(_))));
    assert_eq!(fs::read(&theirs).unwrap(), b"theirs");
    assert_eq!(fs::read_dir(theirs.parent().unwrap()).unwrap().count(), 1, "and nothing of ours is beside it");
}

#[test]
fn what_dsh_would_refuse_is_not_made() {
    let sandbox = Sandbox::new();
    let store = store(&sandbox);
    let before = contents(&sandbox.sessions());
    for (id, cwd) in [("", None), (ID, Some("")), (ID, Some("relative")), (ID, Some("C:\\x"))] {
        let error = publish(&store, &new_session(id, cwd), Encoding::Zstd, &mut Unwatched).unwrap_err();
        assert!(matches!(error, PublishError::InvalidHeader), "{id:?} {cwd:?}: {error}");
    }
    let error = publish(&store, &new_session(ID, None), Encoding::Sqlite, &mut Unwatched).unwrap_err();
    assert!(matches!(error, PublishError::Database));
    let open = [NewEvent::TurnStart(1), NewEvent::StepStart(1)];
    let error = store.publish(&new_session(ID, None), Encoding::Zstd, &open, &mut Unwatched).unwrap_err();
    assert!(matches!(error, PublishError::NotReadBack(_)), "{error}");
    // An id cannot leave its project.
    let made = publish(&store, &new_session("../../up", None), Encoding::Plain, &mut Unwatched).unwrap();
    assert_eq!(made.path, sandbox.sessions().join("_no-cwd/..~002F..~002Fup/session.jsonl"));
    fs::remove_dir_all(sandbox.sessions().join("_no-cwd")).unwrap();
    assert_eq!(contents(&sandbox.sessions()), before);

    // Neither a file nor a link is a directory of the store.
    for link in [false, true] {
        let place = sandbox.sessions().join("--w--");
        fs::create_dir_all(sandbox.path("elsewhere")).unwrap();
        if link {
            symlink(sandbox.path("elsewhere"), &place).unwrap()
        } else {
            fs::write(&place, "").unwrap()
        }
        let error = publish(&store, &new_session(ID, Some("/w")), Encoding::Zstd, &mut Unwatched).unwrap_err();
        assert!(matches!(&error, PublishError::NotADirectory(path) if *path == place), "{error}");
        assert_eq!(fs::read_dir(sandbox.path("elsewhere")).unwrap().count(), 0);
        fs::remove_file(&place).unwrap();
    }
}

#[test]
fn a_failed_step_leaves_nothing() {
    for encoding in ENCODINGS {
        for has_root in [false, true] {
            let start = || {
                let sandbox = Sandbox::new();
                if !has_root {
                    fs::remove_dir(sandbox.sessions()).unwrap();
                }
                sandbox
            };
            let mut record = Record::default();
            publish(&store(&start()), &new_session(ID, Some("/w")), encoding, &mut record).unwrap();
            let names: Vec<_> = record.0.iter().filter(|(moment, _)| *moment == Moment::Before).map(|s| s.1).collect();
            let directories = ["directory", "parent-sync"].repeat(if has_root { 2 } else { 3 });
            let log = ["temp-create", "temp-write", "temp-sync", "publish", "directory-sync"];
            assert_eq!(names, [&directories[..], &log].concat());
            for (moment, step) in record.0 {
                let sandbox = start();
                let before = contents(&sandbox.home());
                let mut steps = FailAt { moment, step, failed: 0 };
                let result = publish(&store(&sandbox), &new_session(ID, Some("/w")), encoding, &mut steps);
                assert_eq!(steps.failed, 1);
                let error = result.unwrap_err();
                assert!(
                    matches!(&error, PublishError::Write(fault) if fault.kind == WriteFaultKind::Full),
                    "{moment:?} {step}: {error}"
                );
                assert_eq!(contents(&sandbox.home()), before, "{moment:?} {step}");
            }
        }
    }
}

/// What a child of this test is told, in variables of its environment.
const STORE: &str = "DSHKIT_TEST_STORE";
const STOP_AT: &str = "DSHKIT_TEST_STOP_AT";

#[expect(clippy::disallowed_methods, reason = "a child of a test is told by its environment what to do")]
fn told(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// The whole of a child process; by itself it makes a session in a store of its own.
#[test]
fn publishes_as_told() {
    let sandbox = Sandbox::new();
    let store = told(STORE).map_or(store(&sandbox), JsonlStore::new);
    let stop: u32 = told(STOP_AT).map_or(u32::MAX, |stop| stop.parse().unwrap());
    publish(&store, &new_session(ID, Some("/w")), Encoding::Zstd, &mut StopAt(stop)).unwrap();
}

#[test]
fn a_process_killed_at_any_step_leaves_a_whole_session_or_none() {
    let mut kills = 0;
    loop {
        let sandbox = Sandbox::new();
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", "publish::publishes_as_told"]).env(STORE, sandbox.sessions());
        child.env(STOP_AT, (kills + 1).to_string());
        child.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
        let status = child.status().unwrap();
        if status.success() {
            break;
        }
        assert!(status.signal().is_some(), "it was killed: {status}");
        kills += 1;
        let catalog = dshkit::corpus::Corpus::at(&sandbox.sessions()).catalog().unwrap();
        let is_there = !catalog.records.is_empty();
        assert!(catalog.problems.iter().all(|problem| problem.kind.name() == "orphan-temp"), "{:?}", catalog.problems);
        let store = store(&sandbox);
        let again = publish(&store, &new_session(ID, Some("/w")), Encoding::Zstd, &mut Unwatched);
        match again {
            Ok(made) => {
                assert!(!is_there, "killed at {kills}");
                assert_eq!(fs::read_dir(made.path.parent().unwrap()).unwrap().count(), 1, "what was left is gone");
            }
            Err(error) => assert!(is_there && matches!(error, PublishError::Exists(_)), "killed at {kills}: {error}"),
        }
        assert_eq!(read(&sandbox.sessions(), ID).1, [5], "killed at {kills}");
    }
    assert_eq!(kills, 18, "before and after each of nine steps");
}

#[test]
fn two_at_once_make_one() {
    for _ in 0..20 {
        let sandbox = Sandbox::new();
        let store = store(&sandbox);
        let made = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..2)
                .map(|_| scope.spawn(|| publish(&store, &new_session(ID, None), Encoding::Zstd, &mut Unwatched)))
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap().is_ok()).filter(|ok| *ok).count()
        });
        assert!(made <= 1);
        assert_eq!(made == 1, store_has_session(&store), "who says it is there is right");
    }
}

fn store_has_session(store: &JsonlStore) -> bool {
    use dshkit::stores::Store;
    !store.list().unwrap().sessions.is_empty()
}
