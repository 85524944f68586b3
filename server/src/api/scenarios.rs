//! `GET /v1/scenarios`: scenarios of all experiments.

use std::collections::HashMap;

use axum::Json;
use axum::extract::State;
use scenario::result::RowStatus;
use scenario::score::Status;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use store::{ExperimentId, FoundScenario, Listed, Run, RunId, ScenarioFilter};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;
use crate::auth::Reader;
use crate::error::{ApiError, ErrorBody};
use crate::extract::QueryParams;
use crate::page::{Envelope, PageQuery};
use crate::results::ScenarioStatus;

/// Which scenarios.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub(crate) struct ScenariosQuery {
    /// Of this experiment only.
    experiment_id: Option<String>,
    /// With this id only.
    scenario_id: Option<String>,
    /// With this status only.
    #[param(inline)]
    status: Option<EndedStatus>,
}

/// The status of a scenario that has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum EndedStatus {
    /// It passed.
    Pass,
    /// It failed.
    Fail,
    /// It failed, and another replica of its cell passed.
    Flaky,
    /// It could not be judged.
    Error,
}

/// A scenario of an experiment's newest run.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ScenarioRowBody {
    /// Its id.
    scenario_id: String,
    /// The experiment.
    experiment_id: String,
    /// Which run of it.
    run: u32,
    /// `pass`, `fail`, `flaky` or `error`; `pending` before its end, `not_run` when its run was ended before.
    #[schema(value_type = String)]
    status: ScenarioStatus,
    /// The parameters of its cell.
    #[schema(value_type = Object)]
    parameters: Value,
    /// Which repetition of its cell.
    replica: u32,
    /// The duration.
    wall_ms: u64,
    /// The agent's exit code; -1 when it never started.
    exit_code: i32,
    /// Calls of tools.
    tool_calls: u64,
    /// The combined score, from 0 to 1.
    composite_score: f64,
    /// Its cost.
    cost_usd: f64,
    /// Why it could not be judged; empty when it could.
    error: String,
    /// When it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    ended_at: Option<String>,
    /// Where all about it is.
    url: String,
}

/// The routes.
pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(list))
}

/// Scenarios of every experiment's newest run, newest experiments first
///
/// A page may have fewer than `limit` although there are more: what counts is `next_cursor`.
#[utoipa::path(get, path = "/v1/scenarios", tag = "scenarios", params(ScenariosQuery, PageQuery),
    responses((status = 200, body = Envelope<ScenarioRowBody>), (status = 400, body = ErrorBody),
        (status = 401, body = ErrorBody), (status = 403, body = ErrorBody)))]
pub(crate) async fn list(
    State(app): State<App>,
    Reader(caller): Reader,
    QueryParams(query): QueryParams<ScenariosQuery>,
    QueryParams(page): QueryParams<PageQuery>,
) -> Result<Json<Envelope<ScenarioRowBody>>, ApiError> {
    let wanted = |asked: &Option<String>| asked.clone().filter(|asked| !asked.is_empty());
    let Ok(experiment) = wanted(&query.experiment_id).map(|id| id.parse::<ExperimentId>()).transpose() else {
        // Whatever is no id is the id of nothing.
        let none = Listed { items: Vec::<ScenarioRowBody>::new(), next: None };
        return Ok(Json(Envelope::of(none, |row| row)));
    };
    let scenario = wanted(&query.scenario_id);
    let status = query.status.map(EndedStatus::alone);
    let filter = ScenarioFilter { owner: caller.sees(), experiment, scenario: scenario.as_deref(), status };
    let Listed { items, next } = app.store.find_scenarios(filter, page.page()).await?;
    let runs = runs(&app, &items).await?;
    let rows = items.into_iter().filter_map(|found| {
        let run = runs.get(&found.run)?;
        let row = shown(found, run);
        query.status.is_none_or(|wanted| row.status == ScenarioStatus::Ended(wanted.status())).then_some(row)
    });
    Ok(Json(Envelope::of(Listed { items: rows.collect(), next }, |row| row)))
}

/// The runs of these scenarios, each once.
async fn runs(app: &App, found: &[FoundScenario]) -> Result<HashMap<RunId, Run>, ApiError> {
    let mut runs = HashMap::new();
    for id in found.iter().map(|one| one.run) {
        if let std::collections::hash_map::Entry::Vacant(entry) = runs.entry(id) {
            entry.insert(app.store.run(id).await?);
        }
    }
    Ok(runs)
}

fn shown(found: FoundScenario, run: &Run) -> ScenarioRowBody {
    let FoundScenario { stored, ended_at, .. } = found;
    let status = ScenarioStatus::of(&stored, run, run.score.as_ref());
    let (scenario, result) = (stored.scenario, stored.result);
    let experiment_id = run.id.experiment.to_string();
    let result = result.as_ref();
    ScenarioRowBody {
        url: format!("/v1/experiments/{experiment_id}/scenarios/{}", scenario.id),
        scenario_id: scenario.id.to_string(),
        experiment_id,
        run: run.id.number,
        status,
        parameters: serde_json::to_value(&scenario.parameters).unwrap_or_default(),
        replica: scenario.replica,
        wall_ms: result.map_or(0, |result| result.wall_ms),
        exit_code: result.and_then(|result| result.exit_code).unwrap_or(-1),
        tool_calls: result.map_or(0, |result| result.tool_calls),
        composite_score: result.map_or(0.0, |result| result.composite),
        cost_usd: result.and_then(|result| result.usage.cost()).unwrap_or(0.0),
        error: result.and_then(|result| Some(result.error.as_ref()?.to_string())).unwrap_or_default(),
        ended_at: ended_at.map(|at| at.to_string()),
    }
}

impl EndedStatus {
    /// The status that it has by itself.
    fn alone(self) -> RowStatus {
        match self {
            Self::Pass => RowStatus::Pass,
            Self::Fail | Self::Flaky => RowStatus::Fail,
            Self::Error => RowStatus::Error,
        }
    }

    const fn status(self) -> Status {
        match self {
            Self::Pass => Status::Pass,
            Self::Fail => Status::Fail,
            Self::Flaky => Status::Flaky,
            Self::Error => Status::Error,
        }
    }
}
