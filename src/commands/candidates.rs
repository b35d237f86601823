//! What a shell may complete with: sessions, seqs, side chats and folds, found as a command would find them.
//!
//! It must be quick and silent. A store that cannot be read has no candidates, titles come from the cache, and
//! only a few small logs are read for those it does not know.

use super::Context;
use crate::cli::{GlobalArgs, config_path};
use crate::config::Config;
use crate::corpus::{Catalog, Corpus, Record, Selector};
use crate::env::Env;
use crate::model::js_string::JsString;
use crate::model::json::Value;
use crate::output::terminal_text::{cut_to_width, visible, visible_js};
use crate::output::{Color, Output};
use crate::projections::listing::{self, Facts};
use crate::projections::units;
use crate::sidechat::chat::Chat;
use crate::sidechat::fold::{Fold, State};
use crate::sidechat::known::Known;
use crate::sidechat::reading::{Reading, Said};
use std::cmp::Reverse;
use std::path::PathBuf;

/// So many sessions are offered, the newest.
const MOST: usize = 200;
/// So many bytes of logs are read for titles that the cache does not know.
const READ_BYTES: u64 = 4 << 20;
/// A title is cut to so many columns.
const TITLE_WIDTH: usize = 60;

/// A word that may be meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The whole word.
    pub value: String,
    /// What it is, in one line that is safe to look at.
    pub description: Option<String>,
}

/// The store that a command line is about.
pub struct Candidates {
    env: Env,
    words: Vec<String>,
}

impl Candidates {
    /// The store of a command line that is being typed.
    pub fn of(env: &Env, words: &[String]) -> Candidates {
        Candidates { env: env.clone(), words: words.to_vec() }
    }

    /// The sessions whose ids begin so, newest first, with their titles.
    pub fn sessions(&self, typed: &str) -> Vec<Candidate> {
        let Some((mut context, corpus, catalog)) = self.open() else { return Vec::new() };
        let begins = |record: &&Record| id(record).is_some_and(|id| id.starts_with(typed));
        let records: Vec<&Record> = catalog.records.iter().filter(begins).take(MOST).collect();
        let titles = titles(&mut context, &corpus, &records);
        let candidate = |(record, title): (&&Record, Option<String>)| {
            let cwd = || record.stored.header.cwd.as_ref().map(|cwd| visible_js(cwd));
            let description = title.or_else(cwd).map(|text| cut_to_width(&text, TITLE_WIDTH).into_owned());
            Some(Candidate { value: id(record)?.to_owned(), description })
        };
        records.iter().zip(titles).filter_map(candidate).collect()
    }

    /// The seqs at which turns of the named session begin, with what was asked there, as far as they begin so and
    /// the cache knows them or the log is small.
    pub fn seqs(&self, typed: &str) -> Vec<Candidate> {
        let Some((mut context, corpus, catalog)) = self.open() else { return Vec::new() };
        let Some(record) =
            self.named(&catalog).filter(|record| record.stored.bytes.is_some_and(|bytes| bytes <= READ_BYTES))
        else {
            return Vec::new();
        };
        let Ok(registry) = units::all().only(&["turnOutline"]) else { return Vec::new() };
        let Some(Ok(derived)) = context.derive(&corpus, &[record], &registry).pop() else { return Vec::new() };
        let turns = derived.folded.snapshot().views.into_iter().map(|(_, view)| view).next();
        let Some(Value::Array(turns)) = turns else { return Vec::new() };
        let candidate = |turn: &Value| {
            let seq = match turn.get("seq")? {
                Value::Number(seq) => seq.to_string(),
                _ => return None,
            };
            let description = match turn.get("prompt") {
                Some(Value::String(prompt)) => Some(cut_to_width(&visible_js(prompt), TITLE_WIDTH).into_owned()),
                _ => None,
            };
            seq.starts_with(typed).then_some(Candidate { value: seq, description })
        };
        turns.iter().filter_map(candidate).collect()
    }

    /// The side chats whose ids begin so, the one something was done with last first, with their titles.
    pub fn sidechats(&self, typed: &str) -> Vec<Candidate> {
        let chats = self.known().and_then(|known| known.chats().ok()).unwrap_or_default();
        let mut begun: Vec<(&str, &Chat)> =
            chats.iter().filter_map(|chat| Some((word(&chat.child.id)?, chat))).collect();
        begun.retain(|(id, _)| id.starts_with(typed));
        begun.sort_by_key(|(_, chat)| Reverse(chat.updated_at));
        let candidate = |(id, chat): (&str, &Chat)| Candidate {
            value: id.to_owned(),
            description: Some(cut_to_width(&visible(&chat.title), TITLE_WIDTH).into_owned()),
        };
        begun.into_iter().take(MOST).map(candidate).collect()
    }

    /// The folds in a state whose ids begin so, newest first, with their revisions and the titles of their side chats.
    /// Of committed ones those that were not withdrawn.
    pub fn folds(&self, typed: &str, state: State) -> Vec<Candidate> {
        let Some(ledger) = self.known().and_then(|known| known.ledger) else { return Vec::new() };
        let mut folds = ledger.folds_in(state).unwrap_or_default();
        let is_wanted = |fold: &Fold| fold.state != State::Committed || fold.is_in_force();
        folds.retain(|fold| fold.id.as_str().starts_with(typed) && is_wanted(fold));
        folds.sort_by_key(|fold| Reverse(fold.updated_at));
        let candidate = |fold: &Fold| {
            let title = ledger.chat(&fold.child).ok().flatten().map(|chat| chat.title).unwrap_or_default();
            let description = format!("rev-{} of {}", fold.revision, visible(&title));
            let description = Some(cut_to_width(&description, TITLE_WIDTH).into_owned());
            Candidate { value: fold.id.to_string(), description }
        };
        folds.iter().take(MOST).map(candidate).collect()
    }

    /// The revisions of the named side chat that begin so, newest first, and how far each has come.
    pub fn revisions(&self, typed: &str) -> Vec<Candidate> {
        let Some((known, chat, ..)) = self.named_chat() else { return Vec::new() };
        let folds = known.folds(&chat.child.id).unwrap_or_default();
        let candidate = |fold: &Fold| {
            let value = fold.revision.to_string();
            let standing = fold.standing.map_or(fold.state.name(), |standing| standing.name());
            value.starts_with(typed).then(|| Candidate { value, description: Some(standing.to_owned()) })
        };
        folds.iter().rev().filter_map(candidate).take(MOST).collect()
    }

    /// The messages of the named side chat whose ids begin so, newest first, with their beginnings, if its log is
    /// small.
    pub fn messages(&self, typed: &str) -> Vec<Candidate> {
        let Some((_, chat, corpus, catalog)) = self.named_chat() else { return Vec::new() };
        let child = catalog.select(&Selector::Exactly(chat.child.id)).ok();
        let small = child.filter(|record| record.stored.bytes.is_some_and(|bytes| bytes <= READ_BYTES));
        let Some(reading) = small.and_then(|record| Reading::of(&corpus, record).ok()) else { return Vec::new() };
        let candidate = |said: &Said| {
            let value = word(&said.message_id).filter(|id| id.starts_with(typed))?.to_owned();
            let beginning = visible(said.text.lines().next().unwrap_or_default());
            Some(Candidate { value, description: Some(cut_to_width(&beginning, TITLE_WIDTH).into_owned()) })
        };
        reading.direct().rev().filter_map(candidate).take(MOST).collect()
    }

    /// The parent of the named side chat, if its id begins so.
    pub fn parents(&self, typed: &str) -> Vec<Candidate> {
        let Some((_, chat, ..)) = self.named_chat() else { return self.sessions(typed) };
        let parent = word(&chat.parent.id).filter(|id| id.starts_with(typed));
        parent.map(|id| Candidate { value: id.to_owned(), description: None }).into_iter().collect()
    }

    /// The side chat that is named before the word that is being typed.
    fn named_chat(&self) -> Option<(Known, Chat, Corpus, Catalog)> {
        let (_, corpus, catalog) = self.open()?;
        let known = self.known()?;
        let chat = known.chat(self.named(&catalog)?.id()).ok()??;
        Some((known, chat, corpus, catalog))
    }

    /// What is known of side chats, if it can be read. Of a store alone nothing is.
    fn known(&self) -> Option<Known> {
        let context = self.context()?;
        if context.global.store.is_some() && context.env.dsh_home.is_none() {
            return None;
        }
        Known::in_home(&context.dsh_home().ok()?).ok()
    }

    /// Whether a session is named before the word that is being typed.
    pub fn names_session(&self) -> bool {
        self.open().is_some_and(|(_, _, catalog)| self.named(&catalog).is_some())
    }

    fn named<'c>(&self, catalog: &'c Catalog) -> Option<&'c Record> {
        self.words.iter().rev().skip(1).find_map(|word| {
            let selector = super::select::parse(word).ok()?;
            catalog.select(&selector).ok()
        })
    }

    /// The store, if there is one that can be read.
    fn open(&self) -> Option<(Context, Corpus, Catalog)> {
        let context = self.context()?;
        let corpus = context.corpus().ok()?;
        let catalog = corpus.catalog().ok()?;
        Some((context, corpus, catalog))
    }

    /// What a command with these words would work with, if the configuration can be read.
    fn context(&self) -> Option<Context> {
        let config = config_path(&self.env).map(|path| Config::read(&path)).transpose().ok()?.unwrap_or_default();
        let global = GlobalArgs {
            home: self.value_of("--home").map(PathBuf::from),
            store: self.value_of("--store").map(PathBuf::from),
            no_cache: self.words.iter().any(|word| word == "--no-cache"),
            quiet: true,
            ..GlobalArgs::default()
        };
        let output = Output::new(None, Color::Never, true, &self.env);
        Some(Context { env: self.env.clone(), global, config, output })
    }

    /// The value of an option among the words, whatever command they make.
    fn value_of(&self, option: &str) -> Option<String> {
        let words = &self.words[..self.words.len().saturating_sub(1)];
        let value = |(at, word): (usize, &String)| match word.strip_prefix(option)? {
            "" => words.get(at + 1).cloned(),
            rest => rest.strip_prefix('=').map(str::to_owned),
        };
        words.iter().enumerate().find_map(value)
    }
}

/// The id of a session, if a shell can hand it over.
fn id(record: &Record) -> Option<&str> {
    word(record.id())
}

/// An id that a shell can hand over in one line.
fn word(id: &JsString) -> Option<&str> {
    id.to_str().filter(|id| !id.is_empty() && !id.contains(char::is_control))
}

/// The titles of sessions: those the cache knows, and those of the newest logs that are small enough to read.
fn titles(context: &mut Context, corpus: &Corpus, records: &[&Record]) -> Vec<Option<String>> {
    let registry = listing::registry();
    let keys: Vec<&str> = registry.keys().collect();
    let loaded = context.projections_cache(corpus).and_then(|cache| cache.load(records, &keys).ok());
    let known = |record: &&Record| listing::cached_title(&loaded.as_ref()?.entry(record)?);
    let mut titles: Vec<Option<String>> =
        records.iter().map(|record| known(record).map(|title| visible_js(&title))).collect();
    let mut left = READ_BYTES;
    let mut unknown: Vec<usize> = Vec::new();
    for (at, record) in records.iter().enumerate().filter(|(at, _)| titles[*at].is_none()) {
        if let Some(rest) = record.stored.bytes.and_then(|bytes| left.checked_sub(bytes)) {
            left = rest;
            unknown.push(at);
        }
    }
    let small: Vec<&Record> = unknown.iter().map(|at| records[*at]).collect();
    for (at, derived) in unknown.into_iter().zip(context.derive(corpus, &small, &registry)) {
        let facts = derived.map(|derived| Facts::of(records[at], &derived)).unwrap_or_default();
        titles[at] = facts.overview.title.map(|title| visible_js(&title.text.0));
    }
    titles
}
