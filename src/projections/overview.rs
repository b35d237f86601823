//! What a listing tells of a session beyond its header: title, turns, last prompt, how it ended.

use crate::model::event::Event;
use crate::model::js_string::{JsStr, JsString};
use crate::model::json::View;
use crate::model::message::is_from_user;

/// The overview of a session, folded from its stored events.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overview {
    /// The newest title event's title (formats.md §7.1: the last one wins).
    pub title: Option<Title>,
    /// How many turns have started.
    pub turns: u64,
    /// When the person last wrote, in milliseconds since the epoch.
    pub last_prompt_at: Option<i64>,
    /// Why the last turn ended, in the log's own word; `open` if it has not.
    pub end_state: Option<JsString>,
}

/// A session's title.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Title {
    /// The title.
    pub text: JsString,
    /// Who made it: `user`, `provider` or `fallback`.
    pub source: JsString,
    /// The event that set it.
    pub seq: u64,
}

impl Overview {
    /// Takes one event in. Closers are not part of it: what dsh adds on reading did not happen.
    pub fn apply(&mut self, event: &Event<'_>) {
        if event.synthetic {
            return;
        }
        match event.kind.to_str() {
            Some("session/title") => {
                let data = event.data();
                let source = data.get("source").and_then(|source| source.get("kind")).and_then(View::string);
                self.title = data.get("title").and_then(View::string).map(|title| Title {
                    text: title.into_owned(),
                    source: source.unwrap_or_default().into_owned(),
                    seq: event.seq,
                });
            }
            Some("turn/start") => {
                self.turns += 1;
                self.end_state = Some(JsStr::from("open"));
            }
            Some("turn/end") => {
                let kind = event.data().get("reason").and_then(|reason| reason.get("kind")).and_then(View::string);
                self.end_state = kind.map(JsStr::into_owned);
            }
            Some("user/message") if is_from_user(event.data()) => self.last_prompt_at = Some(event.time),
            _ => {}
        }
    }
}
