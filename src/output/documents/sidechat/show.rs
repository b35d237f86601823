//! `dshkit/sidechat.show/1`

use super::chat::{ListedDocument, OpenDocument};
use super::cite_facts::CiteFacts;
use super::fold_facts::FoldFacts;
use super::print_lines;
use super::relink::RelinkFacts;
use super::withdraw::WithdrawalFacts;
use crate::output::documents::list::time;
use crate::output::json::Js;
use crate::output::terminal_text::{visible, visible_js};
use crate::output::{Document, TextOut};
use crate::sidechat::listing::{Listed, Seen};
use schemars::JsonSchema;
use serde::Serialize;
use std::io;

/// A side chat, what it was given, and what came of it.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ShowDocument {
    /// The side chat.
    chat: ListedDocument,
    /// Its folds, oldest first.
    folds: Vec<FoldFacts>,
    /// Its cites, oldest first.
    cites: Vec<CiteFacts>,
    /// The folds that were taken back.
    withdrawals: Vec<WithdrawalFacts>,
    /// The times it got another parent, oldest first.
    relinks: Vec<RelinkFacts>,
    /// What can be cited, oldest first; `null` if its log cannot be read.
    replies: Option<Vec<ReplyDocument>>,
    /// How to open it in dsh.
    resume: Option<OpenDocument>,
}

/// A reply of the model.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
struct ReplyDocument {
    /// The id of its message.
    message_id: Js,
    /// When it was recorded.
    time: i64,
    /// What it says.
    text: String,
}

impl ShowDocument {
    /// The document of a side chat.
    pub fn new(listed: &Listed) -> ShowDocument {
        let reply = |reply: &crate::sidechat::reading::Reply| ReplyDocument {
            message_id: Js::from(&reply.message_id),
            time: reply.time,
            text: reply.text.clone(),
        };
        ShowDocument {
            chat: ListedDocument::from(listed),
            folds: listed.folds.iter().map(|fold| FoldFacts::of(fold, &listed.chat)).collect(),
            cites: listed.cites.iter().map(|cite| CiteFacts::of(cite, &listed.chat)).collect(),
            withdrawals: listed.withdrawals.iter().map(WithdrawalFacts::from).collect(),
            relinks: listed.relinks.iter().map(RelinkFacts::from).collect(),
            replies: listed.log.as_ref().ok().map(|log| log.replies.iter().map(reply).collect()),
            resume: (listed.child == Seen::Here).then(|| OpenDocument::of(&listed.chat.child)),
        }
    }
}

impl Document for ShowDocument {
    const SCHEMA: &'static str = "dshkit/sidechat.show/1";

    fn text(&self, text: &mut TextOut<'_>) -> io::Result<()> {
        let chat = &self.chat.chat;
        text.line(&visible_js(&chat.title.0))?;
        match &self.resume {
            Some(resume) => resume.text(text)?,
            None => text.line(&format!("session  {}", visible_js(&chat.child_session_id.0)))?,
        }
        text.line(&format!("parent   {}", visible_js(&chat.parent_session_id.0)))?;
        let revision =
            self.chat.latest_fold_revision.map_or_else(|| "no fold".to_owned(), |revision| format!("rev-{revision}"));
        text.line(&format!("status   {}, {revision}, seed {}", self.chat.status_words(), visible(&chat.seed.mode)))?;
        text.line("")?;
        print_lines(text, &chat.question)?;
        chat.seed.print(text)?;
        for fold in &self.folds {
            text.line("")?;
            fold.print(text)?;
        }
        if !self.cites.is_empty() {
            text.line("")?;
        }
        for cite in &self.cites {
            text.line(&cite.line())?;
            cite.print_text(text)?;
        }
        self.withdrawals.iter().try_for_each(|withdrawal| text.line(&withdrawal.line()))?;
        self.relinks.iter().try_for_each(|relink| text.line(&relink.line()))?;
        for reply in self.replies.iter().flatten() {
            text.line("")?;
            text.line(&format!("reply {}  {}", visible_js(&reply.message_id.0), time(reply.time)))?;
            print_lines(text, &reply.text)?;
        }
        Ok(())
    }
}
