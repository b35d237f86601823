//! A session's facts, as they stand in every document that names one.

use super::error::ErrorFacts;
use crate::corpus::Record;
use crate::error::Failure;
use crate::model::header::Seed;
use crate::output::json::Js;
use crate::projections::listing::Facts;
use schemars::JsonSchema;
use serde::Serialize;

/// A session: its header, where it lies, and with `--long` what its log tells.
#[derive(Debug, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionDocument {
    /// The session's id.
    session_id: Js,
    /// The working directory; `null` if none is known.
    cwd: Option<Js>,
    /// When it was created, in milliseconds since the epoch.
    created_at: u64,
    /// The session it was forked from, or whose agent started it.
    parent_session: Option<Js>,
    /// `subagent`, if another session's agent started it.
    origin: Option<&'static str>,
    /// How deep it is below the person's session.
    delegation_depth: Option<u64>,
    /// The preset of its agent.
    agent_preset: Option<Js>,
    /// Whether it begins with events of its parent.
    is_seeded: bool,
    /// With how many, where the header says.
    seed_length: Option<u64>,
    /// The format generation of the log that counts.
    format_version: u64,
    /// Every generation that lies there.
    generations: Vec<u64>,
    /// `plain`, `zstd` or `sqlite`.
    encoding: &'static str,
    /// The log file, or the database.
    path: String,
    /// The size of the log file; `null` in a database.
    bytes: Option<u64>,
    /// Whether a dsh holds it open; `null` if there is no telling.
    live: Option<bool>,
    /// Always true.
    persisted: bool,
    /// Whether the working directory is there, where somebody looked.
    #[serde(skip_serializing_if = "Option::is_none")]
    cwd_exists: Option<bool>,
    /// With `--long`.
    #[serde(flatten)]
    long: Option<LongFacts>,
}

/// What `--long` adds.
#[derive(Debug, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LongFacts {
    /// The newest title.
    title: Option<Js>,
    /// Who made it.
    title_source: Option<Js>,
    /// How many turns have started.
    turns: Option<u64>,
    /// How many tokens its requests used.
    tokens: Option<u64>,
    /// When the person last wrote.
    last_prompt_at: Option<i64>,
    /// When its last event was recorded.
    last_activity_at: Option<i64>,
    /// How the last turn ended, in the log's own word; `open` if it has not.
    end_state: Option<Js>,
    /// `ok`, or the kind of its gravest problem.
    health: &'static str,
    /// Why it could not be read.
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
