//! Scores: rules by which scenarios are scored afterwards, and what they say.
//!
//! A rule is kept (`rules.rs`); somebody asks for a run to be scored by rules (`requests.rs`); a worker does that, and what
//! it writes is read here (`written.rs`).

mod requests;
mod rules;
mod written;

use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;

pub(crate) use written::shown;

/// The routes.
pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(rules::create, rules::list))
        .routes(routes!(rules::one, rules::remove))
        .routes(routes!(requests::request))
        .routes(routes!(written::of_experiment))
        .routes(routes!(written::list))
}
