//! A real kill before and after every step of what writes; then `deliver`, and everything is as if nothing had
//! happened, or as if all had.

use super::{A, CWD, Chats, FOLD, Talk, stand_still, write_session, written};
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
use dshkit::sidechat::deliver as pending;
use dshkit::sidechat::delivery::Terms;
use dshkit::sidechat::id::Id;
use dshkit::sidechat::language::Language;
use dshkit::sidechat::ledger::Ledger;
use dshkit::sidechat::relation::Sessions;
use dshkit::sidechat::{doctor, lifecycle, relink, withdraw};
use dshkit::stores::Encoding;
use dshkit::stores::steps::Steps;
use serde_json::{Value, json};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What a child of this test is told, in variables of its environment.
const HOME: &str = "DSHKIT_TEST_HOME";
const WORK: &str = "DSHKIT_TEST_WORK";
const STOP_AT: &str = "DSHKIT_TEST_STOP_AT";

const CITE: &str = "3f8b1c1e-4c55-4b0f-9d6a-0e2f5a7b8c9d";
/// Another session of the working directory: one that quotes, or that gets an orphan.
const OTHER: &str = "other";
const TERMS: Terms = Terms { offline: true, now: NOW };

#[expect(clippy::disallowed_methods, reason = "a child of a test is told by its environment what to do")]
fn told(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Does one piece of work in a home: `create`, `deliver`, `rebuild`, or something to a side chat or fold:
/// `ask`, `commit`, `cite`, `quote` (in another session), `withdraw`, `hide`, `unhide`, `relink`.
fn work(home: &Path, what: &str, steps: &mut dyn Steps) -> Result<(), Failure> {
    let corpus = Corpus::at(&home.join("sessions"));
    let (act, id) = what.split_once(' ').unwrap_or((what, ""));
    match act {
        "create" => {
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
        "ask" => {
            let catalog = corpus.catalog()?;
            let ledger = Ledger::open_existing(home)?.unwrap();
            let sessions = Sessions { corpus: &corpus, catalog: &catalog };
            let question = Question::new(&ledger, &sessions, &js(id), Some("Is it safe?"), NOW)?;
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
            let kept =
                question.open(NOW, steps)?.keep(home, &route, 8_000, reply, steps).map_err(|lost| lost.failure)?;
            // The turn is kept; who was to note it down failed.
            kept.unnoted.map_or(Ok(()), Err)
        }
        "commit" => commit::commit(home, &corpus, &Id::parse(id)?, &Wanted::default(), &TERMS, steps).map(drop),
        "cite" | "quote" => {
            let catalog = corpus.catalog()?;
            let is_cross_parent = act == "quote";
            let into = is_cross_parent.then(|| catalog.select(&Selector::Exactly(js(OTHER)))).transpose()?;
            let subject = Subject::Message { id: js("r1"), range: None };
            let wanted = cite::Wanted { child: &js(id), subject: &subject, caller: None, into, is_cross_parent };
            cite::cite(home, &corpus, &Id::parse(CITE)?, &wanted, &TERMS, steps).map(drop)
        }
        "withdraw" => {
            let wanted = withdraw::Wanted { reason: "Wrong.", caller: None };
            withdraw::withdraw(home, &corpus, &Id::parse(id)?, &wanted, &TERMS, steps).map(drop)
        }
        "hide" | "unhide" => lifecycle::hide(home, &js(id), act == "hide", steps).map(drop),
        "relink" => relink::relink(home, &corpus, &js(id), &js(OTHER), NOW, steps).map(drop),
        "rebuild" => doctor::rebuild(home, &corpus, steps).map(drop),
        "deliver" => pending::deliver(home, &corpus, None, &TERMS, steps).map(drop),
        _ => panic!("{what}"),
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

/// A home like that of some chats.
pub(super) fn copy(chats: &Chats) -> Sandbox {
    copy_of(&chats.sandbox)
}

/// A home like another.
fn copy_of(original: &Sandbox) -> Sandbox {
    let sandbox = Sandbox::new();
    copy_tree(&original.home(), &sandbox.home());
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

/// Every log in the store loads.
#[track_caller]
fn loads(sandbox: &Sandbox) {
    let check = sandbox.run(&["sessions", "check"]).success().json();
    assert!(check["sessions"].as_array().unwrap().iter().all(|session| session["verdict"] == "ok"), "{check}");
    assert_eq!((&check["dshLists"], &check["problems"]), (&json!(true), &json!([])), "{check}");
}

/// The chats of the parent as they are shown, and every log in the store loads.
fn chats_of(sandbox: &Sandbox) -> Vec<Value> {
    loads(sandbox);
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

/// All that the ledger and the logs of sessions say of side chats.
fn recorded(sandbox: &Sandbox) -> String {
    let mut text = String::new();
    let mut tell = |what: &dyn std::fmt::Debug| text.push_str(&format!("{what:#?}\n"));
    let ledger = Ledger::open_existing(&sandbox.home()).unwrap();
    for mut chat in ledger.as_ref().map(|ledger| ledger.chats().unwrap()).unwrap_or_default() {
        let (ledger, child) = (ledger.as_ref().unwrap(), chat.child.id.clone());
        // A note that saves work and that no answer depends on.
        chat.log = None;
        tell(&chat);
        tell(&(ledger.folds(&child).unwrap(), ledger.cites(&child).unwrap(), ledger.relinks(&child).unwrap()));
        for mut withdrawal in ledger.withdrawals(&child).unwrap() {
            // The one id that is drawn when it is done.
            withdrawal.id = Id::parse(CITE).unwrap();
            tell(&withdrawal);
        }
    }
    let corpus = Corpus::at(&sandbox.sessions());
    for record in &corpus.catalog().unwrap().records {
        tell(&(record.id(), written(&sandbox.sessions(), &record.id().to_string_lossy())));
    }
    text
}

/// Whether somebody who is killed can leave behind what is neither the state before nor that after.
#[derive(Clone, Copy, PartialEq)]
enum Change {
    AtOnce,
    InSteps,
}

/// Kills a piece of work at every step. Whoever delivers then, or does it again, or both, finds or leaves what
/// there would be without the kill.
fn is_finished_whoever_comes(chats: &Chats, what: &str, change: Change) {
    let after = |works: &[&str]| {
        let sandbox = copy(chats);
        works.iter().for_each(|work| self::work(&sandbox.home(), work, &mut Record::default()).unwrap());
        recorded(&sandbox)
    };
    let (undone, begun, done) = (after(&["deliver"]), after(&[]), after(&[what, "deliver"]));
    let done_late = after(&["deliver", what, "deliver"]);
    let (mut kills, mut undecided, mut decided) = (0, 0, 0);
    loop {
        let sandbox = copy(chats);
        if !killed(&sandbox.home(), what, kills + 1) {
            break;
        }
        kills += 1;
        let place = format!("{:?}, {what}, killed at {kills}", chats.kind);
        loads(&sandbox);
        if change == Change::AtOnce {
            let now = recorded(&sandbox);
            assert!(now == begun || now == done, "{place}: it is done by half: {now}");
        }
        let again = |sandbox: &Sandbox| {
            work(&sandbox.home(), what, &mut Record::default()).unwrap_or_else(|failure| panic!("{place}: {failure}"));
        };
        let other = copy_of(&sandbox);
        again(&other);
        work(&other.home(), "deliver", &mut Record::default()).unwrap();
        assert_eq!(recorded(&other), done, "{place}, and done again");
        work(&sandbox.home(), "deliver", &mut Record::default()).unwrap();
        let now = recorded(&sandbox);
        assert!(now == undone || now == done, "{place}, and delivered: {now}");
        if now == done {
            decided += 1;
        } else {
            undecided += 1;
        }
        again(&sandbox);
        let now = recorded(&sandbox);
        assert!(now == done || now == done_late, "{place}, delivered, and done again: {now}");
    }
    assert!(kills >= 6 && decided > 0 && (undecided > 0 || undone == done), "{what}: {kills} {undecided} {decided}");
}

/// A side chat with two committed folds, and another session of the directory; the ids of side chat and folds.
fn used(kind: Kind) -> (Chats, String, [String; 2]) {
    let chats = Chats::new(kind);
    let mut talk = Talk::new(kind);
    talk.exchange(("u1", "One?"), ("a1", "Two."));
    write_session(&chats.sandbox, kind, OTHER, Some(CWD), &talk);
    let child = chats.create(&[]);
    chats.go_on(&child, |talk| {
        talk.exchange(("q1", "Is it safe?"), ("r1", "Yes."));
    });
    let folds = ["a.rs", "b.rs"].map(|name| chats.fold(&child, &FOLD.replace("a.rs", name)));
    folds.iter().for_each(|fold| drop(chats.commit(fold, &[]).success()));
    (chats, child, folds)
}

#[test]
fn a_killed_withdrawal_is_finished_with_one_notice() {
    for kind in kinds() {
        let (chats, _, [_, second]) = used(kind);
        is_finished_whoever_comes(&chats, &format!("withdraw {second}"), Change::InSteps);
    }
}

#[test]
fn a_killed_quotation_in_another_session_is_finished_with_one_message() {
    for kind in [KINDS[0], KINDS[5]] {
        let (chats, child, _) = used(kind);
        is_finished_whoever_comes(&chats, &format!("quote {child}"), Change::InSteps);
    }
}

#[test]
fn what_is_pending_is_delivered_once_however_often_that_is_broken_off() {
    for kind in [KINDS[1], KINDS[4]] {
        let (chats, child, [_, second]) = used(kind);
        let [third, fourth] = ["c.rs", "d.rs"].map(|name| chats.fold(&child, &FOLD.replace("a.rs", name)));
        // Of a v0 log nobody has given his word, and the others are held.
        let lock = File::create(chats.parent.with_file_name("session.lock")).unwrap();
        lock.lock().unwrap();
        let is_pending = |words: &[&str], what: &str| {
            assert_eq!(chats.run(words).success().json()[what]["state"], "pending", "{kind:?} {words:?}");
        };
        is_pending(&["commit", &third], "fold");
        lock.unlock().unwrap();
        is_finished_whoever_comes(&chats, &format!("commit {fourth}"), Change::InSteps);
        lock.lock().unwrap();
        is_pending(&["withdraw", &second, "--reason", "Wrong."], "withdrawal");
        is_pending(&["cite", &child, "r1"], "cite");
        lock.unlock().unwrap();
        is_finished_whoever_comes(&chats, "deliver", Change::InSteps);
    }
}

#[test]
fn what_waits_keeps_its_order_however_often_it_has_to_wait_again() {
    let (chats, child, _) = used(KINDS[5]);
    let hold = |sandbox: &Sandbox| {
        let parent = chats.parent.strip_prefix(chats.sandbox.home()).unwrap();
        let lock = File::create(sandbox.home().join(parent).with_file_name("session.lock")).unwrap();
        lock.lock().unwrap();
        lock
    };
    let lock = hold(&chats.sandbox);
    for name in ["c.rs", "d.rs"] {
        let fold = chats.fold(&child, &FOLD.replace("a.rs", name));
        assert_eq!(chats.run(&["commit", &fold]).success().json()["fold"]["state"], "pending");
    }
    lock.unlock().unwrap();
    for at in 1.. {
        let sandbox = copy(&chats);
        let lock = hold(&sandbox);
        let is_killed = killed(&sandbox.home(), "deliver", at);
        lock.unlock().unwrap();
        work(&sandbox.home(), "deliver", &mut Record::default()).unwrap();
        let messages = written(&sandbox.sessions(), A);
        let revisions: Vec<&str> =
            messages.iter().map(|(_, text)| text.split(' ').find(|word| word.starts_with("rev=")).unwrap()).collect();
        assert_eq!(revisions, ["rev=1", "rev=2", "rev=3", "rev=4"], "killed at {at}");
        if !is_killed {
            assert!(at > 8, "{at}");
            break;
        }
    }
}

#[test]
fn what_is_killed_in_the_ledger_is_done_or_not() {
    let (chats, child, [_, second]) = used(KINDS[5]);
    let hide = format!("hide {child}");
    is_finished_whoever_comes(&chats, &hide, Change::AtOnce);
    work(&chats.sandbox.home(), &hide, &mut Record::default()).unwrap();
    is_finished_whoever_comes(&chats, &format!("unhide {child}"), Change::AtOnce);
    for what in [format!("withdraw {second}"), format!("cite {child}")] {
        work(&chats.sandbox.home(), &what, &mut Record::default()).unwrap();
    }
    let ledger = chats.sandbox.home().join("dshkit");
    let kept = chats.sandbox.path("kept");
    fs::rename(&ledger, &kept).unwrap();
    is_finished_whoever_comes(&chats, "rebuild", Change::AtOnce);
    fs::rename(&kept, &ledger).unwrap();
    fs::remove_dir_all(chats.parent.parent().unwrap()).unwrap();
    is_finished_whoever_comes(&chats, &format!("relink {child}"), Change::AtOnce);
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
