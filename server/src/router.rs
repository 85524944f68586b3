//! Every route, and what stands before it.

use axum::Router;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use tower_http::catch_panic::CatchPanicLayer;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use utoipa_swagger_ui::{Config, SwaggerUi};

use crate::api::{
    agents, alerts, approvals, baselines, capacity, datasets, experiments, flaky, health, keys, runs, sandboxes,
    scenarios, scores, secrets, specs, telemetry, traces, unsupported,
};
use crate::app::App;
use crate::auth::authenticate;
use crate::error::ApiError;
use crate::openapi;
use crate::telemetry::count;
use crate::timeout::in_time;
use crate::web;

/// The routes that need a key.
pub(crate) fn keyed() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .merge(specs::routes())
        .merge(flaky::routes())
        .merge(experiments::routes())
        .merge(runs::routes())
        .merge(scenarios::routes())
        .merge(secrets::routes())
        .merge(keys::routes())
        .merge(capacity::routes())
        .merge(telemetry::routes())
        .merge(sandboxes::routes())
        .merge(traces::routes())
        .merge(agents::routes())
        .merge(datasets::routes())
        .merge(baselines::routes())
        .merge(alerts::routes())
        .merge(approvals::routes())
        .merge(scores::routes())
}

/// The routes that anybody may ask.
pub(crate) fn open() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(health::health))
        .routes(routes!(health::healthz))
        .routes(routes!(health::readyz))
}

/// All routes.
pub(crate) fn router(app: App) -> Router {
    let (keyed, _) = keyed().split_for_parts();
    let (open, _) = open().split_for_parts();
    let keyed = unsupported::add(keyed).layer(from_fn_with_state(app.clone(), authenticate));
    let document = openapi::document();
    let text = document.to_json().unwrap_or_default();
    let json = move || async move { ([("content-type", "application/json")], text) };
    Router::new()
        .merge(open)
        .merge(keyed)
        .merge(web::routes(&app))
        .route("/openapi.json", get(json))
        .merge(SwaggerUi::new("/docs").config(Config::from("/openapi.json")))
        .fallback(|| async {
            ApiError::not_found("there is nothing here; the API begins with /v1, and /docs describes it")
        })
        .method_not_allowed_fallback(|| async { ApiError::method_not_allowed() })
        .layer(from_fn_with_state(app.clone(), in_time))
        .layer(CatchPanicLayer::custom(panicked))
        .layer(from_fn_with_state(app.clone(), web::refusals_as_pages))
        .layer(from_fn(web::add_security_headers))
        .layer(from_fn_with_state(app.clone(), count))
        .with_state(app)
}

fn panicked(panic: Box<dyn std::any::Any + Send + 'static>) -> Response {
    let words =
        panic.downcast_ref::<&str>().map(ToString::to_string).or_else(|| panic.downcast_ref::<String>().cloned());
    tracing::error!("a handler panicked: {}", words.unwrap_or_default());
    ApiError::internal("the server made a mistake; its log says which").into_response()
}
