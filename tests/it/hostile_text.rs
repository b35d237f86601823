//! Every string of a store, of a command line and of the files around it is made to do harm, and no text that
//! dshkit prints does any: in a pipe and in a real terminal.

use crate::help::leaves;
use crate::support::{Outcome, Sandbox, data, outcome};
use crate::terminal::{Terminal, has, wait_for};
use dshkit::model::js_string::JsStr;
use dshkit::stores::jsonl::layout::{encode_segment, project_key};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

/// What every string ends with: a window's title, colour, the other direction, nothing to see, new rows.
const EVIL: &str =
    "\u{1b}]0;pwned\u{7}\u{9b}31m\u{1b}[2J\u{202e}\u{2066}\u{200b}\r\n\u{8}\u{7f}\u{feff}\u{e0041}\u{fe01}\u{3164}";
/// The same without what no file's name may have, and short enough for one.
const EVIL_NAME: &str = "\u{1b}]0;pwned\u{7}\u{9b}31m\u{202e}\u{200b}\r\n\u{7f}";

/// Whether a character must never come from foreign text.
fn is_evil(c: char) -> bool {
    let is_hidden = matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
        || matches!(c, '\u{e0000}'..='\u{e0fff}' | '\u{fe01}' | '\u{3164}');
    c.is_control() && !matches!(c, '\n' | '\t') || is_hidden
}

/// Members that say what a row is. Without them it is no row, and nothing of it is shown.
const STRUCTURE: [&str; 5] = ["type", "surfaceOp", "role", "kind", "cwd"];

/// Makes every string in a value evil; the same string becomes the same one everywhere.
fn poison(value: &mut Value, is_structure: bool) {
    match value {
        Value::String(text) if !is_structure => text.push_str(EVIL),
        Value::Array(values) => values.iter_mut().for_each(|value| poison(value, is_structure)),
        Value::Object(members) => {
            for (name, value) in members.iter_mut() {
                poison(value, STRUCTURE.contains(&name.as_str()) && value.is_string());
            }
        }
        _ => {}
    }
}

/// Every log below a folder.
fn logs(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(logs(&path));
        } else if path.file_name().unwrap().to_str().unwrap().starts_with("session.") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// A home of sessions in which every string is evil, and their ids: the good ones, and some with a row that is
/// wrong in its structure.
fn home() -> (Sandbox, Vec<String>) {
    let sandbox = Sandbox::new();
    let mut ids = Vec::new();
    let mut examples = logs(&Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/home"));
    examples.extend(["01", "11", "10"].iter().flat_map(|case| logs(&data(&format!("cases/{case}")))));
    for (number, log) in examples.iter().enumerate() {
        let bytes = fs::read(log).unwrap();
        let name = log.file_name().unwrap().to_str().unwrap();
        let bytes = if name.ends_with(".zstd") { zstd::decode_all(&bytes[..]).unwrap_or_default() } else { bytes };
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let mut rows: Vec<Value> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        if rows.is_empty() {
            continue;
        }
        let cwd = format!("/evil{EVIL_NAME}/{number}");
        rows.iter_mut().for_each(|row| poison(row, false));
        rows[0]["id"] = json!(format!("id-{number}{EVIL}"));
        rows[0]["cwd"] = json!(cwd);
        write(&sandbox, name.trim_end_matches(".zstd"), &rows);
        ids.push(rows[0]["id"].as_str().unwrap().to_owned());
        // Once more, with what says what a row is made evil too: what is said of that is an error.
        let broken = rows.len() - 1;
        rows[0]["id"] = json!(format!("broken-{number}{EVIL}"));
        let kind = rows[broken]["type"].as_str().unwrap_or_default().to_owned();
        rows[broken]["type"] = json!(format!("{kind}{EVIL}"));
        rows.push(json!(format!("no row{EVIL}")));
        write(&sandbox, name.trim_end_matches(".zstd"), &rows);
        ids.push(rows[0]["id"].as_str().unwrap().to_owned());
    }
    fs::write(sandbox.sessions().join(format!("stray{EVIL_NAME}")), "").unwrap();
    fs::create_dir_all(sandbox.sessions().join("_no-cwd").join(format!("folder{EVIL_NAME}"))).unwrap();
    fs::create_dir_all(sandbox.path("config/dshkit")).unwrap();
    let quoted = |text: &str| json!(text).to_string().replace("\\u007f", "\u{7f}").replace('\u{7f}', "\\u007f");
    let model: String = ["endpoint", "name", "key-env"]
        .iter()
        .map(|key| format!("{key} = {}\n", quoted(&format!("x{EVIL}"))))
        .collect();
    fs::write(sandbox.path("config/dshkit/config.toml"), format!("[model]\n{model}command = [{}]\n", quoted(EVIL)))
        .unwrap();
    let rates = json!({"currency": format!("EUR{EVIL}"), "models": {
        format!("deepseek-official{EVIL}/deepseek-v4-flash{EVIL}"): {"input": 1, "output": 1},
    }});
    fs::write(sandbox.path("rates.json"), rates.to_string()).unwrap();
    ids.push(side_chat(&sandbox, &ids));
    (sandbox, ids)
}

/// The fold of the side chat.
const FOLD: &str = "6f1c2a3b-7d5e-4c1a-9b8d-0e2f4a6c8b1d";

/// Makes an evil side chat of the first session that may have one, with an evil fold, and gives its id.
fn side_chat(sandbox: &Sandbox, ids: &[String]) -> String {
    let evil = format!("x{EVIL}");
    let create = |id: &String| {
        let words = ["sidechat", "create", "--parent", id, "--question", &evil, "--title", &evil];
        let created = sandbox.run(&words);
        (created.status == Some(0)).then(|| created.json()["chat"]["childSessionId"].as_str().unwrap().to_owned())
    };
    let child = ids.iter().find_map(create).expect("a session may have a side chat");
    let fold = format!(
        "# SideChat conclusion: {evil}\n- Background: {evil}\n- Conclusion: {evil}\n- Evidence: {evil}\n- Effect on the parent \
         session: none\n- Open:\n"
    );
    fs::write(sandbox.path("fold.md"), fold).unwrap();
    sandbox.run(&["sidechat", "fold", &child, "--text", "fold.md", "--fold-id", FOLD]).success();
    child
}

fn write(sandbox: &Sandbox, name: &str, rows: &[Value]) {
    let (id, cwd) = (rows[0]["id"].as_str().unwrap(), rows[0]["cwd"].as_str().unwrap());
    let project = project_key(Some(&JsStr::from(cwd))).unwrap();
    let folder = sandbox.sessions().join(project).join(encode_segment(&JsStr::from(id)).unwrap());
    fs::create_dir_all(&folder).unwrap();
    let lines: String = rows.iter().map(|row| format!("{row}\n")).collect();
    fs::write(folder.join(name), lines).unwrap();
}

/// Every command that prints text, and how it is called on a session. A new command is a line here.
fn calls(id: &str) -> Vec<Vec<String>> {
    let call = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<String>>();
    let evil = format!("x{EVIL}");
    let uri = dshkit::model::uri::encode(&id.to_owned().into());
    vec![
        call(&["uri", "encode", id]),
        call(&["uri", "decode", "dsh-session:ImlkLVx1MDAxYl0wO3B3blx1MDAwNy03Ig"]),
        call(&["uri", "mention", "--label", &evil, id]),
        call(&["uri", "parse", &evil]),
        call(&["sessions", "list", "--long"]),
        call(&["sessions", "list", "--fields", "title,cwd,sessionId,parentSession,origin,path,endState,health"]),
        call(&["sessions", "latest"]),
        call(&["sessions", "status", "--id", id]),
        call(&["sessions", "show", "--all", "--salvage", "--id", id]),
        call(&["sessions", "show", "--view", "surface", "--all", "--id", id]),
        call(&["sessions", "show", "--last-answer", "--id", id]),
        call(&["sessions", "events", "--full", "--text", "--id", id]),
        call(&["sessions", "events", "--full", "--salvage", "--id", id]),
        call(&["sessions", "events", "--raw", "--id", id]),
        call(&["sessions", "event", "--after", "50", "--id", id, "0"]),
        call(&["sessions", "event", "--id", id, "999999"]),
        call(&["sessions", "search", "--reasoning", "--titles", "e"]),
        call(&["sessions", "search", "--session", id, "pwned"]),
        call(&["sessions", "search", "--index", &evil]),
        call(&["sessions", "trace", "--id", id]),
        call(&["sessions", "trace", "--id", id, "3"]),
        call(&["sessions", "projections", "--state", "--id", id]),
        call(&["sessions", "usage", "--by", "turn"]),
        call(&["sessions", "usage", "--by", "cwd"]),
        call(&["sessions", "usage", "--by", "model", "--rates", "rates.json"]),
        call(&["sessions", "check"]),
        call(&["sessions", "path"]),
        call(&[
            "reference",
            "prepare",
            "--max-bytes",
            "2000",
            "--reference",
            &dshkit::model::uri::encode(&id.to_owned().into()),
            &evil,
        ]),
        call(&["reference", "prepare", "--explain", "--reference", &uri, "--max-bytes", "2000"]),
        call(&["reference", "prepare", "--spill", ".", "--reference", &uri, "--max-bytes", "2000"]),
        call(&["reference", "candidates", "--target", &evil, "--target-cwd", &evil]),
        call(&["reference", "candidates", "--target", id, "pwned"]),
        call(&["reference", "expand", "message.md"]),
        call(&["sidechat", "create", "--parent", id, "--question", &evil, "--title", &evil, "--dry-run"]),
        call(&["sidechat", "create", "--parent", id, "--question", &evil, "--preview"]),
        call(&["sidechat", "ask", id, &evil, "--dry-run"]),
        call(&["sidechat", "ask", id, &evil, "--model-command", &format!("printf '%s' '{evil}'")]),
        call(&["sidechat", "fold", id, "--prompt"]),
        call(&["sidechat", "fold", id, "--text", "fold.md", "--dry-run"]),
        call(&["sidechat", "commit", FOLD, "--dry-run"]),
        call(&["sidechat", "commit", FOLD, "--text", "fold.md", "--allow-stale", "--parent", id]),
        call(&["sidechat", "deliver", "--dry-run"]),
        call(&["sidechat", "deliver"]),
        call(&["sidechat", "cite", id, "--fold", "1", "--dry-run"]),
        call(&["sidechat", "cite", id, &evil]),
        call(&["sidechat", "list", "--parent", id]),
        call(&["sidechat", "catalog"]),
        call(&["sidechat", "show", id]),
        call(&["sidechat", "resume", id]),
        call(&["sidechat", "archive", "--dry-run", id]),
        call(&["sidechat", "restore", "--dry-run", id]),
        call(&["sidechat", "abandon", "--dry-run", id]),
        call(&["sidechat", "usage", id]),
        call(&["sidechat", "cites", id]),
        call(&["sidechat", "read", id, &evil, "--as", id]),
        call(&["sidechat", "read", "--tool-schema"]),
        call(&["sidechat", "compare", id, "1", "1"]),
        call(&["sidechat", "withdraw", FOLD, "--reason", &evil, "--dry-run"]),
        call(&["sidechat", "tree"]),
        call(&["sidechat", "hide", "--dry-run", id]),
        call(&["sidechat", "unhide", "--dry-run", id]),
        call(&["sidechat", "relink", id, "--parent", id, "--dry-run"]),
        call(&["sidechat", "doctor"]),
        call(&["index", "build"]),
        call(&["index", "status"]),
        call(&["index", "clear"]),
        call(&["config", "path"]),
        call(&["config", "show"]),
        call(&["schema"]),
        call(&["schema", "error"]),
    ]
}

/// What prints raw bytes where no terminal is (DESIGN §2).
fn is_raw_in_a_pipe(call: &[String]) -> bool {
    let is = |words: &[&str]| call.iter().zip(words).all(|(a, b)| a == b);
    is(&["uri"])
        || is(&["sessions", "path"])
        || is(&["reference", "prepare"])
        || call.iter().any(|word| word == "--raw" || word == "--last-answer" || word == "--prompt")
}

/// Fails if text has anything that came from evil.
#[track_caller]
fn assert_harmless(text: &str, what: &str) {
    let mut rest = text.to_owned();
    for style in ["\u{1b}[0m", "\u{1b}[1m", "\u{1b}[2m", "\u{1b}[33m", "\u{1b}[36m"] {
        rest = rest.replace(style, "");
    }
    if let Some(at) = rest.find(is_evil) {
        let around: String = rest[..at].chars().rev().take(80).collect::<Vec<_>>().into_iter().rev().collect();
        panic!("{what:?}\nhas {:?} behind\n{around}", rest[at..].chars().next());
    }
}

#[track_caller]
fn check(outcome: &Outcome, is_raw: bool, what: &str) {
    if !is_raw {
        assert_harmless(outcome.text(), what);
    }
    assert_harmless(&outcome.stderr, what);
}

#[test]
fn every_command_that_prints_text_is_called() {
    let calls = calls("id");
    for (words, _) in leaves(&dshkit::cli::command()) {
        assert!(calls.iter().any(|call| call.starts_with(&words)), "hostile_text::calls has no {words:?}");
    }
}

#[test]
fn no_text_does_harm_in_a_pipe() {
    let (sandbox, ids) = home();
    let mut shown = 0;
    let mut marks = 0;
    for (number, id) in ids.iter().enumerate() {
        for call in calls(id) {
            // What is not about one session is asked once.
            if number > 0 && !call.iter().any(|word| word == id) {
                continue;
            }
            for colour in ["--color=never", "--color=always"] {
                let words = call.iter().map(String::as_str);
                let words: Vec<&str> = [colour, "--format=text"].into_iter().chain(words).collect();
                let outcome = sandbox.run(&words);
                check(&outcome, is_raw_in_a_pipe(&call), &format!("{words:?}"));
                shown += usize::from(outcome.status == Some(0) && !outcome.stdout.is_empty());
                marks += outcome.text().matches("\\x1b]0;pwned\\x07\\x9b31m").count();
            }
        }
    }
    assert!(shown > 200 && marks > 1000, "{shown} texts, {marks} marks");
}

#[test]
fn rows_stay_rows() {
    let (sandbox, ids) = home();
    let list = sandbox.run(&["sessions", "list", "--long", "--format", "text"]).success();
    assert_eq!(list.text().lines().count(), ids.len() + 1, "{list}");
    let check = sandbox.run(&["sessions", "check", "--format", "text"]);
    assert!(
        check
            .text()
            .lines()
            .skip(1)
            .take(ids.len())
            .all(|line| [" id-", " broken-", " session-"].iter().any(|begin| line.starts_with(begin)))
    );
}

#[test]
fn no_error_about_what_was_typed_does_harm() {
    let (sandbox, _) = home();
    let evil = format!("x{EVIL}");
    let mut told = 0;
    for (words, command) in leaves(&dshkit::cli::command()) {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let options =
            command.get_arguments().filter(|arg| arg.get_num_args().is_some_and(|count| count.takes_values()));
        let mut calls: Vec<Vec<String>> = options
            .filter_map(|arg| arg.get_long())
            .filter(|option| !matches!(*option, "format" | "color"))
            .map(|option| vec![format!("--{option}={evil}"), "a".to_owned()])
            .collect();
        calls.push(vec![evil.clone()]);
        calls.push(vec![format!("--no{evil}")]);
        calls.push(vec!["a".to_owned(), evil.clone(), evil.clone()]);
        calls.push(vec![format!("--id={evil}"), "1".to_owned()]);
        for call in calls {
            let call = call.iter().map(String::as_str);
            let outcome = sandbox.run(&words.iter().copied().chain(["--format=text"]).chain(call).collect::<Vec<_>>());
            assert_harmless(&outcome.stderr, &format!("{outcome}"));
            told += usize::from(!outcome.stderr.is_empty());
        }
    }
    for words in [&[&*evil][..], &["sessions", &evil], &["uri", "parse", "--label", &evil], &[&*format!("--{evil}")]] {
        let outcome = sandbox.run(&[&["--format", "text"], words].concat()).exits(2);
        assert_harmless(&outcome.stderr, "a wrong word");
    }
    assert!(told > 100, "{told}");
}

#[test]
fn no_path_does_harm() {
    // Everything around the sessions has an evil name.
    let (sandbox, ids) = home();
    let root = sandbox.path(&format!("root{EVIL_NAME}"));
    fs::create_dir_all(root.join("config/dshkit")).unwrap();
    crate::support::copy_tree(&sandbox.home(), &root.join("home"));
    let run = |words: &[&str]| {
        let mut command = sandbox.command();
        command.env("DSH_HOME", root.join("home")).env("XDG_CACHE_HOME", root.join("cache"));
        command.env("XDG_CONFIG_HOME", root.join("config")).args(words).args(["--format", "text"]);
        let outcome = outcome(command, b"");
        check(&outcome, words[1] == "path" && words[0] == "sessions", &format!("{words:?}"));
        outcome
    };
    for words in [
        &["sessions", "list", "--long"][..],
        &["sessions", "list", "--fields", "path"],
        &["sessions", "list", "--since", "2100-01-01"],
        &["sessions", "check"],
        &["sessions", "search", "--index", "e"],
        &["sessions", "show", "--id", &ids[1]],
        &["index", "build"],
        &["index", "status"],
        &["index", "clear"],
        &["index", "status"],
        &["config", "show"],
        &["config", "path"],
    ] {
        let outcome = run(words);
        assert!(!outcome.stdout.is_empty() || !outcome.stderr.is_empty(), "{outcome}");
    }
    fs::write(root.join("config/dshkit/config.toml"), format!("\"a{}\" = 1", EVIL.escape_unicode())).unwrap();
    run(&["sessions", "list"]).exits(2);
    fs::write(root.join("config/dshkit/config.toml"), format!("a = \"{EVIL}\"")).unwrap();
    run(&["sessions", "list"]).exits(2);
    fs::remove_dir_all(root.join("config")).unwrap();
    fs::remove_dir_all(root.join("cache")).unwrap();
    fs::write(root.join("cache"), "").unwrap();
    for words in [&["sessions", "list", "--long"][..], &["index", "build"], &["sessions", "search", "--index", "e"]] {
        assert!(run(words).stderr.contains("pwned"), "the cache cannot be used, and that is told");
    }
    fs::remove_dir_all(root.join("home/sessions")).unwrap();
    assert!(run(&["sessions", "list"]).stderr.contains("there are no sessions in "));
}

#[test]
fn no_text_does_harm_in_a_real_terminal() {
    if !has("text in a terminal", &["tmux"]) {
        return;
    }
    let (sandbox, ids) = home();
    let case = Sandbox::with_data("cases/07");
    let quoted = |word: &String| format!("'{}'", word.replace('\'', r"'\''"));
    let mut script = String::from("while [ ! -e go ]; do sleep 0.05; done\n");
    let mut count = 0;
    for id in ids.iter().take(4).chain(ids.last()) {
        for call in calls(id) {
            let words: Vec<String> = call.iter().map(quoted).collect();
            script.push_str(&format!("dshkit {}\n", words.join(" ")));
            count += 1;
        }
    }
    for call in calls("latest").iter().filter(|call| call[0] == "sessions") {
        let words: Vec<String> =
            call.iter().map(|word| if word == "--id" { String::new() } else { quoted(word) }).collect();
        script.push_str(&format!("DSH_HOME='{}' dshkit {}\n", case.home().display(), words.join(" ")));
    }
    script.push_str("touch done\nsleep 1000\n");
    fs::write(sandbox.path("run.sh"), script).unwrap();
    let terminal = Terminal::open(&sandbox, (120, 50), "PAGER=cat sh run.sh");
    let title = terminal.fact("pane_title");
    terminal.record(&sandbox.path("bytes"));
    fs::write(sandbox.path("go"), "").unwrap();
    assert!(wait_for(|| sandbox.path("done").exists()), "the commands end; the screen is\n{}", terminal.screen());
    assert_eq!(terminal.fact("pane_title"), title, "the window has the title it had");
    let read = || String::from_utf8_lossy(&fs::read(sandbox.path("bytes")).unwrap_or_default()).into_owned();
    assert!(wait_for(|| read().len() > 20_000), "{}", read().len());
    let printed = read();
    assert!(printed.matches("\\x1b]0;pwned").count() > count, "what was evil is spelled out");
    // The terminal itself puts a carriage return before each line feed, and a progress bar draws its line anew.
    assert_harmless(&printed.replace("\u{1b}[2K", "").replace('\r', ""), "a terminal");
}
