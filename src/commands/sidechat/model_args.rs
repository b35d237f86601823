//! Which model is asked, and how.

use crate::commands::Context;
use crate::config;
use crate::env;
use crate::error::{Code, Failure};
use crate::generator::command::CommandModel;
use crate::generator::conversation::{Conversation, Speech};
use crate::generator::endpoint::{DEEPSEEK, EndpointModel};
use crate::generator::{Generator, Prompt};
use crate::model::js_string::JsString;
use crate::projections::token_usage::Route;
use crate::sidechat::chat::ModelCall;
use crate::sidechat::request::{Answer, Request};
use clap::Args;
use std::thread;
use std::time::Duration;

/// The variable that holds the key of DeepSeek's endpoint.
const DEEPSEEK_KEY: &str = "DEEPSEEK_API_KEY";

/// What dsh calls the provider at DeepSeek's endpoint.
const DEEPSEEK_PROVIDER: &str = "deepseek-official";

/// Which model is asked, and how. What is not said here is taken from the configuration, as long as no other model
/// is named here: its key and its model's name are for its own endpoint alone.
#[derive(Debug, Args)]
#[command(next_help_heading = "Asking a model")]
pub(super) struct ModelArgs {
    /// Ask a model by running this: the prompt on its standard input, the answer on its standard output [default: the
    /// configured one]
    #[arg(long, value_name = "COMMAND")]
    model_command: Option<String>,
    /// Ask a model at this address, by the chat API of OpenAI [default: the configured one, else that of DeepSeek]
    #[arg(long, value_name = "URL", conflicts_with = "model_command")]
    endpoint: Option<String>,
    /// The environment variable with the endpoint's key [default: the configured one for the configured endpoint,
    /// DEEPSEEK_API_KEY for DeepSeek's alone]
    #[arg(long, value_name = "VARIABLE", conflicts_with = "model_command")]
    key_env: Option<String>,
    /// How long one call may take, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 120, value_parser = clap::value_parser!(u32).range(1..))]
    timeout: u32,
}

/// A model to ask, and when.
pub(super) struct Asker {
    generator: Generator,
    /// Who is taken for the answer's author where it does not say: the provider and the model.
    route: Option<Route>,
    /// The model that is asked, as a log names it: the session's own as dsh calls it, unless another was named.
    logged: Option<Route>,
    now: i64,
}

impl ModelArgs {
    /// The model to ask: the named one, the configured one, or that of a session's newest request.
    pub(super) fn asker(
        &self,
        named: Option<&String>,
        of_session: Option<&Route>,
        context: &Context,
    ) -> Result<Asker, Failure> {
        let now = context.env.now;
        let elsewhere = config::Model::default();
        let is_elsewhere = self.model_command.is_some() || self.endpoint.is_some();
        let configured = if is_elsewhere { &elsewhere } else { &context.config.model };
        let named = named.or(configured.name.as_ref());
        let model = named.cloned().or_else(|| of_session.map(|route| route.model.to_string_lossy().into_owned()));
        let timeout = Duration::from_secs(self.timeout.into());
        let logged = |provider: &str| match named {
            Some(model) => Some(Route { provider: js(provider), model: js(model) }),
            None => of_session.cloned(),
        };
        // Who names a key wants an endpoint.
        let words = configured.command.as_ref().filter(|_| self.key_env.is_none());
        let command = match (&self.model_command, words) {
            (Some(command), _) => Some(command.clone()),
            (None, Some(words)) => Some(shell_line(words)?),
            (None, None) => None,
        };
        if let Some(command) = command {
            let generator = Generator::Command(CommandModel { command, model, timeout });
            return Ok(Asker { generator, route: None, logged: logged("command"), now });
        }
        let endpoint = self.endpoint.as_ref().or(configured.endpoint.as_ref());
        let key_env = self.key_env.as_ref().or(configured.key_env.as_ref());
        let usage = |message: &str, hint: &str| Err(Failure::new(Code::Usage, message).hint(hint));
        if endpoint.is_none() && named.is_none() {
            let is_deepseek = |route: &Route| route.provider.to_string_lossy().contains("deepseek");
            if !of_session.is_some_and(is_deepseek) {
                let message = "the session's model is not one of DeepSeek's, or not known";
                return usage(message, "say where a model is, with --endpoint, --model-command, or the configuration");
            }
        }
        let Some(model) = model else {
            return usage("no model is named, and the session has used none", "name one");
        };
        let url = endpoint.cloned().unwrap_or_else(|| DEEPSEEK.to_owned());
        let variable = match (key_env, endpoint) {
            (Some(variable), _) => Some(variable.as_str()),
            (None, None) => Some(DEEPSEEK_KEY),
            (None, Some(_)) => None,
        };
        let key = variable
            .map(|variable| {
                env::key(variable).ok_or_else(|| {
                    Failure::new(Code::Usage, format!("the environment variable {variable} holds no key"))
                        .hint("set it, or ask a model with --model-command")
                })
            })
            .transpose()?;
        let host = host_of(&url).ok_or_else(|| {
            Failure::new(Code::Usage, format!("{url:?} is no address of an endpoint")).hint("it begins with https://")
        })?;
        let is_local = matches!(host, "localhost" | "127.0.0.1" | "[::1]");
        if key.is_some() && !is_local && url.starts_with("http://") {
            return usage("a key is not sent unencrypted", "use the https:// address of the endpoint");
        }
        let provider = if endpoint.is_none() { "deepseek" } else { host };
        let route = Route { provider: js(provider), model: js(&model) };
        let logged = logged(if endpoint.is_none() { DEEPSEEK_PROVIDER } else { host });
        let generator = Generator::Endpoint(EndpointModel { url, model, key, timeout, sleep: thread::sleep });
        Ok(Asker { generator, route: Some(route), logged, now })
    }
}

impl Asker {
    /// The model that is asked, as a log names it.
    pub(super) fn logged(&self) -> Result<&Route, Failure> {
        self.logged.as_ref().ok_or_else(|| {
            Failure::new(Code::Usage, "no model is named, and the session has used none").hint("name one with --model")
        })
    }

    /// Has the model go on with a conversation.
    pub(super) fn converse(&self, conversation: &Conversation) -> Speech {
        self.generator.converse(conversation)
    }

    /// Asks.
    pub(super) fn ask(&self, request: &Request) -> Result<Answer, Failure> {
        let prompt = Prompt {
            instructions: request.instructions.clone(),
            input: request.input.clone(),
            max_tokens: request.max_tokens,
        };
        let answer = self.generator.ask(&prompt)?;
        let route = self.route.clone().map(|route| Route {
            model: answer.model.as_deref().map_or(route.model.clone(), js),
            provider: route.provider,
        });
        Ok(Answer { text: answer.text, call: ModelCall { route, usage: answer.usage, at: self.now } })
    }
}

fn js(text: &str) -> JsString {
    JsString::from(text.to_owned())
}

/// A line for a shell that runs a program with these arguments, whatever stands in them.
fn shell_line(words: &[String]) -> Result<String, Failure> {
    if words.is_empty() {
        return Err(Failure::new(Code::InvalidConfig, "the configured `model.command` names no program"));
    }
    let quoted: Vec<String> = words.iter().map(|word| format!("'{}'", word.replace('\'', r"'\''"))).collect();
    Ok(quoted.join(" "))
}

/// The host of an address, without its port.
fn host_of(url: &str) -> Option<&str> {
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"))?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let host = match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => authority,
    };
    (!host.is_empty() && !host.contains('@')).then_some(host)
}
