//! References, against what dsh's own service prepared from the same stores.

use crate::support::{Differences, compact, corpora_with, read_json, run_in_store};
use dshkit::corpus::{Catalog, Corpus};
use dshkit::model::js_string::{JsStr, JsString};
use dshkit::model::mention;
use dshkit::output::documents::prepare::PrepareDocument;
use dshkit::reference::prepare::{Contract, DEFAULT_MAX_BYTES, MAX_REFERENCES, Request, prepare};
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

/// The lines around the JSON, and the JSON. What follows the closing tag is not compared: dsh since 0.1.5
/// says there what was omitted and where it spilled the rest.
fn parts(text: &str) -> (&str, &str) {
    let (before, rest) = text.split_once("<referenced-sessions>\n").unwrap();
    let (json, _) = rest.split_once("\n</referenced-sessions>").unwrap();
    (before, json)
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

fn request(case: &Case, generation: u64) -> Request {
    Request {
        text: JsString::from(case.text.clone()),
        target: Some(JsString::from(case.target.clone())),
        references: Vec::new(),
        max_references: case.options.max_references.unwrap_or(MAX_REFERENCES),
        // Where the cases set no budget, nothing they refer to comes near the smallest default.
        max_bytes: case.options.max_reference_bytes.unwrap_or(DEFAULT_MAX_BYTES),
        contract: if generation == 0 { Contract::Dsh01 } else { Contract::Newest },
    }
}

fn compare(differences: &mut Differences, place: &str, corpus: &Corpus, catalog: &Catalog, case: &Case, version: u64) {
    let prepared = match (prepare(corpus, catalog, &request(case, version)), &case.error) {
        (Ok(prepared), None) => prepared,
        (Err(failure), Some(error)) => {
            return differences.compare(format!("{place}: code"), failure.code.name(), &error.code);
        }
        (Ok(_), Some(error)) => return differences.wrong(format!("{place}: it must fail with {}", error.code)),
        (Err(failure), None) => return differences.wrong(format!("{place}: it must not fail: {}", failure.message)),
    };
    let document: serde_json::Map<String, serde_json::Value> =
        serde_json::from_str(&serde_json::to_string(&PrepareDocument::of(&prepared)).unwrap()).unwrap();
    let content: serde_json::Value = serde_json::from_str(case.content.as_ref().unwrap().get()).unwrap();
    differences.compare(format!("{place}: content"), &document["content"], &content);
    let (Some(got), Some(expected)) = (&prepared.context, &case.additional_context) else {
        return differences.compare(
            format!("{place}: context"),
            prepared.context.is_some(),
            case.additional_context.is_some(),
        );
    };
    let ((warning, json), (expected_warning, expected_json)) = (parts(&got.text), parts(&expected.text));
    differences.compare(format!("{place}: json"), json, expected_json);
    let heading = |text: &str| text.lines().next().unwrap().to_owned();
    differences.compare(format!("{place}: heading"), heading(warning), heading(expected_warning));
    let is_borrowed =
        expected_warning.lines().skip(1).filter(|line| !line.is_empty()).any(|line| warning.contains(line));
    differences.compare(format!("{place}: the warning is dsh's"), is_borrowed, false);
    differences.compare(format!("{place}: source"), source(&prepared), compact(expected.source.get()));
}

/// The source record as it is printed, keys in their order.
fn source(prepared: &dshkit::reference::prepare::Prepared) -> String {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Printed {
        additional_context: PrintedContext,
    }
    #[derive(Deserialize)]
    struct PrintedContext {
        source: Box<RawValue>,
    }
    let text = serde_json::to_string(&PrepareDocument::of(prepared)).unwrap();
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
        for case in cases(folder).iter().filter(|case| reads_newest_only(&catalog, case, version)) {
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
            let request = request(case, version);
            let (count, bytes) = (request.max_references.to_string(), request.max_bytes.to_string());
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
                let json = context.map(|text| parts(text.as_str().unwrap()).1);
                let expected = case.additional_context.as_ref().map(|context| parts(&context.text).1);
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
