//! The whole loop from a shell, with a model behind a loopback address and with one that is a command.

use super::{A, Chats, FOLD, PLAIN};
use crate::support::{Outcome, outcome};
use serde_json::{Value, json};
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// A model behind a loopback address, which answers as scripted and keeps what it was asked.
pub(super) struct Model {
    pub(super) url: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Model {
    /// Each answer is a status and a body; after the last one nobody listens.
    pub(super) fn new(answers: Vec<(u16, String)>) -> Model {
        let mut answers = answers.into_iter();
        Model::with(answers.len(), move |_| answers.next().unwrap())
    }

    /// Answers so many requests, each as its text wants it.
    pub(super) fn with(requests: usize, mut reply: impl FnMut(&str) -> (u16, String) + Send + 'static) -> Model {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&asked);
        thread::spawn(move || {
            for _ in 0..requests {
                let (mut stream, _) = listener.accept().unwrap();
                let request = request(&mut stream);
                let (status, body) = reply(&request);
                // Who has seen enough may hang up.
                let _ = answer(&mut stream, status, &body);
                kept.lock().unwrap().push(request);
            }
        });
        Model { url, asked }
    }

    pub(super) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

fn request(stream: &mut TcpStream) -> String {
    let mut request = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&request).into_owned();
        if let Some((head, rest)) = text.split_once("\r\n\r\n") {
            let length =
                head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
            if rest.len() >= length.unwrap_or(0usize) {
                break;
            }
        }
        let read = stream.read(&mut buffer).unwrap();
        assert!(read > 0);
        request.extend_from_slice(&buffer[..read]);
    }
    String::from_utf8(request).unwrap()
}

fn answer(stream: &mut TcpStream, status: u16, body: &str) -> std::io::Result<()> {
    let head = format!("HTTP/1.1 {status} X\r\nConnection: close\r\nContent-Length: {}\r\n\r\n", body.len());
    stream.write_all(format!("{head}{body}").as_bytes())
}

pub(super) fn said(text: &str) -> (u16, String) {
    let usage =
        json!({"prompt_tokens": 300, "completion_tokens": 50, "total_tokens": 350, "prompt_cache_hit_tokens": 128});
    let choice = json!({"finish_reason": "stop", "message": {"role": "assistant", "content": text}});
    (200, json!({"model": "scripted-1", "choices": [choice], "usage": usage}).to_string())
}

/// The loop: create with a task, generate and have it written again, edit, commit, cite, usage.
fn whole_loop(chats: &Chats, asking: &[&str], rewritten: bool) -> (String, Value) {
    let run = |words: &[&str], more: &[&str]| -> Outcome {
        let mut command = chats.sandbox.command();
        command.env("SCRIPTED_KEY", "sk-scripted").env("EDITOR", "sed -i s/a.rs/edited.rs/");
        command.arg("sidechat").args(words).args(more);
        outcome(command, b"")
    };
    let created =
        run(&["create", "--parent", A, "--question", "Which key?", "--seed", "task"], asking).success().json();
    let child = created["chat"]["childSessionId"].as_str().unwrap().to_owned();
    assert_eq!(created["chat"]["seed"]["generated"]["text"], "The goal is a key.");
    chats.go_on(&child, |talk| {
        talk.exchange(("q1", "Is it safe?"), ("r1", "Yes."));
    });
    let folded = run(&["fold", &child, "--generate"], asking).success().json();
    let fold = folded["fold"]["foldId"].as_str().unwrap().to_owned();
    assert_eq!(folded["fold"]["calls"].as_array().unwrap().len(), if rewritten { 2 } else { 1 });
    assert_eq!(folded["fold"]["structure"]["valid"], true);
    let edited = run(&["fold", &child, "--fold-id", &fold, "--edit"], &[]).success().json();
    assert!(edited["fold"]["text"].as_str().unwrap().contains("edited.rs"));
    assert_eq!(chats.commit(&fold, &[]).success().json()["fold"]["state"], "committed");
    assert_eq!(chats.cite(&child, &["r1"]).success().json()["cite"]["state"], "committed");
    let written = chats.written();
    assert_eq!(written.len(), 2);
    assert!(written[0].1.contains("edited.rs") && written[1].1.ends_with("\n\nYes."));
    (child.clone(), run(&["usage", &child], &[]).success().json())
}

#[test]
fn with_an_endpoint() {
    let chats = Chats::new(PLAIN);
    let model = Model::new(vec![said("The goal is a key."), said("nonsense"), said(FOLD)]);
    let asking = ["--endpoint", &model.url, "--key-env", "SCRIPTED_KEY"];
    let (_, usage) = whole_loop(&chats, &asking, true);
    let call = json!({"route": {"provider": "127.0.0.1", "model": "scripted-1"},
        "usage": {"inputTokens": 172, "outputTokens": 50, "totalTokens": 350, "cacheReadTokens": 128, "reasoningTokens": null}});
    let without_time = |call: &Value| json!({"route": call["route"], "usage": call["usage"]});
    assert_eq!(without_time(&usage["seedCall"]), call);
    let calls = usage["foldCalls"][0]["calls"].as_array().unwrap();
    assert_eq!(calls.iter().map(without_time).collect::<Vec<_>>(), [call.clone(), call]);
    assert_eq!(usage["child"]["totals"]["totalTokens"], 150, "calls outside the session are not among its turns");
    assert_eq!(usage["deliveries"], json!({"messages": 2, "modelCalls": 0}));
    let asked = model.asked();
    assert_eq!(asked.len(), 3);
    for request in &asked {
        assert!(request.starts_with("POST /chat/completions "), "{request}");
        assert!(request.to_lowercase().contains("authorization: bearer sk-scripted"));
        assert!(request.contains(r#""model":"deepseek-v4-flash""#), "the parent's latest, and the one it is meant for");
        assert!(!request.contains("\"tools\""));
    }
    assert!(asked[0].contains(r#""max_tokens":500"#));
    // The key stands in no file of the home.
    for (path, bytes) in chats.everything() {
        let holds = bytes.is_some_and(|bytes| bytes.windows(11).any(|window| window == b"sk-scripted"));
        assert!(!holds, "{}", path.display());
    }
}

#[test]
fn with_a_command() {
    let chats = Chats::new(PLAIN);
    let good = chats.file("good", FOLD);
    let command = format!("if grep -q '<excerpt>'; then echo 'The goal is a key.'; else cat '{good}'; fi");
    let (_, usage) = whole_loop(&chats, &["--model-command", &command], false);
    assert_eq!(usage["seedCall"]["usage"], Value::Null);
    assert_eq!(usage["foldCalls"][0]["calls"][0]["usage"], Value::Null);
}

/// Asks for the background of a side chat with this configuration, and gives what was made or went wrong.
fn ask_with(chats: &Chats, config: &str, words: &[&str], variables: &[(&str, &str)]) -> Outcome {
    fs::create_dir_all(chats.sandbox.path("config/dshkit")).unwrap();
    fs::write(chats.sandbox.path("config/dshkit/config.toml"), config).unwrap();
    let mut command = chats.sandbox.command();
    command.envs(variables.iter().copied());
    command.args(["sidechat", "create", "--parent", A, "--question", "q", "--seed", "task"]).args(words);
    outcome(command, b"")
}

#[test]
fn with_the_configured_endpoint() {
    let chats = Chats::new(PLAIN);
    let model = Model::new(vec![said("one"), said("two")]);
    let key = ("CONFIGURED", "sk-configured");
    let config = format!("[model]\nendpoint = \"{}\"\nname = \"configured\"\nkey-env = \"CONFIGURED\"\n", model.url);
    ask_with(&chats, &config, &[], &[key]).success();
    // Flags beat the file.
    let flags = ["--key-env", "FLAG", "--task-model", "flagged"];
    ask_with(&chats, &config, &flags, &[key, ("FLAG", "sk-flag")]).success();
    let asked = model.asked();
    assert!(asked[0].contains("Bearer sk-configured") && asked[0].contains(r#""model":"configured""#), "{asked:?}");
    assert!(asked[1].contains("Bearer sk-flag") && asked[1].contains(r#""model":"flagged""#), "{asked:?}");
    ask_with(&chats, &config, &[], &[]).fails(2, "usage");
    // The key and the name are for that endpoint alone.
    let other = Model::new(vec![said("three")]);
    ask_with(&chats, &config, &["--endpoint", &other.url], &[key]).success();
    let asked = other.asked();
    assert!(!asked[0].contains("sk-configured") && !asked[0].contains(r#""model":"configured""#), "{asked:?}");
}

#[test]
fn with_the_configured_command() {
    let chats = Chats::new(PLAIN);
    // The words arrive as they are; no shell looks into them.
    let words = r#"["printf", "%s|", "it's $HOME", "a  b"]"#;
    let config = format!("[model]\nendpoint = \"http://127.0.0.1:1\"\ncommand = {words}\n");
    let text = |outcome: Outcome| outcome.success().json()["chat"]["seed"]["generated"]["text"].clone();
    assert_eq!(text(ask_with(&chats, &config, &[], &[])), "it's $HOME|a  b|");
    assert_eq!(text(ask_with(&chats, &config, &["--model-command", "echo flagged"], &[])), "flagged");
    let model = Model::new(vec![said("by an endpoint")]);
    assert_eq!(text(ask_with(&chats, &config, &["--endpoint", &model.url], &[])), "by an endpoint");
    let named = "[model]\nname = \"configured\"\ncommand = [\"sh\", \"-c\", \"echo $DSHKIT_MODEL\"]\n";
    assert_eq!(text(ask_with(&chats, named, &[], &[])), "configured");
    assert_eq!(text(ask_with(&chats, named, &["--task-model", "flagged"], &[])), "flagged");
    ask_with(&chats, "[model]\ncommand = []\n", &[], &[]).fails(2, "invalid-config");
}

#[test]
fn a_model_that_fails_changes_nothing_and_doubles_nothing() {
    let cut = json!({"choices": [{"finish_reason": "length", "message": {"content": "The goal"}}]}).to_string();
    let failing: [(&str, Vec<(u16, String)>); 5] = [
        ("status 401", vec![(401, r#"{"error":{"message":"bad key sk-scripted"}}"#.to_owned())]),
        ("no JSON", vec![(200, "<html>".to_owned())]),
        ("cut off", vec![(200, cut)]),
        ("nothing", vec![said("  ")]),
        ("gave no answer", Vec::new()),
    ];
    for (expected, answers) in failing {
        let chats = Chats::new(PLAIN);
        let model = Model::new(answers);
        let before = chats.everything();
        let mut command = chats.sandbox.command();
        command.env("SCRIPTED_KEY", "sk-scripted").args(["sidechat", "create", "--parent", A, "--question", "q"]);
        command.args(["--seed", "task", "--endpoint", &model.url, "--key-env", "SCRIPTED_KEY"]);
        let error = outcome(command, b"").fails(8, "model-failed");
        let message = error["message"].as_str().unwrap();
        assert!(message.contains(expected) && !message.contains("sk-scripted"), "{message}");
        assert_eq!(chats.everything(), before, "{expected}");
    }
    // Too busy at first is not too busy for ever.
    let chats = Chats::new(PLAIN);
    let model = Model::new(vec![(500, String::new()), said("The goal is a key.")]);
    let create = ["create", "--parent", A, "--question", "q", "--seed", "task", "--endpoint", &model.url];
    chats.run(&create).success();
    assert_eq!(model.asked().len(), 2);
}

#[test]
fn where_a_model_is_must_be_said_and_a_key_is_not_sent_just_anywhere() {
    let chats = Chats::new(PLAIN);
    let create = |extra: &[&str]| {
        let words = ["create", "--parent", A, "--question", "q", "--seed", "task"];
        chats.run(&words.iter().chain(extra).copied().collect::<Vec<_>>())
    };
    let error = create(&[]).fails(2, "usage");
    assert!(error["message"].as_str().unwrap().contains("DEEPSEEK_API_KEY"), "{error}");
    for url in ["ftp://example.invalid", "not-a-url", "https://", "http://a\nb/v1", "http://u@a/"] {
        let error = create(&["--endpoint", url]).fails(2, "usage");
        assert!(error["hint"].as_str().unwrap().contains("http://"), "{error}");
    }
    create(&["--endpoint", "https://example.invalid", "--key-env", "NOT_SET"]).fails(2, "usage");
    create(&["--endpoint", "https://example.invalid", "--model-command", "cat"]).fails(2, "usage");
    let mut command = chats.sandbox.command();
    command.env("SCRIPTED_KEY", "sk").args(["sidechat", "create", "--parent", A, "--question", "q", "--seed", "task"]);
    command.args(["--endpoint", "http://example.invalid", "--key-env", "SCRIPTED_KEY"]);
    outcome(command, b"").fails(2, "usage");
    // Nor is what could be no key, which is not shown either.
    let model = Model::new(Vec::new());
    for key in ["sk-a\nX-Other: sk-b", "sk-a sk-b", "sk-a\u{1b}sk-b", "sk-schlüssel"] {
        let mut command = chats.sandbox.command();
        command.env("SCRIPTED_KEY", key).args(["sidechat", "create", "--parent", A, "--question", "q"]);
        command.args(["--seed", "task", "--endpoint", &model.url, "--key-env", "SCRIPTED_KEY"]);
        let error = outcome(command, b"").fails(2, "usage");
        assert!(!error.to_string().contains("sk-"), "{error}");
    }
    assert!(model.asked().is_empty());
}
