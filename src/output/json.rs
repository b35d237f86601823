//! Domain values on their way into JSON.

use crate::model::js_string::{JsStr, JsString};
use crate::model::json::string_literal;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use std::borrow::Cow;

/// A JavaScript string, printed with the escapes `JSON.stringify` prints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Js(pub JsString);

impl From<&JsString> for Js {
    fn from(text: &JsString) -> Js {
        Js(text.clone())
    }
}

impl From<JsStr<'_>> for Js {
    fn from(text: JsStr<'_>) -> Js {
        Js(text.into_owned())
    }
}

impl JsonSchema for Js {
    fn schema_name() -> Cow<'static, str> {
        "Js".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string" })
    }
}

impl Serialize for Js {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.to_str() {
            Some(text) => serializer.serialize_str(text),
            None => RawJson(string_literal(&self.0)).serialize(serializer),
        }
    }
}

/// JSON text that is already made.
#[derive(Clone, Debug)]
pub struct RawJson(pub String);

impl JsonSchema for RawJson {
    fn schema_name() -> Cow<'static, str> {
        "RawJson".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        true.into()
    }
}

impl Serialize for RawJson {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let raw = RawValue::from_string(self.0.clone()).map_err(serde::ser::Error::custom)?;
        raw.serialize(serializer)
    }
}
