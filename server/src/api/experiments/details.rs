//! `GET /v1/experiments/{id}/scenarios/{scenario}`: all about one scenario, and its evidence.

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use http::header::{CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};
use scenario::plan::Plan;
use scenario::report::{Report, scenario_value};
use scenario::result::ScenarioResult;
use scenario::score::ScoreOptions;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use store::{Experiment, JobId, Run, RunId, RunKind, StoredAttempt, StoredScenario, header, spec_of};
use utoipa::{IntoParams, ToSchema};

use super::schema::ScenarioResultBody;
use super::{RunQuery, find, require_run};
use crate::app::App;
use crate::auth::{Caller, Reader};
use crate::error::{ApiError, ErrorBody};
use crate::extract::{At, QueryParams};
use crate::results::{ScenarioStatus, is_tolerated};

/// A try of a scenario. A second one happens only when the sandbox, not the agent, failed.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AttemptBody {
    /// Which attempt, from 1.
    number: u32,
    /// Its outcome: `running`, `judged`, `infrastructure`, `provider`, `lost`, `released` or `cancelled`.
    outcome: &'static str,
    /// Why it ended so.
    message: String,
    /// When it began.
    #[schema(format = DateTime)]
    started_at: String,
    /// When it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    ended_at: Option<String>,
    /// The size of its evidence in bytes; 0 when it left none.
    evidence_bytes: u64,
    /// The SHA-256 of its evidence.
    #[serde(skip_serializing_if = "Option::is_none")]
    evidence_digest: Option<String>,
}

/// All about one scenario.
#[derive(Debug, ToSchema)]
#[expect(dead_code, reason = "it describes what is made elsewhere")]
pub(crate) struct ScenarioBody {
    /// Its id.
    scenario_id: String,
    /// The experiment.
    experiment_id: String,
    /// Which run of it.
    run: u32,
    /// Its cell.
    cell: String,
    /// `pass`, `fail`, `flaky` or `error`; `pending` before its end, `not_run` when its run was ended before.
    status: String,
    /// The attempt that was judged; 0 when none was.
    attempt: u32,
    /// All attempts.
    attempts: Vec<AttemptBody>,
    /// Its result, once it has ended.
    result: Option<ScenarioResultBody>,
}

/// Which attempt.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub(crate) struct AttemptQuery {
    /// Which run, from 1; the newest one without it.
    #[param(minimum = 1)]
    run: Option<u32>,
    /// Which attempt, from 1; the one that was judged without it.
    #[param(minimum = 1)]
    attempt: Option<u32>,
}

/// All about one scenario
#[utoipa::path(get, path = "/v1/experiments/{id}/scenarios/{scenario}", tag = "experiments",
    params(("id" = String, Path, description = "The experiment's id"),
        ("scenario" = String, Path, description = "The scenario's id"), RunQuery),
    responses((status = 200, body = ScenarioBody), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 403, body = ErrorBody), (status = 404, body = ErrorBody), (status = 409, body = ErrorBody)))]
pub(crate) async fn scenario(
    State(app): State<App>,
    Reader(caller): Reader,
    At((id, scenario)): At<(String, String)>,
    QueryParams(query): QueryParams<RunQuery>,
) -> Result<Json<Value>, ApiError> {
    let found = FoundScenario::find(&app, &caller, &id, &scenario, query.run).await?;
    let FoundScenario { experiment, run, stored, attempts, .. } = &found;
    let standing = app.standings.of(&app, experiment, run).await?;
    let score = Some(&standing.thing.score);
    let status = ScenarioStatus::of(stored, run, score);
    let mut body = json!({
        "scenario_id": stored.scenario.id,
        "experiment_id": experiment.id,
        "run": run.id.number,
        "cell": stored.scenario.cell,
        "status": status,
        "attempt": stored.source.map_or(0, |(_, attempt)| attempt),
        "attempts": attempts.iter().map(attempt).collect::<Vec<_>>(),
    });
    if let Some(result) = &stored.result {
        let mut result = result.clone();
        app.shows.outputs().of(&app, stored).await?.put_into(&mut result);
        body["result"] = alone(&app, experiment, run, result).await?;
        body["result"]["status"] = status.word().into();
        body["result"]["tolerated"] = is_tolerated(stored, score).into();
    }
    Ok(Json(body))
}

/// Shows the result of a scenario, without the others of its run.
async fn alone(app: &App, experiment: &Experiment, run: &Run, result: ScenarioResult) -> Result<Value, ApiError> {
    let report = report_alone(app, experiment, run, result).await?;
    Ok(report.rows.first().map(|row| scenario_value(&report, row)).unwrap_or_default())
}

/// The report of a run that has one scenario only.
pub(crate) async fn report_alone(
    app: &App,
    experiment: &Experiment,
    run: &Run,
    result: ScenarioResult,
) -> Result<Report, ApiError> {
    let spec = spec_of(&app.store, run).await?;
    let scenarios = vec![result.scenario.clone()];
    let plan = Plan { spec_id: experiment.spec.spec_id.clone(), seed: experiment.seed, scenarios };
    Ok(Report::new(header(experiment, run), &spec, &plan, vec![result], ScoreOptions::default()))
}

/// The evidence of one scenario
///
/// The evidence from which its verdicts come, byte for byte as it was written.
#[utoipa::path(get, path = "/v1/experiments/{id}/scenarios/{scenario}/evidence", tag = "experiments",
    params(("id" = String, Path, description = "The experiment's id"),
        ("scenario" = String, Path, description = "The scenario's id"), AttemptQuery),
    responses((status = 200, body = Object), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 403, body = ErrorBody), (status = 404, body = ErrorBody), (status = 409, body = ErrorBody),
        (status = 410, body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(crate) async fn evidence(
    State(app): State<App>,
    Reader(caller): Reader,
    At((id, scenario)): At<(String, String)>,
    QueryParams(query): QueryParams<AttemptQuery>,
) -> Result<Response, ApiError> {
    let found = FoundScenario::find(&app, &caller, &id, &scenario, query.run).await?;
    let (job, attempt) = found.attempt(query.attempt)?;
    let _room = app.heavy.acquire().await.map_err(|_| ApiError::busy("the server is ending"))?;
    let text = app.store.evidence_text(job, attempt).await?;
    let text =
        text.ok_or_else(|| ApiError::not_found(format!("attempt {attempt} of the scenario left no evidence")))?;
    let headers = [(CONTENT_TYPE, "application/json"), (X_CONTENT_TYPE_OPTIONS, "nosniff")];
    Ok((headers, Body::from(text)).into_response())
}

/// A scenario that was asked for.
#[derive(Debug)]
pub(crate) struct FoundScenario {
    /// Its experiment.
    pub(crate) experiment: Experiment,
    /// Its run.
    pub(crate) run: Run,
    /// The run in which the agent acted: another one when the run only judged again.
    pub(crate) acted: RunId,
    /// The scenario.
    pub(crate) stored: StoredScenario,
    /// Its attempts, in the order in which they were made.
    pub(crate) attempts: Vec<StoredAttempt>,
}

impl FoundScenario {
    /// The scenario with this id, for who may see it.
    pub(crate) async fn find(
        app: &App,
        caller: &Caller,
        id: &str,
        scenario: &str,
        run: Option<u32>,
    ) -> Result<Self, ApiError> {
        let experiment = find(app, caller, id).await?;
        let run = require_run(app, &experiment, run).await?;
        let missing = || {
            let scenario = scenario::untrusted::line(scenario, 200);
            ApiError::not_found(format!("run {} of the experiment has no scenario `{scenario}`", run.id.number))
        };
        let stored = app.store.scenario(run.id, scenario).await?.ok_or_else(missing)?;
        let acted = acted(app, &run).await?;
        let attempts = app.store.attempts_of(acted, scenario).await?;
        Ok(Self { experiment, run, acted, stored, attempts })
    }

    /// The attempt with this number, or else the one that was judged.
    pub(crate) fn attempt(&self, number: Option<u32>) -> Result<(JobId, u32), ApiError> {
        let judged = || self.stored.source.ok_or_else(|| ApiError::not_found("the scenario has no evidence yet"));
        let Some(number) = number else { return judged() };
        let found = self.attempts.iter().find(|attempt| attempt.number == number);
        let found = found.ok_or_else(|| ApiError::not_found(format!("the scenario has no attempt {number}")))?;
        Ok((found.job, number))
    }
}

/// The run whose evidence was judged.
async fn acted(app: &App, run: &Run) -> Result<RunId, ApiError> {
    let (mut id, mut kind) = (run.id, run.kind);
    while let RunKind::Rescored { of } = kind {
        let earlier = app.store.run(RunId { number: of, ..id }).await?;
        (id, kind) = (earlier.id, earlier.kind);
    }
    Ok(id)
}

fn attempt(attempt: &StoredAttempt) -> AttemptBody {
    AttemptBody {
        number: attempt.number,
        outcome: attempt.outcome.word(),
        message: attempt.message.clone().unwrap_or_default(),
        started_at: attempt.started_at.to_string(),
        ended_at: attempt.ended_at.map(|at| at.to_string()),
        evidence_bytes: attempt.size.unwrap_or(0),
        evidence_digest: attempt.digest.clone(),
    }
}
