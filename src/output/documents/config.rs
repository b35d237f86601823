//! `dshkit/config.path/1` and `dshkit/config.show/1`

use crate::output::table::{self, Shrink};
use crate::output::terminal_text::visible;
use crate::output::{Document, TextOut};
use schemars::JsonSchema;
use serde::Serialize;
use std::io;
use std::path::Path;

/// Where the configuration is.
#[derive(JsonSchema, Serialize)]
pub struct ConfigPathDocument {
    /// Where the file is looked for.
    path: String,
    /// Whether it is there.
    exists: bool,
}

impl ConfigPathDocument {
    /// The document of where the configuration file is.
    pub fn of(path: &Path) -> ConfigPathDocument {
        ConfigPathDocument { path: path.display().to_string(), exists: path.exists() }
    }
}

impl Document for ConfigPathDocument {
    const SCHEMA: &'static str = "dshkit/config.path/1";

    fn text(&self, text: &mut TextOut<'_>) -> io::Result<()> {
        text.line(&visible(&self.path))
    }
}

/// The configuration that holds.
#[derive(JsonSchema, Serialize)]
pub struct ConfigShowDocument {
    /// Where the file is looked for.
    path: String,
    /// Whether it is there.
    exists: bool,
    /// Every value that holds.
    values: Vec<Setting>,
}

/// A value that holds, and where it comes from.
#[derive(JsonSchema, Serialize)]
pub struct Setting {
    /// The key in the file; of a key in a table with the table's name and a full stop.
    key: &'static str,
    /// The value; `null` where there is none.
    value: Option<Value>,
    /// `flag`, `environment`, `file` or `default`.
    source: Source,
}

/// A value of a key.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[serde(untagged)]
pub enum Value {
    /// A text.
    Text(String),
    /// Yes or no.
    Switch(bool),
    /// Several texts.
    Texts(Vec<String>),
}

/// Where a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// The command line.
    Flag,
    /// An environment variable.
    Environment,
    /// The configuration file.
    File,
    /// Nobody said anything.
    Default,
}

impl Source {
    /// The source of a value that only the file can give.
    pub fn of<T>(in_file: &Option<T>) -> Source {
        if in_file.is_some() { Source::File } else { Source::Default }
    }

    fn name(self) -> &'static str {
        match self {
            Source::Flag => "flag",
            Source::Environment => "environment",
            Source::File => "file",
            Source::Default => "default",
        }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Value {
        Value::Text(text)
    }
}

impl From<bool> for Value {
    fn from(switch: bool) -> Value {
        Value::Switch(switch)
    }
}

impl From<Vec<String>> for Value {
    fn from(texts: Vec<String>) -> Value {
        Value::Texts(texts)
    }
}

impl Setting {
    /// A value and its source.
    pub fn new(key: &'static str, source: Source, value: impl Into<Value>) -> Setting {
        Setting { key, value: Some(value.into()), source }
    }

    /// The same where there may be no value.
    pub fn or_none(key: &'static str, source: Source, value: Option<impl Into<Value>>) -> Setting {
        Setting { key, value: value.map(Into::into), source }
    }
}

impl ConfigShowDocument {
    /// The document of what holds.
    pub fn new(path: &Path, values: Vec<Setting>) -> ConfigShowDocument {
        ConfigShowDocument { path: path.display().to_string(), exists: path.exists(), values }
    }
}

impl Document for ConfigShowDocument {
    const SCHEMA: &'static str = "dshkit/config.show/1";

    fn text(&self, text: &mut TextOut<'_>) -> io::Result<()> {
        let note = if self.exists { "" } else { " (not there)" };
        text.line(&format!("{}{note}", visible(&self.path)))?;
        let shown = |value: &Value| match value {
            Value::Text(text) => visible(text).into_owned(),
            Value::Switch(switch) => switch.to_string(),
            Value::Texts(texts) => visible(&texts.join(" ")).into_owned(),
        };
        let row = |setting: &Setting| {
            let value = setting.value.as_ref().map_or_else(|| "-".to_owned(), shown);
            vec![setting.key.to_owned(), value, setting.source.name().to_owned()]
        };
        let rows: Vec<Vec<String>> = self.values.iter().map(row).collect();
        table::print(text, &[("KEY", Shrink::No), ("VALUE", Shrink::Yes), ("FROM", Shrink::No)], &rows)
    }
}
