//! A whole turn of a person and a model, as dsh 0.1.0 writes one into a v0 log (formats.md §3, §4, §7.5;
//! seen in its own logs).
//!
//! A turn has one step, for no tool is called. What the model streamed stands in the log piece by piece, then
//! together in its message. A call that failed leaves the reason and no message; an answer that was broken
//! off leaves what had come, marked as interrupted. One that ended at the most the model may write leaves a message
//! even if nothing had come: its content is empty then, and no model is sent it.

use super::object;
use crate::model::call_usage::CallUsage;
use crate::model::js_string::{JsStr, JsString};
use crate::model::json::{Object, Value, write_value};

/// From how many pieces on dsh packs a run of them into one row.
const PACKED_FROM: usize = 3;

/// The step of every turn here.
const STEP: u64 = 1;

/// A turn to be written. Times are milliseconds since the epoch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewTurn {
    /// Its number, the first of a log being 1.
    pub number: u64,
    /// When it began.
    pub began: i64,
    /// What the person said; `None` if the model is to answer what stands there already.
    pub prompt: Option<Prompt>,
    /// Whom the request went to.
    pub request: Request,
    /// What came of it.
    pub reply: Reply,
}

/// What a person says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prompt {
    /// The message's id: a UUID version 4 in lower case, new to the log.
    pub id: String,
    /// The text.
    pub text: String,
}

/// Whom a request goes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Who serves the model, as dsh calls it.
    pub provider: JsString,
    /// The model.
    pub model: JsString,
    /// The most it may write, in its own tokens.
    pub max_tokens: u64,
    /// Whether it is the first request of the log.
    pub is_first: bool,
    /// Whether the request before went to another model, or there was none.
    pub is_other_model: bool,
}

/// What a model said, and how it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The id of its message: a UUID version 4 in lower case, new to the log.
    pub id: String,
    /// The pieces in the order in which they came.
    pub pieces: Vec<Piece>,
    /// What it used, as far as it says.
    pub usage: Option<CallUsage>,
    /// How it ended.
    pub ending: Ending,
    /// When.
    pub ended: i64,
}

/// A piece of what a model says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// When it came.
    pub time: i64,
    /// What it is part of.
    pub kind: PieceKind,
    /// The piece.
    pub text: String,
}

/// What a model says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PieceKind {
    /// What it thinks before it answers.
    Reasoning,
    /// The answer.
    Text,
}

impl PieceKind {
    /// The type of a block.
    fn block(self) -> &'static str {
        match self {
            PieceKind::Reasoning => "reasoning",
            PieceKind::Text => "text",
        }
    }

    /// The type of a chunk.
    fn delta(self) -> &'static str {
        match self {
            PieceKind::Reasoning => "reasoning-delta",
            PieceKind::Text => "text-delta",
        }
    }

    /// The type of a row of packed chunks.
    fn packed(self) -> &'static str {
        match self {
            PieceKind::Reasoning => "reasoning-chunks",
            PieceKind::Text => "text-chunks",
        }
    }
}

/// How a reply ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The model had said all.
    Completed,
    /// It had written as much as it may.
    MaxTokens,
    /// The person broke it off.
    Interrupted,
    /// The call failed.
    Failed(CallFault),
}

/// Why a call failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallFault {
    /// What went wrong.
    pub message: String,
    /// What kind of failure it is, in the words dsh has for it: `AUTH`, `RATE_LIMIT`, `SERVER`, `TRANSPORT`, ….
    pub code: String,
    /// The status of the HTTP response, if that was it.
    pub status: Option<u16>,
    /// Whether the stream was whole, and told of this at its end.
    pub is_whole: bool,
}

/// The rows of a turn, without their line feeds, and how many events they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnRows {
    /// The rows.
    pub rows: Vec<String>,
    /// The events.
    pub events: u64,
}

impl NewTurn {
    /// The id of the last message of the turn that a model will see; `None` if there is none.
    pub fn last_message(&self) -> Option<&str> {
        let prompt = self.prompt.as_ref().map(|prompt| prompt.id.as_str());
        if self.reply.content().is_some() { Some(&self.reply.id) } else { prompt }
    }

    /// Whether the model's message holds anything.
    pub fn has_answer(&self) -> bool {
        self.reply.content().is_some_and(|blocks| !blocks.is_empty())
    }

    /// The rows of the turn in a v0 log, the first event of which gets this seq. No event is earlier than
    /// the turn's beginning.
    pub fn rows(&self, first_seq: u64) -> TurnRows {
        let mut writer = Writer { turn: self.number, rows: Vec::new(), seq: first_seq };
        writer.event("turn/start", self.began, object([("turn", self.number.into())]));
        writer.event("step/start", self.began, writer.step());
        if let Some(prompt) = &self.prompt {
            let data = object([
                ("content", text_block(&prompt.text)),
                ("source", object([("kind", "user".into())])),
                ("role", "user".into()),
                ("id", prompt.id.as_str().into()),
            ]);
            writer.surface("user/message", self.began, data, &[]);
        }
        self.request.write(&mut writer, self.began);
        let ended = self.reply.ended.max(self.began);
        let cites = self.reply.write_stream(&mut writer, self.began, ended);
        self.reply.write_message(&mut writer, &self.request, ended, &cites);
        writer.event("step/end", ended, writer.step());
        let reason = self.reply.ending.reason();
        writer.event("turn/end", ended, object([("turn", self.number.into()), ("reason", reason)]));
        TurnRows { rows: writer.rows, events: writer.seq - first_seq }
    }
}

impl Request {
    fn write(&self, writer: &mut Writer, time: i64) {
        let config = object([
            ("provider", self.provider.clone().into()),
            ("model", self.model.clone().into()),
            ("maxTokens", self.max_tokens.into()),
        ]);
        let reason = if self.is_first { "initial" } else { "resume" };
        let header = object([("config", config)]);
        writer.event("request/header", time, object([("header", header), ("reason", reason.into())]));
        if self.is_other_model {
            let route = [("provider", self.provider.clone().into()), ("model", self.model.clone().into())];
            writer.event("request/context", time, object(route));
        }
    }
}

impl Reply {
    /// The answer, without what was thought before it.
    pub fn text(&self) -> String {
        self.pieces.iter().filter(|piece| piece.kind == PieceKind::Text).map(|piece| piece.text.as_str()).collect()
    }

    /// What was streamed, block by block.
    fn blocks(&self) -> Vec<(PieceKind, String)> {
        let mut blocks: Vec<(PieceKind, String)> = Vec::new();
        for piece in &self.pieces {
            match blocks.iter_mut().find(|(kind, _)| *kind == piece.kind) {
                Some((_, text)) => text.push_str(&piece.text),
                None => blocks.push((piece.kind, piece.text.clone())),
            }
        }
        blocks
    }

    /// What the message of the reply holds; `None` if it has none.
    fn content(&self) -> Option<Vec<(PieceKind, String)>> {
        let mut blocks = self.blocks();
        match self.ending {
            Ending::Completed | Ending::MaxTokens => Some(blocks),
            Ending::Interrupted => {
                blocks.retain(|(_, text)| !JsStr::from(text.as_str()).trim_js().is_empty());
                (!blocks.is_empty()).then_some(blocks)
            }
            Ending::Failed(_) => None,
        }
    }

    /// Whether all of the stream came, to its end.
    fn is_whole(&self) -> bool {
        match &self.ending {
            Ending::Completed | Ending::MaxTokens => true,
            Ending::Interrupted => false,
            Ending::Failed(fault) => fault.is_whole,
        }
    }

    /// Writes the stream and gives the seqs of its events.
    fn write_stream(&self, writer: &mut Writer, began: i64, ended: i64) -> Vec<u64> {
        let first = writer.seq;
        let mut open: Vec<PieceKind> = Vec::new();
        let mut rest = self.pieces.as_slice();
        while let Some(piece) = rest.first() {
            let index = open.iter().position(|kind| *kind == piece.kind).unwrap_or_else(|| {
                let start = [("index", (open.len() as u64).into()), ("blockType", piece.kind.block().into())];
                writer.chunk(piece.time.max(began), "block-start", start);
                open.push(piece.kind);
                open.len() - 1
            });
            let length = rest.iter().take_while(|next| next.kind == piece.kind).count();
            let (run, others) = rest.split_at(length);
            writer.run(index as u64, run, began);
            rest = others;
        }
        if self.is_whole() {
            for (index, (kind, text)) in self.blocks().iter().enumerate() {
                let block = object([("type", kind.block().into()), ("text", text.as_str().into())]);
                writer.chunk(ended, "block-end", [("index", (index as u64).into()), ("block", block)]);
            }
        }
        // A call that failed may have used something all the same, and dsh counts it.
        if let Some(usage) = &self.usage {
            writer.chunk(ended, "usage", [("usage", usage_data(usage))]);
        }
        if let Some(reason) = self.ending.finish() {
            writer.chunk(ended, "finish", [("reason", reason)]);
        }
        (first..writer.seq).collect()
    }

    fn write_message(&self, writer: &mut Writer, request: &Request, time: i64, cites: &[u64]) {
        let Some(blocks) = self.content() else { return };
        let block = |(kind, text): &(PieceKind, String)| {
            object([("type", kind.block().into()), ("text", text.as_str().into())])
        };
        let source = object([
            ("kind", "model".into()),
            ("provider", request.provider.clone().into()),
            ("model", request.model.clone().into()),
        ]);
        let message = object([
            ("role", "assistant".into()),
            ("content", Value::Array(blocks.iter().map(block).collect())),
            ("source", source),
            ("id", self.id.as_str().into()),
        ]);
        let mut data = Object::of([("turn", writer.turn.into()), ("step", STEP.into()), ("message", message)]);
        if self.ending == Ending::Interrupted {
            data.set("interrupted", true.into());
        }
        if let Some(usage) = &self.usage {
            data.set("usage", usage_data(usage));
        }
        writer.surface("assistant/message", time, data.into(), cites);
    }
}

/// What a log says of the tokens of a call.
fn usage_data(usage: &CallUsage) -> Value {
    let mut data = Object::of([("inputTokens", usage.input.into()), ("outputTokens", usage.output.into())]);
    let optional =
        [("totalTokens", usage.total), ("cacheReadTokens", usage.cache_read), ("reasoningTokens", usage.reasoning)];
    for (key, count) in optional {
        if let Some(count) = count {
            data.set(key, count.into());
        }
    }
    data.into()
}

impl Ending {
    /// How the stream ended; one that the person broke off has no end.
    fn finish(&self) -> Option<Value> {
        match self {
            Ending::Completed => Some(object([("kind", "stop".into())])),
            Ending::MaxTokens => Some(object([("kind", "max-tokens".into())])),
            Ending::Interrupted => None,
            Ending::Failed(fault) => Some(object([("kind", "error".into()), ("failure", fault.write())])),
        }
    }

    /// How the turn ended.
    fn reason(&self) -> Value {
        match self {
            Ending::Completed => object([("kind", "completed".into())]),
            Ending::MaxTokens => object([("kind", "max-tokens".into())]),
            Ending::Interrupted => object([("kind", "aborted".into()), ("reason", object([("kind", "user".into())]))]),
            Ending::Failed(fault) => object([("kind", "error".into()), ("error", fault.write())]),
        }
    }
}

impl CallFault {
    fn write(&self) -> Value {
        let mut fault = Object::of([("message", self.message.as_str().into()), ("code", self.code.as_str().into())]);
        if let Some(status) = self.status {
            fault.set("status", u64::from(status).into());
        }
        fault.into()
    }
}

/// The rows as they are made.
struct Writer {
    turn: u64,
    rows: Vec<String>,
    seq: u64,
}

impl Writer {
    fn step(&self) -> Value {
        object([("turn", self.turn.into()), ("step", STEP.into())])
    }

    fn push(&mut self, row: Object, events: u64) {
        let mut text = String::new();
        write_value(&row.into(), &mut text);
        self.rows.push(text);
        self.seq += events;
    }

    fn event(&mut self, kind: &'static str, time: i64, data: Value) {
        let members = [("type", kind.into()), ("seq", self.seq.into()), ("time", time.into()), ("data", data)];
        self.push(Object::of(members), 1);
    }

    fn surface(&mut self, kind: &'static str, time: i64, data: Value, cites: &[u64]) {
        let mut row =
            Object::of([("type", kind.into()), ("seq", self.seq.into()), ("time", time.into()), ("data", data)]);
        if !cites.is_empty() {
            row.set("sourceEventSeqs", Value::Array(cites.iter().map(|seq| (*seq).into()).collect()));
        }
        row.set("surfaceOp", "append".into());
        self.push(row, 1);
    }

    fn chunk<const N: usize>(&mut self, time: i64, kind: &'static str, members: [(&'static str, Value); N]) {
        let mut chunk = Object::of([("type", kind.into())]);
        for (key, value) in members {
            chunk.set(key, value);
        }
        let data = object([("turn", self.turn.into()), ("step", STEP.into()), ("chunk", chunk.into())]);
        self.event("assistant/chunk", time, data);
    }

    /// Writes pieces of one block that came one after the other: packed if they are many.
    fn run(&mut self, index: u64, run: &[Piece], began: i64) {
        let times: Vec<i64> = run.iter().map(|piece| piece.time.max(began)).collect();
        if run.len() < PACKED_FROM {
            for (piece, time) in run.iter().zip(times) {
                let members = [("index", index.into()), ("text", piece.text.as_str().into())];
                self.chunk(time, piece.kind.delta(), members);
            }
            return;
        }
        let gaps = times.windows(2).map(|pair| (pair[1] - pair[0]).into()).collect();
        let data = object([
            ("turn", self.turn.into()),
            ("step", STEP.into()),
            ("index", index.into()),
            ("dt", Value::Array(gaps)),
            ("texts", Value::Array(run.iter().map(|piece| piece.text.as_str().into()).collect())),
        ]);
        let row = Object::of([
            ("type", run[0].kind.packed().into()),
            ("seq0", self.seq.into()),
            ("time0", times[0].into()),
            ("data", data),
        ]);
        self.push(row, run.len() as u64);
    }
}

fn text_block(text: &str) -> Value {
    Value::Array(vec![object([("type", "text".into()), ("text", text.into())])])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(pieces: &[(i64, PieceKind, &str)], ending: Ending) -> NewTurn {
        let piece =
            |(time, kind, text): &(i64, PieceKind, &str)| Piece { time: *time, kind: *kind, text: (*text).to_owned() };
        NewTurn {
            number: 2,
            began: 10,
            prompt: Some(Prompt { id: "q".to_owned(), text: "Why?".to_owned() }),
            request: Request {
                provider: JsStr::from("deepseek-official"),
                model: JsStr::from("deepseek-v4-flash"),
                max_tokens: 8000,
                is_first: true,
                is_other_model: true,
            },
            reply: Reply {
                id: "a".to_owned(),
                pieces: pieces.iter().map(piece).collect(),
                usage: Some(CallUsage { input: 9, output: 4, total: Some(13), cache_read: Some(0), reasoning: None }),
                ending,
                ended: 30,
            },
        }
    }

    /// The rows that follow the request.
    fn after_request(turn: &NewTurn) -> Vec<String> {
        turn.rows(8).rows.split_off(5)
    }

    #[test]
    fn a_turn_is_the_one_dsh_writes() {
        use PieceKind::{Reasoning, Text};
        let pieces =
            [(11, Reasoning, "Hm"), (12, Reasoning, "."), (14, Text, "Be"), (15, Text, "cau"), (15, Text, "se.")];
        let rows = turn(&pieces, Ending::Completed).rows(8);
        let expected = [
            r#"{"type":"turn/start","seq":8,"time":10,"data":{"turn":2}}"#,
            r#"{"type":"step/start","seq":9,"time":10,"data":{"turn":2,"step":1}}"#,
            r#"{"type":"user/message","seq":10,"time":10,"data":{"content":[{"type":"text","text":"Why?"}],"source":{"kind":"user"},"role":"user","id":"q"},"surfaceOp":"append"}"#,
            r#"{"type":"request/header","seq":11,"time":10,"data":{"header":{"config":{"provider":"deepseek-official","model":"deepseek-v4-flash","maxTokens":8000}},"reason":"initial"}}"#,
            r#"{"type":"request/context","seq":12,"time":10,"data":{"provider":"deepseek-official","model":"deepseek-v4-flash"}}"#,
            r#"{"type":"assistant/chunk","seq":13,"time":11,"data":{"turn":2,"step":1,"chunk":{"type":"block-start","index":0,"blockType":"reasoning"}}}"#,
            r#"{"type":"assistant/chunk","seq":14,"time":11,"data":{"turn":2,"step":1,"chunk":{"type":"reasoning-delta","index":0,"text":"Hm"}}}"#,
            r#"{"type":"assistant/chunk","seq":15,"time":12,"data":{"turn":2,"step":1,"chunk":{"type":"reasoning-delta","index":0,"text":"."}}}"#,
            r#"{"type":"assistant/chunk","seq":16,"time":14,"data":{"turn":2,"step":1,"chunk":{"type":"block-start","index":1,"blockType":"text"}}}"#,
            r#"{"type":"text-chunks","seq0":17,"time0":14,"data":{"turn":2,"step":1,"index":1,"dt":[1,0],"texts":["Be","cau","se."]}}"#,
            r#"{"type":"assistant/chunk","seq":20,"time":30,"data":{"turn":2,"step":1,"chunk":{"type":"block-end","index":0,"block":{"type":"reasoning","text":"Hm."}}}}"#,
            r#"{"type":"assistant/chunk","seq":21,"time":30,"data":{"turn":2,"step":1,"chunk":{"type":"block-end","index":1,"block":{"type":"text","text":"Because."}}}}"#,
            r#"{"type":"assistant/chunk","seq":22,"time":30,"data":{"turn":2,"step":1,"chunk":{"type":"usage","usage":{"inputTokens":9,"outputTokens":4,"totalTokens":13,"cacheReadTokens":0}}}}"#,
            r#"{"type":"assistant/chunk","seq":23,"time":30,"data":{"turn":2,"step":1,"chunk":{"type":"finish","reason":{"kind":"stop"}}}}"#,
            r#"{"type":"assistant/message","seq":24,"time":30,"data":{"turn":2,"step":1,"message":{"role":"assistant","content":[{"type":"reasoning","text":"Hm."},{"type":"text","text":"Because."}],"source":{"kind":"model","provider":"deepseek-official","model":"deepseek-v4-flash"},"id":"a"},"usage":{"inputTokens":9,"outputTokens":4,"totalTokens":13,"cacheReadTokens":0}},"sourceEventSeqs":[13,14,15,16,17,18,19,20,21,22,23],"surfaceOp":"append"}"#,
            r#"{"type":"step/end","seq":25,"time":30,"data":{"turn":2,"step":1}}"#,
            r#"{"type":"turn/end","seq":26,"time":30,"data":{"turn":2,"reason":{"kind":"completed"}}}"#,
        ];
        assert_eq!(rows.rows, expected);
        assert_eq!(rows.events, 19);
    }

    #[test]
    fn an_answer_that_was_broken_off_is_kept_as_interrupted() {
        let mut broken = turn(&[(11, PieceKind::Text, "Bec")], Ending::Interrupted);
        broken.reply.usage = None;
        let rows = after_request(&broken);
        assert!(
            rows[2].contains(r#""content":[{"type":"text","text":"Bec"}]"#)
                && rows[2].contains(r#""interrupted":true}"#)
        );
        assert!(rows[2].contains(r#""sourceEventSeqs":[13,14]"#), "{}", rows[2]);
        assert!(rows[4].ends_with(r#""reason":{"kind":"aborted","reason":{"kind":"user"}}}}"#));
        assert_eq!((rows.len(), broken.last_message()), (5, Some("a")));
        let mut silent = turn(&[(11, PieceKind::Text, " ")], Ending::Interrupted);
        silent.reply.usage = None;
        assert_eq!((after_request(&silent).len(), silent.last_message()), (4, Some("q")), "white space is no answer");
    }

    #[test]
    fn a_call_that_failed_leaves_its_reason_and_no_message() {
        let fault =
            CallFault { message: "busy".to_owned(), code: "SERVER".to_owned(), status: Some(503), is_whole: false };
        let mut failed = turn(&[(11, PieceKind::Text, "Bec")], Ending::Failed(fault));
        assert!(after_request(&failed)[2].contains(r#""chunk":{"type":"usage","usage":{"inputTokens":9,"#));
        failed.reply.usage = None;
        let rows = after_request(&failed);
        let failure = r#"{"message":"busy","code":"SERVER","status":503}"#;
        assert!(
            rows[2].ends_with(&format!(r#"{{"type":"finish","reason":{{"kind":"error","failure":{failure}}}}}}}}}"#))
        );
        assert!(rows[4].ends_with(&format!(r#""reason":{{"kind":"error","error":{failure}}}}}}}"#)), "{}", rows[4]);
        assert_eq!((rows.len(), failed.last_message()), (5, Some("q")));
    }

    #[test]
    fn a_whole_answer_that_is_none_leaves_its_blocks_and_no_message() {
        let (message, code) = ("the answer ended with \"content_filter\"".to_owned(), "CONTENT_FILTER".to_owned());
        let fault = CallFault { message, code, status: None, is_whole: true };
        let rows = after_request(&turn(&[(11, PieceKind::Text, "Bec")], Ending::Failed(fault)));
        assert!(rows[2].contains(r#""chunk":{"type":"block-end","index":0,"block":{"type":"text","text":"Bec"}}"#));
        assert!(rows[3].contains(r#""chunk":{"type":"usage""#) && rows[4].contains(r#""chunk":{"type":"finish""#));
        assert!(rows[5].contains("step/end") && rows.len() == 7, "{rows:#?}");
    }

    #[test]
    fn the_most_a_model_may_write_can_be_nothing() {
        let nothing = turn(&[], Ending::MaxTokens);
        let rows = after_request(&nothing);
        assert!(rows[1].contains(r#""finish","reason":{"kind":"max-tokens"}"#), "{rows:#?}");
        assert!(rows[2].contains(r#""content":[]"#) && rows[2].contains(r#""sourceEventSeqs":[13,14]"#), "{}", rows[2]);
        assert_eq!((rows.len(), nothing.last_message()), (5, Some("a")));
    }

    #[test]
    fn no_event_is_earlier_than_the_turn() {
        let mut early =
            turn(&[(1, PieceKind::Text, "a"), (2, PieceKind::Text, "b"), (3, PieceKind::Text, "c")], Ending::Completed);
        early.reply.ended = 4;
        assert!(early.rows(0).rows.iter().all(|row| row.contains(r#""time":10"#) || row.contains(r#""time0":10"#)));
    }
}
