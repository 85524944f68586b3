//! Puts a submission together: an experiment, and a run with a job for each scenario. Everybody who submits uses it.

use scenario::Demand;
use scenario::plan::{Scenario, Seed};
use scenario::spec::Spec;

use crate::experiments::{Experiment, NewExperiment, Settings};
use crate::ids::{ExperimentId, Ids, JobId, Lane};
use crate::runs::{NewJob, NewRun, Run};
use crate::specs::SpecVersion;

impl NewExperiment {
    /// An experiment of a spec. It is this machine's own, and has neither a name nor secrets.
    #[must_use]
    pub fn new(id: ExperimentId, spec: SpecVersion, source: String, seed: Seed, settings: Settings) -> Self {
        Self { id, owner: String::new(), name: String::new(), spec, source, seed, settings, secrets: None }
    }

    /// An experiment that repeats a run of another one, or scenarios of it: with the same spec, seed, settings, owner and
    /// name, and without its secrets, which are sealed for that experiment. `rerun_of` says what is repeated.
    #[must_use]
    pub fn repeating(id: ExperimentId, experiment: Experiment, run: &Run, rerun_of: String) -> Self {
        let Experiment { owner, name, spec, source, seed, settings, .. } = experiment;
        let spec = SpecVersion { digest: run.digest.clone(), ..spec };
        let settings = Settings { rerun_of: Some(rerun_of), ..settings };
        Self::new(id, spec, source, seed, settings).owned_by(owner).named(name)
    }

    /// The same experiment of an owner.
    #[must_use]
    pub fn owned_by(self, owner: impl Into<String>) -> Self {
        Self { owner: owner.into(), ..self }
    }

    /// The same experiment with a name.
    #[must_use]
    pub fn named(self, name: impl Into<String>) -> Self {
        Self { name: name.into(), ..self }
    }

    /// The same experiment with secrets, sealed for its id.
    #[must_use]
    pub fn with_secrets(self, secrets: Option<Vec<u8>>) -> Self {
        Self { secrets, ..self }
    }
}

/// Terms of claiming the jobs of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JobTerms {
    /// Their lane.
    pub lane: Lane,
    /// Jobs with a higher number are taken first.
    pub priority: i64,
    /// The resources that each needs.
    pub demand: Demand,
}

impl NewRun {
    /// A run with a job for each of these scenarios of a spec, as many at once as the spec allows.
    #[must_use]
    pub fn new(spec: &Spec, scenarios: Vec<Scenario>, terms: JobTerms, ids: &dyn Ids) -> Self {
        let JobTerms { lane, priority, demand } = terms;
        let at_once = spec.at_once();
        let job = |scenario| NewJob { id: JobId(ids.id()), scenario, demand, at_once };
        Self { lane, priority, jobs: scenarios.into_iter().map(job).collect() }
    }
}
