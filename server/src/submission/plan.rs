//! From a spec to the jobs of a run.

use std::collections::HashMap;

use scenario::plan::{Plan, Scenario, SnapshotAgent, expand};
use scenario::spec::Spec;
use store::{Experiment, JobTerms, Lane, NewRun, RunKind, Settings};

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

/// The scenarios of an experiment's next run: those of its last one, or else those that its spec says. Which version of an
/// uploaded agent they are run with is found anew.
pub(crate) async fn next_scenarios(app: &App, experiment: &Experiment, spec: &Spec) -> Result<Vec<Scenario>, ApiError> {
    let runs = app.store.runs(experiment.id).await?;
    match runs.iter().find(|run| run.kind == RunKind::Acted) {
        Some(run) => Ok(app
            .store
            .scenarios(run.id)
            .await?
            .into_iter()
            .map(|stored| Scenario { snapshot: None, ..stored.scenario })
            .collect()),
        None => Ok(plan(spec, &experiment.settings, Some(experiment.seed.get()))?.scenarios),
    }
}

/// Says which version of an uploaded agent each scenario is run with, unless that is known: one that is uploaded later changes
/// nothing about what was submitted before.
async fn pin(app: &App, owner: &str, spec: &Spec, scenarios: &mut [Scenario]) -> Result<(), ApiError> {
    let mut known: HashMap<SnapshotAgent, String> = HashMap::new();
    for scenario in scenarios.iter_mut().filter(|scenario| scenario.snapshot.is_none()) {
        let Some(agent) = SnapshotAgent::named(spec, scenario) else { continue };
        let id = match known.get(&agent) {
            Some(id) => id.clone(),
            None => {
                let missing = || ApiError::invalid(format!("{agent} is not there; upload it with `POST /v1/agents`"));
                let found = app.store.named_snapshot(owner, &agent).await?.ok_or_else(missing)?;
                known.entry(agent).or_insert(found.new.id).clone()
            }
        };
        scenario.snapshot = Some(id);
    }
    Ok(())
}

/// A run with a job for each scenario, for any worker; refused when workers could not run it.
pub(crate) async fn new_run(
    app: &App,
    owner: &str,
    spec: &Spec,
    settings: &Settings,
    mut scenarios: Vec<Scenario>,
) -> Result<NewRun, ApiError> {
    let refused = |reason: String| ApiError::invalid(format!("this spec cannot be run here: {reason}"));
    let agent = settings.agent_override().map_err(|unknown| refused(unknown.to_string()))?;
    if let Some(reason) = app.admission.refuses(spec, agent.as_ref()) {
        return Err(refused(reason));
    }
    if agent.is_none() {
        pin(app, owner, spec, &mut scenarios).await?;
    }
    let terms = JobTerms { lane: Lane::Shared, priority: settings.priority, demand: app.admission.demand(spec) };
    Ok(NewRun::new(spec, scenarios, terms, &*app.ids))
}
