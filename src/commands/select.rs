//! Naming sessions on the command line.

use super::Context;
use crate::corpus::{Catalog, Record, Selector};
use crate::error::{Code, Failure};
use crate::model::js_string::JsStr;
use clap::Args;
use std::io::{self, BufRead};

/// One session.
#[derive(Debug, Args)]
pub(super) struct OneSession {
    /// The session
    #[arg(value_name = "SESSION", required_unless_present = "id")]
    selector: Option<String>,
    /// The session, by its id, even if that begins with a dash
    #[arg(long, value_name = "ID", conflicts_with = "selector", allow_hyphen_values = true)]
    id: Option<String>,
}

/// One session, and perhaps one of its events. They are one list of words, because clap tells an optional
/// word from the one behind it only as long as no option stands between.
#[derive(Debug, Args)]
pub(super) struct SessionAndSeq {
    /// The session, unless --id names it, and the sequence number of one of its events
    #[arg(value_names = ["SESSION", "SEQ"], num_args = 1.., required_unless_present = "id")]
    words: Vec<String>,
    /// The session, by its id, even if that begins with a dash
    #[arg(long, value_name = "ID", allow_hyphen_values = true)]
    id: Option<String>,
}

impl SessionAndSeq {
    /// The session as it is named, and the sequence number.
    pub(super) fn split(&self) -> Result<(OneSession, Option<u64>), Failure> {
        let (selector, seq) = match (&self.id, &self.words[..]) {
            (None, [session]) => (Some(session), None),
            (None, [session, seq]) => (Some(session), Some(seq)),
            (Some(_), []) => (None, None),
            (Some(_), [seq]) => (None, Some(seq)),
            _ => return Err(Failure::new(Code::Usage, "one session is wanted, and one sequence number")),
        };
        let number = |seq: &String| {
            seq.parse().map_err(|_| Failure::new(Code::Usage, format!("{seq:?} is no sequence number of an event")))
        };
        Ok((OneSession { selector: selector.cloned(), id: self.id.clone() }, seq.map(number).transpose()?))
    }
}

/// Any number of sessions.
#[derive(Debug, Args)]
pub(super) struct ManySessions {
    /// The sessions
    #[arg(value_name = "SESSION")]
    selectors: Vec<String>,
}

impl OneSession {
    /// The session meant.
    pub(super) fn find<'c>(&self, catalog: &'c Catalog) -> Result<&'c Record, Failure> {
        if let Some(id) = &self.id {
            return catalog.select(&Selector::Id(JsStr::from(&**id).into_owned()));
        }
        let named = read_dash(self.selector.iter().cloned().collect())?;
        let [text] = &named[..] else {
            return Err(Failure::new(Code::Usage, format!("one session is wanted, {} are named", named.len())));
        };
        catalog.select(&parse(text)?)
    }
}

impl ManySessions {
    /// The sessions meant; all of them where none is named.
    pub(super) fn find<'c>(&self, catalog: &'c Catalog) -> Result<Vec<&'c Record>, Failure> {
        if self.selectors.is_empty() {
            return Ok(catalog.records.iter().collect());
        }
        self.named()?.iter().map(|text| catalog.select(&parse(text)?)).collect()
    }

    /// Whether any session is named.
    pub(super) fn is_empty(&self) -> bool {
        self.selectors.is_empty()
    }

    fn named(&self) -> Result<Vec<String>, Failure> {
        read_dash(self.selectors.clone())
    }
}

/// Reads a selector; one that looks like an identifier must be one.
pub(super) fn parse(text: &str) -> Result<Selector, Failure> {
    Selector::parse(&JsStr::from(text)).map_err(|error| Failure::new(Code::InvalidReference, error.to_string()))
}

/// Puts the lines of standard input in the place of `-`.
pub(super) fn read_dash(named: Vec<String>) -> Result<Vec<String>, Failure> {
    let mut all = Vec::new();
    for text in named {
        if text != "-" {
            all.push(text);
            continue;
        }
        for line in io::stdin().lock().lines() {
            let line =
                line.map_err(|error| Failure::new(Code::Io, format!("could not read standard input: {error}")))?;
            if !line.trim().is_empty() {
                all.push(line);
            }
        }
    }
    Ok(all)
}

impl Context {
    /// The corpus and the sessions in it; where there are none, people are told where was looked. Problems of the store are told by commands that are about all of
    /// it; who asks for one session hears of that one's.
    pub(super) fn catalog(&mut self) -> Result<(crate::corpus::Corpus, Catalog), Failure> {
        let corpus = self.corpus()?;
        let catalog = corpus.catalog()?;
        if catalog.records.is_empty() {
            let place = corpus.path().display();
            let is_there = if corpus.path().exists() { "" } else { ", which does not exist" };
            self.output.note(&format!("there are no sessions in {place}{is_there}"));
        }
        Ok((corpus, catalog))
    }
}
