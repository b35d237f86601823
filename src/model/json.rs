//! JSON as JavaScript reads and writes it.
//!
//! dsh writes its logs with `JSON.stringify` and reads them with `JSON.parse`. Three of their habits
//! matter for reading a log as dsh reads it, and a general JSON library has none of them: strings may
//! hold unpaired surrogates, a repeated key keeps its first place and its last value, and keys that
//! look like array indices come first. So this is our own reader. It is lazy: [`parse`] checks a text
//! once and gives a [`View`] into it, and most of a log is never looked at more closely than that.

mod scan;
mod value;
mod view;
mod write;

pub use scan::{JsonError, MAX_DEPTH, parse, parse_members, parse_prefix};
pub use value::{Object, Value};
pub use view::{Kind, View};
pub use write::{number_literal, string_literal, write_string, write_value, write_view};
