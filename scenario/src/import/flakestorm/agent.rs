//! The agent: a command, or a server in an image.

use serde_json::{Map, Value as Json, json};

use super::fields::Fields;
use super::placeholders::{with_prompt, with_secrets};
use super::{Import, ImportError, ImportOptions};

/// The keys of `agent`.
const KEYS: [&str; 11] = [
    "endpoint",
    "type",
    "method",
    "request_template",
    "response_path",
    "query_params",
    "parse_structured_input",
    "timeout",
    "headers",
    "reset_endpoint",
    "reset_function",
];
/// The time that an agent has in Flakestorm, in milliseconds.
const TIMEOUT: u64 = 30_000;

pub(super) fn agent(file: &Fields<'_>, options: &ImportOptions, import: &mut Import) -> Result<Json, ImportError> {
    let agent = file.section("agent");
    if let Some(agent) = &agent {
        agent.note_unknown(&KEYS, import);
    }
    let timeout = agent.as_ref().and_then(|agent| agent.get("timeout")?.as_u64()).unwrap_or(TIMEOUT);
    let timeout = format!("{timeout}ms");
    match (&options.agent_command, &options.agent_image, &agent) {
        (Some(command), _, agent) => {
            if let Some(agent) = agent {
                note_replaced(agent, import);
            }
            Ok(json!({ "type": "cli", "command": command, "timeout": timeout }))
        }
        (None, _, None) => Err(ImportError::NoAgent),
        (None, Some(image), Some(agent)) => {
            let mut server = server(agent, image, import)?;
            server.insert("timeout".to_owned(), json!(timeout));
            Ok(Json::Object(server))
        }
        (None, None, Some(agent)) => Err(without_start(agent)),
    }
}

/// The reason why an agent cannot be started.
fn without_start(agent: &Fields<'_>) -> ImportError {
    let endpoint = agent.text("endpoint").unwrap_or_default().to_owned();
    match agent.text("type") {
        Some(kind @ ("python" | "langchain")) => ImportError::Callable { kind: kind.to_owned(), endpoint },
        _ => ImportError::Endpoint { endpoint },
    }
}

/// A command stands for the whole agent.
fn note_replaced(agent: &Fields<'_>, import: &mut Import) {
    let is_left_out = |key: &&str| !["type", "timeout"].contains(key) && agent.get(key).is_some();
    let keys: Vec<_> = KEYS.iter().copied().filter(is_left_out).collect();
    if !keys.is_empty() {
        import.note("agent", format!("the command stands for {}", keys.join(", ")));
    }
}

/// A server that an image starts.
fn server(agent: &Fields<'_>, image: &str, import: &mut Import) -> Result<Map<String, Json>, ImportError> {
    let (port, path) = agent.text("endpoint").and_then(port_and_path).ok_or(ImportError::NoEndpoint)?;
    let mut server = Map::new();
    let mut put = |key: &str, value: Json| drop(server.insert(key.to_owned(), value));
    put("type", json!("http"));
    put("image", json!(image));
    put("port", json!(port));
    put("path", json!(with_query(&path, agent, import)));
    if let Some(method) = agent.text("method") {
        put("method", json!(method.to_ascii_uppercase()));
    }
    if let Some(headers) = agent.section("headers") {
        let header = |(name, value): (&String, &Json)| {
            let text = value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned);
            (name.clone(), json!(with_secrets(&text, import)))
        };
        put("headers", Json::Object(headers.entries().map(header).collect()));
    }
    if let Some(template) = agent.text("request_template") {
        put("request", request(template, agent, import));
    }
    put("response_path", json!(response_path(agent, import)));
    if let Some(reset) = agent.text("reset_endpoint").and_then(port_and_path) {
        put("reset", json!(reset.1));
    }
    if agent.get("reset_function").is_some() {
        import.note(&agent.place("reset_function"), "left out: every run has a sandbox of its own");
    }
    Ok(server)
}

/// The port and the path of an address.
fn port_and_path(address: &str) -> Option<(u16, String)> {
    let (scheme, rest) = address.split_once("://")?;
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let port = match host.rsplit_once(':') {
        Some((_, port)) => port.parse().ok()?,
        None if scheme == "https" => 443,
        None => 80,
    };
    Some((port, format!("/{path}")))
}

fn with_query(path: &str, agent: &Fields<'_>, import: &mut Import) -> String {
    let Some(query) = agent.section("query_params") else { return with_secrets(path, import) };
    let mut pairs = Vec::new();
    for (name, value) in query.entries() {
        let text = value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned);
        let name: String = form_urlencoded::byte_serialize(name.as_bytes()).collect();
        // A variable is filled in later, and cannot be encoded now.
        let value = match text.contains("${") {
            true => with_secrets(&text, import),
            false => form_urlencoded::byte_serialize(text.as_bytes()).collect(),
        };
        pairs.push(format!("{name}={value}"));
    }
    format!("{}?{}", with_secrets(path, import), pairs.join("&"))
}

/// The body of the request: JSON where it is some, so that the prompt is quoted as it must be.
fn request(template: &str, agent: &Fields<'_>, import: &mut Import) -> Json {
    let mut request: Json = serde_json::from_str(template).unwrap_or_else(|_| json!(template));
    fill(&mut request);
    let written = request.to_string();
    let others = written.replace("{{ task.prompt }}", "");
    if others.contains('{') && others.contains("}\"") && agent.get("parse_structured_input") != Some(&json!(false)) {
        let place = agent.place("request_template");
        import.note(&place, "fields other than `{prompt}` are not taken out of prompts: write them into the request");
    }
    request
}

fn fill(value: &mut Json) {
    match value {
        Json::String(text) => *text = with_prompt(text),
        Json::Array(items) => items.iter_mut().for_each(fill),
        Json::Object(fields) => fields.values_mut().for_each(fill),
        _ => {}
    }
}

/// The place of the output, as dotted keys.
fn response_path(agent: &Fields<'_>, import: &mut Import) -> String {
    let Some(path) = agent.text("response_path") else {
        import.note(&agent.place("response_path"), "new: `output`, since Flakestorm looks for it by itself");
        return "output".to_owned();
    };
    let dotted = path.trim_start_matches('$').replace('[', ".").replace(']', "");
    dotted.trim_matches('.').replace(['\'', '"'], "")
}
