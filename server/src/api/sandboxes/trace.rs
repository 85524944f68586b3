//! Traces that agents report in a sandbox.

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use scenario::interactive::{Ask, Reply};
use scenario::trace::metrics;
use serde::Serialize;
use serde_json::Value;
use store::{Sandbox, TraceFilter};
use utoipa::ToSchema;

use super::asking::{forward, is_usable};
use super::owned;
use crate::api::traces::{IngestedBody, Origin, keep, shown_event};
use crate::app::App;
use crate::auth::Caller;
use crate::error::{ApiError, ErrorBody};
use crate::extract::At;

/// The number of events read at once, and the most that are shown.
const EVENTS: (u64, usize) = (200, 5000);

/// Traces that agents reported, with their metrics.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SandboxTraceBody {
    /// The events, as they were sent.
    #[schema(value_type = Vec<Object>)]
    events: Vec<Value>,
    /// Their metrics: `total_tool_calls`, `tool_success_rate`, `mean_duration_ms`, `p95_duration_ms` and, for each tool,
    /// `tool_breakdown`. A call counts once: when it ended, or when the model asked for it.
    #[schema(value_type = Object)]
    metrics: Value,
    /// True when there are more events.
    incomplete: bool,
}

/// Report what an agent does in a sandbox
#[utoipa::path(post, path = "/v1/sandboxes/{id}/trace", tag = "sandboxes",
    request_body(content_type = "application/json", content = Object),
    params(("id" = String, Path, description = "The sandbox's id")),
    responses((status = 200, body = IngestedBody), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 403, body = ErrorBody), (status = 404, body = ErrorBody), (status = 413, body = ErrorBody)))]
pub(crate) async fn ingest(
    State(app): State<App>,
    caller: Caller,
    At(id): At<String>,
    body: Body,
) -> Result<Json<IngestedBody>, ApiError> {
    let sandbox = owned(&app, &caller, &id, true).await?;
    keep(&app, Origin { owner: &sandbox.new.owner, sandbox: Some(&id) }, body).await.map(Json)
}

/// Traces that agents reported in a sandbox
#[utoipa::path(get, path = "/v1/sandboxes/{id}/trace", tag = "sandboxes",
    params(("id" = String, Path, description = "The sandbox's id")),
    responses((status = 200, body = SandboxTraceBody), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 403, body = ErrorBody), (status = 404, body = ErrorBody)))]
pub(crate) async fn read(
    State(app): State<App>,
    caller: Caller,
    At(id): At<String>,
) -> Result<Json<SandboxTraceBody>, ApiError> {
    let sandbox = owned(&app, &caller, &id, false).await?;
    let mut events = reported_inside(&app, &sandbox).await;
    let incomplete = !kept(&app, &id, &mut events).await?;
    let metrics = metrics(&events);
    Ok(Json(SandboxTraceBody { events, metrics, incomplete }))
}

/// Reads what an SDK inside the sandbox reported, as long as the sandbox exists.
async fn reported_inside(app: &App, sandbox: &Sandbox) -> Vec<Value> {
    if !is_usable(app, sandbox) {
        return Vec::new();
    }
    match forward(app, sandbox, Ask::Reported { sandbox: sandbox.new.id.clone() }).await {
        Ok(Reply::Events(events)) => events,
        Ok(_) => Vec::new(),
        Err(error) => {
            tracing::warn!("what was reported inside {} is not known: {}", sandbox.new.id, error.message());
            Vec::new()
        }
    }
}

/// Adds what was reported to the server; whether that is all.
async fn kept(app: &App, id: &str, events: &mut Vec<Value>) -> Result<bool, ApiError> {
    let filter = TraceFilter { sandbox: Some(id), ..TraceFilter::default() };
    let (at_once, most) = EVENTS;
    let mut after = None;
    while events.len() < most {
        let part = app.store.traces(&filter, after, at_once).await?;
        after = part.last().map(|last| last.number);
        let is_last = (part.len() as u64) < at_once;
        events.extend(part.into_iter().map(shown_event));
        if is_last {
            return Ok(true);
        }
    }
    Ok(false)
}
