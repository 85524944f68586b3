//! Experiments: create, run, follow, read, compare, export, end, repeat, judge again, remove.

mod artifacts;
pub(crate) mod cancel;
mod compare;
mod create;
pub(crate) mod details;
mod events;
mod export;
pub(crate) mod intervene;
mod list;
mod metrics;
mod pin;
mod remove;
pub(crate) mod rerun;
mod rescore;
mod results;
mod run;
pub(crate) mod schema;

use serde::Deserialize;
use store::{Experiment, ExperimentId, Run, RunId};
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;
use crate::auth::Caller;
use crate::error::ApiError;

/// The routes.
pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(create::create, list::list))
        .routes(routes!(compare::compare))
        .routes(routes!(results::results, remove::remove))
        .routes(routes!(run::run))
        .routes(routes!(cancel::cancel))
        .routes(routes!(rerun::rerun))
        .routes(routes!(rescore::rescore))
        .routes(routes!(pin::pin, pin::unpin))
        .routes(routes!(events::events))
        .routes(routes!(export::export))
        .routes(routes!(metrics::metrics))
        .routes(routes!(details::scenario))
        .routes(routes!(details::evidence))
        .routes(routes!(intervene::kill))
        .routes(routes!(intervene::filter))
        .routes(routes!(artifacts::artifacts))
        .routes(routes!(artifacts::artifact))
}

/// Which run of an experiment.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub(crate) struct RunQuery {
    /// Which run, from 1; the newest one without it.
    #[param(minimum = 1)]
    pub(crate) run: Option<u32>,
}

/// The experiment with this id, for who may see it.
pub(crate) async fn find(app: &App, caller: &Caller, id: &str) -> Result<Experiment, ApiError> {
    let missing = || {
        let id = scenario::untrusted::line(id, 100);
        ApiError::not_found(format!("there is no experiment `{id}`"))
    };
    // Whatever is no id of ours is the id of nothing.
    let id: ExperimentId = id.parse().map_err(|_| missing())?;
    let experiment = app.store.experiment(id).await?;
    caller.owns(&experiment.owner, "this experiment")?;
    Ok(experiment)
}

/// The run that is meant; `None` when the experiment was not run yet.
pub(crate) async fn find_run(app: &App, experiment: &Experiment, number: Option<u32>) -> Result<Option<Run>, ApiError> {
    match number {
        Some(number) => Ok(Some(app.store.run(RunId { experiment: experiment.id, number }).await?)),
        None => Ok(app.store.newest_run(experiment.id).await?),
    }
}

/// The run that is meant, of an experiment that was run.
pub(crate) async fn require_run(app: &App, experiment: &Experiment, number: Option<u32>) -> Result<Run, ApiError> {
    let run = find_run(app, experiment, number).await?;
    run.ok_or_else(|| ApiError::conflict(format!("the experiment `{}` was not run yet", experiment.id)))
}
