//! Labels that people give to judged outputs.

mod body;
mod list;
pub(crate) mod write;

use scenario::untrusted;
use store::StoredLabel;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;
use crate::auth::Caller;
use crate::error::ApiError;

/// The routes.
pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(list::list, write::create)).routes(routes!(list::remove))
}

/// The label with this id, for who may see its experiment.
async fn find(app: &App, caller: &Caller, id: &str) -> Result<StoredLabel, ApiError> {
    let missing = || ApiError::not_found(format!("there is no label `{}`", untrusted::line(id, 100)));
    let label = app.store.label(id).await?.ok_or_else(missing)?;
    caller.owns(&label.owner, "this label")?;
    Ok(label)
}
