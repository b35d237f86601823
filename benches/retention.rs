//! How long fitting a conversation into the budget of a reference takes, apart from reading it.
//!
//! ```text
//! retention [MESSAGES] [TEXT_BYTES] [MAX_BYTES]
//! ```
//!
//! Prints the median in milliseconds.

#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a program of its own, not part of dshkit; it measures time"
)]

mod words;

use dshkit::model::js_string::{JsStr, JsString};
use dshkit::model::message::Role;
use dshkit::reference::projection::Message;
use dshkit::reference::retention::{Frame, retain};
use std::env;
use std::hint::black_box;
use std::time::Instant;
use words::{Random, text};

const RUNS: usize = 21;

fn main() {
    let numbers: Vec<u64> = env::args().skip(1).filter_map(|argument| argument.parse().ok()).collect();
    let number = |at: usize, default| numbers.get(at).copied().unwrap_or(default);
    let (messages, bytes, max_bytes) = (number(0, 8_000), number(1, 5_300_000), number(2, 65_536));
    let mut random = Random::new(2);
    let conversation: Vec<Message> = (0..messages)
        .map(|index| Message {
            seq: index,
            role: if index % 2 == 0 { Role::User } else { Role::Assistant },
            text: JsString::from(text(&mut random, bytes / messages)),
            is_checkpoint: false,
        })
        .collect();
    let id = JsStr::from("session-retention");
    let frame = Frame { session_id: &id, label: &id, cwd: None, captured_through_seq: Some(messages) };
    let mut times: Vec<f64> = (0..RUNS)
        .map(|_| {
            let start = Instant::now();
            let retained = retain(&frame, black_box(&conversation), max_bytes);
            let time = start.elapsed().as_secs_f64() * 1e3;
            assert!(retained.is_some_and(|retained| retained.bytes <= max_bytes));
            time
        })
        .collect();
    times.sort_by(f64::total_cmp);
    println!("{:.3}", times[RUNS / 2]);
}
