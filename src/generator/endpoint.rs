//! An endpoint that speaks the chat API of OpenAI, as DeepSeek's does.

use super::conversation::{CallFault, Conversation, Heard, Listener, Live, Speech};
use super::{Answer, MAX_BYTES, Prompt, excerpt, failed, server_events, some_text};
use crate::error::Failure;
use crate::model::call_usage::CallUsage;
use crate::model::js_string::{JsStr, JsString};
use crate::model::json::{Kind, Object, Value, View, parse, write_value};
use std::fmt;
use std::io::{BufReader, Read};
use std::time::Duration;
use ureq::http::{HeaderMap, Response, header};
use ureq::{Agent, Body};

/// DeepSeek's own endpoint.
pub const DEEPSEEK: &str = "https://api.deepseek.com";

/// How long to wait before the second and the third try, where the endpoint does not say.
const BACKOFF: [Duration; 2] = [Duration::from_millis(250), Duration::from_secs(1)];

/// The longest wait an endpoint may ask for. Who asks for more is not asked again, as dsh does.
const MAX_WAIT: Duration = Duration::from_secs(30);

/// The most that is read of a stream, in bytes: of each piece of an answer there is much that is none of it.
const MAX_STREAM_BYTES: u64 = 256 << 20;

/// An endpoint.
#[derive(Clone)]
pub struct EndpointModel {
    /// Where it is, without `/chat/completions`.
    pub url: String,
    /// The model.
    pub model: String,
    /// The key, if it wants one. It is told to nobody else.
    pub key: Option<String>,
    /// How long one call may take; in a conversation, how long nothing at all may come.
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
    /// What kind of failure it is, in the words of dsh.
    code: String,
    /// The status of the response, if that was it.
    status: Option<u16>,
    /// Whether another try may do better, and after what time if the endpoint says so.
    retry: Option<Option<Duration>>,
    /// What the model used all the same, as far as it says.
    usage: Option<Box<CallUsage>>,
    /// Whether it was told at the end of a whole stream.
    is_whole: bool,
}

impl EndpointModel {
    /// Asks. What the endpoint is too busy for is asked again, twice.
    ///
    /// # Errors
    /// The endpoint cannot be reached, takes too long, says no, or answers something else than it should.
    pub fn ask(&self, prompt: &Prompt) -> Result<Answer, Failure> {
        let agent = self.agent(Some(self.timeout));
        let message =
            |role: &'static str, text: &str| Value::from(Object::of([("role", role.into()), ("content", text.into())]));
        let messages = vec![message("system", &prompt.instructions), message("user", &prompt.input)];
        let body = self.body(messages, prompt.max_tokens, false);
        let answer = self.patiently(|| {
            let (_, mut body) = self.post(&agent, &body)?.into_parts();
            answer(&read(body.with_config().limit(MAX_BYTES).reader())?)
        });
        answer.map_err(|fault| failed(format!("the model at {} gave no answer: {}", self.url, self.cleaned(&fault))))
    }

    /// Has the endpoint go on with a conversation, and say it piece by piece. Every byte that comes, and every
    /// answer that it is too busy, is a sign of life; dsh counts the comments in a stream as such.
    pub(super) fn converse(&self, conversation: &Conversation) -> Speech {
        let model = self.clone();
        let message = |message: &super::conversation::Message| {
            Value::from(Object::of([("role", message.role.name().into()), ("content", message.text.as_str().into())]))
        };
        let messages = conversation.messages.iter().map(message).collect();
        let body = self.body(messages, conversation.max_tokens, true);
        Speech::begin(self.timeout, None, move |listener| {
            let agent = model.agent(None);
            // Only what has not begun to speak can be asked again. Our own waiting is not its silence.
            let response = model.patiently(|| {
                listener.is_alive();
                let response = model.post(&agent, &body);
                listener.is_alive();
                response
            });
            let end = response.and_then(|response| listen(response, listener)).unwrap_or_else(|fault| {
                let message = format!("the model at {} failed: {}", model.url, model.cleaned(&fault));
                Heard::Failed(CallFault {
                    message,
                    code: fault.code,
                    status: fault.status,
                    usage: fault.usage.map(|usage| *usage),
                    is_whole: fault.is_whole,
                })
            });
            listener.hear(end);
        })
    }

    /// What makes the calls. `timeout`: how long a whole one may take; otherwise only its beginning is timed.
    fn agent(&self, timeout: Option<Duration>) -> Agent {
        let mut config = Agent::config_builder();
        if self.url.starts_with("http://") {
            // What is not encrypted passes through nobody's hands.
            config = config.proxy(None);
        }
        Agent::new_with_config(
            config
                .timeout_global(timeout)
                .timeout_connect(Some(self.timeout))
                .timeout_recv_response(Some(self.timeout))
                .http_status_as_error(false)
                // The key goes to nobody the user has not named.
                .max_redirects(0)
                .max_redirects_will_error(false)
                .user_agent(concat!("dshkit/", env!("CARGO_PKG_VERSION")))
                .build(),
        )
    }

    /// Tries, and tries again twice what the endpoint is too busy for, unless it wants more time than there is.
    fn patiently<T>(&self, attempt: impl Fn() -> Result<T, Fault>) -> Result<T, Fault> {
        for pause in BACKOFF {
            let fault = match attempt() {
                Err(fault) => fault,
                answer => return answer,
            };
            let wait = match fault.retry {
                None => return Err(fault),
                Some(Some(wait)) if wait > MAX_WAIT || wait >= self.timeout => {
                    let message = format!("{}; it wants to be left alone for {} s", fault.message, wait.as_secs());
                    return Err(Fault { message, ..fault });
                }
                Some(Some(wait)) => wait,
                Some(None) => pause.min(self.timeout / 2),
            };
            (self.sleep)(wait);
        }
        attempt()
    }

    /// What a fault says, without the key.
    fn cleaned(&self, fault: &Fault) -> String {
        match &self.key {
            Some(key) if !key.is_empty() => fault.message.replace(key.as_str(), "(the key)"),
            _ => fault.message.clone(),
        }
    }

    fn body(&self, messages: Vec<Value>, max_tokens: u64, is_stream: bool) -> String {
        let mut body = Object::of([
            ("model", self.model.as_str().into()),
            ("messages", Value::Array(messages)),
            ("max_tokens", max_tokens.into()),
            ("stream", is_stream.into()),
        ]);
        if is_stream {
            body.set("stream_options", Object::of([("include_usage", true.into())]).into());
        }
        let mut text = String::new();
        write_value(&body.into(), &mut text);
        text
    }

    /// Posts a request and gives the response if it is a good one.
    fn post(&self, agent: &Agent, body: &str) -> Result<Response<Body>, Fault> {
        let url = format!("{}/chat/completions", self.url.trim_end_matches('/'));
        let mut request = agent.post(&url).header(header::CONTENT_TYPE, "application/json");
        if let Some(key) = &self.key {
            request = request.header(header::AUTHORIZATION, format!("Bearer {key}"));
        }
        let response = request.send(body).map_err(|error| {
            let code = if matches!(error, ureq::Error::Timeout(_)) { "TIMEOUT" } else { "TRANSPORT" };
            fault(code, error.to_string())
        })?;
        if response.status().is_success() {
            return Ok(response);
        }
        let (parts, mut body) = response.into_parts();
        let status = parts.status.as_u16();
        let said = read(body.with_config().limit(MAX_BYTES).reader())
            .ok()
            .map(|text| said(&text))
            .filter(|said| !said.is_empty());
        let may_retry = status == 429 || (500..600).contains(&status);
        Err(Fault {
            message: format!("status {status}{}", said.map(|said| format!(": {said}")).unwrap_or_default()),
            code: code_of(status),
            status: Some(status),
            retry: may_retry.then(|| retry_after(&parts.headers)),
            usage: None,
            is_whole: false,
        })
    }
}

/// The word dsh has for a response that is none.
fn code_of(status: u16) -> String {
    match status {
        400 | 413 => "INVALID_REQUEST".to_owned(),
        401 | 403 => "AUTH".to_owned(),
        402 => "QUOTA".to_owned(),
        429 => "RATE_LIMIT".to_owned(),
        500.. => "SERVER".to_owned(),
        _ => format!("HTTP_{status}"),
    }
}

/// Listens to what an endpoint streams, and gives the end of it. An endpoint that does not stream says all at
/// once.
///
/// A stream has ended when it says `[DONE]`, and not before, whatever reason to finish it has named: every dsh
/// wants its end mark too, and calls a stream that stops, or is silent, before it a failed call. What had come is in
/// the log all the same, and the question can be asked again.
fn listen(response: Response<Body>, listener: &Listener) -> Result<Heard, Fault> {
    let kind = response.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let is_stream = kind.is_none_or(|kind| kind.contains("event-stream"));
    let (_, mut body) = response.into_parts();
    if !is_stream {
        let source = body.with_config().limit(MAX_BYTES).reader();
        let answer = answer(&read(Live { source, listener })?)?;
        listener.hear(Heard::Text(answer.text));
        return Ok(Heard::End { usage: answer.usage, is_cut_off: false });
    }
    let mut stream = Stream::default();
    let source = body.with_config().limit(MAX_STREAM_BYTES).reader();
    let reader = BufReader::new(Live { source, listener });
    let mut wrong = None;
    let is_over = server_events::read(reader, &mut |data| {
        stream.take(data, listener).unwrap_or_else(|fault| {
            wrong = Some(fault);
            true
        })
    });
    match (wrong, is_over) {
        (Some(wrong), _) => Err(wrong),
        (None, Ok(true)) => stream.end(),
        (None, Ok(false)) => Err(fault("STREAM_CLOSED", "it stopped in the middle of its answer")),
        (None, Err(error)) => Err(fault("TRANSPORT", error.to_string())),
    }
}

/// What has been heard of a stream.
#[derive(Default)]
struct Stream {
    reasoning: Half,
    text: Half,
    bytes: u64,
    finish: Option<String>,
    usage: Option<CallUsage>,
}

impl Stream {
    /// Takes the data of one event; whether it was the last.
    fn take(&mut self, data: &str, listener: &Listener) -> Result<bool, Fault> {
        if data == "[DONE]" {
            return Ok(true);
        }
        let malformed =
            || fault("MALFORMED_RESPONSE", format!("it streamed something else than JSON: {}", excerpt(data)));
        let view = parse(data).map_err(|_| malformed())?;
        if view.get("error").is_some_and(|error| error.kind() != Kind::Null) {
            return Err(fault("SERVER", said(data)));
        }
        if let Some(usage) = view.get("usage").and_then(usage) {
            self.usage = Some(usage);
        }
        let Some(choice) = view.get("choices").and_then(|choices| choices.elements().next()) else { return Ok(false) };
        let part = |key| choice.get("delta").and_then(|delta| delta.get(key)).and_then(View::string);
        if let Some(piece) = part("reasoning_content").and_then(|piece| self.reasoning.join(&piece)) {
            self.bytes += piece.len() as u64;
            listener.hear(Heard::Reasoning(piece));
        }
        if let Some(piece) = part("content").and_then(|piece| self.text.join(&piece)) {
            self.bytes += piece.len() as u64;
            listener.hear(Heard::Text(piece));
        }
        if self.bytes > MAX_BYTES {
            return Err(fault("MALFORMED_RESPONSE", format!("it wrote more than {MAX_BYTES} bytes")));
        }
        if let Some(reason) = choice.get("finish_reason").and_then(View::string) {
            self.finish = Some(reason.to_string_lossy().into_owned());
        }
        Ok(false)
    }

    /// What a whole stream comes to. As for dsh, one that ends at the most the model may write is an answer even with
    /// nothing in it.
    fn end(self) -> Result<Heard, Fault> {
        let is_cut_off = self.finish.as_deref() == Some("length");
        let fault = match self.finish.as_deref() {
            None | Some("stop") if self.bytes == 0 => fault("EMPTY_RESPONSE", "the model answered nothing"),
            None | Some("stop" | "length") => return Ok(Heard::End { usage: self.usage, is_cut_off }),
            Some(reason) => {
                let reason = excerpt(reason);
                fault(&reason.to_uppercase(), format!("the answer ended with {reason:?}"))
            }
        };
        Err(Fault { usage: self.usage.map(Box::new), is_whole: true, ..fault })
    }
}

/// The half of a character that an endpoint may cut in two.
#[derive(Default)]
struct Half(JsString);

impl Half {
    /// The next piece as text, with the half that was held back and without one that is cut now. `None`:
    /// nothing of it can be said yet.
    fn join(&mut self, piece: &JsStr<'_>) -> Option<String> {
        let mut whole = std::mem::take(&mut self.0);
        whole.push_js(piece);
        if let Some(unit @ 0xD800..=0xDBFF) = whole.units().last() {
            self.0.push_unit(unit);
            let units: Vec<u16> = whole.units().collect();
            whole = units[..units.len() - 1].iter().copied().collect();
        }
        (!whole.is_empty()).then(|| whole.to_string_lossy().into_owned())
    }
}

/// Reads a body that is bounded already.
fn read(mut body: impl Read) -> Result<String, Fault> {
    let mut bytes = Vec::new();
    body.read_to_end(&mut bytes).map_err(|error| fault("TRANSPORT", error.to_string()))?;
    String::from_utf8(bytes).map_err(|_| malformed("it answered something else than text"))
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
    let view = parse(text).map_err(|_| malformed(&format!("it answered no JSON: {}", excerpt(text))))?;
    let choice = view.get("choices").and_then(|choices| choices.elements().next());
    let choice = choice.ok_or_else(|| malformed(&format!("it answered no choice: {}", excerpt(text))))?;
    let content = choice.get("message").and_then(|message| message.get("content")).and_then(View::string);
    let content = content.ok_or_else(|| malformed("its choice has no text"))?;
    // Who does not say why it ended is believed to have ended.
    match choice.get("finish_reason").and_then(View::string) {
        None => {}
        Some(reason) if reason == "stop" => {}
        Some(reason) if reason == "length" => return Err(malformed("the answer was cut off at the most it may write")),
        Some(reason) => {
            return Err(malformed(&format!("the answer ended with {:?}", excerpt(&reason.to_string_lossy()))));
        }
    }
    let text = some_text(&content.to_string_lossy()).map_err(|failure| fault("EMPTY_RESPONSE", failure.message))?;
    let model = view.get("model").and_then(View::string).map(|model: JsStr<'_>| model.to_string_lossy().into_owned());
    Ok(Answer { text, model, usage: view.get("usage").and_then(usage) })
}

/// The usage an endpoint reports. What it calls prompt includes what a cache held.
fn usage(usage: View<'_>) -> Option<CallUsage> {
    let count = |view: View<'_>, key: &str| view.get(key).and_then(View::count);
    let detail = |group: &str, key: &str| usage.get(group).and_then(|group| count(group, key));
    let cache_read =
        detail("prompt_tokens_details", "cached_tokens").or_else(|| count(usage, "prompt_cache_hit_tokens"));
    Some(CallUsage {
        input: count(usage, "prompt_tokens")?.checked_sub(cache_read.unwrap_or(0))?,
        output: count(usage, "completion_tokens")?,
        total: count(usage, "total_tokens"),
        cache_read,
        reasoning: detail("completion_tokens_details", "reasoning_tokens"),
    })
}

fn fault(code: &str, message: impl Into<String>) -> Fault {
    Fault { message: message.into(), code: code.to_owned(), status: None, retry: None, usage: None, is_whole: false }
}

fn malformed(message: &str) -> Fault {
    fault("MALFORMED_RESPONSE", message)
}

#[cfg(test)]
mod tests {
    use super::super::conversation::Message;
    use super::*;
    use crate::model::message::Role;
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

    /// A stream of these events, whole.
    fn stream(events: &[&str]) -> Vec<u8> {
        let body: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
        response("200 OK", "Content-Type: text/event-stream\r\n", &body)
    }

    /// What is heard of an endpoint: the pieces, and the end.
    fn hear(responses: Vec<Vec<u8>>) -> (Vec<Heard>, Heard, Vec<String>) {
        let (url, server) = serve(responses);
        let key = Some("sk-secret".to_owned());
        let model = EndpointModel { url, model: "m".to_owned(), key, timeout: Duration::from_secs(20), sleep: |_| {} };
        let messages = vec![Message { role: Role::User, text: "Why?".to_owned() }];
        let mut speech = model.converse(&Conversation { messages, max_tokens: 7 });
        let mut pieces = Vec::new();
        let end = loop {
            match speech.hear() {
                piece @ (Heard::Text(_) | Heard::Reasoning(_)) => pieces.push(piece),
                end => break end,
            }
        };
        (pieces, end, server.join().unwrap())
    }

    #[test]
    fn an_answer_is_heard_piece_by_piece() {
        let events = [
            r#"{"choices":[{"delta":{"role":"assistant","content":null,"reasoning_content":"Hm."}}],"usage":null}"#,
            r#"{"choices":[{"delta":{"content":"It is \ud83d"}}]}"#,
            r#"{"choices":[{"delta":{"content":"\ude00"},"finish_reason":null}]}"#,
            r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#,
            r#"{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":4,"total_tokens":13,"completion_tokens_details":{"reasoning_tokens":2}}}"#,
            "[DONE]",
        ];
        let (pieces, end, asked) = hear(vec![response("503 X", "", ""), stream(&events)]);
        let text = |text: &str| Heard::Text(text.to_owned());
        assert_eq!(pieces, [Heard::Reasoning("Hm.".to_owned()), text("It is "), text("😀")]);
        let usage = CallUsage { input: 9, output: 4, total: Some(13), cache_read: None, reasoning: Some(2) };
        assert_eq!(end, Heard::End { usage: Some(usage), is_cut_off: false });
        assert!(asked[1].contains(r#""stream":true,"stream_options":{"include_usage":true}"#), "{}", asked[1]);
        assert!(asked[1].contains(r#""messages":[{"role":"user","content":"Why?"}]"#) && !asked[1].contains("tools"));
        let (pieces, end, _) = hear(vec![good("At once.")]);
        assert_eq!(pieces, [text("At once.")], "an endpoint that does not stream");
        assert!(matches!(end, Heard::End { usage: Some(_), is_cut_off: false }));
    }

    #[test]
    fn an_answer_that_cannot_be_heard_out_has_failed() {
        let said = r#"{"choices":[{"delta":{"content":"Half"}}]}"#;
        let cut = r#"{"choices":[{"delta":{},"finish_reason":"length"}]}"#;
        let used = r#"{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":1}}"#;
        let stopped = r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#;
        let cases: [(&[&str], &str); 7] = [
            (&[said], "STREAM_CLOSED"),
            (&[said, "<html>"], "MALFORMED_RESPONSE"),
            (&[said, r#"{"error":{"message":"overloaded, sk-secret"}}"#], "SERVER"),
            (&[said, r#"{"choices":[{"delta":{},"finish_reason":"content_filter"}]}"#, "[DONE]"], "CONTENT_FILTER"),
            (&["[DONE]"], "EMPTY_RESPONSE"),
            (&[said, stopped], "STREAM_CLOSED"),
            (&[used, "[DONE]"], "EMPTY_RESPONSE"),
        ];
        for (events, code) in cases {
            let (pieces, end, _) = hear(vec![stream(events)]);
            let Heard::Failed(fault) = end else { panic!("{code}: {end:?}") };
            assert_eq!((fault.code.as_str(), fault.status), (code, None), "{}", fault.message);
            assert!(!fault.message.contains("sk-secret"), "{}", fault.message);
            assert_eq!(pieces.len(), usize::from(events[0] == said), "{code}");
            assert_eq!(fault.usage.is_some(), events[0] == used, "{code}");
            assert_eq!(fault.is_whole, events.last() == Some(&"[DONE]"), "{code}");
        }
        for events in [&[said, cut, "[DONE]"][..], &[cut, "[DONE]"]] {
            let (pieces, end, _) = hear(vec![stream(events)]);
            assert_eq!((pieces.len(), end), (events.len() - 2, Heard::End { usage: None, is_cut_off: true }));
        }
        for (status, code) in [(401, "AUTH"), (400, "INVALID_REQUEST"), (402, "QUOTA"), (404, "HTTP_404")] {
            let body = r#"{"error":{"message":"no"}}"#;
            let (_, end, asked) = hear(vec![response(&format!("{status} X"), "", body)]);
            let Heard::Failed(fault) = end else { panic!("{end:?}") };
            assert_eq!((fault.code.as_str(), fault.status, asked.len()), (code, Some(status), 1));
            assert!(fault.message.ends_with(": no"));
        }
    }

    #[test]
    fn who_wants_to_be_left_alone_for_longer_than_there_is_time_is() {
        let busy = |wait: &str| {
            response("429 Too Many", &format!("Retry-After: {wait}\r\n"), r#"{"error":{"message":"slow"}}"#)
        };
        for wait in ["20", "31"] {
            let (_, end, asked) = hear(vec![busy(wait)]);
            let Heard::Failed(fault) = end else { panic!("{end:?}") };
            assert_eq!((fault.code.as_str(), fault.status, asked.len()), ("RATE_LIMIT", Some(429), 1));
            assert!(
                fault.message.ends_with(&format!(": slow; it wants to be left alone for {wait} s")),
                "{}",
                fault.message
            );
        }
        let (_, end, asked) = hear(vec![busy("19"), good("Yes.")]);
        assert!(matches!(end, Heard::End { .. }) && asked.len() == 2, "{end:?}");
        let (answer, asked) = ask(vec![busy("20")]);
        assert!(answer.unwrap_err().message.contains("status 429"));
        assert_eq!(asked.len(), 1);
    }

    #[test]
    fn an_answer_has_text_and_usage() {
        let (answer, asked) = ask(vec![good(" Done. ")]);
        let answer = answer.unwrap();
        assert_eq!(answer.text, "Done.");
        let usage = CallUsage { input: 36, output: 20, total: Some(120), cache_read: Some(64), reasoning: None };
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
