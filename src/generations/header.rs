//! The header line of a log.

use super::Generation;
use crate::model::header::{Header, Seed};
use crate::model::js_string::{JsStr, JsString};
use crate::model::json::{View, parse};
use crate::model::problem::{Fault, ProblemKind};

/// A header line that names its session.
#[derive(Clone, Debug)]
pub struct HeaderLine {
    /// Its facts.
    pub header: Header,
    /// Why the log does not load although its dsh lists it, if so.
    pub load_fault: Option<Fault>,
}

/// A first line that is no header of the expected generation, with what could be read of it all the same.
#[derive(Clone, Debug)]
pub struct HeaderError {
    /// What is wrong.
    pub fault: Fault,
    /// The facts, if the line names a session and says when it was created.
    pub facts: Option<Header>,
}

/// Reads the first line of a log, without its line feed, by the rules of the generation its file name
/// states (formats.md §2.1). The version is looked at before the shape, so that a log of another
/// generation is called that and not damaged.
///
/// # Errors
/// The line is no such header.
pub fn read_header(generation: Generation, text: &str) -> Result<HeaderLine, Box<HeaderError>> {
    let bad = |message: &str| Fault::new(ProblemKind::BadHeader, message).at_line(1);
    let view = match parse(text) {
        Ok(view) => view,
        Err(error) => {
            let fault = bad(&format!("the first line is not JSON: {error}"));
            return Err(Box::new(HeaderError { fault, facts: None }));
        }
    };
    let fields = Fields::of(view);
    let facts = facts(&fields);
    let fail = |fault: Fault| Err(Box::new(HeaderError { fault, facts: facts.clone() }));
    if let Some(version) = fields.get("version").and_then(View::number)
        && version != generation.version() as f64
    {
        return fail(version_fault(generation, version));
    }
    if fields.get("sandboxMode").is_some() || fields.get("approvalPolicy").is_some() {
        return fail(bad("the header has a field of before the first release (sandboxMode, approvalPolicy)"));
    }
    if let Err(message) = check_shape(generation, &fields) {
        return fail(bad(message));
    }
    let Some(mut header) = facts else { return fail(bad("the first line is not a session header")) };
    if generation >= Generation::V2 && fields.get("isSeeded").is_some_and(View::is_true) {
        header.seed = Seed::Marked;
    }
    let load_fault = (generation <= Generation::V1).then(|| check_loads(&fields).err()).flatten().map(bad);
    Ok(HeaderLine { header, load_fault })
}

fn version_fault(generation: Generation, version: f64) -> Fault {
    let named = generation.version();
    if version > Generation::V4.version() as f64 {
        return Fault::new(ProblemKind::UnsupportedVersion, format!("format version {version} is not known here"))
            .at_line(1);
    }
    let mut fault = Fault::new(ProblemKind::IdentityMismatch, format!("file v{named}, header v{version}")).at_line(1);
    fault.unsupported = true;
    fault
}

/// What makes the line a header of the generation.
fn check_shape(generation: Generation, fields: &Fields<'_>) -> Result<(), &'static str> {
    let string_or_absent = |key| fields.get(key).is_none_or(|value| value.string().is_some());
    if !fields.get("type").is_some_and(|kind| kind.is_string("session")) {
        return Err("the first line is not a session header");
    }
    if fields.get("version").and_then(View::number).is_none() {
        return Err("the header's version is not a number");
    }
    if fields.get("id").and_then(View::string).is_none() {
        return Err("the header's id is not a string");
    }
    if fields.get("createdAt").and_then(View::count).is_none() {
        return Err("the header's createdAt is not a count of milliseconds");
    }
    if fields.get("delegationDepth").and_then(View::count).is_none() {
        return Err("the header's delegationDepth is not a count");
    }
    if fields.get("origin").is_some_and(|origin| !origin.is_string("subagent")) {
        return Err("the header's origin is not \"subagent\"");
    }
    if !string_or_absent("agentPreset") {
        return Err("the header's agentPreset is not a string");
    }
    if generation <= Generation::V1 {
        return Ok(());
    }
    const KEYS: [&str; 10] = [
        "type",
        "version",
        "id",
        "createdAt",
        "cwd",
        "parentSession",
        "isSeeded",
        "origin",
        "delegationDepth",
        "agentPreset",
    ];
    if fields.0.iter().any(|(key, _)| !KEYS.iter().any(|known| key == known)) {
        return Err("the header has a field its generation does not know");
    }
    if fields.get("isSeeded").and_then(View::bool).is_none() {
        return Err("the header's isSeeded is not true or false");
    }
    if !string_or_absent("parentSession") {
        return Err("the header's parentSession is not a string");
    }
    if fields.get("cwd").is_some_and(|cwd| !is_absolute_path(cwd)) {
        return Err("the header's cwd is not an absolute path");
    }
    Ok(())
}

/// What dsh 0.1.x lists and then refuses to load.
fn check_loads(fields: &Fields<'_>) -> Result<(), &'static str> {
    if fields.get("cwd").is_some_and(|cwd| !is_absolute_path(cwd)) {
        return Err("the header's cwd is not an absolute path");
    }
    if fields.get("parentSession").is_some_and(|parent| parent.string().is_none()) {
        return Err("the header's parentSession is not a string");
    }
    if fields.get("seedLength").is_some_and(|length| length.safe_integer().is_none_or(|length| length < 0)) {
        return Err("the header's seedLength is not a count");
    }
    Ok(())
}

fn is_absolute_path(value: View<'_>) -> bool {
    value.string().is_some_and(|path| path.starts_with("/"))
}

/// The members of a header, walked once: a listing asks for two dozen of every log.
struct Fields<'a>(Vec<(JsStr<'a>, View<'a>)>);

impl<'a> Fields<'a> {
    /// Those of an object; of other values none.
    fn of(view: View<'a>) -> Fields<'a> {
        Fields(view.members().collect())
    }

    /// A member; of a repeated key the last.
    fn get(&self, key: &str) -> Option<View<'a>> {
        self.0.iter().rfind(|(name, _)| name == key).map(|(_, value)| *value)
    }
}

/// What a line says of a session, whatever else is wrong with it.
fn facts(fields: &Fields<'_>) -> Option<Header> {
    if !fields.get("type")?.is_string("session") {
        return None;
    }
    let string = |key| -> Option<JsString> { Some(fields.get(key)?.string()?.into_owned()) };
    Some(Header {
        version: fields.get("version").and_then(View::count).unwrap_or(0),
        id: string("id")?,
        created_at: fields.get("createdAt")?.count()?,
        cwd: string("cwd"),
        parent_session: string("parentSession"),
        seed: fields.get("seedLength").and_then(View::count).map_or(Seed::None, Seed::Length),
        is_subagent: fields.get("origin").is_some_and(|origin| origin.is_string("subagent")),
        delegation_depth: fields.get("delegationDepth").and_then(View::count),
        agent_preset: string("agentPreset"),
    })
}
