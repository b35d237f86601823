//! Completion: what is offered, that nothing is said where nothing can be, and that what real shells insert
//! arrives as one word.

use crate::logs::contents;
use crate::support::{Outcome, Sandbox, outcome, turn, write_log};
use crate::terminal::{Terminal, has, wait_for};
use serde_json::{Value, json};
use std::fs;

/// Ids that a shell could take for something else. No two have the same beginning.
const ODD: [&str; 10] = [
    "plain-1",
    "with space/and slash",
    "it's quoted",
    "double \"quotes\"",
    "colon:in:it",
    "礼品 包装 🎁",
    "$HOME `date` $(id)",
    "back\\slash",
    "!bang #hash ~",
    "*glob? [x] {a,b} & ; | < > ( )",
];

/// A home with the odd ids, each with a title.
fn home() -> Sandbox {
    let sandbox = Sandbox::new();
    for (number, id) in ODD.iter().enumerate() {
        let header =
            json!({"type": "session", "version": 0, "id": id, "createdAt": 1000 + number, "delegationDepth": 0});
        let mut rows = turn(&format!("asks {number}"), "answers");
        let title = json!({"title": format!("title {number}"), "messageCount": 1, "source": {"kind": "user"}});
        rows.push(json!({"type": "session/title", "seq": rows.len(), "time": 20, "data": title}).to_string());
        let log = write_log(&sandbox, "_no-cwd", &header, &rows);
        // The directory is named as a store names it.
        let name = dshkit::stores::jsonl::layout::encode_segment(&dshkit::model::js_string::JsStr::from(*id)).unwrap();
        let folder = sandbox.sessions().join("_no-cwd").join(name);
        fs::create_dir_all(&folder).unwrap();
        fs::rename(log, folder.join("session.jsonl")).unwrap();
    }
    for entry in fs::read_dir(sandbox.sessions().join("_no-cwd")).unwrap() {
        let path = entry.unwrap().path();
        if !path.join("session.jsonl").exists() {
            fs::remove_dir_all(path).unwrap();
        }
    }
    sandbox
}

/// What fish would be told for these words, the last being typed.
pub(crate) fn offered(sandbox: &Sandbox, words: &[&str]) -> Vec<String> {
    let (typed, before) = words.split_last().unwrap();
    let outcome = ask(sandbox, typed, before);
    outcome.text().lines().map(str::to_owned).collect()
}

fn ask(sandbox: &Sandbox, typed: &str, before: &[&str]) -> Outcome {
    let mut command = sandbox.command();
    command.env("COMPLETE", "fish").env("_DSHKIT_WORD", typed).args(["--", "dshkit"]).args(before);
    let outcome = outcome(command, b"").success();
    assert!(outcome.stderr.is_empty(), "{outcome}");
    outcome
}

#[test]
fn commands_options_and_values_are_offered() {
    let sandbox = Sandbox::new();
    let values = |words: &[&str]| -> Vec<String> {
        offered(&sandbox, words).iter().map(|line| line.split('\t').next().unwrap().to_owned()).collect()
    };
    assert!(values(&["sess"]) == ["sessions"]);
    assert!(values(&["sessions", ""]).starts_with(&["list".to_owned(), "latest".to_owned()]));
    assert_eq!(values(&["sessions", "list", "--sort", "a"]), ["activity"]);
    assert_eq!(values(&["sessions", "list", "--fields", "title,tok"]), ["title,tokens"]);
    assert_eq!(values(&["sessions", "list", "--sort=t"]), ["--sort=tokens", "--sort=title"]);
    assert_eq!(values(&["sessions", "show", "--vie"]), ["--view"]);
    assert_eq!(values(&["--form"]), ["--format"]);
    assert_eq!(values(&["sessions", "show", "--format", "j"]), ["json", "jsonl"]);
    assert!(values(&["--home", "ho"]) == ["home/"], "{:?}", values(&["--home", "ho"]));
    assert_eq!(offered(&sandbox, &["sessions", "sta"]), ["status\tWhether a session's last turn came to its end"]);
}

#[test]
fn sessions_are_offered_with_titles_newest_first() {
    let sandbox = home();
    let all = offered(&sandbox, &["sessions", "show", ""]);
    let expected: Vec<String> = ODD.iter().enumerate().rev().map(|(at, id)| format!("{id}\ttitle {at}")).collect();
    assert_eq!(all, expected);
    // The second time the titles come from the cache.
    assert_eq!(offered(&sandbox, &["sessions", "show", ""]), expected);
    assert_eq!(offered(&sandbox, &["sessions", "show", "with"]), ["with space/and slash\ttitle 1"]);
    for words in [
        &["sessions", "status", "pl"][..],
        &["sessions", "show", "--id", "pl"],
        &["sessions", "check", "its", "pl"],
        &["sessions", "search", "--session", "pl"],
        &["reference", "prepare", "--reference", "pl"],
        &["sessions", "event", "pl"],
        &["--json", "sessions", "trace", "pl"],
    ] {
        assert_eq!(offered(&sandbox, words), ["plain-1\ttitle 0"], "{words:?}");
    }
    let other = Sandbox::new();
    let home = sandbox.home().display().to_string();
    assert_eq!(offered(&other, &["--home", &home, "sessions", "show", "pl"]), ["plain-1\ttitle 0"]);
    let store = format!("--store={}", sandbox.sessions().display());
    assert_eq!(offered(&other, &["sessions", "show", &store, "pl"]), ["plain-1\ttitle 0"]);
}

#[test]
fn seqs_are_where_turns_begin() {
    let sandbox = home();
    assert_eq!(offered(&sandbox, &["sessions", "event", "plain-1", ""]), ["0\tasks 0"]);
    assert_eq!(offered(&sandbox, &["sessions", "trace", "--json", "it's", "0"]), ["0\tasks 2"]);
}

#[test]
fn side_chats_and_folds_are_offered_with_titles() {
    let sandbox = home();
    // Where there is no ledger nothing is offered, and none is made.
    assert!(offered(&sandbox, &["sidechat", "show", "s"]).is_empty());
    assert!(!sandbox.home().join("dshkit").exists());
    let create = |title: &str| -> String {
        let words = ["sidechat", "create", "--parent", "plain-1", "--question", "q", "--title", title];
        sandbox.run(&words).success().json()["chat"]["childSessionId"].as_str().unwrap().to_owned()
    };
    let (first, second) = (create("the first"), create("the \u{1b}second"));
    let fold = "6f1c2a3b-7d5e-4c1a-9b8d-0e2f4a6c8b1d";
    fs::write(sandbox.path("fold.md"), "a text").unwrap();
    sandbox.run(&["sidechat", "fold", &first, "--text", "fold.md", "--fold-id", fold]).success();
    let before = contents(&sandbox.home());
    let chats = [format!("{first}\tthe first"), format!("{second}\tthe \\x1bsecond")];
    for command in ["show", "fold", "cite", "resume", "archive", "restore", "abandon", "usage"] {
        let mut all = offered(&sandbox, &["sidechat", command, ""]);
        all.sort_by_key(|line| !line.ends_with("first"));
        assert_eq!(all, chats, "{command}");
        assert_eq!(offered(&sandbox, &["sidechat", command, &first]), chats[..1], "{command}");
    }
    assert_eq!(offered(&sandbox, &["sidechat", "commit", "6f"]), [format!("{fold}\trev-1 of the first")]);
    assert_eq!(offered(&sandbox, &["sidechat", "list", "--parent", "pl"]), ["plain-1\ttitle 0"]);
    assert!(contents(&sandbox.home()) == before, "nothing is created or changed");
    // A ledger that is none.
    fs::write(sandbox.home().join("dshkit/sidechat.sqlite"), "no ledger").unwrap();
    assert!(offered(&sandbox, &["sidechat", "show", "s"]).is_empty());
    assert!(offered(&sandbox, &["sidechat", "commit", "6f"]).is_empty());
}

#[test]
fn a_store_that_fails_has_no_candidates_and_says_nothing() {
    let sandbox = home();
    let show = ["sessions", "show", "p"];
    assert!(offered(&sandbox, &["--home", "/nowhere", "sessions", "show", "p"]).is_empty());
    assert!(offered(&sandbox, &["--store", "/dev/null", "sessions", "show", "p"]).is_empty());
    // A log that is no log hides no other, and a cache that cannot be written is none.
    fs::create_dir_all(sandbox.sessions().join("_no-cwd/bad")).unwrap();
    fs::write(sandbox.sessions().join("_no-cwd/bad/session.jsonl"), "no header").unwrap();
    fs::remove_dir_all(sandbox.path("cache")).unwrap();
    fs::write(sandbox.path("cache"), "").unwrap();
    assert_eq!(offered(&sandbox, &show), ["plain-1\ttitle 0"]);
    fs::create_dir_all(sandbox.path("config/dshkit")).unwrap();
    fs::write(sandbox.path("config/dshkit/config.toml"), "no = toml = ").unwrap();
    assert!(offered(&sandbox, &show).is_empty());
    fs::remove_file(sandbox.path("config/dshkit/config.toml")).unwrap();
    fs::remove_dir_all(sandbox.sessions()).unwrap();
    assert!(offered(&sandbox, &show).is_empty());
    fs::write(sandbox.sessions(), "").unwrap();
    assert!(offered(&sandbox, &show).is_empty());
    let mut command = sandbox.command();
    command.env_remove("HOME").env_remove("DSH_HOME").env("COMPLETE", "zsh").args(["--", "dshkit", "sessions", "show"]);
    command.env("_DSHKIT_WORD", "s");
    let nothing = outcome(command, b"").success();
    assert!(nothing.stdout.is_empty() && nothing.stderr.is_empty(), "{nothing}");
}

#[test]
fn a_title_that_is_no_text_for_a_terminal_is_spelled_out() {
    let sandbox = Sandbox::new();
    let header = json!({"type": "session", "version": 0, "id": "s1", "createdAt": 1, "delegationDepth": 0});
    let title = "\u{1b}[2J\ttab\nline \u{202e}".to_owned() + &"名".repeat(100);
    let data = json!({"title": title, "messageCount": 1, "source": {"kind": "user"}});
    let row = json!({"type": "session/title", "seq": 0, "time": 20, "data": data}).to_string();
    write_log(&sandbox, "_no-cwd", &header, &[row]);
    let offered = offered(&sandbox, &["sessions", "show", "s"]);
    let [line] = &offered[..] else { panic!("{offered:?}") };
    let (value, description) = line.split_once('\t').unwrap();
    assert_eq!(value, "s1");
    assert!(description.starts_with(r"\x1b[2J\ttab\nline \u{202e}名") && description.ends_with('…'), "{description}");
    assert!(unicode_width::UnicodeWidthStr::width(description) <= 60);
}

#[test]
fn scripts_and_loaders() {
    let sandbox = Sandbox::new();
    for (shell, loader) in
        [("bash", "dshkit.bash"), ("zsh", "_dshkit"), ("fish", "dshkit.fish"), ("powershell", "dshkit.ps1")]
    {
        let mut command = sandbox.command();
        command.env("COMPLETE", shell);
        assert!(outcome(command, b"").success().text().contains("dshkit"), "{shell}");
        let loader = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("completions").join(loader);
        let text = fs::read_to_string(loader).unwrap();
        let lines = text.lines().filter(|line| !line.starts_with('#')).count();
        assert!(lines == 1 && text.contains("COMPLETE"), "{text}");
    }
    let mut command = sandbox.command();
    command.env("COMPLETE", "tcsh");
    outcome(command, b"").exits(2);
}

/// Begins each id in a real shell, lets it complete, and looks at what the program was given.
fn completes_in(name: &str) {
    if !has(&format!("completion in {name}"), &["tmux", name]) {
        return;
    }
    let sandbox = home();
    let line = match name {
        "zsh" => {
            // zsh reads its start-up file from ZDOTDIR.
            let loader = format!("{}/completions/_dshkit", env!("CARGO_MANIFEST_DIR"));
            let text = format!("PS1='ready> '\nautoload -Uz compinit\ncompinit -u -D\nsource '{loader}'\n");
            fs::write(sandbox.path("user/.zshrc"), text).unwrap();
            "zsh -i".to_owned()
        }
        "bash" => {
            let loader = format!("{}/completions/dshkit.bash", env!("CARGO_MANIFEST_DIR"));
            fs::write(sandbox.path("user/rc"), format!("PS1='ready> '\nsource '{loader}'\n")).unwrap();
            format!("bash --noprofile --rcfile '{}' -i", sandbox.path("user/rc").display())
        }
        _ => {
            let loader = format!("{}/completions/dshkit.fish", env!("CARGO_MANIFEST_DIR"));
            format!("fish --no-config -C 'function fish_prompt; echo \"ready> \"; end; source {loader}'")
        }
    };
    let terminal = Terminal::open(&sandbox, (200, 50), &line);
    terminal.wait("a prompt", |screen| screen.contains("ready>"));
    // Typed as a person would: plainly, as far as that needs no quotes; and behind an open quote.
    let mut begun: Vec<(String, &str)> = vec![
        ("pl".into(), ODD[0]),
        ("wi".into(), ODD[1]),
        ("it".into(), ODD[2]),
        ("do".into(), ODD[3]),
        ("co".into(), ODD[4]),
        ("colon:i".into(), ODD[4]),
        ("礼".into(), ODD[5]),
        ("ba".into(), ODD[7]),
        ("'wi".into(), ODD[1]),
        ("'with sp".into(), ODD[1]),
        ("'colon:i".into(), ODD[4]),
        ("\"double".into(), ODD[3]),
        ("\"it".into(), ODD[2]),
        ("'*gl".into(), ODD[9]),
        ("'$H".into(), ODD[6]),
    ];
    if name != "fish" {
        begun.extend([("with\\ sp".into(), ODD[1]), ("\\$H".into(), ODD[6]), ("\\*".into(), ODD[9])]);
    }
    for (number, (typed, id)) in begun.iter().enumerate() {
        let file = sandbox.path(&format!("out-{number}.json"));
        terminal.type_text(&format!("dshkit sessions path --json {typed}"));
        terminal.press("Tab");
        terminal.type_text(&format!(" > out-{number}.json"));
        terminal.press("Enter");
        let read = || serde_json::from_str::<Value>(&fs::read_to_string(&file).unwrap_or_default()).ok();
        let came = wait_for(|| read().is_some());
        assert!(came, "{name}: {typed} was not completed; the screen is\n{}", terminal.screen());
        let paths = read().unwrap()["paths"].clone();
        assert_eq!(paths.as_array().unwrap().len(), 1, "{name}: {typed}");
        assert_eq!(paths[0]["sessionId"], *id, "{name}: {typed}");
    }
    // Several: they are listed, with their titles.
    terminal.press("C-l");
    terminal.type_text("dshkit sessions show ");
    terminal.press("Tab");
    terminal.press("Tab");
    terminal.wait("the list of sessions", |screen| screen.contains("title 4") && screen.contains("title 0"));
}

#[test]
fn bash_inserts_ids_as_one_word() {
    completes_in("bash");
}

#[test]
fn zsh_inserts_ids_as_one_word() {
    completes_in("zsh");
}

#[test]
fn fish_inserts_ids_as_one_word() {
    completes_in("fish");
}
