//! Making a side chat (seed §6.2, sidechat.md §3.2).
//!
//! Nothing exists before everything that can be checked was: the question, the seed, the parent, and the
//! context a model is to write. Then the ledger gets a record, the session its log, and the record its last
//! word, so that a crash in between leaves what [`recover`] can tell.

use super::chat::{
    Chat, GeneratedContext, Identity, ModelChoice, ModelStrategy, Origin, Permission, PermissionMode, Seed, SeedMode,
    SessionRef, Status,
};
use super::estimate::utf16_len;
use super::first_message;
use super::id::Id;
use super::language::Language;
use super::ledger::Ledger;
use super::marker;
use super::reading::Reading;
use super::relation::{Presence, Sessions};
use super::request::{self, Ask, Request};
use super::seed;
use super::title;
use crate::corpus::{Corpus, Record, Selector};
use crate::error::{Code, Failure};
use crate::generations::encode::{ApprovalPolicy, Form, NewSession, PluginMessage, SandboxMode, Section, opening};
use crate::model::js_string::JsString;
use crate::projections::token_usage::Route;
use crate::stores::Encoding;
use crate::stores::jsonl::{JsonlStore, LogState, PublishError};
use crate::stores::steps::Steps;
use std::path::Path;

/// The most a question may hold, in UTF-16 units.
const MAX_QUESTION_UNITS: u64 = 20_000;

/// The most a title may hold, in UTF-16 units.
const MAX_TITLE_UNITS: u64 = 200;

/// The name of the section the first message comes with.
const SECTION: &str = "SideChat seed and question";

/// What is wanted.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// What is to be cleared up.
    pub question: String,
    /// The title; by default one made of the question.
    pub title: Option<String>,
    /// What it is given of its parent.
    pub seed: SeedMode,
    /// What it may do.
    pub permission: PermissionMode,
    /// The model it is meant for.
    pub model: WantedModel,
    /// The language of the sentences around seed and question.
    pub language: Language,
}

/// The model a side chat is to have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum WantedModel {
    /// That of the parent's newest request.
    #[default]
    Inherit,
    /// dsh's default.
    Default,
    /// This one.
    Named(Route),
}

/// A side chat that only needs to be made.
#[derive(Clone, Debug)]
pub struct Draft {
    /// The side chat as it would be.
    pub chat: Chat,
    /// The text of its first message; without what a model has yet to write.
    pub text: String,
    /// How many candidates are older than the window of a `task`.
    pub dropped_older: u64,
    /// The model of the parent's newest request.
    pub parent_route: Option<Route>,
    language: Language,
    writing: Option<Writing>,
    encoding: Encoding,
    sandbox: Option<SandboxMode>,
    approval: Option<ApprovalPolicy>,
}

/// Checks everything that can be checked and reads what is to be frozen. Changes nothing.
///
/// # Errors
/// The question or title is not valid, the parent may not be one or cannot be read, the seed cannot be had.
pub fn draft(corpus: &Corpus, parent: &Record, wanted: &Wanted, now: i64) -> Result<Draft, Failure> {
    let question = question(&wanted.question)?;
    let title = match &wanted.title {
        Some(title) => own_title(title)?,
        None => title::of_question(&question),
    };
    let header = &parent.stored.header;
    if header.is_subagent {
        return Err(Failure::new(Code::RelationInvalid, "the session of another session's agent has no side chats")
            .hint("start it from the session a person talks to"));
    }
    let reading = Reading::of_surface(corpus, parent)?;
    let chosen = seed::choose(&reading, &wanted.seed)?;
    let (permission, sandbox, approval) = permission(wanted.permission, &reading);
    let child = SessionRef {
        id: JsString::from(format!("session-{}", Id::random())),
        identity: Identity { created_at: now.max(0) as u64, cwd: header.cwd.clone() },
    };
    let seed = Seed {
        mode: wanted.seed.name(),
        captured_through_seq: reading.status.last_seq,
        captured_format: Some(reading.format),
        captured_at: now,
        messages: chosen.messages,
        generated: None,
    };
    let model = match &wanted.model {
        WantedModel::Inherit => ModelChoice { strategy: Some(ModelStrategy::Inherit), route: reading.route.clone() },
        WantedModel::Default => ModelChoice { strategy: Some(ModelStrategy::Default), route: None },
        WantedModel::Named(route) => ModelChoice { strategy: Some(ModelStrategy::Custom), route: Some(route.clone()) },
    };
    Ok(Draft {
        text: first_message::text(&seed, &question, wanted.language),
        chat: Chat {
            child,
            parent: SessionRef::of(header),
            question,
            title,
            status: Status::Open,
            seed,
            permission,
            model,
            parent_baseline: Some(reading.usage),
            created_at: now,
            updated_at: now,
            last_revision: 0,
            log: None,
            is_hidden: false,
            origin: Origin::Ledger,
        },
        dropped_older: chosen.dropped_older,
        parent_route: reading.route,
        language: wanted.language,
        writing: match wanted.seed {
            SeedMode::Task => Some(Writing::Task),
            SeedMode::Summary(_) => Some(Writing::Summary),
            _ => None,
        },
        encoding: parent.stored.encoding,
        sandbox,
        approval,
    })
}

/// What a model is to write before the side chat can be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writing {
    /// The context of a task.
    Task,
    /// A summary.
    Summary,
}

impl Writing {
    /// The stable name.
    pub fn name(self) -> &'static str {
        match self {
            Writing::Task => "task",
            Writing::Summary => "summary",
        }
    }
}

/// A call of a model that the side chat needs before it can be made.
#[derive(Clone, Debug)]
pub struct Call {
    /// What is to be written.
    pub writing: Writing,
    /// The request.
    pub request: Request,
    /// The model that is asked unless another is named: for a task that of the parent's newest request, for a
    /// summary the one the side chat is meant for.
    pub route: Option<Route>,
}

impl Draft {
    /// The call that is needed, if any.
    pub fn call(&self) -> Option<Call> {
        let (messages, question) = (&self.chat.seed.messages, &self.chat.question);
        let writing = self.writing?;
        Some(match writing {
            Writing::Task => Call {
                writing,
                request: request::task(messages, question, self.language),
                route: self.parent_route.clone(),
            },
            Writing::Summary => Call {
                writing,
                request: request::summary(messages, question, self.language),
                route: self.chat.model.route.clone(),
            },
        })
    }

    /// Has a model write what it is to write; does nothing if that is nothing.
    ///
    /// # Errors
    /// The model gave none.
    pub fn fill_in(&mut self, ask: &mut Ask<'_>) -> Result<(), Failure> {
        let Some(call) = self.call() else { return Ok(()) };
        let answer = ask(&call.request)?;
        self.chat.seed.generated =
            Some(GeneratedContext { text: answer.text, call: answer.call, dropped_older_messages: self.dropped_older });
        self.text = first_message::text(&self.chat.seed, &self.chat.question, self.language);
        Ok(())
    }

    /// Makes the side chat.
    ///
    /// # Errors
    /// The parent is not the one it was any more; the ledger or the store cannot be written. Nothing is left.
    pub fn publish(mut self, home: &Path, corpus: &Corpus, steps: &mut dyn Steps) -> Result<Chat, Failure> {
        if self.encoding == Encoding::Sqlite {
            return Err(Failure::new(Code::DatabaseStore, PublishError::Database.to_string())
                .hint("paste the question into a new session yourself"));
        }
        let mut ledger = Ledger::open_for_writing(home, steps)?;
        recover(&mut ledger, corpus, steps)?;
        let catalog = corpus.catalog()?;
        let sessions = Sessions { corpus, catalog: &catalog };
        if let Presence::Gone | Presence::Replaced(_) = sessions.presence(&self.chat.parent) {
            return Err(Failure::new(Code::RelationInvalid, "the parent is not the session it was a moment ago")
                .hint("no side chat was made; try again"));
        }
        ledger.begin_chat(&self.chat, steps)?;
        let child = self.chat.child.clone();
        match self.write_log(corpus, steps) {
            Ok(published) => {
                ledger.finish_chat(&child.id, Some(&published), steps)?;
                self.chat.log = Some(published);
                Ok(self.chat)
            }
            Err(error) => {
                ledger.forget_chat(&child.id, steps)?;
                Err(refusal(&error))
            }
        }
    }

    fn write_log(&self, corpus: &Corpus, steps: &mut dyn Steps) -> Result<LogState, PublishError> {
        let chat = &self.chat;
        let origin = marker::origin(&chat.child.id, &chat.parent, &chat.seed.mode);
        let message = PluginMessage {
            id: Id::random().to_string(),
            texts: vec![self.text.clone()],
            plugin: marker::PLUGIN.to_owned(),
            form: Form::Snapshot { sections: vec![Section { name: SECTION.to_owned(), text: origin }] },
        };
        let session = new_session(&chat.child);
        let events = opening(&chat.title, self.sandbox, self.approval, &message);
        let store = JsonlStore::new(corpus.path());
        store.publish(&session, self.encoding, &events, steps).map(|published| published.state)
    }
}

/// A side chat's session as the store makes it.
fn new_session(child: &SessionRef) -> NewSession {
    let identity = &child.identity;
    NewSession { id: child.id.clone(), created_at: identity.created_at, cwd: identity.cwd.clone() }
}

/// Tidies up after a writer that is gone: a side chat whose log was made is one, any other is struck out.
///
/// # Errors
/// The store cannot be listed, or the ledger not written.
pub fn recover(ledger: &mut Ledger, corpus: &Corpus, steps: &mut dyn Steps) -> Result<(), Failure> {
    let unpublished = ledger.unpublished()?;
    if unpublished.is_empty() {
        return Ok(());
    }
    let catalog = corpus.catalog()?;
    for chat in unpublished {
        match catalog.select(&Selector::Exactly(chat.child.id.clone())) {
            Ok(_) => ledger.finish_chat(&chat.child.id, None, steps)?,
            Err(failure) if failure.code == Code::SessionNotFound => {
                // An empty directory hurts nobody, so one that stays is no failure.
                let _ = JsonlStore::new(corpus.path()).discard(&new_session(&chat.child));
                ledger.forget_chat(&chat.child.id, steps)?;
            }
            // It is there and cannot be read; whoever comes later may know more.
            Err(_) => {}
        }
    }
    Ok(())
}

fn question(text: &str) -> Result<String, Failure> {
    let question = text.trim();
    if question.is_empty() {
        return Err(Failure::new(Code::BadRequest, "the question is empty").hint("say what is to be cleared up"));
    }
    let units = utf16_len(question);
    if units > MAX_QUESTION_UNITS {
        let message = format!("the question has {units} characters, at most {MAX_QUESTION_UNITS} are allowed");
        return Err(Failure::new(Code::BadRequest, message));
    }
    Ok(question.to_owned())
}

fn own_title(text: &str) -> Result<String, Failure> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let title = words.join(" ");
    if title.is_empty() || utf16_len(&title) > MAX_TITLE_UNITS {
        let message = format!("a title has from 1 to {MAX_TITLE_UNITS} characters");
        return Err(Failure::new(Code::BadRequest, message));
    }
    Ok(title)
}

/// What a side chat may do, as far as a log can say so.
fn permission(mode: PermissionMode, parent: &Reading) -> (Permission, Option<SandboxMode>, Option<ApprovalPolicy>) {
    let (sandbox, approval) = match mode {
        PermissionMode::ReadOnly => (Some(SandboxMode::ReadOnly), Some(ApprovalPolicy::Never)),
        PermissionMode::Inherit => (
            SandboxMode::ALL.into_iter().find(|known| parent.sandbox.as_deref() == Some(known.name())),
            ApprovalPolicy::ALL.into_iter().find(|known| parent.approval.as_deref() == Some(known.name())),
        ),
    };
    let permission = Permission {
        mode,
        parent_sandbox: parent.sandbox.clone(),
        parent_approval: parent.approval.clone(),
        child_sandbox: sandbox.map(|mode| mode.name().to_owned()),
        child_approval: approval.map(|policy| policy.name().to_owned()),
    };
    (permission, sandbox, approval)
}

fn refusal(error: &PublishError) -> Failure {
    let code = match error {
        PublishError::Database => Code::DatabaseStore,
        PublishError::Exists(_) => Code::IdCollision,
        PublishError::InvalidHeader => Code::CreateFailed,
        PublishError::NotADirectory(_) | PublishError::Write(_) => Code::Io,
        PublishError::NotReadBack(_) => Code::DeliveryFailed,
    };
    Failure::new(code, error.to_string()).hint("no side chat was made")
}
