//! Whether ledger, logs and the plugin's file fit together, and having from the logs what the ledger has lost.

use super::chat::{Chat, Origin};
use super::create;
use super::fold::{Fold, Place, State};
use super::known::Known;
pub use super::ledger::Restored;
use super::ledger::{self, Ledger};
use super::marker::Marked;
use super::plugin_domain::{self, DomainProblem, PluginDomain};
use super::relation::{Presence, Sessions};
use super::relink::Relink;
use super::traces::{self, Elsewhere, Traces};
use crate::corpus::Corpus;
use crate::error::{Code, Failure};
use crate::model::js_string::JsString;
use crate::stores::steps::{Steps, Unwatched};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// How grave a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gravity {
    /// Something is to be known.
    Note,
    /// Something is damaged.
    Damage,
    /// Something is of a version that is not known.
    Unsupported,
}

impl Gravity {
    /// The stable name.
    pub fn name(self) -> &'static str {
        match self {
            Gravity::Note => "note",
            Gravity::Damage => "damage",
            Gravity::Unsupported => "unsupported",
        }
    }
}

/// Something that does not fit.
#[derive(Clone, Debug)]
pub struct Finding {
    /// A stable name.
    pub kind: &'static str,
    /// How grave it is.
    pub gravity: Gravity,
    /// The side chat it is about.
    pub child: Option<JsString>,
    /// The place in the plugin's file.
    pub row: Option<DomainProblem>,
    /// One sentence.
    pub message: String,
    /// What can be done.
    pub advice: Option<&'static str>,
}

/// What was found.
#[derive(Debug)]
pub struct Diagnosis {
    /// Where the ledger lies, or would.
    pub ledger: PathBuf,
    /// Whether there is one.
    pub has_ledger: bool,
    /// The plugin's file.
    pub plugin: PluginDomain,
    /// What does not fit.
    pub findings: Vec<Finding>,
}

impl Finding {
    fn new(kind: &'static str, child: &JsString, message: String) -> Finding {
        Finding { kind, gravity: Gravity::Note, child: Some(child.clone()), row: None, message, advice: None }
    }

    fn damage(self) -> Finding {
        Finding { gravity: Gravity::Damage, ..self }
    }

    fn advice(self, advice: &'static str) -> Finding {
        Finding { advice: Some(advice), ..self }
    }
}

/// The side chats of the ledger, and who else their parents were.
fn with_relinks(ledger: &Ledger) -> Result<Vec<(Chat, Vec<Relink>)>, Failure> {
    let relinks = |chat: Chat| Ok((ledger.relinks(&chat.child.id)?, chat));
    ledger.chats()?.into_iter().map(|chat| relinks(chat).map(|(relinks, chat)| (chat, relinks))).collect()
}

/// What puts into the ledger what stands in logs alone.
const RESTORE: &str = "`dshkit sidechat doctor --rebuild` puts it into the ledger";

/// Looks at everything and changes nothing.
///
/// # Errors
/// The store cannot be listed.
pub fn examine(home: &Path, sessions: &Sessions<'_>) -> Result<Diagnosis, Failure> {
    let plugin = plugin_domain::read(home);
    let mut findings: Vec<Finding> = plugin.problems.iter().map(|problem| of_plugin(problem, &plugin.path)).collect();
    let place = ledger::place(home);
    let opened = Ledger::open_existing(home).and_then(|ledger| match ledger {
        Some(ledger) => ledger.check().and_then(|()| Ok((with_relinks(&ledger)?, Some(ledger)))),
        None => Ok((Vec::new(), None)),
    });
    let traces = traces::find(sessions, opened.as_ref().map_or(&[], |(chats, _)| &chats[..]));
    for (session, failure) in &traces.unreadable {
        let message = format!("the log of {session:?} was not looked through: {failure}");
        findings.push(Finding::new("log-unreadable", session, message).advice("`dshkit sessions check` says more"));
    }
    match opened {
        Ok((_, ledger)) => {
            let known = Known { ledger, plugin };
            compare_ledger(&known, sessions, &traces, &mut findings)?;
            Ok(Diagnosis { ledger: place, has_ledger: known.ledger.is_some(), plugin: known.plugin, findings })
        }
        Err(failure) => {
            let (gravity, advice) = match failure.code {
                Code::UnsupportedFormat => (Gravity::Unsupported, "a newer dshkit may know this ledger"),
                _ => (
                    Gravity::Damage,
                    "move the file away, then `dshkit sidechat doctor --rebuild` has from the logs what they tell",
                ),
            };
            findings.push(Finding {
                kind: failure.code.name(),
                gravity,
                child: None,
                row: None,
                message: failure.message,
                advice: Some(advice),
            });
            Ok(Diagnosis { ledger: place, has_ledger: true, plugin, findings })
        }
    }
}

fn of_plugin(problem: &DomainProblem, path: &Path) -> Finding {
    let is_newer = problem.code == Code::VersionMismatch;
    Finding {
        kind: problem.code.name(),
        gravity: if is_newer { Gravity::Unsupported } else { Gravity::Damage },
        child: None,
        message: problem.sentence(path),
        advice: Some(match problem.code {
            Code::InvalidRecord => "the plugin does not start with this row; with dsh stopped, put the field right",
            Code::VersionMismatch => "a newer dshkit may know this version",
            _ => "the plugin does not start with this file",
        }),
        row: Some(problem.clone()),
    }
}

/// Compares what the ledger says with the sessions and with what their logs tell.
fn compare_ledger(
    known: &Known,
    sessions: &Sessions<'_>,
    traces: &Traces,
    findings: &mut Vec<Finding>,
) -> Result<(), Failure> {
    for chat in known.chats()? {
        let child = &chat.child.id;
        for (who, session) in [("parent", &chat.parent), ("side chat's session", &chat.child)] {
            let id = &session.id;
            let (kind, what) = match sessions.presence(session) {
                Presence::Here(_) => continue,
                Presence::Gone if *session == chat.parent => ("orphaned", "is gone"),
                Presence::Gone => ("log-gone", "is gone"),
                Presence::Replaced(now) if now.stored.header.created_at == session.identity.created_at => {
                    ("replaced", "belongs to another working directory now")
                }
                Presence::Replaced(_) => ("replaced", "is another session now"),
                Presence::Unknown(_) => ("unreadable", "cannot be read"),
            };
            let finding = Finding::new(kind, child, format!("the {who} {id:?} {what}"));
            let is_orphan = kind == "orphaned" && chat.origin != Origin::Plugin;
            findings.push(if is_orphan {
                finding.advice("`dshkit sidechat relink` gives it another parent")
            } else {
                finding
            });
        }
    }
    for chat in traces.chats.iter() {
        let child = &chat.child.id;
        let is_known = known.ledger.as_ref().map_or(Ok(None), |ledger| ledger.chat(child))?.is_some();
        if !is_known {
            let message =
                format!("the log of {child:?} is that of a side chat of {:?}, and the ledger has none", chat.parent.id);
            findings.push(Finding::new("chat-unknown", child, message).advice(RESTORE));
        }
        if known.plugin.chats.iter().any(|theirs| theirs.chat.child.id == *child) {
            let message = format!("dsh's plugin remembers {child:?} too, and by its log dshkit made it");
            findings.push(Finding::new("claimed-twice", child, message));
        }
    }
    for Elsewhere { child, marked, holder } in &traces.elsewhere {
        let what = match marked {
            Marked::Fold { revision, .. } => format!("revision {revision}"),
            Marked::Withdrawal { revision, .. } => format!("a withdrawal of revision {revision}"),
            Marked::Cite { id, .. } => format!("the cite {id}"),
        };
        let message = format!("{what} of {child:?} stands in the log of {holder:?}, which is not its parent's");
        findings.push(Finding::new("elsewhere", child, message).advice(
            "it tells nothing; if that session was made its parent, `dshkit sidechat relink` has to be said again",
        ));
    }
    let Some(ledger) = &known.ledger else { return Ok(()) };
    of_origins(ledger, sessions, traces, findings)?;
    for chat in ledger.unpublished()? {
        let message = format!("the making of {:?} was broken off", chat.child.id);
        findings.push(Finding::new("unfinished", &chat.child.id, message).advice(DELIVER));
    }
    for fold in &traces.folds {
        if ledger.chat(&fold.child)?.is_some() && ledger.fold(&fold.id)?.is_none() {
            let message = format!("revision {} stands in a log and not in the ledger: {}", fold.revision, fold.id);
            findings.push(Finding::new("fold-unknown", &fold.child, message).advice(RESTORE));
        }
    }
    for cite in &traces.cites {
        if ledger.chat(&cite.child)?.is_some() && ledger.cite(&cite.id)?.is_none() {
            let message = format!("the cite {} stands in a log and not in the ledger", cite.id);
            findings.push(Finding::new("cite-unknown", &cite.child, message).advice(RESTORE));
        }
    }
    for withdrawal in &traces.withdrawals {
        if ledger.fold(&withdrawal.fold)?.is_some() && ledger.withdrawal(&withdrawal.fold)?.is_none() {
            let message =
                format!("that revision {} was withdrawn stands in a log and not in the ledger", withdrawal.revision);
            findings.push(Finding::new("withdrawal-unknown", &withdrawal.child, message).advice(RESTORE));
        }
    }
    for chat in ledger.chats()? {
        of_deliveries(ledger, &chat.child.id, sessions, traces, findings)?;
    }
    Ok(())
}

/// Whether the ledger's side chats are such, and whose they are, by their own logs.
fn of_origins(
    ledger: &Ledger,
    sessions: &Sessions<'_>,
    traces: &Traces,
    findings: &mut Vec<Finding>,
) -> Result<(), Failure> {
    let parents: HashMap<JsString, JsString> =
        ledger.chats()?.into_iter().map(|chat| (chat.child.id, chat.parent.id)).collect();
    for (chat, relinks) in with_relinks(ledger)? {
        let child = &chat.child.id;
        if is_its_own_ancestor(child, &parents) {
            let message = format!("the side chat {child:?} is its own parent, or that of its parent, and so on");
            findings.push(Finding::new("circle", child, message).damage());
        }
        let is_read = matches!(sessions.presence(&chat.child), Presence::Here(_))
            && !traces.unreadable.iter().any(|(unreadable, _)| unreadable == child);
        let by_log = traces.chats.iter().find(|traced| traced.child == chat.child);
        let first = relinks.first().map_or(&chat.parent, |relink| &relink.from);
        match by_log {
            None if is_read => {
                let message = format!("the log of {child:?} does not say that it is a side chat");
                findings.push(Finding::new("no-sidechat", child, message).damage());
            }
            Some(traced) if traced.parent != *first => {
                let message = format!(
                    "by its log {child:?} was made for {:?}, by the ledger for {:?}",
                    traced.parent.id, first.id
                );
                findings.push(Finding::new("parent-differs", child, message).damage());
            }
            _ => {}
        }
    }
    Ok(())
}

fn is_its_own_ancestor(child: &JsString, parents: &HashMap<JsString, JsString>) -> bool {
    let ancestors = std::iter::successors(parents.get(child), |above| parents.get(*above));
    ancestors.take(parents.len()).any(|ancestor| ancestor == child)
}

/// What finishes what was broken off.
const DELIVER: &str = "`dshkit sidechat deliver` finishes it";

/// Whether what the ledger says of messages is so.
fn of_deliveries(
    ledger: &Ledger,
    child: &JsString,
    sessions: &Sessions<'_>,
    traces: &Traces,
    findings: &mut Vec<Finding>,
) -> Result<(), Failure> {
    let mut differing = Vec::new();
    // A log that is not there, or cannot be read, says nothing about what it holds.
    let is_readable = |id: &JsString| {
        sessions.catalog.records.iter().any(|record| record.id() == id)
            && !traces.unreadable.iter().any(|(unreadable, _)| unreadable == id)
    };
    let mut told = |name: String, state: State, place: Option<&JsString>, is_found: bool| match state {
        State::Pending => findings.push(Finding::new("pending", child, format!("{name} is pending")).advice(DELIVER)),
        State::Generating => {
            findings.push(
                Finding::new("generating", child, format!("a model may still be writing {name}")).advice(DELIVER),
            );
        }
        State::Committed if !is_found && place.is_some_and(is_readable) => {
            let message = format!("{name} is committed, and its message is not in the log it should be in");
            findings.push(Finding::new("message-missing", child, message).damage());
        }
        State::Committed | State::Prepared | State::Failed => {}
    };
    for fold in ledger.folds(child)? {
        let found = traces.folds.iter().find(|found| found.id == fold.id);
        told(format!("revision {}", fold.revision), fold.state, fold.delivered_to.as_ref(), found.is_some());
        if let Some(withdrawal) = ledger.withdrawal(&fold.id)? {
            let is_found = traces.withdrawals.iter().any(|found| found.fold == fold.id);
            let name = format!("the withdrawal of revision {}", fold.revision);
            told(name, withdrawal.state, fold.delivered_to.as_ref(), is_found);
        }
        differing.extend(found.and_then(|found| difference(&fold, found)));
    }
    for cite in ledger.cites(child)? {
        let is_found = traces.cites.iter().any(|found| found.id == cite.id);
        told(format!("the cite {}", cite.id), cite.state, cite.target.as_ref().map(|target| &target.id), is_found);
    }
    findings.extend(differing);
    Ok(())
}

/// What the ledger says otherwise of a committed fold than the log it stands in. Seqs of different generations
/// are not compared.
fn difference(fold: &Fold, found: &Fold) -> Option<Finding> {
    if fold.state != State::Committed {
        return None;
    }
    let same_generation = |place: &Place| found.delivered.filter(|logged| logged.format == place.format);
    let seqs = fold.delivered.and_then(|place| Some((place.seq, same_generation(&place)?.seq)));
    let revision = fold.revision;
    let message = match seqs {
        _ if fold.committed_text != found.committed_text => format!("the text of revision {revision} is another"),
        _ if found.revision != revision => format!("revision {revision} is revision {}", found.revision),
        Some((here, there)) if here != there => format!("revision {revision} stands at seq {there}, not {here},"),
        _ => return None,
    };
    let message = format!("{message} in the log than in the ledger");
    Some(Finding::new("fold-differs", &fold.child, message).damage())
}

/// Puts into the ledger what the logs tell and it does not know: side chats, committed folds, cites, withdrawals.
/// What it knows stays as it is; where there is nothing to put down, nothing is made.
///
/// # Errors
/// The store cannot be listed, or the ledger not be written.
pub fn rebuild(home: &Path, corpus: &Corpus, steps: &mut dyn Steps) -> Result<Restored, Failure> {
    let traces = lost(home, corpus)?;
    let Some(traces) = traces else { return Ok(Restored::default()) };
    let mut ledger = Ledger::open_for_writing(home, steps)?;
    create::recover(&mut ledger, corpus, steps)?;
    ledger.restore(&traces, steps)
}

/// Says what [`rebuild`] would put down, and changes nothing: it is done to a copy of the ledger.
///
/// # Errors
/// As [`rebuild`], or the copy cannot be made.
pub fn examine_rebuild(home: &Path, corpus: &Corpus) -> Result<Restored, Failure> {
    let Some(traces) = lost(home, corpus)? else { return Ok(Restored::default()) };
    let copy = Ledger::copy_home(home)?;
    Ledger::open_for_writing(copy.path(), &mut Unwatched)?.restore(&traces, &mut Unwatched)
}

/// What the logs tell, if there is anything that the ledger could hold of it.
fn lost(home: &Path, corpus: &Corpus) -> Result<Option<Traces>, Failure> {
    let ledger = Ledger::open_existing(home)?;
    let known = ledger.as_ref().map_or(Ok(Vec::new()), with_relinks)?;
    let traces = traces::find(&Sessions { corpus, catalog: &corpus.catalog()? }, &known);
    Ok((ledger.is_some() || !traces.chats.is_empty()).then_some(traces))
}
