//! Asking for a run to be scored.

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use store::{RunState, ScoreRule};
use utoipa::ToSchema;

use crate::api::experiments::find;
use crate::api::owned::owned;
use crate::app::App;
use crate::auth::Submitter;
use crate::error::{ApiError, ErrorBody};
use crate::extract::{At, JsonBody};

/// By how many rules a run is scored at once.
const RULES: usize = 50;

/// By which rules a run is to be scored.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct ScoreRequest {
    /// The rules' ids.
    rule_ids: Vec<String>,
}

/// That a request is queued.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct QueuedBody {
    /// `queued`.
    #[schema(example = "queued")]
    status: &'static str,
    /// The experiment.
    experiment_id: String,
    /// Which run of it is scored.
    run: u32,
}

/// Score an experiment's newest run by rules
///
/// A worker does it; read what came of it with GET /v1/experiments/{id}/scores.
#[utoipa::path(post, path = "/v1/experiments/{id}/score", tag = "scores", request_body = ScoreRequest,
    params(("id" = String, Path, description = "The experiment's id")),
    responses((status = 202, body = QueuedBody), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 403, body = ErrorBody), (status = 404, body = ErrorBody), (status = 409, body = ErrorBody),
        (status = 413, body = ErrorBody)))]
pub(crate) async fn request(
    State(app): State<App>,
    Submitter(caller): Submitter,
    At(id): At<String>,
    JsonBody(request): JsonBody<ScoreRequest>,
) -> Result<(StatusCode, Json<QueuedBody>), ApiError> {
    let experiment = find(&app, &caller, &id).await?;
    let mut rule_ids = request.rule_ids;
    rule_ids.sort();
    rule_ids.dedup();
    if rule_ids.is_empty() || rule_ids.len() > RULES {
        return Err(ApiError::invalid(format!("`rule_ids` must name 1 to {RULES} rules")));
    }
    for rule in &rule_ids {
        owned::<ScoreRule>(&app, &caller, rule).await?;
    }
    let run = app.store.newest_run(experiment.id).await?;
    let run = run.ok_or_else(|| ApiError::conflict("this experiment was not run yet"))?;
    if run.state == RunState::Open {
        return Err(ApiError::conflict("this experiment has not ended; score it when it has"));
    }
    app.store.request_scores(run.id, &rule_ids, app.clock.now()).await?;
    let queued = QueuedBody { status: "queued", experiment_id: experiment.id.to_string(), run: run.id.number };
    Ok((StatusCode::ACCEPTED, Json(queued)))
}
