//! Which model is asked, and how.

use crate::env;
use crate::error::{Code, Failure};
use crate::generator::command::CommandModel;
use crate::generator::conversation::{Conversation, Speech};
use crate::generator::endpoint::{DEEPSEEK, EndpointModel};
use crate::generator::{Generator, Prompt};
use crate::model::js_string::JsString;
use crate::projections::token_usage::Route;
use crate::sidechat::chat::{CallUsage, ModelCall};
use crate::sidechat::request::{Answer, Request};
use clap::Args;
use std::thread;
use std::time::Duration;

/// The variable that holds the key of DeepSeek's endpoint.
const DEEPSEEK_KEY: &str = "DEEPSEEK_API_KEY";

/// What dsh calls the provider at DeepSeek's endpoint.
const DEEPSEEK_PROVIDER: &str = "deepseek-official";

/// Which model is asked, and how.
#[derive(Debug, Args)]
#[command(next_help_heading = "Asking a model")]
pub(super) struct ModelArgs {
    /// Ask a model by running this: the prompt on its standard input, the answer on its standard output
    #[arg(long, value_name = "COMMAND")]
    model_command: Option<String>,
    /// Ask a model at this address, by the chat API of OpenAI [default: that of DeepSeek]
    #[arg(long, value_name = "URL", conflicts_with = "model_command")]
    endpoint: Option<String>,
    /// The environment variable with the endpoint's key [default: DEEPSEEK_API_KEY, for DeepSeek's alone]
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
    /// The model to ask: the named one, or that of a session's newest request.
    pub(super) fn asker(&self, named: Option<&String>, of_session: Option<&Route>, now: i64) -> Result<Asker, Failure> {
        let model = named.cloned().or_else(|| of_session.map(|route| route.model.to_string_lossy().into_owned()));
        let timeout = Duration::from_secs(self.timeout.into());
        let logged = |provider: &str| match named {
            Some(model) => Some(Route { provider: js(provider), model: js(model) }),
            None => of_session.cloned(),
        };
        if let Some(command) = &self.model_command {
            let generator = Generator::Command(CommandModel { command: command.clone(), model, timeout });
            return Ok(Asker { generator, route: None, logged: logged("command"), now });
        }
        let usage = |message: &str, hint: &str| Err(Failure::new(Code::Usage, message).hint(hint));
        if self.endpoint.is_none() && named.is_none() {
            let is_deepseek = |route: &Route| route.provider.to_string_lossy().contains("deepseek");
            if !of_session.is_some_and(is_deepseek) {
                let message = "the session's model is not one of DeepSeek's, or not known";
                return usage(message, "say where a model is, with --endpoint or --model-command");
            }
        }
        let Some(model) = model else {
            return usage("no model is named, and the session has used none", "name one");
        };
        let url = self.endpoint.clone().unwrap_or_else(|| DEEPSEEK.to_owned());
        let variable = match (&self.key_env, &self.endpoint) {
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
        let provider = if self.endpoint.is_none() { "deepseek" } else { host };
        let route = Route { provider: js(provider), model: js(&model) };
        let logged = logged(if self.endpoint.is_none() { DEEPSEEK_PROVIDER } else { host });
        let endpoint = EndpointModel { url, model, key, timeout, sleep: thread::sleep };
        Ok(Asker { generator: Generator::Endpoint(endpoint), route: Some(route), logged, now })
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
        let usage = answer.usage.map(|usage| CallUsage {
            input: usage.input,
            output: usage.output,
            total: usage.total,
            cache_read: usage.cache_read,
            reasoning: usage.reasoning,
        });
        Ok(Answer { text: answer.text, call: ModelCall { route, usage, at: self.now } })
    }
}

fn js(text: &str) -> JsString {
    JsString::from(text.to_owned())
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
