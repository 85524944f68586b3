//! `POST /v1/experiments/compare`.

use axum::Json;
use axum::extract::State;
use scenario::score::{Comparison, ExperimentScore};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{find, require_run};
use crate::app::App;
use crate::auth::{Caller, Reader};
use crate::error::{ApiError, ErrorBody};
use crate::extract::JsonBody;

/// Which experiments.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct CompareBody {
    /// What was before.
    baseline_id: String,
    /// What is now.
    candidate_id: String,
}

/// Two experiments side by side.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ComparisonBody {
    /// What was before.
    baseline_id: String,
    /// What is now.
    candidate_id: String,
    /// Every number, side by side.
    metrics: Vec<MetricBody>,
    /// Whether anything got worse by more than it may.
    regressed: bool,
    /// What got worse, a line each.
    regressions: Vec<String>,
    /// All of it in one sentence.
    summary: String,
}

/// A number of both experiments.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct MetricBody {
    /// Which one.
    name: &'static str,
    /// What it was.
    baseline: f64,
    /// What it is.
    candidate: f64,
    /// By how much it changed.
    delta: f64,
    /// `better`, `worse` or `same`.
    #[schema(value_type = String, example = "better")]
    direction: scenario::score::Direction,
}

/// Compare two experiments that have ended
///
/// The newest runs of both. Any drop of a pass rate or score, any new error or violation, a scenario that passed and does
/// not any more, and a fifth more time, tokens or cost are regressions.
#[utoipa::path(post, path = "/v1/experiments/compare", tag = "experiments", request_body = CompareBody,
    responses((status = 200, body = ComparisonBody), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 403, body = ErrorBody), (status = 404, body = ErrorBody), (status = 409, body = ErrorBody),
        (status = 413, body = ErrorBody)))]
pub(crate) async fn compare(
    State(app): State<App>,
    Reader(caller): Reader,
    JsonBody(body): JsonBody<CompareBody>,
) -> Result<Json<ComparisonBody>, ApiError> {
    let baseline = ended(&app, &caller, &body.baseline_id).await?;
    let candidate = ended(&app, &caller, &body.candidate_id).await?;
    let Comparison { metrics, regressed, regressions, summary } = Comparison::of(&baseline, &candidate);
    let metrics = metrics
        .into_iter()
        .map(|metric| MetricBody {
            name: metric.name,
            baseline: metric.baseline,
            candidate: metric.candidate,
            delta: metric.delta,
            direction: metric.direction,
        })
        .collect();
    let CompareBody { baseline_id, candidate_id } = body;
    Ok(Json(ComparisonBody { baseline_id, candidate_id, metrics, regressed, regressions, summary }))
}

/// The numbers of an experiment that has ended.
async fn ended(app: &App, caller: &Caller, id: &str) -> Result<ExperimentScore, ApiError> {
    let experiment = find(app, caller, id).await?;
    let run = require_run(app, &experiment, None).await?;
    run.score.ok_or_else(|| ApiError::conflict(format!("the experiment `{}` has not ended", experiment.id)))
}
