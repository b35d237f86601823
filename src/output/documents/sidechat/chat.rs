//! A side chat, as the ledger has it and as it is listed.

use super::calls::{CallDocument, RouteDocument};
use super::{origin_words, print_lines};
use crate::model::uri;
use crate::output::TextOut;
use crate::output::documents::error::ErrorFacts;
use crate::output::json::Js;
use crate::output::terminal_text::visible_js;
use crate::sidechat::chat::{Chat, ModelStrategy, Seed, SeedMessage, SessionRef};
use crate::sidechat::listing::Listed;
use schemars::JsonSchema;
use serde::Serialize;
use std::io;

/// A side chat.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ChatDocument {
    /// The side chat's own session.
    pub(super) child_session_id: Js,
    /// The session it belongs to.
    pub(super) parent_session_id: Js,
    /// Its working directory.
    pub(super) cwd: Option<Js>,
    /// What it is to clear up.
    pub(super) question: String,
    /// Its title.
    pub(super) title: Js,
    /// `open`, `archived`, `abandoned`, or, where it is listed and its parent is gone, `orphaned`.
    pub(super) status: &'static str,
    /// What it was given of its parent.
    pub(super) seed: SeedDocument,
    /// What it may do.
    permission: PermissionDocument,
    /// The model it is meant for.
    model: ModelDocument,
    /// When it was made.
    created_at: i64,
    /// When something last happened in it.
    pub(super) last_activity_at: i64,
    /// The last revision that was given to a fold; 0 for none.
    reserved_revision: u64,
    /// Whether `sessions list --hide-sidechats` leaves it out.
    pub(super) hidden: bool,
    /// Who remembers it: `dshkit`, `restored` if the logs told it again, or dsh's `plugin`.
    pub(super) origin: &'static str,
}

/// What a side chat was given of its parent, frozen when it was made.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SeedDocument {
    /// `none`, `tail:1`, `tail:2`, `tail:4`, `pick:1`, `pick:many`, `turn`, `selection`, `summary`, or `task`; of the
    /// plugin's also others.
    pub(super) mode: String,
    /// The last event of the parent that was seen; `null` for an empty log, or if it is not known.
    captured_through_seq: Option<u64>,
    /// The format generation in which the seqs count; `null` if it is not known.
    captured_format: Option<u64>,
    /// When it was taken.
    captured_at: i64,
    /// The messages, oldest first.
    pub(super) messages: Vec<SeedMessageDocument>,
    /// What a model made of them; `null` if none was asked.
    generated: Option<GeneratedDocument>,
}

impl SeedDocument {
    /// What was given, for people: the messages, and what a model made of them.
    pub(super) fn print(&self, text: &mut TextOut<'_>) -> io::Result<()> {
        for message in &self.messages {
            text.line("")?;
            text.line(&format!("given {} {}", message.role, visible_js(&message.message_id.0)))?;
            print_lines(text, &message.text)?;
        }
        let Some(generated) = &self.generated else { return Ok(()) };
        text.line("")?;
        text.line("given instead, written by a model")?;
        print_lines(text, &generated.text)
    }
}

/// A message of the parent, frozen.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SeedMessageDocument {
    /// Its id.
    message_id: Js,
    /// Who said it: `user` or `assistant`.
    role: &'static str,
    /// Its seq in the parent's log as it was.
    seq: u64,
    /// The turn it was said in; `null` if in none.
    turn: Option<u64>,
    /// The part of it that was taken; `null`: all.
    selection: Option<SelectionDocument>,
    /// What was said.
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

/// A background that a model wrote for a side chat.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
struct GeneratedDocument {
    /// The background.
    text: String,
    /// The call.
    call: CallDocument,
    /// How many older messages did not fit into what the model was shown.
    dropped_older_messages: u64,
}

/// What a side chat may do.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
struct PermissionDocument {
    /// `readonly` or `inherit`.
    mode: &'static str,
    /// The parent's sandbox mode, if its log tells.
    parent_sandbox_mode: Option<String>,
    /// The parent's approval policy, if its log tells.
    parent_approval_policy: Option<String>,
    /// The sandbox mode that the side chat's log sets.
    child_sandbox_mode: Option<String>,
    /// The approval policy that the side chat's log sets.
    child_approval_policy: Option<String>,
}

/// The model a side chat is meant for. No log makes a dsh heed it.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
struct ModelDocument {
    /// `inherit` (that of the parent's newest request), `default` (that of dsh), or `custom`; `null` if it is not known.
    strategy: Option<&'static str>,
    /// The model, where it is known.
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
                strategy: chat.model.strategy.map(ModelStrategy::name),
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

/// A side chat as it is now: what the ledger has, and what the logs tell.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ListedChat")]
pub(super) struct ListedDocument {
    #[serde(flatten)]
    pub(super) chat: ChatDocument,
    /// How the parent's session is: `here`, `gone`, `replaced` (another session has its id), or `unreadable`.
    parent: &'static str,
    /// The same of the side chat's own session.
    pub(super) child: &'static str,
    /// Whether a turn is open or a dsh holds it open; `null` if its log does not tell.
    pub(super) running: Option<bool>,
    /// The model of its newest request, else the one it is meant for.
    pub(super) current_model: Option<RouteDocument>,
    /// The newest committed revision.
    pub(super) latest_fold_revision: Option<u64>,
    /// How many folds are committed.
    pub(super) committed_folds: usize,
    /// How many folds and cites wait to be delivered.
    pub(super) pending: usize,
    /// Why its log cannot be read.
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

impl ListedDocument {
    /// Its status for people, with what is unusual about it.
    pub(super) fn status_words(&self) -> String {
        let session = match self.child {
            "here" => None,
            "gone" => Some("its session is gone"),
            "replaced" => Some("another session has its id"),
            _ => Some("its session cannot be read"),
        };
        let words = [Some(self.chat.status), origin_words(self.chat.origin), session];
        words.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}

/// How a session is opened in dsh.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct OpenDocument {
    /// The session.
    session_id: Js,
    /// Its `dsh-session:` URI.
    uri: String,
    /// The directory to be in.
    cwd: Option<Js>,
    /// The command that opens it.
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
