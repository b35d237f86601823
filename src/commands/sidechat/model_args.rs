//! Which model is asked, and how.

use crate::commands::Context;
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
    /// How long one call may take, in seconds; for `sidechat ask`, how long nothing may come of the model
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

/// Which model was chosen. Whether it can be asked is another question.
struct Choice<'c> {
    way: Way<'c>,
    /// The model, if one is named or the session has used one.
    model: Option<String>,
    /// Whether somebody has named the model.
    is_named: bool,
    /// The model as a log names it.
    logged: Option<Route>,
}

/// How a model is asked.
enum Way<'c> {
    /// By running this.
    Command(String),
    /// At an address; `None` is that of DeepSeek.
    Endpoint {
        /// The address with its host.
        address: Option<(&'c str, &'c str)>,
        /// The variable that holds the key.
        key_env: Option<&'c str>,
    },
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
        let timeout = Duration::from_secs(self.timeout.into());
        let Choice { way, model, is_named, logged } = self.choice(named, of_session, context)?;
        let (address, key_env) = match way {
            Way::Command(command) => {
                let generator = Generator::Command(CommandModel { command, model, timeout });
                return Ok(Asker { generator, route: None, logged, now });
            }
            Way::Endpoint { address, key_env } => (address, key_env),
        };
        let usage = |message: &str, hint: &str| Err(Failure::new(Code::Usage, message).hint(hint));
        if address.is_none() && !is_named {
            let is_deepseek = |route: &Route| route.provider.to_string_lossy().contains("deepseek");
            if !of_session.is_some_and(is_deepseek) {
                let message = "the session's model is not one of DeepSeek's, or not known";
                return usage(message, "say where a model is, with --endpoint, --model-command, or the configuration");
            }
        }
        let Some(model) = model else {
            return usage("no model is named, and the session has used none", "name one");
        };
        let variable = key_env.or(address.is_none().then_some(DEEPSEEK_KEY));
        let key = variable.map(key_in).transpose()?;
        let (url, host) = address.unwrap_or((DEEPSEEK, "deepseek"));
        let is_local = matches!(host, "localhost" | "127.0.0.1" | "[::1]");
        if key.is_some() && !is_local && url.starts_with("http://") {
            return usage("a key is not sent unencrypted", "use the https:// address of the endpoint");
        }
        let route = Route { provider: js(host), model: js(&model) };
        let url = url.to_owned();
        let generator = Generator::Endpoint(EndpointModel { url, model, key, timeout, sleep: thread::sleep });
        Ok(Asker { generator, route: Some(route), logged, now })
    }

    /// The model that [`ModelArgs::asker`] would ask, as a log names it; `None` if none is known. Nobody needs to be
    /// there to be asked.
    ///
    /// # Errors
    /// What was chosen is no model.
    pub(super) fn route(
        &self,
        named: Option<&String>,
        of_session: Option<&Route>,
        context: &Context,
    ) -> Result<Option<Route>, Failure> {
        Ok(self.choice(named, of_session, context)?.logged)
    }

    fn choice<'c>(
        &'c self,
        named: Option<&'c String>,
        of_session: Option<&Route>,
        context: &'c Context,
    ) -> Result<Choice<'c>, Failure> {
        // What is configured is for the configured place alone.
        let is_elsewhere = self.model_command.is_some() || self.endpoint.is_some();
        let configured = (!is_elsewhere).then_some(&context.config.model);
        let name = match (named, configured.and_then(|model| model.name.as_ref())) {
            (Some(name), _) => Some(checked_name(name, Code::Usage, "")?),
            (None, Some(name)) => Some(checked_name(name, Code::InvalidConfig, ", as `model.name` is configured")?),
            (None, None) => None,
        };
        // Who names a key wants an endpoint.
        let words = configured.and_then(|model| model.command.as_ref()).filter(|_| self.key_env.is_none());
        let command = match (&self.model_command, words) {
            (Some(command), _) => Some(command.clone()),
            (None, Some(words)) => Some(shell_line(words)?),
            (None, None) => None,
        };
        let (way, provider) = match command {
            Some(command) => (Way::Command(command), "command"),
            None => {
                let url = self.endpoint.as_ref().or_else(|| configured?.endpoint.as_ref());
                let address = url.map(|url| host_of(url).map(|host| (url.as_str(), host))).transpose()?;
                let key_env = self.key_env.as_ref().or_else(|| configured?.key_env.as_ref()).map(String::as_str);
                (Way::Endpoint { address, key_env }, address.map_or(DEEPSEEK_PROVIDER, |(_, host)| host))
            }
        };
        let of_session_name = || of_session.map(|route| route.model.to_string_lossy().into_owned());
        let logged = match name {
            Some(model) => Some(Route { provider: js(provider), model: js(model) }),
            None => of_session.cloned(),
        };
        Ok(Choice { way, model: name.map(str::to_owned).or_else(of_session_name), is_named: name.is_some(), logged })
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

/// Whether a model can be called so: a log takes no empty name, and none that cannot be seen is meant.
pub(super) fn is_name(text: &str) -> bool {
    !text.is_empty() && text.trim() == text && !text.contains(char::is_control)
}

fn checked_name<'n>(name: &'n str, code: Code, origin: &str) -> Result<&'n str, Failure> {
    if is_name(name) {
        return Ok(name);
    }
    Err(Failure::new(code, format!("{name:?} is no name of a model{origin}"))
        .hint("a name is not empty, and has no control characters in it and no white space around it"))
}

/// The key in an environment variable. dsh takes the same characters for one.
fn key_in(variable: &str) -> Result<String, Failure> {
    let failure = |message: &str| Failure::new(Code::Usage, format!("the environment variable {variable} {message}"));
    let key = env::key(variable)
        .ok_or_else(|| failure("holds no key").hint("set it, or ask a model with --model-command"))?;
    if key.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Ok(key);
    }
    Err(failure("holds characters that no key has: a line feed, a space, or others").hint("set it to the key alone"))
}

/// The host of an address, without its port.
fn host_of(url: &str) -> Result<&str, Failure> {
    host_in(url).ok_or_else(|| {
        Failure::new(Code::Usage, format!("{url:?} is no address of an endpoint"))
            .hint("it begins with https://, or with http:// if no key is sent there or it is on this computer")
    })
}

fn host_in(url: &str) -> Option<&str> {
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"))?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let host = match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => authority,
    };
    let is_odd = |c: char| c == '@' || c.is_whitespace() || c.is_control();
    (!host.is_empty() && !host.contains(is_odd)).then_some(host)
}
