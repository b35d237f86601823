//! Kept states of a log's units, and from where on the log must be read to carry them on
//! (formats.md §10.1).

use super::registry::Registry;
use super::unit::Definition;
use std::collections::BTreeMap;

/// The kept state of one unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The version of the unit that made it.
    pub version: u32,
    /// The seq of the last event it reflects; `None` if it reflects none.
    pub seq: Option<u64>,
    /// The state, as the unit wrote it.
    pub state: String,
}

impl Row {
    /// How many of the log's events it reflects.
    pub(super) fn through(&self) -> u64 {
        self.seq.map_or(0, |seq| seq.saturating_add(1))
    }
}

/// Kept states, each under its unit's key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checkpoint {
    rows: BTreeMap<String, Row>,
}

impl FromIterator<(String, Row)> for Checkpoint {
    fn from_iter<I: IntoIterator<Item = (String, Row)>>(rows: I) -> Checkpoint {
        Checkpoint { rows: rows.into_iter().collect() }
    }
}

impl Checkpoint {
    /// The rows, by key.
    pub fn rows(&self) -> impl Iterator<Item = (&str, &Row)> {
        self.rows.iter().map(|(key, row)| (key.as_str(), row))
    }

    /// The row of a unit if the unit's present version made it.
    pub fn usable(&self, definition: &Definition) -> Option<&Row> {
        self.rows.get(definition.key).filter(|row| row.version == definition.version)
    }

    /// The seq from which on a log must be read so that all units can go on from here: one before the
    /// first event that not every unit has seen. That one event proves that the log still reaches so far.
    /// `None` if there are no units.
    pub fn restore_floor(&self, registry: &Registry) -> Option<u64> {
        let need = |definition| self.usable(definition).map_or(0, Row::through);
        let need = registry.definitions().iter().map(need).min()?;
        Some(need.saturating_sub(1))
    }
}
