//! Takes what agents report.

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use super::event::{self, Origin};
use crate::app::App;
use crate::auth::Submitter;
use crate::error::{ApiError, ErrorBody};
use crate::extract;
use crate::redact::Secrets;

/// The most events that are kept of one request; the rest are counted.
const EVENTS: usize = 5000;

/// The counts of kept and dropped events.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct IngestedBody {
    /// The number of kept events.
    pub(crate) ingested: usize,
    /// The number of dropped events, which were too many or too large.
    pub(crate) dropped: usize,
}

/// Report what an agent does
///
/// `{"events": […]}`. An event may be anything; what Keystone's SDKs send is understood. It belongs to the key's owner.
#[utoipa::path(post, path = "/v1/traces", tag = "traces", request_body(content_type = "application/json", content = Object),
    responses((status = 200, body = IngestedBody), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 403, body = ErrorBody), (status = 413, body = ErrorBody)))]
pub(crate) async fn ingest(
    State(app): State<App>,
    Submitter(caller): Submitter,
    body: Body,
) -> Result<Json<IngestedBody>, ApiError> {
    keep(&app, Origin { owner: &caller.owner, sandbox: None }, body).await.map(Json)
}

/// Keeps the events of a body, as many as there is room for.
pub(crate) async fn keep(app: &App, origin: Origin<'_>, body: Body) -> Result<IngestedBody, ApiError> {
    let bytes = extract::read(body, app.config.body_bytes).await?;
    let events = event::events(if bytes.is_empty() { serde_json::Value::Null } else { extract::json(&bytes)? });
    let (all, now) = (events.len(), app.clock.now());
    let secrets = Secrets::of(app, origin.owner, origin.sandbox).await?;
    let rows = events.into_iter().take(EVENTS).map(|event| secrets.without(event));
    let rows: Vec<_> = rows.filter_map(|event| event::row(event, origin, now)).collect();
    if !rows.is_empty() {
        app.store.add_traces(&rows).await?;
    }
    Ok(IngestedBody { ingested: rows.len(), dropped: all - rows.len() })
}
