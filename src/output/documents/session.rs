//! A session's facts, as they stand in every document that names one.

use super::error::ErrorFacts;
use crate::corpus::Record;
use crate::error::Failure;
use crate::model::header::Seed;
use crate::output::json::Js;
use crate::projections::listing::Facts;
use serde::Serialize;

/// A session: its header, where it lies, and with `--long` what its log tells.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionDocument {
    session_id: Js,
    cwd: Option<Js>,
    created_at: u64,
    parent_session: Option<Js>,
    origin: Option<&'static str>,
    delegation_depth: Option<u64>,
    agent_preset: Option<Js>,
    is_seeded: bool,
    seed_length: Option<u64>,
    format_version: u64,
    generations: Vec<u64>,
    encoding: &'static str,
    path: String,
    bytes: Option<u64>,
    live: Option<bool>,
    persisted: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    cwd_exists: Option<bool>,
    #[serde(flatten)]
    long: Option<LongFacts>,
}

/// What `--long` adds.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LongFacts {
    title: Option<Js>,
    title_source: Option<Js>,
    turns: Option<u64>,
    tokens: Option<u64>,
    last_prompt_at: Option<i64>,
    last_activity_at: Option<i64>,
    end_state: Option<Js>,
    health: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ErrorFacts>,
}

impl LongFacts {
    /// What a log tells, or why it could not be read, and how it is.
    pub fn of(read: &Result<Facts, Failure>, health: &'static str) -> LongFacts {
        let facts = read.as_ref().ok();
        let overview = facts.map(|facts| &facts.overview);
        let title = overview.and_then(|overview| overview.title.as_ref());
        LongFacts {
            title: title.map(|title| Js::from(&title.text.0)),
            title_source: title.map(|title| Js::from(&title.source.0)),
            turns: overview.map(|overview| overview.turns),
            tokens: facts.and_then(|facts| facts.tokens),
            last_prompt_at: overview.and_then(|overview| overview.last_prompt_at),
            last_activity_at: facts.map(|facts| facts.last_activity_at),
            end_state: overview.and_then(|overview| overview.end_state.as_ref()).map(|state| Js::from(&state.0)),
            health,
            error: read.as_ref().err().map(ErrorFacts::of),
        }
    }
}

impl SessionDocument {
    /// The facts of a record.
    pub fn of(record: &Record) -> SessionDocument {
        let stored = &record.stored;
        let header = &stored.header;
        SessionDocument {
            session_id: Js::from(&header.id),
            cwd: header.cwd.as_ref().map(Js::from),
            created_at: header.created_at,
            parent_session: header.parent_session.as_ref().map(Js::from),
            origin: header.is_subagent.then_some("subagent"),
            delegation_depth: header.delegation_depth,
            agent_preset: header.agent_preset.as_ref().map(Js::from),
            is_seeded: header.seed != Seed::None,
            seed_length: match header.seed {
                Seed::Length(length) => Some(length),
                Seed::None | Seed::Marked => None,
            },
            format_version: stored.format_version,
            generations: stored.generations.clone(),
            encoding: stored.encoding.name(),
            path: stored.path.display().to_string(),
            bytes: stored.bytes,
            live: record.live,
            persisted: true,
            cwd_exists: None,
            long: None,
        }
    }

    /// The same, with whether the working directory is there, where somebody looked.
    pub fn cwd_exists(self, cwd_exists: Option<bool>) -> SessionDocument {
        SessionDocument { cwd_exists, ..self }
    }

    /// The facts of a record with what its log tells.
    pub fn long(record: &Record, long: LongFacts) -> SessionDocument {
        SessionDocument { long: Some(long), ..SessionDocument::of(record) }
    }
}
