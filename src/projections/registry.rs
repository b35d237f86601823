//! The units there are, and which of them an event concerns.

use super::unit::{Definition, EVERY_EVENT};
use crate::model::js_string::JsStr;
use std::collections::HashMap;
use std::fmt;

/// A set of units, each with a key of its own.
#[derive(Clone, Debug, Default)]
pub struct Registry {
    definitions: Vec<Definition>,
    /// Of each event type, the places of the units that look at it.
    interested: HashMap<&'static str, Vec<usize>>,
    /// The places of the units that look at every event: all that look at events of another type.
    always_interested: Vec<usize>,
}

/// Two units with one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DuplicateKey(pub &'static str);

impl fmt::Display for DuplicateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "two units have the key {:?}", self.0)
    }
}

impl std::error::Error for DuplicateKey {}

/// A key that no unit has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownKey(pub String);

impl Registry {
    /// A registry of these units.
    ///
    /// # Errors
    /// Two of them have one key.
    pub fn of(definitions: impl IntoIterator<Item = Definition>) -> Result<Registry, DuplicateKey> {
        let mut registry = Registry::default();
        for definition in definitions {
            registry.register(definition)?;
        }
        Ok(registry)
    }

    /// Adds a unit.
    ///
    /// # Errors
    /// There is one with its key.
    pub fn register(&mut self, definition: Definition) -> Result<(), DuplicateKey> {
        if self.definitions.iter().any(|known| known.key == definition.key) {
            return Err(DuplicateKey(definition.key));
        }
        let place = self.definitions.len();
        if definition.events == EVERY_EVENT {
            self.always_interested.push(place);
            self.interested.values_mut().for_each(|places| places.push(place));
        } else {
            for kind in definition.events {
                self.interested.entry(kind).or_insert_with(|| self.always_interested.clone()).push(place);
            }
        }
        self.definitions.push(definition);
        Ok(())
    }

    /// The registry of only the units with these keys, in the order of this one.
    ///
    /// # Errors
    /// No unit has one of the keys.
    pub fn only<K: AsRef<str>>(&self, keys: &[K]) -> Result<Registry, UnknownKey> {
        if let Some(unknown) = keys.iter().find(|key| self.keys().all(|known| known != key.as_ref())) {
            return Err(UnknownKey(unknown.as_ref().to_owned()));
        }
        let is_wanted = |definition: &&Definition| keys.iter().any(|key| key.as_ref() == definition.key);
        let wanted = self.definitions.iter().filter(is_wanted).copied();
        Ok(Registry::of(wanted).expect("the keys of a registry differ"))
    }

    /// The units, in the order they were registered.
    pub fn definitions(&self) -> &[Definition] {
        &self.definitions
    }

    /// Their keys.
    pub fn keys(&self) -> impl Iterator<Item = &'static str> {
        self.definitions.iter().map(|definition| definition.key)
    }

    /// The places of the units that look at events of a type.
    pub(super) fn interested(&self, kind: &JsStr<'_>) -> &[usize] {
        kind.to_str().and_then(|kind| self.interested.get(kind)).unwrap_or(&self.always_interested)
    }
}
