//! Computes the numbers of a run from its results.

use scenario::plan::Plan;
use scenario::result::ScenarioResult;
use scenario::score::{ExperimentScore, ScoreOptions, score};
use scenario::spec::Spec;
use scenario::spec::sections::Scoring;

use super::read_spec;
use crate::Store;
use crate::error::StoreError;
use crate::experiments::Experiment;
use crate::ids::RunId;

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
        let options = ScoreOptions { min_pass_rate: experiment.settings.min_pass_rate };
        Ok(Self { plan, spec, options })
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
