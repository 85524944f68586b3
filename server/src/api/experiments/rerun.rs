//! `POST /v1/experiments/{id}/rerun`.

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use scenario::plan::Scenario;
use scenario::score::Status;
use scenario::untrusted;
use serde::Deserialize;
use store::{Experiment, ExperimentId, NewExperiment, Run, RunId, RunState, spec_of};
use utoipa::ToSchema;

use super::schema::RunBody;
use super::{find, require_run};
use crate::app::App;
use crate::auth::Submitter;
use crate::error::{ApiError, ErrorBody};
use crate::extract::{At, JsonBody};
use crate::submission::{given_of, new_run, require_secrets, seal_given};

/// The scenarios to repeat.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default)]
pub(crate) struct RerunBody {
    /// Only scenarios that did not pass.
    pub(crate) failed_only: Option<bool>,
    /// Only the scenario with this id.
    #[schema(max_length = 200)]
    pub(crate) scenario_id: Option<String>,
    /// Which run is repeated; the newest one without it.
    #[schema(minimum = 1)]
    pub(crate) run: Option<u32>,
    /// The name of the new experiment.
    #[schema(max_length = 200)]
    pub(crate) name: Option<String>,
}

/// Run scenarios of an experiment once more
///
/// It becomes an experiment of its own, with the same spec, seed, parameters, secrets and uploaded agents, so that no pass
/// rate is made of chosen scenarios. Its id is in the reply.
#[utoipa::path(post, path = "/v1/experiments/{id}/rerun", tag = "experiments",
    params(("id" = String, Path, description = "The experiment's id")), request_body = Option<RerunBody>,
    responses((status = 202, body = RunBody), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 403, body = ErrorBody), (status = 404, body = ErrorBody), (status = 409, body = ErrorBody),
        (status = 413, body = ErrorBody)))]
pub(crate) async fn rerun(
    State(app): State<App>,
    Submitter(caller): Submitter,
    At(id): At<String>,
    JsonBody(body): JsonBody<RerunBody>,
) -> Result<(StatusCode, Json<RunBody>), ApiError> {
    let old = find(&app, &caller, &id).await?;
    let (begun, total) = run_again(&app, old, body).await?;
    Ok((StatusCode::ACCEPTED, Json(RunBody::of(begun, total))))
}

/// Begins an experiment that repeats another; its run, and how many scenarios that has.
pub(crate) async fn run_again(app: &App, old: Experiment, body: RerunBody) -> Result<(RunId, u64), ApiError> {
    let run = require_run(app, &old, body.run).await?;
    if run.state == RunState::Open {
        return Err(ApiError::conflict(format!("run {} of the experiment has not ended", run.id.number)));
    }
    let spec = spec_of(&app.store, &run).await?;
    let scenarios = chosen(app, &run, &body).await?;
    let given = given_of(app, old.id).await?;
    require_secrets(app, &old.owner, &spec, &given).await?;
    let id = ExperimentId(app.ids.id());
    let options = crate::submission::Options { name: body.name, ..Default::default() };
    let name = options.name(&old.name)?;
    let experiment = NewExperiment::repeating(id, old, &run, run.id.to_string())
        .named(name)
        .with_secrets(seal_given(app, id, &spec, &given)?);
    let new = new_run(app, &experiment.owner, &spec, &experiment.settings, scenarios).await?;
    let begun = app.store.submit(&experiment, &new, app.clock.now()).await?;
    Ok((begun, new.jobs.len() as u64))
}

/// All scenarios of a run, those that did not pass, or one.
async fn chosen(app: &App, run: &Run, body: &RerunBody) -> Result<Vec<Scenario>, ApiError> {
    let failed_only = body.failed_only.unwrap_or(false);
    let passed = |scenario: &Scenario| {
        let status = run.score.as_ref().and_then(|score| score.statuses.get(&scenario.id));
        status == Some(&Status::Pass)
    };
    let all = app.store.scenarios(run.id).await?.into_iter().map(|stored| stored.scenario);
    if let Some(wanted) = &body.scenario_id {
        let mut all = all;
        let one = all.find(|scenario| scenario.id.as_str() == wanted);
        let missing = || ApiError::not_found(format!("the run has no scenario `{}`", untrusted::line(wanted, 200)));
        return Ok(vec![one.ok_or_else(missing)?]);
    }
    let chosen: Vec<_> = all.filter(|scenario| !failed_only || !passed(scenario)).collect();
    if chosen.is_empty() {
        return Err(ApiError::conflict("every scenario passed: there is none to run again"));
    }
    Ok(chosen)
}
