//! Computes the numbers of a run from its results.

use std::collections::HashMap;

use scenario::plan::{Plan, Scenario, ScenarioId};
use scenario::result::{RowStatus, ScenarioResult};
use scenario::score::{EarlyStop, ExperimentScore, ScoreOptions, score};
use scenario::spec::Spec;
use scenario::spec::sections::Scoring;

use super::{read_spec, score_options};
use crate::Store;
use crate::error::StoreError;
use crate::experiments::Experiment;
use crate::ids::RunId;
use crate::queue::RunScoring;

/// Computes the numbers of a run from its results.
#[derive(Debug, Clone)]
pub struct Numbers {
    plan: Plan,
    /// The spec; `None` when it cannot be read any more, so that the usual bars hold.
    spec: Option<Spec>,
    options: ScoreOptions,
}

impl Numbers {
    /// Reads the rules for the numbers of a stored run. A spec that cannot be read any more has the default bars.
    pub async fn of(store: &Store, run: RunId) -> Result<Self, StoreError> {
        let experiment = store.experiment(run.experiment).await?;
        let content = store.spec(&store.run(run).await?.digest).await?;
        match read_spec(&content) {
            Ok(spec) => Self::read(store, run, &experiment, &spec).await,
            Err(_) => Self::with(store, run, &experiment, None).await,
        }
    }

    /// Reads the rules for the numbers of a run of this spec.
    pub async fn read(store: &Store, run: RunId, experiment: &Experiment, spec: &Spec) -> Result<Self, StoreError> {
        Self::with(store, run, experiment, Some(spec.clone())).await
    }

    async fn with(store: &Store, run: RunId, experiment: &Experiment, spec: Option<Spec>) -> Result<Self, StoreError> {
        let scenarios = store.scenarios(run).await?.into_iter().map(|stored| stored.scenario).collect();
        let plan = Plan { spec_id: experiment.spec.spec_id.clone(), seed: experiment.seed, scenarios };
        let options = score_options(experiment, store.run(run).await?.state);
        Ok(Self { plan, spec, options })
    }

    fn early_stop(&self) -> Option<EarlyStop> {
        EarlyStop::of(self.spec.as_ref()?, self.options)
    }

    /// The numbers.
    #[must_use]
    pub fn score(&self, results: &[ScenarioResult]) -> ExperimentScore {
        match &self.spec {
            Some(spec) => score(&self.plan, spec, results, self.options),
            None => score(&self.plan, &Scoring::default(), results, self.options),
        }
    }
}

impl RunScoring for Numbers {
    fn summarise(&self, results: &[ScenarioResult]) -> ExperimentScore {
        self.score(results)
    }

    fn stopping_replicas(&self, scenario: &Scenario) -> Vec<&ScenarioId> {
        match self.early_stop() {
            Some(early_stop) => early_stop.replicas(&self.plan, &scenario.cell).map(|replica| &replica.id).collect(),
            None => Vec::new(),
        }
    }

    fn not_needed(&self, scenario: &Scenario, ended: &HashMap<ScenarioId, RowStatus>) -> Vec<&ScenarioId> {
        match self.early_stop() {
            Some(early_stop) => {
                early_stop.not_needed(&self.plan, &scenario.cell, ended).map(|replica| &replica.id).collect()
            }
            None => Vec::new(),
        }
    }
}
