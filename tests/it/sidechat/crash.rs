//! A real kill before and after every step of create, commit and cite; then `deliver`, and everything is as
//! if nothing had happened, or as if all had.

use super::{A, Chats, FOLD, stand_still, written};
use crate::logs::{FailAt, KINDS, Kind, NOW, Record, StopAt, read};
use crate::support::{Outcome, Sandbox, copy_tree};
use dshkit::corpus::{Corpus, Selector};
use dshkit::error::Failure;
use dshkit::generations::encode::turn::{Ending, Piece, PieceKind, Reply};
use dshkit::model::js_string::JsString;
use dshkit::sidechat::ask::Question;
use dshkit::sidechat::chat::{PermissionMode, SeedMode};
use dshkit::sidechat::cite::{self, Subject};
use dshkit::sidechat::commit::{self, Wanted};
use dshkit::sidechat::create::{self, WantedModel};
use dshkit::sidechat::delivery::Terms;
use dshkit::sidechat::id::Id;
use dshkit::sidechat::language::Language;
use dshkit::sidechat::ledger::Ledger;
use dshkit::sidechat::relation::Sessions;
use dshkit::stores::Encoding;
use dshkit::stores::steps::Steps;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What a child of this test is told, in variables of its environment.
const HOME: &str = "DSHKIT_TEST_HOME";
const WORK: &str = "DSHKIT_TEST_WORK";
const STOP_AT: &str = "DSHKIT_TEST_STOP_AT";

const CITE: &str = "3f8b1c1e-4c55-4b0f-9d6a-0e2f5a7b8c9d";
const TERMS: Terms = Terms { offline: true, now: NOW };

#[expect(clippy::disallowed_methods, reason = "a child of a test is told by its environment what to do")]
fn told(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Does one piece of work in a home: `create`, `ask CHILD`, `commit FOLD`, or `cite CHILD`.
fn work(home: &Path, what: &str, steps: &mut dyn Steps) -> Result<(), Failure> {
    let corpus = Corpus::at(&home.join("sessions"));
    match what.split_once(' ') {
        None => {
            let catalog = corpus.catalog()?;
            let parent = catalog.select(&Selector::Exactly(js(A)))?;
            let wanted = create::Wanted {
                question: "Which key?".to_owned(),
                title: None,
                seed: SeedMode::Tail(2),
                permission: PermissionMode::ReadOnly,
                model: WantedModel::Inherit,
                language: Language::Chinese,
            };
            create::draft(&corpus, parent, &wanted, NOW)?.publish(home, &corpus, steps).map(drop)
        }
        Some(("ask", child)) => {
            let catalog = corpus.catalog()?;
            let ledger = Ledger::open_existing(home)?.unwrap();
            let sessions = Sessions { corpus: &corpus, catalog: &catalog };
            let question = Question::new(&ledger, &sessions, &js(child), Some("Is it safe?"), NOW)?;
            let route = question.route().unwrap().clone();
            let pieces = ["It ", "is ", "safe."];
            let piece = |text: &&str| Piece { time: NOW, kind: PieceKind::Text, text: (*text).to_owned() };
            let reply = Reply {
                id: Id::random().to_string(),
                pieces: pieces.iter().map(piece).collect(),
                usage: None,
                ending: Ending::Completed,
                ended: NOW,
            };
            let kept = question.open(NOW, steps)?.keep(home, &route, 8_000, reply, steps)?;
            // The turn is kept; who was to note it down failed.
            kept.unnoted.map_or(Ok(()), Err)
        }
        Some(("commit", fold)) => {
            commit::commit(home, &corpus, &Id::parse(fold)?, &Wanted::default(), &TERMS, steps).map(drop)
        }
        Some((_, child)) => {
            let subject = Subject::Message { id: js("r1"), range: None };
            let wanted =
                cite::Wanted { child: &js(child), subject: &subject, caller: None, into: None, is_cross_parent: false };
            cite::cite(home, &corpus, &Id::parse(CITE)?, &wanted, &TERMS, steps).map(drop)
        }
    }
}

fn js(text: &str) -> JsString {
    JsString::from(text.to_owned())
}

/// The whole of a child process; by itself it does nothing.
#[test]
fn works_as_told() {
    let (Some(home), Some(what), Some(stop)) = (told(HOME), told(WORK), told(STOP_AT)) else { return };
    work(&PathBuf::from(home), &what, &mut StopAt(stop.parse().unwrap())).unwrap();
}

/// Runs a piece of work in another process, which is killed at a moment. Whether it was.
pub(super) fn killed(home: &Path, what: &str, at: u32) -> bool {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "sidechat::crash::works_as_told"]);
    command.env(HOME, home).env(WORK, what).env(STOP_AT, at.to_string());
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap();
    use std::os::unix::process::ExitStatusExt;
    assert!(status.success() || status.signal().is_some(), "{what}, killed at {at}: {status}");
    !status.success()
}

/// A home like another.
pub(super) fn copy(chats: &Chats) -> Sandbox {
    let sandbox = Sandbox::new();
    copy_tree(&chats.sandbox.home(), &sandbox.home());
    for entry in files(&sandbox.sessions()) {
        stand_still(&entry);
    }
    sandbox
}

fn files(folder: &Path) -> Vec<PathBuf> {
    crate::logs::contents(folder).into_iter().filter_map(|(path, bytes)| bytes.map(|_| path)).collect()
}

/// Finishes what a crash left.
pub(super) fn deliver(sandbox: &Sandbox) -> Outcome {
    for entry in files(&sandbox.sessions()) {
        stand_still(&entry);
    }
    sandbox.run(&["sidechat", "deliver", "--offline"]).success()
}

/// The chats of the parent as they are shown, and every log in the store loads.
fn chats_of(sandbox: &Sandbox) -> Vec<Value> {
    let check = sandbox.run(&["sessions", "check"]).success().json();
    assert!(check["sessions"].as_array().unwrap().iter().all(|session| session["verdict"] == "ok"), "{check}");
    assert_eq!((&check["dshLists"], &check["problems"]), (&json!(true), &json!([])), "{check}");
    let listed = sandbox.run(&["sidechat", "list", "--parent", A]).success().json();
    let ids =
        listed["chats"].as_array().unwrap().iter().map(|chat| chat["childSessionId"].as_str().unwrap().to_owned());
    ids.map(|id| sandbox.run(&["sidechat", "show", &id]).success().json()).collect()
}

/// One kind of log of each generation, both encodings among them.
fn kinds() -> [Kind; 4] {
    let v3 = Kind { version: 3, encoding: Encoding::Zstd };
    [KINDS[0], KINDS[1], v3, KINDS[4]]
}

#[test]
fn a_killed_create_leaves_a_side_chat_or_none() {
    for kind in kinds() {
        let chats = Chats::new(kind);
        let (mut kills, mut made) = (0, 0);
        loop {
            let sandbox = copy(&chats);
            let parent =
                std::fs::read(sandbox.sessions().join("--srv-demo-shop--").join(A).join(kind.file_name())).unwrap();
            if !killed(&sandbox.home(), "create", kills + 1) {
                break;
            }
            kills += 1;
            deliver(&sandbox);
            let listed = sandbox.run(&["sessions", "list"]).success().json()["sessions"].as_array().unwrap().len();
            let shown = chats_of(&sandbox);
            assert_eq!(shown.len(), listed - 1, "{kind:?}, killed at {kills}: ledger and store agree");
            made += shown.len();
            assert_eq!(chats.bytes(), parent);
            // Another try is not in the way of the first.
            work(&sandbox.home(), "create", &mut Record::default()).unwrap();
            assert_eq!(chats_of(&sandbox).len(), shown.len() + 1);
            let project = sandbox.sessions().join("--srv-demo-shop--");
            assert_eq!(std::fs::read_dir(project).unwrap().count(), shown.len() + 2, "nothing else is left");
        }
        assert!(kills > 20 && made > 0, "{kind:?}: {kills} kills, {made} side chats");
    }
}

/// How often the side chat was asked whether it is safe, and how often it answered.
fn asked(sandbox: &Sandbox, child: &str) -> (usize, usize) {
    let (events, _) = read(&sandbox.sessions(), child);
    let count = |is: &dyn Fn(&Value) -> bool| events.iter().filter(|event| is(event)).count();
    let asked = count(&|event| event["data"]["content"][0]["text"] == "Is it safe?");
    (asked, count(&|event| event["type"] == "assistant/message"))
}

#[test]
fn a_killed_ask_leaves_a_whole_turn_or_none() {
    for kind in [KINDS[0], KINDS[1]] {
        let chats = Chats::new(kind);
        let child = chats.create(&[]);
        let what = format!("ask {child}");
        let (mut kills, mut kept) = (0, 0);
        loop {
            let sandbox = copy(&chats);
            if !killed(&sandbox.home(), &what, kills + 1) {
                break;
            }
            kills += 1;
            let place = format!("{kind:?}, killed at {kills}");
            let before = asked(&sandbox, &child);
            assert!(matches!(before, (0, 0) | (1, 1)), "{place}: {before:?}");
            kept += before.0;
            assert_eq!(chats_of(&sandbox).len(), 1, "{place}");
            // The next question needs nobody's word, whatever the ledger has heard.
            work(&sandbox.home(), &what, &mut Record::default()).unwrap_or_else(|failure| panic!("{place}: {failure}"));
            assert_eq!(asked(&sandbox, &child), (before.0 + 1, before.1 + 1), "{place}");
            let (events, _) = read(&sandbox.sessions(), &child);
            let turns: Vec<&Value> = events
                .iter()
                .filter(|event| event["type"] == "turn/start")
                .map(|event| &event["data"]["turn"])
                .collect();
            assert_eq!(
                turns,
                (1..=before.0 + 2).map(|turn| json!(turn)).collect::<Vec<_>>().iter().collect::<Vec<_>>()
            );
            chats_of(&sandbox);
        }
        assert!(kills >= 16 && kept >= 4, "{kind:?}: {kills} kills, {kept} turns");
    }
}

#[test]
fn a_killed_commit_or_cite_is_finished_with_one_message() {
    for kind in kinds() {
        let chats = Chats::new(kind);
        let child = chats.create(&[]);
        chats.go_on(&child, |talk| {
            talk.exchange(("q1", "Is it safe?"), ("r1", "Yes."));
        });
        let first = chats.fold(&child, FOLD);
        chats.commit(&first, &[]).success();
        let fold = chats.fold(&child, &FOLD.replace("a.rs", "b.rs"));
        for what in [format!("commit {fold}"), format!("cite {child}")] {
            let mut kills = 0;
            let (mut undecided, mut written_before) = (0, 0);
            loop {
                let sandbox = copy(&chats);
                if !killed(&sandbox.home(), &what, kills + 1) {
                    break;
                }
                kills += 1;
                let place = format!("{kind:?}, {what}, killed at {kills}");
                written_before += usize::from(written(&sandbox.sessions(), A).len() == 2);
                deliver(&sandbox);
                // What was not decided on before the kill is decided on now.
                for entry in files(&sandbox.sessions()) {
                    stand_still(&entry);
                }
                undecided += usize::from(written(&sandbox.sessions(), A).len() == 1);
                work(&sandbox.home(), &what, &mut Record::default())
                    .unwrap_or_else(|failure| panic!("{place}: {failure}"));
                let messages = written(&sandbox.sessions(), A);
                assert_eq!(messages.len(), 2, "{place}: {messages:?}");
                let shown = chats_of(&sandbox);
                let of = |list: &str, at: usize| shown[0][list][at].clone();
                let done = if what.starts_with("cite") { of("cites", 0) } else { of("folds", 1) };
                assert_eq!(
                    (&done["state"], &done["parentEventSeq"]),
                    (&json!("committed"), &json!(messages[1].0)),
                    "{place}"
                );
                if what.starts_with("commit") {
                    assert_eq!(
                        (&of("folds", 0)["standing"], &done["standing"]),
                        (&json!("superseded"), &json!("current"))
                    );
                }
                let (events, _) = read(&sandbox.sessions(), A);
                let turns = events.iter().filter(|event| event["type"] == "turn/start").count();
                assert_eq!(turns, 2, "{place}: nobody was woken");
            }
            assert!(
                kills >= 16 && undecided > 0 && written_before > 0,
                "{kind:?} {what}: {kills} {undecided} {written_before}"
            );
        }
    }
}

#[test]
fn a_disk_that_is_full_at_any_step_changes_nothing_that_cannot_be_finished() {
    for kind in [KINDS[1], KINDS[5]] {
        let chats = Chats::new(kind);
        let child = chats.create(&[]);
        chats.go_on(&child, |talk| {
            talk.exchange(("q1", "Is it safe?"), ("r1", "Yes."));
        });
        let fold = chats.fold(&child, FOLD);
        let fresh = chats.create(&[]);
        for what in ["create".to_owned(), format!("commit {fold}"), format!("cite {child}"), format!("ask {fresh}")] {
            let sandbox = copy(&chats);
            let mut record = Record::default();
            work(&sandbox.home(), &what, &mut record).unwrap();
            let full = written(&sandbox.sessions(), A).len();
            assert!(record.0.len() >= 16, "{record:?}", record = record.0);
            for (moment, step) in record.0 {
                let sandbox = copy(&chats);
                let log = sandbox.sessions().join("--srv-demo-shop--").join(A).join(kind.file_name());
                let before = std::fs::read(&log).unwrap();
                let place = format!("{kind:?}, {what}, {moment:?} {step}");
                let mut steps = FailAt { moment, step, failed: 0 };
                let failure = work(&sandbox.home(), &what, &mut steps);
                assert!(steps.failed > 0, "{place}");
                // A failed tidying up after a step is the one that may pass unnoticed.
                if failure.is_ok() {
                    assert!(step.starts_with("temp-remove") || step.ends_with("-sync"), "{place}");
                }
                if written(&sandbox.sessions(), A).is_empty() {
                    assert_eq!(std::fs::read(&log).unwrap(), before, "{place}");
                }
                deliver(&sandbox);
                if what.starts_with("ask") {
                    // It is kept, or not; and it can be asked again.
                    work(&sandbox.home(), &what, &mut Record::default())
                        .unwrap_or_else(|failure| panic!("{place}: {failure}"));
                    assert!(matches!(asked(&sandbox, &fresh), (1, 1) | (2, 2)), "{place}");
                } else if what != "create" {
                    work(&sandbox.home(), &what, &mut Record::default())
                        .unwrap_or_else(|failure| panic!("{place}: {failure}"));
                    assert_eq!(written(&sandbox.sessions(), A).len(), full, "{place}");
                }
                let listed = sandbox.run(&["sessions", "list"]).success().json()["sessions"].as_array().unwrap().len();
                assert_eq!(chats_of(&sandbox).len(), listed - 1, "{place}");
            }
        }
    }
}
