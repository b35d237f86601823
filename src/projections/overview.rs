//! What a listing tells of a session beyond its header: title, turns, last prompt, how it ended.
//!
//! It is a unit that only listings fold, beside those that dsh's clients see.

use super::state_text::Text;
use super::unit::{Change, Unit};
use crate::model::event::Event;
use crate::model::header::Header;
use crate::model::json::Value;
use crate::model::message::is_from_user;
use serde::{Deserialize, Serialize};

/// The overview of a session, folded from its stored events.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Overview {
    /// The newest title event's title (formats.md §7.1: the last one wins).
    pub title: Option<Title>,
    /// How many turns have started.
    pub turns: u64,
    /// When the person last wrote, in milliseconds since the epoch.
    pub last_prompt_at: Option<i64>,
    /// Why the last turn ended, in the log's own word; `open` if it has not.
    pub end_state: Option<Text>,
}

/// A session's title.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Title {
    /// The title.
    pub text: Text,
    /// Who made it: `user`, `provider` or `fallback`.
    pub source: Text,
    /// The event that set it.
    pub seq: u64,
}

impl Unit for Overview {
    const KEY: &'static str = "overview";
    const VERSION: u32 = 1;
    const EVENTS: &'static [&'static str] = &["session/title", "turn/start", "turn/end", "user/message"];

    fn init(_header: &Header) -> Overview {
        Overview::default()
    }

    /// Closers are not part of it: what dsh adds on reading did not happen.
    fn apply(&mut self, event: &Event<'_>) -> Change {
        if event.synthetic {
            return Change::None;
        }
        match event.kind.to_str() {
            Some("session/title") => {
                let data = event.data();
                let source = data.get("source").and_then(|source| source.get("kind")).and_then(Text::of);
                self.title = data.get("title").and_then(Text::of).map(|text| Title {
                    text,
                    source: source.unwrap_or_default(),
                    seq: event.seq,
                });
            }
            Some("turn/start") => {
                self.turns += 1;
                self.end_state = Some(Text::from("open"));
            }
            Some("turn/end") => {
                let kind = event.data().get("reason").and_then(|reason| reason.get("kind"));
                self.end_state = kind.and_then(Text::of);
            }
            Some("user/message") if is_from_user(event.data()) => self.last_prompt_at = Some(event.time),
            _ => return Change::None,
        }
        Change::Some
    }

    /// Nobody asks for it; listings look at the state.
    fn view(&self) -> Value {
        Value::Null
    }
}
