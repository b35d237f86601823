//! A session as side chats look at it: what was said in it, and what its log tells about itself.

use super::marker;
use crate::corpus::{Corpus, Record};
use crate::error::Failure;
use crate::model::event::Event;
use crate::model::js_string::{JsStr, JsString};
use crate::model::json::View;
use crate::model::message::{is_from_user, message_of, text_of, tool_calls};
use crate::model::surface::Surface;
use crate::projections::token_usage::{Route, route_of};
use crate::projections::turn_usage::{SessionUsage, TurnUsageFold};
use crate::query::status::{Status, StatusFold};

/// A session that was read.
#[derive(Debug)]
pub struct Reading {
    /// What people and models said, in the order of the log.
    pub said: Vec<Said>,
    /// What the model sees.
    pub surface: Surface,
    /// The last message of any kind that the log holds.
    pub last_message: Option<JsString>,
    /// How it stands.
    pub status: Status,
    /// Its title: the newest (formats.md §7.1).
    pub title: Option<JsString>,
    /// The model of its newest request.
    pub route: Option<Route>,
    /// The sandbox mode in force.
    pub sandbox: Option<String>,
    /// The approval policy in force.
    pub approval: Option<String>,
    /// What its turns used.
    pub usage: SessionUsage,
    /// The format generation of its log.
    pub format: u64,
}

/// Something that was said, and has text.
#[derive(Clone, Debug)]
pub struct Said {
    /// The event.
    pub seq: u64,
    /// When, in milliseconds since the epoch.
    pub time: i64,
    /// The turn it was said in, if in any.
    pub turn: Option<u64>,
    /// The message's id.
    pub message_id: JsString,
    /// Who said it.
    pub speaker: Speaker,
    /// The text blocks, joined by line feeds, without white space around them. An unpaired surrogate is U+FFFD.
    pub text: String,
}

/// Something the model said.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The message's id.
    pub message_id: JsString,
    /// When, in milliseconds since the epoch.
    pub time: i64,
    /// The text.
    pub text: String,
}

/// Who said something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speaker {
    /// The person, directly.
    Person,
    /// A plugin called [`marker::PLUGIN`].
    SideChat,
    /// Another plugin, a tool, a checkpoint.
    Machinery,
    /// The model.
    Model {
        /// Whether it is the answer its turn ended with, not a word between tool calls or one broken off.
        is_final: bool,
    },
}

impl Reading {
    /// Reads a session, with everything that was said in it.
    ///
    /// # Errors
    /// Its log is damaged, of an unknown format, or unreadable, or its surface does not fold.
    pub fn of(corpus: &Corpus, record: &Record) -> Result<Reading, Failure> {
        Reading::with(corpus, record, Shadowed::Kept)
    }

    /// Reads a session that may be long. What its model no longer sees keeps its ids, and its texts are let go.
    ///
    /// # Errors
    /// As [`Reading::of`].
    pub fn of_surface(corpus: &Corpus, record: &Record) -> Result<Reading, Failure> {
        Reading::with(corpus, record, Shadowed::LetGo)
    }

    fn with(corpus: &Corpus, record: &Record, shadowed: Shadowed) -> Result<Reading, Failure> {
        let mut fold = Fold::default();
        let summary = corpus.read(record, &mut |event, replaced| {
            fold.apply(event);
            if shadowed == Shadowed::LetGo {
                replaced.into_iter().flat_map(|replaced| &replaced.removed).for_each(|seq| fold.let_go(*seq));
            }
        })?;
        let surface = summary.finished.surface?;
        Ok(Reading {
            said: fold.said,
            surface,
            last_message: fold.last_message,
            status: fold.status.finish(),
            title: fold.title,
            route: fold.route,
            sandbox: fold.sandbox,
            approval: fold.approval,
            usage: fold.usage.finish(),
            format: record.stored.format_version,
        })
    }

    /// The direct words of the person and the final answers that the model still sees, in its order.
    pub fn candidates(&self) -> impl DoubleEndedIterator<Item = &Said> {
        self.current().filter(|said| said.is_candidate())
    }

    /// What the model still sees of what was said, in its order.
    pub fn current(&self) -> impl DoubleEndedIterator<Item = &Said> {
        self.surface.nodes.iter().filter_map(|seq| self.at(*seq))
    }

    /// What was said at a seq.
    fn at(&self, seq: u64) -> Option<&Said> {
        let index = self.said.binary_search_by_key(&seq, |said| said.seq).ok()?;
        Some(&self.said[index])
    }

    /// The newest message with this id that has text, whether the model still sees it or not.
    pub fn find(&self, message_id: &JsString) -> Option<&Said> {
        self.said.iter().rev().find(|said| said.message_id == *message_id)
    }

    /// What the person and the model said, whether the model still sees it or not.
    pub fn direct(&self) -> impl DoubleEndedIterator<Item = &Said> {
        self.said.iter().filter(|said| matches!(said.speaker, Speaker::Person | Speaker::Model { .. }))
    }

    /// What the model said, whether it still sees it or not.
    pub fn replies(&self) -> impl Iterator<Item = Reply> {
        let replies = self.said.iter().filter(|said| matches!(said.speaker, Speaker::Model { .. }));
        replies.map(|said| Reply { message_id: said.message_id.clone(), time: said.time, text: said.text.clone() })
    }

    /// Whether anything was said after a message that was the last one once.
    pub fn has_moved_on_from(&self, last_message: Option<&JsString>) -> bool {
        self.last_message.as_ref() != last_message
    }
}

impl Said {
    /// Whether it may become part of a seed.
    pub fn is_candidate(&self) -> bool {
        matches!(self.speaker, Speaker::Person | Speaker::Model { is_final: true })
    }
}

/// What becomes of the texts of messages that something took the place of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shadowed {
    Kept,
    LetGo,
}

#[derive(Debug, Default)]
struct Fold {
    said: Vec<Said>,
    last_message: Option<JsString>,
    /// The place in `said` of what could be the answer of the turn that is open.
    answer: Option<usize>,
    /// The turn that is open.
    turn: Option<u64>,
    status: StatusFold,
    title: Option<JsString>,
    route: Option<Route>,
    sandbox: Option<String>,
    approval: Option<String>,
    usage: TurnUsageFold,
    opening: Opening,
}

/// Whether a turn is the one a side chat begins with: it holds the first message, and nobody asked a model.
/// dsh's meter has no word for a turn that is known to have cost nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Opening {
    /// No turn is open.
    #[default]
    None,
    /// One is, and so far it may be.
    Turn {
        /// Whether it holds a message of ours.
        is_ours: bool,
    },
    /// One is that is not.
    Other,
}

impl Opening {
    fn apply(&mut self, event: &Event<'_>) {
        let asks =
            |kind: &str| ["assistant/", "request/", "llm/", "tool/"].iter().any(|family| kind.starts_with(family));
        match (event.kind.to_str(), *self) {
            (Some("turn/start"), _) => *self = Opening::Turn { is_ours: false },
            (Some("user/message"), Opening::Turn { is_ours: false }) if marker::is_ours(event.data()) => {
                *self = Opening::Turn { is_ours: true };
            }
            (Some("user/message"), Opening::Turn { .. }) => *self = Opening::Other,
            (Some(kind), Opening::Turn { .. }) if asks(kind) => *self = Opening::Other,
            _ => {}
        }
    }
}

impl Fold {
    fn apply(&mut self, event: &Event<'_>) {
        self.opening.apply(event);
        if event.is("turn/end") && self.opening == (Opening::Turn { is_ours: true }) {
            self.usage.leave_out();
        }
        self.status.apply(event);
        self.usage.apply(event);
        if event.synthetic {
            return;
        }
        if event.surface_op.is_some()
            && let Some(message) = message_of(event)
        {
            self.message(event, message);
        }
        let text =
            |key: &str| event.data().get(key).and_then(View::string).map(|text| text.to_string_lossy().into_owned());
        match event.kind.to_str() {
            Some("turn/start") => {
                self.answer = None;
                self.turn = event.data().get("turn").and_then(View::count);
            }
            Some("turn/end") => {
                self.turn = None;
                if let Some(index) = self.answer.take() {
                    self.said[index].speaker = Speaker::Model { is_final: true };
                }
            }
            Some("request/header") => {
                let config = event.data().get("header").and_then(|header| header.get("config"));
                self.route = config.and_then(route_of).or(self.route.take());
            }
            Some("session/title") => {
                self.title = event.data().get("title").and_then(View::string).map(JsStr::into_owned);
            }
            Some("sandbox/mode") => self.sandbox = text("mode"),
            Some("approval/policy") => self.approval = text("policy"),
            _ => {}
        }
    }

    fn let_go(&mut self, seq: u64) {
        if let Ok(index) = self.said.binary_search_by_key(&seq, |said| said.seq) {
            self.said[index].text = String::new();
        }
    }

    fn message(&mut self, event: &Event<'_>, message: View<'_>) {
        let id = message.get("id").and_then(View::string).map(JsStr::into_owned);
        self.last_message = id.clone();
        let is_answer = event.is("assistant/message");
        if !is_answer && !event.is("user/message") {
            return;
        }
        let speaker = match is_answer {
            true => Speaker::Model { is_final: false },
            false if is_from_user(message) => Speaker::Person,
            false if marker::is_ours(message) => Speaker::SideChat,
            false => Speaker::Machinery,
        };
        let text = text_of(message);
        let text = text.trim_js();
        if is_answer {
            let is_broken_off = event.data().get("interrupted").is_some_and(View::is_true);
            let may_end = tool_calls(message).next().is_none() && !is_broken_off && !text.is_empty();
            self.answer = may_end.then_some(self.said.len());
        }
        if !text.is_empty() {
            self.said.push(Said {
                seq: event.seq,
                time: event.time,
                turn: self.turn,
                message_id: id.unwrap_or_default(),
                speaker,
                text: text.to_string_lossy().into_owned(),
            });
        }
    }
}
