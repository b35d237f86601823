//! An endpoint that speaks the chat API of OpenAI, as DeepSeek's does.

use super::{Answer, MAX_BYTES, Prompt, Usage, excerpt, failed, some_text};
use crate::error::Failure;
use crate::model::js_string::JsStr;
use crate::model::json::{Object, Value, View, parse, write_value};
use std::fmt;
use std::time::Duration;
use ureq::http::{HeaderMap, header};
use ureq::{Agent, Body};

/// DeepSeek's own endpoint.
pub const DEEPSEEK: &str = "https://api.deepseek.com";

/// How long to wait before the second and the third try, where the endpoint does not say.
const BACKOFF: [Duration; 2] = [Duration::from_millis(250), Duration::from_secs(1)];

/// The longest wait an endpoint may ask for.
const MAX_WAIT: Duration = Duration::from_secs(30);

/// An endpoint.
pub struct EndpointModel {
    /// Where it is, without `/chat/completions`.
    pub url: String,
    /// The model.
    pub model: String,
    /// The key, if it wants one. It is told to nobody else.
    pub key: Option<String>,
    /// How long one call may take.
    pub timeout: Duration,
    /// What waits between tries.
    pub sleep: fn(Duration),
}

impl fmt::Debug for EndpointModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EndpointModel").field("url", &self.url).field("model", &self.model).finish_non_exhaustive()
    }
}

/// Why a try failed.
struct Fault {
    message: String,
    /// Whether another try may do better, and after what time if the endpoint says so.
    retry: Option<Option<Duration>>,
}

impl EndpointModel {
    /// Asks. What the endpoint is too busy for is asked again, twice.
    ///
    /// # Errors
    /// The endpoint cannot be reached, takes too long, says no, or answers something else than it should.
    pub fn ask(&self, prompt: &Prompt) -> Result<Answer, Failure> {
        let mut config = Agent::config_builder();
        if self.url.starts_with("http://") {
            // What is not encrypted passes through nobody's hands.
            config = config.proxy(None);
        }
        let agent = Agent::new_with_config(
            config
                .timeout_global(Some(self.timeout))
                .http_status_as_error(false)
                // The key goes to nobody the user has not named.
                .max_redirects(0)
                .max_redirects_will_error(false)
                .user_agent(concat!("dshkit/", env!("CARGO_PKG_VERSION")))
                .build(),
        );
        let body = self.body(prompt);
        for pause in BACKOFF {
            match self.attempt(&agent, &body) {
                Ok(answer) => return Ok(answer),
                Err(Fault { retry: Some(wait), .. }) => (self.sleep)(wait.unwrap_or(pause).min(MAX_WAIT)),
                Err(fault) => return Err(self.failure(&fault)),
            }
        }
        self.attempt(&agent, &body).map_err(|fault| self.failure(&fault))
    }

    fn failure(&self, fault: &Fault) -> Failure {
        let message = match &self.key {
            Some(key) if !key.is_empty() => fault.message.replace(key.as_str(), "(the key)"),
            _ => fault.message.clone(),
        };
        failed(format!("the model at {} gave no answer: {message}", self.url))
    }

    fn body(&self, prompt: &Prompt) -> String {
        let message =
            |role: &'static str, text: &str| Value::from(Object::of([("role", role.into()), ("content", text.into())]));
        let messages = vec![message("system", &prompt.instructions), message("user", &prompt.input)];
        let body = Object::of([
            ("model", self.model.as_str().into()),
            ("messages", Value::Array(messages)),
            ("max_tokens", prompt.max_tokens.into()),
            ("stream", false.into()),
        ]);
        let mut text = String::new();
        write_value(&body.into(), &mut text);
        text
    }

    fn attempt(&self, agent: &Agent, body: &str) -> Result<Answer, Fault> {
        let url = format!("{}/chat/completions", self.url.trim_end_matches('/'));
        let mut request = agent.post(&url).header(header::CONTENT_TYPE, "application/json");
        if let Some(key) = &self.key {
            request = request.header(header::AUTHORIZATION, format!("Bearer {key}"));
        }
        let response = request.send(body).map_err(|error| Fault { message: error.to_string(), retry: None })?;
        let (parts, mut body) = response.into_parts();
        let status = parts.status.as_u16();
        let text = read(&mut body);
        if parts.status.is_success() {
            return answer(&text?);
        }
        let said = text.ok().map(|text| said(&text)).filter(|said| !said.is_empty());
        let message = format!("status {status}{}", said.map(|said| format!(": {said}")).unwrap_or_default());
        let may_retry = status == 429 || (500..600).contains(&status);
        Err(Fault { message, retry: may_retry.then(|| retry_after(&parts.headers)) })
    }
}

fn read(body: &mut Body) -> Result<String, Fault> {
    let bytes = body.with_config().limit(MAX_BYTES).read_to_vec();
    let bytes = bytes.map_err(|error| Fault { message: error.to_string(), retry: None })?;
    String::from_utf8(bytes).map_err(|_| fault("it answered something else than text"))
}

fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds = headers.get(header::RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds))
}

/// What an endpoint says of its own failure.
fn said(text: &str) -> String {
    let message = parse(text).ok().and_then(|view| Some(view.get("error")?.get("message")?.string()?.into_owned()));
    excerpt(&message.map_or_else(|| text.to_owned(), |message| message.to_string_lossy().into_owned()))
}

fn answer(text: &str) -> Result<Answer, Fault> {
    let view = parse(text).map_err(|_| fault(&format!("it answered no JSON: {}", excerpt(text))))?;
    let choice = view.get("choices").and_then(|choices| choices.elements().next());
    let choice = choice.ok_or_else(|| fault(&format!("it answered no choice: {}", excerpt(text))))?;
    let content = choice.get("message").and_then(|message| message.get("content")).and_then(View::string);
    let content = content.ok_or_else(|| fault("its choice has no text"))?;
    // Who does not say why it ended is believed to have ended.
    match choice.get("finish_reason").and_then(View::string) {
        None => {}
        Some(reason) if reason == "stop" => {}
        Some(reason) if reason == "length" => return Err(fault("the answer was cut off at the most it may write")),
        Some(reason) => return Err(fault(&format!("the answer ended with {:?}", excerpt(&reason.to_string_lossy())))),
    }
    let text = some_text(&content.to_string_lossy()).map_err(|failure| fault(&failure.message))?;
    let model = view.get("model").and_then(View::string).map(|model: JsStr<'_>| model.to_string_lossy().into_owned());
    Ok(Answer { text, model, usage: view.get("usage").and_then(usage) })
}

/// The usage an endpoint reports. What it calls prompt includes what a cache held.
fn usage(usage: View<'_>) -> Option<Usage> {
    let count = |view: View<'_>, key: &str| view.get(key).and_then(View::count);
    let detail = |group: &str, key: &str| usage.get(group).and_then(|group| count(group, key));
    let cache_read =
        detail("prompt_tokens_details", "cached_tokens").or_else(|| count(usage, "prompt_cache_hit_tokens"));
    Some(Usage {
        input: count(usage, "prompt_tokens")?.checked_sub(cache_read.unwrap_or(0))?,
        output: count(usage, "completion_tokens")?,
        total: count(usage, "total_tokens"),
        cache_read,
        reasoning: detail("completion_tokens_details", "reasoning_tokens"),
    })
}

fn fault(message: &str) -> Fault {
    Fault { message: message.to_owned(), retry: None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::thread;

    /// Serves these responses, one a connection, and gives what was asked.
    fn serve(responses: Vec<Vec<u8>>) -> (String, thread::JoinHandle<Vec<String>>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1/", listener.local_addr().unwrap());
        let server = thread::spawn(move || {
            let mut asked = Vec::new();
            for response in responses {
                let (mut stream, _) = listener.accept().unwrap();
                let mut request = Vec::new();
                let mut buffer = [0; 4096];
                while !is_whole(&request) {
                    let read = stream.read(&mut buffer).unwrap();
                    assert!(read > 0, "the request is whole");
                    request.extend_from_slice(&buffer[..read]);
                }
                asked.push(String::from_utf8(request).unwrap());
                // Who has seen enough may hang up.
                let _ = stream.write_all(&response);
            }
            asked
        });
        (url, server)
    }

    fn is_whole(request: &[u8]) -> bool {
        let text = String::from_utf8_lossy(request);
        let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
        let length = head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
        body.len() >= length.unwrap_or(0usize)
    }

    fn response(status: &str, headers: &str, body: &str) -> Vec<u8> {
        format!("HTTP/1.1 {status}\r\nConnection: close\r\n{headers}Content-Length: {}\r\n\r\n{body}", body.len())
            .into_bytes()
    }

    fn good(text: &str) -> Vec<u8> {
        let body = format!(
            r#"{{"model":"deepseek-chat","choices":[{{"finish_reason":"stop","message":{{"role":"assistant","content":"{text}"}}}}],"usage":{{"prompt_tokens":100,"completion_tokens":20,"total_tokens":120,"prompt_cache_hit_tokens":64}}}}"#
        );
        response("200 OK", "Content-Type: application/json\r\n", &body)
    }

    fn ask(responses: Vec<Vec<u8>>) -> (Result<Answer, Failure>, Vec<String>) {
        let (url, server) = serve(responses);
        let model = EndpointModel {
            url,
            model: "deepseek-chat".to_owned(),
            key: Some("sk-secret".to_owned()),
            timeout: Duration::from_secs(20),
            sleep: |_| {},
        };
        let prompt = Prompt { instructions: "Do it.".to_owned(), input: "With this.".to_owned(), max_tokens: 7 };
        let answer = model.ask(&prompt);
        (answer, server.join().unwrap())
    }

    #[test]
    fn an_answer_has_text_and_usage() {
        let (answer, asked) = ask(vec![good(" Done. ")]);
        let answer = answer.unwrap();
        assert_eq!(answer.text, "Done.");
        let usage = Usage { input: 36, output: 20, total: Some(120), cache_read: Some(64), reasoning: None };
        assert_eq!(answer.usage, Some(usage));
        assert!(asked[0].starts_with("POST /v1/chat/completions HTTP/1.1\r\n"), "{}", asked[0]);
        assert!(asked[0].to_lowercase().contains("authorization: bearer sk-secret"), "{}", asked[0]);
        assert!(
            asked[0].ends_with(
                r#"{"model":"deepseek-chat","messages":[{"role":"system","content":"Do it."},{"role":"user","content":"With this."}],"max_tokens":7,"stream":false}"#
            ),
            "{}",
            asked[0]
        );
    }

    #[test]
    fn what_is_too_busy_is_asked_again() {
        let (answer, asked) =
            ask(vec![response("429 Too Many", "Retry-After: 1\r\n", ""), response("503 No", "", "{}"), good("Done.")]);
        assert_eq!(answer.unwrap().text, "Done.");
        assert_eq!(asked.len(), 3);
        let (answer, _) =
            ask(vec![response("500 No", "", "{}"), response("500 No", "", "{}"), response("500 No", "", "{}")]);
        assert!(answer.unwrap_err().message.contains("status 500"));
    }

    #[test]
    fn a_refusal_is_told_without_the_key() {
        let body = r#"{"error":{"message":"no such key: sk-secret"}}"#;
        let (answer, asked) = ask(vec![response("401 Unauthorized", "", body)]);
        let message = answer.unwrap_err().message;
        assert!(message.contains("status 401: no such key: (the key)"), "{message}");
        assert_eq!(asked.len(), 1);
    }

    #[test]
    fn hostile_answers_are_errors() {
        let cases: [(Vec<u8>, &str); 8] = [
            (response("200 OK", "", "<html>"), "no JSON"),
            (response("200 OK", "", "{}"), "no choice"),
            (response("200 OK", "", r#"{"choices":[{"message":{"content":null}}]}"#), "no text"),
            (response("200 OK", "", r#"{"choices":[{"message":{"content":" "}}]}"#), "nothing"),
            (
                response("200 OK", "", r#"{"choices":[{"finish_reason":"length","message":{"content":"a"}}]}"#),
                "cut off",
            ),
            (b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n{\"choices\":[".to_vec(), "gave no answer"),
            (response("200 OK", "", &" ".repeat(2 << 20)), "gave no answer"),
            (response("302 Found", "Location: http://127.0.0.1:1/\r\n", ""), "status 302"),
        ];
        for (hostile, expected) in cases {
            let (answer, asked) = ask(vec![hostile]);
            let message = answer.unwrap_err().message;
            assert!(message.contains(expected), "{expected}: {message}");
            assert_eq!(asked.len(), 1, "{expected}");
        }
    }

    #[test]
    fn an_endpoint_that_never_answers_is_given_up() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let model = EndpointModel {
            url: format!("http://{}", listener.local_addr().unwrap()),
            model: "m".to_owned(),
            key: None,
            timeout: Duration::from_millis(100),
            sleep: |_| {},
        };
        let prompt = Prompt { instructions: String::new(), input: String::new(), max_tokens: 1 };
        assert!(model.ask(&prompt).unwrap_err().message.contains("gave no answer"));
    }
}
