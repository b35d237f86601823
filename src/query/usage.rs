//! The token usage of many sessions, put together by session, turn, model, day, or working directory.

use crate::corpus::{Corpus, Record, in_order};
use crate::generations::{Item, Mode};
use crate::model::js_string::JsString;
use crate::model::problem::Problem;
use crate::projections::token_usage::{Inherited, Part, Route, Spent, TokenUsageFold, Tokens};
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use std::collections::BTreeMap;

/// What a row stands for.
#[derive(Clone, Debug)]
pub enum By {
    /// A session.
    Session,
    /// A turn of a session.
    Turn,
    /// A model of a provider.
    Model,
    /// A day in this time zone; a step belongs to the day of its last report.
    Day(TimeZone),
    /// The working directory a session was created in.
    Cwd,
}

/// What is asked for.
#[derive(Clone, Debug)]
pub struct UsageQuery {
    /// What a row stands for.
    pub by: By,
    /// Whether what forks copied from their parents counts.
    pub inherited: Inherited,
    /// How strictly logs are read.
    pub mode: Mode,
}

/// What one row stands for, in the order of the rows: sessions as they were given, everything else rising,
/// what is not known last.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key {
    /// The session at this place among those given.
    Session(usize),
    /// A turn of the session at this place.
    Turn(usize, u64),
    /// A model.
    Model(Route),
    /// A day.
    Day(Date),
    /// A working directory.
    Cwd(JsString),
    /// Of the session at this place, the turns that have no number.
    NoTurn(usize),
    /// The log does not say.
    Unknown,
}

/// A row: sums over what belongs to its key.
#[derive(Clone, Debug)]
pub struct Row {
    /// How many sessions have a part in it.
    pub sessions: u64,
    /// How many turns; a turn with steps in several rows counts in each.
    pub turns: u64,
    /// How many steps that reported their usage.
    pub steps: u64,
    /// The tokens.
    pub tokens: Tokens,
    /// Those of each model that was asked, and of those that are not known.
    pub models: BTreeMap<Option<Route>, Tokens>,
    /// Whether every step reported its usage, no number was out of the question, and no turn is open.
    pub is_complete: bool,
    /// The turn counted last, within one session.
    newest_turn: Option<Option<u64>>,
}

/// The usage of sessions.
#[derive(Debug, Default)]
pub struct Usage {
    /// The rows.
    pub rows: BTreeMap<Key, Row>,
    /// Everything together.
    pub total: Row,
    /// What could not be read or counted.
    pub problems: Vec<Problem>,
}

impl Default for Row {
    fn default() -> Row {
        Row {
            sessions: 0,
            turns: 0,
            steps: 0,
            tokens: Tokens::default(),
            models: BTreeMap::new(),
            is_complete: true,
            newest_turn: None,
        }
    }
}

impl Row {
    fn count(&mut self, part: &Part<'_>) {
        if self.newest_turn != Some(part.turn) {
            self.newest_turn = Some(part.turn);
            self.turns += 1;
        }
        if let Some(tokens) = &part.tokens {
            self.steps += 1;
            self.tokens.add(tokens);
            self.models.entry(part.route.cloned()).or_default().add(tokens);
        }
        self.is_complete &= part.is_complete;
    }

    fn merge(&mut self, other: &Row) {
        self.sessions += other.sessions;
        self.turns += other.turns;
        self.steps += other.steps;
        self.tokens.add(&other.tokens);
        for (route, tokens) in &other.models {
            self.models.entry(route.clone()).or_default().add(tokens);
        }
        self.is_complete &= other.is_complete;
    }
}

impl UsageQuery {
    /// Reads sessions, on as many threads as there are processors, and sums up what they used. One that
    /// cannot be read is a problem and hides no other.
    pub fn run(&self, corpus: &Corpus, records: &[&Record]) -> Usage {
        let places: Vec<(usize, &Record)> = records.iter().copied().enumerate().collect();
        let mut usage = Usage::default();
        for session in in_order(&places, |(place, record)| self.of_session(corpus, *place, record)) {
            usage.merge(session);
        }
        usage
    }

    fn of_session(&self, corpus: &Corpus, index: usize, record: &Record) -> Usage {
        let mut usage = Usage::default();
        let mut troubles = Vec::new();
        let mut fold = TokenUsageFold::new(&record.stored.header, self.inherited);
        let read = corpus.read_items(record, self.mode, &mut |item| match item {
            Item::Event(event, _) => {
                fold.apply(event, &mut |spent| usage.take(&spent, |part| self.key(index, record, part)))
            }
            Item::Trouble(fault) => troubles.push(record.problem(fault.clone())),
        });
        let summary = match read {
            Ok(summary) => summary,
            Err(failure) => return Usage { problems: vec![record.problem_of(failure)], ..Usage::default() },
        };
        let bad = fold.finish(&mut |spent| usage.take(&spent, |part| self.key(index, record, part)));
        // A session has a row even if nothing was asked in it.
        let own_row = match &self.by {
            By::Session => Some(Key::Session(index)),
            By::Cwd => Some(cwd_of(record)),
            By::Turn | By::Model | By::Day(_) => None,
        };
        if let Some(key) = own_row {
            usage.rows.entry(key).or_default();
        }
        for row in usage.rows.values_mut().chain([&mut usage.total]) {
            row.sessions = 1;
        }
        usage.problems = troubles;
        usage.problems.extend(summary.warnings);
        usage.problems.extend(bad.map(|fault| record.problem(fault)));
        usage
    }

    fn key(&self, index: usize, record: &Record, part: &Part<'_>) -> Option<Key> {
        match &self.by {
            By::Session => Some(Key::Session(index)),
            By::Turn => Some(part.turn.map_or(Key::NoTurn(index), |turn| Key::Turn(index, turn))),
            // A turn without a step asked no model.
            By::Model if !part.is_step => None,
            By::Model => Some(part.route.cloned().map_or(Key::Unknown, Key::Model)),
            By::Day(zone) => Some(
                Timestamp::from_millisecond(part.time)
                    .map_or(Key::Unknown, |time| Key::Day(time.to_zoned_datetime(zone.clone()).date())),
            ),
            By::Cwd => Some(cwd_of(record)),
        }
    }
}

impl Usage {
    fn take(&mut self, spent: &Spent<'_>, key: impl Fn(&Part<'_>) -> Option<Key>) {
        match spent {
            Spent::WasInherited => *self = Usage::default(),
            Spent::Part(part) => {
                self.total.count(part);
                if let Some(key) = key(part) {
                    self.rows.entry(key).or_default().count(part);
                }
            }
        }
    }

    fn merge(&mut self, other: Usage) {
        for (key, row) in other.rows {
            self.rows.entry(key).or_default().merge(&row);
        }
        self.total.merge(&other.total);
        self.problems.extend(other.problems);
    }
}

fn cwd_of(record: &Record) -> Key {
    record.stored.header.cwd.clone().map_or(Key::Unknown, Key::Cwd)
}
