//! `DELETE /v1/experiments/{id}`.

use axum::extract::State;
use http::StatusCode;
use store::RunState;

use super::{find, find_run};
use crate::app::App;
use crate::auth::Submitter;
use crate::error::{ApiError, ErrorBody};
use crate::extract::At;

/// Remove an experiment with all that came of it
///
/// Not while it is run, and not while it is pinned.
#[utoipa::path(delete, path = "/v1/experiments/{id}", tag = "experiments",
    params(("id" = String, Path, description = "The experiment's id")),
    responses((status = 204), (status = 401, body = ErrorBody), (status = 403, body = ErrorBody),
        (status = 404, body = ErrorBody), (status = 409, body = ErrorBody)))]
pub(crate) async fn remove(
    State(app): State<App>,
    Submitter(caller): Submitter,
    At(id): At<String>,
) -> Result<StatusCode, ApiError> {
    let experiment = find(&app, &caller, &id).await?;
    if experiment.pinned {
        return Err(ApiError::conflict("the experiment is pinned: DELETE its /pin first"));
    }
    let run = find_run(&app, &experiment, None).await?;
    if run.is_some_and(|run| run.state == RunState::Open) || !app.store.remove_experiment(experiment.id).await? {
        return Err(ApiError::conflict("the experiment is being run: POST to its /cancel first"));
    }
    Ok(StatusCode::NO_CONTENT)
}
