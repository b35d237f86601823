//! Folding the events of one log over all units of a registry at once, from its beginning or from kept
//! states.

use super::checkpoint::{Checkpoint, Row};
use super::registry::Registry;
use super::unit::{Change, State, Unit};
use crate::model::event::Event;
use crate::model::header::Header;
use crate::model::js_string::JsStr;
use crate::model::json::Value;
use std::any::Any;
use std::fmt;

/// The states of a registry's units over one log.
pub struct Fold<'r> {
    registry: &'r Registry,
    /// The places of the units that look at streamed pieces.
    interested_in_chunks: &'r [usize],
    cells: Vec<Cell>,
    /// The seq of the event that must come next.
    next: u64,
    gap: Option<u64>,
}

struct Cell {
    state: Box<dyn State>,
    /// How many of the log's events the state reflects.
    through: u64,
}

/// Why kept states cannot be carried on; whoever asked must read the log from its first event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CannotRestore {
    /// A unit has no usable row, and the events before the tail are not at hand.
    NoRow(&'static str),
    /// The log ends before what a row reflects.
    BeyondEnd(&'static str),
    /// The event with this seq is missing from the tail.
    Hole(u64),
}

impl fmt::Display for CannotRestore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CannotRestore::NoRow(key) => write!(f, "{key} has no state to go on from"),
            CannotRestore::BeyondEnd(key) => write!(f, "the log ends before the state of {key}"),
            CannotRestore::Hole(seq) => write!(f, "the event {seq} is missing"),
        }
    }
}

/// One cut: the views of all units as of one event.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The seq of the last event it reflects; `None` for an empty log.
    pub as_of_seq: Option<u64>,
    /// Each unit's key and view, in the order of the registry.
    pub views: Vec<(&'static str, Value)>,
}

impl Snapshot {
    /// The view of the unit with this key, if it is one of the registry's.
    pub fn view(&self, key: &str) -> Option<&Value> {
        self.views.iter().find(|(known, _)| *known == key).map(|(_, view)| view)
    }
}

impl<'r> Fold<'r> {
    /// A fold from a log's first event on.
    pub fn new(registry: &'r Registry, header: &Header) -> Fold<'r> {
        let cell = |state| Cell { state, through: 0 };
        let cells = registry.definitions().iter().map(|definition| cell(definition.init(header))).collect();
        Fold::with(registry, cells, 0)
    }

    /// A fold that goes on from kept states with the events from `base` on. A row is used if it is of its
    /// unit's version, reflects everything before `base`, and its state is one (formats.md §10.1).
    ///
    /// # Errors
    /// A unit has no usable row, and `base` is not the first event.
    pub fn restore(
        registry: &'r Registry,
        header: &Header,
        checkpoint: &Checkpoint,
        base: u64,
    ) -> Result<Fold<'r>, CannotRestore> {
        let mut cells = Vec::with_capacity(registry.definitions().len());
        for definition in registry.definitions() {
            let row = checkpoint.usable(definition).filter(|row| row.through() >= base);
            let kept =
                row.and_then(|row| Some(Cell { state: definition.restore(&row.state)?, through: row.through() }));
            cells.push(match kept {
                Some(cell) => cell,
                None if base == 0 => Cell { state: definition.init(header), through: 0 },
                None => return Err(CannotRestore::NoRow(definition.key)),
            });
        }
        Ok(Fold::with(registry, cells, base))
    }

    fn with(registry: &'r Registry, cells: Vec<Cell>, next: u64) -> Fold<'r> {
        let interested_in_chunks = registry.interested(&JsStr::from("assistant/chunk"));
        Fold { registry, interested_in_chunks, cells, next, gap: None }
    }

    /// Takes the next event in, and tells whether any state changed.
    pub fn apply(&mut self, event: &Event<'_>) -> Change {
        if event.seq != self.next {
            self.gap.get_or_insert(self.next);
        }
        self.next = event.seq + 1;
        let mut change = Change::None;
        let interested = match event.delta() {
            // By far the most, and not worth a look at their type.
            Some(_) => self.interested_in_chunks,
            None => self.registry.interested(&event.kind),
        };
        for place in interested {
            let cell = &mut self.cells[*place];
            if event.seq >= cell.through && cell.state.apply(event) == Change::Some {
                change = Change::Some;
            }
        }
        change
    }

    /// The states as of the last event so far, to be kept.
    pub fn checkpoint(&self) -> Checkpoint {
        let rows = self.registry.definitions().iter().zip(&self.cells).map(|(definition, cell)| {
            let row = Row { version: definition.version, seq: self.next.checked_sub(1), state: cell.state.to_json() };
            (definition.key.to_owned(), row)
        });
        rows.collect()
    }

    /// Ends the events. The states are as of the last of them.
    ///
    /// # Errors
    /// An event was missing, or a row reflects more than there is.
    pub fn finish(mut self) -> Result<Folded<'r>, CannotRestore> {
        if let Some(seq) = self.gap {
            return Err(CannotRestore::Hole(seq));
        }
        for (cell, definition) in self.cells.iter_mut().zip(self.registry.definitions()) {
            if cell.through > self.next {
                return Err(CannotRestore::BeyondEnd(definition.key));
            }
            cell.through = self.next;
        }
        Ok(Folded { fold: self })
    }

    /// The states as of the last event, whatever is missing: of a damaged log that is salvaged.
    pub fn finish_with_gaps(mut self) -> Folded<'r> {
        self.gap = None;
        Folded { fold: self }
    }
}

/// The states of all units as of one event.
pub struct Folded<'r> {
    fold: Fold<'r>,
}

impl<'r> Folded<'r> {
    /// The seq of the last event it reflects; `None` for an empty log.
    pub fn as_of_seq(&self) -> Option<u64> {
        self.fold.next.checked_sub(1)
    }

    /// Goes on with the events that follow.
    pub fn resume(self) -> Fold<'r> {
        self.fold
    }

    /// The views of all units.
    pub fn snapshot(&self) -> Snapshot {
        let definitions = self.fold.registry.definitions();
        let views =
            definitions.iter().zip(&self.fold.cells).map(|(definition, cell)| (definition.key, cell.state.view()));
        Snapshot { as_of_seq: self.as_of_seq(), views: views.collect() }
    }

    /// The state of a unit, if it is one of the registry's.
    pub fn state<U: Unit>(&self) -> Option<&U> {
        let states = self.fold.cells.iter().map(|cell| -> &dyn Any { &*cell.state });
        states.filter_map(|state| state.downcast_ref()).next()
    }

    /// The states of all units, to be kept.
    pub fn checkpoint(&self) -> Checkpoint {
        self.fold.checkpoint()
    }
}
