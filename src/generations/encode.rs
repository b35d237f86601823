//! The few events that are written, encoded back (formats.md §11; oracle README, "Findings").
//!
//! Only what every dsh from 0.1.0 to 0.2.1 reads is here: the header of a v0 log, the events of a first
//! turn without a model, a whole [`turn`] with one, and one message of a plugin, whose source v4 spells in another way. Members
//! stand in the order in which dsh writes them.

pub mod turn;

use super::Generation;
use crate::model::js_string::JsString;
use crate::model::json::{Object, Value, write_value};

/// A message that a program adds to a conversation, as a plugin of dsh would.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PluginMessage {
    /// The message's id: a UUID version 4 in lower case, new to the log.
    pub id: String,
    /// Its text blocks, at least one.
    pub texts: Vec<String>,
    /// The name of the plugin; none of dsh's own, which carry meaning.
    pub plugin: String,
    /// What kind of message it is.
    pub form: Form,
}

/// The kinds of plugin messages that are written. Every generation up to v3 has a closed list of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Form {
    /// Something that happened, in one line of at most 120 UTF-16 units.
    Notice {
        /// The line.
        summary: String,
    },
    /// What the model should know, by sections.
    Snapshot {
        /// The sections, at least one.
        sections: Vec<Section>,
    },
}

/// A section of a snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// Its name.
    pub name: String,
    /// Its text.
    pub text: String,
}

/// What a session's tools may write (`sandbox/mode`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SandboxMode {
    /// Nothing.
    ReadOnly,
    /// The working directory.
    WorkspaceWrite,
    /// Everything.
    DangerFullAccess,
}

impl SandboxMode {
    /// Every mode, the strictest first.
    pub const ALL: [SandboxMode; 3] =
        [SandboxMode::ReadOnly, SandboxMode::WorkspaceWrite, SandboxMode::DangerFullAccess];

    /// The word in the log.
    pub fn name(self) -> &'static str {
        match self {
            SandboxMode::ReadOnly => "read-only",
            SandboxMode::WorkspaceWrite => "workspace-write",
            SandboxMode::DangerFullAccess => "danger-full-access",
        }
    }
}

/// Whether a person is asked before a tool does more (`approval/policy`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApprovalPolicy {
    /// A person is asked.
    Ask,
    /// Nobody is asked; what the sandbox forbids stays forbidden.
    Never,
}

impl ApprovalPolicy {
    /// Every policy.
    pub const ALL: [ApprovalPolicy; 2] = [ApprovalPolicy::Ask, ApprovalPolicy::Never];

    /// The word in the log.
    pub fn name(self) -> &'static str {
        match self {
            ApprovalPolicy::Ask => "ask",
            ApprovalPolicy::Never => "never",
        }
    }
}

/// An event to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NewEvent<'e> {
    /// `session/title`, set by a person, so that dsh asks no model for one.
    Title(&'e str),
    /// `sandbox/mode`.
    Sandbox(SandboxMode),
    /// `approval/policy`.
    Approval(ApprovalPolicy),
    /// `turn/start` of the turn of this number, the first being 1.
    TurnStart(u64),
    /// `step/start` of the first step of the turn.
    StepStart(u64),
    /// `user/message`, at the end of the surface.
    Message(&'e PluginMessage),
    /// `step/end` of the first step of the turn.
    StepEnd(u64),
    /// `turn/end` of the turn, interrupted.
    TurnInterrupted(u64),
}

/// The events that begin a session whose first message waits for the next prompt: its title, what its
/// tools may do, and a closed turn that holds the message and nothing of a model. With the turn every
/// dsh opens and migrates the log; a message outside a turn would make it unmigratable.
pub fn opening<'e>(
    title: &'e str,
    sandbox: Option<SandboxMode>,
    approval: Option<ApprovalPolicy>,
    message: &'e PluginMessage,
) -> Vec<NewEvent<'e>> {
    let mut events = vec![NewEvent::Title(title)];
    events.extend(sandbox.map(NewEvent::Sandbox));
    events.extend(approval.map(NewEvent::Approval));
    events.extend([
        NewEvent::TurnStart(1),
        NewEvent::StepStart(1),
        NewEvent::Message(message),
        NewEvent::StepEnd(1),
        NewEvent::TurnInterrupted(1),
    ]);
    events
}

/// The row of an event in a log of a generation, without its line feed. Times are milliseconds since the
/// epoch.
pub fn event_row(generation: Generation, seq: u64, time: i64, event: &NewEvent<'_>) -> String {
    let step = |turn: u64| object([("turn", turn.into()), ("step", 1u64.into())]);
    let (kind, data) = match event {
        NewEvent::Title(title) => {
            let source = object([("kind", "user".into())]);
            let no_messages = Value::Array(Vec::new());
            ("session/title", object([("title", (*title).into()), ("messageSeqs", no_messages), ("source", source)]))
        }
        NewEvent::Sandbox(mode) => ("sandbox/mode", object([("mode", mode.name().into())])),
        NewEvent::Approval(policy) => ("approval/policy", object([("policy", policy.name().into())])),
        NewEvent::TurnStart(turn) => ("turn/start", object([("turn", (*turn).into())])),
        NewEvent::StepStart(turn) => ("step/start", step(*turn)),
        NewEvent::Message(message) => ("user/message", message_data(generation, message)),
        NewEvent::StepEnd(turn) => ("step/end", step(*turn)),
        NewEvent::TurnInterrupted(turn) => {
            let reason = object([("kind", "interrupted".into())]);
            ("turn/end", object([("turn", (*turn).into()), ("reason", reason)]))
        }
    };
    let mut row = Object::of([("type", kind.into()), ("seq", seq.into()), ("time", time.into()), ("data", data)]);
    if kind == "user/message" {
        row.set("surfaceOp", "append".into());
    }
    text(row)
}

/// A session that a person starts: no other session is in it, and no agent made it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewSession {
    /// Its id.
    pub id: JsString,
    /// When it is created, in milliseconds since the epoch.
    pub created_at: u64,
    /// Its working directory, an absolute path.
    pub cwd: Option<JsString>,
}

/// The header line of a new session's v0 log, without its line feed.
pub fn header_row(session: &NewSession) -> String {
    let mut row = Object::of([
        ("type", "session".into()),
        ("version", Generation::V0.version().into()),
        ("id", session.id.clone().into()),
        ("createdAt", session.created_at.into()),
    ]);
    if let Some(cwd) = &session.cwd {
        row.set("cwd", cwd.clone().into());
    }
    row.set("delegationDepth", 0u64.into());
    text(row)
}

fn message_data(generation: Generation, message: &PluginMessage) -> Value {
    let block = |text: &String| object([("type", "text".into()), ("text", text.as_str().into())]);
    object([
        ("content", Value::Array(message.texts.iter().map(block).collect())),
        ("source", source(generation, message)),
        ("role", "user".into()),
        ("id", message.id.as_str().into()),
    ])
}

/// Up to v3 the kind is `plugin` and the name a member of its own; v4 refuses a log with that for good.
fn source(generation: Generation, message: &PluginMessage) -> Value {
    let mut source = if generation >= Generation::V4 {
        Object::of([("kind", format!("plugin:{}", message.plugin).as_str().into())])
    } else {
        Object::of([("kind", "plugin".into()), ("plugin", message.plugin.as_str().into())])
    };
    match &message.form {
        Form::Notice { summary } => {
            source.set("form", "notice".into());
            source.set("summary", summary.as_str().into());
        }
        Form::Snapshot { sections } => {
            let section = |section: &Section| {
                object([("name", section.name.as_str().into()), ("text", section.text.as_str().into())])
            };
            source.set("form", "snapshot".into());
            source.set("sections", Value::Array(sections.iter().map(section).collect()));
        }
    }
    source.into()
}

fn object<const N: usize>(members: [(&'static str, Value); N]) -> Value {
    Object::of(members).into()
}

fn text(row: Object) -> String {
    let mut text = String::new();
    write_value(&row.into(), &mut text);
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::js_string::JsStr;

    fn message(form: Form) -> PluginMessage {
        PluginMessage {
            id: "6f1c2a3b-0000-4000-8000-000000000001".to_owned(),
            texts: vec!["one \"line\"\nand two".to_owned()],
            plugin: "dsh-sidechat".to_owned(),
            form,
        }
    }

    #[test]
    fn a_notice_is_spelled_as_its_generation_does() {
        let notice = message(Form::Notice { summary: "Fold".to_owned() });
        let row = |generation| event_row(generation, 7, 9, &NewEvent::Message(&notice));
        let old = r#"{"type":"user/message","seq":7,"time":9,"data":{"content":[{"type":"text","text":"one \"line\"\nand two"}],"source":{"kind":"plugin","plugin":"dsh-sidechat","form":"notice","summary":"Fold"},"role":"user","id":"6f1c2a3b-0000-4000-8000-000000000001"},"surfaceOp":"append"}"#;
        assert_eq!(row(Generation::V0), old);
        assert_eq!(row(Generation::V3), old);
        let new = old.replace(r#""kind":"plugin","plugin":"dsh-sidechat""#, r#""kind":"plugin:dsh-sidechat""#);
        assert_eq!(row(Generation::V4), new);
    }

    #[test]
    fn a_session_begins_with_a_closed_turn() {
        let sections = vec![Section { name: "Seed".to_owned(), text: "What was chosen.".to_owned() }];
        let seed = message(Form::Snapshot { sections });
        let events = opening("Title", Some(SandboxMode::ReadOnly), Some(ApprovalPolicy::Never), &seed);
        let rows: Vec<String> =
            events.iter().zip(0..).map(|(event, seq)| event_row(Generation::V0, seq, 5, event)).collect();
        let data = [
            r#"{"type":"session/title","seq":0,"time":5,"data":{"title":"Title","messageSeqs":[],"source":{"kind":"user"}}}"#,
            r#"{"type":"sandbox/mode","seq":1,"time":5,"data":{"mode":"read-only"}}"#,
            r#"{"type":"approval/policy","seq":2,"time":5,"data":{"policy":"never"}}"#,
            r#"{"type":"turn/start","seq":3,"time":5,"data":{"turn":1}}"#,
            r#"{"type":"step/start","seq":4,"time":5,"data":{"turn":1,"step":1}}"#,
            r#"{"type":"user/message","seq":5,"time":5,"data":{"content":[{"type":"text","text":"one \"line\"\nand two"}],"source":{"kind":"plugin","plugin":"dsh-sidechat","form":"snapshot","sections":[{"name":"Seed","text":"What was chosen."}]},"role":"user","id":"6f1c2a3b-0000-4000-8000-000000000001"},"surfaceOp":"append"}"#,
            r#"{"type":"step/end","seq":6,"time":5,"data":{"turn":1,"step":1}}"#,
            r#"{"type":"turn/end","seq":7,"time":5,"data":{"turn":1,"reason":{"kind":"interrupted"}}}"#,
        ];
        assert_eq!(rows, data);
    }

    #[test]
    fn a_header_is_the_one_dsh_writes() {
        let session = NewSession {
            id: JsStr::from("session-1"),
            created_at: 1_795_984_260_156,
            cwd: Some(JsStr::from("/srv/demo/project b/ünïcode")),
        };
        assert_eq!(
            header_row(&session),
            r#"{"type":"session","version":0,"id":"session-1","createdAt":1795984260156,"cwd":"/srv/demo/project b/ünïcode","delegationDepth":0}"#
        );
    }
}
