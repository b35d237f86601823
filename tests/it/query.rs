//! Filters, texts and traces, against what dsh's query service answered on the same stores: all of it
//! through the library, a part of it through the commands too.

use crate::golden::queries;
use crate::support::{Differences, record_of, run_in_store};
use dshkit::corpus::{Corpus, Record};
use dshkit::model::js_string::{CodePoint, JsStr, JsString};
use dshkit::model::semantic_text::semantic_text;
use dshkit::model::surface::Placement;
use dshkit::query::filter::{EventFacts, EventFilter, SessionFilter};
use dshkit::query::lineage::{Descendant, lineage};
use dshkit::query::trace::trace;
use serde_json::{Value, json};

/// An event that says something.
struct Document {
    seq: u64,
    time: i64,
    kind: JsString,
    placement: Placement,
    text: JsString,
}

impl Document {
    /// The events of a session that say something.
    fn of(corpus: &Corpus, record: &Record) -> Vec<Document> {
        let mut documents = Vec::new();
        let summary = corpus.read(record, &mut |event, _| {
            let text = semantic_text(event);
            if !text.is_empty() {
                let kind = event.kind.clone().into_owned();
                let placement = Placement::LogOnly;
                documents.push(Document { seq: event.seq, time: event.time, kind, placement, text });
            }
        });
        let placements = summary.unwrap().finished.surface.unwrap().placements();
        for document in &mut documents {
            document.placement = placements.get(&document.seq).copied().unwrap_or(Placement::LogOnly);
        }
        documents
    }

    fn is_admitted(&self, filter: &EventFilter) -> bool {
        let Document { seq, time, ref kind, placement, ref text } = *self;
        filter.admits(&EventFacts { seq, time, kind, placement, text })
    }
}

/// A string as the golden files write it, where half of a surrogate pair is spelled out.
fn spelled(text: &JsStr<'_>) -> String {
    let mut out = String::new();
    for point in text.code_points() {
        match point {
            CodePoint::Char(c) => out.push(c),
            CodePoint::LoneSurrogate(unit) => out.push_str(&format!("<U+{unit:04X}>")),
        }
    }
    out
}

/// Such a string in JSON text, where it is that half of a pair again.
fn json_text(value: &Value) -> String {
    value.to_string().replace("<U+D800>", "\\ud800")
}

fn seqs(documents: &[Document], filter: &EventFilter) -> Vec<u64> {
    documents.iter().filter(|document| document.is_admitted(filter)).map(|document| document.seq).collect()
}

#[test]
fn events_say_and_filters_admit_what_they_do_in_dsh() {
    let mut differences = Differences::default();
    let queries = queries();
    for (name, store, expected) in &queries {
        let corpus = Corpus::at(store);
        let catalog = corpus.catalog().unwrap();
        let mut texts: Vec<serde_json::Map<String, Value>> = Vec::new();
        let cases = expected["textFilters"].as_array().unwrap();
        let filters: Vec<Result<EventFilter, _>> = cases
            .iter()
            .map(|case| EventFilter::parse(&json_text(&json!([{"kind": "text", "text": case["text"]}]))))
            .collect();
        texts.resize(cases.len(), serde_json::Map::new());
        for (id, session) in expected["sessions"].as_object().unwrap() {
            let documents = Document::of(&corpus, record_of(&catalog, id).unwrap());
            let rows: Vec<Value> = documents
                .iter()
                .map(|d| json!([d.seq, spelled(&d.kind), d.placement.name(), spelled(&d.text)]))
                .collect();
            differences.compare(format!("{name} {id}: documents"), rows, &session["documents"]);
            for case in session["filterEvents"].as_array().unwrap() {
                let filters = &case["filters"];
                let filter = EventFilter::parse(&json_text(filters)).unwrap();
                differences.compare(format!("{name} {id}: {filters}"), seqs(&documents, &filter), &case["seqs"]);
            }
            for (filter, found) in filters.iter().zip(&mut texts) {
                let seqs = filter.as_ref().map(|filter| seqs(&documents, filter)).unwrap_or_default();
                if !seqs.is_empty() {
                    found.insert(id.clone(), json!(seqs));
                }
            }
        }
        for ((case, filter), found) in cases.iter().zip(&filters).zip(texts) {
            let place = format!("{name}: text {}", case["text"]);
            let code = filter.as_ref().err().map(|failure| failure.code.name());
            differences.compare(&place, code, &case["error"]["code"]);
            differences.compare(&place, found, &case["seqs"]);
        }
    }
    differences.none_of_at_least(150 * queries.len());
}

#[test]
fn filters_on_sessions_admit_what_they_do_in_dsh() {
    let mut differences = Differences::default();
    let queries = queries();
    for (name, store, expected) in &queries {
        let catalog = Corpus::at(store).catalog().unwrap();
        for case in expected["filterSessions"].as_array().unwrap() {
            let filters = json_text(&case["filters"]);
            let filter = SessionFilter::parse(&filters).unwrap();
            let ids: Vec<String> = catalog
                .records
                .iter()
                .filter(|record| filter.admits(record))
                .map(|record| spelled(record.id()))
                .collect();
            differences.compare(format!("{name}: {filters}"), ids, &case["ids"]);
        }
    }
    differences.none_of_at_least(25 * queries.len());
}

#[test]
fn events_have_the_relations_they_have_in_dsh() {
    let mut differences = Differences::default();
    let queries = queries();
    for (name, store, expected) in &queries {
        let corpus = Corpus::at(store);
        let catalog = corpus.catalog().unwrap();
        for (id, session) in expected["sessions"].as_object().unwrap() {
            let record = record_of(&catalog, id).unwrap();
            for case in session["traceEvent"].as_array().unwrap() {
                let target = &case["target"];
                let found = trace(&corpus, record, target["seq"].as_u64().unwrap()).unwrap();
                let place = |key: &str| format!("{name} {id} {target}: {key}");
                let own = json!([found.seq, spelled(&found.kind), found.placement.name()]);
                differences.compare(place("target"), own, json!([target["seq"], target["type"], target["surface"]]));
                let relations = [
                    ("replacedBy", json!(found.replaced_by)),
                    ("replacementChain", json!(found.replacement_chain)),
                    ("replacedEventSeqs", json!(found.replaced_event_seqs)),
                    ("sourceEventSeqs", json!(found.source_event_seqs)),
                    ("derivedEventSeqs", json!(found.derived_event_seqs)),
                ];
                for (key, got) in relations {
                    differences.compare(place(key), got, &case[key]);
                }
            }
        }
    }
    differences.none_of_at_least(6 * 17 * queries.len());
}

#[test]
fn sessions_have_the_family_they_have_in_dsh() {
    fn forest(descendants: &[Descendant<'_>]) -> Value {
        descendants.iter().map(|d| json!([spelled(d.session.id()), forest(&d.descendants)])).collect()
    }
    let mut differences = Differences::default();
    let queries = queries();
    for (name, store, expected) in &queries {
        let catalog = Corpus::at(store).catalog().unwrap();
        for (id, session) in expected["sessions"].as_object().unwrap() {
            let expected = &session["traceSession"];
            let place = format!("{name} {id}");
            let family = match lineage(&catalog, record_of(&catalog, id).unwrap()) {
                Ok(family) => family,
                Err(failure) => {
                    differences.compare(place, failure.code.name(), &expected["error"]["code"]);
                    continue;
                }
            };
            let ancestors: Vec<String> = family.ancestors.iter().map(|record| spelled(record.id())).collect();
            let root = family.root().map(|record| spelled(record.id()));
            let got = json!({
                "target": spelled(family.target.id()),
                "ancestors": ancestors,
                "descendants": forest(&family.descendants),
                "complete": family.unresolved_parent.is_none(),
                "root": root,
                "unresolvedParentId": family.unresolved_parent.as_ref().map(|id| spelled(id)),
            });
            differences.compare(place, got, family_json(expected, |session| &session["id"]));
        }
    }
    differences.none_of_at_least(4 * queries.len());
}

/// A family in short, from the document of dsh or of the command.
fn family_json(document: &Value, id: fn(&Value) -> &Value) -> Value {
    fn forest(descendants: &Value, id: fn(&Value) -> &Value) -> Value {
        let child = |child: &Value| {
            let session = child.get("session").unwrap_or(child);
            json!([id(session), forest(&child["descendants"], id)])
        };
        descendants.as_array().unwrap().iter().map(child).collect()
    }
    json!({
        "target": id(&document["target"]),
        "ancestors": document["ancestors"].as_array().unwrap().iter().map(id).collect::<Vec<_>>(),
        "descendants": forest(&document["descendants"], id),
        "complete": document["complete"],
        "root": document.get("root").map(id),
        "unresolvedParentId": document.get("unresolvedParentId"),
    })
}

/// Every third session: the commands take the library's answers and print them, which one session shows
/// as well as another.
#[test]
fn the_commands_print_what_dsh_answers() {
    let mut differences = Differences::default();
    let queries = queries();
    for (name, store, expected) in &queries {
        for (id, session) in expected["sessions"].as_object().unwrap().iter().step_by(3) {
            let place = |what: &str| format!("{name} {id}: {what}");
            let events = ["sessions", "events", "--id", id];
            let all = run_in_store(store, &events).success().json();
            differences.compare(place("events"), rows(&all, &["seq", "type", "surface"]), &session["listEvents"]);
            let texts = run_in_store(store, &[&events[..], &["--text", "--filter", "[]"]].concat()).success().json();
            // A string that JSON's writers refuse is spelled out in the golden files; these are the library's tests.
            if !session["documents"].to_string().contains("<U+") {
                let got = rows(&texts, &["seq", "type", "surface", "text"]);
                differences.compare(place("documents"), got, &session["documents"]);
            }
            let case = session["filterEvents"].as_array().unwrap().iter().find(|case| case["seqs"] != json!([]));
            if let Some(case) = case {
                let filters = json_text(&case["filters"]);
                let found = run_in_store(store, &[&events[..], &["--filter", &filters]].concat()).success().json();
                let seqs: Vec<&Value> = found["events"].as_array().unwrap().iter().map(|event| &event["seq"]).collect();
                differences.compare(place(&filters), seqs, &case["seqs"]);
            }
            // The last has most to tell: replaced, replacing and citing events come after the first.
            let case = session["traceEvent"].as_array().unwrap().last().unwrap();
            let seq = case["target"]["seq"].to_string();
            let traced = run_in_store(store, &["sessions", "trace", "--id", id, &seq]).success().json();
            for key in ["seq", "type", "surface"] {
                differences.compare(place(&format!("trace {seq} {key}")), &traced["target"][key], &case["target"][key]);
            }
            for key in ["replacedBy", "replacementChain", "replacedEventSeqs", "sourceEventSeqs", "derivedEventSeqs"] {
                differences.compare(place(&format!("trace {seq} {key}")), traced.get(key), case.get(key));
            }
            let expected = &session["traceSession"];
            let traced = run_in_store(store, &["sessions", "trace", "--id", id]);
            if let Some(code) = expected["error"]["code"].as_str() {
                traced.fails(4, code);
            } else {
                let got = family_json(&traced.success().json(), |session| &session["sessionId"]);
                differences.compare(place("family"), got, family_json(expected, |session| &session["id"]));
            }
        }
        for case in expected["filterSessions"].as_array().unwrap().iter().step_by(3) {
            let filters = json_text(&case["filters"]);
            let listed = run_in_store(store, &["sessions", "list", "--filter", &filters]).success().json();
            let ids: Vec<&Value> =
                listed["sessions"].as_array().unwrap().iter().map(|session| &session["sessionId"]).collect();
            differences.compare(format!("{name}: {filters}"), ids, &case["ids"]);
        }
    }
    differences.none_of_at_least(30 * queries.len());
}

/// Some members of each event of a document.
fn rows(document: &Value, keys: &[&str]) -> Vec<Value> {
    let row = |event: &Value| keys.iter().map(|key| event[*key].clone()).collect();
    document["events"].as_array().unwrap().iter().map(row).collect()
}

#[test]
fn wrong_requests_fail_with_the_codes_of_dsh() {
    let mut differences = Differences::default();
    let queries = queries();
    for (name, store, expected) in &queries {
        for case in expected["badRequests"].as_array().unwrap() {
            let Some(arguments) = command_line(case, expected) else { continue };
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
            let outcome = run_in_store(store, &arguments);
            let place = format!("{name}: {}", arguments.join(" "));
            if case["ok"] == true {
                differences.compare(place, outcome.status, 0);
                continue;
            }
            let status = if case["error"]["code"].as_str().unwrap().contains("NOT_FOUND") { 3 } else { 2 };
            let error: Value = serde_json::from_str(outcome.stderr.lines().last().unwrap_or("null")).unwrap();
            differences.compare(
                place,
                json!([outcome.status, error["error"]["code"]]),
                json!([status, case["error"]["code"]]),
            );
        }
    }
    differences.none_of_at_least(50 * queries.len());
}

/// The command line of a request, if it can be one: there are only whole seqs and windows, filters are
/// JSON, and what made dsh fail outside its own error codes is no contract.
fn command_line(case: &Value, expected: &Value) -> Option<Vec<String>> {
    if case["ok"] != true && !case["error"]["code"].is_string() || case["args"].to_string().contains("\"$\"") {
        return None;
    }
    let args = case["args"].as_array().unwrap();
    let mut words = vec!["sessions".to_owned()];
    let method = case["method"].as_str().unwrap();
    match method {
        "readEvent" | "traceEvent" => {
            let request = args[0].as_object().unwrap();
            let id = request["sessionId"].as_str().unwrap();
            let command = if method == "readEvent" { "event" } else { "trace" };
            words.extend([command, "--id", id].map(str::to_owned));
            for (key, value) in request {
                if key == "before" || key == "after" {
                    words.push(format!("--{key}={}", value.as_i64()?));
                }
            }
            // The generator's word for the first seq behind the log.
            let behind =
                || (request["seq"] == "length").then(|| &expected["sessions"][id]["readSession"]["eventCount"]);
            words.push(request["seq"].as_u64().or_else(|| behind()?.as_u64())?.to_string());
        }
        "filterSessions" => words.extend(["list".to_owned(), "--filter".to_owned(), args[0].to_string()]),
        "filterEvents" => {
            let id = args[0].as_str().unwrap();
            // Of two faults dsh tells the missing session first, the command the filter.
            if case["error"]["code"] == "SESSION_QUERY_SESSION_NOT_FOUND" && args[1] != json!([]) {
                return None;
            }
            words.extend(["events", "--id", id, "--filter"].map(str::to_owned));
            words.push(args[1].to_string());
        }
        "listEvents" | "readSession" | "readSurface" | "readTitle" | "readTitleSnapshot" | "traceSession" => {
            let command = match method {
                "traceSession" => "trace",
                "readTitle" | "readTitleSnapshot" => "show",
                _ => "events",
            };
            words.extend([command, "--id", args[0].as_str().unwrap()].map(str::to_owned));
        }
        _ => panic!("the request {case} is of no known kind"),
    }
    Some(words)
}
