//! Requests: read, and looked at.

use std::sync::Arc;
use std::time::Duration;

use http::request::Parts;
use http::{HeaderMap, Method, StatusCode, header};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use scenario::evidence::Dialect;
use serde_json::Value as Json;
use tokio::time::timeout;

use super::limits::{MOST_VALUES, ModelGatewayLimits, NAME_BYTES, TREE_FACTOR};
use super::refusal::Refusal;
use super::route::Route;
use crate::body::IncomingBody;
use crate::bounded_json::{self, Unreadable};
use crate::contract_session::ContractSession;
use crate::memory_budget::Share;

/// A request that is a call.
#[derive(Debug, Clone)]
pub(super) struct ModelRequest {
    pub(super) route: Route,
    /// The body; `null` for a list of models.
    pub(super) body: Json,
    /// The model that is asked for; empty when none is named.
    pub(super) model: String,
    /// True when a stream is asked for.
    pub(super) stream: bool,
    /// Size of the body in bytes.
    pub(super) size: usize,
}

impl ModelRequest {
    /// Reads a request that came whole. `share` takes the memory that its tree may need.
    pub(super) fn new(route: &Route, method: &Method, bytes: &[u8], share: &mut Share) -> Result<Self, Refusal> {
        route.check(method)?;
        let route = route.clone();
        let size = bytes.len();
        if route.dialect == Dialect::Models {
            let model = name(route.looked_up.as_deref().unwrap_or_default());
            return Ok(Self { route, body: Json::Null, model, stream: false, size });
        }
        if !share.grow(size.saturating_mul(TREE_FACTOR)) {
            return Err(no_room());
        }
        let body = bounded_json::parse(bytes, MOST_VALUES).map_err(|unreadable| match unreadable {
            Unreadable::NoJson(error) => Refusal::invalid(format!("the request's body is no JSON: {error}")),
            Unreadable::TooMany => Refusal::invalid(format!("the request has more than {MOST_VALUES} values")),
        })?;
        if !body.is_object() {
            return Err(Refusal::invalid("the request's body is no JSON object"));
        }
        let model = name(body["model"].as_str().unwrap_or_default());
        let stream = body["stream"] == true && route.dialect != Dialect::Embeddings;
        Ok(Self { route, body, model, stream, size })
    }

    /// Refuses a request that lacks a field that every provider requires.
    pub(super) fn check(&self) -> Result<(), Refusal> {
        if self.route.dialect == Dialect::Models {
            return Ok(());
        }
        if self.model.is_empty() {
            return Err(Refusal::invalid("you must provide a `model`"));
        }
        let conversation = matches!(self.route.dialect, Dialect::Chat | Dialect::Messages);
        if conversation && !self.body["messages"].is_array() {
            return Err(Refusal::invalid("`messages` must be a list"));
        }
        Ok(())
    }
}

/// The name of a model, as long as a name may be.
fn name(text: &str) -> String {
    text[..text.floor_char_boundary(NAME_BYTES)].to_owned()
}

/// Reads a body to its end.
pub(super) async fn read(body: Incoming, read: &mut IncomingBody, limits: &ModelGatewayLimits) -> Result<(), Refusal> {
    let mut body = body;
    while let Some(frame) = timeout(limits.body_wait, body.frame()).await.map_err(|_| stalled(limits.body_wait))? {
        let incomplete = |_| Refusal::invalid("the body of the request did not come whole");
        let frame = frame.map_err(incomplete)?;
        let Some(part) = frame.data_ref() else { continue };
        if !read.push(part) {
            return Err(no_room());
        }
        if !read.is_whole() {
            let most = limits.request_bytes;
            let message = format!("the request is larger than {most} bytes");
            return Err(Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, "request_too_large", message));
        }
    }
    Ok(())
}

fn stalled(wait: Duration) -> Refusal {
    let message = format!("nothing of the request's body came for {} seconds", wait.as_secs_f64());
    Refusal::passing(StatusCode::REQUEST_TIMEOUT, "request_timeout", message)
}

pub(super) fn no_room() -> Refusal {
    let message = "too many large requests are under way at once";
    Refusal::passing(StatusCode::SERVICE_UNAVAILABLE, "too_many_requests", message)
}

/// Refuses requests without the scenario's own token, or that of a session of its workflow.
pub(super) fn authorize(parts: &Parts, token: &str, contracts: Option<&Arc<ContractSession>>) -> Result<(), Refusal> {
    if presented(&parts.headers).any(|given| given == token) || session_of(parts, contracts).is_some() {
        return Ok(());
    }
    let message = "the request has no key, or not that of this scenario; it is in OPENAI_API_KEY and ANTHROPIC_API_KEY";
    Err(Refusal::new(StatusCode::UNAUTHORIZED, "invalid_api_key", message))
}

/// The session of a workflow whose token a request has.
pub(super) fn session_of(parts: &Parts, contracts: Option<&Arc<ContractSession>>) -> Option<Arc<ContractSession>> {
    let root = contracts.filter(|root| root.has_workflow())?;
    presented(&parts.headers).find_map(|given| root.find(Some(given)).ok())
}

fn presented(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let bearer = headers.get_all(header::AUTHORIZATION).iter().filter_map(|value| {
        let (scheme, token) = value.to_str().ok()?.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
    });
    let keys = headers.get_all("x-api-key").iter();
    bearer.chain(keys.filter_map(|value| value.to_str().ok()))
}
