//! `config path | show`

use super::Context;
use crate::config::Config;
use crate::error::{Code, Failure};
use crate::output::documents::config::{ConfigPathDocument, ConfigShowDocument, Setting, Source};
use clap::Subcommand;
use std::path::PathBuf;

/// What to do with the configuration.
#[derive(Debug, Subcommand)]
pub enum ConfigCommand {
    /// Where the configuration file is looked for
    #[command(before_long_help = "Examples:
  dshkit config path")]
    Path,
    /// What holds, and where each value comes from
    #[command(before_long_help = "Examples:
  dshkit config show
  dshkit config show --json | jq '.values[] | select(.source == \"file\")'")]
    Show,
}

/// What `dshkit help config` says of the file.
pub(super) const FILE_HELP: &str = "The file is TOML, and may hold:

  home = \"~/.dsh\"          the DSH home, unless --home or DSH_HOME names one
  format = \"text\"          text, json or jsonl; uri, path and the like stay filters
  index = true             sessions search uses the index, unless --no-index
  [model]                  the model that side chats ask, unless --endpoint or
                           --model-command names another
  endpoint = \"http://…\"    the address of a chat completions service
  name = \"…\"               the name of the model there
  key-env = \"…\"            the environment variable that holds the key for it
  command = [\"…\", \"…\"]     a program that answers instead, and its arguments

Flags beat the environment, and the environment beats the file. A key that is not
known is an error, told with its line and column.";

pub(super) fn run(command: ConfigCommand, context: &mut Context) -> anyhow::Result<u8> {
    let path = context.config_path().ok_or_else(|| {
        let message = "there is no telling where the configuration is: neither XDG_CONFIG_HOME nor HOME is set";
        Failure::new(Code::Usage, message)
    })?;
    match command {
        ConfigCommand::Path => {
            let format = context.output.filter_format();
            context.output.document_as(format, &ConfigPathDocument::of(&path))?;
        }
        ConfigCommand::Show => {
            let settings = settings(context);
            context.output.document(&ConfigShowDocument::new(&path, settings))?;
        }
    }
    Ok(0)
}

impl Context {
    /// Where the configuration file is looked for.
    pub(super) fn config_path(&self) -> Option<PathBuf> {
        crate::cli::config_path(&self.env)
    }
}

/// Every value that holds.
fn settings(context: &Context) -> Vec<Setting> {
    let Config { home, format, index, model } = &context.config;
    let text = |path: &PathBuf| path.display().to_string();
    let home = if let Some(home) = &context.global.home {
        Setting::new("home", Source::Flag, text(home))
    } else if let Some(home) = &context.env.dsh_home {
        Setting::new("home", Source::Environment, text(home))
    } else if let Some(home) = home {
        Setting::new("home", Source::File, text(home))
    } else {
        Setting::or_none("home", Source::Default, context.env.home.as_ref().map(|user| text(&user.join(".dsh"))))
    };
    let format = match (context.global.format(), format) {
        (Some(format), _) => Setting::new("format", Source::Flag, format.name()),
        (None, Some(format)) => Setting::new("format", Source::File, format.name()),
        (None, None) => Setting::new("format", Source::Default, context.output.format().name()),
    };
    let index = Setting::new("index", Source::of(index), index.unwrap_or(false));
    let of_model = |key, value: &Option<String>| Setting::or_none(key, Source::of(value), value.clone());
    vec![
        home,
        format,
        index,
        of_model("model.endpoint", &model.endpoint),
        of_model("model.name", &model.name),
        of_model("model.key-env", &model.key_env),
        Setting::or_none("model.command", Source::of(&model.command), model.command.clone()),
    ]
}
