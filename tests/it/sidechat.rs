//! Side chats: a parent of each kind of log, and what can be done with its side chats from a shell.

mod ask;
mod case_13;
mod cite;
mod commit;
mod completion;
mod crash;
mod create;
mod doctor;
mod documents;
mod fold;
mod ledger;
mod lifecycle;
mod loop_by_model;
mod plugin_domain;
mod property;
mod race;
mod real_dsh;
mod recall;
mod recipe;
mod revisions;
mod seed;
mod tree;
mod usage;

use crate::logs::{Kind, contents, read};
use crate::support::{Outcome, Sandbox};
use dshkit::stores::Encoding;
use serde_json::{Value, json};
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The parent.
const A: &str = "parent-a";
/// Its working directory.
const CWD: &str = "/srv/demo/shop";
/// A v0 log that is easy to look at.
const PLAIN: Kind = Kind { version: 0, encoding: Encoding::Plain };

/// A kind of log of each generation that is written to.
const KINDS_TO_TRY: [Kind; 3] = [
    Kind { version: 0, encoding: Encoding::Zstd },
    Kind { version: 3, encoding: Encoding::Zstd },
    Kind { version: 4, encoding: Encoding::Zstd },
];

/// A fold in good order.
const FOLD: &str = "# SideChat 澄清结论：重试\n\n- 背景：重试时双写。\n- 结论：用幂等键。\n- 依据：a.rs\n- 对父会话的影响：加一列。\n- 未决：";

/// The events of a conversation, for a log of a kind.
struct Talk {
    kind: Kind,
    events: Vec<Value>,
    turn: u64,
    step: u64,
}

impl Talk {
    fn new(kind: Kind) -> Talk {
        Talk { kind, events: Vec::new(), turn: 0, step: 0 }
    }

    fn push(&mut self, kind: &str, data: Value) -> &mut Talk {
        self.events.push(json!({"type": kind, "data": data}));
        self
    }

    fn surface(&mut self, kind: &str, data: Value) -> &mut Talk {
        self.events.push(json!({"type": kind, "data": data, "surfaceOp": "append"}));
        self
    }

    /// Begins a turn and its first step.
    fn start(&mut self) -> &mut Talk {
        self.turn += 1;
        self.step = 0;
        self.push("turn/start", json!({"turn": self.turn}));
        self.step();
        if self.turn == 1 && self.kind.version >= 3 {
            let source = match self.kind.version {
                3 => json!({"kind": "plugin", "plugin": "@deepseek-ai/dsh-system-prompt"}),
                _ => json!({"kind": "system-prompt"}),
            };
            let content = json!([{"type": "text", "text": "Be brief."}]);
            let message = json!({"id": "m-system", "role": "system", "source": source, "content": content});
            self.surface("system/message", json!({"turn": 1, "step": 1, "message": message}));
        }
        self
    }

    fn step(&mut self) -> &mut Talk {
        self.step += 1;
        self.push("step/start", json!({"turn": self.turn, "step": self.step}))
    }

    fn end_step(&mut self) -> &mut Talk {
        self.push("step/end", json!({"turn": self.turn, "step": self.step}))
    }

    /// Ends the step and the turn.
    fn end(&mut self, reason: &str) -> &mut Talk {
        self.end_step();
        self.push("turn/end", json!({"turn": self.turn, "reason": {"kind": reason}}))
    }

    /// The person says something.
    fn ask(&mut self, id: &str, text: &str) -> &mut Talk {
        let content = json!([{"type": "text", "text": text}]);
        self.surface("user/message", json!({"content": content, "source": {"kind": "user"}, "role": "user", "id": id}))
    }

    /// A plugin says something.
    fn inject(&mut self, id: &str, text: &str) -> &mut Talk {
        let source = match self.kind.version {
            4 => json!({"kind": "plugin:clock", "form": "notice", "summary": "s"}),
            _ => json!({"kind": "plugin", "plugin": "clock", "form": "notice", "summary": "s"}),
        };
        let content = json!([{"type": "text", "text": text}]);
        self.surface("user/message", json!({"content": content, "source": source, "role": "user", "id": id}))
    }

    /// Which model is asked.
    fn header(&mut self, model: &str) -> &mut Talk {
        let config = json!({"provider": "deepseek-official", "model": model});
        self.push("request/header", json!({"header": {"config": config}, "reason": "initial"}))
    }

    /// The model says something; with `usage` as it reports it.
    fn answer_with(&mut self, id: &str, content: Value, usage: Value) -> &mut Talk {
        let source = json!({"kind": "model", "provider": "deepseek-official", "model": "deepseek-v4-flash"});
        let message = json!({"id": id, "role": "assistant", "source": source, "content": content});
        let mut data = json!({"turn": self.turn, "step": self.step, "message": message});
        if usage.is_object() {
            data["usage"] = usage;
        }
        if self.kind.version >= 2 {
            data["stream"] = json!([]);
        }
        self.surface("assistant/message", data)
    }

    fn answer(&mut self, id: &str, text: &str) -> &mut Talk {
        let usage = json!({"inputTokens": 100, "outputTokens": 10, "cacheReadTokens": 40, "cacheWriteTokens": 0});
        self.answer_with(id, json!([{"type": "text", "text": text}]), usage)
    }

    /// The model says something and calls a tool, which answers.
    fn answer_and_call(&mut self, id: &str, text: &str, result: &str) -> &mut Talk {
        let call = format!("call-{id}");
        let content = json!([
            {"type": "text", "text": text},
            {"type": "tool-call", "id": call, "name": "read", "arguments": "{}"}
        ]);
        let usage = json!({"inputTokens": 5, "outputTokens": 2, "cacheReadTokens": 0, "cacheWriteTokens": 0});
        self.answer_with(id, content, usage);
        let at = self.events.len();
        let (turn, step) = (self.turn, self.step);
        self.push("tool/call", json!({"turn": turn, "step": step, "callId": call, "name": "read", "arguments": "{}"}));
        let text = json!([{"type": "text", "text": result}]);
        let source = json!({"kind": "tool", "callId": call});
        let id = format!("{id}-result");
        let message = match self.kind.version {
            4 => json!({"id": id, "role": "tool", "source": source, "toolCallId": call, "content": text}),
            _ => {
                json!({"id": id, "role": "user", "source": source, "content": [{"type": "tool-result", "toolCallId": call, "content": text}]})
            }
        };
        let data = json!({"turn": turn, "step": step, "message": message});
        let cites = json!([at]);
        self.events.push(json!({"type": "tool/result", "data": data, "surfaceOp": "append", "sourceEventSeqs": cites}));
        self
    }

    /// A turn with a question and its answer.
    fn exchange(&mut self, question: (&str, &str), answer: (&str, &str)) -> &mut Talk {
        self.start().ask(question.0, question.1);
        if self.turn == 1 {
            self.header("deepseek-v4-flash");
        }
        self.answer(answer.0, answer.1).end("completed")
    }

    /// A compaction that puts a checkpoint in the place of the nodes from one seq to another.
    fn compact(&mut self, nodes: &[u64]) -> &mut Talk {
        let (first, last) = (nodes[0], *nodes.last().unwrap());
        let id = "6f1c2a3b-0000-4000-8000-00000000c0c0";
        let start = self.events.len() as u64;
        self.push("compaction/start", json!({"compactionId": id, "turn": null}));
        self.push(
            "compaction/summary",
            json!({"compactionId": id, "summary": [{"type": "text", "text": "Short."}], "shadowedRange": {"start": first, "end": last},
                "shadowedSeqs": nodes, "shadowedTokenCount": 10, "provider": "p", "model": "m"}),
        );
        let source = match self.kind.version {
            4 => json!({"kind": "compact-checkpoint", "compactionId": id}),
            _ => json!({"kind": "plugin", "plugin": "compact", "compactionId": id}),
        };
        let op = match self.kind.version {
            0 => json!({"op": "replace", "start": first, "end": last}),
            _ => json!({"op": "replace", "startSeq": first, "endSeq": last}),
        };
        let content = json!([{"type": "text", "text": "Short."}]);
        let data = json!({"content": content, "source": source, "role": "user", "id": "m-checkpoint"});
        let mut cites = vec![start, start + 1];
        cites.extend(nodes);
        self.events.push(json!({"type": "user/message", "data": data, "surfaceOp": op, "sourceEventSeqs": cites}));
        self.push("compaction/end", json!({"compactionId": id, "turn": null}))
    }

    /// The rows, numbered from a seq on.
    fn rows(&self, first: u64) -> Vec<String> {
        self.events
            .iter()
            .zip(first..)
            .map(|(event, seq)| {
                let mut event = event.clone();
                event["seq"] = seq.into();
                event["time"] = (1_790_000_000_000 + seq).into();
                event.to_string()
            })
            .collect()
    }
}

/// A home with a parent, and its side chats.
struct Chats {
    sandbox: Sandbox,
    kind: Kind,
    parent: PathBuf,
}

impl Chats {
    /// A parent with two finished turns.
    fn new(kind: Kind) -> Chats {
        let mut talk = Talk::new(kind);
        talk.exchange(("u1", "Why is it written twice?"), ("a1", "Because it is retried."));
        talk.exchange(("u2", "How do others do it?"), ("a2", "With a key for each request."));
        Chats::of(kind, &talk)
    }

    /// A parent with this conversation.
    fn of(kind: Kind, talk: &Talk) -> Chats {
        let sandbox = Sandbox::new();
        let parent = write_session(&sandbox, kind, A, Some(CWD), talk);
        Chats { sandbox, kind, parent }
    }

    /// Runs `sidechat …`.
    fn run(&self, arguments: &[&str]) -> Outcome {
        let words: Vec<&str> = ["sidechat"].into_iter().chain(arguments.iter().copied()).collect();
        self.sandbox.run(&words)
    }

    /// What a v0 log wants said before it is written to.
    fn word(&self) -> Vec<&'static str> {
        if self.kind.version == 0 { vec!["--offline"] } else { Vec::new() }
    }

    /// Makes a side chat and gives its id.
    #[track_caller]
    fn create(&self, extra: &[&str]) -> String {
        let mut words = vec!["create", "--parent", A, "--question", "Which key?"];
        words.extend(extra);
        let document = self.run(&words).success().json();
        document["chat"]["childSessionId"].as_str().unwrap().to_owned()
    }

    /// Writes a text to a file and gives its path.
    fn file(&self, name: &str, text: &str) -> String {
        let path = self.sandbox.path(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// Prepares a fold with this text and gives its id.
    #[track_caller]
    fn fold(&self, child: &str, text: &str) -> String {
        let file = self.file("fold.md", text);
        let document = self.run(&["fold", child, "--text", &file]).success().json();
        document["fold"]["foldId"].as_str().unwrap().to_owned()
    }

    /// Commits a fold, with the user's word where that is needed.
    fn commit(&self, fold: &str, extra: &[&str]) -> Outcome {
        self.stand_still();
        let mut words = vec!["commit", fold];
        words.extend(self.word());
        words.extend(extra);
        self.run(&words)
    }

    /// Quotes something, with the user's word where that is needed.
    fn cite(&self, child: &str, extra: &[&str]) -> Outcome {
        self.stand_still();
        let mut words = vec!["cite", child];
        words.extend(self.word());
        words.extend(extra);
        self.run(&words)
    }

    /// The parent's log was not changed a moment ago.
    fn stand_still(&self) {
        stand_still(&self.parent);
    }

    /// The parent's bytes.
    fn bytes(&self) -> Vec<u8> {
        fs::read(&self.parent).unwrap()
    }

    /// The messages SideChat wrote to the parent: seq and text.
    #[track_caller]
    fn written(&self) -> Vec<(u64, String)> {
        written(&self.sandbox.sessions(), A)
    }

    /// Where the log of a side chat is.
    fn log_of(&self, child: &str) -> PathBuf {
        let name = Kind { version: 0, encoding: self.kind.encoding }.file_name();
        self.parent.parent().unwrap().with_file_name(child).join(name)
    }

    /// A dsh goes on with a side chat.
    fn go_on(&self, child: &str, talk: impl FnOnce(&mut Talk)) {
        let kind = Kind { version: 0, encoding: self.kind.encoding };
        let (events, _) = read(&self.sandbox.sessions(), child);
        let turns = events.iter().filter(|event| event["type"] == "turn/start").count() as u64;
        let mut more = Talk { kind, events: Vec::new(), turn: turns, step: 0 };
        talk(&mut more);
        let path = self.log_of(child);
        let mut file = File::options().append(true).open(&path).unwrap();
        file.write_all(&kind.batch(&more.rows(events.len() as u64))).unwrap();
        drop(file);
        stand_still(&path);
    }

    /// Everything in the home.
    fn everything(&self) -> std::collections::BTreeMap<PathBuf, Option<Vec<u8>>> {
        contents(&self.sandbox.home())
    }
}

/// Writes a session and gives its log.
fn write_session(sandbox: &Sandbox, kind: Kind, id: &str, cwd: Option<&str>, talk: &Talk) -> PathBuf {
    let mut header = kind.header(id);
    header["createdAt"] = 1_790_000_000_000u64.into();
    if let Some(cwd) = cwd {
        header["cwd"] = cwd.into();
    }
    write_session_with(sandbox, kind, &header, talk)
}

/// Writes a session with this header and gives its log.
fn write_session_with(sandbox: &Sandbox, kind: Kind, header: &Value, talk: &Talk) -> PathBuf {
    let project = match header["cwd"].as_str() {
        Some(cwd) => format!("-{}--", cwd.replace('/', "-")),
        None => "_no-cwd".to_owned(),
    };
    let path = sandbox.sessions().join(project).join(header["id"].as_str().unwrap()).join(kind.file_name());
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let mut bytes = kind.batch(&[header.to_string()]);
    if !talk.events.is_empty() {
        bytes.extend(kind.batch(&talk.rows(0)));
    }
    fs::write(&path, bytes).unwrap();
    stand_still(&path);
    path
}

/// A log was not changed a moment ago.
fn stand_still(path: &Path) {
    let then = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_700_000_000);
    File::options().append(true).open(path).unwrap().set_modified(then).unwrap();
}

/// The messages SideChat wrote to a session: seq and text.
#[track_caller]
fn written(root: &Path, id: &str) -> Vec<(u64, String)> {
    let (events, nodes) = read(root, id);
    let is_ours = |event: &&Value| {
        let source = &event["data"]["source"];
        let form = source["form"] == "notice";
        event["type"] == "user/message"
            && form
            && (source["kind"] == "plugin:dsh-sidechat" || source["plugin"] == "dsh-sidechat")
    };
    let ours: Vec<(u64, String)> = events
        .iter()
        .filter(is_ours)
        .map(|event| (event["seq"].as_u64().unwrap(), event["data"]["content"][0]["text"].as_str().unwrap().to_owned()))
        .collect();
    assert!(ours.iter().all(|(seq, _)| nodes.contains(seq)), "the model sees them");
    ours
}
