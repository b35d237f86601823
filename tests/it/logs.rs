//! Small logs of each generation, written by hand, and what the tests of the writers share.

use crate::support::Sandbox;
use dshkit::corpus::Corpus;
use dshkit::generations::encode::{Form, PluginMessage};
use dshkit::model::event::Event;
use dshkit::model::json::View;
use dshkit::stores::jsonl::{Addition, Assurance, JsonlStore, Look, Verdict};
use dshkit::stores::steps::{Moment, Steps};
use dshkit::stores::{Encoding, Store, StoredSession};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A time later than that of any file the tests make, in milliseconds since the epoch.
pub(crate) const NOW: i64 = 4_000_000_000_000;

/// A generation and an encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kind {
    pub(crate) version: u64,
    pub(crate) encoding: Encoding,
}

/// Every kind of log that is written to.
pub(crate) const KINDS: [Kind; 6] = [
    Kind { version: 0, encoding: Encoding::Plain },
    Kind { version: 0, encoding: Encoding::Zstd },
    Kind { version: 3, encoding: Encoding::Plain },
    Kind { version: 3, encoding: Encoding::Zstd },
    Kind { version: 4, encoding: Encoding::Plain },
    Kind { version: 4, encoding: Encoding::Zstd },
];

impl Kind {
    pub(crate) fn file_name(self) -> String {
        let number = if self.version == 0 { String::new() } else { format!(".v{}", self.version) };
        let suffix = if self.encoding == Encoding::Zstd { ".zstd" } else { "" };
        format!("session{number}.jsonl{suffix}")
    }

    pub(crate) fn header(self, id: &str) -> Value {
        let mut header =
            json!({"type": "session", "version": self.version, "id": id, "createdAt": 1000, "delegationDepth": 0});
        if self.version >= 2 {
            header["isSeeded"] = false.into();
        }
        header
    }

    /// A closed turn in which a person says something.
    pub(crate) fn turn(self) -> Vec<Value> {
        let mut events = vec![
            json!({"type": "turn/start", "data": {"turn": 1}}),
            json!({"type": "step/start", "data": {"turn": 1, "step": 1}}),
        ];
        if self.version >= 3 {
            let source = if self.version >= 4 {
                json!({"kind": "system-prompt"})
            } else {
                json!({"kind": "plugin", "plugin": "@deepseek-ai/dsh-system-prompt"})
            };
            let message = json!({"id": "m-system", "role": "system", "source": source, "content": []});
            let data = json!({"turn": 1, "step": 1, "message": message});
            events.push(json!({"type": "system/message", "data": data, "surfaceOp": "append"}));
        }
        let content = json!([{"type": "text", "text": "What is left?"}]);
        let message = json!({"id": "m-user", "role": "user", "source": {"kind": "user"}, "content": content});
        events.push(json!({"type": "user/message", "data": message, "surfaceOp": "append"}));
        events.push(json!({"type": "step/end", "data": {"turn": 1, "step": 1}}));
        events.push(json!({"type": "turn/end", "data": {"turn": 1, "reason": {"kind": "completed"}}}));
        events
    }

    /// Writes a log for a session without a working directory: a header and events, which get their seqs
    /// and times here.
    pub(crate) fn write(self, sandbox: &Sandbox, header: &Value, events: &[Value]) -> PathBuf {
        let id = header["id"].as_str().unwrap();
        let path = sandbox.sessions().join("_no-cwd").join(id).join(self.file_name());
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut bytes = self.batch(&[header.to_string()]);
        let rows: Vec<String> = events
            .iter()
            .zip(0..)
            .map(|(event, seq)| {
                let mut event = event.clone();
                event["seq"] = seq.into();
                event["time"] = (2000 + seq).into();
                event.to_string()
            })
            .collect();
        if !rows.is_empty() {
            bytes.extend(self.batch(&rows));
        }
        fs::write(&path, bytes).unwrap();
        path
    }

    /// Rows as they lie in the file.
    pub(crate) fn batch(self, rows: &[String]) -> Vec<u8> {
        let text: String = rows.iter().map(|row| format!("{row}\n")).collect();
        match self.encoding {
            Encoding::Zstd => zstd::encode_all(text.as_bytes(), 3).unwrap(),
            _ => text.into_bytes(),
        }
    }
}

/// The store of a sandbox.
pub(crate) fn store(sandbox: &Sandbox) -> JsonlStore {
    JsonlStore::new(sandbox.sessions())
}

/// The session of an id as the store lists it.
#[track_caller]
pub(crate) fn session(store: &JsonlStore, id: &str) -> StoredSession {
    let listing = store.list().unwrap();
    listing.sessions.into_iter().find(|session| session.header.id == id).unwrap()
}

/// The names and bytes of everything in a folder.
pub(crate) fn contents(folder: &Path) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            let is_directory = entry.file_type().unwrap().is_dir();
            if is_directory {
                folders.push(entry.path());
            }
            found.insert(entry.path(), (!is_directory).then(|| fs::read(entry.path()).unwrap_or_default()));
        }
    }
    found
}

/// A notice with a marker in its first line, numbered.
pub(crate) fn notice(number: u32) -> PluginMessage {
    PluginMessage {
        id: format!("6f1c2a3b-0000-4000-8000-{number:012}"),
        texts: vec![format!("[marker {number}]\n\nWhat was found.")],
        plugin: "dsh-sidechat".to_owned(),
        form: Form::Notice { summary: "Fold SideChat revision 1".to_owned() },
    }
}

/// An addition with the user's word for it.
pub(crate) fn offline(message: &PluginMessage) -> Addition<'_> {
    Addition { message, now: NOW, assurance: &Assurance::Offline }
}

/// Looks for nothing.
pub(crate) struct Blind;

impl Look for Blind {
    fn begin(&mut self, _session: &StoredSession) {}
    fn event(&mut self, _event: &Event<'_>) {}
    fn verdict(&mut self) -> Verdict {
        Verdict::Append
    }
}

/// Looks for a message of an id.
pub(crate) struct ById<'a> {
    id: &'a str,
    found: Option<u64>,
}

impl ById<'_> {
    pub(crate) fn of(message: &PluginMessage) -> ById<'_> {
        ById { id: &message.id, found: None }
    }
}

impl Look for ById<'_> {
    fn begin(&mut self, _session: &StoredSession) {
        self.found = None;
    }
    fn event(&mut self, event: &Event<'_>) {
        if event.data().get("id").and_then(View::string).is_some_and(|id| id == self.id) {
            self.found = Some(event.seq);
        }
    }
    fn verdict(&mut self) -> Verdict {
        self.found.map_or(Verdict::Append, Verdict::Present)
    }
}

/// Ends the process at the n-th moment, counted from 1, as a crash would.
pub(crate) struct StopAt(pub(crate) u32);

impl Steps for StopAt {
    fn reach(&mut self, _moment: Moment, _step: &'static str) -> io::Result<()> {
        self.0 -= 1;
        if self.0 == 0 {
            std::process::abort();
        }
        Ok(())
    }
}

/// Fails at one moment of one step, and counts how often it did.
pub(crate) struct FailAt {
    pub(crate) moment: Moment,
    pub(crate) step: &'static str,
    pub(crate) failed: u32,
}

impl Steps for FailAt {
    fn reach(&mut self, moment: Moment, step: &'static str) -> io::Result<()> {
        if moment == self.moment && step == self.step {
            self.failed += 1;
            return Err(io::ErrorKind::StorageFull.into());
        }
        Ok(())
    }
}

/// Writes down every moment.
#[derive(Default)]
pub(crate) struct Record(pub(crate) Vec<(Moment, &'static str)>);

impl Steps for Record {
    fn reach(&mut self, moment: Moment, step: &'static str) -> io::Result<()> {
        self.0.push((moment, step));
        Ok(())
    }
}

/// The events of a session, each as `JSON.stringify` prints it, and the nodes of its surface.
#[track_caller]
pub(crate) fn read(root: &Path, id: &str) -> (Vec<Value>, Vec<u64>) {
    let corpus = Corpus::at(root);
    let catalog = corpus.catalog().unwrap();
    let record = crate::support::record_of(&catalog, id).unwrap();
    let mut events = Vec::new();
    let read = corpus.read(record, &mut |event, _| {
        let mut json = String::new();
        event.write_json(&mut json);
        events.push(serde_json::from_str(&json).unwrap());
    });
    let summary = read.unwrap_or_else(|failure| panic!("{failure}"));
    assert!(summary.warnings.is_empty());
    (events, summary.finished.surface.unwrap().nodes)
}
