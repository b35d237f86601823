//! Search, against what dsh's search found on the same stores.
//!
//! dsh finds phrases of whole tokens, we find substrings. Both are computed here once more, naively and
//! from the texts in the golden files: where they agree on where a query stands as whole words, the hits
//! of dsh must come first, in its order and with its snippets; and whatever we find must be there.

use crate::golden::queries;
use crate::support::{Differences, read_json, record_of, run_in_store, shared};
use dshkit::corpus::{Catalog, Corpus, Record};
use dshkit::model::js_string::JsStr;
use dshkit::model::uri;
use dshkit::query::filter::EventFilter;
use dshkit::query::pattern::Pattern;
use dshkit::query::search::{Extra, Hit, Query, Wanted, rank_sessions, search_session, search_sessions};
use dshkit::query::snippet::snippet;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
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

/// Half of a surrogate pair is searched and shown as U+FFFD.
fn shown(text: &str) -> String {
    text.replace("<U+D800>", "\u{FFFD}").replace("<U+D83D>", "\u{FFFD}")
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
                let flat = flat(&shown(row[3].as_str().unwrap()));
                assert!(!flat.contains(MARK));
                Text { seq: row[0].as_u64().unwrap(), tokens: Tokens::of(&flat), flat }
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
        // The same queries were put to every recorded store; each goes to a third of them.
        let (skipped, step) = if golden.name.starts_with("synth") { (0, 1) } else { (at % 3, 3) };
        for case in golden.found["searchSessions"].as_array().unwrap().iter().skip(skipped).step_by(step) {
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
