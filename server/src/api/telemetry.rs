//! `GET /metrics`: numbers about the server, for Prometheus.

use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use http::header::CONTENT_TYPE;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;
use crate::auth::Reader;
use crate::error::{ApiError, ErrorBody};

/// The content type of `OpenMetrics`.
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The routes.
pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(metrics))
}

/// Numbers about the server, for Prometheus
///
/// A key with the scope `read` is enough: give it to Prometheus as `authorization.credentials`. Only a server that runs
/// with `--no-auth` answers without one.
#[utoipa::path(get, path = "/metrics", tag = "health",
    responses((status = 200, body = String, content_type = "application/openmetrics-text"), (status = 401, body = ErrorBody),
        (status = 403, body = ErrorBody)))]
pub(crate) async fn metrics(State(app): State<App>, Reader(_caller): Reader) -> Result<Response, ApiError> {
    let text = app.telemetry.text(&app).await?;
    Ok(([(CONTENT_TYPE, OPEN_METRICS)], text).into_response())
}
