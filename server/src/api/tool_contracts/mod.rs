//! Tool contracts without a sandbox: compiled, applied to recorded calls, and sessions of agents that run somewhere else.
//!
//! A session is kept as its requests, sealed. It is folded from them whenever it is not in memory, and its chain of hashes must end
//! at the hash that was kept, so that a restart loses nothing and changes no decision. Its own token, `ks_sb_…`, is good for it
//! and for nothing else: who has it may ask and tell, and neither decide on held calls nor loosen a filter.

mod body;
mod compile;
mod evaluate;
mod open;
mod operate;
mod standing;
mod tell;

pub(crate) use standing::Standing;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;

/// The routes.
pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(compile::compile))
        .routes(routes!(evaluate::evaluate))
        .routes(routes!(open::open, open::list))
        .routes(routes!(open::remove))
        .routes(routes!(open::state))
        .routes(routes!(open::decisions))
        .routes(routes!(tell::model_request))
        .routes(routes!(tell::step))
        .routes(routes!(tell::step_again))
        .routes(routes!(tell::execution))
        .routes(routes!(tell::completion))
        .routes(routes!(operate::label))
        .routes(routes!(operate::filter))
        .routes(routes!(operate::decide))
        .routes(routes!(operate::kill))
        .routes(routes!(operate::close))
}
