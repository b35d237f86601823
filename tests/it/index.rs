//! The search index: that it finds what reading every log finds, whatever becomes of the logs and of it.

use crate::support::{Outcome, Sandbox, copy_tree, outcome};
use dshkit::corpus::{Catalog, Corpus, Record};
use dshkit::model::surface::Placement;
use dshkit::query::filter::{EventClause, EventFilter};
use dshkit::query::index::{Index, place, search_indexed, up_to_date};
use dshkit::query::pattern::Pattern;
use dshkit::query::search::{Extra, Query, Wanted, search_session, search_sessions};
use proptest::prelude::*;
use proptest::sample::{Index as Choice, select, subsequence};
use proptest::test_runner::RngSeed;
use serde_json::json;
use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// What texts are made of: scripts with and without case, characters that fold oddly or not at all, all
/// kinds of white space, what JSON, SQL and FTS5 take for syntax, and what stands for something else in
/// our own pieces.
#[rustfmt::skip]
const PIECES: [&str; 64] = [
    "a", "A", "b", "k", "K", "s", "S", "\u{212A}", "ſ", "ß", "ẞ", "i", "I", "ı", "İ", "σ", "ς", "Σ", "é", "e\u{301}",
    "needle", "Needle", "error", "nul", "NULL", "OR", "NEAR(", "中", "文", "中文", "简体", "簡體", "搜索", "か", "カ",
    "ひらがな", "한글", "한", "😀", "👩\u{200D}💻", "\0", "\\u0000", "\\", "\\\\n", "\"", "'", "*", "-", ".", "/", "^", ":",
    " ", " ", "  ", "\t", "\n", "\r\n", "\u{3000}", "\u{FEFF}", "\u{85}", "\u{FFFD}", "\u{E020}", "\u{E042}",
];

/// Of what an event of a session speaks.
#[derive(Clone, Debug)]
enum Event {
    User(String),
    Assistant {
        text: String,
        reasoning: String,
    },
    Title(String),
    /// Takes the place of what the model sees.
    Summary(String),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Damage {
    /// The last bytes are missing.
    Cut(u16),
    /// A line is no JSON, and a turn ends after it.
    Garbage,
    /// The next seq is not the next.
    Gap,
    /// A replacement of something that is not there.
    Surface,
    /// The header names another session.
    Header,
    /// The session lies in a second directory too.
    Twice,
    /// A log in the other encoding lies beside it.
    OtherEncoding,
}

/// A session as it is meant to be.
#[derive(Clone, Debug)]
struct Session {
    is_v3: bool,
    is_compressed: bool,
    /// Whether every character of its texts is written as `\uXXXX`.
    is_escaped: bool,
    /// Whether its turn has begun and not ended, so that reading it adds the end.
    is_open: bool,
    events: Vec<Event>,
    damage: Option<Damage>,
}

/// Something that happens to a store. The number says to which session.
#[derive(Clone, Debug)]
enum Edit {
    Append(Choice, Vec<Event>),
    Truncate(Choice, usize),
    /// Every text is reversed, so that the log has the size it had.
    SameSize(Choice),
    Replace(Choice, Session),
    Delete(Choice),
    Add(Session),
    Damage(Choice, Damage),
    Repair(Choice),
}

/// How to make a query.
#[derive(Clone, Debug)]
struct Ask {
    /// Of these pieces, or of a part of a text that begins there and is so long.
    pieces: Option<Vec<&'static str>>,
    from: (Choice, Choice, Choice),
    length: usize,
    case: u8,
    extra: Extra,
    surface: Option<Vec<Placement>>,
    kinds: Option<Vec<&'static str>>,
}

fn text() -> impl Strategy<Value = String> {
    prop::collection::vec(select(&PIECES[..]), 0..12).prop_map(|pieces| pieces.concat())
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        4 => text().prop_map(Event::User),
        3 => (text(), text()).prop_map(|(text, reasoning)| Event::Assistant { text, reasoning }),
        1 => text().prop_map(Event::Title),
        1 => text().prop_map(Event::Summary),
    ]
}

fn damage() -> impl Strategy<Value = Damage> {
    prop_oneof![
        (1..200u16).prop_map(Damage::Cut),
        Just(Damage::Garbage),
        Just(Damage::Gap),
        Just(Damage::Surface),
        Just(Damage::Header),
        Just(Damage::Twice),
        Just(Damage::OtherEncoding),
    ]
}

fn session() -> impl Strategy<Value = Session> {
    let flags = (any::<bool>(), prop::bool::weighted(0.3), prop::bool::weighted(0.2), prop::bool::weighted(0.2));
    (flags, prop::collection::vec(event(), 0..7), prop::option::weighted(0.1, damage())).prop_map(
        |((is_v3, is_compressed, is_escaped, is_open), events, damage)| Session {
            is_v3,
            is_compressed,
            is_escaped,
            is_open,
            events,
            damage,
        },
    )
}

fn edit() -> impl Strategy<Value = Edit> {
    let which = any::<Choice>;
    prop_oneof![
        2 => (which(), prop::collection::vec(event(), 1..3)).prop_map(|(which, events)| Edit::Append(which, events)),
        1 => (which(), 1..3usize).prop_map(|(which, count)| Edit::Truncate(which, count)),
        2 => which().prop_map(Edit::SameSize),
        1 => (which(), session()).prop_map(|(which, session)| Edit::Replace(which, session)),
        1 => which().prop_map(Edit::Delete),
        1 => session().prop_map(Edit::Add),
        2 => (which(), damage()).prop_map(|(which, damage)| Edit::Damage(which, damage)),
        1 => which().prop_map(Edit::Repair),
    ]
}

fn ask() -> impl Strategy<Value = Ask> {
    let all = vec![Placement::Current, Placement::Shadowed, Placement::LogOnly];
    let kinds = vec!["user/message", "assistant/message", "session/title", "turn/end"];
    let pieces = prop::option::weighted(0.3, prop::collection::vec(select(&PIECES[..]), 1..4));
    let extra = (any::<bool>(), any::<bool>()).prop_map(|(reasoning, titles)| Extra { reasoning, titles });
    let surface = prop::option::weighted(0.3, subsequence(all, 0..=3));
    let kinds = prop::option::weighted(0.15, subsequence(kinds, 1..=3));
    (pieces, any::<(Choice, Choice, Choice)>(), 1..9usize, any::<u8>(), extra, surface, kinds).prop_map(
        |(pieces, from, length, case, extra, surface, kinds)| Ask { pieces, from, length, case, extra, surface, kinds },
    )
}

impl Event {
    fn texts(&self) -> Vec<&String> {
        match self {
            Event::User(text) | Event::Title(text) | Event::Summary(text) => vec![text],
            Event::Assistant { text, reasoning } => vec![text, reasoning],
        }
    }

    fn reversed(&self) -> Event {
        let back = |text: &String| text.chars().rev().collect();
        match self {
            Event::User(text) => Event::User(back(text)),
            Event::Title(text) => Event::Title(back(text)),
            Event::Summary(text) => Event::Summary(back(text)),
            Event::Assistant { text, reasoning } => Event::Assistant { text: back(text), reasoning: back(reasoning) },
        }
    }
}

/// A text as JSON. U+FFFD is written as an unpaired surrogate, which is what is shown so.
fn quoted(text: &str, is_escaped: bool) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        let plain = serde_json::to_string(&c).unwrap();
        if c == char::REPLACEMENT_CHARACTER {
            out.push_str("\\udc00");
        } else if is_escaped {
            c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| out.push_str(&format!("\\u{unit:04X}")));
        } else {
            out.push_str(&plain[1..plain.len() - 1]);
        }
    }
    out + "\""
}

/// What of a session can be searched, told by the test and not by the library.
struct Said {
    seq: u64,
    kind: &'static str,
    placement: Placement,
    text: String,
    reasoning: String,
    title: String,
}

impl Session {
    /// The rows after the header, and what they say.
    fn rows(&self) -> (Vec<String>, Vec<Said>) {
        let (mut rows, mut said): (Vec<String>, Vec<Said>) = (Vec::new(), Vec::new());
        let quote = |text: &str| quoted(text, self.is_escaped);
        if self.is_open {
            rows.push(r#"{"type":"turn/start","seq":0,"time":1000,"data":{"turn":1}}"#.to_owned());
        }
        let mut surface: Vec<u64> = Vec::new();
        for event in &self.events {
            let seq = rows.len() as u64;
            let start = |kind| format!(r#"{{"type":"{kind}","seq":{seq},"time":{}"#, 1000 + seq % 3);
            let user = |text| {
                let content = format!(r#"[{{"type":"text","text":{}}}]"#, quote(text));
                format!(r#""data":{{"content":{content},"source":{{"kind":"user"}},"role":"user","id":"m{seq}"}}"#)
            };
            let mut entry = Said {
                seq,
                kind: "user/message",
                placement: Placement::Current,
                text: String::new(),
                reasoning: String::new(),
                title: String::new(),
            };
            match event {
                Event::User(text) => {
                    rows.push(format!(r#"{},{},"surfaceOp":"append"}}"#, start("user/message"), user(text)));
                    entry.text.clone_from(text);
                }
                Event::Assistant { text, reasoning } => {
                    let blocks = [("reasoning", reasoning), ("text", text)]
                        .map(|(kind, text)| format!(r#"{{"type":"{kind}","text":{}}}"#, quote(text)));
                    let message = format!(
                        r#"{{"id":"m{seq}","role":"assistant","content":[{}],"source":{{"kind":"model","provider":"p","model":"m"}}}}"#,
                        blocks.join(",")
                    );
                    rows.push(format!(
                        r#"{},"data":{{"turn":1,"step":1,"message":{message}}},"surfaceOp":"append"}}"#,
                        start("assistant/message")
                    ));
                    entry.kind = "assistant/message";
                    entry.text.clone_from(text);
                    entry.reasoning.clone_from(reasoning);
                }
                Event::Title(text) => {
                    rows.push(format!(
                        r#"{},"data":{{"title":{},"messageSeqs":[],"source":{{"kind":"fallback"}}}}}}"#,
                        start("session/title"),
                        quote(text)
                    ));
                    entry.kind = "session/title";
                    entry.placement = Placement::LogOnly;
                    entry.title.clone_from(text);
                }
                Event::Summary(text) => {
                    entry.text.clone_from(text);
                    let op = match (surface.first(), surface.last()) {
                        (Some(first), Some(last)) => {
                            let (from, to) = if self.is_v3 { ("startSeq", "endSeq") } else { ("start", "end") };
                            let op = format!(r#"{{"op":"replace","{from}":{first},"{to}":{last}}}"#);
                            format!(r#""sourceEventSeqs":{},"surfaceOp":{op}"#, json!(surface))
                        }
                        _ => r#""surfaceOp":"append""#.to_owned(),
                    };
                    rows.push(format!("{},{},{op}}}", start("user/message"), user(text)));
                    for earlier in said.iter_mut().filter(|earlier| surface.contains(&earlier.seq)) {
                        earlier.placement = Placement::Shadowed;
                    }
                    surface.clear();
                }
            }
            if entry.placement == Placement::Current {
                surface.push(seq);
            }
            said.push(entry);
        }
        if self.is_open {
            let seq = rows.len() as u64;
            let text = "interrupted".to_owned();
            let (reasoning, title) = (String::new(), String::new());
            said.push(Said { seq, kind: "turn/end", placement: Placement::LogOnly, text, reasoning, title });
        }
        (rows, said)
    }

    /// Writes the session's directory anew. Logs that stay are overwritten where they are.
    fn write(&self, sessions: &Path, id: &str) {
        let (mut rows, _) = self.rows();
        let named = if self.damage == Some(Damage::Header) { "another" } else { id };
        let (version, seeded) = if self.is_v3 { (3, r#","isSeeded":false"#) } else { (0, "") };
        let next = rows.len();
        match self.damage {
            Some(Damage::Garbage) => {
                rows.push("{\"type\":".to_owned());
                rows.push(format!(
                    r#"{{"type":"turn/end","seq":{next},"time":1,"data":{{"turn":1,"reason":{{"kind":"completed"}}}}}}"#
                ));
            }
            Some(Damage::Gap) => {
                let seq = next + 5;
                rows.push(format!(r#"{{"type":"turn/start","seq":{seq},"time":1,"data":{{"turn":1}}}}"#));
                rows.push(format!(
                    r#"{{"type":"turn/end","seq":{},"time":1,"data":{{"turn":1,"reason":{{"kind":"completed"}}}}}}"#,
                    seq + 1
                ));
            }
            Some(Damage::Surface) => {
                let (from, to) = if self.is_v3 { ("startSeq", "endSeq") } else { ("start", "end") };
                rows.push(format!(r#"{{"type":"user/message","seq":{next},"time":1,"data":{{"content":[],"source":{{"kind":"user"}},"role":"user","id":"x"}},"sourceEventSeqs":[],"surfaceOp":{{"op":"replace","{from}":900,"{to}":900}}}}"#));
            }
            _ => {}
        }
        let header = format!(
            r#"{{"type":"session","version":{version},"id":"{named}","createdAt":1000{seeded},"delegationDepth":0}}"#
        );
        let lines: Vec<String> = std::iter::once(header).chain(rows).map(|line| line + "\n").collect();
        let mut bytes = if self.is_compressed {
            // The header is a frame of its own; dsh writes one for whatever it appends.
            let frames = lines[..1].chunks(1).chain(lines[1..].chunks(2));
            frames.flat_map(|lines| frame(&lines.concat())).collect()
        } else {
            lines.concat().into_bytes()
        };
        if let Some(Damage::Cut(count)) = self.damage {
            bytes.truncate(bytes.len().saturating_sub(usize::from(count)));
        }
        let end = |is_compressed| if is_compressed { "jsonl.zstd" } else { "jsonl" };
        let stem = if self.is_v3 { "session.v3." } else { "session." };
        let name = format!("{stem}{}", end(self.is_compressed));
        let mut wanted = vec![sessions.join("_no-cwd").join(id).join(&name)];
        match self.damage {
            Some(Damage::Twice) => wanted.push(sessions.join("--elsewhere--").join(id).join(&name)),
            Some(Damage::OtherEncoding) => {
                wanted.push(wanted[0].with_file_name(format!("{stem}{}", end(!self.is_compressed))));
            }
            _ => {}
        }
        for project in ["_no-cwd", "--elsewhere--"] {
            let directory = sessions.join(project).join(id);
            for entry in fs::read_dir(&directory).into_iter().flatten() {
                let path = entry.unwrap().path();
                if !wanted.contains(&path) {
                    fs::remove_file(path).unwrap();
                }
            }
            let _ = fs::remove_dir(&directory);
        }
        for path in wanted {
            overwrite(&path, &bytes);
        }
    }
}

/// A zstd frame as dsh writes them, with a checksum.
fn frame(text: &str) -> Vec<u8> {
    let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
    encoder.include_checksum(true).unwrap();
    encoder.set_pledged_src_size(Some(text.len() as u64)).unwrap();
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

/// Writes a file whose bytes differ from what is there. A file system's clock may stand still for a
/// moment; it is written until its time has moved, as a second write by a person would.
fn overwrite(path: &Path, bytes: &[u8]) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    if fs::read(path).is_ok_and(|held| held == bytes) {
        return;
    }
    let time = || fs::metadata(path).and_then(|metadata| metadata.modified()).ok();
    let before = time();
    while before == time() || before.is_none() && time().is_none() {
        fs::write(path, bytes).unwrap();
    }
}

/// A store, and the index of it.
struct Store {
    scratch: TempDir,
    sessions: BTreeMap<String, Session>,
    count: usize,
}

impl Store {
    fn of(sessions: Vec<Session>) -> Store {
        let mut store = Store { scratch: TempDir::new().unwrap(), sessions: BTreeMap::new(), count: 0 };
        fs::create_dir(store.root()).unwrap();
        sessions.into_iter().for_each(|session| store.add(session));
        store
    }

    fn root(&self) -> PathBuf {
        self.scratch.path().join("sessions")
    }

    fn index(&self) -> PathBuf {
        place(&self.scratch.path().join("cache"), &self.root())
    }

    fn add(&mut self, session: Session) {
        let id = format!("s{}", self.count);
        self.count += 1;
        session.write(&self.root(), &id);
        self.sessions.insert(id, session);
    }

    fn change(&mut self, which: &Choice, change: impl FnOnce(&mut Session)) {
        if self.sessions.is_empty() {
            return;
        }
        let (root, at) = (self.root(), which.index(self.sessions.len()));
        let (id, session) = self.sessions.iter_mut().nth(at).unwrap();
        change(session);
        session.write(&root, id);
    }

    fn apply(&mut self, edit: &Edit) {
        match edit {
            Edit::Append(which, events) => self.change(which, |session| session.events.extend(events.iter().cloned())),
            Edit::Truncate(which, count) => self.change(which, |session| {
                session.events.truncate(session.events.len().saturating_sub(*count));
            }),
            Edit::SameSize(which) => self.change(which, |session| {
                session.events = session.events.iter().map(Event::reversed).collect();
            }),
            Edit::Replace(which, by) => self.change(which, |session| *session = by.clone()),
            Edit::Damage(which, damage) => self.change(which, |session| session.damage = Some(*damage)),
            Edit::Repair(which) => self.change(which, |session| session.damage = None),
            Edit::Add(session) => self.add(session.clone()),
            Edit::Delete(which) if !self.sessions.is_empty() => {
                let id = self.sessions.keys().nth(which.index(self.sessions.len())).unwrap().clone();
                self.sessions.remove(&id);
                for project in ["_no-cwd", "--elsewhere--"] {
                    let _ = fs::remove_dir_all(self.root().join(project).join(&id));
                }
            }
            Edit::Delete(_) => {}
        }
    }

    /// The query that is meant; `None` if there is none to be made so.
    fn query(&self, ask: &Ask) -> Option<(String, Query)> {
        let text = match &ask.pieces {
            Some(pieces) => pieces.concat(),
            None => {
                let with_events: Vec<&Session> = self.sessions.values().filter(|s| !s.events.is_empty()).collect();
                let (of_session, of_event, of_text) = &ask.from;
                let session = (!with_events.is_empty()).then(|| of_session.get(&with_events))?;
                let texts = of_event.get(&session.events).texts();
                let characters: Vec<char> = of_text.get(&texts).chars().collect();
                let start = (!characters.is_empty()).then(|| of_event.index(characters.len()))?;
                characters[start..].iter().take(ask.length).collect()
            }
        };
        let text: String = match ask.case % 4 {
            0 => text.to_uppercase(),
            1 => text.to_lowercase(),
            _ => text,
        };
        let mut clauses = Vec::new();
        clauses.extend(ask.surface.clone().map(EventClause::Surface));
        clauses.extend(
            ask.kinds.as_ref().map(|kinds| EventClause::Type(kinds.iter().map(|kind| (*kind).into()).collect())),
        );
        let pattern = Pattern::of_query(&text).ok()?;
        Some((text, Query { pattern, events: EventFilter(clauses), extra: ask.extra }))
    }
}

/// What was found, by the log it was found in, in every detail.
type Answer = BTreeMap<PathBuf, String>;

fn note(answer: &mut Answer, record: &Record, found: &dyn std::fmt::Debug) -> ControlFlow<()> {
    let before = answer.insert(record.stored.path.clone(), format!("{found:#?}"));
    assert!(before.is_none(), "{} was found twice", record.stored.path.display());
    ControlFlow::Continue(())
}

fn scanned(corpus: &Corpus, catalog: &Catalog, query: &Query) -> Answer {
    let records: Vec<&Record> = catalog.records.iter().collect();
    let mut answer = Answer::new();
    search_sessions(corpus, &records, query, &mut |record, found| note(&mut answer, record, &found));
    answer
}

fn looked_up(index: &Index, corpus: &Corpus, catalog: &Catalog, query: &Query) -> Answer {
    let records: Vec<&Record> = catalog.records.iter().collect();
    let mut answer = Answer::new();
    search_indexed(index, corpus, &records, query, &mut |record, found| note(&mut answer, record, &found)).unwrap();
    answer
}

/// Simple case folding of what is in [`PIECES`], and white space of any length as one space.
fn normal(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        let folded = match c {
            '\0' => char::REPLACEMENT_CHARACTER,
            '\u{212A}' => 'k',
            'ſ' => 's',
            'ẞ' => 'ß',
            'ς' => 'σ',
            'İ' | 'ı' => c,
            '\t' | '\n' | '\r' | ' ' | '\u{3000}' | '\u{FEFF}' => ' ',
            _ => c.to_lowercase().next().unwrap(),
        };
        if folded != ' ' || !out.ends_with(' ') {
            out.push(folded);
        }
    }
    out
}

/// Compares the scan with what the test knows of the sessions that are whole.
fn check_scan(store: &Store, corpus: &Corpus, catalog: &Catalog, text: &str, ask: &Ask, query: &Query) {
    let wanted = normal(text).trim_matches(' ').to_owned();
    let answer = scanned(corpus, catalog, query);
    for (id, session) in store.sessions.iter().filter(|(_, session)| session.damage.is_none()) {
        let record = catalog.records.iter().find(|record| record.id() == id.as_str());
        let record = record.unwrap_or_else(|| panic!("{id} is not listed: {session:?} {:?}", catalog.problems));
        let holds = |said: &&Said| {
            let parts = [(true, &said.text), (ask.extra.reasoning, &said.reasoning), (ask.extra.titles, &said.title)];
            let parts = parts.into_iter().filter(|(is_searched, _)| *is_searched);
            let parts: Vec<String> = parts.map(|(_, part)| normal(part).trim_matches(' ').to_owned()).collect();
            let parts: Vec<&str> = parts.iter().map(String::as_str).filter(|part| !part.is_empty()).collect();
            parts.join(" ").contains(&wanted)
                && ask.surface.as_ref().is_none_or(|places| places.contains(&said.placement))
                && ask.kinds.as_ref().is_none_or(|kinds| kinds.contains(&said.kind))
        };
        let said = session.rows().1;
        let expected: BTreeMap<u64, &str> =
            said.iter().filter(holds).map(|said| (said.seq, said.placement.name())).collect();
        let found = search_session(corpus, record, query, Wanted::All).unwrap();
        assert_eq!(found.problem, None, "{id} is whole: {session:?}");
        let found: BTreeMap<u64, &str> = found.hits.iter().map(|hit| (hit.seq, hit.placement.name())).collect();
        assert_eq!(found, expected, "{text:?} {ask:?} in {id}: {session:?}");
        let is_found = answer.contains_key(&record.stored.path);
        assert_eq!(is_found, !expected.is_empty(), "{text:?} {ask:?} in the store: {id} {session:?}");
    }
}

/// Compares what is found with and without an index, before the index knows of the last edit and after.
fn check_index(store: &Store, asks: &[Ask], edit: Option<&Edit>) {
    let corpus = Corpus::at(&store.root());
    let catalog = corpus.catalog().unwrap();
    let queries: Vec<_> = asks.iter().filter_map(|ask| Some((ask, store.query(ask)?))).collect();
    let expected: Vec<Answer> = queries.iter().map(|(_, (_, query))| scanned(&corpus, &catalog, query)).collect();
    for (ask, (text, query)) in &queries {
        check_scan(store, &corpus, &catalog, text, ask, query);
    }
    let compare = |index: &Index, when: &str| {
        for ((ask, (text, query)), expected) in queries.iter().zip(&expected) {
            let got = looked_up(index, &corpus, &catalog, query);
            assert_eq!(&got, expected, "{text:?} {ask:?} with {when}, edit {edit:?}");
        }
    };
    let path = store.index();
    if let Some(index) = Index::open_existing(&path, &store.root()).unwrap() {
        compare(&index, "the index as it was");
    }
    let (index, built) = up_to_date(&path, &corpus, &catalog.records, &mut |_, _| {}).unwrap();
    compare(&index, "the index up to date");
    assert_eq!(built.indexed + built.unchanged, catalog.records.len() as u64, "{built:?}");
    assert_eq!(index.stale(&corpus, &catalog.records).unwrap(), 0);
    let holdings = index.holdings().unwrap();
    assert_eq!(holdings.sessions, catalog.records.len() as u64);
    let whole = store.sessions.values().filter(|session| session.damage.is_none()).count() as u64;
    assert!(holdings.sound >= whole, "{} of {whole} whole sessions can be looked up", holdings.sound);
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 40,
        rng_seed: RngSeed::Fixed(20),
        failure_persistence: None,
        max_shrink_iters: 300,
        ..ProptestConfig::default()
    })]

    #[test]
    fn an_index_finds_what_reading_finds(
        sessions in prop::collection::vec(session(), 1..6),
        steps in prop::collection::vec((edit(), prop::collection::vec(ask(), 5)), 4),
        asks in prop::collection::vec(ask(), 8),
    ) {
        let mut store = Store::of(sessions);
        check_index(&store, &asks, None);
        for (edit, asks) in &steps {
            store.apply(edit);
            check_index(&store, asks, Some(edit));
        }
    }
}

/// A home with the sessions of the examples.
fn examples() -> Sandbox {
    let sandbox = Sandbox::new();
    copy_tree(&Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/home"), &sandbox.home());
    sandbox
}

/// Searches that find something in the examples, and one that does not.
const SEARCHES: [&[&str]; 8] = [
    &["the"],
    &["e"],
    &["error"],
    &["a test"],
    &["test", "--reasoning", "--titles"],
    &["e", "--surface", "shadowed,log-only"],
    &["to", "--limit", "2"],
    &["no such words anywhere"],
];

fn search(sandbox: &Sandbox, format: &str, words: &[&str], more: &[&str]) -> Outcome {
    sandbox.run(&[&["sessions", "search", format], words, more].concat())
}

/// The lines of an outcome, in an order of their own.
fn lines(outcome: &Outcome) -> Vec<&str> {
    let mut lines: Vec<&str> = outcome.text().lines().collect();
    lines.sort_unstable();
    lines
}

/// Asserts that `--index` changes nothing of what is printed and of how it ends, and gives what it says on
/// standard error beside what is said without.
#[track_caller]
fn same_with_index(sandbox: &Sandbox) -> Vec<String> {
    let mut said = Vec::new();
    let mut found = 0;
    for words in SEARCHES {
        let (scan, index) = (search(sandbox, "--json", words, &[]), search(sandbox, "--json", words, &["--index"]));
        assert_eq!((index.text(), index.status), (scan.text(), scan.status), "{words:?}\n{index}");
        found += usize::from(scan.status == Some(0));
        said.extend(index.stderr.lines().filter(|line| !scan.stderr.contains(line)).map(str::to_owned));
        let (scan, index) = (search(sandbox, "--jsonl", words, &[]), search(sandbox, "--jsonl", words, &["--index"]));
        assert_eq!((lines(&index), index.status), (lines(&scan), scan.status), "{words:?}\n{index}");
    }
    assert!(found >= 5, "only {found} searches found anything");
    said
}

/// Where the index of the sandbox is, as `index status` tells.
fn index_path(sandbox: &Sandbox) -> PathBuf {
    PathBuf::from(sandbox.run(&["index", "status", "--json"]).success().json()["path"].as_str().unwrap())
}

#[test]
fn the_commands_tell_what_the_index_holds() {
    let sandbox = examples();
    let run = |words: &[&str]| sandbox.run(words).success().json();
    let sessions = run(&["sessions", "list", "--json"])["sessions"].as_array().unwrap().len();
    let status = run(&["index", "status", "--json"]);
    let path = status["path"].as_str().unwrap();
    assert!(Path::new(path).starts_with(sandbox.path("cache")));
    let expected = json!({"schema": "dshkit/index.status/1", "path": path, "exists": false,
        "sessions": sessions, "indexed": 0, "stale": sessions, "bytes": 0});
    assert_eq!(status, expected);
    assert!(!Path::new(path).exists(), "asking makes nothing");
    assert_eq!(
        run(&["index", "clear", "--json"]),
        json!({"schema": "dshkit/index.clear/1", "path": path, "cleared": false})
    );

    let built = |indexed: usize, removed: usize, unchanged: usize| {
        let mut document = run(&["index", "build", "--json"]);
        assert!(document["bytes"].take().as_u64().unwrap() > 0);
        let expected = json!({"schema": "dshkit/index.build/1", "path": path, "indexed": indexed,
            "removed": removed, "unchanged": unchanged, "bytes": null});
        assert_eq!(document, expected);
    };
    let holds = |sessions: usize, indexed: usize, stale: usize| {
        let status = run(&["index", "status", "--json"]);
        let got = [&status["exists"], &status["sessions"], &status["indexed"], &status["stale"]];
        assert_eq!(got, [&json!(true), &json!(sessions), &json!(indexed), &json!(stale)]);
    };
    built(sessions, 0, 0);
    holds(sessions, sessions, 0);
    built(0, 0, sessions);
    sandbox.plain_log("new", &[r#"{"type":"turn/start","seq":0,"time":1,"data":{"turn":1}}"#]);
    let ideas = fs::read_dir(sandbox.sessions().join("_no-cwd")).unwrap();
    let ideas = ideas.map(|entry| entry.unwrap().path()).find(|path| !path.ends_with("new")).unwrap();
    fs::remove_dir_all(ideas).unwrap();
    holds(sessions, sessions, 2);
    built(1, 1, sessions - 1);
    holds(sessions, sessions, 0);

    assert_eq!(run(&["index", "clear", "--json"])["cleared"], true);
    let left: Vec<_> = fs::read_dir(Path::new(path).parent().unwrap()).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_search_prints_the_same_with_an_index() {
    let sandbox = examples();
    assert_eq!(same_with_index(&sandbox), [""; 0]);
    assert_eq!(sandbox.run(&["index", "status", "--json"]).json()["stale"], 0);
}

#[cfg(unix)]
#[test]
fn an_index_is_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let sandbox = examples();
    sandbox.run(&["index", "build"]).success();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let path = index_path(&sandbox);
    let directory = path.parent().unwrap();
    assert_eq!((mode(directory), mode(directory.parent().unwrap())), (0o700, 0o700));
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(mode(&path), 0o600, "{}", path.display());
    }
}

/// Asserts that what lies at the index's path is neither used nor touched, and searches do without.
#[track_caller]
fn is_left_alone(sandbox: &Sandbox, path: &Path) {
    let before = fs::read(path).ok();
    for word in ["build", "clear"] {
        sandbox.run(&["index", word, "--json"]).fails(8, "SESSION_QUERY_INDEX_FAILED");
    }
    let outcome = search(sandbox, "--json", &["the"], &["--index"]).success();
    assert_eq!(outcome.stderr.lines().count(), 1, "{outcome}");
    let said = same_with_index(sandbox);
    assert_eq!(said.len(), SEARCHES.len(), "{said:?}");
    assert_eq!(fs::read(path).ok(), before);
}

#[test]
fn what_is_no_index_is_left_alone() {
    let sandbox = examples();
    let path = index_path(&sandbox);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let database = |statements: &str| {
        let database = sandbox.path("foreign.sqlite");
        rusqlite::Connection::open(&database).unwrap().execute_batch(statements).unwrap();
        let bytes = fs::read(&database).unwrap();
        fs::remove_file(database).unwrap();
        bytes
    };
    let foreign = [
        database("CREATE TABLE notes (text TEXT); INSERT INTO notes VALUES ('mine')"),
        database("PRAGMA application_id = 7; CREATE TABLE sessions (id INTEGER)"),
        database("PRAGMA journal_mode = wal; CREATE TABLE sessions (id INTEGER)"),
        b"some text\n".to_vec(),
        "a longer text\n".repeat(1000).into_bytes(),
        b"SQLite format 3\0".to_vec(),
    ];
    for bytes in foreign {
        fs::write(&path, bytes).unwrap();
        is_left_alone(&sandbox, &path);
        for entry in fs::read_dir(path.parent().unwrap()).unwrap() {
            let beside = entry.unwrap().path();
            assert_eq!(beside, path);
        }
    }
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    is_left_alone(&sandbox, &path);
    assert_eq!(fs::read_dir(&path).unwrap().count(), 0);
}

#[test]
fn a_cache_that_cannot_be_written_costs_a_warning() {
    let sandbox = examples();
    let cache = sandbox.path("a-file");
    fs::write(&cache, "no directory").unwrap();
    let run = |words: &[&str]| {
        let mut command = sandbox.command();
        command.env("XDG_CACHE_HOME", &cache).args(words);
        outcome(command, b"")
    };
    run(&["index", "build", "--json"]).fails(8, "SESSION_QUERY_INDEX_FAILED");
    for words in SEARCHES {
        let scan = search(&sandbox, "--json", words, &[]);
        let index = run(&[&["sessions", "search", "--json", "--index"], words].concat());
        assert_eq!((index.text(), index.status), (scan.text(), scan.status), "{words:?}\n{index}");
        let more = index.stderr.lines().filter(|line| !scan.stderr.contains(line));
        assert_eq!(more.count(), 1, "{index}");
    }
    assert_eq!(fs::read(&cache).unwrap(), b"no directory");
}

#[test]
fn an_index_of_another_schema_is_made_anew() {
    let sandbox = examples();
    sandbox.run(&["index", "build"]).success();
    let path = index_path(&sandbox);
    let change = |statements: &str| rusqlite::Connection::open(&path).unwrap().execute_batch(statements).unwrap();
    for statements in [
        "PRAGMA user_version = 99",
        "PRAGMA user_version = 0; DROP TABLE chunks",
        "UPDATE store SET path = '/elsewhere'",
        "DELETE FROM store",
    ] {
        change(statements);
        let built = sandbox.run(&["index", "build", "--json"]).success().json();
        assert_eq!((&built["unchanged"], &built["removed"]), (&json!(0), &json!(0)), "{statements}");
        change(statements);
        assert_eq!(same_with_index(&sandbox), [""; 0], "{statements}");
        assert_eq!(sandbox.run(&["index", "status", "--json"]).json()["stale"], 0, "{statements}");
    }
}

/// A home with so many sessions, every one with a few messages, of which some are shared.
fn many(count: usize, texts: usize) -> Sandbox {
    let sandbox = Sandbox::new();
    for number in 0..count {
        let rows: Vec<String> = (0..texts)
            .map(|seq| {
                let text = format!("the message {seq} to test session {number}: error 中文 {}", number * texts + seq);
                format!(
                    r#"{{"type":"user/message","seq":{seq},"time":{seq},"data":{{"content":[{{"type":"text","text":"{text}"}}],"source":{{"kind":"user"}},"role":"user","id":"m{seq}"}},"surfaceOp":"append"}}"#
                )
            })
            .collect();
        sandbox.plain_log(&format!("s{number}"), &rows.iter().map(String::as_str).collect::<Vec<_>>());
    }
    sandbox
}

fn spawn(sandbox: &Sandbox, words: &[&str]) -> std::process::Child {
    let mut command: Command = sandbox.command();
    command.args(words).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

#[test]
fn several_processes_build_and_search_at_once() {
    let sandbox = many(30, 4);
    let queries = ["中文", "session 7", "message 3 to TEST", "error 中文 11"];
    for round in 0..4 {
        if round % 2 == 0 {
            sandbox.run(&["index", "clear"]).success();
        } else {
            // Some logs have changed.
            for number in 0..10 {
                let id = format!("s{}", number * 2 + round);
                sandbox.plain_log(
                    &id,
                    &[&format!(r#"{{"type":"session/title","seq":0,"time":1,"data":{{"title":"{round}"}}}}"#)],
                );
            }
        }
        let scans: Vec<Outcome> = queries.iter().map(|query| search(&sandbox, "--json", &[query], &[])).collect();
        assert!(scans.iter().filter(|scan| scan.status == Some(0)).count() >= 2, "round {round}");
        let searching: Vec<_> =
            queries.iter().map(|query| spawn(&sandbox, &["sessions", "search", "--json", "--index", query])).collect();
        let building: Vec<_> = (0..2).map(|_| spawn(&sandbox, &["index", "build", "--json"])).collect();
        for (child, scan) in searching.into_iter().zip(&scans) {
            let output = child.wait_with_output().unwrap();
            let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!((stderr.as_str(), output.status.code()), (scan.stderr.as_str(), scan.status), "round {round}");
            assert_eq!(String::from_utf8_lossy(&output.stdout), scan.text(), "round {round}");
        }
        for child in building {
            let output = child.wait_with_output().unwrap();
            assert!(output.status.success(), "round {round}: {}", String::from_utf8_lossy(&output.stderr));
        }
        let status = sandbox.run(&["index", "status", "--json"]).success().json();
        assert_eq!((&status["stale"], &status["indexed"]), (&json!(0), &json!(30)), "round {round}");
        let connection = rusqlite::Connection::open(index_path(&sandbox)).unwrap();
        let count = |query: &str| connection.query_row(query, [], |row| row.get::<_, i64>(0)).unwrap();
        assert_eq!(count("SELECT count(*) FROM sessions"), 30, "round {round}");
        let orphans = "SELECT count(*) FROM chunks WHERE session NOT IN (SELECT id FROM sessions)";
        assert_eq!(count(orphans), 0, "round {round}");
    }
}

#[test]
fn a_killed_build_leaves_what_can_be_used() {
    let sandbox = many(200, 3);
    let path = index_path(&sandbox);
    let scan = search(&sandbox, "--json", &["中文 1"], &[]).success();
    let mut broke_off = 0;
    // How many bytes the database and its log must have grown by before the process is killed.
    for grown in [1, 5_000, 50_000, 200_000, 400_000] {
        sandbox.run(&["index", "clear"]).success();
        let size = || {
            let wal = fs::metadata(path.with_extension("sqlite-wal")).map_or(0, |metadata| metadata.len());
            wal + fs::metadata(&path).map_or(0, |metadata| metadata.len())
        };
        let mut child = spawn(&sandbox, &["index", "build"]);
        while size() < grown && child.try_wait().unwrap().is_none() {
            std::thread::yield_now();
        }
        let _ = child.kill();
        broke_off += usize::from(!child.wait().unwrap().success());
        sandbox.run(&["index", "status", "--json"]).success();
        let index = search(&sandbox, "--json", &["中文 1"], &["--index"]).success();
        assert_eq!((index.text(), &index.stderr), (scan.text(), &scan.stderr), "killed at {grown}");
        let status = sandbox.run(&["index", "status", "--json"]).success().json();
        assert_eq!((&status["stale"], &status["indexed"]), (&json!(0), &json!(200)), "killed at {grown}");
    }
    assert!(broke_off > 0, "no build was killed before its end");
}

#[test]
fn a_damaged_index_gives_no_wrong_answer() {
    let sandbox = many(20, 40);
    sandbox.run(&["index", "build"]).success();
    let path = index_path(&sandbox);
    let good = fs::read(&path).unwrap();
    assert!(!path.with_extension("sqlite-wal").exists(), "all of it is in the one file");
    let queries = ["中文", "session 7", "message 33 to TEST", "搜"];
    let scans: Vec<Outcome> = queries.iter().map(|query| search(&sandbox, "--json", &[query], &[])).collect();
    assert!(scans.iter().filter(|scan| scan.status == Some(0)).count() == 3);
    let check = |what: &str, bytes: &[u8]| {
        for (query, scan) in queries.iter().zip(&scans) {
            fs::write(&path, bytes).unwrap();
            let index = search(&sandbox, "--json", &[query], &["--index"]);
            assert_eq!((index.text(), index.status), (scan.text(), scan.status), "{query} {what}\n{index}");
        }
    };
    let pages = good.len() / 4096;
    for page in 1..pages {
        let mut bytes = good.clone();
        bytes[page * 4096..(page + 1) * 4096].fill(0xA5);
        check(&format!("page {page} is overwritten"), &bytes);
    }
    // A database page has no checksum, so a single byte is noticed only in the texts.
    let texts: Vec<usize> = memchr::memmem::find_iter(&good, &[0x28, 0xB5, 0x2F, 0xFD]).collect();
    assert!(texts.len() >= 20, "every session has one, beside what SQLite has moved away");
    for at in texts {
        let mut bytes = good.clone();
        bytes[at + 300] ^= 0x15;
        check(&format!("the text at {at} has another byte"), &bytes);
    }
    for kept in [1, pages / 2, pages - 1] {
        check(&format!("{kept} pages are left"), &good[..kept * 4096]);
    }
}

#[test]
fn a_long_session_is_found_in_all_its_parts() {
    let sandbox = Sandbox::new();
    let word = |seq: u64| format!("w{:07}", seq * 7_919 % 1_000_003);
    let rows: Vec<String> = (0..600)
        .map(|seq: u64| {
            // A row with much more text than is looked up at once, and some that a summary replaces.
            let filler: String = (0..if seq == 300 { 60_000 } else { 120 }).map(|at| word(seq * 200 + at) + " ").collect();
            let op = match seq {
                100 => r#""sourceEventSeqs":[98,99],"surfaceOp":{"op":"replace","start":98,"end":99}"#,
                _ => r#""surfaceOp":"append""#,
            };
            format!(
                r#"{{"type":"user/message","seq":{seq},"time":{seq},"data":{{"content":[{{"type":"text","text":"{filler}row {seq} 全文"}}],"source":{{"kind":"user"}},"role":"user","id":"m{seq}"}},{op}}}"#
            )
        })
        .collect();
    sandbox.plain_log("long", &rows.iter().map(String::as_str).collect::<Vec<_>>());
    sandbox.plain_log("short", &[&rows[0]]);
    sandbox.run(&["index", "build"]).success();
    let connection = rusqlite::Connection::open(index_path(&sandbox)).unwrap();
    let chunks: i64 = connection.query_row("SELECT count(*) FROM chunks", [], |row| row.get(0)).unwrap();
    assert!(chunks > 4, "the long session is in {chunks} parts");
    drop(connection);
    let mut queries: Vec<Vec<String>> = (0..600).step_by(43).map(|seq| vec![format!("ROW {seq} 全")]).collect();
    queries.extend([0, 60_100, 61_000, 119_999].map(|at| vec![word(at)]));
    queries.extend(["全文", "文", "row", "w"].map(|text| vec![text.to_owned()]));
    queries.extend(["98", "99", "100"].map(|seq| vec![format!("row {seq} 全"), "--surface=shadowed".to_owned()]));
    queries.push(vec![(0..40).map(|at| word(60_000 + at)).collect::<Vec<_>>().join(" ")]);
    let mut found = 0;
    for words in &queries {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let (scan, index) = (search(&sandbox, "--json", &words, &[]), search(&sandbox, "--json", &words, &["--index"]));
        assert_eq!((index.text(), index.status), (scan.text(), scan.status), "{words:?}\n{index}");
        found += usize::from(scan.status == Some(0));
    }
    assert!(found >= 20, "only {found} of {} searches found anything", queries.len());
}
