//! `POST /v1/experiments/{id}/cancel`.

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use scenario::result::ScenarioResult;
use serde::Deserialize;
use store::{Experiment, Kept, Numbers, Run, RunState};
use utoipa::ToSchema;

use super::schema::ExperimentBody;
use super::{find, require_run};
use crate::app::App;
use crate::auth::Submitter;
use crate::error::{ApiError, ErrorBody};
use crate::extract::{At, JsonBody};

/// The length limit of a reason in characters.
const MOST_REASON: usize = 500;

/// Why it is ended.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default)]
pub(crate) struct CancelBody {
    /// For people.
    #[schema(max_length = 500)]
    reason: Option<String>,
}

/// End an experiment's run early
///
/// Scenarios that wait are not run. Those that are being run are stopped soon: until then the status is `running`.
#[utoipa::path(post, path = "/v1/experiments/{id}/cancel", tag = "experiments",
    params(("id" = String, Path, description = "The experiment's id")), request_body = Option<CancelBody>,
    responses((status = 202, body = ExperimentBody), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 403, body = ErrorBody), (status = 404, body = ErrorBody), (status = 409, body = ErrorBody),
        (status = 413, body = ErrorBody)))]
pub(crate) async fn cancel(
    State(app): State<App>,
    Submitter(caller): Submitter,
    At(id): At<String>,
    JsonBody(body): JsonBody<CancelBody>,
) -> Result<(StatusCode, Json<ExperimentBody>), ApiError> {
    let experiment = find(&app, &caller, &id).await?;
    let run = end_early(&app, &experiment, body.reason.as_deref().unwrap_or_default()).await?;
    Ok((StatusCode::ACCEPTED, Json(ExperimentBody::of(&experiment, Some(&run)))))
}

/// Ends the newest run of an experiment; the run as it is then.
pub(crate) async fn end_early(app: &App, experiment: &Experiment, reason: &str) -> Result<Run, ApiError> {
    let run = require_run(app, experiment, None).await?;
    let ended = || ApiError::conflict(format!("run {} of the experiment has ended", run.id.number));
    if run.state != RunState::Open {
        return Err(ended());
    }
    let reason =
        if reason.trim().is_empty() { "cancelled".to_owned() } else { scenario::untrusted::cut(reason, MOST_REASON) };
    let numbers = Numbers::of(&app.store, run.id).await?;
    let summarise = |results: &[ScenarioResult]| numbers.score(results);
    if app.store.cancel(run.id, &reason, app.clock.now(), &summarise).await? == Kept::Stale {
        return Err(ended());
    }
    Ok(app.store.run(run.id).await?)
}
