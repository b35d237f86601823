//! What clarifying something costs in tokens, in the conversation itself, in a fork of it, and in side chats
//! (seed 004 §15.5).
//!
//! ```text
//! cargo bench --bench sidechat_tokens
//! ```
//!
//! Prints a table in Markdown. The model is a scripted one on a loopback address, and its answers are of the same
//! length whoever asks; so what differs is what was sent. It counts tokens by the script-aware estimate, and as
//! cached what a request has in common with an earlier one from its beginning on, in blocks of 64 tokens, as
//! DeepSeek's cache does. The side chats are those of the real program; who plays the host of the conversation A
//! sends a system prompt and tools of the length that those of dsh 0.1.0 have.

#![allow(clippy::print_stdout, clippy::disallowed_methods, reason = "a program of its own, not part of dshkit")]

mod words;

use dshkit::corpus::{Corpus, Selector};
use dshkit::generations::encode::turn::{Ending, NewTurn, Piece, PieceKind, Prompt, Reply, Request};
use dshkit::model::js_string::JsString;
use dshkit::sidechat::estimate::script_aware_tokens;
use dshkit::sidechat::reading::{Reading, Speaker};
use serde_json::{Value, json};
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, SystemTime};
use words::{Random, text};

/// How many characters the system prompt and the tools of dsh 0.1.0 have.
const SYSTEM: u64 = 4_071;
const TOOLS: u64 = 26_549;

/// How A has gone so far, and how it goes on: exchanges, and the characters of a prompt and of an answer.
const BEFORE: usize = 12;
const AFTER: usize = 5;
const PROMPT: u64 = 300;
const ANSWER: u64 = 3_000;

/// What is to be cleared up: the characters of each question and each answer.
const QUESTIONS: usize = 3;
const QUESTION: u64 = 120;
const CLARIFICATION: u64 = 800;

/// The block of the provider's cache, in tokens.
const BLOCK: u64 = 64;

const A: &str = "session-a0000000-0000-4000-8000-000000000000";

/// What was sent and what came back.
#[derive(Clone, Copy, Default)]
struct Spent {
    input: u64,
    cached: u64,
    output: u64,
    calls: u64,
}

/// The model: what it has seen, and who has spent what.
#[derive(Default)]
struct Provider {
    seen: Vec<String>,
    a: Spent,
    b: Spent,
    is_b: bool,
    /// Whether what is asked is one of the questions that are to be cleared up.
    is_aside: bool,
    /// What is said next, whatever is asked.
    next: Option<String>,
    random: Option<Random>,
}

impl Provider {
    fn answer(&mut self, body: &Value) -> Value {
        let mut prompt = body["tools"].to_string();
        for message in body["messages"].as_array().into_iter().flatten() {
            prompt.push_str(&format!("\n{}: {}", message["role"], message["content"].as_str().unwrap_or_default()));
        }
        let common = |seen: &String| {
            let same = seen.char_indices().zip(prompt.chars()).take_while(|((_, a), b)| a == b).last();
            same.map_or(0, |((at, c), _)| script_aware_tokens(&seen[..at + c.len_utf8()]))
        };
        let input = script_aware_tokens(&prompt);
        let cached = self.seen.iter().map(common).max().unwrap_or(0) / BLOCK * BLOCK;
        let said = self.say(body, &prompt);
        let output = script_aware_tokens(&said);
        self.seen.push(prompt);
        let spent = if self.is_b { &mut self.b } else { &mut self.a };
        spent.input += input;
        spent.cached += cached;
        spent.output += output;
        spent.calls += 1;
        let usage = json!({"prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output,
            "prompt_cache_hit_tokens": cached});
        json!({"said": said, "usage": usage})
    }

    fn say(&mut self, body: &Value, prompt: &str) -> String {
        if let Some(next) = self.next.take() {
            return next;
        }
        let random = self.random.get_or_insert_with(|| Random::new(7));
        if body["stream"] == true || !body["tools"].is_null() {
            return text(random, if self.is_aside { CLARIFICATION } else { ANSWER });
        }
        // A fold: what was asked, what came of it, and where the rest stands.
        let pointers = prompt.split("sidechat://").skip(1).filter_map(|rest| rest.split('"').next());
        let pointer = pointers.last().map(|rest| format!("sidechat://{rest}")).unwrap_or_default();
        let mut part = |length| text(random, length).replace('\n', " ");
        format!(
            "# SideChat conclusion: it\n- Background: {}\n- Conclusion: {}\n- Evidence: [the whole answer]({pointer})\n\
             - Effect on the parent session: {}\n- Open:",
            part(150),
            part(500),
            part(200)
        )
    }
}

/// Serves the model on a loopback address.
fn serve(provider: Arc<Mutex<Provider>>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a loopback address");
    let address = listener.local_addr().expect("an address").to_string();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            respond(stream, &provider);
        }
    });
    address
}

fn respond(mut stream: TcpStream, provider: &Mutex<Provider>) {
    let body: Value = serde_json::from_str(&message(&mut stream)).expect("a request is JSON");
    let answer = provider.lock().expect("nobody has died").answer(&body);
    let usage = &answer["usage"];
    let (kind, body) = if body["stream"] == true {
        let said = json!({"choices": [{"delta": {"content": answer["said"]}}]});
        let end = json!({"choices": [{"delta": {}, "finish_reason": "stop"}], "usage": usage});
        ("text/event-stream", format!("data: {said}\n\ndata: {end}\n\ndata: [DONE]\n\n"))
    } else {
        let message = json!({"role": "assistant", "content": answer["said"]});
        let body = json!({"choices": [{"finish_reason": "stop", "message": message}], "usage": usage});
        ("application/json", body.to_string())
    };
    let length = body.len();
    let head =
        format!("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n");
    stream.write_all((head + &body).as_bytes()).expect("an answer can be sent");
}

/// The body of a request or response.
fn message(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    let mut buffer = [0; 65_536];
    loop {
        if let Some((head, body)) = String::from_utf8_lossy(&bytes).split_once("\r\n\r\n") {
            let length =
                head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
            if body.len() >= length.unwrap_or(0usize) {
                return body.to_owned();
            }
        }
        let read = stream.read(&mut buffer).expect("a message is whole");
        assert!(read > 0, "a message is whole");
        bytes.extend_from_slice(&buffer[..read]);
    }
}

/// A conversation as its host sends it, and the home its session lies in.
struct World {
    provider: Arc<Mutex<Provider>>,
    address: String,
    home: tempfile::TempDir,
    random: Random,
    tools: Value,
    messages: Vec<(&'static str, String)>,
    turns: u64,
    seq: u64,
    is_first: bool,
}

impl World {
    fn new(has_recall: bool) -> World {
        let provider = Arc::new(Mutex::new(Provider::default()));
        let mut random = Random::new(3);
        let mut tools = vec![json!({"description": text(&mut random, TOOLS)})];
        let home = tempfile::tempdir().expect("a temporary directory");
        let system = text(&mut random, SYSTEM);
        let mut world = World {
            address: serve(Arc::clone(&provider)),
            provider,
            home,
            random,
            tools: Value::Null,
            messages: vec![("system", system)],
            turns: 0,
            seq: 0,
            is_first: true,
        };
        if has_recall {
            let schema = world.dshkit(&["--json", "sidechat", "read", "--tool-schema"]);
            tools.push(serde_json::from_str(&schema).expect("a tool is JSON"));
        }
        world.tools = Value::Array(tools);
        let log = world.log();
        fs::create_dir_all(log.parent().expect("a directory")).expect("a directory can be made");
        let header = json!({"type": "session", "version": 0, "id": A, "createdAt": 1_790_000_000_000u64, "cwd": "/srv/demo",
            "delegationDepth": 0});
        fs::write(&log, format!("{header}\n")).expect("a log can be written");
        for _ in 0..BEFORE {
            world.exchange();
        }
        // What led up to it has been paid for, whatever way is taken now.
        let mut provider = world.provider();
        (provider.a, provider.b) = Default::default();
        drop(provider);
        world
    }

    fn provider(&self) -> MutexGuard<'_, Provider> {
        self.provider.lock().expect("nobody has died")
    }

    fn log(&self) -> PathBuf {
        self.home.path().join("sessions/--srv-demo--").join(A).join("session.jsonl")
    }

    /// Posts a conversation to the model.
    fn post(&self, messages: &[(&'static str, String)]) -> String {
        let messages: Vec<Value> =
            messages.iter().map(|(role, content)| json!({"role": role, "content": content})).collect();
        let body = json!({"tools": self.tools, "messages": messages, "stream": false}).to_string();
        let mut stream = TcpStream::connect(&self.address).expect("the model listens");
        let head = format!("POST / HTTP/1.1\r\nContent-Length: {}\r\n\r\n", body.len());
        stream.write_all((head + &body).as_bytes()).expect("a request can be sent");
        let response: Value = serde_json::from_str(&message(&mut stream)).expect("a response is JSON");
        response["choices"][0]["message"]["content"].as_str().expect("a text").to_owned()
    }

    /// An exchange in A, with a prompt and an answer of the usual length.
    fn exchange(&mut self) -> String {
        let prompt = text(&mut self.random, PROMPT);
        self.ask_a(prompt)
    }

    /// Asks the model in A, and keeps the turn in its log.
    fn ask_a(&mut self, prompt: String) -> String {
        self.messages.push(("user", prompt.clone()));
        let said = self.post(&self.messages);
        self.messages.push(("assistant", said.clone()));
        self.keep(prompt, said.clone());
        said
    }

    fn keep(&mut self, prompt: String, said: String) {
        self.turns += 1;
        let id = |what: &str| format!("{what}-{:032}", self.turns);
        let js = |text: &str| JsString::from(text.to_owned());
        let now = 1_790_000_000_000 + self.turns as i64;
        let turn = NewTurn {
            number: self.turns,
            began: now,
            prompt: Some(Prompt { id: id("prompt"), text: prompt }),
            request: Request {
                provider: js("deepseek-official"),
                model: js("scripted"),
                max_tokens: 8_000,
                is_first: std::mem::take(&mut self.is_first),
                is_other_model: false,
            },
            reply: Reply {
                id: id("answer"),
                pieces: vec![Piece { time: now, kind: PieceKind::Text, text: said }],
                usage: None,
                ending: Ending::Completed,
                ended: now,
            },
        };
        let rows = turn.rows(self.seq);
        self.seq += rows.events;
        let mut file = OpenOptions::new().append(true).open(self.log()).expect("the log is there");
        file.write_all((rows.rows.join("\n") + "\n").as_bytes()).expect("a log can be written");
    }

    /// Runs the program and gives what it prints.
    fn dshkit(&self, words: &[&str]) -> String {
        if let Ok(log) = File::options().append(true).open(self.log()) {
            // Nobody has written to it a moment ago.
            let then = SystemTime::now() - Duration::from_secs(60);
            log.set_modified(then).expect("a time can be set");
        }
        let mut command = Command::new(env!("CARGO_BIN_EXE_dshkit"));
        command.env("DSH_HOME", self.home.path()).args(words);
        let output = command.output().expect("dshkit runs");
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("text")
    }

    fn json(&self, words: &[&str]) -> Value {
        serde_json::from_str(&self.dshkit(&[&["--json"], words].concat())).expect("JSON")
    }

    /// A side chat that has been asked everything; its id, and that of its last reply.
    fn side_chat(&mut self, seed: &str) -> (String, String) {
        self.begin_aside(true);
        let endpoint = format!("http://{}", self.address);
        let question = text(&mut self.random, QUESTION);
        let words = [
            "sidechat",
            "create",
            "--parent",
            A,
            "--seed",
            seed,
            "--lang",
            "en",
            "--title",
            "it",
            "--question",
            &question,
        ];
        let chat = self.json(&words)["chat"]["childSessionId"].as_str().expect("an id").to_owned();
        let mut asked = self.json(&["sidechat", "ask", &chat, "--endpoint", &endpoint]);
        for _ in 1..QUESTIONS {
            let question = text(&mut self.random, QUESTION);
            asked = self.json(&["sidechat", "ask", &chat, &question, "--endpoint", &endpoint]);
        }
        let reply = asked["turn"]["messageId"].as_str().expect("an id").to_owned();
        (chat, reply)
    }

    /// Lets A see what a side chat has brought it, and gives it.
    fn receive(&mut self) -> String {
        self.end_aside();
        let corpus = Corpus::at(&self.home.path().join("sessions"));
        let catalog = corpus.catalog().expect("the store can be listed");
        let record = catalog.select(&Selector::Exactly(JsString::from(A.to_owned()))).expect("A is there");
        let reading = Reading::of(&corpus, record).expect("A can be read");
        let said = reading.current().next_back().expect("something was said");
        assert_eq!(said.speaker, Speaker::SideChat, "a message of a side chat is the last");
        self.seq = said.seq + 1;
        self.messages.push(("user", said.text.clone()));
        said.text.clone()
    }

    /// From here on something is cleared up, in A or beside it.
    fn begin_aside(&self, is_b: bool) {
        let mut provider = self.provider();
        (provider.is_aside, provider.is_b) = (true, is_b);
    }

    fn end_aside(&self) {
        let mut provider = self.provider();
        (provider.is_aside, provider.is_b) = (false, false);
    }

    fn row(mut self, what: &str) {
        for _ in 0..AFTER {
            self.exchange();
        }
        let provider = self.provider();
        let (a, b) = (provider.a, provider.b);
        let group = |n: u64| {
            let digits = n.to_string();
            let thousands = digits.as_bytes().rchunks(3).rev().map(|part| String::from_utf8_lossy(part));
            thousands.collect::<Vec<_>>().join(",")
        };
        let cells = |spent: Spent| [spent.calls, spent.input, spent.cached, spent.output].map(group).join(" | ");
        println!("| {what} | {} | {} | {} |", cells(a), cells(b), group(a.input - a.cached + b.input - b.cached));
    }
}

fn main() {
    println!(
        "| where it is cleared up | A calls | input | cached | output | B calls | input | cached | output | not cached |"
    );
    println!("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|");

    let mut world = World::new(false);
    world.begin_aside(false);
    for _ in 0..QUESTIONS {
        let question = text(&mut world.random, QUESTION);
        world.ask_a(question);
    }
    world.end_aside();
    world.row("in A itself");

    let mut world = World::new(false);
    world.begin_aside(true);
    let mut fork = world.messages.clone();
    let mut last = String::new();
    for _ in 0..QUESTIONS {
        fork.push(("user", text(&mut world.random, QUESTION)));
        last = world.post(&fork);
        fork.push(("assistant", last.clone()));
    }
    world.end_aside();
    world.messages.push(("user", last));
    world.row("in a fork of A, its last answer pasted");

    for seed in ["none", "tail:2"] {
        let mut world = World::new(false);
        let (chat, reply) = world.side_chat(seed);
        world.dshkit(&["sidechat", "cite", &chat, &reply, "--offline"]);
        world.receive();
        world.row(&format!("in a side chat with `{seed}`, its last answer cited"));
    }

    let mut world = World::new(true);
    let (chat, _) = world.side_chat("tail:2");
    let endpoint = format!("http://{}", world.address);
    world.dshkit(&[
        "sidechat",
        "fold",
        &chat,
        "--generate",
        "--lang",
        "en",
        "--commit",
        "--offline",
        "--endpoint",
        &endpoint,
    ]);
    let fold = world.receive();
    // A's model finds the fold too short, calls the tool, and goes on with what it gets.
    let pointer = fold.split(['(', ')']).find(|part| part.starts_with("sidechat://")).expect("the fold has a pointer");
    let recalled = world.dshkit(&["--format", "text", "sidechat", "read", pointer, "--as", A]);
    let prompt = text(&mut world.random, PROMPT);
    world.messages.push(("user", prompt));
    world.provider().next = Some(format!("sidechat_read {pointer}"));
    let call = world.post(&world.messages);
    world.messages.push(("assistant", call));
    world.messages.push(("tool", recalled));
    world.row("in a side chat with `tail:2`, folded, and one reply recalled");
}
