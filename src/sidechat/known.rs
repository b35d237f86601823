//! Every side chat that is known: those of our ledger, and those that dsh's plugin remembers. It is how side chats
//! are looked at; only those of the ledger are ever changed.

use super::chat::Chat;
use super::citation::Cite;
use super::fold::Fold;
use super::ledger::Ledger;
use super::plugin_domain::{self, PluginChat, PluginDomain};
use super::relink::Relink;
use super::withdrawal::Withdrawal;
use crate::error::{Code, Failure};
use crate::model::js_string::JsString;
use std::collections::HashSet;
use std::path::Path;

/// What is known of side chats in a home.
pub struct Known {
    /// Our ledger, if there is one.
    pub ledger: Option<Ledger>,
    /// What the plugin remembers.
    pub plugin: PluginDomain,
}

impl Known {
    /// What is known in a home. Makes and changes nothing.
    ///
    /// # Errors
    /// The ledger cannot be read. What is wrong with the plugin's file is part of the answer.
    pub fn in_home(home: &Path) -> Result<Known, Failure> {
        Ok(Known { ledger: Ledger::open_existing(home)?, plugin: plugin_domain::read(home) })
    }

    /// Every side chat. One that both remember is ours.
    ///
    /// # Errors
    /// The ledger cannot be read. So with the next.
    pub fn chats(&self) -> Result<Vec<Chat>, Failure> {
        let mut chats = match &self.ledger {
            Some(ledger) => ledger.chats()?,
            None => Vec::new(),
        };
        let ours: HashSet<JsString> = chats.iter().map(|chat| chat.child.id.clone()).collect();
        let theirs = self.plugin.chats.iter().map(|known| &known.chat);
        chats.extend(theirs.filter(|chat| !ours.contains(&chat.child.id)).cloned());
        Ok(chats)
    }

    /// The side chat that is this session.
    ///
    /// # Errors
    /// As [`Known::chats`].
    pub fn chat(&self, child: &JsString) -> Result<Option<Chat>, Failure> {
        let ours = self.ledger.as_ref().map_or(Ok(None), |ledger| ledger.chat(child))?;
        Ok(ours.or_else(|| self.theirs(child).map(|known| known.chat.clone())))
    }

    /// The side chat that is this session.
    ///
    /// # Errors
    /// There is none; as [`Known::chats`].
    pub fn required(&self, child: &JsString) -> Result<Chat, Failure> {
        self.chat(child)?.ok_or_else(|| self.plugin.without(child))
    }

    /// The folds of a side chat, oldest first.
    ///
    /// # Errors
    /// As [`Known::chats`].
    pub fn folds(&self, child: &JsString) -> Result<Vec<Fold>, Failure> {
        self.of(child, Ledger::folds, |known| &known.folds)
    }

    /// The cites of a side chat, oldest first.
    ///
    /// # Errors
    /// As [`Known::chats`].
    pub fn cites(&self, child: &JsString) -> Result<Vec<Cite>, Failure> {
        self.of(child, Ledger::cites, |known| &known.cites)
    }

    /// The withdrawals of a side chat's folds, oldest first.
    ///
    /// # Errors
    /// As [`Known::chats`].
    pub fn withdrawals(&self, child: &JsString) -> Result<Vec<Withdrawal>, Failure> {
        self.of(child, Ledger::withdrawals, |known| &known.withdrawals)
    }

    /// The times a side chat got another parent, oldest first; the plugin knows none.
    ///
    /// # Errors
    /// As [`Known::chats`].
    pub fn relinks(&self, child: &JsString) -> Result<Vec<Relink>, Failure> {
        self.ledger.as_ref().map_or(Ok(Vec::new()), |ledger| ledger.relinks(child))
    }

    fn theirs(&self, child: &JsString) -> Option<&PluginChat> {
        self.plugin.chats.iter().find(|known| known.chat.child.id == *child)
    }

    fn of<T: Clone>(
        &self,
        child: &JsString,
        ours: impl FnOnce(&Ledger, &JsString) -> Result<Vec<T>, Failure>,
        theirs: impl FnOnce(&PluginChat) -> &Vec<T>,
    ) -> Result<Vec<T>, Failure> {
        match &self.ledger {
            Some(ledger) if ledger.chat(child)?.is_some() => ours(ledger, child),
            _ => Ok(self.theirs(child).map(theirs).cloned().unwrap_or_default()),
        }
    }
}

/// The failure of who wants to change a side chat that the plugin remembers.
pub fn owned_by_plugin(child: &JsString) -> Failure {
    Failure::new(
        Code::PluginOwned,
        format!("the side chat {child:?} belongs to dsh's plugin, and only it may change it"),
    )
    .hint("use the plugin in dsh; dshkit lists, shows and reads it")
}
