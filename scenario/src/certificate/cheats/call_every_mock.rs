//! `call-every-mock`: sends one request to each route of each mock.

use serde_json::Value as Json;

use super::{CheatProgram, CheatRequest};
use crate::spec::Spec;
use crate::spec::sections::{HttpMock, Route, Service};
use crate::spec::types::{HeaderName, Table};

/// How many requests are sent.
const MOST_REQUESTS: usize = 200;
/// What stands for a value that nobody told.
const VALUE: &str = "1";

/// True for a spec with something to call.
pub(super) fn has_routes(spec: &Spec) -> bool {
    mocks(spec).any(|(_, mock)| !mock.routes.is_empty())
}

pub(super) fn program(spec: &Spec) -> CheatProgram {
    let requests = mocks(spec).flat_map(|(service, mock)| {
        let port = service.ports().first().copied().unwrap_or(80);
        mock.routes.iter().map(move |route| request(service, port, route))
    });
    CheatProgram { lines: Vec::new(), requests: requests.take(MOST_REQUESTS).collect() }
}

fn mocks(spec: &Spec) -> impl Iterator<Item = (&Service, &HttpMock)> {
    spec.services.iter().filter_map(|service| Some((service, service.mock()?)))
}

/// A request that the route takes.
fn request(service: &Service, port: i64, route: &Route) -> CheatRequest {
    let method = route.method.as_ref().map_or_else(|| "GET".to_owned(), ToString::to_string);
    let body = body(route, &method);
    let mut headers = fields(&route.headers);
    let has_type = headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type"));
    if !body.is_empty() && !has_type {
        headers.push(("Content-Type".to_owned(), "application/json".to_owned()));
    }
    CheatRequest { service: service.name().to_string(), port, method, path: path(route), headers, body }
}

/// The path with a value for each parameter, and the query that the route asks for.
fn path(route: &Route) -> String {
    let step = |step: &str| match step {
        _ if step.starts_with('{') => VALUE.to_owned(),
        _ => step.trim_end_matches('*').to_owned(),
    };
    let path = route.path.source().split('/').map(step).collect::<Vec<_>>().join("/");
    let query: Vec<_> =
        fields(&route.query).into_iter().map(|(name, value)| format!("{name}={}", encoded(&value))).collect();
    if query.is_empty() { path } else { format!("{path}?{}", query.join("&")) }
}

/// The bytes of a value as a query has them.
fn encoded(value: &str) -> String {
    let byte = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    value.bytes().map(byte).collect()
}

/// What a route asks of headers or of the query, with a value where any would do.
fn fields(table: &Table<HeaderName, Json>) -> Vec<(String, String)> {
    let value = |value: &Json| value.as_str().unwrap_or(VALUE).to_owned();
    table.iter().map(|(name, asked)| (name.to_string(), value(asked))).collect()
}

fn body(route: &Route, method: &str) -> String {
    let asked = route.body.as_ref();
    let json = asked.and_then(|body| body.json.as_ref()).map(Json::to_string);
    let text = asked.and_then(|body| body.contains.clone());
    let usual = matches!(method, "POST" | "PUT" | "PATCH").then(|| "{}".to_owned());
    json.or(text).or(usual).unwrap_or_default()
}
