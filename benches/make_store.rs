//! Makes the session stores the benchmarks read: v0, zstd, as dsh 0.1.0 writes them, and the same bytes
//! in every run.
//!
//! ```text
//! make_store sessions ROOT COUNT PROJECTS          that many sessions of one short turn each
//! make_store log ROOT ID plain|stored BYTES        one session whose log has at least so many bytes
//! make_store conversation ROOT ID MESSAGES BYTES   one session of so many messages with so many bytes of text
//! make_store haystack ROOT COUNT BYTES             that many sessions of so many bytes, a needle in every 50th
//! ```

#![allow(clippy::print_stdout, clippy::disallowed_methods, reason = "a program of its own, not part of dshkit")]

mod words;

use std::env;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;
use words::{Random, text, word};
use zstd::zstd_safe::{CCtx, CParameter, InBuffer, OutBuffer, ResetDirective, get_error_name};

fn main() -> io::Result<()> {
    let arguments: Vec<String> = env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["sessions", root, count, projects] => {
            let mut written = Written::default();
            for index in 0..number(count)? {
                written.add(&short_session(root, index, number(projects)?)?);
            }
            written.print();
        }
        ["log", root, id, "plain", bytes] => long_session(root, id, |written| written.plain, number(bytes)?)?.print(),
        ["log", root, id, "stored", bytes] => long_session(root, id, |written| written.stored, number(bytes)?)?.print(),
        ["conversation", root, id, messages, bytes] => {
            conversation(root, id, number(messages)?, number(bytes)?)?.print();
        }
        ["haystack", root, count, bytes] => {
            let mut written = Written::default();
            for index in 0..number(count)? {
                written.add(&hay(root, index, number(bytes)?)?);
            }
            written.print();
        }
        // Cargo runs every benchmark when it is told no name.
        [] => {}
        _ => return Err(io::Error::other("see the head of benches/make_store.rs for the arguments")),
    }
    Ok(())
}

fn number(text: &str) -> io::Result<u64> {
    text.parse().map_err(|_| io::Error::other(format!("{text:?} is not a number")))
}

fn short_session(root: &str, index: u64, projects: u64) -> io::Result<Written> {
    let mut random = Random::new(index);
    let id = format!("session-{:08x}-0000-4000-8000-{index:012}", random.below(1 << 32));
    // Some sessions are of the same millisecond, so that ties have to be broken.
    let mut log = Log::create(root, &format!("project-{:02}", index % projects), &id, index / 3 * 1_000, random)?;
    log.presets()?;
    log.turn(1)?;
    log.finish()
}

fn long_session(root: &str, id: &str, size: fn(&Written) -> u64, bytes: u64) -> io::Result<Written> {
    let mut log = Log::create(root, "long", id, 0, Random::new(1))?;
    log.presets()?;
    while size(&log.written) < bytes {
        let steps = log.random.between(1, 6);
        log.turn(steps)?;
    }
    log.finish()
}

fn hay(root: &str, index: u64, bytes: u64) -> io::Result<Written> {
    let id = format!("session-{index:06}");
    let mut log = Log::create(root, "hay", &id, index, Random::new(index + 3))?;
    log.presets()?;
    let mut needles = u64::from(index % 50 == 7);
    while log.written.plain < bytes {
        if needles > 0 && log.written.plain > bytes / 2 {
            needles -= 1;
            log.say("Where did we put the Zanzibar-needle, \u{641c}\u{7d22}\u{9488}?")?;
        }
        let steps = log.random.between(1, 6);
        log.turn(steps)?;
    }
    log.finish()
}

fn conversation(root: &str, id: &str, messages: u64, bytes: u64) -> io::Result<Written> {
    let mut log = Log::create(root, "talk", id, 0, Random::new(2))?;
    log.presets()?;
    for _ in 0..messages / 2 {
        log.exchange(bytes / messages)?;
    }
    log.finish()
}

/// How much was written.
#[derive(Default)]
struct Written {
    events: u64,
    frames: u64,
    plain: u64,
    stored: u64,
}

impl Written {
    fn add(&mut self, other: &Written) {
        self.events += other.events;
        self.frames += other.frames;
        self.plain += other.plain;
        self.stored += other.stored;
    }

    fn print(&self) {
        let Written { events, frames, plain, stored } = self;
        println!("{events} events, {frames} frames, {plain} bytes plain, {stored} stored");
    }
}

/// A log that is being written: one frame for each batch of events, as dsh appends them.
struct Log {
    file: BufWriter<File>,
    compressor: CCtx<'static>,
    frame: Vec<u8>,
    batch: String,
    random: Random,
    time: u64,
    turn: u64,
    step: u64,
    written: Written,
}

impl Log {
    fn create(root: &str, project: &str, id: &str, age: u64, random: Random) -> io::Result<Log> {
        let directory = Path::new(root).join(format!("--srv-{project}--")).join(id);
        fs::create_dir_all(&directory)?;
        let mut compressor = CCtx::create();
        compressor.set_parameter(CParameter::ChecksumFlag(true)).map_err(zstd_error)?;
        let time = 1_750_000_000_000 + age;
        let mut log = Log {
            file: BufWriter::new(File::create(directory.join("session.jsonl.zstd"))?),
            compressor,
            frame: Vec::new(),
            batch: String::new(),
            random,
            time,
            turn: 0,
            step: 0,
            written: Written::default(),
        };
        let id = quoted(id);
        log.row(&format!(
            r#"{{"type":"session","version":0,"id":{id},"createdAt":{time},"cwd":"/srv/{project}","delegationDepth":0}}"#
        ));
        log.end_frame()?;
        Ok(log)
    }

    fn finish(mut self) -> io::Result<Written> {
        self.file.flush()?;
        Ok(self.written)
    }

    fn row(&mut self, row: &str) {
        self.batch.push_str(row);
        self.batch.push('\n');
    }

    /// Adds an event and gives its seq.
    fn event(&mut self, kind: &str, data: &str) -> u64 {
        let (seq, time) = self.next(1);
        self.row(&format!(r#"{{"type":"{kind}","seq":{seq},"time":{time},"data":{data}}}"#));
        seq
    }

    /// Adds an event that joins the surface.
    fn surface_event(&mut self, kind: &str, data: &str, sources: Option<&[u64]>) {
        let (seq, time) = self.next(1);
        let sources = sources.map_or_else(String::new, |sources| format!(r#","sourceEventSeqs":{}"#, list(sources)));
        self.row(&format!(
            r#"{{"type":"{kind}","seq":{seq},"time":{time},"data":{data}{sources},"surfaceOp":"append"}}"#
        ));
    }

    fn next(&mut self, count: u64) -> (u64, u64) {
        let seq = self.written.events;
        self.written.events += count;
        self.time += self.random.below(30);
        (seq, self.time)
    }

    /// Ends the batch: what was added since the last one becomes a frame. As in Node, the size is not
    /// known when the frame begins, and so not in it.
    fn end_frame(&mut self) -> io::Result<()> {
        self.compressor.reset(ResetDirective::SessionOnly).map_err(zstd_error)?;
        self.frame.resize(zstd::zstd_safe::compress_bound(self.batch.len()) + 64, 0);
        let mut target = OutBuffer::around(&mut self.frame[..]);
        let mut source = InBuffer::around(self.batch.as_bytes());
        while source.pos() < self.batch.len() {
            self.compressor.compress_stream(&mut target, &mut source).map_err(zstd_error)?;
        }
        let left = self.compressor.end_stream(&mut target).map_err(zstd_error)?;
        assert_eq!(left, 0, "the frame fits its bound");
        let len = target.pos();
        self.file.write_all(&self.frame[..len])?;
        self.written.frames += 1;
        self.written.plain += self.batch.len() as u64;
        self.written.stored += len as u64;
        self.batch.clear();
        Ok(())
    }

    fn id(&mut self) -> String {
        let (high, low) = (self.random.number(), self.random.number());
        format!(
            "{:08x}-{:04x}-4{:03x}-8{:03x}-{:012x}",
            high >> 32,
            high >> 16 & 0xFFFF,
            high & 0xFFF,
            low >> 52,
            low >> 16
        )
    }

    fn presets(&mut self) -> io::Result<()> {
        self.event("permission/preset", r#"{"preset":"workspace-write"}"#);
        self.event("sandbox/mode", r#"{"mode":"workspace-write"}"#);
        self.event("approval/policy", r#"{"policy":"ask"}"#);
        self.end_frame()
    }

    fn user_message(&mut self, text: &str) -> String {
        let (content, id) = (text_block(text), self.id());
        format!(r#"{{"content":[{content}],"source":{{"kind":"user"}},"role":"user","id":"{id}"}}"#)
    }

    fn assistant_message(&mut self, content: &[String]) -> String {
        let (content, id) = (content.join(","), self.id());
        let source = r#"{"kind":"model","provider":"deepseek-official","model":"deepseek-v4-flash"}"#;
        format!(r#"{{"role":"assistant","content":[{content}],"source":{source},"id":"{id}"}}"#)
    }

    /// A turn: a prompt, steps that each call a tool, and an answer.
    fn turn(&mut self, steps: u64) -> io::Result<()> {
        self.turn += 1;
        let turn = self.turn;
        let len = self.random.between(40, 400);
        let prompt = text(&mut self.random, len);
        let message = self.user_message(&prompt);
        self.event("agent/inbox/spliced", &format!(r#"{{"target":"next-turn","start":0,"inserted":[{message}]}}"#));
        self.event("turn/start", &format!(r#"{{"turn":{turn}}}"#));
        self.event("agent/inbox/spliced", r#"{"target":"next-turn","start":0,"removedCount":1,"inserted":[]}"#);
        self.end_frame()?;
        for step in 1..=steps {
            self.step = step;
            self.event("step/start", &format!(r#"{{"turn":{turn},"step":{step}}}"#));
            if step == 1 {
                self.surface_event("user/message", &message, None);
            }
            self.end_frame()?;
            self.answer(step < steps)?;
        }
        Ok(())
    }

    /// The model's part of a step: streamed reasoning and text, then the whole message, then the tool it
    /// calls.
    fn answer(&mut self, calls_tool: bool) -> io::Result<()> {
        let first = self.written.events;
        let (turn, step) = (self.turn, self.step);
        let mut content = Vec::new();
        for (index, kind) in ["reasoning", "text"].into_iter().enumerate() {
            self.chunk(&format!(r#"{{"type":"block-start","index":{index},"blockType":"{kind}"}}"#));
            let mut whole = String::new();
            for _ in 0..self.random.between(1, 3) {
                whole.push_str(&self.packed_row(kind, index));
                self.end_frame()?;
            }
            content.push(format!(r#"{{"type":"{kind}","text":{}}}"#, quoted(&whole)));
        }
        let call_id = format!("call_{turn}_{step}");
        let path = format!("{}/{}.rs", word(&mut self.random), word(&mut self.random));
        let arguments = quoted(&format!(r#"{{"path":"{path}","limit":{}}}"#, self.random.below(500)));
        let call = format!(r#""name":"read","arguments":{arguments}"#);
        if calls_tool {
            content.push(format!(r#"{{"type":"tool-call","id":"{call_id}",{call}}}"#));
        }
        for (index, block) in content.iter().enumerate() {
            self.chunk(&format!(r#"{{"type":"block-end","index":{index},"block":{block}}}"#));
        }
        let (input, output) = (self.random.below(9_000), self.random.below(900));
        let usage = format!(r#"{{"inputTokens":{input},"outputTokens":{output},"cacheReadTokens":0}}"#);
        self.chunk(&format!(r#"{{"type":"usage","usage":{usage}}}"#));
        let reason = if calls_tool { "tool-calls" } else { "stop" };
        self.chunk(&format!(r#"{{"type":"finish","reason":{{"kind":"{reason}"}}}}"#));
        let message = self.assistant_message(&content);
        let sources: Vec<u64> = (first..self.written.events).collect();
        let data = format!(r#"{{"turn":{turn},"step":{step},"message":{message},"usage":{usage}}}"#);
        self.surface_event("assistant/message", &data, Some(&sources));
        if calls_tool {
            let data = format!(r#"{{"turn":{turn},"step":{step},"callId":"{call_id}",{call}}}"#);
            let call = self.event("tool/call", &data);
            self.end_frame()?;
            self.tool_result(&call_id, call);
        }
        self.event("step/end", &format!(r#"{{"turn":{turn},"step":{step}}}"#));
        if !calls_tool {
            self.event("turn/end", &format!(r#"{{"turn":{turn},"reason":{{"kind":"completed"}}}}"#));
        }
        self.end_frame()
    }

    fn tool_result(&mut self, call_id: &str, call: u64) {
        let (turn, step) = (self.turn, self.step);
        let len = self.random.between(200, 1_500);
        let output = text_block(&text(&mut self.random, len));
        let result =
            format!(r#"{{"type":"tool-result","toolCallId":"{call_id}","content":[{output}],"isError":false}}"#);
        let source = format!(r#"{{"kind":"tool","callId":"{call_id}"}}"#);
        let message = format!(r#"{{"source":{source},"content":[{result}],"role":"user","id":"{}"}}"#, self.id());
        let data = format!(r#"{{"turn":{turn},"step":{step},"message":{message}}}"#);
        self.surface_event("tool/result", &data, Some(&[call]));
    }

    fn chunk(&mut self, chunk: &str) {
        let data = format!(r#"{{"turn":{},"step":{},"chunk":{chunk}}}"#, self.turn, self.step);
        self.event("assistant/chunk", &data);
    }

    /// A run of streamed pieces in one row; gives what they say together.
    fn packed_row(&mut self, kind: &str, index: usize) -> String {
        let count = self.random.between(20, 50);
        let pieces: Vec<String> = (0..count).map(|_| format!("{} ", word(&mut self.random))).collect();
        // The pieces of one network packet have the same time.
        let gaps: Vec<u64> = (1..count).map(|_| self.random.below(40).saturating_sub(25)).collect();
        let (seq, time) = self.next(count);
        self.time += gaps.iter().sum::<u64>();
        let (turn, step) = (self.turn, self.step);
        let texts = pieces.iter().map(|piece| quoted(piece)).collect::<Vec<_>>().join(",");
        let gaps = list(&gaps);
        let data = format!(r#"{{"turn":{turn},"step":{step},"index":{index},"dt":{gaps},"texts":[{texts}]}}"#);
        self.row(&format!(r#"{{"type":"{kind}-chunks","seq0":{seq},"time0":{time},"data":{data}}}"#));
        pieces.concat()
    }

    /// A turn of one prompt and nothing else.
    fn say(&mut self, text: &str) -> io::Result<()> {
        self.turn += 1;
        let turn = self.turn;
        self.event("turn/start", &format!(r#"{{"turn":{turn}}}"#));
        let message = self.user_message(text);
        self.surface_event("user/message", &message, None);
        self.event("turn/end", &format!(r#"{{"turn":{turn},"reason":{{"kind":"completed"}}}}"#));
        self.end_frame()
    }

    /// A turn of one prompt and one answer, with so many bytes of text each.
    fn exchange(&mut self, bytes: u64) -> io::Result<()> {
        self.turn += 1;
        let turn = self.turn;
        self.event("turn/start", &format!(r#"{{"turn":{turn}}}"#));
        self.event("step/start", &format!(r#"{{"turn":{turn},"step":1}}"#));
        let prompt = text(&mut self.random, bytes);
        let message = self.user_message(&prompt);
        self.surface_event("user/message", &message, None);
        self.end_frame()?;
        let answer = text_block(&text(&mut self.random, bytes));
        let message = self.assistant_message(&[answer]);
        let data = format!(r#"{{"turn":{turn},"step":1,"message":{message}}}"#);
        self.surface_event("assistant/message", &data, Some(&[]));
        self.event("step/end", &format!(r#"{{"turn":{turn},"step":1}}"#));
        self.event("turn/end", &format!(r#"{{"turn":{turn},"reason":{{"kind":"completed"}}}}"#));
        self.end_frame()
    }
}

fn text_block(text: &str) -> String {
    format!(r#"{{"type":"text","text":{}}}"#, quoted(text))
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn list(numbers: &[u64]) -> String {
    format!("{numbers:?}").replace(' ', "")
}

fn zstd_error(code: usize) -> io::Error {
    io::Error::other(get_error_name(code))
}
