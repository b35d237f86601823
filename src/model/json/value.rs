//! A JSON value as a tree, for the few places that build or compare one.

use crate::model::js_string::{JsStr, JsString};
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// A JSON value. Numbers are JavaScript numbers.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number
    Number(f64),
    /// A string
    String(JsString),
    /// An array
    Array(Vec<Value>),
    /// An object
    Object(Object),
}

/// An object whose members stand in JavaScript's order: array indices first, rising; then the other
/// keys as they came. Two objects are equal when they hold the same members in any order.
#[derive(Clone, Debug, Default)]
pub struct Object {
    members: Vec<(JsString, Value)>,
}

impl Object {
    /// Makes an object of members as they came; of a repeated key the first place and the last value stay.
    pub fn from_members(members: Vec<(JsString, Value)>) -> Object {
        Object { members: in_javascript_order(members) }
    }

    /// Sets a member; one that was there keeps its place, a new one comes last.
    pub fn set(&mut self, key: &'static str, value: Value) {
        match self.members.iter_mut().find(|(held, _)| *held == key) {
            Some((_, held)) => *held = value,
            None => self.members.push((JsStr::from(key), value)),
        }
    }

    /// A member's value.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.members.iter().find(|(held, _)| *held == key).map(|(_, value)| value)
    }

    /// Removes a member and gives its value.
    pub fn remove(&mut self, key: &str) -> Option<Value> {
        let at = self.members.iter().position(|(held, _)| *held == key)?;
        Some(self.members.remove(at).1)
    }

    /// The members in order.
    pub fn iter(&self) -> impl Iterator<Item = (&JsString, &Value)> {
        self.members.iter().map(|(key, value)| (key, value))
    }

    /// How many members there are.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Whether there are no members.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Builds an object from members in the order given.
    pub fn of<const N: usize>(members: [(&'static str, Value); N]) -> Object {
        Object { members: members.into_iter().map(|(key, value)| (JsStr::from(key), value)).collect() }
    }
}

impl Value {
    /// A member of an object.
    pub fn get(&self, key: &str) -> Option<&Value> {
        if let Value::Object(object) = self { object.get(key) } else { None }
    }

    /// The string, if it is one.
    pub fn string(&self) -> Option<&JsString> {
        if let Value::String(text) = self { Some(text) } else { None }
    }

    /// The number, if it is a whole one that is not negative and JavaScript holds exactly.
    pub fn count(&self) -> Option<u64> {
        const MAX_SAFE_INTEGER: f64 = ((1u64 << 53) - 1) as f64;
        match self {
            Value::Number(number) if (0.0..=MAX_SAFE_INTEGER).contains(number) && number.fract() == 0.0 => {
                Some(*number as u64)
            }
            _ => None,
        }
    }
}

impl PartialEq for Object {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len()
            && self.members.iter().all(|(key, value)| {
                other.members.iter().any(|(other_key, other_value)| key == other_key && value == other_value)
            })
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Value::String(JsStr::from(text).into_owned())
    }
}

impl From<JsStr<'_>> for Value {
    fn from(text: JsStr<'_>) -> Self {
        Value::String(text.into_owned())
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Value::Bool(value)
    }
}

impl From<u64> for Value {
    fn from(value: u64) -> Self {
        Value::Number(value as f64)
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Value::Number(value as f64)
    }
}

impl From<Object> for Value {
    fn from(object: Object) -> Self {
        Value::Object(object)
    }
}

/// Puts members into JavaScript's order: array indices first, rising; then the other keys as they came.
/// A repeated key keeps its first place and its last value.
pub(super) fn in_javascript_order<V>(members: Vec<(JsStr<'_>, V)>) -> Vec<(JsStr<'_>, V)> {
    let mut ordered: Vec<(JsStr<'_>, V)> = Vec::with_capacity(members.len());
    // Hostile objects have a million keys; ordinary ones have ten, and no map is made for those.
    let mut places: Option<HashMap<JsStr<'_>, usize>> = (members.len() > 16).then(HashMap::new);
    let mut has_index = false;
    for (key, value) in members {
        let place = match &mut places {
            None => ordered.iter().position(|(held, _)| *held == key),
            Some(places) => match places.entry(key.clone()) {
                Entry::Occupied(entry) => Some(*entry.get()),
                Entry::Vacant(entry) => {
                    entry.insert(ordered.len());
                    None
                }
            },
        };
        match place {
            Some(place) => ordered[place].1 = value,
            None => {
                has_index |= array_index(&key).is_some();
                ordered.push((key, value));
            }
        }
    }
    if has_index {
        ordered.sort_by_key(|(key, _)| array_index(key).map_or(u64::MAX, u64::from));
    }
    ordered
}

/// The index a key stands for, if it is one: a canonical decimal below 2^32−1.
fn array_index(key: &JsStr<'_>) -> Option<u32> {
    let text = key.to_str()?;
    let canonical =
        text == "0" || (text.len() <= 10 && !text.starts_with('0') && text.bytes().all(|b| b.is_ascii_digit()));
    if canonical { text.parse().ok().filter(|index| *index != u32::MAX) } else { None }
}

#[cfg(test)]
mod tests {
    use super::super::{parse, write_value};

    #[test]
    fn members_stand_in_javascript_order() {
        let value = parse(r#"{"b":1,"10":2,"a":3,"2":4,"01":5,"b":6}"#).unwrap().to_value();
        let mut out = String::new();
        write_value(&value, &mut out);
        assert_eq!(out, r#"{"2":4,"10":2,"b":6,"a":3,"01":5}"#);
    }

    #[test]
    fn equality_ignores_the_order_of_members() {
        let value = |text| parse(text).unwrap().to_value();
        assert_eq!(value(r#"{"a":[1,{"x":null,"y":2}],"b":"c"}"#), value(r#"{"b":"c","a":[1.0,{"y":2,"x":null}]}"#));
        assert_ne!(value(r#"{"a":1}"#), value(r#"{"a":1,"b":2}"#));
    }
}
