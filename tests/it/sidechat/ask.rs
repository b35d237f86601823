//! Asking a side chat from a shell: whole turns in its log, whatever becomes of the answer.

use super::loop_by_model::Model;
use super::{A, Chats, PLAIN, Talk};
use crate::logs::{Kind, read};
use crate::support::outcome;
use crate::terminal::{Terminal, has, wait_for};
use dshkit::stores::Encoding;
use serde_json::{Value, json};
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};

const BOTH: [Kind; 2] = [PLAIN, Kind { version: 0, encoding: Encoding::Zstd }];

/// A stream of an endpoint, whole.
fn streamed(events: &[Value]) -> (u16, String) {
    let events: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
    (200, format!("{events}data: [DONE]\n\n"))
}

fn delta(key: &str, text: &str) -> Value {
    json!({"choices": [{"delta": {key: text}}]})
}

fn finish(reason: &str) -> Value {
    let usage = json!({"prompt_tokens": 300, "completion_tokens": 50, "total_tokens": 350, "prompt_cache_hit_tokens": 128,
        "completion_tokens_details": {"reasoning_tokens": 20}});
    json!({"choices": [{"delta": {}, "finish_reason": reason}], "usage": usage})
}

/// An answer in pieces, with a thought before it.
pub(super) fn answer(pieces: &[&str]) -> (u16, String) {
    let mut events = vec![delta("reasoning_content", "Let me see.")];
    events.extend(pieces.iter().map(|piece| delta("content", piece)));
    events.push(finish("stop"));
    streamed(&events)
}

/// The events of a side chat from a seq on.
#[track_caller]
fn events(chats: &Chats, child: &str, first: usize) -> Vec<Value> {
    read(&chats.sandbox.sessions(), child).0.split_off(first)
}

fn kinds(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["type"].as_str().unwrap()).collect()
}

/// How many events a side chat has when it is made.
const MADE: usize = 8;

#[test]
fn an_answer_is_shown_and_kept_as_a_whole_turn() {
    for kind in BOTH {
        let chats = Chats::new(kind);
        let child = chats.create(&["--seed", "tail:2"]);
        let parent = chats.bytes();
        let model = Model::new(vec![answer(&["The \u{1b}[31mkey ", "of the ", "request."]), answer(&["Yes."])]);
        let ask = |format: &str, more: &[&str]| {
            let mut command = chats.sandbox.command();
            command.env("SCRIPTED_KEY", "sk-scripted").args(["--format", format, "sidechat", "ask", &child]).args(more);
            command.args(["--endpoint", &model.url, "--key-env", "SCRIPTED_KEY"]);
            outcome(command, b"")
        };
        // What waits for an answer since the side chat was made.
        let shown = ask("text", &[]).success();
        assert_eq!(shown.text(), "The \\x1b[31mkey of the request.\n", "as safe text, without the thought");
        let turn = events(&chats, &child, MADE);
        let chunks = ["assistant/chunk"; 10];
        let expected: Vec<&str> = ["turn/start", "step/start", "request/header", "request/context"]
            .into_iter()
            .chain(chunks)
            .chain(["assistant/message", "step/end", "turn/end"])
            .collect();
        assert_eq!(kinds(&turn), expected);
        let message = &turn[14];
        assert_eq!(
            message["data"]["message"]["content"],
            json!([{"type": "reasoning", "text": "Let me see."}, {"type": "text", "text": "The \u{1b}[31mkey of the request."}])
        );
        let usage = json!({"inputTokens": 172, "outputTokens": 50, "totalTokens": 350, "cacheReadTokens": 128, "reasoningTokens": 20});
        assert_eq!((&message["data"]["usage"], &turn[12]["data"]["chunk"]["usage"]), (&usage, &usage));
        let cites: Vec<u64> = (MADE as u64 + 4..MADE as u64 + 14).collect();
        assert_eq!((&message["sourceEventSeqs"], &message["surfaceOp"]), (&json!(cites), &json!("append")));
        let config = &turn[2]["data"]["header"]["config"];
        assert_eq!(*config, json!({"provider": "deepseek-official", "model": "deepseek-v4-flash", "maxTokens": 8000}));
        assert_eq!(turn[2]["data"]["reason"], "initial");
        assert_eq!(turn[16]["data"], json!({"turn": 2, "reason": {"kind": "completed"}}));
        // A question of the person's own.
        let document = ask("json", &["Is it safe?"]).success().json();
        assert_eq!((&document["turn"]["turn"], &document["turn"]["text"]), (&json!(3), &json!("Yes.")));
        let turn = events(&chats, &child, MADE + 17);
        assert_eq!(
            (&turn[0]["seq"], &turn.last().unwrap()["seq"]),
            (&document["turn"]["firstSeq"], &document["turn"]["lastSeq"])
        );
        assert_eq!(
            kinds(&turn)[..5],
            ["turn/start", "step/start", "user/message", "request/header", "assistant/chunk"]
        );
        assert_eq!(turn[2]["data"]["source"], json!({"kind": "user"}));
        assert_eq!(turn[2]["data"]["id"], document["turn"]["promptMessageId"]);
        // The model was sent the surface, and nothing else.
        let sent = model.asked();
        let body: Value = serde_json::from_str(sent[1].split("\r\n\r\n").nth(1).unwrap()).unwrap();
        let roles: Vec<&Value> = body["messages"].as_array().unwrap().iter().map(|message| &message["role"]).collect();
        assert_eq!(roles, ["user", "assistant", "user"]);
        assert!(body["messages"][0]["content"].as_str().unwrap().ends_with("Which key?"));
        assert_eq!(body["messages"][1]["content"], "The \u{1b}[31mkey of the request.", "without what was thought");
        assert_eq!(body["messages"][2], json!({"role": "user", "content": "Is it safe?"}));
        assert_eq!(
            (&body["model"], &body["max_tokens"], &body["tools"]),
            (&json!("deepseek-v4-flash"), &json!(8000), &Value::Null)
        );
        // Both turns are exactly known.
        let usage = chats.run(&["usage", &child]).success().json()["child"].clone();
        assert_eq!((&usage["complete"], &usage["completedTurns"]), (&json!(true), &json!(2)));
        assert_eq!(
            usage["totals"],
            json!({"uncachedInputTokens": 344, "outputTokens": 100, "totalTokens": 700, "cacheReadTokens": 256,
                "cacheWriteTokens": null, "reasoningTokens": 40,
                "routes": [{"provider": "deepseek-official", "model": "deepseek-v4-flash"}]})
        );
        let row = chats.sandbox.run(&["sessions", "usage", &child]).success().json();
        let used = &row["rows"][0];
        let tokens = (&used["inputTokens"], &used["outputTokens"], &used["cacheReadTokens"]);
        assert_eq!(tokens, (&json!(344), &json!(100), &json!(256)), "{row}");
        let values = chats.sandbox.run(&["sessions", "projections", &child]).success().json()["values"].clone();
        assert_eq!(
            values["tokenUsage"],
            json!({"uncachedInputTokens": 344, "outputTokens": 100, "cacheReadTokens": 256, "cacheWriteTokens": 0})
        );
        // The step of the first message counts, as any does that has ended.
        assert_eq!(
            (&values["sessionStats"]["turns"], &values["sessionStats"]["steps"]),
            (&json!(3), &json!(3)),
            "{values}"
        );
        assert_eq!(values["sessionStats"]["decodeTokens"], 100);
        assert_eq!(chats.bytes(), parent, "the parent knows nothing of it");
        // What was said can be folded, cited and gone on with.
        let reply = document["turn"]["messageId"].as_str().unwrap();
        chats.cite(&child, &[reply]).success();
        assert!(chats.written()[0].1.ends_with("\n\nYes."));
        for bytes in chats.everything().into_values().flatten() {
            assert!(!bytes.windows(11).any(|window| window == b"sk-scripted"));
        }
    }
}

#[test]
fn a_call_that_fails_leaves_a_turn_that_ended_in_error() {
    let chats = Chats::new(PLAIN);
    let child = chats.create(&[]);
    let half = (200, format!("data: {}\n\n", delta("content", "Half")));
    let denied = (401, r#"{"error":{"message":"bad key sk-scripted"}}"#.to_owned());
    let model = Model::new(vec![denied, half, answer(&["Whole."])]);
    let ask = |more: &[&str]| {
        let mut command = chats.sandbox.command();
        command.env("SCRIPTED_KEY", "sk-scripted").args(["sidechat", "ask", &child, "--endpoint", &model.url]);
        command.args(["--key-env", "SCRIPTED_KEY"]).args(more);
        outcome(command, b"")
    };
    ask(&["Why?"]).fails_with_data(8, "model-failed");
    let turn = events(&chats, &child, MADE);
    let error = json!({"message": format!("the model at {} failed: status 401: bad key (the key)", model.url), "code": "AUTH", "status": 401});
    assert_eq!(turn[5]["data"]["chunk"], json!({"type": "finish", "reason": {"kind": "error", "failure": error}}));
    assert_eq!(turn[7]["data"], json!({"turn": 2, "reason": {"kind": "error", "error": error}}));
    assert_eq!(turn.len(), 8);
    // An answer that breaks off without anybody's will is no answer.
    let outcome = ask(&[]);
    assert_eq!(outcome.json()["turn"]["error"]["code"], "STREAM_CLOSED");
    assert_eq!((&outcome.json()["turn"]["messageId"], &outcome.json()["turn"]["text"]), (&Value::Null, &json!("Half")));
    outcome.fails_with_data(8, "model-failed");
    let status = chats.sandbox.run(&["sessions", "status", &child]).exits(0).json();
    assert_eq!(status["state"], "error", "{status}");
    assert_eq!(chats.run(&["usage", &child]).success().json()["child"]["complete"], false, "as dsh's meter has it");
    // The question still waits, once.
    assert_eq!(ask(&[]).success().json()["turn"]["text"], "Whole.");
    let sent = model.asked();
    assert_eq!(sent[2].matches("Why?").count(), 1);
    ask(&[]).fails(2, "bad-request");
}

/// Asks, and does not wait for the answer.
pub(super) fn begin(chats: &Chats, child: &str, text: &str, more: &[&str]) -> Child {
    start(chats, &[&[child, text], more].concat())
}

fn start(chats: &Chats, words: &[&str]) -> Child {
    let mut command = chats.sandbox.command();
    command.args(["--format", "text", "sidechat", "ask"]).args(words);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Interrupts who asks, as a person does at a terminal, and gives what is said then.
#[track_caller]
pub(super) fn interrupt(mut asking: Child) -> String {
    assert!(Command::new("kill").args(["-INT", &asking.id().to_string()]).status().unwrap().success());
    let status = asking.wait().unwrap();
    let mut said = String::new();
    asking.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!(status.code(), Some(8), "{said}");
    said
}

#[test]
fn an_answer_that_is_interrupted_is_kept_and_nobody_else_writes_meanwhile() {
    for kind in BOTH {
        let chats = Chats::new(kind);
        let child = chats.create(&[]);
        let slow = ["--model-command", "printf 'Half an'; read never < /dev/tty || sleep 1000"];
        let mut asking = begin(&chats, &child, "Why?", &slow);
        let mut shown = [0; 7];
        asking.stdout.as_mut().unwrap().read_exact(&mut shown).unwrap();
        assert_eq!(&shown, b"Half an", "while the model still speaks");
        let before = fs::read(chats.log_of(&child)).unwrap();
        chats.run(&["ask", &child, "Me too?", "--model-command", "echo no"]).fails(7, "session-held");
        assert_eq!(fs::read(chats.log_of(&child)).unwrap(), before, "half a turn is never in the log");
        let said = interrupt(asking);
        assert!(said.contains("interrupted") && said.contains("kept"), "{said}");
        let turn = events(&chats, &child, MADE);
        let message = turn.iter().find(|event| event["type"] == "assistant/message").unwrap();
        assert_eq!(message["data"]["interrupted"], true);
        assert_eq!(message["data"]["message"]["content"], json!([{"type": "text", "text": "Half an"}]));
        assert_eq!(turn.last().unwrap()["data"]["reason"], json!({"kind": "aborted", "reason": {"kind": "user"}}));
        assert!(!turn.iter().any(|event| event["data"]["chunk"]["type"] == "finish"));
        chats.run(&["ask", &child, "Go on.", "--model-command", "echo swer"]).success();
    }
}

#[test]
fn an_answer_is_kept_although_nobody_reads_it_to_its_end() {
    let chats = Chats::new(PLAIN);
    let child = chats.create(&[]);
    let mut command = chats.sandbox.command();
    let long =
        "i=0; while [ $i -lt 3000 ]; do echo 'a line of some length, so that no pipe takes them all'; i=$((i+1)); done";
    command.args(["--format", "text", "sidechat", "ask", &child, "--model-command", long]);
    let mut asking = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(asking.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(asking.wait().unwrap().code(), Some(0));
    let turn = events(&chats, &child, MADE);
    let message = turn.iter().find(|event| event["type"] == "assistant/message").unwrap();
    let text = message["data"]["message"]["content"][0]["text"].as_str().unwrap();
    assert_eq!(text.lines().count(), 3000);
}

#[test]
fn an_answer_as_long_as_it_may_be_is_one() {
    let chats = Chats::new(PLAIN);
    let child = chats.create(&[]);
    let model = Model::new(vec![streamed(&[delta("content", "Cut"), finish("length")])]);
    let ask = ["ask", &child, "--endpoint", &model.url, "--max-tokens", "5", "--model", "scripted"];
    let asked = chats.run(&ask).success();
    assert!(asked.stderr.contains("cut off"), "{}", asked.stderr);
    assert_eq!(asked.json()["turn"]["reason"], "max-tokens");
    assert_eq!(asked.json()["turn"]["route"], json!({"provider": "127.0.0.1", "model": "scripted"}));
    let turn = events(&chats, &child, MADE);
    assert_eq!(turn.last().unwrap()["data"]["reason"], json!({"kind": "max-tokens"}));
    assert!(model.asked()[0].contains(r#""max_tokens":5"#));
}

/// A question that must not reach a model.
#[track_caller]
fn refused(chats: &Chats, child: &str, text: &str, status: i32, code: &str) -> Value {
    let before = chats.everything();
    let asked = chats.sandbox.path("asked");
    let command = format!("touch {}; echo yes", asked.display());
    let error = chats.run(&["ask", child, text, "--model-command", &command]).fails(status, code);
    assert!(!asked.exists(), "no model was asked");
    assert_eq!(chats.everything(), before);
    error
}

#[test]
fn what_may_not_be_asked_is_refused_before_a_model_is() {
    let chats = Chats::new(PLAIN);
    refused(&chats, A, "Why?", 3, "not-sidechat");
    let child = chats.create(&[]);
    refused(&chats, &child, " \n", 2, "bad-request");
    refused(&chats, &child, &"x".repeat(20_001), 2, "bad-request");
    refused(&chats, "no-such-session", "Why?", 3, "SESSION_QUERY_SESSION_NOT_FOUND");
    let lock = chats.log_of(&child).with_file_name("session.lock");
    let held = File::create(&lock).unwrap();
    held.lock().unwrap();
    let error = refused(&chats, &child, "Why?", 7, "session-held");
    assert!(error["message"].as_str().unwrap().contains("a dsh or another dshkit"), "{error}");
    drop(held);
    let command = ["ask", &child, "Why?", "--endpoint", "http://127.0.0.1:1", "--key-env", "NOT_SET"];
    let before = chats.everything();
    chats.run(&command).fails(2, "usage");
    assert_eq!(chats.everything(), before);
    chats.run(&["abandon", &child]).success();
    refused(&chats, &child, "Why?", 7, "status-invalid");
    // An archived one can still be asked, and one whose parent is gone.
    let child = chats.create(&[]);
    chats.run(&["archive", &child]).success();
    fs::remove_dir_all(chats.parent.parent().unwrap()).unwrap();
    chats.run(&["ask", &child, "Why?", "--model-command", "echo so"]).success();
    fs::remove_file(chats.log_of(&child)).unwrap();
    fs::remove_dir_all(chats.log_of(&child).parent().unwrap()).unwrap();
    refused(&chats, &child, "Why?", 7, "orphaned");
}

#[test]
fn what_a_newer_dsh_has_migrated_is_not_ours_even_if_all_in_it_is() {
    let chats = Chats::new(PLAIN);
    let child = chats.create(&[]);
    let newer = Kind { version: 4, ..PLAIN };
    let mut talk = Talk::new(newer);
    for mut event in read(&chats.sandbox.sessions(), &child).0 {
        if event["type"] == "user/message" {
            let source = event["data"]["source"].as_object_mut().unwrap();
            source.remove("plugin");
            source.insert("kind".to_owned(), json!("plugin:dsh-sidechat"));
        }
        talk.events.push(event);
    }
    let mut header = newer.header(&child);
    let listed = chats.run(&["show", &child]).success().json();
    header["createdAt"] = listed["chat"]["createdAt"].clone();
    header["cwd"] = listed["chat"]["cwd"].clone();
    super::write_session_with(&chats.sandbox, newer, &header, &talk);
    // The ledger does not know any more what the log held when we wrote it.
    fs::remove_dir_all(chats.sandbox.home().join("dshkit")).unwrap();
    assert_eq!(chats.run(&["doctor", "--rebuild"]).success().json()["restored"]["chats"], 1);
    refused(&chats, &child, "Why?", 7, "continue-in-dsh");
}

#[test]
fn what_a_dsh_has_gone_on_with_is_continued_there() {
    for kind in BOTH {
        // A dsh of v0 marks the log it opens.
        let chats = Chats::new(kind);
        let opened = chats.create(&[]);
        chats.go_on(&opened, |talk| {
            talk.push("session/end-seed", json!({}));
        });
        let error = refused(&chats, &opened, "Why?", 7, "continue-in-dsh");
        assert!(error["hint"].as_str().unwrap().contains("sidechat resume"), "{error}");
        assert!(error["message"].as_str().unwrap().starts_with("a dsh has gone on"), "{error}");
        let prompted = chats.create(&[]);
        chats.go_on(&prompted, |talk| {
            talk.push("agent/inbox/spliced", json!({"target": "next-turn", "start": 0, "inserted": []}));
            talk.exchange(("q1", "Is it safe?"), ("r1", "Yes."));
        });
        refused(&chats, &prompted, "Why?", 7, "continue-in-dsh");
        // A newer one has migrated it.
        let migrated = chats.create(&[]);
        let newer = Kind { version: 4, ..kind };
        let mut header = newer.header(&migrated);
        let (first, _) = read(&chats.sandbox.sessions(), A);
        assert!(!first.is_empty());
        let listed = chats.run(&["show", &migrated]).success().json();
        header["createdAt"] = listed["chat"]["createdAt"].clone();
        header["cwd"] = listed["chat"]["cwd"].clone();
        let mut talk = Talk::new(newer);
        talk.exchange(("q1", "Is it safe?"), ("r1", "Yes."));
        let mut bytes = newer.batch(&[header.to_string()]);
        bytes.extend(newer.batch(&talk.rows(0)));
        fs::write(chats.log_of(&migrated).with_file_name(newer.file_name()), bytes).unwrap();
        refused(&chats, &migrated, "Why?", 7, "continue-in-dsh");
        // Somebody has changed what we wrote.
        if kind == PLAIN {
            let changed = chats.create(&[]);
            let text = fs::read_to_string(chats.log_of(&changed)).unwrap();
            fs::write(chats.log_of(&changed), text.replace("Which key?", "Which cat?")).unwrap();
            is_changed(&refused(&chats, &changed, "Why?", 7, "continue-in-dsh"));
        }
        // Or has put something behind it that is no event.
        let torn = chats.create(&[]);
        let bytes = fs::read(chats.log_of(&torn)).unwrap();
        fs::write(chats.log_of(&torn), [&bytes[..], &kind.batch(&["{}".to_owned()])[..1]].concat()).unwrap();
        is_changed(&refused(&chats, &torn, "Why?", 7, "continue-in-dsh"));
    }
}

/// Nobody can tell who has changed a log that holds no event more.
#[track_caller]
fn is_changed(error: &Value) {
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("was changed since dshkit wrote it") && !message.contains("a dsh has"), "{message}");
}

#[test]
fn an_answer_that_cannot_be_kept_is_not_lost() {
    let chats = Chats::new(PLAIN);
    let child = chats.create(&[]);
    let whole = fs::read(chats.log_of(&child)).unwrap();
    let log = chats.log_of(&child).display().to_string();
    // The log is written to while the model answers.
    let stray = format!("printf x >> '{log}'; echo 'Paid for.'");
    let mut command = chats.sandbox.command();
    command.args(["--format", "text", "sidechat", "ask", &child, "Why?", "--model-command", &stray]);
    let shown = outcome(command, b"").exits(7);
    assert_eq!(shown.text(), "Paid for.\n");
    assert!(shown.stderr.contains("the answer was not kept: the log of the side chat"), "{shown}");
    is_changed(&refused(&chats, &child, "Why?", 7, "continue-in-dsh"));
    assert_eq!(fs::read(&log).unwrap(), [&whole[..], b"x"].concat());
    fs::write(&log, &whole).unwrap();
    let row = json!({"type": "session/end-seed", "seq": MADE, "time": crate::logs::NOW, "data": {}});
    let row = chats.file("row", &format!("{row}\n"));
    let by_dsh = format!("cat '{row}' >> '{log}'; echo 'Paid for.'");
    let lost = chats.run(&["ask", &child, "Why?", "--model-command", &by_dsh]);
    let document = lost.json();
    assert_eq!(document["kept"], false);
    let turn = &document["turn"];
    assert_eq!((&turn["text"], &turn["reason"]), (&json!("Paid for."), &json!("completed")));
    for key in ["turn", "firstSeq", "lastSeq", "promptMessageId", "messageId"] {
        assert!(turn[key].is_null(), "{key}: {turn}");
    }
    is_changed(&lost.fails_with_data(7, "continue-in-dsh"));
    // Who looks again sees who it was.
    let error = refused(&chats, &child, "Why?", 7, "continue-in-dsh");
    assert!(error["message"].as_str().unwrap().starts_with("a dsh has gone on"), "{error}");
}

#[test]
fn who_interrupts_before_anything_came_has_asked_all_the_same() {
    let chats = Chats::new(PLAIN);
    let child = chats.create(&[]);
    for (words, said) in [(&[][..], "the question still waits"), (&["Is it safe?"], "the question is kept")] {
        let started = chats.sandbox.path("started");
        let slow = format!("touch '{}'; sleep 1000", started.display());
        let asking = start(&chats, &[&[child.as_str()][..], words, &["--model-command", &slow]].concat());
        assert!(wait_for(|| started.exists()));
        let told = interrupt(asking);
        assert!(told.contains(said) && told.contains("without TEXT") && !told.contains("what had come"), "{told}");
        fs::remove_file(started).unwrap();
    }
    let sent = chats.run(&["ask", &child, "--model-command", "grep -c '\"role\"'"]).success().json();
    assert_eq!(sent["turn"]["text"], "2", "both questions");
}

#[test]
fn a_model_that_has_thought_as_much_as_it_may_has_answered_nothing() {
    let chats = Chats::new(PLAIN);
    let child = chats.create(&[]);
    let model = Model::new(vec![streamed(&[finish("length")]), answer(&["Yes."])]);
    let asked = chats.run(&["ask", &child, "--endpoint", &model.url]).success();
    assert!(asked.stderr.contains("before it said anything"), "{asked}");
    let turn = &asked.json()["turn"];
    assert_eq!((&turn["reason"], &turn["text"], &turn["error"]), (&json!("max-tokens"), &json!(""), &Value::Null));
    let written = events(&chats, &child, MADE);
    let message = written.iter().find(|event| event["type"] == "assistant/message").unwrap();
    assert_eq!(
        (&message["data"]["message"]["content"], &message["data"]["message"]["id"]),
        (&json!([]), &turn["messageId"])
    );
    assert_eq!(chats.run(&["ask", &child, "--endpoint", &model.url]).success().json()["turn"]["text"], "Yes.");
    assert!(!model.asked()[1].contains(r#""role":"assistant""#), "no model is sent nothing");
}

#[test]
fn who_waits_at_a_terminal_is_told_so() {
    let chats = Chats::new(PLAIN);
    let child = chats.create(&[]);
    let piped = chats.run(&["ask", &child, "Why?", "--model-command", "sleep 0.7; echo so"]).success();
    assert!(piped.stderr.is_empty(), "{piped}");
    if !has("waiting for a model", &["tmux"]) {
        return;
    }
    let slow = "while [ ! -e answer ]; do sleep 0.05; done; echo So.";
    let line = format!("dshkit sidechat ask {child} Why? --model-command '{slow}'; echo status $?; sleep 1000");
    let terminal = Terminal::open(&chats.sandbox, (120, 20), &line);
    terminal.wait("that a model is waited for", |screen| screen.contains("waiting for the model"));
    fs::write(chats.sandbox.path("answer"), "").unwrap();
    let screen = terminal.wait("the answer", |screen| screen.contains("status"));
    assert_eq!(screen.trim_end(), "So.\nstatus 0", "the words are gone");
}

#[test]
fn a_trial_shows_what_would_be_sent() {
    let chats = Chats::new(PLAIN);
    let child = chats.create(&[]);
    let before = chats.everything();
    let trial = chats.run(&["ask", &child, "Is it safe?", "--dry-run"]).success().json();
    let context = &trial["context"];
    assert_eq!(context["messages"].as_array().unwrap().len(), 2);
    assert_eq!(context["messages"][1], json!({"role": "user", "text": "Is it safe?"}));
    assert_eq!(context["route"], json!({"provider": "deepseek-official", "model": "deepseek-v4-flash"}));
    let texts = context["messages"].as_array().unwrap().iter().map(|message| message["text"].as_str().unwrap());
    let units: usize = texts.map(|text| text.encode_utf16().count()).sum();
    assert_eq!(context["characters"], units);
    assert_eq!(chats.everything(), before);
}

#[test]
fn a_trial_names_the_model_a_run_would_log() {
    let chats = Chats::new(PLAIN);
    let child = chats.create(&[]);
    let inherited = json!({"provider": "deepseek-official", "model": "deepseek-v4-flash"});
    let cases: [(&[&str], Value); 5] = [
        (&["--endpoint", "https://llm.example:8443/v1"], inherited.clone()),
        (&["--model-command", "echo so"], inherited),
        (&["--model", "other"], json!({"provider": "deepseek-official", "model": "other"})),
        (
            &["--model", "other", "--endpoint", "https://llm.example:8443/v1"],
            json!({"provider": "llm.example", "model": "other"}),
        ),
        (&["--model", "other", "--model-command", "echo so"], json!({"provider": "command", "model": "other"})),
    ];
    for (words, route) in &cases {
        let trial = chats.run(&[&["ask", &child, "--dry-run"], *words].concat()).success().json();
        assert_eq!(trial["context"]["route"], *route, "{words:?}");
    }
    for (words, route) in &cases[1..=1] {
        let turn = chats.run(&[&["ask", &child], *words].concat()).success().json()["turn"].clone();
        assert_eq!(turn["route"], *route, "{words:?}");
    }
    let last = &cases[4];
    let turn = chats.run(&[&["ask", &child, "And?"], last.0].concat()).success().json()["turn"].clone();
    assert_eq!(turn["route"], last.1);
}

#[test]
fn what_is_no_name_of_a_model_is_refused_before_one_is_asked() {
    let chats = Chats::new(PLAIN);
    let child = chats.create(&[]);
    let asked = chats.sandbox.path("asked");
    let command = format!("touch {}; echo yes", asked.display());
    let before = chats.everything();
    for name in ["", " ", "a\nb", "a\u{1b}[31m", "\u{85}a", " a", "a\t"] {
        let task = ["create", "--parent", A, "--question", "q", "--seed", "task", "--task-model", name];
        let commands: [&[&str]; 3] =
            [&["ask", &child, "Why?", "--model", name], &["fold", &child, "--generate", "--model", name], &task];
        for words in commands {
            for more in [&[][..], &["--dry-run"]] {
                let error = chats.run(&[words, &["--model-command", &command], more].concat()).fails(2, "usage");
                assert!(error["message"].as_str().unwrap().contains("no name of a model"), "{error}");
            }
        }
        for model in [format!("{name}/m"), format!("p/{name}")] {
            let create = ["create", "--parent", A, "--question", "q", "--model", &model];
            chats.run(&create).fails(2, "bad-request");
        }
    }
    let config = chats.sandbox.path("config/dshkit/config.toml");
    fs::create_dir_all(config.parent().unwrap()).unwrap();
    let text = format!("[model]\nname = \" \"\ncommand = [\"sh\", \"-c\", \"{command}\"]\n");
    fs::write(config, text).unwrap();
    chats.run(&["ask", &child, "Why?"]).fails(2, "invalid-config");
    chats.run(&["ask", &child, "Why?", "--dry-run"]).fails(2, "invalid-config");
    assert!(!asked.exists(), "no model was asked");
    assert_eq!(chats.everything(), before);
    chats.run(&["ask", &child, "Why?", "--model", "a name: 模型"]).success();
}
