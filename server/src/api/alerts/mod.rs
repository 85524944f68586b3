//! Alerts: rules that are looked at when a run ends, and what fired.
//!
//! The language of conditions is in [`scenario::alert`]. Rules are evaluated in `background/alerts/`, and messages are sent
//! in `background/deliveries.rs`.

mod firings;
mod rules;

use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;

pub(crate) use rules::{APPROVAL_DECIDED, APPROVAL_REQUESTED};

/// The routes.
pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(rules::create, rules::list))
        .routes(routes!(rules::one, rules::remove))
        .routes(routes!(firings::of_alert))
}
