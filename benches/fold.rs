//! How long folding all units over a log takes, beside reading the log alone.
//!
//! ```text
//! fold STORE [RUNS]
//! ```
//!
//! Reads the newest session of the store, with and without the fold in turn, and prints for each pair the
//! milliseconds with the fold and without.

#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a program of its own, not part of dshkit; it measures time"
)]

use dshkit::corpus::{Corpus, Record};
use dshkit::projections::fold::Fold;
use dshkit::projections::units;
use std::env;
use std::hint::black_box;
use std::path::PathBuf;
use std::time::Instant;

fn main() {
    let arguments: Vec<String> = env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let Some(store) = arguments.first() else { return };
    let runs: u32 = arguments.get(1).and_then(|runs| runs.parse().ok()).unwrap_or(5);
    let corpus = Corpus::at(&PathBuf::from(store));
    let catalog = corpus.catalog().expect("the store can be listed");
    let record = catalog.records.first().expect("the store has a session");
    read(&corpus, record);
    for _ in 0..runs {
        let with = timed(|| fold(&corpus, record));
        let without = timed(|| read(&corpus, record));
        println!("{with:.1} {without:.1}");
    }
}

fn timed(work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_secs_f64() * 1e3
}

fn read(corpus: &Corpus, record: &Record) {
    let mut events = 0u64;
    corpus.read(record, &mut |_, _| events += 1).expect("the log is sound");
    black_box(events);
}

fn fold(corpus: &Corpus, record: &Record) {
    let registry = units::all();
    let mut fold = Fold::new(&registry, &record.stored.header);
    corpus
        .read(record, &mut |event, _| {
            fold.apply(event);
        })
        .expect("the log is sound");
    black_box(fold.finish().expect("no event is missing").snapshot());
}
