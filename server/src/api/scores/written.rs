//! Scores of rules.

use axum::Json;
use axum::extract::State;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use store::{ExperimentId, Listed, Page, Score, ScoreFilter};
use utoipa::{IntoParams, ToSchema};

use crate::api::experiments::find;
use crate::app::App;
use crate::auth::Reader;
use crate::error::{ApiError, ErrorBody};
use crate::extract::{At, QueryParams};
use crate::page::{Envelope, PageQuery};
use crate::stream_array;

/// A score that a rule gave to a scenario.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ScoreBody {
    /// Its number.
    id: u64,
    /// The rule.
    rule_id: String,
    /// The trace that it is about; 0 when it is about the scenario as a whole.
    trace_id: u64,
    /// The experiment.
    experiment_id: String,
    /// Which run of it.
    run: u32,
    /// The scenario.
    scenario_id: String,
    /// The score, from 0 to 1.
    score: f64,
    /// True when the score is good enough.
    passed: bool,
    /// Why.
    message: String,
    /// When it was said.
    #[schema(format = DateTime)]
    created_at: String,
}

/// Which scores.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub(crate) struct ScoresQuery {
    /// Of which experiment.
    experiment_id: Option<String>,
    /// Of which rule.
    rule_id: Option<String>,
}

/// Scores of an experiment's newest run
#[utoipa::path(get, path = "/v1/experiments/{id}/scores", tag = "scores",
    params(("id" = String, Path, description = "The experiment's id")),
    responses((status = 200, body = Vec<ScoreBody>), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 403, body = ErrorBody), (status = 404, body = ErrorBody)))]
pub(crate) async fn of_experiment(
    State(app): State<App>,
    Reader(caller): Reader,
    At(id): At<String>,
) -> Result<Response, ApiError> {
    let experiment = find(&app, &caller, &id).await?.id;
    let newest = app.store.newest_run(experiment).await?.map(|run| run.id);
    let part = move |after: Option<String>| {
        let app = app.clone();
        async move {
            let filter = ScoreFilter { experiment: Some(experiment), ..ScoreFilter::default() };
            let page = Page { after: after.as_deref(), most: stream_array::AT_ONCE };
            let Listed { items, next } = app.store.scores(filter, page).await?;
            let items = items.into_iter().filter(|score| Some(score.new.run) == newest).collect();
            Ok(Listed { items, next })
        }
    };
    stream_array::array(part, shown).await
}

/// Scores of rules, oldest first
#[utoipa::path(get, path = "/v1/scores", tag = "scores", params(ScoresQuery, PageQuery),
    responses((status = 200, body = Envelope<ScoreBody>), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 403, body = ErrorBody)))]
pub(crate) async fn list(
    State(app): State<App>,
    Reader(caller): Reader,
    QueryParams(query): QueryParams<ScoresQuery>,
    QueryParams(page): QueryParams<PageQuery>,
) -> Result<Json<Envelope<ScoreBody>>, ApiError> {
    let wanted = query.experiment_id.filter(|id| !id.is_empty());
    let experiment = wanted.as_ref().map(|id| id.parse::<ExperimentId>());
    let Ok(experiment) = experiment.transpose() else {
        // Whatever is no id is the id of nothing.
        return Ok(Json(Envelope::of(Listed { items: Vec::new(), next: None }, shown)));
    };
    let rule = query.rule_id.filter(|id| !id.is_empty());
    let filter = ScoreFilter { owner: caller.sees(), experiment, rule: rule.as_deref() };
    let listed = app.store.scores(filter, page.page()).await?;
    Ok(Json(Envelope::of(listed, shown)))
}

/// Converts a stored score to a response body.
pub(crate) fn shown(score: Score) -> ScoreBody {
    let Score { number, new, created_at } = score;
    ScoreBody {
        id: number,
        rule_id: new.rule,
        trace_id: new.trace.unwrap_or_default(),
        experiment_id: new.run.experiment.to_string(),
        run: new.run.number,
        scenario_id: new.scenario,
        score: new.score,
        passed: new.passed,
        message: new.message,
        created_at: created_at.to_string(),
    }
}
