//! Liveness and readiness of the server.

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use store::PROBING;
use utoipa::ToSchema;

use crate::app::App;
use crate::error::{ApiError, ErrorBody};

/// That the server lives.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Health {
    /// `ok`.
    #[schema(example = "ok")]
    status: &'static str,
    /// The server's version.
    version: &'static str,
}

const OK: Health = Health { status: "ok", version: env!("CARGO_PKG_VERSION") };

/// Liveness of the server, for SDKs.
#[utoipa::path(get, path = "/health", tag = "health", responses((status = 200, body = Health)))]
pub(crate) async fn health() -> Json<Health> {
    Json(OK)
}

/// Liveness of the server, for probes.
#[utoipa::path(get, path = "/healthz", tag = "health", responses((status = 200, body = Health)))]
pub(crate) async fn healthz() -> Json<Health> {
    Json(OK)
}

/// Readiness: the database answers, the artifact place can be used, and the server is not shutting down.
#[utoipa::path(get, path = "/readyz", tag = "health",
    responses((status = 200, body = Health), (status = 503, body = ErrorBody)))]
pub(crate) async fn readyz(State(app): State<App>) -> Result<Json<Health>, ApiError> {
    if app.ending.is_cancelled() {
        return Err(ApiError::busy("the server is ending"));
    }
    app.store.setting("ready").await?;
    if app.retries.reason_of(PROBING).is_some() {
        return Err(ApiError::unavailable("the artifact place cannot be used; the server's log says why"));
    }
    Ok(Json(OK))
}
