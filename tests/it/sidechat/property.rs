//! Whatever is done in whatever order, and wherever it is broken off: revisions rise, at most one is current,
//! what was decided on never changes, and each id that is committed has one message.

use super::{A, Chats, FOLD, written};
use crate::logs::{Kind, NOW, StopAt};
use dshkit::corpus::{Corpus, Selector};
use dshkit::error::Failure;
use dshkit::model::js_string::JsString;
use dshkit::sidechat::chat::{PermissionMode, SeedMode};
use dshkit::sidechat::cite::{self, Subject};
use dshkit::sidechat::commit::{self, commit};
use dshkit::sidechat::create::{self, WantedModel};
use dshkit::sidechat::deliver::deliver;
use dshkit::sidechat::delivery::Terms;
use dshkit::sidechat::fold::{Fold, FoldMode, Standing, State};
use dshkit::sidechat::id::Id;
use dshkit::sidechat::language::Language;
use dshkit::sidechat::ledger::Ledger;
use dshkit::sidechat::lifecycle::{self, Change};
use dshkit::sidechat::prepare;
use dshkit::sidechat::relation::Sessions;
use dshkit::sidechat::withdraw::{self, withdraw};
use dshkit::stores::Encoding;
use dshkit::stores::steps::{Steps, Unwatched};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What a child of this test is told, in variables of its environment.
const HOME: &str = "DSHKIT_TEST_HOME";
const ACT: &str = "DSHKIT_TEST_ACT";
const STOP_AT: &str = "DSHKIT_TEST_STOP_AT";

/// Something that is done to a side chat or fold, by its place among those there are; folds newest first.
#[derive(Clone, Copy, Debug)]
enum Act {
    Create,
    Fold(usize, bool),
    /// With another text than the prepared one, or not.
    Commit(usize, bool),
    Withdraw(usize),
    Archive(usize),
    Restore(usize),
    Cite(usize, usize),
    Deliver,
    /// A dsh opens the parent, or closes it again.
    Hold,
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        1 => Just(Act::Create),
        4 => (0..2usize, any::<bool>()).prop_map(|(chat, is_incremental)| Act::Fold(chat, is_incremental)),
        4 => (0..3usize, any::<bool>()).prop_map(|(fold, is_other_text)| Act::Commit(fold, is_other_text)),
        3 => prop_oneof![Just(0), 0..4usize].prop_map(Act::Withdraw),
        1 => (0..2usize).prop_map(Act::Archive),
        1 => (0..2usize).prop_map(Act::Restore),
        2 => (0..2usize, 0..3usize).prop_map(|(chat, id)| Act::Cite(chat, id)),
        1 => Just(Act::Deliver),
        1 => Just(Act::Hold),
    ]
}

/// At which moment an act is killed, and whether the same is done again then. The message of most acts is written
/// between the 8th and the last moment, and that is where a retry has something to find.
fn kill() -> impl Strategy<Value = (u32, bool)> {
    (prop_oneof![1 => 1..10u32, 2 => 10..28u32], any::<bool>())
}

fn id(kind: u32, number: usize) -> Id {
    Id::parse(&format!("6f1c2a3b-000{kind}-4000-8000-{number:012}")).unwrap()
}

/// Does it; a refusal is as good as a success.
fn perform(home: &Path, act: Act, number: usize, steps: &mut dyn Steps) -> Result<(), Failure> {
    let now = NOW + number as i64;
    let terms = Terms { offline: true, now };
    let corpus = Corpus::at(&home.join("sessions"));
    let catalog = corpus.catalog()?;
    let ledger = Ledger::open_existing(home)?;
    let chats = ledger.as_ref().map_or(Ok(Vec::new()), Ledger::chats)?;
    let folds: Vec<_> = match &ledger {
        Some(ledger) => {
            let of: Result<Vec<_>, _> = chats.iter().map(|chat| ledger.folds(&chat.child.id)).collect();
            of?.into_iter().flatten().collect()
        }
        None => Vec::new(),
    };
    let child = |at: usize| chats.get(at % chats.len().max(1)).map(|chat| chat.child.id.clone());
    let newest_first = |at: usize| folds.iter().rev().nth(at % folds.len().max(1));
    match act {
        Act::Create => {
            let parent = catalog.select(&Selector::Exactly(JsString::from(A.to_owned())))?;
            let wanted = create::Wanted {
                question: format!("Question {number}?"),
                title: None,
                seed: SeedMode::Tail(1),
                permission: PermissionMode::ReadOnly,
                model: WantedModel::Inherit,
                language: Language::Chinese,
            };
            create::draft(&corpus, parent, &wanted, now)?.publish(home, &corpus, steps)?;
        }
        Act::Fold(at, is_incremental) => {
            let (Some(child), Some(ledger)) = (child(at), &ledger) else { return Ok(()) };
            let current = folds.iter().find(|fold| fold.child == child && fold.standing == Some(Standing::Current));
            let mode = match current.filter(|_| is_incremental) {
                Some(base) => FoldMode::Incremental { base: base.revision },
                None => FoldMode::Full,
            };
            let sessions = Sessions { corpus: &corpus, catalog: &catalog };
            let foldable = prepare::foldable(ledger, &sessions, &child, mode)?;
            let text = FOLD.replace("a.rs", &format!("{number}.rs"));
            prepare::from_text(home, &foldable, &id(1, number), &text, now, steps)?;
        }
        Act::Commit(at, is_other_text) => {
            let Some(fold) = newest_first(at) else { return Ok(()) };
            let text = FOLD.replace("a.rs", &format!("other {number}.rs"));
            let text = is_other_text.then_some(text.as_str());
            let wanted = commit::Wanted { text, allow_stale: true, caller: None };
            commit(home, &corpus, &fold.id, &wanted, &terms, steps)?;
        }
        Act::Withdraw(at) => {
            let Some(fold) = newest_first(at) else { return Ok(()) };
            withdraw(home, &corpus, &fold.id, &withdraw::Wanted { reason: "Wrong.", caller: None }, &terms, steps)?;
        }
        Act::Archive(at) | Act::Restore(at) => {
            let Some(child) = child(at) else { return Ok(()) };
            let change = if matches!(act, Act::Archive(_)) { Change::Archive } else { Change::Restore };
            lifecycle::change(home, &corpus, &child, change, now, steps)?;
        }
        Act::Cite(at, cite) => {
            let Some(child) = child(at) else { return Ok(()) };
            let Some(fold) = folds.iter().find(|fold| fold.child == child && fold.is_in_force()) else { return Ok(()) };
            let subject = Subject::Fold(fold.revision);
            let wanted =
                cite::Wanted { child: &child, subject: &subject, caller: None, into: None, is_cross_parent: false };
            cite::cite(home, &corpus, &id(2, cite), &wanted, &terms, steps)?;
        }
        Act::Deliver => {
            deliver(home, &corpus, None, &terms, steps)?;
        }
        Act::Hold => {}
    }
    Ok(())
}

fn told(act: Act, number: usize) -> String {
    let (name, first, second) = match act {
        Act::Create => ("create", 0, 0),
        Act::Fold(chat, is_incremental) => ("fold", chat, usize::from(is_incremental)),
        Act::Commit(fold, is_other_text) => ("commit", fold, usize::from(is_other_text)),
        Act::Withdraw(fold) => ("withdraw", fold, 0),
        Act::Archive(chat) => ("archive", chat, 0),
        Act::Restore(chat) => ("restore", chat, 0),
        Act::Cite(chat, id) => ("cite", chat, id),
        Act::Deliver | Act::Hold => ("deliver", 0, 0),
    };
    format!("{name} {first} {second} {number}")
}

fn understood(told: &str) -> (Act, usize) {
    let words: Vec<&str> = told.split(' ').collect();
    let number = |at: usize| words[at].parse().unwrap();
    let act = match words[0] {
        "create" => Act::Create,
        "fold" => Act::Fold(number(1), number(2) == 1),
        "commit" => Act::Commit(number(1), number(2) == 1),
        "withdraw" => Act::Withdraw(number(1)),
        "archive" => Act::Archive(number(1)),
        "restore" => Act::Restore(number(1)),
        "cite" => Act::Cite(number(1), number(2)),
        _ => Act::Deliver,
    };
    (act, number(3))
}

#[expect(clippy::disallowed_methods, reason = "a child of a test is told by its environment what to do")]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// The whole of a child process; by itself it does nothing.
#[test]
fn acts_as_told() {
    let (Some(home), Some(told), Some(stop)) = (variable(HOME), variable(ACT), variable(STOP_AT)) else { return };
    let (act, number) = understood(&told);
    let _ = perform(&PathBuf::from(home), act, number, &mut StopAt(stop.parse().unwrap()));
}

/// Does it in another process, which is killed at a moment, if it comes to that.
fn perform_and_kill(home: &Path, act: Act, number: usize, at: u32) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "sidechat::property::acts_as_told"]);
    command.env(HOME, home).env(ACT, told(act, number)).env(STOP_AT, at.to_string());
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap();
    assert!(status.success() || status.signal().is_some(), "{act:?}: {status}");
}

/// What was seen so far of a fold: its revision, and the text that was decided on.
type Seen = BTreeMap<Id, (JsString, u64, Option<String>)>;

/// Looks whether everything is as it must be, and if it is finished, whether what is in the log is committed.
fn check(chats: &Chats, seen: &mut Seen, highest: &mut BTreeMap<JsString, u64>, is_finished: bool) {
    let messages = written(&chats.sandbox.sessions(), A);
    let markers: Vec<&str> = messages.iter().map(|(_, text)| text.split('\n').next().unwrap()).collect();
    let distinct: BTreeSet<&str> = markers.iter().copied().collect();
    assert_eq!(distinct.len(), markers.len(), "no message is there twice: {markers:?}");
    let place = |words: &str| messages.iter().find(|(_, text)| text.starts_with(words)).map(|(seq, _)| *seq);
    let place_of = |fold: &Fold| place(&format!("[SideChat fold id={} ", fold.id));
    let Some(ledger) = Ledger::open_existing(&chats.sandbox.home()).unwrap() else {
        return assert!(messages.is_empty());
    };
    let mut known = 0;
    for chat in ledger.chats().unwrap() {
        let folds = ledger.folds(&chat.child.id).unwrap();
        let current: Vec<u64> =
            folds.iter().filter(|fold| fold.standing == Some(Standing::Current)).map(|fold| fold.revision).collect();
        let newest = folds.iter().filter(|fold| fold.is_in_force()).map(|fold| fold.revision).max();
        assert_eq!(current, newest.into_iter().collect::<Vec<_>>(), "the newest in force is current, and no other");
        let mut reached = highest.get(&chat.child.id).copied().unwrap_or_default();
        for fold in &folds {
            let found = place_of(fold);
            known += usize::from(found.is_some());
            assert!(!is_finished || found.is_none() || fold.state == State::Committed, "{fold:?}");
            if fold.state == State::Committed {
                assert_eq!(found, fold.delivered.map(|place| place.seq), "a committed fold has its message");
                let text = &messages.iter().find(|(seq, _)| Some(*seq) == found).unwrap().1;
                assert!(text.ends_with(fold.committed_text.as_deref().unwrap()));
            }
            match seen.get(&fold.id) {
                None => assert!(fold.revision > reached, "revisions rise"),
                Some((child, revision, text)) => {
                    assert_eq!((child, revision), (&fold.child, &fold.revision));
                    assert!(text.is_none() || *text == fold.committed_text, "what was decided on never changes");
                }
            }
            let is_behind = |newer: &&Fold| newer.revision > fold.revision && place_of(newer) < found;
            let newer = found.and_then(|_| folds.iter().filter(|newer| newer.is_in_force()).find(is_behind));
            assert!(newer.is_none(), "an older conclusion stands behind a newer one: {fold:?} {newer:?}");
            reached = reached.max(fold.revision);
            seen.insert(fold.id.clone(), (fold.child.clone(), fold.revision, fold.committed_text.clone()));
        }
        highest.insert(chat.child.id.clone(), reached);
        for cite in ledger.cites(&chat.child.id).unwrap() {
            let found = place(&format!("[SideChat cite id={} ", cite.id));
            known += usize::from(found.is_some());
            assert!(!is_finished || found.is_none() || cite.state == State::Committed, "{cite:?}");
            assert!(cite.state != State::Committed || found == cite.delivered.map(|place| place.seq));
        }
        for withdrawal in ledger.withdrawals(&chat.child.id).unwrap() {
            let found = place(&format!("[SideChat fold-withdrawal id={} ", withdrawal.fold));
            known += usize::from(found.is_some());
            assert!(!is_finished || found.is_none() || withdrawal.state == State::Committed, "{withdrawal:?}");
            assert!(withdrawal.state != State::Committed || found == withdrawal.delivered.map(|place| place.seq));
            let fold = ledger.fold(&withdrawal.fold).unwrap().unwrap();
            assert_eq!(fold.standing, Some(Standing::Withdrawn));
        }
    }
    assert_eq!(known, messages.len(), "every message is that of a record");
}

/// At which moment an act is killed, if at all, and whether it is done again then.
type Kill = Option<(u32, bool)>;

/// Does this to a parent of a generation, and looks at everything after each act and in the end.
fn live(acts: impl IntoIterator<Item = (Act, Kill)>, version: u64) {
    let kind = Kind { version, encoding: Encoding::Zstd };
    let chats = Chats::new(kind);
    let home = chats.sandbox.home();
    let lock = (version > 0).then(|| File::create(chats.parent.with_file_name("session.lock")).unwrap());
    let mut is_held = false;
    let (mut seen, mut highest) = (Seen::new(), BTreeMap::new());
    perform(&home, Act::Create, 1000, &mut Unwatched).unwrap();
    let mut before = chats.bytes();
    for (number, (act, kill)) in acts.into_iter().enumerate() {
        match (act, &lock) {
            (Act::Hold, Some(lock)) => {
                if is_held {
                    lock.unlock().unwrap()
                } else {
                    lock.lock().unwrap()
                }
                is_held = !is_held;
            }
            _ => match kill {
                Some((at, is_done_again)) => {
                    perform_and_kill(&home, act, number, at);
                    if is_done_again {
                        let _ = perform(&home, act, number, &mut Unwatched);
                    }
                }
                None => drop(perform(&home, act, number, &mut Unwatched)),
            },
        }
        let now = chats.bytes();
        // Only a record that a kill left half written may be cut off again.
        assert!(now.starts_with(&before) || kill.is_some() || before.starts_with(&now));
        before = now;
        if kill.is_none() {
            check(&chats, &mut seen, &mut highest, false);
        }
    }
    if let Some(lock) = &lock {
        lock.unlock().unwrap();
    }
    perform(&home, Act::Deliver, 2000, &mut Unwatched).unwrap();
    check(&chats, &mut seen, &mut highest, true);
    let ledger = Ledger::open_existing(&home).unwrap().unwrap();
    assert!(ledger.folds_in(State::Pending).unwrap().is_empty());
    assert!(ledger.cites_in(State::Pending).unwrap().is_empty());
    assert!(ledger.withdrawals_in(State::Pending).unwrap().is_empty());
}

#[test]
fn histories_that_ask_for_trouble() {
    let calm = |acts: &[Act], version| live(acts.iter().map(|act| (*act, None)), version);
    let (fold, newest, older) = (Act::Fold(0, false), Act::Commit(0, false), Act::Commit(1, false));
    for version in [0, 3, 4] {
        // The one that was taken back leaves its place to the one before, and to none when that goes, too.
        calm(&[fold, newest, fold, newest, Act::Withdraw(0), Act::Withdraw(1)], version);
        // The older one comes too late, unless the newer is taken back.
        calm(&[fold, fold, newest, older, Act::Deliver, Act::Withdraw(0), older], version);
        // The newer takes the place of the older.
        calm(&[fold, newest, fold, newest], version);
        // What was decided on stays when it is decided on again, while it waits and later.
        let again = Act::Commit(0, true);
        calm(&[fold, Act::Hold, newest, again, Act::Hold, again], version);
        // One notice, which has to wait.
        calm(&[fold, newest, Act::Hold, Act::Withdraw(0), Act::Withdraw(0), Act::Hold], version);
    }
    // What was killed after the message was written is not written again.
    let killed = |at| [(fold, None), (newest, Some((at, true))), (Act::Withdraw(0), Some((at, true)))];
    live((9..26).flat_map(killed), 4);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_done_and_broken_off(
        acts in proptest::collection::vec((act(), proptest::option::weighted(0.5, kill())), 8..24),
        version in prop_oneof![Just(0), Just(3), Just(4)],
    ) {
        live(acts, version);
    }
}
