//! The JSON Schemas: every document has one, and every document that any test makes the program print keeps to
//! it, without members it does not know.

use crate::support::{Outcome, Sandbox};
use dshkit::output::schema::{ALL, Entry};
use jsonschema::Validator;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::OnceLock;

/// Fails if a run printed a document or an error that is not what its schema says.
#[track_caller]
pub(crate) fn check(outcome: &Outcome) {
    let document = |bytes: &[u8], begin: &[u8]| -> Option<Value> {
        if bytes.starts_with(begin) { serde_json::from_slice(bytes).ok() } else { None }
    };
    if let Some(document) = document(&outcome.stdout, br#"{"schema":"dshkit/"#) {
        let schema = document["schema"].as_str().unwrap_or_default();
        conform(schema, &document, outcome);
    }
    let last = outcome.stderr.lines().last().unwrap_or_default();
    if let Some(error) = document(last.as_bytes(), br#"{"error":"#) {
        conform("error", &error, outcome);
    }
}

#[track_caller]
fn conform(schema: &str, document: &Value, outcome: &Outcome) {
    static VALIDATORS: OnceLock<BTreeMap<&'static str, Validator>> = OnceLock::new();
    let validators = VALIDATORS.get_or_init(|| {
        ALL.iter().map(|entry| (entry.schema, jsonschema::validator_for(&strict(entry)).unwrap())).collect()
    });
    let validator = validators.get(schema).unwrap_or_else(|| panic!("{schema} has no schema\n{outcome}"));
    let wrong: Vec<String> =
        validator.iter_errors(document).map(|error| format!("{error} at {}", error.instance_path())).collect();
    assert!(wrong.is_empty(), "the document is not as its schema says: {}\n{outcome}", wrong.join("; "));
}

/// The schema, with every member forbidden that it does not name.
fn strict(entry: &Entry) -> Value {
    let mut schema = entry.json();
    // What the whole document may be is looked at together with the member that all have.
    let parts = schema["anyOf"].as_array().into_iter().flatten();
    let parts: Vec<String> =
        parts.filter_map(|part| part["$ref"].as_str()?.rsplit('/').next().map(str::to_owned)).collect();
    forbid(&mut schema);
    for part in parts {
        schema["$defs"][part].as_object_mut().unwrap().remove("unevaluatedProperties");
    }
    schema
}

fn forbid(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            if members.get("properties").is_some_and(Value::is_object) && !members.contains_key("additionalProperties")
            {
                members.insert("unevaluatedProperties".to_owned(), json!(false));
            }
            members.values_mut().for_each(forbid);
        }
        Value::Array(values) => values.iter_mut().for_each(forbid),
        _ => {}
    }
}

#[test]
fn every_document_has_a_schema() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/output/documents");
    let mut found = Vec::new();
    let files = |folder: &Path| fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    for file in files(&folder).chain(files(&folder.join("sidechat"))).filter(|file| file.is_file()) {
        let text = fs::read_to_string(file).unwrap();
        for line in text.lines().filter(|line| line.contains("const SCHEMA")) {
            let name = line.split('"').nth(1).unwrap().to_owned();
            assert!(ALL.iter().any(|entry| entry.schema == name), "{name} is not in output/schema.rs");
            found.push(name);
        }
    }
    assert!(found.len() > 30, "{found:?}");
    let mut names: Vec<&str> = ALL.iter().map(Entry::name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), ALL.len(), "every name is there once");
}

#[test]
fn every_member_says_what_it_is() {
    fn look(name: &str, schema: &Value, missing: &mut Vec<String>) {
        for (member, value) in schema["properties"].as_object().into_iter().flatten() {
            if value["description"].as_str().is_none() {
                missing.push(format!("{name}: {member}"));
            }
        }
    }
    let mut missing = Vec::new();
    for entry in ALL {
        let schema = entry.json();
        assert!(!entry.description().is_empty(), "{} says nothing", entry.schema);
        look(entry.name(), &schema, &mut missing);
        for (name, part) in schema["$defs"].as_object().into_iter().flatten() {
            look(name, part, &mut missing);
        }
    }
    assert!(missing.is_empty(), "no description:\n{}", missing.join("\n"));
}

#[test]
fn the_command_prints_them() {
    let sandbox = Sandbox::new();
    let list = sandbox.run(&["schema", "--json"]).success().json();
    assert_eq!(list["documents"].as_array().unwrap().len(), ALL.len());
    for document in list["documents"].as_array().unwrap() {
        let name = document["name"].as_str().unwrap();
        let schema = sandbox.run(&["schema", name]).success().json();
        assert_eq!(schema["title"], document["schema"]);
        assert!(jsonschema::meta::is_valid(&schema), "{name}");
        let text = sandbox.run(&["schema", name, "--format", "text"]).success();
        assert_eq!(text.json(), schema);
    }
    sandbox.run(&["schema", "sessions.lists", "--json"]).fails(2, "usage");
}

#[test]
fn a_schema_refuses_what_is_no_such_document() {
    let refuses = |name: &str, document: Value| {
        let validator = jsonschema::validator_for(&strict(&Entry::named(name).unwrap())).unwrap();
        assert!(!validator.is_valid(&document), "{name} takes {document}");
    };
    let uri = |uri: Value| json!({"schema": "dshkit/uri.encode/1", "uris": [uri]});
    let validator = jsonschema::validator_for(&strict(&Entry::named("uri.encode").unwrap())).unwrap();
    assert!(validator.is_valid(&uri(json!({"sessionId": "a", "uri": "b"}))));
    refuses("uri.encode", uri(json!({"sessionId": "a"})));
    refuses("uri.encode", uri(json!({"sessionId": "a", "uri": 1})));
    refuses("uri.encode", uri(json!({"sessionId": "a", "uri": "b", "more": 1})));
    refuses("uri.encode", json!({"uris": []}));
    refuses("uri.encode", json!({"schema": "dshkit/uri.decode/1", "uris": []}));
    refuses("sessions.search", json!({"schema": "dshkit/sessions.search/1", "items": [], "notes": [], "more": 1}));
    refuses("sessions.list", json!({"schema": "dshkit/sessions.list/1", "problems": [], "sessions": [{"idd": 1}]}));
    refuses("error", json!({"error": {"code": "io"}}));
}
