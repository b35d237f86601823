//! Search, against what dsh's search found on the same stores.
//!
//! dsh finds phrases of whole tokens, we find substrings. Both are computed here once more, naively and
//! from the texts in the golden files: where they agree on where a query stands as whole words, the hits
//! of dsh must come first, in its order and with its snippets; and whatever we find must be there.

use crate::golden::queries;
use crate::support::{Differences, Sandbox, outcome, read_json, record_of, run_in_store, shared};
use dshkit::corpus::{Catalog, Corpus, Record};
use dshkit::model::js_string::JsStr;
use dshkit::model::uri;
use dshkit::query::filter::EventFilter;
use dshkit::query::pattern::Pattern;
use dshkit::query::search::{Extra, Hit, Query, Wanted, rank_sessions, search_session, search_sessions};
use dshkit::query::snippet::snippet;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::ControlFlow;
use std::path::PathBuf;

/// A text with white space made single and case folded away, character by character.
fn flat(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        let is_space = c.is_whitespace() && c != '\u{85}' || c == '\u{FEFF}';
        match c {
            _ if is_space && out.ends_with(' ') => {}
            _ if is_space => out.push(' '),
            '\0' | '\u{FDD0}' | '\u{FDD1}' => out.push('\u{FFFD}'),
            _ => out.push(folded(c)),
        }
    }
    out
}

/// A character without its case: the small letter of its capital. One that becomes several, or only
/// when a Turk writes it, has none.
fn folded(c: char) -> char {
    let single = |mut cased: Box<dyn Iterator<Item = char>>, or: char| match (cased.next(), cased.next()) {
        (Some(c), None) => c,
        _ => or,
    };
    if c == 'ı' {
        return c;
    }
    let capital = single(Box::new(c.to_uppercase()), c);
    single(Box::new(capital.to_lowercase()), capital)
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || ('\u{300}'..='\u{36F}').contains(&c) || ('\u{E000}'..='\u{F8FF}').contains(&c)
}

/// A text as this file compares it.
struct Text {
    seq: u64,
    /// As snippets show it.
    text: String,
    flat: String,
    tokens: Tokens,
}

/// The runs of word characters in a text.
struct Tokens {
    /// Each between two marks.
    marked: String,
    /// Where each begins in that string, and where in the text.
    places: BTreeMap<usize, usize>,
}

/// What stands between tokens, and in no text here.
const MARK: char = '\u{1}';

impl Tokens {
    fn of(flat: &str) -> Tokens {
        let (mut marked, mut places) = (MARK.to_string(), BTreeMap::new());
        let mut at = 0;
        for part in flat.split(|c| !is_word(c)) {
            if !part.is_empty() {
                places.insert(marked.len(), at);
                marked.push_str(part);
                marked.push(MARK);
            }
            at += part.len();
            at += flat[at..].chars().next().map_or(0, char::len_utf8);
        }
        Tokens { marked, places }
    }
}

/// Where a text holds another, overlapping places too.
fn places(text: &str, wanted: &str) -> Vec<usize> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(start) = text[at..].find(wanted) {
        found.push(at + start);
        at += start + wanted.chars().next().unwrap().len_utf8();
    }
    found
}

/// A query as this file compares it.
struct Needle {
    text: String,
    tokens: String,
    /// Where its first token begins.
    first: usize,
}

impl Needle {
    fn of(query: &str) -> Needle {
        let text = flat(query).trim_matches(' ').to_owned();
        let first = text.find(is_word).unwrap_or(0);
        Needle { tokens: Tokens::of(&text).marked, text, first }
    }

    /// Where a text holds the query as whole words, by the place of the first of them.
    fn whole_places(&self, text: &Text) -> Vec<usize> {
        let is_cut = |at: usize| {
            let (before, after) = text.flat.split_at(at);
            before.chars().next_back().is_some_and(is_word) && after.chars().next().is_some_and(is_word)
        };
        let is_whole = |start: &usize| !is_cut(*start) && !is_cut(start + self.text.len());
        places(&text.flat, &self.text).into_iter().filter(is_whole).map(|start| start + self.first).collect()
    }

    /// Where it holds the query's tokens in a row, whatever stands between them.
    fn token_places(&self, text: &Text) -> Vec<usize> {
        if self.tokens.len() == MARK.len_utf8() {
            return Vec::new();
        }
        let found = places(&text.tokens.marked, &self.tokens).into_iter();
        found.map(|start| text.tokens.places[&(start + MARK.len_utf8())]).collect()
    }
}

/// The place of an event.
type Place<'g> = (&'g str, u64);

/// A store, the texts in it, and what dsh found there.
struct Golden {
    name: String,
    store: PathBuf,
    /// The texts of each session's events.
    texts: BTreeMap<String, Vec<Text>>,
    found: Value,
}

/// Where a query stands in a store.
#[derive(Default)]
struct Standing<'g> {
    /// Every event that holds it.
    all: BTreeSet<Place<'g>>,
    /// Those that hold it as whole words.
    whole: BTreeSet<Place<'g>>,
    /// The sessions where it stands as whole words exactly where its tokens stand in a row.
    alike: BTreeSet<&'g str>,
}

/// Half of a surrogate pair is searched and shown as U+FFFD, and so is what dsh has as marks.
fn shown(text: &str) -> String {
    let text = text.replace("<U+D800>", "\u{FFFD}").replace("<U+D83D>", "\u{FFFD}");
    text.replace(['\0', '\u{FDD0}', '\u{FDD1}'], "\u{FFFD}")
}

impl Golden {
    fn all() -> Vec<Golden> {
        let mut all = Vec::new();
        for (name, store, query) in queries() {
            let path = shared("golden").unwrap().join(format!("search-{name}.json"));
            if !path.exists() {
                continue;
            }
            let text = |row: &Value| {
                let text = shown(row[3].as_str().unwrap());
                let flat = flat(&text);
                assert!(!flat.contains(MARK));
                Text { seq: row[0].as_u64().unwrap(), text, tokens: Tokens::of(&flat), flat }
            };
            let sessions = query["sessions"].as_object().unwrap().iter();
            let texts = sessions
                .map(|(id, s)| (id.clone(), s["documents"].as_array().unwrap().iter().map(text).collect()))
                .collect();
            all.push(Golden { name, store, texts, found: read_json(&path) });
        }
        all
    }

    fn standing(&self, query: &str) -> Standing<'_> {
        let needle = Needle::of(query);
        let mut standing = Standing::default();
        for (id, texts) in &self.texts {
            standing.alike.insert(id);
            for text in texts {
                let whole = needle.whole_places(text);
                if text.flat.contains(&needle.text) {
                    standing.all.insert((id, text.seq));
                }
                if !whole.is_empty() {
                    standing.whole.insert((id, text.seq));
                }
                if whole != needle.token_places(text) {
                    standing.alike.remove(id.as_str());
                }
            }
        }
        standing
    }

    /// The cases to go through. The same were put to every recorded store, so each goes to a third of them.
    fn share(&self, at: usize, key: &str) -> impl Iterator<Item = &Value> {
        let (skipped, step) = if self.name.starts_with("synth") { (0, 1) } else { (at % 3, 3) };
        self.found[key].as_array().unwrap().iter().skip(skipped).step_by(step)
    }

    /// What dsh found of the events of each session: `{more, hits}`.
    fn events(&self, query: &str) -> &serde_json::Map<String, Value> {
        let cases = self.found["searchEvents"].as_array().unwrap();
        cases.iter().find(|case| case["query"] == query).unwrap()["sessions"].as_object().unwrap()
    }
}

impl Standing<'_> {
    /// Whether dsh found in a session what stands there as whole words, and nothing else.
    fn is_dsh_alike(&self, id: &str, found: &serde_json::Map<String, Value>) -> bool {
        let dsh: BTreeSet<u64> = found.get(id).map(|found| seqs(&found["hits"])).unwrap_or_default();
        let whole: BTreeSet<u64> = self.whole.iter().filter(|place| place.0 == id).map(|place| place.1).collect();
        // Of many hits there is only the first page.
        let has_more = found.get(id).is_some_and(|found| found["more"] == true);
        self.alike.contains(id) && if has_more { dsh.is_subset(&whole) } else { dsh == whole }
    }
}

fn seqs(hits: &Value) -> BTreeSet<u64> {
    hits.as_array().unwrap().iter().map(|hit| hit[0].as_u64().unwrap()).collect()
}

fn query(text: &str) -> Query {
    Query { pattern: Pattern::of_query(text).unwrap(), events: EventFilter::default(), extra: Extra::default() }
}

fn hit_json(hit: &Hit) -> Value {
    json!([hit.seq, hit.kind.to_string_lossy(), hit.placement.name(), hit.snippet])
}

/// The best hit of each session, sessions strongest first.
fn best_hits<'c>(corpus: &Corpus, catalog: &'c Catalog, query: &Query) -> Vec<(&'c Record, Hit)> {
    let records: Vec<&Record> = catalog.records.iter().collect();
    let mut best = Vec::new();
    search_sessions(corpus, &records, query, &mut |record, found| {
        best.extend(found.unwrap().hits.into_iter().map(|hit| (record, hit)));
        ControlFlow::Continue(())
    });
    best.sort_by(|(a, a_hit), (b, b_hit)| rank_sessions((a, a_hit), (b, b_hit)));
    best
}

/// A query that a command line can hold, and for which strict JSON has the very text.
fn plain(query: &Value) -> Option<&str> {
    query.as_str().filter(|query| !query.contains('\0') && !query.contains("<U+"))
}

#[test]
fn every_hit_is_there_and_those_of_dsh_come_first_as_in_dsh() {
    let mut differences = Differences::default();
    let all = Golden::all();
    let (mut ours, mut theirs, mut equal) = (0, 0, 0);
    for (at, golden) in all.iter().enumerate() {
        let corpus = Corpus::at(&golden.store);
        let catalog = corpus.catalog().unwrap();
        for case in golden.share(at, "searchSessions") {
            let Some(text) = plain(&case["query"]) else { continue };
            let (standing, dsh, query) = (golden.standing(text), golden.events(text), query(text));
            let best = best_hits(&corpus, &catalog, &query);
            let place = format!("{} {text:?}", golden.name);
            let found_in: BTreeSet<String> =
                best.iter().map(|(record, _)| record.id().to_string_lossy().into_owned()).collect();
            let holding: BTreeSet<&str> = standing.all.iter().map(|place| place.0).collect();
            differences.compare(format!("{place}: sessions"), &found_in, holding);
            for id in found_in.iter().map(String::as_str).chain(dsh.keys().map(String::as_str)) {
                let place = format!("{place} in {id}");
                let hits = search_session(&corpus, record_of(&catalog, id).unwrap(), &query, Wanted::All).unwrap().hits;
                let found: BTreeSet<Place<'_>> = hits.iter().map(|hit| (id, hit.seq)).collect();
                let holding: BTreeSet<Place<'_>> = standing.all.iter().filter(|place| place.0 == id).copied().collect();
                differences.compare(format!("{place}: events"), &found, &holding);
                let own_best = best.iter().find(|(record, _)| record.id() == id).map(|(_, hit)| hit_json(hit));
                differences.compare(format!("{place}: best"), own_best, hits.first().map(hit_json));
                let dsh_hits = dsh.get(id).map_or(json!([]), |found| found["hits"].clone());
                let of_dsh = seqs(&dsh_hits);
                ours += found.iter().filter(|place| !of_dsh.contains(&place.1)).count();
                theirs += of_dsh.iter().filter(|seq| !holding.contains(&(id, **seq))).count();
                if standing.is_dsh_alike(id, dsh) {
                    let first = of_dsh.len().min(hits.len());
                    let rows: Vec<Value> = hits[..first].iter().map(hit_json).collect();
                    differences.compare(format!("{place}: hits"), rows, &dsh_hits);
                    equal += first;
                }
            }
            if golden.texts.keys().all(|id| standing.is_dsh_alike(id, dsh)) {
                let expected: Vec<Value> =
                    case["hits"].as_array().unwrap().iter().map(|hit| json!([hit["id"], hit["best"]])).collect();
                let rows: Vec<Value> = best
                    .iter()
                    .take(expected.len())
                    .map(|(record, hit)| json!([record.id().to_string_lossy(), hit_json(hit)]))
                    .collect();
                differences.compare(format!("{place}: best hits"), rows, &expected);
                equal += expected.len();
            }
        }
    }
    let files = all.len();
    assert!(equal >= 50 * files, "only {equal} hits could be compared with those of dsh");
    assert!(ours >= files && theirs >= 2 * files, "the two kinds of search differ in {ours} and {theirs} hits only");
    differences.none_of_at_least(100 * files);
}

#[test]
fn an_index_finds_the_same_in_the_stores_of_dsh() {
    let mut differences = Differences::default();
    let all = Golden::all();
    for (at, golden) in all.iter().enumerate() {
        let sandbox = Sandbox::new();
        let search = |arguments: &[&str]| {
            let mut command = sandbox.command();
            command.args(["--json", "--store"]).arg(&golden.store).args(["sessions", "search"]).args(arguments);
            outcome(command, b"")
        };
        let id = named(golden.texts.keys().next_back().unwrap());
        let queries: Vec<&str> = golden.share(at, "searchSessions").filter_map(|case| plain(&case["query"])).collect();
        for text in queries.iter().step_by(queries.len().div_ceil(7)) {
            for scope in [&["--limit", "5"][..], &["--session", &id]] {
                let scanned = search(&[scope, &["--", text]].concat());
                let indexed = search(&[scope, &["--index", "--", text]].concat());
                let place = format!("{} {text:?} {scope:?}", golden.name);
                differences.compare(&place, indexed.json(), scanned.json());
                differences.compare(&place, (indexed.stderr, indexed.status), (scanned.stderr, scanned.status));
            }
        }
        // The index was used, and not passed over with all its problems.
        let status =
            sandbox.command().args(["index", "status", "--json", "--store"]).arg(&golden.store).output().unwrap();
        let status: Value = serde_json::from_slice(&status.stdout).unwrap();
        differences.compare(format!("{}: {status}", golden.name), &status["indexed"], golden.texts.len());
    }
    differences.none_of_at_least(20 * all.len());
}

/// The name of a session by which it is meant whatever its id looks like.
fn named(id: &str) -> String {
    uri::encode(&JsStr::from(id))
}

/// What the command found: of a page of sessions `[id, seq]`, of a page of events the seq.
fn items(document: &Value) -> Vec<Value> {
    let item = |item: &Value| match item.get("bestMatch") {
        Some(best) => json!([item["session"]["sessionId"], best["seq"]]),
        None => item["seq"].clone(),
    };
    document["items"].as_array().unwrap().iter().map(item).collect()
}

#[test]
fn filters_narrow_a_search_as_in_dsh() {
    let mut differences = Differences::default();
    let all = Golden::all();
    for golden in &all {
        for case in golden.found["filtered"].as_array().unwrap() {
            let text = case["query"].as_str().unwrap();
            let (standing, dsh) = (golden.standing(text), golden.events(text));
            if !golden.texts.keys().all(|id| standing.is_dsh_alike(id, dsh)) {
                continue;
            }
            let mut arguments = vec!["sessions".to_owned(), "search".to_owned(), "--limit=100".to_owned()];
            for (key, flag) in [("sessionFilters", "--session-filter"), ("eventFilters", "--event-filter")] {
                arguments.extend(case.get(key).map(|filters| format!("{flag}={filters}")));
            }
            arguments.push(text.to_owned());
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
            let found = items(&run_in_store(&golden.store, &arguments).json());
            let expected = case["hits"].as_array().unwrap();
            let (first, rest) = found.split_at(expected.len().min(found.len()));
            let place = format!("{} {case}", golden.name);
            differences.compare(&place, first, expected);
            // What only we find is not there as whole words; dsh's first page has twenty sessions.
            for more in rest.iter().filter(|_| expected.len() < 20) {
                let event = (more[0].as_str().unwrap(), more[1].as_u64().unwrap());
                differences.compare(format!("{place}: {more}"), standing.whole.contains(&event), false);
            }
        }
    }
    differences.none_of_at_least(19 * all.len());
}

#[test]
fn pages_follow_each_other_as_in_dsh() {
    let mut differences = Differences::default();
    let all = Golden::all();
    let mut exact = 0;
    for (at, golden) in all.iter().enumerate() {
        for case in golden.share(at, "pagination") {
            let (text, limit) = (case["query"].as_str().unwrap(), case["limit"].to_string());
            let (standing, dsh) = (golden.standing(text), golden.events(text));
            let within = case["sessionId"].as_str();
            let is_meant = |id: &str| within.is_none_or(|within| id == within);
            if !golden.texts.keys().filter(|id| is_meant(id)).all(|id| standing.is_dsh_alike(id, dsh)) {
                continue;
            }
            let is_same = standing.all.iter().filter(|place| is_meant(place.0)).all(|it| standing.whole.contains(it));
            let expected: Vec<Vec<Value>> = serde_json::from_value(case["pages"].clone()).unwrap();
            let mut pages: Vec<Vec<Value>> = Vec::new();
            let mut cursor: Option<String> = None;
            // Where we find more than dsh, as many pages as it has are enough.
            while (is_same || pages.len() < expected.len()) && (pages.is_empty() || cursor.is_some()) {
                let session = within.map(|id| format!("--session={}", named(id)));
                let next = cursor.take().map(|cursor| format!("--cursor={cursor}"));
                let mut arguments = vec!["sessions", "search", "--limit", &limit];
                arguments.extend(session.iter().chain(&next).map(String::as_str));
                arguments.push(text);
                let document = run_in_store(&golden.store, &arguments).json();
                cursor = document["nextCursor"].as_str().map(str::to_owned);
                pages.push(items(&document));
            }
            let place = format!("{} {case}", golden.name);
            if is_same {
                differences.compare(place, pages, expected);
                exact += 1;
            } else {
                let expected = expected.concat();
                let found = pages.concat();
                differences.compare(place, &found[..expected.len().min(found.len())], &expected);
            }
        }
    }
    assert!(exact >= 2 * all.len(), "only {exact} lists of pages had to be the same");
    differences.none_of_at_least(5 * all.len());
}

#[test]
fn snippets_of_any_length_are_those_of_dsh() {
    let mut differences = Differences::default();
    let all = Golden::all();
    for golden in &all {
        for case in golden.found["snippetChars"].as_array().unwrap() {
            let (text, length) = (case["query"].as_str().unwrap(), case["snippetChars"].as_u64().unwrap());
            let (standing, pattern) = (golden.standing(text), Pattern::of_query(text).unwrap());
            let of_sessions = case["sessions"].as_array().unwrap().iter().map(|hit| (&hit[0], &hit[1], &hit[2]));
            let events = case["events"]["hits"].as_array().unwrap().iter();
            let of_events = events.map(|hit| (&case["events"]["sessionId"], &hit[0], &hit[1]));
            for (id, seq, expected) in of_sessions.chain(of_events) {
                let (id, seq) = (id.as_str().unwrap(), seq.as_u64().unwrap());
                // Where dsh found tokens elsewhere than we do, its snippet shows another place.
                if !standing.alike.contains(id) || !standing.whole.contains(&(id, seq)) {
                    continue;
                }
                let text = &golden.texts[id].iter().find(|text| text.seq == seq).unwrap().text;
                let start = pattern.count_in(text).unwrap().start;
                let place = format!("{} {} in {id} {seq}, {length}", golden.name, case["query"]);
                differences.compare(place, snippet(text, start, length as usize), shown(expected.as_str().unwrap()));
            }
        }
    }
    differences.none_of_at_least(12 * all.len());
}

/// What dsh refuses of a search, as far as a command line can hold it. Its limits on the number of
/// clauses and values are those of its SQL, which we have no part in.
#[test]
fn wrong_searches_fail_with_the_codes_of_dsh() {
    let mut differences = Differences::default();
    let all = Golden::all();
    let with_requests = all.iter().filter(|golden| golden.found["badRequests"].is_array());
    let mut files = 0;
    for golden in with_requests {
        // Some files have only those requests that depend on the store.
        files += usize::from(golden.found["badRequests"].as_array().unwrap().len() > 40);
        for case in golden.found["badRequests"].as_array().unwrap() {
            let Some(arguments) = command_line(case) else { continue };
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
            let outcome = run_in_store(&golden.store, &arguments);
            let place = format!("{}: {case}", golden.name);
            if case["ok"] == true {
                differences.compare(place, outcome.status.is_some_and(|status| status <= 1), true);
                continue;
            }
            let status = if case["error"]["code"] == "SESSION_QUERY_SESSION_NOT_FOUND" { 3 } else { 2 };
            let error: Value = serde_json::from_str(outcome.stderr.lines().last().unwrap_or("null")).unwrap();
            let got = json!([outcome.status, error["error"]["code"]]);
            differences.compare(place, got, json!([status, case["error"]["code"]]));
        }
    }
    differences.none_of_at_least(20 * files);
}

fn command_line(case: &Value) -> Option<Vec<String>> {
    let request = case["request"].as_object().unwrap();
    let of_engine = ["signal", "config", "after"].iter().any(|key| case.get(key).is_some());
    let has_code = case["ok"] == true || case["error"]["code"].is_string();
    let is_long = |key: &str| request.get(key).and_then(Value::as_array).is_some_and(|clauses| clauses.len() > 5);
    let is_limited = ["sessionFilters", "eventFilters", "filters"].iter().any(|key| is_long(key));
    let text = case["request"].to_string();
    if of_engine || !has_code || is_limited || ["\"$\"", "\"$repeat\"", "\\u0000"].iter().any(|it| text.contains(it)) {
        return None;
    }
    let mut words = vec!["sessions".to_owned(), "search".to_owned()];
    for (key, value) in request {
        words.push(match key.as_str() {
            "query" => continue,
            "limit" => format!("--limit={}", value.as_i64()?),
            "cursor" => format!("--cursor={}", value.as_str()?),
            "sessionId" => format!("--session={}", value.as_str()?),
            "sessionFilters" => format!("--session-filter={value}"),
            "eventFilters" | "filters" => format!("--event-filter={value}"),
            _ => panic!("the request {case} is of no known kind"),
        });
    }
    if case["method"] == "searchEvents" && !request.contains_key("sessionId") {
        return None;
    }
    words.push("--".to_owned());
    words.push(request.get("query")?.as_str()?.to_owned());
    Some(words)
}

/// A user's message as a row of a log, each a second after the one before.
fn said(seq: u64, text: &str) -> String {
    let data = json!({"role": "user", "id": format!("m{seq}"), "source": {"kind": "user"},
        "content": [{"type": "text", "text": text}]});
    json!({"type": "user/message", "seq": seq, "time": 1000 + seq * 1000, "data": data, "surfaceOp": "append"})
        .to_string()
}

/// Writes a session in which these texts were said.
fn session(sandbox: &Sandbox, id: &str, texts: &[&str]) -> PathBuf {
    let rows: Vec<String> = texts.iter().zip(0..).map(|(text, seq)| said(seq, text)).collect();
    sandbox.plain_log(id, &rows.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Searches, and gives what was found; with an index it is the same.
#[track_caller]
fn search(sandbox: &Sandbox, arguments: &[&str]) -> Value {
    let outcome = sandbox.run(&[&["sessions", "search", "--json"], arguments].concat());
    let document = outcome.json();
    let status = i32::from(document["items"] == json!([]) && document["nextCursor"].is_null());
    let warnings = outcome.exits(status).stderr;
    let indexed = sandbox.run(&[&["sessions", "search", "--json", "--index"], arguments].concat());
    assert_eq!(indexed.json(), document, "{indexed}");
    assert_eq!(indexed.stderr, warnings, "{indexed}");
    indexed.exits(status);
    document
}

/// The ids of the sessions found, in code point order.
#[track_caller]
fn ids_found(sandbox: &Sandbox, arguments: &[&str]) -> Vec<String> {
    let document = search(sandbox, arguments);
    let id = |item: &Value| item["session"]["sessionId"].as_str().unwrap().to_owned();
    let mut ids: Vec<String> = document["items"].as_array().unwrap().iter().map(id).collect();
    ids.sort();
    ids
}

/// The seqs of the events found in a session, strongest first.
#[track_caller]
fn seqs_found(sandbox: &Sandbox, arguments: &[&str]) -> Vec<u64> {
    let document = search(sandbox, arguments);
    document["items"].as_array().unwrap().iter().map(|item| item["seq"].as_u64().unwrap()).collect()
}

#[test]
fn every_script_is_searched_by_its_characters() {
    let sandbox = Sandbox::new();
    let texts = [
        ("simplified", "全文搜索引擎支持中文分词吗，请说明"),
        ("traditional", "全文檢索說明：請說明繁體中文"),
        ("kana", "カタカナとひらがなのテスト"),
        ("halfwidth", "ｶﾀｶﾅ"),
        ("hangul", "한국어 검색을 지원합니다"),
        ("mixed", "用Rust写的CLI工具v2.0は速い"),
        ("sharp-s", "Die Straße ist groß"),
        ("capital-s", "DIE STRASSE"),
        ("acute", "Le café est fermé"),
        ("bare", "a cafe in town"),
        ("decomposed", "cafe\u{301} again"),
        ("fullwidth", "ＡＢＣ１２３"),
        ("ascii", "abc123"),
        ("emoji", "done 👍🏽 and 👩‍👩‍👧 ok"),
        ("greek", "ὁ Σίσυφος καὶ ὁ ΟΔΥΣΣΕΥΣ"),
        ("cyrillic", "Привет, МИР"),
        ("turkish", "İstanbul ve ısı"),
    ];
    for (id, text) in texts {
        session(&sandbox, id, &[text]);
    }
    let cases: &[(&str, &[&str])] = &[
        // One character and two, at any place in a run of them.
        ("搜", &["simplified"]),
        ("搜索", &["simplified"]),
        ("文搜", &["simplified"]),
        ("中文", &["simplified", "traditional"]),
        ("全文", &["simplified", "traditional"]),
        // Simplified and traditional forms are different characters.
        ("说明", &["simplified"]),
        ("說明", &["traditional"]),
        ("檢索", &["traditional"]),
        ("检索", &[]),
        ("カナ", &["kana"]),
        ("ひらがな", &["kana"]),
        ("かたかな", &[]),
        ("カ", &["kana"]),
        ("ｶﾅ", &["halfwidth"]),
        ("검색", &["hangul"]),
        ("색을", &["hangul"]),
        ("국어 검", &["hangul"]),
        ("ㄱ", &[]),
        ("用rust写", &["mixed"]),
        ("cli工具", &["mixed"]),
        ("v2.0は", &["mixed"]),
        // Case folds one character to one character.
        ("straße", &["sharp-s"]),
        ("STRAẞE", &["sharp-s"]),
        ("STRASSE", &["capital-s"]),
        ("strasse", &["capital-s"]),
        ("σίσυφοσ", &["greek"]),
        ("οδυσσευς", &["greek"]),
        ("привет, мир", &["cyrillic"]),
        ("i\u{307}stanbul", &[]),
        ("İSTANBUL", &["turkish"]),
        ("ISI", &[]),
        // Diacritics and widths count, and so does how they are written.
        ("café", &["acute"]),
        ("CAFÉ", &["acute"]),
        ("cafe\u{301}", &["decomposed"]),
        ("cafe", &["bare", "decomposed"]),
        ("abc123", &["ascii"]),
        ("ａｂｃ", &["fullwidth"]),
        ("👍", &["emoji"]),
        ("👍🏽", &["emoji"]),
        ("👩‍👧", &["emoji"]),
        ("🏽 and", &["emoji"]),
        ("👎", &[]),
    ];
    for (query, expected) in cases {
        assert_eq!(ids_found(&sandbox, &[query]), *expected, "{query}");
    }
}

#[test]
fn a_query_is_never_syntax() {
    let sandbox = Sandbox::new();
    let texts = [
        ("a-operators", "this OR that AND NOT those"),
        ("b-near", "NEAR(this that)"),
        ("c-star", "a pre* b"),
        ("d-sql", "'; DROP TABLE docs; --"),
        ("e-quotes", "she said \"this is it\""),
        ("f-regex", "a.b [a-z]+ (?i) \\d"),
        ("g-flag", "pass --limit 3"),
        ("h-decoy", "this and that prefix, axb, DROP, limit"),
    ];
    for (id, text) in texts {
        session(&sandbox, id, &[text]);
    }
    let cases: &[(&str, &[&str])] = &[
        ("this OR that", &["a-operators"]),
        ("that this", &[]),
        ("NEAR(this that)", &["b-near"]),
        ("pre*", &["c-star"]),
        ("'; DROP TABLE docs; --", &["d-sql"]),
        ("--", &["d-sql", "g-flag"]),
        ("--limit", &["g-flag"]),
        ("\"this", &["e-quotes"]),
        ("\"", &["e-quotes"]),
        ("a.b", &["f-regex"]),
        ("[a-z]+", &["f-regex"]),
        ("\\d", &["f-regex"]),
        ("%", &[]),
        ("_", &[]),
        // White space is any white space, where the query has some.
        ("  this \n\u{3000} or\tTHAT ", &["a-operators"]),
        ("thisor", &[]),
    ];
    for (query, expected) in cases {
        assert_eq!(ids_found(&sandbox, &["--", query]), *expected, "{query}");
    }
    // Without the two dashes too.
    assert_eq!(ids_found(&sandbox, &["--limit 3"]), ["g-flag"]);
}

#[test]
fn whole_words_come_before_parts_of_words() {
    let sandbox = Sandbox::new();
    let log =
        session(&sandbox, "s", &["cats cats cats cats", "a cat", "cat cat, and more words", "concatenate", "the cat!"]);
    // Two matches; then one each, the shorter first; then those within words, more of them first.
    assert_eq!(seqs_found(&sandbox, &["--session", "s", "cat"]), [2, 1, 4, 0, 3]);
    // Equal matches and lengths: the later first.
    fs::write(&log, fs::read_to_string(&log).unwrap() + &said(5, "1 cat") + "\n").unwrap();
    assert_eq!(seqs_found(&sandbox, &["--session", "s", "cat"]), [2, 5, 1, 4, 0, 3]);
}

#[test]
fn snippets_are_whole_characters_around_the_match() {
    let sandbox = Sandbox::new();
    let filler = "😀é漢 \n\u{3000}字👩‍👧".repeat(60);
    let texts = [
        format!("{filler}needle"),
        format!("needle{filler}"),
        format!("{filler} Needle  and\n NEEDLE {filler}"),
        "a short needle".to_owned(),
    ];
    session(&sandbox, "s", &texts.each_ref().map(String::as_str));
    let document = search(&sandbox, &["--session", "s", "needle"]);
    let items = document["items"].as_array().unwrap();
    assert_eq!(items.len(), texts.len());
    for item in items {
        let text = &texts[item["seq"].as_u64().unwrap() as usize];
        let snippet = item["snippet"].as_str().unwrap();
        assert!(snippet.chars().count() <= 240, "{snippet}");
        let normal = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(normal.contains(snippet.trim_matches('…')), "{snippet}");
        assert_eq!(snippet.starts_with('…'), !normal.starts_with(snippet.trim_end_matches('…')), "{snippet}");
        assert_eq!(snippet.ends_with('…'), !normal.ends_with(snippet.trim_start_matches('…')), "{snippet}");
        // Matches are told in code points of the snippet.
        let characters: Vec<char> = snippet.chars().collect();
        let matches = item["matches"].as_array().unwrap();
        assert_eq!(matches.len(), snippet.to_lowercase().matches("needle").count());
        assert!(!matches.is_empty());
        for place in matches {
            let end = |key: &str| place[key].as_u64().unwrap() as usize;
            let found: String = characters[end("start")..end("end")].iter().collect();
            assert_eq!(found.to_lowercase(), "needle", "{snippet}");
        }
    }
}

#[test]
fn reasoning_and_titles_are_searched_when_asked_for() {
    let sandbox = Sandbox::new();
    let assistant = json!({"type": "assistant/message", "seq": 1, "time": 3000, "surfaceOp": "append", "data": {
        "turn": 1, "step": 1, "message": {"id": "m1", "role": "assistant", "source": {"kind": "model", "provider": "p", "model": "m"}, "content": [
            {"type": "reasoning", "text": "a hidden thought"}, {"type": "text", "text": "a spoken word"}]}}});
    let title = json!({"type": "session/title", "seq": 2, "time": 4000,
        "data": {"title": "An invented heading", "source": "user"}});
    sandbox.plain_log("s", &[&said(0, "hello"), &assistant.to_string(), &title.to_string()]);
    let checked = sandbox.run(&["sessions", "check", "--json"]).success().json();
    assert_eq!(checked["sessions"][0]["verdict"], "ok");
    for scope in [&[][..], &["--session", "s"]] {
        let found = |arguments: &[&str]| {
            let document = search(&sandbox, &[scope, arguments].concat());
            let seq = |item: &Value| item.get("bestMatch").unwrap_or(item)["seq"].as_u64().unwrap();
            document["items"].as_array().unwrap().iter().map(seq).collect::<Vec<u64>>()
        };
        assert_eq!(found(&["spoken"]), [1]);
        assert_eq!(found(&["hidden thought"]), [0; 0]);
        assert_eq!(found(&["--titles", "hidden thought"]), [0; 0]);
        assert_eq!(found(&["--reasoning", "hidden thought"]), [1]);
        assert_eq!(found(&["invented heading"]), [0; 0]);
        assert_eq!(found(&["--reasoning", "invented heading"]), [0; 0]);
        assert_eq!(found(&["--titles", "invented heading"]), [2]);
    }
}

#[test]
fn a_damaged_log_is_searched_up_to_its_damage() {
    let sandbox = Sandbox::new();
    let path = session(&sandbox, "damaged", &["needle before", "plain", "needle behind", "the last needle"]);
    session(&sandbox, "sound", &["a needle in a sound log"]);
    let text = fs::read_to_string(&path).unwrap();
    // The row of seq 1, in the middle of the log: no JSON, behind which dsh drops the rest; an event that
    // cannot be, for which dsh refuses the log; a seq that is missing.
    for (whole, part) in [("\"seq\":1,", "\"seq\":{,"), ("\"id\":\"m1\"", "\"id\":1"), ("\"seq\":1,", "\"seq\":7,")] {
        let garbled = text.replace(whole, part);
        assert_ne!(garbled, text);
        fs::write(&path, &garbled).unwrap();
        is_searched_up_to_its_damage(&sandbox);
    }
    // A last row that was not written to its end.
    fs::write(&path, text.trim_end().trim_end_matches('}')).unwrap();
    let document = search(&sandbox, &["--session", "damaged", "needle"]);
    let seqs: Vec<&Value> = document["items"].as_array().unwrap().iter().map(|item| &item["seq"]).collect();
    assert_eq!((json!(seqs), &document["notes"][0]["kind"]), (json!([2, 0]), &json!("torn-tail")));
}

/// The session `damaged` is sound up to its second event, and beside it lies the session `sound`.
#[track_caller]
fn is_searched_up_to_its_damage(sandbox: &Sandbox) {
    let document = search(sandbox, &["needle"]);
    let best: Vec<Value> = document["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| json!([item["session"]["sessionId"], item["bestMatch"]["seq"]]))
        .collect();
    assert_eq!(best, [json!(["damaged", 0]), json!(["sound", 0])]);
    let notes = document["notes"].as_array().unwrap();
    assert_eq!(notes.len(), 1);
    assert_eq!(notes[0]["sessionId"], "damaged");
    assert!(notes[0]["path"].as_str().unwrap().ends_with("damaged/session.jsonl"));
    // Behind the damage nothing is searched, and the note says why nothing may have been found.
    for nothing in ["behind", "last"] {
        let document = search(sandbox, &[nothing]);
        assert_eq!((&document["items"], &document["notes"][0]["sessionId"]), (&json!([]), &json!("damaged")));
    }
    let document = search(sandbox, &["--session", "damaged", "needle"]);
    assert_eq!((&document["items"][0]["seq"], &document["items"][1]), (&json!(0), &json!(null)));
    assert_eq!(document["notes"][0]["sessionId"], "damaged");
    assert_eq!(search(sandbox, &["--session", "sound", "needle"])["notes"], json!([]));

    let strict = sandbox.run(&["sessions", "search", "--json", "--strict", "needle"]).exits(6);
    assert_eq!(strict.json()["items"].as_array().unwrap().len(), 2);
    assert!(strict.stderr.contains("not all was searched"), "{strict}");
    sandbox.run(&["sessions", "search", "--json", "--strict", "--session", "damaged", "needle"]).exits(6);
    sandbox.run(&["sessions", "search", "--json", "--strict", "--session", "sound", "needle"]).success();
    // A stream has the note as a record.
    let records = sandbox.run(&["sessions", "search", "--jsonl", "needle"]).success().records();
    let notes: Vec<&Value> = records.iter().filter_map(|record| record.get("note")).collect();
    assert_eq!((records.len(), notes.len()), (3, 1));
    assert_eq!(notes[0]["sessionId"], "damaged");
}

#[test]
fn a_stream_has_the_hits_of_a_page() {
    let sandbox = Sandbox::new();
    let ids: Vec<String> = (0..30).map(|number| format!("s{number:02}")).collect();
    for (id, number) in ids.iter().zip(0..) {
        let text = if number % 2 == 0 { "has the needle".to_owned() } else { format!("{number} of hay") };
        session(&sandbox, id, &[&text, &text]);
    }
    let page = search(&sandbox, &["needle"]);
    let sorted = |items: &[Value]| {
        let mut items: Vec<String> = items.iter().map(Value::to_string).collect();
        items.sort();
        items
    };
    let items = sorted(page["items"].as_array().unwrap());
    assert_eq!(items.len(), 15);
    let mut streamed = sandbox.run(&["sessions", "search", "--jsonl", "needle"]).success().records();
    for record in &mut streamed {
        record.as_object_mut().unwrap().remove("schema");
    }
    assert_eq!(sorted(&streamed), items);
    // With a limit there is an order, and the cursor of the next page comes last.
    let page = search(&sandbox, &["--limit", "4", "needle"]);
    let records = sandbox.run(&["sessions", "search", "--jsonl", "--limit", "4", "needle"]).success().records();
    let found = |items: &[Value]| -> Vec<String> {
        items.iter().map(|item| item["session"]["sessionId"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(found(&records[..4]), ["s00", "s02", "s04", "s06"]);
    assert_eq!(found(page["items"].as_array().unwrap()), ["s00", "s02", "s04", "s06"]);
    assert_eq!((records.len(), &records[4]["nextCursor"]), (5, &page["nextCursor"]));
    sandbox.run(&["sessions", "search", "--jsonl", "no such text"]).exits(1);
}

#[test]
fn a_page_names_its_session_even_without_hits() {
    let sandbox = Sandbox::new();
    session(&sandbox, "quiet", &["nothing here"]);
    let outcome = sandbox.run(&["sessions", "search", "--json", "--session", "quiet", "needle"]).exits(1);
    let document = outcome.json();
    assert_eq!(document["session"]["sessionId"], "quiet");
    assert_eq!((&document["items"], &document["notes"]), (&json!([]), &json!([])));
    assert!(document.get("nextCursor").is_none());
    assert_eq!(search(&sandbox, &["needle"])["items"], json!([]));
}

const INVALID: &str = "SESSION_QUERY_INVALID_CURSOR";
const STALE: &str = "SESSION_QUERY_STALE_CURSOR";

/// Five sessions; in the first of them five events match.
fn paged() -> Sandbox {
    let sandbox = Sandbox::new();
    for id in ["a", "b", "c", "d", "e"] {
        let texts = ["some needle", "some needle", "some needle", "some needle", "some needle"];
        session(&sandbox, id, if id == "a" { &texts } else { &texts[..1] });
    }
    sandbox
}

#[track_caller]
fn next_cursor(sandbox: &Sandbox, arguments: &[&str]) -> String {
    search(sandbox, arguments)["nextCursor"].as_str().unwrap().to_owned()
}

/// Asserts that a cursor is refused for a request.
#[track_caller]
fn refused(sandbox: &Sandbox, cursor: &str, arguments: &[&str], code: &str) {
    let cursor = format!("--cursor={cursor}");
    let status = if code == STALE { 7 } else { 2 };
    sandbox.run(&[&["sessions", "search", "--json", &cursor], arguments].concat()).fails(status, code);
}

#[test]
fn cursors_lead_through_all_pages() {
    let sandbox = paged();
    for (scope, expected) in [
        (&[][..], vec![json!(["a", 4]), json!(["b", 0]), json!(["c", 0]), json!(["d", 0]), json!(["e", 0])]),
        (&["--session", "a"], vec![json!(4), json!(3), json!(2), json!(1), json!(0)]),
    ] {
        for limit in ["1", "2", "3", "5", "100"] {
            let arguments = [scope, &["--limit", limit, "some needle"]].concat();
            let (mut found, mut pages) = (Vec::new(), 0);
            let mut page = search(&sandbox, &arguments);
            loop {
                found.extend(items(&page));
                pages += 1;
                let Some(cursor) = page["nextCursor"].as_str() else { break };
                let cursor = format!("--cursor={cursor}");
                let again = search(&sandbox, &[&arguments[..], &[&cursor]].concat());
                page = search(&sandbox, &[&arguments[..], &[&cursor]].concat());
                assert_eq!(again, page);
            }
            assert_eq!(found, expected);
            assert_eq!(pages, 5usize.div_ceil(limit.parse().unwrap()));
        }
    }
}

#[test]
fn a_cursor_belongs_to_its_request() {
    let sandbox = paged();
    let filter = r#"[{"kind":"created-at","from":1},{"kind":"id","values":["a","b","c"]}]"#;
    let cursor = next_cursor(&sandbox, &["--limit", "1", "some needle"]);
    let filtered = next_cursor(&sandbox, &["--limit", "1", "--session-filter", filter, "some needle"]);
    let of_session = next_cursor(&sandbox, &["--limit", "1", "--session", "a", "some needle"]);

    // The same request in other words.
    let accepted: &[(&str, &[&str], Value)] = &[
        (&cursor, &["--limit", "1", " some\n\u{3000}needle  "], json!([["b", 0]])),
        (
            &cursor,
            &["--limit", "1", "--session-filter", "[]", "--event-filter", "[ ]", "some needle"],
            json!([["b", 0]]),
        ),
        (
            &filtered,
            &[
                "--limit",
                "1",
                "some needle",
                "--session-filter",
                r#"[{"values":["c","a","b"],"kind":"id"},{"kind":"created-at","from":1.0}]"#,
            ],
            json!([["b", 0]]),
        ),
        (&of_session, &["--limit", "1", "--session", "a", "some  needle"], json!([3])),
    ];
    for (cursor, arguments, expected) in accepted {
        let cursor = format!("--cursor={cursor}");
        assert_eq!(json!(items(&search(&sandbox, &[&[cursor.as_str()], *arguments].concat()))), *expected);
    }

    let refusals: &[(&str, &[&str])] = &[
        (&cursor, &["--limit", "1", "some needles"]),
        (&cursor, &["--limit", "1", "Some needle"]),
        (&cursor, &["--limit", "1", "someneedle"]),
        (&cursor, &["--limit", "2", "some needle"]),
        (&cursor, &["some needle"]),
        (&cursor, &["--limit", "1", "--session-filter", filter, "some needle"]),
        (&cursor, &["--limit", "1", "--event-filter", r#"[{"kind":"seq","from":0}]"#, "some needle"]),
        (&cursor, &["--limit", "1", "--type", "user/message", "some needle"]),
        (&cursor, &["--limit", "1", "--surface", "current", "some needle"]),
        (&cursor, &["--limit", "1", "--since", "1", "some needle"]),
        (&cursor, &["--limit", "1", "--origin", "user", "some needle"]),
        (&cursor, &["--limit", "1", "--reasoning", "some needle"]),
        (&cursor, &["--limit", "1", "--titles", "some needle"]),
        (&cursor, &["--limit", "1", "--session", "a", "some needle"]),
        (&filtered, &["--limit", "1", "some needle"]),
        (&filtered, &["--limit", "1", "--session-filter", r#"[{"kind":"id","values":["a","b","c"]}]"#, "some needle"]),
        (
            &filtered,
            &[
                "--limit",
                "1",
                "some needle",
                "--session-filter",
                r#"[{"kind":"created-at","from":1},{"kind":"id","values":["a","b","c","c"]}]"#,
            ],
        ),
        (&of_session, &["--limit", "1", "some needle"]),
        (&of_session, &["--limit", "1", "--session", "b", "some needle"]),
    ];
    for (cursor, arguments) in refusals {
        refused(&sandbox, cursor, arguments, INVALID);
    }
}

#[test]
fn an_edited_cursor_is_refused() {
    let sandbox = paged();
    let arguments = ["--limit", "1", "some needle"];
    let cursor = next_cursor(&sandbox, &arguments);
    for at in (0..cursor.len()).step_by(4) {
        let mut edited = cursor.clone().into_bytes();
        edited[at] = if edited[at] == b'A' { b'B' } else { b'A' };
        refused(&sandbox, std::str::from_utf8(&edited).unwrap(), &arguments, INVALID);
    }
    let (padded, longer, shorter) = (format!("{cursor}=="), format!("{cursor}AAAA"), &cursor[..cursor.len() - 4]);
    for edited in ["", "zzz", "%%%", "e30", &padded, &longer, shorter, &cursor.to_lowercase()] {
        refused(&sandbox, edited, &arguments, INVALID);
    }
}

#[test]
fn a_cursor_is_stale_when_what_was_searched_has_changed() {
    let append = |path: &PathBuf, row: &str| {
        fs::write(path, fs::read_to_string(path).unwrap() + row + "\n").unwrap();
    };
    let everywhere = ["--limit", "1", "some needle"];
    let in_a = ["--limit", "1", "--session", "a", "some needle"];
    let is_good = |sandbox: &Sandbox, cursor: &str, arguments: &[&str]| {
        assert_eq!(items(&search(sandbox, &[arguments, &[&format!("--cursor={cursor}")]].concat())).len(), 1);
    };
    let log_of = |sandbox: &Sandbox, id: &str| sandbox.sessions().join("_no-cwd").join(id).join("session.jsonl");

    // A new session, even one that does not match.
    let sandbox = paged();
    let (cursor, own) = (next_cursor(&sandbox, &everywhere), next_cursor(&sandbox, &in_a));
    session(&sandbox, "f", &["hay"]);
    refused(&sandbox, &cursor, &everywhere, STALE);
    is_good(&sandbox, &own, &in_a);
    is_good(&sandbox, &next_cursor(&sandbox, &everywhere), &everywhere);

    // Another session's log has grown.
    let cursor = next_cursor(&sandbox, &everywhere);
    append(&log_of(&sandbox, "b"), &said(1, "hay"));
    refused(&sandbox, &cursor, &everywhere, STALE);
    is_good(&sandbox, &own, &in_a);

    // A session has gone.
    let cursor = next_cursor(&sandbox, &everywhere);
    fs::remove_dir_all(log_of(&sandbox, "e").parent().unwrap()).unwrap();
    refused(&sandbox, &cursor, &everywhere, STALE);
    is_good(&sandbox, &own, &in_a);

    // The very session has changed.
    append(&log_of(&sandbox, "a"), &said(5, "hay"));
    refused(&sandbox, &own, &in_a, STALE);

    // A file of the same size took the place of another.
    let own = next_cursor(&sandbox, &in_a);
    let path = log_of(&sandbox, "a");
    let text = fs::read_to_string(&path).unwrap();
    fs::remove_file(&path).unwrap();
    fs::write(&path, text.replace("hay", "HAY")).unwrap();
    refused(&sandbox, &own, &in_a, STALE);

    // Of a changed store and another request, the request is told: it would be wrong in any store.
    refused(&sandbox, &own, &["--limit", "2", "--session", "a", "some needle"], INVALID);
}

#[test]
fn wrong_requests_are_refused() {
    let sandbox = paged();
    let cases: &[(&[&str], i32, &str)] = &[
        (&["search", ""], 2, "SESSION_QUERY_INVALID_QUERY"),
        (&["search", " \t\n"], 2, "SESSION_QUERY_INVALID_QUERY"),
        (&["search", "\u{3000}\u{FEFF}"], 2, "SESSION_QUERY_INVALID_QUERY"),
        (&["search", "--session", "a", " "], 2, "SESSION_QUERY_INVALID_QUERY"),
        (&["search", "--limit", "0", "x"], 2, "SESSION_QUERY_INVALID_LIMIT"),
        (&["search", "--limit", "101", "x"], 2, "SESSION_QUERY_INVALID_LIMIT"),
        (&["search", "--limit", "-1", "x"], 2, "SESSION_QUERY_INVALID_LIMIT"),
        (&["search", "--session", "a", "--limit", "101", "x"], 2, "SESSION_QUERY_INVALID_LIMIT"),
        (&["search", "--session", "nobody", "x"], 3, "SESSION_QUERY_SESSION_NOT_FOUND"),
        (&["search", "--since", "2", "--until", "1", "x"], 2, "SESSION_QUERY_INVALID_FILTER"),
        (
            &["search", "--session-filter", r#"[{"kind":"created-at","from":2,"to":1}]"#, "x"],
            2,
            "SESSION_QUERY_INVALID_FILTER",
        ),
        (&["search", "--session-filter", r#"[{"kind":"age"}]"#, "x"], 2, "SESSION_QUERY_INVALID_FILTER"),
        (
            &["search", "--session-filter", r#"[{"kind":"origin","values":["robot"]}]"#, "x"],
            2,
            "SESSION_QUERY_INVALID_FILTER",
        ),
        (&["search", "--session-filter", "nonsense", "x"], 2, "SESSION_QUERY_INVALID_FILTER"),
        (&["search", "--session-filter", r#"[{"kind":"seq","from":1}]"#, "x"], 2, "SESSION_QUERY_INVALID_FILTER"),
        (&["search", "--event-filter", r#"[{"kind":"seq","from":2,"to":1}]"#, "x"], 2, "SESSION_QUERY_INVALID_FILTER"),
        (
            &["search", "--event-filter", r#"[{"kind":"surface","values":["gone"]}]"#, "x"],
            2,
            "SESSION_QUERY_INVALID_FILTER",
        ),
        (&["search", "--event-filter", r#"[{"kind":"text","text":"x"}]"#, "x"], 2, "SESSION_QUERY_INVALID_FILTER"),
        (&["search", "--event-filter", r#"[{"kind":"id","values":[]}]"#, "x"], 2, "SESSION_QUERY_INVALID_FILTER"),
        (&["list", "--filter", r#"[{"kind":"text","text":"x"}]"#], 2, "SESSION_QUERY_INVALID_FILTER"),
        (&["list", "--since", "2", "--until", "1"], 2, "SESSION_QUERY_INVALID_FILTER"),
        (&["latest", "--since", "2", "--until", "1"], 2, "SESSION_QUERY_INVALID_FILTER"),
        (&["events", "a", "--filter", r#"[{"kind":"text","text":" "}]"#], 2, "SESSION_QUERY_INVALID_FILTER"),
        (&["event", "a", "0", "--before", "51"], 2, "SESSION_QUERY_INVALID_WINDOW"),
        (&["event", "a", "0", "--after", "51"], 2, "SESSION_QUERY_INVALID_WINDOW"),
        (&["event", "a", "0", "--after", "-1"], 2, "SESSION_QUERY_INVALID_WINDOW"),
        (&["event", "a", "5"], 3, "SESSION_QUERY_EVENT_NOT_FOUND"),
        (&["event", "a", "99999999999"], 3, "SESSION_QUERY_EVENT_NOT_FOUND"),
        (&["trace", "a", "5"], 3, "SESSION_QUERY_EVENT_NOT_FOUND"),
        (&["event", "nobody", "0"], 3, "SESSION_QUERY_SESSION_NOT_FOUND"),
        (&["trace", "nobody"], 3, "SESSION_QUERY_SESSION_NOT_FOUND"),
        (&["status", "nobody"], 3, "SESSION_QUERY_SESSION_NOT_FOUND"),
        (&["search", "--limit", "1.5", "x"], 2, "usage"),
        (&["search", "--surface", "gone", "x"], 2, "usage"),
        (&["search"], 2, "usage"),
    ];
    for (arguments, status, code) in cases {
        sandbox.run(&[&["sessions"], *arguments, &["--format", "json"]].concat()).fails(*status, code);
    }
    // The ends of what is allowed.
    for arguments in [
        &["event", "a", "0", "--before", "50", "--after", "50"][..],
        &["event", "a", "4"],
        &["search", "--limit", "1", "needle"],
        &["search", "--limit", "100", "needle"],
        &["search", "--event-filter", r#"[{"kind":"seq","from":2,"to":2}]"#, "needle"],
    ] {
        sandbox.run(&[&["sessions"], arguments].concat()).success();
    }
}
