//! The configuration file: what a user wants every time. Flags beat the environment, the environment beats
//! the file.

use crate::error::{Code, Failure};
use serde::Deserialize;
use std::io;
use std::path::{Path, PathBuf};

/// What the file says. A key that is not there is `None`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The DSH home; a leading `~` is the home directory.
    pub home: Option<PathBuf>,
    /// How to print, where a command is no filter.
    pub format: Option<FileFormat>,
    /// Whether `sessions search` uses the index.
    pub index: Option<bool>,
    /// The model that side chats ask.
    #[serde(default)]
    pub model: Model,
}

/// A format as the file names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FileFormat {
    /// For people.
    Text,
    /// One JSON document.
    Json,
    /// One JSON record a line.
    Jsonl,
}

impl FileFormat {
    /// The name in the file.
    pub fn name(self) -> &'static str {
        match self {
            FileFormat::Text => "text",
            FileFormat::Json => "json",
            FileFormat::Jsonl => "jsonl",
        }
    }
}

/// `[model]`: how answers are had.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Model {
    /// The address of a chat completions service.
    pub endpoint: Option<String>,
    /// The name of the model there.
    pub name: Option<String>,
    /// The environment variable that holds the key for the service. The key itself is never in the file.
    pub key_env: Option<String>,
    /// A program that answers instead, and its arguments.
    pub command: Option<Vec<String>>,
}

impl Config {
    /// Reads the file. One that is not there says nothing.
    ///
    /// # Errors
    /// The file cannot be read, or it is not what a configuration file is; then line and column are named.
    pub fn read(path: &Path) -> Result<Config, Failure> {
        let bytes = match std::fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                return Ok(Config::default());
            }
            Err(error) => return Err(Failure::new(Code::Io, format!("could not read {}: {error}", path.display()))),
        };
        let invalid = |message: String| {
            Failure::new(Code::InvalidConfig, format!("{}:{message}", path.display()))
                .hint("`dshkit help config` says what the file may hold")
        };
        let text = std::str::from_utf8(&bytes).map_err(|error| {
            let (line, column) = place(&String::from_utf8_lossy(&bytes[..error.valid_up_to()]));
            invalid(format!("{line}:{column}: the file is not UTF-8"))
        })?;
        Config::parse(text).map_err(invalid)
    }

    /// Reads the text of a file; an error begins with line and column.
    fn parse(text: &str) -> Result<Config, String> {
        toml::from_str(text).map_err(|error| {
            let start = error.span().map_or(0, |span| span.start);
            let (line, column) = place(text.get(..start).unwrap_or(text));
            format!("{line}:{column}: {}", error.message().lines().collect::<Vec<_>>().join(", "))
        })
    }
}

/// The line and column behind a text, both from 1; columns are characters.
fn place(before: &str) -> (usize, usize) {
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    (line, column)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key() {
        let text = "home = \"~/dsh\"\nformat = \"text\"\nindex = true\n[model]\nendpoint = \"http://localhost:1/v1\"\n\
                    name = \"m\"\nkey-env = \"KEY\"\ncommand = [\"answer\", \"--fast\"]\n";
        let config = Config::parse(text).unwrap();
        assert_eq!(config.home, Some(PathBuf::from("~/dsh")));
        assert_eq!((config.format, config.index), (Some(FileFormat::Text), Some(true)));
        assert_eq!(config.model.key_env.as_deref(), Some("KEY"));
        assert_eq!(config.model.command, Some(vec!["answer".to_owned(), "--fast".to_owned()]));
        assert_eq!(Config::parse("").unwrap(), Config::default());
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place() {
        let place = |text: &str| Config::parse(text).unwrap_err();
        assert!(place("home = \"a\"\n  hom = 1\n").starts_with("2:3: unknown field `hom`, expected one of `home`"));
        assert!(place("# 名\n[model]\nnmae = 1\n").starts_with("3:1: unknown field `nmae`"));
        assert!(place("index = \"yes\"").starts_with("1:9: "));
        assert!(place("format = \"xml\"").starts_with("1:10: unknown variant `xml`"));
        assert!(place("\nhome = ").starts_with("2:"));
    }
}
