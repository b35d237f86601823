//! Strings and values of logs in the states of units. Both may hold what Rust's strings cannot, so they go
//! through serde as the JSON text they are.

use crate::model::js_string::{JsStr, JsString};
use crate::model::json::{Value, View, parse, string_literal, write_value, write_view};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

/// A JavaScript string in a state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Text(pub JsString);

impl Text {
    /// The string that a value is.
    pub fn of(value: View<'_>) -> Option<Text> {
        Some(Text(value.string()?.into_owned()))
    }

    /// It as a value.
    pub fn to_value(&self) -> Value {
        Value::String(self.0.clone())
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Text {
        Text(JsStr::from(text).into_owned())
    }
}

impl Serialize for Text {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.to_str() {
            Some(text) => serializer.serialize_str(text),
            None => raw(string_literal(&self.0))?.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Text, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        let value = parse(raw.get()).map_err(|error| D::Error::custom(error.to_string()))?;
        Text::of(value).ok_or_else(|| D::Error::custom("not a string"))
    }
}

/// A value of a log in a state, as the text of its JSON without spaces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Json(String);

impl Json {
    /// A value of a log.
    pub fn of(value: View<'_>) -> Json {
        let mut text = String::new();
        write_view(value, &mut text);
        Json(text)
    }

    /// A value that was made here.
    pub fn from_value(value: &Value) -> Json {
        let mut text = String::new();
        write_value(value, &mut text);
        Json(text)
    }

    /// A look into it.
    pub fn view(&self) -> View<'_> {
        parse(&self.0).expect("it was JSON when it came in")
    }

    /// It as a value.
    pub fn to_value(&self) -> Value {
        self.view().to_value()
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        raw(self.0.clone())?.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Json, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        parse(raw.get()).map_err(|error| D::Error::custom(error.to_string()))?;
        Ok(Json(raw.get().to_owned()))
    }
}

fn raw<E: serde::ser::Error>(text: String) -> Result<Box<RawValue>, E> {
    RawValue::from_string(text).map_err(E::custom)
}
