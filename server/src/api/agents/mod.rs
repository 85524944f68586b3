//! Agents: snapshots of them, uploaded once and run by name.
//!
//! A snapshot is an archive and how to start what is in it. Uploading the same name again makes its next version; a tag
//! names the newest version that has it.

mod archive;
mod body;
mod read;
mod upload;

use axum::extract::DefaultBodyLimit;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;

/// The routes.
pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(upload::upload, read::list))
        // The upload has a limit of its own.
        .layer(DefaultBodyLimit::disable())
        .routes(routes!(read::latest))
        .routes(routes!(read::versions))
        .routes(routes!(read::version))
        .routes(routes!(read::tag))
        .routes(routes!(read::one, read::remove))
}
