//! Flags that say which sessions.

use super::{Context, time_argument};
use crate::error::{Code, Failure};
use crate::model::js_string::{JsStr, JsString};
use crate::query::filter::{Origin, Range, SessionClause, SessionFilter};
use clap::{Args, ValueEnum};
use std::path::Path;

/// Sessions of a place and a span of time.
#[derive(Debug, Args)]
pub(super) struct WithinArgs {
    /// Only sessions of this working directory, which need not exist any more
    #[arg(long, value_name = "DIR")]
    cwd: Option<String>,
    /// Only sessions from then on: a date, a time, 90m, 36h, 2d, or milliseconds
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Only sessions up to then
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
}

impl WithinArgs {
    /// The clause of `--cwd`, if it was given.
    pub(super) fn cwd_clause(&self) -> Option<SessionClause> {
        self.cwd.as_deref().map(|dir| SessionClause::In(spellings(dir)))
    }

    /// The span of time; all of it where nothing else was given.
    pub(super) fn span(&self, context: &Context) -> Result<Range, Failure> {
        Range::between(time(self.since.as_deref(), context)?, time(self.until.as_deref(), context)?)
    }
}

/// Which sessions.
#[derive(Debug, Args)]
pub(super) struct SessionFilterArgs {
    #[command(flatten)]
    within: WithinArgs,
    /// Only children of this session
    #[arg(long, value_name = "ID", allow_hyphen_values = true)]
    parent: Option<String>,
    /// Only sessions an agent started, or a person
    #[arg(long, value_name = "WHO", value_enum)]
    origin: Option<Who>,
}

/// Who started a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Who {
    /// Another session's agent
    Subagent,
    /// A person
    User,
}

impl SessionFilterArgs {
    /// The filter: every flag, and dsh's form of a filter if one is given.
    pub(super) fn resolve(&self, json: Option<&str>, context: &Context) -> Result<SessionFilter, Failure> {
        let mut filter = json.map(SessionFilter::parse).transpose()?.unwrap_or_default();
        filter.0.extend(self.within.cwd_clause());
        filter.0.push(SessionClause::CreatedAt(self.within.span(context)?));
        let parent = self.parent.as_deref().map(|id| Some(JsStr::from(id).into_owned()));
        filter.0.extend(parent.map(|parent| SessionClause::Parent(vec![parent])));
        let origin = self.origin.map(|who| if who == Who::Subagent { Origin::Subagent } else { Origin::User });
        filter.0.extend(origin.map(|origin| SessionClause::Origin(vec![origin])));
        Ok(filter)
    }
}

/// A point in time in milliseconds.
fn time(text: Option<&str>, context: &Context) -> Result<Option<i64>, Failure> {
    let parsed = text.map(|text| time_argument::parse(text, context.env.now)).transpose();
    parsed.map_err(|message| Failure::new(Code::Usage, message))
}

/// A directory as headers may name it: as it was typed, and without symbolic links, because that is how the
/// system names its directory to a dsh.
pub(super) fn spellings(dir: &str) -> Vec<JsString> {
    let typed = absolute(dir);
    let resolved = std::fs::canonicalize(dir).ok().and_then(|path| path.into_os_string().into_string().ok());
    let resolved = resolved.map(JsString::from).filter(|resolved| *resolved != typed);
    std::iter::once(typed).chain(resolved).collect()
}

/// A directory as headers name it. Names of Windows stay as they are, whatever system this is.
fn absolute(dir: &str) -> JsString {
    let is_windows = dir.starts_with("\\\\") || dir.as_bytes().get(1) == Some(&b':');
    if dir.starts_with('/') && (dir == "/" || !dir.ends_with('/')) || is_windows {
        return JsString::from(dir.to_owned());
    }
    let path = std::path::absolute(Path::new(dir)).unwrap_or_else(|_| dir.into());
    let text = path.to_string_lossy();
    let trimmed = text.trim_end_matches('/');
    JsString::from(if trimmed.is_empty() { "/".to_owned() } else { trimmed.to_owned() })
}
