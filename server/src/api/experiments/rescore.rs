//! `POST /v1/experiments/{id}/rescore`.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use store::{Judged, SpecContent, Version};
use utoipa::ToSchema;

use super::{find, require_run};
use crate::app::App;
use crate::auth::Submitter;
use crate::error::{ApiError, ErrorBody};
use crate::extract::{At, JsonBody};
use crate::submission::{ReadSpec, bundle_of, read_spec};

/// Timeout of judging: clients wait for 30 s.
const PATIENCE: Duration = Duration::from_secs(25);
/// The most scenarios with a changed status that are named.
const MOST_NAMED: usize = 1000;

/// By what it is judged again.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default)]
pub(crate) struct RescoreBody {
    /// The text of a changed spec with the same id; the spec of the run without it. The files beside it stay.
    spec: Option<String>,
    /// Which run is judged again; the newest one without it.
    #[schema(minimum = 1)]
    run: Option<u32>,
    /// Only say what would come of it; keep nothing.
    dry_run: Option<bool>,
}

/// The result of rescoring.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RescoredBody {
    /// The experiment.
    id: String,
    /// The same.
    experiment_id: String,
    /// The new run; 0 when nothing was kept.
    run: u32,
    /// The run whose evidence was judged again.
    rescored_of: u32,
    /// The new verdict of the experiment.
    #[schema(example = "pass")]
    verdict: String,
    /// The number of scenarios.
    total_scenarios: usize,
    /// The number that passes.
    passed: usize,
    /// The number that fails.
    failed: usize,
    /// The number that fails while a replica of its cell passes.
    flaky: usize,
    /// The number that cannot be judged.
    errors: usize,
    /// Scenarios whose status changed.
    changed: Vec<ChangedStatus>,
}

/// A scenario whose status changed.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ChangedStatus {
    /// The scenario.
    scenario_id: String,
    /// The old status: `pass`, `fail` or `error`.
    before: String,
    /// The new status.
    after: String,
}

/// Judge the evidence of a run again, without running anything
///
/// The result is saved as a new run of the experiment; the old one stays.
#[utoipa::path(post, path = "/v1/experiments/{id}/rescore", tag = "experiments",
    params(("id" = String, Path, description = "The experiment's id")), request_body = Option<RescoreBody>,
    responses((status = 200, body = RescoredBody), (status = 201, body = RescoredBody), (status = 400, body = ErrorBody),
        (status = 401, body = ErrorBody), (status = 403, body = ErrorBody), (status = 404, body = ErrorBody),
        (status = 409, body = ErrorBody), (status = 413, body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(crate) async fn rescore(
    State(app): State<App>,
    Submitter(caller): Submitter,
    At(id): At<String>,
    JsonBody(body): JsonBody<RescoreBody>,
) -> Result<(StatusCode, Json<RescoredBody>), ApiError> {
    let experiment = find(&app, &caller, &id).await?;
    let run = require_run(&app, &experiment, body.run).await?;
    let given = match body.spec {
        Some(text) => Some(given(&app, &run.digest, text).await?),
        None => None,
    };
    let _room = app.heavy.try_acquire().map_err(|_| ApiError::busy("much is being judged; try again soon"))?;
    let judging = tokio::time::timeout(PATIENCE, app.store.rescore(&run, given.as_ref())).await;
    let judged = judging.map_err(|_| {
        ApiError::busy(
            "judging again takes too long for one request; `touchstone rescore` beside the database has no limit",
        )
    })??;
    if body.dry_run.unwrap_or(false) {
        return Ok((StatusCode::OK, Json(rescored(&judged, run.id, 0))));
    }
    let now = app.clock.now();
    let digest = match &given {
        Some(given) => {
            app.store.keep_spec(&experiment.owner, &experiment.spec.spec_id, &given.content, now).await?.digest
        }
        None => run.digest.clone(),
    };
    let kept = app.store.keep_rescored(run.id, &digest, &judged.now, &judged.report.score, now).await?;
    Ok((StatusCode::CREATED, Json(rescored(&judged, run.id, kept.number))))
}

/// A changed spec, with the files that the run's spec has beside it.
async fn given(app: &App, digest: &str, text: String) -> Result<Version, ApiError> {
    let files = app.store.spec(digest).await?.files;
    let content = SpecContent { text, files };
    let ReadSpec { spec, .. } = read_spec(&content.text, bundle_of(&content).as_ref())?;
    Ok(Version { spec, content })
}

fn rescored(judged: &Judged, of: store::RunId, run: u32) -> RescoredBody {
    let (id, score) = (of.experiment.to_string(), &judged.report.score);
    let changes = judged.before.iter().zip(&judged.now).filter_map(|(before, now)| {
        let (before, after) = (before.as_ref()?.status, now.result.as_ref()?.status);
        let scenario_id = now.scenario.id.to_string();
        (before != after).then(|| ChangedStatus { scenario_id, before: word(&before), after: word(&after) })
    });
    RescoredBody {
        experiment_id: id.clone(),
        id,
        run,
        rescored_of: of.number,
        verdict: word(&score.verdict),
        total_scenarios: score.total,
        passed: score.passed,
        failed: score.failed,
        flaky: score.flaky,
        errors: score.errors,
        changed: changes.take(MOST_NAMED).collect(),
    }
}

/// The word for a variant: what serde calls it.
fn word(variant: &impl Serialize) -> String {
    let value = serde_json::to_value(variant).unwrap_or_default();
    value.as_str().unwrap_or_default().to_owned()
}
