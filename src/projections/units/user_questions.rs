//! `userQuestions`: the questions the agent asked the person with a time limit, those that wait for an
//! answer and those that have one (dsh-user-questions of 0.2.1; only v4 logs are known to have them).
//!
//! A call counts if the newest request header gave the tool a `timeout`. A question stays open past its
//! limit (`continued`) if the tool answered that it is pending, or if nobody knows how the call ended. Its
//! answers come with the tool's result or with a later message of the person.

use crate::model::event::Event;
use crate::model::header::Header;
use crate::model::js_string::{CodePoint, JsStr};
use crate::model::json::{Kind, Object, Value, View, parse, string_literal};
use crate::projections::inheritance::{is_marker, seed_length};
use crate::projections::state_text::Json;
use crate::projections::unit::{Change, Unit};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;

const TOOL: &str = "ask_user_question";

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct UserQuestions {
    /// How many leading events are another session's, as far as the header says.
    inherited: u64,
    /// Whether the newest request header gave the tool a time limit.
    is_timed: bool,
    /// What waits for an answer, by the call's id as a JSON string.
    active: BTreeMap<String, Asked>,
    /// What was answered, as the outside sees it, in the order of the answers.
    settled: Vec<Json>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    /// The seq of the event that asked.
    seq: u64,
    questions: Json,
    is_continued: bool,
}

impl Unit for UserQuestions {
    const KEY: &'static str = "userQuestions";
    const VERSION: u32 = 1;
    const EVENTS: &'static [&'static str] = &[
        "request/header",
        "session/end-seed",
        "tool/call",
        "tool/result",
        "tool/ptc-dispatch",
        "tool/code-dispatch",
        "user/message",
    ];

    fn init(header: &Header) -> UserQuestions {
        UserQuestions { inherited: seed_length(header), is_timed: false, active: BTreeMap::new(), settled: Vec::new() }
    }

    fn apply(&mut self, event: &Event<'_>) -> Change {
        if event.seq < self.inherited {
            return Change::None;
        }
        let changed = match event.kind.to_str() {
            Some("request/header") => self.take_header(event.data()),
            Some("session/end-seed") => is_marker(event).then(|| self.forget()),
            Some("tool/call") => self.ask(event),
            Some("tool/result") => self.end_call(event.data()),
            Some("user/message") => self.take_reply(event.data()),
            _ => self.ask_from_program(event),
        };
        changed.map_or(Change::None, |()| Change::Some)
    }

    fn view(&self) -> Value {
        let mut active: Vec<(&String, &Asked)> = self.active.iter().collect();
        active.sort_by_key(|(_, asked)| asked.seq);
        let active = active.into_iter().map(|(call, asked)| {
            let state = if asked.is_continued { "continued" } else { "open" };
            Value::from(Object::of([
                ("callId", call_id(call)),
                ("questions", asked.questions.to_value()),
                ("state", Value::from(state)),
            ]))
        });
        let settled = self.settled.iter().map(Json::to_value).collect();
        Value::from(Object::of([("active", Value::Array(active.collect())), ("settled", Value::Array(settled))]))
    }
}

/// Each of these gives `None` if the event changed nothing.
impl UserQuestions {
    /// Everything so far was another session's.
    fn forget(&mut self) {
        self.is_timed = false;
        self.active.clear();
        self.settled.clear();
    }

    fn take_header(&mut self, data: View<'_>) -> Option<()> {
        let header = data.get("header").filter(|header| header.kind() != Kind::Null)?;
        let is_timed = header.get("tools").into_iter().flat_map(View::elements).any(is_timed_tool);
        (std::mem::replace(&mut self.is_timed, is_timed) != is_timed).then_some(())
    }

    fn ask(&mut self, event: &Event<'_>) -> Option<()> {
        if !self.is_timed {
            return None;
        }
        let [name, arguments, call] = event.data().pick(["name", "arguments", "callId"]);
        if !name?.is_string(TOOL) {
            return None;
        }
        let questions = questions_of(json_of(&arguments?.string()?)?.view())?;
        self.active.insert(call_key(call?)?, Asked { seq: event.seq, questions, is_continued: false });
        Some(())
    }

    /// A program that the agent runs called the tool, and is known to have only when the call has ended.
    fn ask_from_program(&mut self, event: &Event<'_>) -> Option<()> {
        let [name, is_error, content, arguments, call] =
            event.data().pick(["name", "isError", "content", "arguments", "subCallId"]);
        let is_pending = name?.is_string(TOOL) && !is_error.is_some_and(View::is_true) && is_pending(content?);
        if !is_pending {
            return None;
        }
        let questions = questions_of(arguments?)?;
        self.active.insert(call_key(call?)?, Asked { seq: event.seq, questions, is_continued: true });
        Some(())
    }

    fn end_call(&mut self, data: View<'_>) -> Option<()> {
        if self.active.is_empty() {
            return None;
        }
        let message = data.get("message")?;
        // Up to v3 the result is a block of the message (formats.md §3.3).
        let result = if message.has("toolCallId") { message } else { message.get("content")?.elements().next()? };
        let [call, content, is_error] = result.pick(["toolCallId", "content", "isError"]);
        let call = call_key(call?)?;
        let asked = self.active.get_mut(&call)?;
        let content = content.filter(|content| content.array().is_some())?;
        let error = data.get("error");
        let code = error.and_then(|error| error.get("code"));
        if is_pending(content) || code.is_some_and(|code| code.is_string("TOOL_OUTCOME_UNKNOWN")) {
            asked.is_continued = true;
            return Some(());
        }
        self.active.remove(&call);
        let has_failed = error.is_some() || is_error.is_some_and(View::is_true);
        if let Some(answers) = answers_in(content).filter(|_| !has_failed) {
            self.settle(&call, answers);
        }
        Some(())
    }

    fn take_reply(&mut self, data: View<'_>) -> Option<()> {
        if self.active.is_empty() {
            return None;
        }
        let source = data.get("source")?;
        if !source.get("kind")?.is_string("user-question-reply") {
            return None;
        }
        let call = call_key(source.get("callId")?)?;
        let content = data.get("content").filter(|content| content.array().is_some())?;
        self.active.remove(&call)?;
        self.settle(&call, answers_in(content).unwrap_or(Value::Array(Vec::new())));
        Some(())
    }

    fn settle(&mut self, call: &str, answers: Value) {
        let settled = Object::of([("callId", call_id(call)), ("answers", answers)]);
        self.settled.push(Json::from_value(&Value::from(settled)));
    }
}

/// A call's id as the key of its questions. dsh shows no call without one.
fn call_key(id: View<'_>) -> Option<String> {
    id.string().filter(|id| !id.is_empty()).map(|id| string_literal(&id))
}

/// The id that a key stands for.
fn call_id(key: &str) -> Value {
    parse(key).map_or(Value::Null, View::to_value)
}

/// Whether a tool of a request header is the one that asks, with a time limit among its parameters.
fn is_timed_tool(tool: View<'_>) -> bool {
    let is_asking = tool.get("name").is_some_and(|name| name.is_string(TOOL));
    let properties = || tool.get("parameters")?.get("properties");
    is_asking && properties().is_some_and(|properties| properties.has("timeout"))
}

/// The questions in the tool's arguments, as the outside sees them. `None` if there are none or any is odd.
fn questions_of(arguments: View<'_>) -> Option<Json> {
    let questions = arguments.get("questions")?.array()?.map(question).collect::<Option<Vec<Value>>>()?;
    (!questions.is_empty()).then(|| Json::from_value(&Value::Array(questions)))
}

fn question(question: View<'_>) -> Option<Value> {
    let [id, text, header, options, multi_select] =
        question.pick(["id", "question", "header", "options", "multi_select"]);
    let mut shown = Object::of([("id", string(id?)?), ("question", string(text?)?)]);
    if let Some(header) = header {
        shown.set("header", string(header)?);
    }
    if let Some(options) = options {
        shown.set("options", Value::Array(options.array()?.map(option).collect::<Option<_>>()?));
    }
    if let Some(multi_select) = multi_select {
        shown.set("multiSelect", Value::from(multi_select.bool()?));
    }
    Some(Value::from(shown))
}

fn option(option: View<'_>) -> Option<Value> {
    let [label, description] = option.pick(["label", "description"]);
    let mut shown = Object::of([("label", string(label?)?)]);
    if let Some(description) = description {
        shown.set("description", string(description)?);
    }
    Some(Value::from(shown))
}

/// Whether a tool's result says that the person has yet to answer.
fn is_pending(content: View<'_>) -> bool {
    first_text(content).is_some_and(|result| result.view().get("pending").is_some_and(View::is_true))
}

/// The answers that a tool's result or a person's message carries. `None` if there are none or any is odd.
fn answers_in(content: View<'_>) -> Option<Value> {
    let carried = first_text(content)?;
    let answers = carried.view().get("answers")?.array()?.map(answer).collect::<Option<Vec<Value>>>()?;
    Some(Value::Array(answers))
}

fn answer(answer: View<'_>) -> Option<Value> {
    const MEMBERS: [&str; 3] = ["id", "selected", "custom"];
    if answer.members().any(|(name, _)| MEMBERS.iter().all(|known| name != *known)) {
        return None;
    }
    let [id, selected, custom] = answer.pick(MEMBERS);
    let selected = selected?.array()?.map(string).collect::<Option<Vec<Value>>>()?;
    let mut shown = Object::of([("id", string(id?)?), ("selected", Value::Array(selected))]);
    if let Some(custom) = custom {
        shown.set("custom", string(custom)?);
    }
    Some(Value::from(shown))
}

fn string(value: View<'_>) -> Option<Value> {
    value.string().map(Value::from)
}

/// What the first text block of a message says, if that is JSON.
fn first_text(content: View<'_>) -> Option<Json> {
    let is_text = |block: &View<'_>| block.get("type").is_some_and(|kind| kind.is_string("text"));
    json_of(&content.elements().find(is_text)?.get("text")?.string()?)
}

/// The value that a text inside a message stands for, if it is JSON.
fn json_of(text: &JsStr<'_>) -> Option<Json> {
    Some(Json::of(parse(&escaped(text)?).ok()?))
}

/// JSON text with its unpaired surrogates written as escapes, which UTF-8 needs and JavaScript does not.
/// `None` where one follows a backslash: that is no escape.
fn escaped<'t>(text: &'t JsStr<'_>) -> Option<Cow<'t, str>> {
    if let Some(text) = text.to_str() {
        return Some(Cow::Borrowed(text));
    }
    let mut out = String::new();
    let mut is_escape = false;
    for point in text.code_points() {
        match point {
            CodePoint::LoneSurrogate(_) if is_escape => return None,
            CodePoint::LoneSurrogate(unit) => out.push_str(&format!("\\u{unit:04x}")),
            CodePoint::Char(c) => out.push(c),
        }
        is_escape = !is_escape && point == CodePoint::Char('\\');
    }
    Some(Cow::Owned(out))
}
