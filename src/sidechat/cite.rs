//! Quoting a reply or a fold of a side chat in its parent (seed §6.9), or in another session (seed §7.5).

use super::chat::{Chat, SessionRef};
use super::citation::{Cite, Source};
use super::delivery::{Delivered, Door, Terms, cite_notice, deliver_cite};
use super::estimate::{self, compatible_tokens};
use super::fold::{Place, State};
use super::id::Id;
use super::known::Known;
use super::ledger::Ledger;
use super::listing::{Seen, seen};
use super::marker::Notice;
use super::reading::{Reading, Said, Speaker};
use super::relation::{Sessions, chat_of, cite_target, require_not_abandoned, require_parent};
use crate::corpus::{Corpus, Record};
use crate::error::{Code, Failure};
use crate::model::js_string::JsString;
use crate::stores::steps::Steps;
use std::path::Path;

/// What is to be quoted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// A reply, or the part of it between two UTF-16 offsets.
    Message {
        /// Its id.
        id: JsString,
        /// The part.
        range: Option<(u64, u64)>,
    },
    /// The committed fold of this revision.
    Fold(u64),
}

/// What is wanted.
#[derive(Clone, Debug)]
pub struct Wanted<'w> {
    /// The side chat.
    pub child: &'w JsString,
    /// What of it.
    pub subject: &'w Subject,
    /// The session that must be the parent.
    pub caller: Option<&'w Record>,
    /// The session it is quoted in, if not in the parent.
    pub into: Option<&'w Record>,
    /// Whether the user wants it quoted in a session that is not the parent.
    pub is_cross_parent: bool,
}

/// A cite, its side chat, and what became of its message.
#[derive(Clone, Debug)]
pub struct Cited {
    /// The side chat.
    pub chat: Chat,
    /// The cite.
    pub cite: Cite,
    /// Its message.
    pub notice: Notice,
    /// What became of it; of a trial what would, `None` for an append.
    pub delivered: Option<Delivered>,
}

/// Quotes something. An id that was used before for the same gives what became of it.
///
/// # Errors
/// It is refused, and nothing was changed; or it was decided on and could not be written.
pub fn cite(
    home: &Path,
    corpus: &Corpus,
    id: &Id,
    wanted: &Wanted<'_>,
    terms: &Terms,
    steps: &mut dyn Steps,
) -> Result<Cited, Failure> {
    let mut ledger = Ledger::open_for_writing(home, steps)?;
    let catalog = corpus.catalog()?;
    let sessions = Sessions { corpus, catalog: &catalog };
    let trial = examine(&ledger, &sessions, id, wanted, terms)?;
    if trial.cite.state == State::Committed {
        return Ok(trial);
    }
    if ledger.cite(id)?.is_none() {
        ledger.decide_cite(&trial.cite, steps)?;
    }
    let delivered = deliver_cite(&mut ledger, &sessions, &trial.cite, terms, steps)?;
    let cite = ledger.cite(id)?.unwrap_or(trial.cite);
    Ok(Cited { delivered: Some(delivered), cite, ..trial })
}

/// Says what [`cite`] would do, and changes nothing.
///
/// # Errors
/// It would be refused.
pub fn examine(
    ledger: &Ledger,
    sessions: &Sessions<'_>,
    id: &Id,
    wanted: &Wanted<'_>,
    terms: &Terms,
) -> Result<Cited, Failure> {
    let cited = quoted(ledger, sessions, id, wanted, terms.now)?;
    if cited.cite.state == State::Committed {
        return Ok(cited);
    }
    let target = cite_target(sessions, &cited.chat, &cited.cite)?;
    let delivered = Door::to(sessions.corpus, ledger, target, terms)?.check(&cited.notice)?;
    Ok(Cited { delivered, ..cited })
}

/// The cite and its message as they would be, whether the message can be brought to the parent or not.
///
/// # Errors
/// It would be refused for what it is.
pub fn quoted(
    ledger: &Ledger,
    sessions: &Sessions<'_>,
    id: &Id,
    wanted: &Wanted<'_>,
    now: i64,
) -> Result<Cited, Failure> {
    let chat = chat_of(ledger, wanted.child)?;
    let target = target(&chat, wanted)?;
    let is_cross_parent = target != chat.parent;
    if ledger.fold(id)?.is_some() {
        return Err(Failure::new(Code::IdCollision, format!("{id} is a fold")));
    }
    let old = ledger.cite(id)?;
    if let Some(cite) = &old {
        require_same(cite, wanted, &target)?;
        if cite.state == State::Committed {
            let (notice, delivered) = (cite_notice(&chat, cite), cite.delivered.map(Delivered::At));
            return Ok(Cited { chat, cite: cite.clone(), notice, delivered });
        }
    }
    let (_, child) = sessions.pair(&chat)?;
    let cite = match old {
        Some(cite) => cite,
        None => {
            require_not_abandoned(&chat)?;
            if is_cross_parent {
                sessions.outside_target(&chat, &target)?;
            }
            let (source, text, source_time) = match wanted.subject {
                Subject::Message { id, range } => {
                    let reading = Reading::of(sessions.corpus, child)?;
                    quoted_message(&reading, id, *range)?
                }
                Subject::Fold(revision) => quoted_fold(ledger, &chat, *revision)?,
            };
            Cite {
                id: id.clone(),
                child: chat.child.id.clone(),
                target: Some(target),
                is_cross_parent,
                source,
                text,
                source_time: Some(source_time),
                state: State::Pending,
                delivered: None,
                reason: None,
                created_at: now,
                updated_at: now,
                committed_at: None,
            }
        }
    };
    let notice = cite_notice(&chat, &cite);
    Ok(Cited { chat, cite, notice, delivered: None })
}

/// The session it is to be quoted in.
fn target(chat: &Chat, wanted: &Wanted<'_>) -> Result<SessionRef, Failure> {
    match wanted.into.or(wanted.caller.filter(|_| wanted.is_cross_parent)) {
        Some(into) => {
            let target = SessionRef::of(&into.stored.header);
            if target == chat.parent || wanted.is_cross_parent {
                return Ok(target);
            }
            let message = format!("{:?} is not the parent of the side chat {:?}", target.id, chat.child.id);
            Err(Failure::new(Code::Disabled, message).hint("--cross-parent quotes it there all the same"))
        }
        None if wanted.is_cross_parent => {
            Err(Failure::new(Code::Usage, "--cross-parent needs a session to quote in")
                .hint("name it with --into SESSION"))
        }
        None => require_parent(chat, wanted.caller).map(|()| chat.parent.clone()),
    }
}

/// A cite, and how the session it is in is now.
#[derive(Clone, Debug)]
pub struct Citation {
    /// The cite.
    pub cite: Cite,
    /// How the session it is in is; `None` if it is not known which one it is.
    pub target: Option<Seen>,
}

/// Who quotes a side chat. Cites are frozen, so they are there whatever became of the sessions.
///
/// # Errors
/// There is no such side chat, or the ledger cannot be read.
pub fn citations(known: &Known, sessions: &Sessions<'_>, child: &JsString) -> Result<(Chat, Vec<Citation>), Failure> {
    let chat = known.required(child)?;
    let citation =
        |cite: Cite| Citation { target: cite.target.as_ref().map(|target| seen(&sessions.presence(target))), cite };
    Ok((chat, known.cites(child)?.into_iter().map(citation).collect()))
}

fn require_same(cite: &Cite, wanted: &Wanted<'_>, target: &SessionRef) -> Result<(), Failure> {
    let is_same = cite.child == *wanted.child
        && cite.target.as_ref() == Some(target)
        && match (&cite.source, wanted.subject) {
            (Source::Message { message_id, range, .. }, Subject::Message { id, range: wanted }) => {
                message_id == id && range == wanted
            }
            (Source::Fold { revision, .. }, Subject::Fold(wanted)) => revision == wanted,
            _ => false,
        };
    if is_same { Ok(()) } else { Err(Failure::new(Code::IdCollision, format!("{} quotes something else", cite.id))) }
}

fn quoted_message(
    reading: &Reading,
    id: &JsString,
    range: Option<(u64, u64)>,
) -> Result<(Source, String, i64), Failure> {
    let said = reading.find(id).filter(|said| matches!(said.speaker, Speaker::Model { .. }));
    let said = said.ok_or_else(|| {
        Failure::new(Code::MessageNotFound, format!("the side chat has no reply {id:?} with text"))
            .hint("only what its model said can be quoted; `dshkit sidechat show SESSION` lists it")
    })?;
    let text = match range {
        None => said.text.clone(),
        Some((start, end)) => part(said, start, end)?,
    };
    require_fits(&text, "take a part with --range START-END, or fold the side chat")?;
    let place = Some(Place { seq: said.seq, format: reading.format });
    Ok((Source::Message { message_id: id.clone(), place, range }, text, said.time))
}

/// The part of what was said between two UTF-16 offsets.
pub(super) fn part(said: &Said, start: u64, end: u64) -> Result<String, Failure> {
    let units: Vec<u16> = said.text.encode_utf16().collect();
    let wrong = |why: &str| Err(Failure::new(Code::BadRequest, format!("the range {start}-{end} {why}")));
    let length = units.len() as u64;
    if start >= end || end > length {
        return wrong(&format!("is none of a text of {length} UTF-16 units"));
    }
    match String::from_utf16(&units[start as usize..end as usize]) {
        Ok(text) if text.trim().is_empty() => wrong("holds nothing but white space"),
        Ok(text) => Ok(text),
        Err(_) => wrong("begins or ends in the middle of a character"),
    }
}

fn quoted_fold(ledger: &Ledger, chat: &Chat, revision: u64) -> Result<(Source, String, i64), Failure> {
    let folds = ledger.folds(&chat.child.id)?;
    let committed = folds.into_iter().find(|fold| fold.revision == revision && fold.state == State::Committed);
    let fold = committed.ok_or_else(|| {
        Failure::new(Code::FoldNotFound, format!("the side chat has no committed revision {revision}"))
            .hint("`dshkit sidechat show SESSION` lists its folds")
    })?;
    if !fold.is_in_force() {
        return Err(Failure::new(Code::StatusInvalid, format!("revision {revision} was withdrawn"))
            .hint("`dshkit sidechat show SESSION` tells which one is current"));
    }
    let text = fold.committed_text.clone().unwrap_or_default();
    require_fits(&text, "fold the side chat again, shorter")?;
    Ok((Source::Fold { fold_id: fold.id, revision }, text, fold.committed_at.unwrap_or(fold.updated_at)))
}

fn require_fits(text: &str, advice: &str) -> Result<(), Failure> {
    let tokens = compatible_tokens(text);
    if tokens <= estimate::BUDGET {
        return Ok(());
    }
    let message = format!("the quotation is about {tokens} tokens long, at most {} are allowed", estimate::BUDGET);
    Err(Failure::new(Code::CiteTooLarge, message).hint(advice))
}
