//! The stores that dsh wrote, against what dsh itself read from them.

use crate::support::{Differences, ReadLog, corpora_with, read_json, record_of, run_in_store};
use dshkit::corpus::{Corpus, Record};
use dshkit::model::surface::Placement;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// A corpus and what is expected of it.
struct Recorded {
    name: String,
    store: PathBuf,
    expected: Value,
}

/// The corpora, with the expectations for sessions that have not been migrated taken from where they
/// came: dsh migrates these in memory, and the newest log on disk is still the old one.
fn recorded() -> Vec<Recorded> {
    corpora_with("expected.json").iter().filter(|folder| !name_of(folder).contains("damaged")).map(|f| of(f)).collect()
}

fn name_of(folder: &Path) -> String {
    folder.file_name().unwrap().to_string_lossy().into_owned()
}

fn of(folder: &Path) -> Recorded {
    let database = folder.join("sessions.sqlite");
    let store = if database.is_file() { database } else { folder.join("sessions") };
    let mut expected = read_json(&folder.join("expected.json"));
    if name_of(folder).contains("migrated-from-v0") {
        let origin = read_json(&folder.with_file_name("4-references").join("expected.json"));
        let catalog = Corpus::at(&store).catalog().unwrap();
        for record in catalog.records.iter().filter(|record| record.stored.format_version == 0) {
            let id = record.id().to_str().unwrap();
            expected["sessions"][id] = origin["sessions"][id].clone();
        }
    }
    Recorded { name: name_of(folder), store, expected }
}

impl Recorded {
    fn sessions(&self) -> impl Iterator<Item = (&String, &Value)> {
        self.expected["sessions"].as_object().unwrap().iter()
    }
}

#[test]
fn sessions_are_listed_in_the_order_of_dsh_with_its_facts_and_titles() {
    let mut differences = Differences::default();
    let corpora = recorded();
    for corpus in &corpora {
        let name = &corpus.name;
        let document = run_in_store(&corpus.store, &["sessions", "list", "--long", "--json"]).success().json();
        let listed = document["sessions"].as_array().unwrap();
        if let Some(order) = corpus.expected["listOrder"].as_array() {
            let ids: Vec<&Value> = listed.iter().map(|session| &session["sessionId"]).collect();
            differences.compare(format!("{name}: order"), ids, order.iter().collect::<Vec<_>>());
        } else {
            differences.compare(format!("{name}: count"), listed.len(), corpus.sessions().count());
        }
        // Turns were interrupted in these stores, and nothing is wrong.
        differences.compare(format!("{name}: problems"), &document["problems"], json!([]));
        for (id, expected) in corpus.sessions() {
            let Some(session) = listed.iter().find(|session| session["sessionId"] == id.as_str()) else {
                differences.wrong(format!("{name} {id}: not listed"));
                continue;
            };
            compare_header(&mut differences, &format!("{name} {id}"), session, &expected["header"]);
            compare_title(&mut differences, &format!("{name} {id}"), session, expected);
        }
    }
    differences.none_of_at_least(corpora.len() * 40);
}

fn compare_header(differences: &mut Differences, place: &str, session: &Value, header: &Value) {
    for key in ["cwd", "createdAt", "parentSession", "origin", "delegationDepth", "agentPreset", "seedLength"] {
        // What the header leaves out is null.
        differences.compare(format!("{place}: {key}"), session.get(key), Some(&header[key]));
    }
    let is_seeded = header["isSeeded"] == true || header.get("seedLength").is_some();
    differences.compare(format!("{place}: isSeeded"), session.get("isSeeded"), Some(&json!(is_seeded)));
    differences.compare(format!("{place}: version"), session.get("formatVersion"), Some(&header["version"]));
}

fn compare_title(differences: &mut Differences, place: &str, session: &Value, expected: &Value) {
    // The database tells no titles, and where dsh failed there is nothing to compare.
    let Some(title) = expected.get("title").filter(|title| title.is_null() || title.get("title").is_some()) else {
        return;
    };
    differences.compare(format!("{place}: title"), session.get("title"), Some(&title["title"]));
    differences.compare(format!("{place}: titleSource"), session.get("titleSource"), Some(&title["source"]["kind"]));
}

#[test]
fn checking_counts_the_events_dsh_counts() {
    let mut differences = Differences::default();
    let corpora = recorded();
    for corpus in &corpora {
        let name = &corpus.name;
        let document = run_in_store(&corpus.store, &["sessions", "check", "--json"]).success().json();
        differences.compare(format!("{name}: dshLists"), document.get("dshLists"), Some(&json!(true)));
        let checked = document["sessions"].as_array().unwrap();
        for (id, expected) in corpus.sessions().filter(|(_, expected)| expected.get("storedEventCount").is_some()) {
            let session = checked.iter().find(|session| session["sessionId"] == id.as_str()).unwrap();
            let place = format!("{name} {id}");
            differences.compare(format!("{place}: verdict"), &session["verdict"], "ok");
            differences.compare(format!("{place}: stored"), &session["storedEvents"], &expected["storedEventCount"]);
            differences.compare(format!("{place}: logical"), &session["logicalEvents"], &expected["logicalEventCount"]);
        }
    }
    differences.none_of_at_least(corpora.len() * 13);
}

#[test]
fn events_and_surfaces_are_those_of_dsh() {
    let mut differences = Differences::default();
    let corpora = recorded();
    for recorded in &corpora {
        let corpus = Corpus::at(&recorded.store);
        let catalog = corpus.catalog().unwrap();
        for (id, expected) in recorded.sessions().filter(|(_, expected)| expected.get("storedEventCount").is_some()) {
            let place = format!("{} {id}", recorded.name);
            match record_of(&catalog, id) {
                Some(record) => compare_log(&mut differences, &place, &corpus, record, expected),
                None => differences.wrong(format!("{place}: not listed")),
            }
        }
    }
    differences.none_of_at_least(corpora.len() * 16);
}

fn compare_log(differences: &mut Differences, place: &str, corpus: &Corpus, record: &Record, expected: &Value) {
    let log = match ReadLog::of(corpus, record) {
        Ok(log) => log,
        Err(message) => return differences.wrong(format!("{place}: does not load: {message}")),
    };
    let is = |key: &str| expected.get(key).cloned();
    differences.compare(format!("{place}: stored"), Some(json!(log.stored)), is("storedEventCount"));
    differences.compare(format!("{place}: logical"), Some(json!(log.logical)), is("logicalEventCount"));
    differences.compare(format!("{place}: hash"), Some(json!(log.stored_sha256())), is("storedEventsSha256"));
    differences.compare(format!("{place}: closed hash"), Some(json!(log.logical_sha256())), is("logicalEventsSha256"));
    let surface = match &log.surface {
        Ok(surface) => surface,
        Err(message) => return differences.wrong(format!("{place}: does not fold: {message}")),
    };
    if expected.get("surface").is_none() {
        return;
    }
    let last = log.events.last().map(|event| event.seq);
    differences.compare(format!("{place}: captured"), Some(json!(last)), is("capturedThroughSeq"));
    differences.compare(format!("{place}: surface"), Some(json!(surface.nodes)), is("surface"));
    let mut shadowed: Vec<u64> = surface
        .placements()
        .into_iter()
        .filter(|(_, place)| *place == Placement::Shadowed)
        .map(|(seq, _)| seq)
        .collect();
    shadowed.sort_unstable();
    differences.compare(format!("{place}: shadowed"), Some(json!(shadowed)), is("shadowed"));
    let replacements: Vec<Value> = surface
        .replacements
        .iter()
        .map(|replacement| {
            let (start, end) = replacement.range;
            json!({"seq": replacement.seq, "start": start, "end": end, "shadowedSeqs": replacement.removed})
        })
        .collect();
    differences.compare(format!("{place}: replacements"), Some(json!(replacements)), is("replacements"));
}

#[test]
fn the_surface_view_shows_the_surface() {
    let mut differences = Differences::default();
    let corpora = recorded();
    for corpus in &corpora {
        for (id, expected) in corpus.sessions().filter(|(_, expected)| expected.get("surface").is_some()) {
            let arguments = ["sessions", "show", "--view", "surface", "--all", "--json", "--id", id];
            let document = run_in_store(&corpus.store, &arguments).success().json();
            let place = format!("{} {id}", corpus.name);
            let captured = document.get("capturedThroughSeq");
            differences.compare(format!("{place}: captured"), captured, expected.get("capturedThroughSeq"));
            let seqs: Vec<&Value> =
                document["messages"].as_array().unwrap().iter().map(|message| &message["seq"]).collect();
            let nodes: Vec<&Value> = expected["surface"].as_array().unwrap().iter().collect();
            differences.compare(format!("{place}: messages"), seqs, nodes);
        }
    }
    differences.none_of_at_least(corpora.len() * 4);
}
