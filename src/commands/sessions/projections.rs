//! `sessions projections`: what is derived from a session's log.

use crate::commands::Context;
use crate::commands::select;
use crate::corpus::{Catalog, Record, Selector};
use crate::error::{Code, Failure};
use crate::model::js_string::JsStr;
use crate::output::Format;
use crate::output::documents::projections::{Projected, ProjectionsDocument};
use crate::projections::ladder;
use crate::projections::registry::{Registry, UnknownKey};
use crate::projections::units;
use clap::Args;

/// The arguments.
#[derive(Debug, Args)]
#[command(before_long_help = "Examples:
  dshkit sessions projections latest title todos
  dshkit sessions list --jsonl | jq -r .sessionId | dshkit sessions projections - title --jsonl")]
pub struct ProjectionsArgs {
    /// The session, and the keys of the values wanted; all without one
    #[arg(value_names = ["SESSION", "KEY"], num_args = 1.., required_unless_present = "id")]
    words: Vec<String>,
    /// The session, by its id, even if that begins with a dash; every word is a key then
    #[arg(long, value_name = "ID", allow_hyphen_values = true)]
    id: Option<String>,
    /// Also the state each value is made of, its version, and its seq
    #[arg(long)]
    state: bool,
    /// Only what the cache knows, without a look at the log; null where it knows nothing
    #[arg(long, conflicts_with_all = ["state", "no_cache"])]
    cached: bool,
}

impl ProjectionsArgs {
    /// The sessions meant; `-` may name several.
    fn find<'c>(&self, catalog: &'c Catalog) -> Result<Vec<&'c Record>, Failure> {
        if let Some(id) = &self.id {
            return Ok(vec![catalog.select(&Selector::Id(JsStr::from(&**id).into_owned()))?]);
        }
        let named = select::read_dash(self.words.iter().take(1).cloned().collect())?;
        named.iter().map(|text| catalog.select(&select::parse(text)?)).collect()
    }

    fn keys(&self) -> &[String] {
        if self.id.is_some() { &self.words } else { self.words.get(1..).unwrap_or_default() }
    }
}

pub(super) fn run(args: &ProjectionsArgs, context: &mut Context) -> anyhow::Result<u8> {
    let registry = registry(args.keys())?;
    let (corpus, catalog) = context.catalog()?;
    let records = args.find(&catalog)?;
    if records.len() != 1 && context.output.format() == Format::Json {
        let message = format!("{} sessions are named, and one JSON document is of one", records.len());
        return Err(Failure::new(Code::Usage, message).hint("--jsonl prints one record a session").into());
    }
    let mut documents = Vec::new();
    let mut has_problems = false;
    if args.cached {
        let cache = context.projections_cache(&corpus);
        let keys: Vec<&str> = registry.keys().collect();
        let loaded = cache.map(|cache| cache.load(&records, &keys)).transpose();
        let loaded = loaded.unwrap_or_else(|error| {
            context.output.warn(&format!("the cache of derived values: {error}"));
            None
        });
        for record in &records {
            let entry = loaded.as_ref().and_then(|loaded| loaded.entry(record));
            let snapshot = entry.and_then(|entry| ladder::cached(&entry, &registry));
            documents.push(ProjectionsDocument::of(record, Projected::Cached(snapshot)));
        }
    } else {
        for (record, derived) in records.iter().zip(context.derive(&corpus, &records, &registry)) {
            let derived = match derived {
                Ok(derived) => derived,
                Err(failure) if records.len() == 1 => return Err(failure.into()),
                Err(failure) => {
                    context.output.warn_problem(&record.problem_of(failure));
                    has_problems = true;
                    continue;
                }
            };
            for problem in &derived.problems {
                context.output.warn_problem(problem);
            }
            has_problems |= !derived.problems.is_empty();
            let snapshot = derived.folded.snapshot();
            let states = args.state.then(|| derived.folded.checkpoint());
            documents.push(ProjectionsDocument::of(record, Projected::Read(snapshot, states)));
        }
    }
    for document in &documents {
        context.output.document(document)?;
    }
    Ok(context.status_with_problems(has_problems))
}

/// The units with these keys; all without one.
fn registry(keys: &[String]) -> Result<Registry, Failure> {
    let all = units::all();
    if keys.is_empty() {
        return Ok(all);
    }
    all.only(keys).map_err(|UnknownKey(key)| {
        let known: Vec<String> = all.keys().map(str::to_owned).collect();
        Failure::new(Code::Usage, format!("nothing derived has the key {key:?}")).candidates(known)
    })
}
