//! A side chat, as the ledger has it and as it is listed.

use super::calls::{CallDocument, RouteDocument};
use crate::model::uri;
use crate::output::TextOut;
use crate::output::documents::error::ErrorFacts;
use crate::output::json::Js;
use crate::output::terminal_text::visible_js;
use crate::sidechat::chat::{Chat, Seed, SeedMessage, SessionRef};
use crate::sidechat::listing::Listed;
use schemars::JsonSchema;
use serde::Serialize;
use std::io;

/// A side chat as it is remembered: by our ledger (`origin` `dshkit`, or `restored` if the logs told it again), or
/// by dsh's plugin (`plugin`).
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ChatDocument {
    pub(super) child_session_id: Js,
    pub(super) parent_session_id: Js,
    pub(super) cwd: Option<Js>,
    pub(super) question: String,
    pub(super) title: Js,
    pub(super) status: &'static str,
    pub(super) seed: SeedDocument,
    permission: PermissionDocument,
    model: ModelDocument,
    created_at: i64,
    pub(super) last_activity_at: i64,
    reserved_revision: u64,
    pub(super) hidden: bool,
    origin: &'static str,
}

/// `{mode, capturedThroughSeq, capturedFormat, capturedAt, messages, generated}`.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SeedDocument {
    pub(super) mode: String,
    captured_through_seq: Option<u64>,
    captured_format: Option<u64>,
    captured_at: i64,
    pub(super) messages: Vec<SeedMessageDocument>,
    generated: Option<GeneratedDocument>,
}

#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SeedMessageDocument {
    message_id: Js,
    role: &'static str,
    seq: u64,
    /// The turn it was said in; `null` if in none.
    turn: Option<u64>,
    /// The part of it that was taken; `null`: all.
    selection: Option<SelectionDocument>,
    text: String,
}

/// A part of a message's text.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
struct SelectionDocument {
    /// The first UTF-16 unit of it.
    start: u64,
    /// The first UTF-16 unit behind it.
    end: u64,
}

impl From<&SeedMessage> for SeedMessageDocument {
    fn from(message: &SeedMessage) -> SeedMessageDocument {
        SeedMessageDocument {
            message_id: Js::from(&message.message_id),
            role: message.role.name(),
            seq: message.seq,
            turn: message.turn,
            selection: message.selection.map(|(start, end)| SelectionDocument { start, end }),
            text: message.text.clone(),
        }
    }
}

#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
struct GeneratedDocument {
    text: String,
    call: CallDocument,
    dropped_older_messages: u64,
}

#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
struct PermissionDocument {
    mode: &'static str,
    parent_sandbox_mode: Option<String>,
    parent_approval_policy: Option<String>,
    child_sandbox_mode: Option<String>,
    child_approval_policy: Option<String>,
}

/// `{strategy, route}`.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
struct ModelDocument {
    strategy: &'static str,
    route: Option<RouteDocument>,
}

impl From<&Seed> for SeedDocument {
    fn from(seed: &Seed) -> SeedDocument {
        SeedDocument {
            mode: seed.mode.clone(),
            captured_through_seq: seed.captured_through_seq,
            captured_format: seed.captured_format,
            captured_at: seed.captured_at,
            messages: seed.messages.iter().map(SeedMessageDocument::from).collect(),
            generated: seed.generated.as_ref().map(|generated| GeneratedDocument {
                text: generated.text.clone(),
                call: CallDocument::from(&generated.call),
                dropped_older_messages: generated.dropped_older_messages,
            }),
        }
    }
}

impl From<&Chat> for ChatDocument {
    fn from(chat: &Chat) -> ChatDocument {
        let permission = &chat.permission;
        ChatDocument {
            child_session_id: Js::from(&chat.child.id),
            parent_session_id: Js::from(&chat.parent.id),
            cwd: chat.child.identity.cwd.as_ref().map(Js::from),
            question: chat.question.clone(),
            title: Js(chat.title.clone().into()),
            status: chat.status.name(),
            seed: SeedDocument::from(&chat.seed),
            permission: PermissionDocument {
                mode: permission.mode.name(),
                parent_sandbox_mode: permission.parent_sandbox.clone(),
                parent_approval_policy: permission.parent_approval.clone(),
                child_sandbox_mode: permission.child_sandbox.clone(),
                child_approval_policy: permission.child_approval.clone(),
            },
            model: ModelDocument {
                strategy: chat.model.strategy.name(),
                route: chat.model.route.as_ref().map(RouteDocument::from),
            },
            created_at: chat.created_at,
            last_activity_at: chat.updated_at,
            reserved_revision: chat.last_revision,
            hidden: chat.is_hidden,
            origin: chat.origin.name(),
        }
    }
}

/// A side chat as it is listed: what the ledger has, and what the logs tell.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ListedDocument {
    #[serde(flatten)]
    pub(super) chat: ChatDocument,
    parent: &'static str,
    child: &'static str,
    pub(super) running: Option<bool>,
    pub(super) current_model: Option<RouteDocument>,
    pub(super) latest_fold_revision: Option<u64>,
    pub(super) committed_folds: usize,
    pub(super) pending: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ErrorFacts>,
}

impl From<&Listed> for ListedDocument {
    fn from(listed: &Listed) -> ListedDocument {
        let log = listed.log.as_ref().ok();
        let mut chat = ChatDocument::from(&listed.chat);
        chat.title = Js(listed.title());
        chat.status = listed.status();
        chat.last_activity_at = listed.last_activity_at();
        let route = log.and_then(|log| log.route.as_ref()).or(listed.chat.model.route.as_ref());
        ListedDocument {
            chat,
            parent: listed.parent.name(),
            child: listed.child.name(),
            running: log.map(|log| log.is_running),
            current_model: route.map(RouteDocument::from),
            latest_fold_revision: listed.current_revision(),
            committed_folds: listed.committed(),
            pending: listed.pending(),
            error: listed.log.as_ref().err().map(ErrorFacts::of),
        }
    }
}

/// How a session is opened in dsh.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct OpenDocument {
    session_id: Js,
    uri: String,
    cwd: Option<Js>,
    command: String,
}

impl OpenDocument {
    pub(super) fn of(session: &SessionRef) -> OpenDocument {
        let id = visible_js(&session.id);
        OpenDocument {
            session_id: Js::from(&session.id),
            uri: uri::encode(&session.id),
            cwd: session.identity.cwd.as_ref().map(Js::from),
            command: format!("dsh --profile tui --resume {id}"),
        }
    }

    pub(super) fn text(&self, text: &mut TextOut<'_>) -> io::Result<()> {
        text.line(&format!("session  {}", visible_js(&self.session_id.0)))?;
        text.line(&format!("uri      {}", self.uri))?;
        if let Some(cwd) = &self.cwd {
            text.line(&format!("cwd      {}", visible_js(&cwd.0)))?;
        }
        text.line(&format!("open     {}", self.command))
    }
}
