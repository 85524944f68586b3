//! `POST /v1/experiments/{id}/run`.

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use store::StoreError;

use super::find;
use super::schema::RunBody;
use crate::app::App;
use crate::auth::Submitter;
use crate::error::{ApiError, ErrorBody};
use crate::extract::At;
use crate::submission::{given_of, new_run, next_scenarios, require_secrets};

/// Run an experiment
///
/// Its results begin anew with this: older ones are still there as `?run=N`. An uploaded agent is the version that its spec
/// names at this moment.
#[utoipa::path(post, path = "/v1/experiments/{id}/run", tag = "experiments",
    params(("id" = String, Path, description = "The experiment's id")),
    responses((status = 202, body = RunBody), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 403, body = ErrorBody), (status = 404, body = ErrorBody), (status = 409, body = ErrorBody)))]
pub(crate) async fn run(
    State(app): State<App>,
    Submitter(caller): Submitter,
    At(id): At<String>,
) -> Result<(StatusCode, Json<RunBody>), ApiError> {
    let experiment = find(&app, &caller, &id).await?;
    let content = app.store.spec(&experiment.spec.digest).await?;
    let spec = store::read_spec(&content).map_err(StoreError::from)?;
    let given = given_of(&app, experiment.id).await?;
    require_secrets(&app, &experiment.owner, &spec, &given).await?;
    let scenarios = next_scenarios(&app, &experiment, &spec).await?;
    let run = new_run(&app, &experiment.owner, &spec, &experiment.settings, scenarios).await?;
    let begun = app.store.begin_run(experiment.id, &run, app.clock.now()).await?;
    Ok((StatusCode::ACCEPTED, Json(RunBody::of(begun, run.jobs.len() as u64))))
}
