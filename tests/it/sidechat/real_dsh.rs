//! Side chats and their parents, judged by the real dsh. `DSHKIT_ORACLE` names the oracle directory; without
//! it these tests are skipped.

use super::ask::{answer, begin, interrupt};
use super::loop_by_model::Model;
use super::{A, CWD, Chats, FOLD, KINDS_TO_TRY, PLAIN, Talk, stand_still, write_session};
use crate::logs::{Kind, contents};
use crate::projections::by_the_rules_of;
use crate::resume::{oracle, request, resume};
use crate::support::{Differences, copy_tree, outcome};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::channel;

/// The dsh that can read logs of a kind: those of its generation and of newer ones.
fn readers(kind: Kind) -> &'static [&'static str] {
    match kind.version {
        0 => &["v0", "v3", "v4"],
        3 => &["v3", "v4"],
        _ => &["v4"],
    }
}

#[test]
fn dsh_goes_on_with_a_side_chat_and_with_its_parent() {
    let Some(oracle) = oracle() else { return };
    for kind in KINDS_TO_TRY {
        let chats = Chats::new(kind);
        let document =
            chats.run(&["create", "--parent", A, "--question", "Which key?", "--seed", "tail:2"]).success().json();
        let child = document["chat"]["childSessionId"].as_str().unwrap();
        chats.go_on(child, |talk| {
            talk.exchange(("q1", "Is it safe?"), ("r1", "Yes, it is."));
        });
        let fold = chats.fold(child, FOLD);
        chats.commit(&fold, &[]).success();
        chats.cite(child, &["r1"]).success();
        let fold = format!("[SideChat fold id={fold} rev=1 source={child}]");
        let cite = format!(" source={child} message=r1]");
        for version in readers(kind) {
            let keep = chats.sandbox.path(&format!("parent-by-{version}"));
            let texts = ["How do others do it?", "With a key for each request.", &fold, FOLD, &cite, "Please go on."];
            resume(&oracle, version, &chats.sandbox.sessions(), A, &texts, &keep);
        }
        let fresh = chats.create(&["--seed", "tail:2"]);
        for version in ["v0", "v3", "v4"] {
            let keep = chats.sandbox.path(&format!("child-by-{version}"));
            let texts = ["### user (u2)", "### assistant (a2)", "Which key?", "Please go on."];
            resume(&oracle, version, &chats.sandbox.sessions(), &fresh, &texts, &keep);
        }
    }
}

#[test]
fn dsh_goes_on_with_a_side_chat_that_was_asked() {
    let Some(oracle) = oracle() else { return };
    for kind in [KINDS_TO_TRY[0], PLAIN] {
        let chats = Chats::new(kind);
        let child = chats.create(&["--seed", "tail:2"]);
        let ask = |text: &str, command: &str| {
            let words = if text.is_empty() { vec!["ask", &child] } else { vec!["ask", &child, text] };
            chats.run(&[&words[..], &["--model-command", command]].concat())
        };
        ask("", "echo 'The key of the request.'").success();
        ask("Is it safe?", "printf 'It '; sleep 0.02; printf 'is '; sleep 0.02; printf 'safe.'").success();
        ask("Will it fail?", "echo half; exit 1").fails_with_data(8, "model-failed");
        let model = Model::new(vec![answer(&["It ", "works."])]);
        chats.run(&["ask", &child, "And now?", "--endpoint", &model.url]).success();
        for version in ["v0", "v3", "v4"] {
            let keep = chats.sandbox.path(&format!("asked-by-{version}"));
            let texts = [
                "### assistant (a2)",
                "Which key?",
                "The key of the request.",
                "Is it safe?",
                "It is safe.",
                "Will it fail?",
                "And now?",
                "It works.",
                "Please go on.",
            ];
            resume(&oracle, version, &chats.sandbox.sessions(), &child, &texts, &keep);
            // dsh counts what was used as we do.
            let cached = keep.join(format!("storages/session_projcache/sessions/{child}.json"));
            if version != "v0" {
                let cached: Value = serde_json::from_slice(&fs::read(cached).unwrap()).unwrap();
                let theirs = &cached["record"]["rows"]["tokenUsage"]["val"]["totals"];
                assert_eq!(theirs["cacheReadTokens"], 128, "{theirs}");
                let mut command = chats.sandbox.command();
                command.arg("--home").arg(&keep).args(["--no-cache", "sessions", "projections", &child]);
                let ours = outcome(command, b"").success().json();
                assert_eq!(ours["values"]["tokenUsage"], *theirs);
            }
            // What a dsh has gone on with is continued there.
            let mut command = chats.sandbox.command();
            command.args(["--home"]).arg(&keep).args(["sidechat", "ask", &child, "x", "--model-command", "echo no"]);
            copy_tree(&chats.sandbox.home().join("dshkit"), &keep.join("dshkit"));
            outcome(command, b"").fails(7, "continue-in-dsh");
        }
    }
}

#[test]
fn dsh_goes_on_with_what_killed_writers_left() {
    let Some(oracle) = oracle() else { return };
    for kind in KINDS_TO_TRY {
        let chats = Chats::new(kind);
        let child = chats.create(&[]);
        if kind.version == 0 {
            for (at, texts) in
                [(8, &["Which key?", "Please go on."][..]), (14, &["Is it safe?", "It is safe.", "Please go on."])]
            {
                let sandbox = super::crash::copy(&chats);
                assert!(super::crash::killed(&sandbox.home(), &format!("ask {child}"), at));
                for version in ["v0", "v3", "v4"] {
                    let keep = sandbox.path(&format!("asked-by-{version}"));
                    resume(&oracle, version, &sandbox.sessions(), &child, texts, &keep);
                }
            }
        }
        let fold = chats.fold(&child, FOLD);
        for at in [14, 18] {
            let sandbox = super::crash::copy(&chats);
            assert!(super::crash::killed(&sandbox.home(), &format!("commit {fold}"), at));
            super::crash::deliver(&sandbox);
            let marker = format!("[SideChat fold id={fold} rev=1 source={child}]");
            let version = format!("v{}", kind.version);
            let keep = sandbox.path("keep");
            resume(&oracle, &version, &sandbox.sessions(), A, &[&marker, "Please go on."], &keep);
        }
    }
}

/// A side chat in which two answers were given.
fn talked(chats: &Chats) -> String {
    let child = chats.create(&[]);
    chats.go_on(&child, |talk| {
        talk.exchange(("q1", "Is it safe?"), ("r1", "Yes, it is."));
        talk.exchange(("q2", "For how long?"), ("r2", "For a year."));
    });
    child
}

/// A committed fold, and one that builds on it, leads to two messages, and is committed too: their ids and
/// texts.
fn two_folds(chats: &Chats, child: &str) -> [(String, String); 2] {
    let first = chats.fold(child, FOLD);
    chats.commit(&first, &[]).success();
    let pointer = |id: &str, label: &str| format!("[{label}](sidechat://{child}/message/{id})");
    let evidence = format!("- 依据：{}、{}。", pointer("r1", "safe"), pointer("r2", "how long"));
    let text = FOLD.replace("- 依据：a.rs", &evidence);
    assert_ne!(text, FOLD);
    let file = chats.file("second.md", &text);
    let words = ["fold", child, "--text", &file, "--mode", "incremental", "--base", "1"];
    let prepared = chats.run(&words).success().json();
    assert_eq!(prepared["fold"]["pointers"].as_array().unwrap().len(), 2, "{prepared}");
    let second = prepared["fold"]["foldId"].as_str().unwrap().to_owned();
    chats.commit(&second, &[]).success();
    [(first, FOLD.to_owned()), (second, text)]
}

#[test]
fn dsh_goes_on_with_a_parent_in_which_a_fold_was_taken_back() {
    let Some(oracle) = oracle() else { return };
    for kind in KINDS_TO_TRY {
        let chats = Chats::new(kind);
        let child = talked(&chats);
        let [first, second] = two_folds(&chats, &child);
        let fold = |revision: u64, id: &str| format!("[SideChat fold id={id} rev={revision} source={child}]");
        let folds = [fold(1, &first.0), fold(2, &second.0)];
        let built_on = "> mode=incremental · base=rev-1 · supersedes=rev-1";
        let notice = format!("[SideChat fold-withdrawal id={} rev=2 source={child}]", second.0);
        let before =
            ["How do others do it?", "With a key for each request.", &folds[0], &folds[1], built_on, &second.1];
        let all = |more: &[&'static str]| -> Vec<String> {
            let words = before.iter().copied().chain(more.iter().copied());
            let mut words: Vec<String> = words.map(str::to_owned).collect();
            words.extend([notice.clone(), "撤回原因：It was wrong.".to_owned(), "Please go on.".to_owned()]);
            words
        };
        // A dsh went on with the folds, in a log of its own generation, before the second was taken back.
        if kind.version == 0 {
            for (version, generation) in [("v3", 3), ("v4", 4)] {
                let home = chats.sandbox.path(&format!("migrated-by-{version}"));
                let texts: Vec<&str> = before.iter().copied().chain(["And then?"]).collect();
                resume(&oracle, version, &chats.sandbox.sessions(), A, &texts, &home);
                copy_tree(&chats.sandbox.home().join("dshkit"), &home.join("dshkit"));
                copy_tree(chats.log_of(&child).parent().unwrap(), &sibling(&home, &child));
                let withdrawn = withdraw(&chats, &home, &second.0);
                assert_eq!(withdrawn["withdrawal"]["state"], "committed", "{withdrawn}");
                let migrated = Kind { version: generation, ..kind };
                let texts = all(&["And then?"]);
                let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
                for reader in readers(migrated) {
                    let keep = chats.sandbox.path(&format!("migrated-by-{version}-by-{reader}"));
                    resume(&oracle, reader, &home.join("sessions"), A, &texts, &keep);
                }
            }
        }
        let withdrawn = withdraw(&chats, &chats.sandbox.home(), &second.0);
        assert_eq!(withdrawn["withdrawal"]["state"], "committed", "{withdrawn}");
        let texts = all(&[]);
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        for version in readers(kind) {
            let keep = chats.sandbox.path(&format!("parent-by-{version}"));
            resume(&oracle, version, &chats.sandbox.sessions(), A, &texts, &keep);
        }
    }
}

#[test]
fn dsh_goes_on_with_what_killed_withdrawals_left() {
    let Some(oracle) = oracle() else { return };
    for kind in KINDS_TO_TRY {
        let chats = Chats::new(kind);
        let child = talked(&chats);
        let [_, (second, text)] = two_folds(&chats, &child);
        let what = format!("withdraw {second}");
        // The homes in which it was decided on before the kill, and so is finished.
        let mut finished = Vec::new();
        for at in 1.. {
            let sandbox = super::crash::copy(&chats);
            if !super::crash::killed(&sandbox.home(), &what, at) {
                break;
            }
            super::crash::deliver(&sandbox);
            match super::written(&sandbox.sessions(), A).len() {
                2 => assert!(finished.is_empty(), "{kind:?}: killed at {at}"),
                3 => finished.push(sandbox),
                written => panic!("{kind:?}: {written} messages, killed at {at}"),
            }
        }
        assert!(finished.len() > 4, "{kind:?}: {}", finished.len());
        let notice = format!("[SideChat fold-withdrawal id={second} rev=2 source={child}]");
        let texts = ["With a key for each request.", &text, &notice, "撤回原因：Wrong.", "Please go on."];
        // From the moment it was decided on to the last one.
        let last = finished.len() - 1;
        for at in [0, last / 3, last * 2 / 3, last] {
            let sandbox = &finished[at];
            let versions = if at == 0 { readers(kind) } else { &readers(kind)[..1] };
            for version in versions {
                let keep = sandbox.path(&format!("parent-by-{version}"));
                resume(&oracle, version, &sandbox.sessions(), A, &texts, &keep);
            }
        }
    }
}

/// Where a session in the parent's directory lies in a home.
fn sibling(home: &Path, id: &str) -> PathBuf {
    home.join("sessions/--srv-demo-shop--").join(id)
}

/// Takes a fold back in a home.
#[track_caller]
fn withdraw(chats: &Chats, home: &Path, fold: &str) -> Value {
    for log in contents(&sibling(home, A)).into_keys().filter(|path| path.is_file()) {
        stand_still(&log);
    }
    let mut command = chats.sandbox.command();
    command.arg("--home").arg(home).args(["sidechat", "withdraw", fold, "--reason", "It was wrong.", "--offline"]);
    outcome(command, b"").success().json()
}

#[test]
fn dsh_goes_on_with_a_session_in_which_the_side_chat_of_another_was_quoted() {
    let Some(oracle) = oracle() else { return };
    for kind in KINDS_TO_TRY {
        let chats = Chats::new(kind);
        let child = talked(&chats);
        let mut talk = Talk::new(kind);
        talk.exchange(("u1", "What of ours?"), ("a1", "I cannot say."));
        write_session(&chats.sandbox, kind, "other", Some(CWD), &talk);
        let unchanged = || [A, &child].map(|id| contents(&sibling(&chats.sandbox.home(), id)));
        let before = unchanged();
        let mut words = vec!["cite", &child, "r1", "--into", "other", "--cross-parent"];
        words.extend(chats.word());
        let cited = chats.run(&words).success().json();
        assert_eq!(cited["cite"]["state"], "committed", "{cited}");
        assert_eq!(unchanged(), before, "neither the side chat nor its parent");
        let marker =
            format!("[SideChat cite id={} source={child} message=r1]", cited["cite"]["citeId"].as_str().unwrap());
        let origin = format!("> 来源：属于另一会话 {A}，工作区 {CWD}");
        for version in readers(kind) {
            let keep = chats.sandbox.path(&format!("other-by-{version}"));
            let texts = ["What of ours?", "I cannot say.", &marker, &origin, "Yes, it is.", "Please go on."];
            resume(&oracle, version, &chats.sandbox.sessions(), "other", &texts, &keep);
        }
    }
}

#[test]
fn dsh_goes_on_with_a_side_chat_of_every_seed() {
    let Some(oracle) = oracle() else { return };
    let chats = Chats::new(KINDS_TO_TRY[2]);
    // What of the parent is there then, each once.
    let seeds: [(&str, &[&str]); 8] = [
        ("none", &[]),
        ("tail:1", &["### assistant (a2)", "With a key for each request."]),
        (
            "tail:4",
            &[
                "Why is it written twice?",
                "Because it is retried.",
                "How do others do it?",
                "With a key for each request.",
            ],
        ),
        ("pick:u2,a1", &["### assistant (a1)", "Because it is retried.", "### user (u2)", "How do others do it?"]),
        ("turn:1", &["### user (u1)", "Why is it written twice?", "### assistant (a1)", "Because it is retried."]),
        ("selection:a2:7-10", &["### assistant (a2, 7-10)", "key"]),
        ("summary:a1,a2", &["(a1, a2)", "What a model wrote."]),
        ("task", &["What a model wrote."]),
    ];
    for (seed, given) in seeds {
        let asking = ["--model-command", "cat > /dev/null; echo 'What a model wrote.'"];
        let words = ["create", "--parent", A, "--question", "Why not at once?", "--seed", seed];
        let needs_model = seed == "task" || seed.starts_with("summary");
        let words = [&words[..], if needs_model { &asking } else { &[] }].concat();
        let made = chats.run(&words).success().json();
        let (child, first) = (made["chat"]["childSessionId"].as_str().unwrap(), made["message"].as_str().unwrap());
        for version in ["v0", "v3", "v4"] {
            let place = format!("{seed} by {version}");
            let keep = chats.sandbox.path(&format!("{child}-by-{version}"));
            let sent = request(&oracle, version, &chats.sandbox.sessions(), child, "Please go on.", &keep);
            let said: Vec<&str> =
                sent.iter().filter(|sent| sent.role != "system").map(|sent| sent.text.as_str()).collect();
            assert!(said[0].starts_with(first), "{place}: nothing is said before it: {said:#?}");
            assert!(!said[1..].iter().any(|text| text.contains(first)), "{place}");
            assert_eq!(said[0].matches(first).count(), 1, "{place}");
            assert_eq!(first.matches("Why not at once?").count(), 1, "{place}");
            for text in given {
                assert_eq!(first.matches(text).count(), 1, "{place}: {text:?} in {first:?}");
            }
            if given.is_empty() {
                assert!(!first.contains("a2") && !first.contains("### "), "{place}: {first:?}");
            }
        }
    }
}

/// The versions of dsh that are installed, as the oracle names them and as they name themselves.
const VERSIONS: [(&str, &str); 3] = [("v0", "0.1.0"), ("v3", "0.1.5"), ("v4", "0.2.1")];

/// What the units of a dsh make of a log, by its profile for a browser and by that for a shell: neither has
/// them all. At the end of the log, and at the end of each turn.
fn views_of_dsh(oracle: &Path, version: &str, home: &Path, id: &str, place: &Path) -> (Map<String, Value>, Vec<Value>) {
    let root = place.join(".dsh/sessions");
    copy_tree(&home.join("sessions"), &root);
    // dsh wants what it writes to be nobody else's.
    for (path, bytes) in contents(place) {
        let mode = if bytes.is_some() { 0o600 } else { 0o700 };
        fs::set_permissions(place.join(path), fs::Permissions::from_mode(mode)).unwrap();
    }
    let plugin = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/views_of_a_log.mjs");
    let patch = |rows: &[&str], plugins: &[&Path]| {
        let disabled = rows.iter().map(|row| format!("- id: {row}\n  disabled: true\n"));
        let name = |path: &&Path| format!("    - id: {}\n      name: {path:?}\n", path.file_stem().unwrap().display());
        format!("{}- insert:\n{}", disabled.collect::<String>(), plugins.iter().map(name).collect::<String>())
    };
    let watcher = oracle.join("plugins/fake-hmr.mjs");
    let plugins: &[&Path] = if version == "v0" { &[&watcher, &plugin] } else { &[&plugin] };
    let title: &[&str] = if version == "v3" { &["session-title-llm"] } else { &[] };
    let profiles = [
        (patch(title, plugins), &["web", "--no-open", "--port", "0"][..]),
        (patch(&[&["headless-runner"], title].concat(), plugins), &["--profile", "headless", "x"]),
    ];
    let (mut views, mut turns) = (Map::new(), Vec::new());
    for (patch, arguments) in profiles {
        let (list, found) = (place.join("patch.yml"), place.join("views.json"));
        fs::write(&list, patch).unwrap();
        // The oracle is found by the user's home, which dsh is not to see.
        let script = "export DSH_ORACLE_HOME=\"${DSH_ORACLE_HOME:-$HOME/.cache/dshkit-oracle}\" HOME=\"$PWD\"; exec timeout 60 \"$@\"";
        let mut command = Command::new("sh");
        command.args(["-c", script, "sh"]).arg(oracle.join("oracle")).args([version, "dsh"]);
        let (first, rest) = if arguments[0] == "web" { arguments.split_at(1) } else { arguments.split_at(2) };
        command.args(first).arg("--patch").arg(&list).args(rest).current_dir(place);
        command.env("DSH_HOME", place.join(".dsh")).env("VIEWS_OF", id).env("VIEWS_TO", &found);
        command.env("DEEPSEEK_API_KEY", "none").env("DEEPSEEK_BASE_URL", "http://127.0.0.1:1/v1");
        command.env("DSH_TELEMETRY_DISABLED", "1").env("TZ", "UTC");
        let output = command.output().unwrap();
        // Some dsh ends in disorder when a plugin ends it early.
        assert!(found.is_file(), "{version} {first:?}: {output:?}");
        let snapshot: Value = serde_json::from_slice(&fs::read(&found).unwrap()).unwrap();
        assert!(snapshot["error"].is_null(), "{version}: {}", snapshot["error"]);
        fs::remove_file(found).unwrap();
        views.extend(snapshot["values"].as_object().unwrap().clone());
        views.insert("asOfSeq".to_owned(), snapshot["asOfSeq"].clone());
        turns = snapshot["turns"].as_array().unwrap().clone();
    }
    (views, turns)
}

/// Runs a command on a home, without our cache, and gives its document.
#[track_caller]
fn document(chats: &Chats, home: &Path, arguments: &[&str]) -> Value {
    let mut command = chats.sandbox.command();
    command.arg("--home").arg(home).arg("--no-cache").args(arguments);
    outcome(command, b"").success().json()
}

/// A side chat that was asked in every way a turn can end: as it was made without usage, with usage and a
/// thought, failed by a command, by an endpoint and at the end of a whole stream, broken off with half an answer
/// and without any, and as long as it may be, with an answer and without any.
fn asked_in_every_way(chats: &Chats) -> String {
    let child = chats.create(&["--seed", "tail:2"]);
    let ask = |more: &[&str]| chats.run(&[&["ask", &child], more].concat());
    ask(&["--model-command", "printf 'The '; sleep 0.02; echo 'key.'"]).success();
    let denied = (401, r#"{"error":{"message":"bad key"}}"#.to_owned());
    let long = answer(&["As much"]).1.replace(r#""finish_reason":"stop""#, r#""finish_reason":"length""#);
    let nothing = answer(&[]).1.replace("Let me see.", "");
    let all_thought = nothing.replace(r#""finish_reason":"stop""#, r#""finish_reason":"length""#);
    let filtered =
        answer(&["Not ", "this."]).1.replace(r#""finish_reason":"stop""#, r#""finish_reason":"content_filter""#);
    let safe = answer(&["It ", "is ", "safe."]);
    let rest = [nothing, all_thought, filtered].map(|stream| (200, stream));
    let model = Model::new([&[safe, denied], &rest[..], &[answer(&["Again."]), (200, long)]].concat());
    ask(&["Is it safe?", "--endpoint", &model.url]).success();
    ask(&["Will it fail?", "--model-command", "echo half; exit 1"]).fails_with_data(8, "model-failed");
    ask(&["And now?", "--endpoint", &model.url]).fails_with_data(8, "model-failed");
    // An answer with nothing in it is none, and has been paid for.
    ask(&["--endpoint", &model.url]).fails_with_data(8, "model-failed");
    // One that is as long as it may be is one, even with nothing in it; the question still waits.
    let silent = ask(&["--endpoint", &model.url]).success();
    assert_eq!(silent.json()["turn"]["reason"], "max-tokens", "{silent}");
    ask(&["--endpoint", &model.url]).fails_with_data(8, "model-failed");
    ask(&["--endpoint", &model.url, "--model", "other"]).success();
    let mut asking = begin(chats, &child, "How?", &["--model-command", "printf 'Half an'; sleep 1000"]);
    asking.stdout.as_mut().unwrap().read_exact(&mut [0; 7]).unwrap();
    interrupt(asking);
    let ((asked, was_asked), (end, ended)) = (channel(), channel::<()>());
    let silent = Model::with(1, move |_| {
        asked.send(()).unwrap();
        let _ = ended.recv();
        (500, String::new())
    });
    let asking = begin(chats, &child, "Anybody there?", &["--endpoint", &silent.url]);
    was_asked.recv().unwrap();
    interrupt(asking);
    drop(end);
    ask(&["All of it?", "--endpoint", &model.url, "--max-tokens", "50"]).success();
    child
}

/// Units of dsh that we do not have: what they say is not in the log.
const NOT_OURS: [&str; 1] = ["imageLimits"];

#[test]
fn dsh_goes_on_with_odd_questions_and_answers() {
    let Some(oracle) = oracle() else { return };
    let chats = Chats::new(KINDS_TO_TRY[0]);
    let child = chats.create(&[]);
    let asked = |text: &str, more: &[&str]| {
        let words = [&["sidechat", "ask", &child, "-"], more].concat();
        chats.sandbox.run_with_input(&words, text.as_bytes())
    };
    let numbers: Vec<(String, String)> =
        (1..=20).map(|number| (format!("Number {number:02}?"), format!("It is number {number:02}."))).collect();
    for (question, answer) in &numbers {
        asked(question, &["--model-command", &format!("echo '{answer}'")]).success();
    }
    // As long as it may be: 20,000 UTF-16 units.
    let longest = format!("{}yz", "字😀x\r\n".repeat(3_333));
    assert_eq!(longest.encode_utf16().count(), 20_000);
    let long = "cat > /dev/null; head -c 1000000 /dev/zero | tr '\\0' w";
    asked(&longest, &["--model-command", long]).success();
    let odd = "a\u{0}b\u{1b}[31mc\u{2028}d\u{feff}e\u{202e}f";
    asked(&format!("\n\n  \n  {odd}\n\n"), &["--model-command", "printf '\\r\\n\\n  so \\033[1mit\\007 is\\n'"])
        .success();
    // A thought alone is an answer, as for dsh; nothing at all is a failure.
    let thought = answer(&[]);
    let nothing = thought.1.replace("Let me see.", "");
    let model = Model::new(vec![thought, (200, nothing)]);
    asked("Only a thought?", &["--endpoint", &model.url]).success();
    let failed = asked("And nothing?", &["--endpoint", &model.url]);
    assert_eq!(failed.json()["turn"]["error"]["code"], "EMPTY_RESPONSE");
    failed.fails_with_data(8, "model-failed");
    let long = "w".repeat(1_000_000);
    let mut texts = vec!["Which key?"];
    texts.extend(numbers.iter().flat_map(|(question, answer)| [question.as_str(), answer]));
    texts.extend([longest.as_str(), &long, odd, "so \u{1b}[1mit\u{7} is", "Only a thought?", "And nothing?"]);
    texts.push("Please go on.");
    for (version, _) in VERSIONS {
        let keep = chats.sandbox.path(&format!("odd-by-{version}"));
        resume(&oracle, version, &chats.sandbox.sessions(), &child, &texts, &keep);
    }
}

/// What these dsh have units for, one of them at least.
const OURS: [&str; 19] = [
    "agentPreset",
    "contextBreakdown",
    "contextPressure",
    "goal",
    "inbox",
    "modelSelection",
    "permissions",
    "plan",
    "sessionListMetadata",
    "sessionStats",
    "subagent",
    "subagentCatalog",
    "subagentTiming",
    "title",
    "todos",
    "tokenUsage",
    "turnOutline",
    "userQuestions",
    "workingDirectory",
];

#[test]
fn views_of_a_side_chat_that_was_asked_are_those_of_dsh() {
    let Some(oracle) = oracle() else { return };
    let chats = Chats::new(KINDS_TO_TRY[0]);
    let child = asked_in_every_way(&chats);
    let mut differences = Differences::default();
    let mut compared = BTreeSet::new();
    let mut compare = |version: (&str, &str), home: &Path, place: &str, is_migrated: bool| {
        let (views, turns) = views_of_dsh(&oracle, version.0, home, &child, &chats.sandbox.path(place));
        let ours = document(&chats, home, &["sessions", "projections", &child]);
        for (key, view) in &views {
            let (mut view, our) = (view.clone(), if key == "asOfSeq" { &ours[key] } else { &ours["values"][key] });
            if NOT_OURS.contains(&key.as_str()) || key == "asOfSeq" && is_migrated {
                continue;
            }
            let Some(mut our) = by_the_rules_of(version.1, key, our.clone()) else { continue };
            match key.as_str() {
                // How this dsh was set up is not in the log.
                "permissions" => view = json!({ "currentValue": view["currentValue"] }),
                // Migrated in memory, the events have other seqs.
                "turnOutline" if is_migrated => {
                    for turn in [&mut view, &mut our].into_iter().flat_map(|turns| turns.as_array_mut().unwrap()) {
                        turn["seq"] = Value::Null;
                    }
                }
                _ => {}
            }
            compared.insert(key.clone());
            differences.compare(format!("{place} {key}"), our, view);
        }
        // What each turn used is what it adds to the totals.
        let usage = document(&chats, home, &["sessions", "usage", &child, "--by", "turn"]);
        let rows = usage["rows"].as_array().unwrap();
        assert_eq!(rows.len(), turns.len(), "{usage}");
        let mut before = json!({"uncachedInputTokens": 0, "outputTokens": 0, "cacheReadTokens": 0});
        for (row, turn) in rows.iter().zip(&turns) {
            let totals = &turn["values"]["tokenUsage"];
            for (our, their) in [
                ("inputTokens", "uncachedInputTokens"),
                ("outputTokens", "outputTokens"),
                ("cacheReadTokens", "cacheReadTokens"),
            ] {
                let added = totals[their].as_u64().unwrap() - before[their].as_u64().unwrap();
                let place = format!("{place} {our} of turn {}", row["turn"]);
                differences.compare(place, row[our].as_u64().unwrap_or(0), added);
            }
            before = totals.clone();
        }
        assert!(before["outputTokens"].as_u64() >= Some(300), "six turns told what they used: {before}");
    };
    for version in VERSIONS {
        let home = chats.sandbox.home();
        compare(version, &home, &format!("views-by-{}", version.0), version.0 != "v0");
        // And after a dsh has gone on with it.
        let keep = chats.sandbox.path(&format!("gone-on-by-{}", version.0));
        let texts = ["Which key?", "The key.", "Is it safe?", "It is safe.", "Will it fail?", "And now?", "Again."];
        let more = ["How?", "Half an", "Anybody there?", "All of it?", "As much", "Please go on."];
        resume(&oracle, version.0, &chats.sandbox.sessions(), &child, &[&texts[..], &more].concat(), &keep);
        compare(version, &keep, &format!("views-after-{}", version.0), false);
    }
    compared.remove("asOfSeq");
    assert!(compared.iter().eq(OURS.iter()), "{compared:?}");
    differences.none_of_at_least(150);
}
