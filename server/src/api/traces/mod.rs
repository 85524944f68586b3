//! Traces: what agents report of themselves, and what was observed of them.
//!
//! Reporting never hurts who reports: an odd event is kept as it is, one too large loses its long fields, and those too
//! many are counted. Secrets that are kept here, or were given for the sandbox, are taken out. `event.rs` says how an event becomes a row, and `shown.rs` how a row is shown.

mod event;
mod ingest;
mod read;
mod shown;
mod span;

use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;

pub(crate) use event::Origin;
pub(crate) use ingest::{IngestedBody, keep};
pub(crate) use shown::{event as shown_event, row as shown_row};

/// The routes.
pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(ingest::ingest, read::list))
        .routes(routes!(span::tree))
        .routes(routes!(span::list))
}
