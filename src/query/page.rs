//! A search as it is asked for, and its result a page at a time (formats.md §9.5).

use super::cursor::{self, Binding};
use super::filter::SessionFilter;
use super::search::{DEFAULT_LIMIT, MAX_LIMIT, Query};
use crate::corpus::{Corpus, Record};
use crate::error::{Code, Failure};
use crate::model::js_string::JsString;

/// A search for pages of so many items.
pub struct Request {
    /// What is looked for.
    pub query: Query,
    /// In which sessions.
    pub sessions: SessionFilter,
    /// How many items a page has at most.
    pub limit: usize,
}

/// What a search looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope<'s> {
    /// Every session; items are sessions.
    Sessions,
    /// This session; items are events.
    Session(&'s JsString),
}

/// The number of items of a page as it was asked for.
///
/// # Errors
/// It is not from 1 to [`MAX_LIMIT`].
pub fn limit(limit: Option<i64>) -> Result<usize, Failure> {
    let Some(limit) = limit else { return Ok(DEFAULT_LIMIT) };
    let valid = usize::try_from(limit).ok().filter(|limit| (1..=MAX_LIMIT).contains(limit));
    valid.ok_or_else(|| {
        Failure::new(Code::InvalidLimit, format!("the limit must be a whole number from 1 to {MAX_LIMIT}, got {limit}"))
    })
}

impl Request {
    /// What a cursor of this request is bound to: the request itself, and the revisions of the logs it
    /// looks at. Take it before searching, so that a change meanwhile makes the cursor stale.
    pub fn binding(&self, scope: Scope<'_>, corpus: &Corpus, records: &[&Record]) -> Binding {
        let logs = records.iter().map(|record| (record.id(), &record.stored.path));
        let revisions: Vec<_> = logs.zip(corpus.revisions(records)).collect();
        Binding {
            request: cursor::digest(&(
                scope,
                self.query.pattern.normalized(),
                self.sessions.canonical(),
                self.query.events.canonical(),
                self.limit,
                self.query.extra,
            )),
            corpus: cursor::digest(&revisions),
        }
    }

    /// The page of something ranked that begins at an offset, and the cursor of the next.
    pub fn page<T>(&self, mut ranked: Vec<T>, offset: u64, binding: Binding) -> (Vec<T>, Option<String>) {
        let start = usize::try_from(offset).unwrap_or(usize::MAX).min(ranked.len());
        let end = start.saturating_add(self.limit).min(ranked.len());
        let next = (end < ranked.len()).then(|| cursor::encode(binding, end as u64));
        ranked.truncate(end);
        (ranked.split_off(start), next)
    }
}
