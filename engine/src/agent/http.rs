//! The agent as a server that is asked over HTTP.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use gateways::bounded_json;
use http::{HeaderName, HeaderValue, Method, Request, StatusCode};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use scenario::evidence::{Captured, Exit};
use scenario::spec::sections::{Http, Reset};
use scenario::spec::template::Text;
use serde_json::{Value as Json, json};
use tokio::time::Instant;

use super::http_error::HttpError;
use super::process::{Printed, Process, Watch, leaks};
use super::{Acted, image_words};
use crate::attempt::Attempt;
use crate::backend::Image;
use crate::capture::{AGENT_BYTES, Capture};
use crate::door::Door;
use crate::environment::Environment;
use crate::error::EngineError;
use crate::world::World;

/// Largest size of an answer.
const MOST_BYTES: usize = 16 * 1024 * 1024;
/// Largest number of values in an answer whose output is looked up.
const MOST_VALUES: usize = 500_000;
/// Time limit until a server that was ended is gone.
const PARTING: Duration = Duration::from_secs(15);
/// The pause between tries to reach an agent that was just started.
const PAUSE: Duration = Duration::from_millis(50);

/// The name of the sandbox itself.
const SANDBOX: &str = "localhost";

/// Address of a server, and the request to it.
pub(super) struct Target {
    door: Door,
    address: Ipv4Addr,
    host: String,
    port: u16,
    pub(super) path: String,
}

/// Asks the agent, starting it first where it is an image.
pub(super) async fn ask(
    watch: &Watch<'_>,
    attempt: &Attempt<'_>,
    http: &Http,
    image: &Image,
    environment: &Environment,
) -> Result<Acted, EngineError> {
    let target = target(watch.world, attempt, http)?;
    let reset = match attempt.spec.agent.as_ref().and_then(|agent| agent.common.reset.as_ref()) {
        Some(Reset::Path(path)) => Some(path),
        _ => None,
    };
    let conversation = async { Ok(within(watch, converse(&target, attempt, http, reset)).await) };
    with_server(watch, attempt, http, (image, environment), conversation).await
}

/// Asks an agent that is running.
pub(super) async fn ask_running(watch: &Watch<'_>, attempt: &Attempt<'_>, http: &Http) -> Result<Acted, EngineError> {
    let target = target(watch.world, attempt, http)?;
    Ok(within(watch, converse(&target, attempt, http, None)).await)
}

/// Runs the server of an agent with an image of its own while the agent is asked.
pub(super) async fn with_server(
    watch: &Watch<'_>,
    attempt: &Attempt<'_>,
    http: &Http,
    (image, environment): (&Image, &Environment),
    conversation: impl Future<Output = Result<Acted, EngineError>>,
) -> Result<Acted, EngineError> {
    if http.image.is_none() {
        return conversation.await;
    }
    let target = target(watch.world, attempt, http)?;
    // The image's own server runs while it is asked; its output is kept like that of any other agent.
    let mut environment = environment.clone();
    environment.entry("PORT".to_owned()).or_insert_with(|| target.port.to_string());
    let words = image_words(image, None)?;
    let server = Process { words, directory: image.directory.clone(), environment, stdin: Vec::new() };
    let serving = serve(watch, &server);
    tokio::pin!(serving);
    tokio::select! {
        acted = conversation => {
            let mut acted = acted?;
            // Ended now, so that what it printed can be kept beside its answer.
            if watch.world.sandbox.door().kill_all().await.is_ok()
                && let Ok(Ok(served)) = tokio::time::timeout(PARTING, serving).await
            {
                keep_log(&mut acted, &served);
            }
            Ok(acted)
        }
        served = &mut serving => {
            let mut acted = served?;
            if acted.limits.is_empty() && !acted.lost {
                acted.offences.push("the agent's server ended before it had answered".to_owned());
            }
            Ok(acted)
        }
    }
}

/// Runs the agent's server to its end.
async fn serve(watch: &Watch<'_>, server: &Process) -> Result<Acted, EngineError> {
    let mut served = Acted::default();
    let mut printed = Printed::new(&watch.world.redactor);
    watch.run(server, &mut printed, &mut served).await?;
    printed.finish(&mut served);
    Ok(served)
}

/// Puts the output of the agent's server where other agents print their log.
fn keep_log(acted: &mut Acted, served: &Acted) {
    let parts = [acted.record.stderr.text(), served.record.stdout.text(), served.record.stderr.text()];
    let log = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n");
    acted.record.stderr = Captured::from(log.as_str());
    acted.leaks.extend(served.leaks.iter().cloned());
}

/// Follows a conversation until it ends, a limit fires or the time is up.
async fn within(watch: &Watch<'_>, conversation: impl Future<Output = Result<String, HttpError>>) -> Acted {
    let started = Instant::now();
    let mut acted = Acted::default();
    let ended = tokio::select! {
        ended = conversation => Ok(ended),
        () = tokio::time::sleep_until(watch.deadline.at) => Err(watch.deadline.fired.clone()),
        fired = watch.world.gateways.limit_fired() => Err(fired),
    };
    let (exit, text, place) = match ended {
        Ok(Ok(output)) => (Some(Exit::Code(0)), output, "stdout"),
        Ok(Err(error)) => (Some(Exit::Code(1)), error.to_string(), "stderr"),
        Err(fired) => {
            acted.limits.push(fired);
            (None, String::new(), "stdout")
        }
    };
    acted.record.exit = exit;
    acted.limits.extend(watch.printed_too_much(text.len() as u64));
    let mut capture = Capture::new(AGENT_BYTES, &watch.world.redactor);
    capture.take(text.as_bytes());
    let (captured, found) = capture.finish();
    acted.leaks.extend(leaks(found, place));
    match place {
        "stdout" => acted.record.stdout = captured,
        _ => acted.record.stderr = captured,
    }
    acted.record.wall_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    acted
}

impl Target {
    /// A server that listens at an address of the sandbox.
    pub(super) fn at(world: &World, address: Ipv4Addr, host: &str, port: u16) -> Self {
        let door = world.sandbox.door().clone();
        Self { door, address, host: host.to_owned(), port, path: String::new() }
    }

    /// Sends one request, whose answer nobody wants.
    pub(super) async fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(String, String)],
        body: &str,
    ) -> Result<(), HttpError> {
        let method: Method = method.parse().map_err(|_| HttpError::Request("the method is none".to_owned()))?;
        let mut asked = request(self, &method, path, body.as_bytes().to_vec())?;
        for (name, value) in headers {
            if let (Ok(name), Ok(value)) = (name.parse::<HeaderName>(), HeaderValue::from_str(value)) {
                asked.headers_mut().insert(name, value);
            }
        }
        exchange(self, asked).await.map(drop)
    }
}

/// Finds the address of the agent.
pub(super) fn target(world: &World, attempt: &Attempt<'_>, http: &Http) -> Result<Target, EngineError> {
    let values = attempt.agents_values();
    if let Some(port) = &http.port {
        let port = u16::try_from(port.get()).map_err(|error| EngineError::Unsupported { what: error.to_string() })?;
        let door = world.sandbox.door().clone();
        let path = http.path.render(&values);
        return Ok(Target { door, address: Ipv4Addr::LOCALHOST, host: SANDBOX.to_owned(), port, path });
    }
    let url = http.url.as_ref().map(|url| url.render(&values)).unwrap_or_default();
    target_of(world, attempt, &url)
}

/// Finds the target of a URL of the agent: a container of the spec, or something in the sandbox.
pub(super) fn target_of(world: &World, attempt: &Attempt<'_>, url: &str) -> Result<Target, EngineError> {
    let wrong = |what: String| EngineError::Unsupported { what };
    let parsed: http::Uri = url.parse().map_err(|_| wrong(format!("this is no URL: {url}")))?;
    let host = parsed.host().unwrap_or_default().to_owned();
    let name = host.strip_suffix(".services.internal").unwrap_or(&host);
    let service = world.services.get(name).map(|service| service.running.door());
    let is_sandbox = matches!(name, SANDBOX | "127.0.0.1");
    let door = service.or(is_sandbox.then(|| world.sandbox.door()));
    let door = door.ok_or_else(|| wrong(format!("the URL names no container of this spec: {url}")))?.clone();
    let path = parsed.path_and_query().map_or("/", |path| path.as_str()).to_owned();
    let declared = attempt.spec.service(name).and_then(|service| service.ports().first().copied());
    let port = parsed.port_u16().or_else(|| declared.and_then(|port| u16::try_from(port).ok())).unwrap_or(80);
    Ok(Target { door, address: Ipv4Addr::LOCALHOST, host, port, path })
}

/// Clears what the agent remembers, asks it, and takes the output out of its answer.
async fn converse(
    target: &Target,
    attempt: &Attempt<'_>,
    http: &Http,
    reset: Option<&Text>,
) -> Result<String, HttpError> {
    let values = attempt.agents_values();
    if let Some(reset) = reset {
        post(target, &reset.render(&values)).await?;
    }
    let body = match &http.request {
        Some(body) => body.render(&values).to_json(),
        None => json!({ "input": values.prompt() }),
    };
    let (body, kind) = match body {
        Json::String(text) => (text.into_bytes(), "text/plain; charset=utf-8"),
        json => (json.to_string().into_bytes(), "application/json"),
    };
    let method: Method =
        http.method.as_str().parse().map_err(|_| HttpError::Request("the method is none".to_owned()))?;
    let mut asked = request(target, &method, &target.path, body)?;
    asked.headers_mut().insert(http::header::CONTENT_TYPE, HeaderValue::from_static(kind));
    for (name, text) in http.headers.iter() {
        let name: HeaderName =
            name.as_str().parse().map_err(|_| HttpError::Request(format!("`{name}` is no header")))?;
        let value = HeaderValue::from_str(&text.render(&values))
            .map_err(|_| HttpError::Request(format!("the header `{name}` has a value that cannot be sent")))?;
        asked.headers_mut().insert(name, value);
    }
    let (status, answer) = exchange(target, asked).await?;
    let text = String::from_utf8_lossy(&answer).into_owned();
    if !status.is_success() {
        return Err(HttpError::Status { status, text });
    }
    match &http.response_path {
        Some(path) => output(&text, &path.render(&values)),
        None => Ok(text),
    }
}

/// Posts a request that makes the agent forget what it did.
pub(super) async fn post(target: &Target, path: &str) -> Result<(), HttpError> {
    let request = request(target, &Method::POST, path, Vec::new())?;
    let (status, _) = exchange(target, request).await?;
    if status.is_success() { Ok(()) } else { Err(HttpError::Reset(status)) }
}

fn request(target: &Target, method: &Method, path: &str, body: Vec<u8>) -> Result<Request<Full<Bytes>>, HttpError> {
    let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
    Request::builder()
        .method(method)
        .uri(path)
        .header(http::header::HOST, format!("{}:{}", target.host, target.port))
        .body(Full::new(Bytes::from(body)))
        .map_err(|error| HttpError::Request(format!("the request cannot be made: {error}")))
}

/// Sends one request on a connection of its own. An agent that was just started may not listen yet.
async fn exchange(target: &Target, request: Request<Full<Bytes>>) -> Result<(StatusCode, Bytes), HttpError> {
    let address = SocketAddr::new(IpAddr::V4(target.address), target.port);
    let stream = loop {
        match target.door.connect(address).await {
            Ok(stream) => break stream,
            Err(error) if error.is_closed() => return Err(HttpError::Unreachable(error.to_string())),
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
    };
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(HttpError::HungUp)?;
    let connection = Arc::new(tokio::spawn(connection));
    let answer = sender.send_request(request).await.map_err(HttpError::NoAnswer)?;
    let status = answer.status();
    let body = Limited::new(answer.into_body(), MOST_BYTES).collect().await;
    connection.abort();
    let body = body.map_err(HttpError::Body)?;
    Ok((status, body.to_bytes()))
}

/// Returns the value at a dotted path of a JSON answer.
fn output(text: &str, path: &str) -> Result<String, HttpError> {
    let answer = bounded_json::parse(text.as_bytes(), MOST_VALUES).map_err(|_| HttpError::NoJson(text.to_owned()))?;
    let mut found = &answer;
    for step in path.split('.').filter(|step| !step.is_empty()) {
        let next = match found {
            Json::Array(items) => step.parse::<usize>().ok().and_then(|index| items.get(index)),
            other => other.get(step),
        };
        found = next.ok_or_else(|| HttpError::NoOutput { path: path.to_owned(), text: text.to_owned() })?;
    }
    Ok(found.as_str().map_or_else(|| found.to_string(), ToOwned::to_owned))
}

#[cfg(test)]
mod tests {
    use super::output;

    #[test]
    fn the_output_is_found_at_its_path() {
        let answer = r#"{"choices": [{"message": {"content": "hello"}}], "n": 1}"#;
        assert_eq!(output(answer, "choices.0.message.content").expect("an output"), "hello");
        assert_eq!(output(answer, "n").expect("an output"), "1");
        assert!(output(answer, "choices.1").is_err_and(|error| error.to_string().contains("has no `choices.1`")));
        assert!(output("no", "n").is_err());
    }
}
