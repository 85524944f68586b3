//! Answers requests.

use std::sync::{Mutex, MutexGuard, PoisonError};

use http::header::AUTHORIZATION;
use http::request::Parts;
use http::{HeaderMap, Method, StatusCode};
use scenario::trace::metrics;
use serde_json::{Map, Value as Json, json};

use super::answer::Answer;
use super::limits::ApiLimits;
use super::path::{Target, target};
use super::trace_log::TraceLog;
use super::{ApiSettings, BASE_URL};
use crate::bounded_json::{self, Unreadable};
use crate::memory_budget::Room;

/// Answers the requests of one sandbox.
pub(super) struct Requests {
    pub(super) settings: ApiSettings,
    pub(super) limits: ApiLimits,
    /// Memory for bodies and answers under way.
    pub(super) room: Room,
    log: Mutex<TraceLog>,
}

impl Requests {
    pub(super) fn new(settings: ApiSettings, limits: ApiLimits) -> Self {
        let log = Mutex::new(TraceLog::new(&limits));
        Self { settings, limits, room: Room::new(limits.under_way_bytes), log }
    }

    /// Returns the agent's reports, without secrets.
    pub(super) fn reported(&self) -> Vec<Json> {
        self.log().redacted(&self.settings.redactor)
    }

    /// Returns the number of events that are not kept.
    pub(super) fn uncounted(&self) -> u64 {
        self.log().counted()
    }

    /// Ends the record.
    pub(super) fn close(&self) {
        self.log().close();
    }

    /// Answers a request that came whole.
    pub(super) fn answer(&self, parts: &Parts, body: &[u8]) -> Answer {
        let about = target(parts.uri.path());
        let own = self.settings.sandbox_id.as_str();
        match about {
            Target::Health => Answer::json(&json!({"status": "ok"})),
            _ if !self.is_authorized(&parts.headers) => unauthorized(),
            Target::ServersOnly if let Some(answer) = self.answer_workflow(parts, body) => answer,
            Target::Sandbox(id) | Target::Trace(id) | Target::Part(id, _) if id != own => another(),
            _ => self.answer_own(about, &parts.method, body),
        }
    }

    /// Answers a caller with the sandbox's token.
    fn answer_own(&self, about: Target<'_>, method: &Method, body: &[u8]) -> Answer {
        let reads = matches!(*method, Method::GET | Method::HEAD);
        match about {
            Target::Sandboxes if reads => Answer::json(&json!([self.sandbox()])),
            Target::Sandbox(_) if reads => Answer::json(&self.sandbox()),
            Target::Trace(_) if reads => self.trace(),
            Target::Trace(_) | Target::Traces if *method == Method::POST => self.ingest(body),
            Target::Sandbox(_) if *method == Method::DELETE => not_the_agents(),
            Target::Part(_, part) => by_hand(part),
            Target::Sandboxes | Target::Traces | Target::ServersOnly => servers_only(),
            Target::Unknown => Answer::refusal(
                StatusCode::NOT_FOUND,
                "not_found",
                "there is nothing here; the API begins with /v1, and this sandbox is at /v1/sandboxes/$TOUCHSTONE_SANDBOX_ID",
            ),
            Target::Health | Target::Sandbox(_) | Target::Trace(_) => Answer::refusal(
                StatusCode::METHOD_NOT_ALLOWED,
                "method_not_allowed",
                "this method is not possible here",
            ),
        }
    }

    /// The sandbox as Keystone's SDKs know it. Metadata are texts, because one of them insists on it.
    fn sandbox(&self) -> Json {
        let settings = &self.settings;
        let services = settings
            .services
            .iter()
            .map(|service| (service.name.clone(), json!({"host": service.host, "port": service.port, "ready": true})));
        json!({
            "id": settings.sandbox_id,
            "spec_id": settings.spec_id,
            "state": "running",
            "status": "running",
            "path": settings.workspace,
            "url": format!("{BASE_URL}/v1/sandboxes/{}", settings.sandbox_id),
            "created_at": settings.started_at.to_string(),
            "metadata": {"scenario_id": settings.scenario_id},
            "services": Json::Object(services.collect()),
        })
    }

    /// Answers with the agent's reports and the metrics that follow from them.
    fn trace(&self) -> Answer {
        let log = self.log();
        let mut share = self.room.share();
        let size = log.size();
        if !share.grow(size) {
            return no_room();
        }
        let text = json!({"events": log.events(), "metrics": metrics(log.events())}).to_string();
        drop(log);
        let more = text.len().saturating_sub(size);
        if share.grow(more) { Answer::held(text, share) } else { no_room() }
    }

    /// Takes events. What is no list of events is taken for one event, because reporting must not hurt who reports.
    fn ingest(&self, body: &[u8]) -> Answer {
        let value = match bounded_json::parse(body, self.limits.body_values) {
            Ok(value) => value,
            Err(Unreadable::NoJson(error)) => return no_json(&error),
            Err(Unreadable::TooMany) => return too_many(self.limits.body_values),
        };
        let at = self.settings.clock.elapsed_ms();
        let events = events(value);
        let mut log = self.log();
        let ingested = events.into_iter().map(|event| log.record(event, at, &self.settings.redactor));
        let ingested = ingested.filter(|taken| *taken).count();
        Answer::json(&json!({"ingested": ingested}))
    }

    /// Returns true if the request has the sandbox's token, in one of the two headers that Keystone's clients use.
    fn is_authorized(&self, headers: &HeaderMap) -> bool {
        let own = self.settings.token.as_str();
        presented(headers).any(|token| token == own) || self.is_of_session(headers)
    }

    fn log(&self) -> MutexGuard<'_, TraceLog> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The tokens of a request.
pub(super) fn presented(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let of = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let bearer = of(AUTHORIZATION.as_str()).and_then(|value| {
        let (scheme, token) = value.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
    });
    bearer.into_iter().chain(of("x-api-key"))
}

/// The events in a body.
fn events(body: Json) -> Vec<Json> {
    match body {
        Json::Null => Vec::new(),
        Json::Array(events) => events,
        Json::Object(mut fields) => match fields.shift_remove("events") {
            Some(Json::Array(events)) => events,
            Some(Json::Null) => Vec::new(),
            Some(event) => vec![event],
            None if fields.is_empty() => Vec::new(),
            None => vec![Json::Object(Map::from_iter(fields))],
        },
        event => vec![event],
    }
}

fn unauthorized() -> Answer {
    Answer::refusal(
        StatusCode::UNAUTHORIZED,
        "unauthorized",
        "the token of this sandbox is missing or wrong; send $KEYSTONE_API_KEY as `Authorization: Bearer`",
    )
}

fn another() -> Answer {
    Answer::refusal(
        StatusCode::FORBIDDEN,
        "forbidden",
        "an agent sees its own sandbox only; its id is in $KEYSTONE_SANDBOX_ID",
    )
}

fn not_the_agents() -> Answer {
    Answer::refusal(
        StatusCode::FORBIDDEN,
        "forbidden",
        "an agent cannot destroy its own sandbox; it is removed when the agent has ended",
    )
}

/// A part of the sandbox that the agent has in its hands anyway.
fn by_hand(part: &str) -> Answer {
    let message = match part {
        "files" => "files are not served inside the sandbox; read and write them directly, the workspace is /workspace",
        "commands" => "commands are not run for an agent inside the sandbox; start a process directly",
        "state" | "diff" => "the state of the sandbox is looked at after the agent has ended, not from inside",
        _ => "this part of the API is not served inside a sandbox",
    };
    Answer::refusal(StatusCode::NOT_IMPLEMENTED, "not_implemented", message)
}

fn servers_only() -> Answer {
    Answer::refusal(
        StatusCode::NOT_IMPLEMENTED,
        "not_implemented",
        "this part of the API is not served inside a sandbox; an agent has its own sandbox and its traces here",
    )
}

pub(super) fn no_json(error: &serde_json::Error) -> Answer {
    Answer::refusal(StatusCode::BAD_REQUEST, "bad_request", &format!("the body is no JSON: {error}"))
}

pub(super) fn too_many(most: usize) -> Answer {
    let message = format!("the body has more than {most} values; send fewer events at once");
    Answer::refusal(StatusCode::PAYLOAD_TOO_LARGE, "too_large", &message)
}

/// The answer to a request that finds no memory, because too many large ones are under way.
pub(super) fn no_room() -> Answer {
    Answer::refusal(
        StatusCode::SERVICE_UNAVAILABLE,
        "busy",
        "too many large requests are under way at once; try again when one has ended",
    )
}
