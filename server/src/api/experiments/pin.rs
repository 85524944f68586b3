//! `POST` and `DELETE /v1/experiments/{id}/pin`.

use axum::Json;
use axum::extract::State;
use http::StatusCode;

use super::schema::ExperimentBody;
use super::{find, find_run};
use crate::app::App;
use crate::auth::Submitter;
use crate::error::{ApiError, ErrorBody};
use crate::extract::At;

/// Keep an experiment, however old it gets
#[utoipa::path(post, path = "/v1/experiments/{id}/pin", tag = "experiments",
    params(("id" = String, Path, description = "The experiment's id")),
    responses((status = 200, body = ExperimentBody), (status = 401, body = ErrorBody), (status = 403, body = ErrorBody),
        (status = 404, body = ErrorBody)))]
pub(crate) async fn pin(
    State(app): State<App>,
    Submitter(caller): Submitter,
    At(id): At<String>,
) -> Result<Json<ExperimentBody>, ApiError> {
    let id = find(&app, &caller, &id).await?.id;
    app.store.pin_experiment(id, true).await?;
    let experiment = app.store.experiment(id).await?;
    let run = find_run(&app, &experiment, None).await?;
    Ok(Json(ExperimentBody::of(&experiment, run.as_ref())))
}

/// Let an experiment be removed when it is old
#[utoipa::path(delete, path = "/v1/experiments/{id}/pin", tag = "experiments",
    params(("id" = String, Path, description = "The experiment's id")),
    responses((status = 204), (status = 401, body = ErrorBody), (status = 403, body = ErrorBody),
        (status = 404, body = ErrorBody)))]
pub(crate) async fn unpin(
    State(app): State<App>,
    Submitter(caller): Submitter,
    At(id): At<String>,
) -> Result<StatusCode, ApiError> {
    let id = find(&app, &caller, &id).await?.id;
    app.store.pin_experiment(id, false).await?;
    Ok(StatusCode::NO_CONTENT)
}
