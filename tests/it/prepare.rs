//! References, against what dsh's own service prepared from the same stores.

use crate::support::{Differences, compact, corpora_with, read_json, run_in_store};
use dshkit::corpus::{Catalog, Corpus};
use dshkit::error::Failure;
use dshkit::model::js_string::{JsStr, JsString};
use dshkit::model::mention;
use dshkit::output::documents::prepare::PrepareDocument;
use dshkit::reference::budget::SMALLEST;
use dshkit::reference::prepare::{Context as Prepared, Contract, MAX_REFERENCES, Request, capture, sessions};
use dshkit::stores::spool::Spool;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::fs;
use std::path::Path;

/// One call of dsh's service and what came of it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Case {
    name: String,
    target: String,
    text: String,
    options: Options,
    content: Option<Box<RawValue>>,
    additional_context: Option<Context>,
    error: Option<Error>,
}

/// How the service was configured; what is absent was left to its default.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Options {
    max_references: Option<usize>,
    max_reference_bytes: Option<u64>,
}

#[derive(Deserialize)]
struct Context {
    source: Box<RawValue>,
    text: String,
}

#[derive(Deserialize)]
struct Error {
    code: String,
}

fn cases(folder: &Path) -> Vec<Case> {
    let bytes = fs::read(folder.join("prepare-cases.json")).unwrap();
    serde_json::from_slice(&bytes).unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
}

/// The generation of the dsh that made the cases.
fn generation(folder: &Path) -> u64 {
    read_json(&folder.join("expected.json"))["formatVersion"].as_u64().unwrap()
}

/// A context: the lines before the JSON, the JSON, what stands before the list of omissions, and that list.
struct Parts<'t> {
    warning: &'t str,
    json: &'t str,
    omissions: Option<(&'t str, &'t str)>,
}

fn parts(text: &str) -> Parts<'_> {
    let (warning, rest) = text.split_once("<referenced-sessions>\n").unwrap();
    let (json, rest) = rest.split_once("\n</referenced-sessions>").unwrap();
    let omissions = (!rest.is_empty()).then(|| rest.rsplit_once('\n').unwrap());
    Parts { warning, json, omissions }
}

/// The lines of prose in what stands before something.
fn prose(text: &str) -> Vec<&str> {
    text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect()
}

/// Whether dsh read for the case only logs of its own generation. Older ones it migrates in memory, which
/// numbers their events anew.
fn reads_newest_only(catalog: &Catalog, case: &Case, generation: u64) -> bool {
    let mentions = mention::parse(&JsStr::from(case.text.as_str())).map_or_else(|_| Vec::new(), |(_, found)| found);
    let is_older = |id: &JsString| {
        catalog.records.iter().any(|record| record.id() == id && record.stored.format_version != generation)
    };
    !mentions.iter().any(|mention| is_older(&mention.session_id))
}

/// What the library makes of a case: the printed document, and the text of its context.
fn prepare(
    corpus: &Corpus,
    catalog: &Catalog,
    case: &Case,
    version: u64,
) -> Result<(serde_json::Map<String, serde_json::Value>, Option<Prepared>), Failure> {
    let request = Request {
        target: Some(JsString::from(case.target.clone())),
        references: Vec::new(),
        max_references: case.options.max_references.unwrap_or(MAX_REFERENCES),
    };
    let mut text = Spool::default();
    let mut sink = |piece: &JsString| text.push(piece);
    let draft = format!("{}\n", case.text);
    let mentions = dshkit::reference::draft::read(draft.as_bytes(), &mut sink).map_err(|error| {
        assert!(matches!(error, dshkit::reference::draft::DraftError::Mention(_)), "{error:?}");
        Failure::new(dshkit::error::Code::InvalidReference, "")
    })?;
    let mut sources = capture(corpus, sessions(catalog, mentions.clone(), &request)?, max_bytes(case))?;
    if let ([source], Some(more)) = (&sources[..], expected_digits(case)) {
        // A seq with other digits than dsh's leaves other room for the text.
        let digits = source.captured_through_seq.unwrap().to_string().len() as u64;
        if digits != more {
            sources = capture(corpus, sessions(catalog, mentions, &request)?, max_bytes(case) + digits - more)?;
        }
    }
    let prepared = Prepared::of(sources, contract(version));
    let printed = serde_json::to_string(&PrepareDocument::of(&text, prepared.as_ref())).unwrap();
    Ok((serde_json::from_str(&printed).unwrap(), prepared))
}

/// How many digits the seq has through which dsh saw the only source of a case.
fn expected_digits(case: &Case) -> Option<u64> {
    let source: serde_json::Value = serde_json::from_str(case.additional_context.as_ref()?.source.get()).unwrap();
    let [reference] = &source["references"].as_array().unwrap()[..] else { return None };
    Some(reference["capturedThroughSeq"].as_u64()?.to_string().len() as u64)
}

/// Where the cases set no budget, nothing they refer to comes near the smallest automatic one.
fn max_bytes(case: &Case) -> u64 {
    case.options.max_reference_bytes.unwrap_or(SMALLEST)
}

fn contract(generation: u64) -> Contract {
    if generation == 0 { Contract::Dsh01 } else { Contract::Newest }
}

fn compare(differences: &mut Differences, place: &str, corpus: &Corpus, catalog: &Catalog, case: &Case, version: u64) {
    let (document, prepared) = match (prepare(corpus, catalog, case, version), &case.error) {
        (Ok(prepared), None) => prepared,
        (Err(failure), Some(error)) => {
            return differences.compare(format!("{place}: code"), failure.code.name(), &error.code);
        }
        (Ok(_), Some(error)) => return differences.wrong(format!("{place}: it must fail with {}", error.code)),
        (Err(failure), None) => return differences.wrong(format!("{place}: it must not fail: {}", failure.message)),
    };
    let content: serde_json::Value = serde_json::from_str(case.content.as_ref().unwrap().get()).unwrap();
    differences.compare(format!("{place}: content"), &document["content"], &content);
    let (Some(got), Some(expected)) = (&prepared, &case.additional_context) else {
        return differences.compare(format!("{place}: context"), prepared.is_some(), case.additional_context.is_some());
    };
    let is_older = !reads_newest_only(catalog, case, version);
    let told = |text: &str| if is_older { without_capture(text) } else { text.to_owned() };
    let (parts, expected_parts) = (parts(&got.text), parts(&expected.text));
    differences.compare(format!("{place}: json"), told(parts.json), told(expected_parts.json));
    differences.compare(
        format!("{place}: source"),
        told(&source(prepared.as_ref())),
        told(&compact(expected.source.get())),
    );
    let omissions = |parts: &Parts<'_>| parts.omissions.map(|(_, json)| told(json));
    differences.compare(format!("{place}: omissions"), omissions(&parts), omissions(&expected_parts));
    let befores = [
        (Some(parts.warning), Some(expected_parts.warning)),
        (parts.omissions.map(|(before, _)| before), expected_parts.omissions.map(|(before, _)| before)),
    ];
    for (before, expected) in befores {
        let (Some(before), Some(expected)) = (before, expected) else { continue };
        // The heading and the blank lines are dsh's, the sentences are not.
        let shape = |text: &str| {
            let lines = text.split('\n').map(|line| if line.starts_with('#') || line.is_empty() { line } else { "…" });
            lines.map(str::to_owned).collect::<Vec<_>>()
        };
        differences.compare(format!("{place}: the lines around the JSON"), shape(before), shape(expected));
        let is_borrowed = prose(expected).iter().any(|line| before.contains(line));
        differences.compare(format!("{place}: the words are dsh's"), is_borrowed, false);
    }
}

/// The same without what a migration in memory changes: the numbers of events, and the generation. What
/// was said, and what was left out of it, must be the same.
fn without_capture(text: &str) -> String {
    let mut value: serde_json::Value = serde_json::from_str(text).unwrap();
    fn strip(value: &mut serde_json::Value) {
        if let Some(object) = value.as_object_mut() {
            object.remove("capturedThroughSeq");
            object.remove("capturedFormatVersion");
        }
        match value {
            serde_json::Value::Object(object) => object.values_mut().for_each(strip),
            serde_json::Value::Array(array) => array.iter_mut().for_each(strip),
            _ => {}
        }
    }
    strip(&mut value);
    value.to_string()
}

/// The source record as it is printed, keys in their order.
fn source(prepared: Option<&Prepared>) -> String {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Printed {
        additional_context: PrintedContext,
    }
    #[derive(Deserialize)]
    struct PrintedContext {
        source: Box<RawValue>,
    }
    let text = serde_json::to_string(&PrepareDocument::of(&Spool::default(), prepared)).unwrap();
    let printed: Printed = serde_json::from_str(&text).unwrap();
    printed.additional_context.source.get().to_owned()
}

#[test]
fn references_are_prepared_as_dsh_prepares_them() {
    let mut differences = Differences::default();
    let folders = corpora_with("prepare-cases.json");
    for folder in &folders {
        let version = generation(folder);
        let corpus = Corpus::at(&folder.join("sessions"));
        let catalog = corpus.catalog().unwrap();
        for case in &cases(folder) {
            let place = format!("{} {}", folder.file_name().unwrap().display(), case.name);
            compare(&mut differences, &place, &corpus, &catalog, case, version);
        }
    }
    differences.none_of_at_least(folders.len() * 100);
}

#[test]
fn the_command_prepares_what_the_library_prepares() {
    let mut differences = Differences::default();
    let folders = corpora_with("prepare-cases.json");
    for folder in &folders {
        let version = generation(folder);
        let corpus = Corpus::at(&folder.join("sessions"));
        let catalog = corpus.catalog().unwrap();
        let of_interest = |case: &&Case| {
            ["three", "four", "dup", "max1", "self", "missing", "plain", "bad-uri", "label-escapes"]
                .contains(&case.name.as_str())
                || case.name.starts_with("budget300")
        };
        let cases = cases(folder);
        let chosen = cases.iter().filter(of_interest).filter(|case| reads_newest_only(&catalog, case, version));
        for case in chosen.take(12) {
            let count = case.options.max_references.unwrap_or(MAX_REFERENCES).to_string();
            let bytes = max_bytes(case).to_string();
            let mut arguments = vec!["reference", "prepare", "--json", "--target", &case.target];
            arguments.extend(["--max-references", &count, "--max-bytes", &bytes]);
            if version == 0 {
                arguments.extend(["--compat", "dsh-0.1"]);
            }
            arguments.extend(["--", &case.text]);
            let outcome = run_in_store(&folder.join("sessions"), &arguments);
            let place = format!("{} {}", folder.file_name().unwrap().display(), case.name);
            let Some(error) = &case.error else {
                let document = outcome.success().json();
                let context = document.get("additionalContext").map(|context| &context["content"][0]["text"]);
                let json = context.map(|text| parts(text.as_str().unwrap()).json);
                let expected = case.additional_context.as_ref().map(|context| parts(&context.text).json);
                differences.compare(place, json, expected);
                continue;
            };
            let printed: serde_json::Value = serde_json::from_str(outcome.stderr.lines().last().unwrap()).unwrap();
            differences.compare(&place, printed["error"]["code"].as_str(), Some(error.code.as_str()));
            differences.compare(&place, outcome.stdout.len(), 0);
        }
    }
    differences.none_of_at_least(folders.len() * 8);
}
