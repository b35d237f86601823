//! `dshkit/sessions.list/1`

use super::problem::ProblemDocument;
use super::session::{LongFacts, SessionDocument};
use crate::corpus::Record;
use crate::error::Failure;
use crate::model::json::parse;
use crate::model::problem::Problem;
use crate::output::json::RawJson;
use crate::output::table::{self, Shrink};
use crate::output::terminal_text::visible_js;
use crate::output::{Document, RecordOut, TextOut};
use crate::projections::listing::Facts;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};
use std::borrow::Cow;
use std::io;

/// A session as it is listed.
pub struct Listed<'r> {
    /// The session.
    pub record: &'r Record,
    /// Whether its working directory is there; `None` if it has none.
    pub cwd_exists: Option<bool>,
    /// What its log tells, if it was asked.
    pub long: Option<Long>,
}

/// What a log tells, and how it is.
pub struct Long {
    /// What it tells, or why it could not be read.
    pub read: Result<Facts, Failure>,
    /// The kind of its gravest problem, or `ok`.
    pub health: &'static str,
}

/// What can be shown of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// Its id.
    SessionId,
    /// When it was created.
    CreatedAt,
    /// The working directory it was created in.
    Cwd,
    /// The session it was forked from, or whose agent started it.
    ParentSession,
    /// `subagent`, if another session's agent started it.
    Origin,
    /// The format generation of its log.
    FormatVersion,
    /// How its log is encoded.
    Encoding,
    /// Where its log lies.
    Path,
    /// The size of its log.
    Bytes,
    /// Whether a dsh holds it open.
    Live,
    /// Its title.
    Title,
    /// How many turns it has.
    Turns,
    /// How many tokens its requests used.
    Tokens,
    /// When the person last wrote.
    LastPromptAt,
    /// When its last event was recorded.
    LastActivityAt,
    /// How its last turn ended.
    EndState,
    /// `ok`, or the kind of its gravest problem.
    Health,
}

impl Field {
    /// Every field.
    pub const ALL: [Field; 17] = [
        Field::SessionId,
        Field::CreatedAt,
        Field::Cwd,
        Field::ParentSession,
        Field::Origin,
        Field::FormatVersion,
        Field::Encoding,
        Field::Path,
        Field::Bytes,
        Field::Live,
        Field::Title,
        Field::Turns,
        Field::Tokens,
        Field::LastPromptAt,
        Field::LastActivityAt,
        Field::EndState,
        Field::Health,
    ];
    /// The columns of a listing.
    pub const SHORT: [Field; 4] = [Field::SessionId, Field::CreatedAt, Field::FormatVersion, Field::Cwd];
    /// Those for people.
    pub const WITH_TITLE: [Field; 5] =
        [Field::SessionId, Field::CreatedAt, Field::FormatVersion, Field::Title, Field::Cwd];
    /// Those of a long listing.
    pub const LONG: [Field; 9] = [
        Field::SessionId,
        Field::CreatedAt,
        Field::FormatVersion,
        Field::Turns,
        Field::Tokens,
        Field::EndState,
        Field::Health,
        Field::Title,
        Field::Cwd,
    ];

    /// The name of the member it is in the document.
    pub fn name(self) -> &'static str {
        self.names().0
    }

    /// Whether the log must be read for it.
    pub fn is_derived(self) -> bool {
        matches!(
            self,
            Field::Title
                | Field::Turns
                | Field::Tokens
                | Field::LastPromptAt
                | Field::LastActivityAt
                | Field::EndState
                | Field::Health
        )
    }

    /// The member's name, the heading of its column, and whether that may be shortened.
    fn names(self) -> (&'static str, &'static str, Shrink) {
        match self {
            Field::SessionId => ("sessionId", "SESSION", Shrink::No),
            Field::CreatedAt => ("createdAt", "CREATED", Shrink::No),
            Field::Cwd => ("cwd", "CWD", Shrink::Yes),
            Field::ParentSession => ("parentSession", "PARENT", Shrink::No),
            Field::Origin => ("origin", "ORIGIN", Shrink::No),
            Field::FormatVersion => ("formatVersion", "V", Shrink::No),
            Field::Encoding => ("encoding", "ENCODING", Shrink::No),
            Field::Path => ("path", "PATH", Shrink::Yes),
            Field::Bytes => ("bytes", "BYTES", Shrink::No),
            Field::Live => ("live", "LIVE", Shrink::No),
            Field::Title => ("title", "TITLE", Shrink::Yes),
            Field::Turns => ("turns", "TURNS", Shrink::No),
            Field::Tokens => ("tokens", "TOKENS", Shrink::No),
            Field::LastPromptAt => ("lastPromptAt", "LAST PROMPT", Shrink::No),
            Field::LastActivityAt => ("lastActivityAt", "LAST ACTIVITY", Shrink::No),
            Field::EndState => ("endState", "END", Shrink::No),
            Field::Health => ("health", "HEALTH", Shrink::No),
        }
    }

    /// What stands in its column.
    fn cell(self, listed: &Listed<'_>, is_long: bool) -> String {
        let stored = &listed.record.stored;
        let header = &stored.header;
        let facts = listed.long.as_ref().and_then(|long| long.read.as_ref().ok());
        let overview = facts.map(|facts| &facts.overview);
        let cell = match self {
            Field::SessionId => Some(visible_js(&header.id)),
            Field::CreatedAt => Some(time(header.created_at as i64)),
            Field::Cwd => header.cwd.as_ref().map(|cwd| {
                let is_gone = is_long && listed.cwd_exists == Some(false);
                format!("{}{}", visible_js(cwd), if is_gone { " (gone)" } else { "" })
            }),
            Field::ParentSession => header.parent_session.as_ref().map(|parent| visible_js(parent)),
            Field::Origin => header.is_subagent.then(|| "subagent".to_owned()),
            Field::FormatVersion => Some(stored.format_version.to_string()),
            Field::Encoding => Some(stored.encoding.name().to_owned()),
            Field::Path => Some(crate::output::terminal_text::visible(&stored.path.to_string_lossy()).into_owned()),
            Field::Bytes => stored.bytes.map(|bytes| bytes.to_string()),
            Field::Live => listed.record.live.map(|live| if live { "yes" } else { "no" }.to_owned()),
            Field::Title => {
                overview.and_then(|overview| overview.title.as_ref()).map(|title| visible_js(&title.text.0))
            }
            Field::Turns => overview.map(|overview| overview.turns.to_string()),
            Field::Tokens => facts.and_then(|facts| facts.tokens).map(|tokens| tokens.to_string()),
            Field::LastPromptAt => overview.and_then(|overview| overview.last_prompt_at).map(time),
            Field::LastActivityAt => facts.map(|facts| time(facts.last_activity_at)),
            Field::EndState => {
                overview.and_then(|overview| overview.end_state.as_ref()).map(|state| visible_js(&state.0))
            }
            Field::Health => listed.long.as_ref().map(|long| long.health.to_owned()),
        };
        cell.unwrap_or_else(|| "-".to_owned())
    }
}

/// The sessions of a store.
#[derive(JsonSchema, Serialize)]
pub struct ListDocument<'r> {
    /// The sessions, in the order asked for.
    sessions: Vec<ListedDocument>,
    /// What is wrong, in no session's own list.
    problems: Vec<ProblemDocument>,
    #[serde(skip)]
    listed: &'r [Listed<'r>],
    #[serde(skip)]
    is_long: bool,
    #[serde(skip)]
    columns: &'r [Field],
}

/// A listed session: all its facts, or the members asked for.
enum ListedDocument {
    All(Box<SessionDocument>),
    Members(RawJson),
}

impl JsonSchema for ListedDocument {
    fn schema_name() -> Cow<'static, str> {
        "ListedDocument".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let all = generator.subschema_for::<SessionDocument>();
        let mut members = SessionDocument::json_schema(generator);
        members.remove("required");
        members.insert("description".to_owned(), "With `--fields` only the members asked for.".into());
        json_schema!({ "anyOf": [all, members] })
    }
}

impl Serialize for ListedDocument {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            ListedDocument::All(session) => session.serialize(serializer),
            ListedDocument::Members(members) => members.serialize(serializer),
        }
    }
}

impl<'r> ListDocument<'r> {
    /// The document of a listing with these columns, and these members only if they are given.
    pub fn new(
        listed: &'r [Listed<'r>],
        problems: &[Problem],
        is_long: bool,
        columns: &'r [Field],
        members: Option<&[Field]>,
    ) -> ListDocument<'r> {
        let session = |listed: &Listed<'_>| {
            let long = listed.long.as_ref().filter(|_| is_long || members.is_some());
            let session = match long {
                None => SessionDocument::of(listed.record),
                Some(long) => SessionDocument::long(listed.record, LongFacts::of(&long.read, long.health)),
            };
            let session = session.cwd_exists(listed.cwd_exists);
            match members {
                None => ListedDocument::All(Box::new(session)),
                Some(members) => ListedDocument::Members(only(&session, members)),
            }
        };
        ListDocument {
            sessions: listed.iter().map(session).collect(),
            problems: problems.iter().map(ProblemDocument::from).collect(),
            listed,
            is_long,
            columns,
        }
    }
}

/// The members asked for, in that order.
fn only(session: &SessionDocument, members: &[Field]) -> RawJson {
    let text = serde_json::to_string(session).expect("a session's facts are JSON");
    let facts = parse(&text).expect("what was written is JSON");
    let member = |field: &Field| {
        let name = field.name();
        format!("\"{name}\":{}", facts.get(name).map_or("null", |value| value.text()))
    };
    RawJson(format!("{{{}}}", members.iter().map(member).collect::<Vec<_>>().join(",")))
}

impl Document for ListDocument<'_> {
    const SCHEMA: &'static str = "dshkit/sessions.list/1";

    fn text(&self, text: &mut TextOut<'_>) -> io::Result<()> {
        if self.listed.is_empty() {
            return Ok(());
        }
        let columns: Vec<(&str, Shrink)> = self
            .columns
            .iter()
            .map(|field| {
                let (_, heading, shrink) = field.names();
                (heading, shrink)
            })
            .collect();
        let row =
            |listed: &Listed<'_>| self.columns.iter().map(|field| field.cell(listed, self.is_long)).collect::<Vec<_>>();
        table::print(text, &columns, &self.listed.iter().map(row).collect::<Vec<_>>())
    }

    fn records(&self, records: &mut RecordOut<'_>) -> io::Result<()> {
        for session in &self.sessions {
            records.write(session)?;
        }
        for problem in &self.problems {
            records.write(&ProblemRecord { problem })?;
        }
        Ok(())
    }
}

/// A problem among records of sessions: `{"problem":{…}}`.
#[derive(JsonSchema, Serialize)]
struct ProblemRecord<'p> {
    /// What is wrong.
    problem: &'p ProblemDocument,
}

/// A time for people: local date and time to the second.
pub(in crate::output) fn time(milliseconds: i64) -> String {
    match jiff::Timestamp::from_millisecond(milliseconds) {
        Ok(time) => time.to_zoned_datetime(jiff::tz::TimeZone::system()).strftime("%Y-%m-%d %H:%M:%S").to_string(),
        Err(_) => milliseconds.to_string(),
    }
}
