//! Calls that tool contracts hold: who waits for a person, and the decisions.

mod body;
pub(crate) mod decide;
mod list;
mod stream;

use scenario::untrusted;
use store::Approval;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;
use crate::auth::Caller;
use crate::error::ApiError;

pub use body::ApprovalBody;

/// The routes.
pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(list::list))
        .routes(routes!(stream::stream))
        .routes(routes!(list::one))
        .routes(routes!(decide::decide))
}

/// The approval with this id, for who may see it.
pub(crate) async fn find(app: &App, caller: &Caller, id: &str) -> Result<Approval, ApiError> {
    let missing = || ApiError::not_found(format!("there is no approval `{}`", untrusted::line(id, 100)));
    let approval = app.store.approval(id).await?.ok_or_else(missing)?;
    caller.owns(&approval.owner, "this approval")?;
    Ok(approval)
}
