//! `turnOutline`: of each turn where it begins, the first words the person wrote, and the last answer's
//! first words (dsh-session-turn-outline of 0.2.1; the same in 0.1.5).

use crate::model::event::Event;
use crate::model::header::Header;
use crate::model::js_string::{JsStr, JsString, encoded_len, is_js_whitespace};
use crate::model::json::{Object, Value, View};
use crate::model::message::is_from_user;
use crate::projections::state_text::Text;
use crate::projections::unit::{Change, Unit};
use serde::{Deserialize, Serialize};

/// How many UTF-16 code units of a prompt are shown, the ellipsis included.
const PROMPT_UNITS: usize = 50;
/// How many of an answer.
const RESPONSE_UNITS: usize = 120;

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TurnOutline {
    turns: Vec<Turn>,
    /// The newest answer with words in it, until its turn ends.
    draft: Option<Text>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Turn {
    turn: u64,
    /// The event that began it.
    seq: u64,
    prompt: Option<Text>,
    response: Option<Text>,
}

impl TurnOutline {
    fn start_turn(&mut self, event: &Event<'_>) -> Option<()> {
        let turn = event.data().get("turn")?.count()?;
        // A turn that starts again goes on.
        if self.turns.last().is_some_and(|last| turn <= last.turn) {
            return None;
        }
        self.turns.push(Turn { turn, seq: event.seq, prompt: None, response: None });
        self.draft = None;
        Some(())
    }

    fn take_prompt(&mut self, message: View<'_>) -> Option<()> {
        let last = self.turns.last_mut().filter(|last| last.prompt.is_none() && is_from_user(message))?;
        last.prompt = Some(preview(message, PROMPT_UNITS)?);
        Some(())
    }

    fn take_answer(&mut self, message: View<'_>) -> Option<()> {
        self.draft = Some(preview(message, RESPONSE_UNITS)?);
        Some(())
    }

    fn end_turn(&mut self) -> Option<()> {
        let draft = self.draft.take()?;
        if let Some(last) = self.turns.last_mut() {
            last.response = Some(draft);
        }
        Some(())
    }
}

/// The first words of a message's text blocks, joined by spaces, on one line; `None` if there are none.
fn preview(message: View<'_>, limit: usize) -> Option<Text> {
    let mut text = JsString::default();
    let mut is_cut = false;
    let blocks = message.get("content")?.elements();
    for block in blocks.filter(|block| block.get("type").is_some_and(|kind| kind.is_string("text"))) {
        if is_longer(&text, limit * 2 - 1) {
            is_cut = true;
            break;
        }
        let block = block.get("text")?.string_start(limit * 2 + 1)?;
        if !text.is_empty() {
            text.push_str(" ");
        }
        // White space may still go, so twice the limit is looked at.
        text.push_js(&first_units(&block, limit * 2));
        if is_longer(&block, limit * 2) {
            is_cut = true;
            break;
        }
    }
    let mut text = on_one_line(&text);
    if is_longer(&text, limit - 1) {
        text = first_units(&text, limit - 1).trim_js().into_owned();
        is_cut = true;
    }
    if is_cut {
        text.push_str("…");
    }
    (!text.is_empty()).then_some(Text(text))
}

/// Each run of white space as one space, and none at the ends.
fn on_one_line(text: &JsStr<'_>) -> JsString {
    let mut line = JsString::default();
    let (mut at, mut is_after_space) = (0, false);
    for point in text.code_points() {
        let end = at + encoded_len(point);
        let is_space = is_js_whitespace(point);
        if !is_space {
            if is_after_space && !line.is_empty() {
                line.push_str(" ");
            }
            line.push_js(&text.slice(at, end));
        }
        (at, is_after_space) = (end, is_space);
    }
    line
}

/// Whether a string has more UTF-16 code units than this.
fn is_longer(text: &JsStr<'_>, units: usize) -> bool {
    text.units().nth(units).is_some()
}

/// The first UTF-16 code units of a string. It may end with the first half of a pair, as in dsh.
fn first_units(text: &JsStr<'_>, units: usize) -> JsString {
    let mut first = JsString::default();
    text.units().take(units).for_each(|unit| first.push_unit(unit));
    first
}

impl Unit for TurnOutline {
    const KEY: &'static str = "turnOutline";
    const VERSION: u32 = 1;
    const EVENTS: &'static [&'static str] = &["turn/start", "user/message", "assistant/message", "turn/end"];

    fn init(_header: &Header) -> TurnOutline {
        TurnOutline { turns: Vec::new(), draft: None }
    }

    fn apply(&mut self, event: &Event<'_>) -> Change {
        let taken = match event.kind.to_str() {
            Some("turn/start") => self.start_turn(event),
            Some("user/message") => self.take_prompt(event.data()),
            Some("assistant/message") => event.parts().message.and_then(|message| self.take_answer(message)),
            _ => self.end_turn(),
        };
        if taken.is_some() { Change::Some } else { Change::None }
    }

    fn view(&self) -> Value {
        let text = |text: &Option<Text>| text.as_ref().map_or(Value::from(""), Text::to_value);
        let turn = |turn: &Turn| {
            Value::from(Object::of([
                ("turn", Value::from(turn.turn)),
                ("seq", Value::from(turn.seq)),
                ("prompt", text(&turn.prompt)),
                ("response", text(&turn.response)),
            ]))
        };
        Value::Array(self.turns.iter().map(turn).collect())
    }
}
