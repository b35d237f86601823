//! Where side chats are: the home with the ledger, and the sessions.

use crate::commands::{Context, select};
use crate::corpus::{Catalog, Corpus, Record, Selector};
use crate::error::{Code, Failure};
use crate::model::js_string::JsString;
use crate::sidechat::id::Id;
use crate::sidechat::known::{Known, owned_by_plugin};
use crate::sidechat::ledger::{self, Ledger};
use crate::sidechat::plugin_domain;
use crate::sidechat::relation::Sessions;
use clap::Args;
use std::path::PathBuf;

/// One side chat.
#[derive(Debug, Args)]
pub(super) struct OneChat {
    /// The side chat
    #[arg(value_name = "SIDECHAT")]
    selector: String,
}

impl OneChat {
    /// The side chat this text names.
    pub(super) fn named(text: &str) -> OneChat {
        OneChat { selector: text.to_owned() }
    }

    /// Whether it is named by its whole id, an identifier, a mention or a path, not by the beginning of its id or
    /// as the latest.
    pub(super) fn names_explicitly(&self, child: &JsString) -> Result<bool, Failure> {
        Ok(match select::parse(&self.selector)? {
            Selector::Id(text) => text == *child,
            Selector::Exactly(_) | Selector::Path(_) => true,
            Selector::Latest(_) => false,
        })
    }
}

/// A home, and the sessions in it at one moment.
pub(super) struct Place {
    pub(super) home: PathBuf,
    pub(super) corpus: Corpus,
    pub(super) catalog: Catalog,
}

impl Place {
    /// The place the user means. Side chats need a home; a store alone has no room for their ledger.
    pub(super) fn of(context: &Context) -> Result<Place, Failure> {
        if context.global.store.is_some() && context.env.dsh_home.is_none() {
            return Err(Failure::new(Code::Usage, "side chats need a DSH home, and --store names none")
                .hint("say --home instead, or set DSH_HOME beside --store"));
        }
        let home = context.dsh_home()?;
        let corpus = context.corpus()?;
        let catalog = corpus.catalog()?;
        Ok(Place { home, corpus, catalog })
    }

    /// The sessions.
    pub(super) fn sessions(&self) -> Sessions<'_> {
        Sessions { corpus: &self.corpus, catalog: &self.catalog }
    }

    /// The ledger, if there is one.
    pub(super) fn ledger(&self) -> Result<Option<Ledger>, Failure> {
        Ledger::open_existing(&self.home)
    }

    /// Whether there is anything that could be a ledger.
    pub(super) fn has_ledger(&self) -> bool {
        ledger::place(&self.home).exists()
    }

    /// The session a text names.
    pub(super) fn session(&self, text: &str) -> Result<&Record, Failure> {
        self.catalog.select(&select::parse(text)?)
    }

    /// The session a text names, if one was given.
    pub(super) fn session_if(&self, text: Option<&String>) -> Result<Option<&Record>, Failure> {
        text.map(|text| self.session(text)).transpose()
    }

    /// Every side chat that is known. What is wrong with the plugin's file is told.
    pub(super) fn known(&self, context: &mut Context) -> Result<Known, Failure> {
        let known = Known::in_home(&self.home)?;
        for problem in &known.plugin.problems {
            context.output.warn(&problem.sentence(&known.plugin.path));
        }
        Ok(known)
    }

    /// The parent a person means. One that is gone is known by its id.
    pub(super) fn parent(&self, known: &Known, text: &str) -> Result<JsString, Failure> {
        let ids = known.chats()?.into_iter().map(|chat| chat.parent.id).collect();
        self.known_or_listed(&select::parse(text)?, ids)
    }

    /// The side chat a person means, with all that are known. It is looked at, and not changed.
    pub(super) fn known_chat(&self, args: &OneChat, context: &mut Context) -> Result<(Known, JsString), Failure> {
        let known = self.known(context)?;
        let ids = known.chats()?.into_iter().map(|chat| chat.child.id).collect();
        let id = self.known_or_listed(&select::parse(&args.selector)?, ids)?;
        known.required(&id)?;
        Ok((known, id))
    }

    /// The side chat a person means, with the ledger that has it. The side chat's own log need not be there.
    pub(super) fn chat(&self, args: &OneChat) -> Result<(Ledger, JsString), Failure> {
        let selector = select::parse(&args.selector)?;
        let ledger = self.ledger()?;
        let known: Vec<JsString> = match &ledger {
            Some(ledger) => ledger.chats()?.into_iter().map(|chat| chat.child.id).collect(),
            None => Vec::new(),
        };
        let id = self.known_or_listed(&selector, known.clone())?;
        if let Some(ledger) = ledger.filter(|_| known.contains(&id)) {
            return Ok((ledger, id));
        }
        let plugin = plugin_domain::read(&self.home);
        let is_theirs = plugin.chats.iter().any(|known| known.chat.child.id == id);
        Err(if is_theirs { owned_by_plugin(&id) } else { plugin.without(&id) })
    }

    /// The ledger, for something that is to be done to a fold. Whether it has that fold is for the caller to see; one
    /// of the plugin is refused.
    pub(super) fn ledger_of_fold(&self, id: &Id) -> Result<Ledger, Failure> {
        let ledger = self.ledger()?;
        if ledger.as_ref().map_or(Ok(None), |ledger| ledger.fold(id))?.is_none() {
            let plugin = plugin_domain::read(&self.home);
            let theirs = plugin.chats.iter().find(|known| known.folds.iter().any(|fold| fold.id == *id));
            if let Some(theirs) = theirs {
                return Err(owned_by_plugin(&theirs.chat.child.id));
            }
        }
        ledger.ok_or_else(|| Failure::new(Code::FoldNotFound, format!("there is no fold {id}")))
    }
}

impl Place {
    /// The session that is listed, or one the ledger knows although its log is gone.
    fn known_or_listed(&self, selector: &Selector, mut known: Vec<JsString>) -> Result<JsString, Failure> {
        known.sort();
        known.dedup();
        self.catalog.select(selector).map(|record| record.id().clone()).or_else(|failure| match selector {
            Selector::Id(text) | Selector::Exactly(text) => only(&known, text).ok_or(failure),
            Selector::Path(_) | Selector::Latest(_) => Err(failure),
        })
    }
}

/// The one of these ids that this is, or begins.
fn only(known: &[JsString], text: &JsString) -> Option<JsString> {
    if known.contains(text) {
        return Some(text.clone());
    }
    let mut begun = known.iter().filter(|id| !text.is_empty() && id.as_bytes().starts_with(text.as_bytes()));
    let first = begun.next()?;
    begun.next().is_none().then(|| first.clone())
}
