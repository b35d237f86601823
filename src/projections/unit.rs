//! What a unit is: one value folded from a log, and how it is kept between two readings.

use crate::model::event::Event;
use crate::model::header::Header;
use crate::model::json::Value;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::any::Any;

/// Whether an event changed a unit's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It did not.
    None,
    /// It did, or may have.
    Some,
}

/// The types of a unit that looks at every event.
pub const EVERY_EVENT: &[&str] = &["*"];

/// A value folded from a log: its state, how an event changes it, and what the outside sees of it
/// (seed 003, the contract of a projection unit).
///
/// The fold is pure and in order; it reads no clock and no file. The state is plain JSON that only the
/// unit itself reads; whoever changes its members or what they mean raises `VERSION`, and every state
/// that was kept is thrown away.
pub trait Unit: Serialize + DeserializeOwned + Send + Sized + 'static {
    /// Its name, which no other unit has.
    const KEY: &'static str;
    /// The version of its state.
    const VERSION: u32;
    /// The types of the events it looks at, or [`EVERY_EVENT`]. It never sees another.
    const EVENTS: &'static [&'static str];

    /// The state before the first event.
    fn init(header: &Header) -> Self;

    /// Takes one event in.
    fn apply(&mut self, event: &Event<'_>) -> Change;

    /// What the outside sees.
    fn view(&self) -> Value;
}

/// A unit as the registry knows it.
#[derive(Clone, Copy, Debug)]
pub struct Definition {
    /// See [`Unit::KEY`].
    pub key: &'static str,
    /// See [`Unit::VERSION`].
    pub version: u32,
    /// See [`Unit::EVENTS`].
    pub events: &'static [&'static str],
    init: fn(&Header) -> Box<dyn State>,
    restore: fn(&str) -> Option<Box<dyn State>>,
}

impl Definition {
    /// The definition of a unit.
    pub const fn of<U: Unit>() -> Definition {
        Definition {
            key: U::KEY,
            version: U::VERSION,
            events: U::EVENTS,
            init: |header| Box::new(U::init(header)),
            restore: |state| Some(Box::new(serde_json::from_str::<U>(state).ok()?)),
        }
    }

    /// The state before the first event.
    pub(super) fn init(&self, header: &Header) -> Box<dyn State> {
        (self.init)(header)
    }

    /// The state that this text holds; `None` if it is none of this unit.
    pub(super) fn restore(&self, state: &str) -> Option<Box<dyn State>> {
        (self.restore)(state)
    }
}

/// The state of any unit.
pub(super) trait State: Any + Send {
    fn apply(&mut self, event: &Event<'_>) -> Change;
    fn view(&self) -> Value;
    fn to_json(&self) -> String;
}

impl<U: Unit> State for U {
    fn apply(&mut self, event: &Event<'_>) -> Change {
        Unit::apply(self, event)
    }

    fn view(&self) -> Value {
        Unit::view(self)
    }

    fn to_json(&self) -> String {
        serde_json::to_string(self).expect("a unit's state is plain JSON")
    }
}
