//! From a spec to the jobs of a run.

use scenario::plan::{Plan, Scenario, expand};
use scenario::spec::Spec;
use store::{Experiment, JobId, Lane, NewJob, NewRun, RunKind, Settings};

use super::options::{filters, plan_options};
use crate::app::App;
use crate::error::ApiError;

/// The scenarios of a spec that somebody wants to be run.
pub(crate) fn plan(spec: &Spec, settings: &Settings, seed: Option<u64>) -> Result<Plan, ApiError> {
    let whole = expand(spec, plan_options(settings, seed)).map_err(|error| ApiError::invalid(error.to_string()))?;
    let filters = filters(settings)?;
    whole
        .narrowed(&filters, spec)
        .ok_or_else(|| ApiError::invalid(format!("no scenario matches {}", settings.filter.join(", "))))
}

/// The scenarios of an experiment's next run: those of its last one, or else those that its spec says.
pub(crate) async fn next_scenarios(app: &App, experiment: &Experiment, spec: &Spec) -> Result<Vec<Scenario>, ApiError> {
    let runs = app.store.runs(experiment.id).await?;
    match runs.iter().find(|run| run.kind == RunKind::Acted) {
        Some(run) => Ok(app.store.scenarios(run.id).await?.into_iter().map(|stored| stored.scenario).collect()),
        None => Ok(plan(spec, &experiment.settings, Some(experiment.seed.get()))?.scenarios),
    }
}

/// A run with a job for each scenario, for any worker; refused when workers could not run it.
pub(crate) fn new_run(
    app: &App,
    spec: &Spec,
    settings: &Settings,
    scenarios: Vec<Scenario>,
) -> Result<NewRun, ApiError> {
    if let Some(reason) = app.admission.refuses(spec, settings.agent.as_deref()) {
        return Err(ApiError::invalid(format!("this spec cannot be run here: {reason}")));
    }
    let demand = app.admission.demand(spec);
    let at_once = spec.resources.concurrency_limit.and_then(|limit| u32::try_from(limit.get()).ok());
    let job = |scenario| NewJob { id: JobId(app.ids.id()), scenario, demand, at_once };
    let jobs = scenarios.into_iter().map(job).collect();
    Ok(NewRun { lane: Lane::Shared, priority: settings.priority, jobs })
}
