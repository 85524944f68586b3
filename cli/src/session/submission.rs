//! Submits specs to the store, for the session that works on them.

use scenario::plan::{Scenario, Seed};
use scenario::spec::Spec;
use store::{Clock as _, ExperimentId, Ids as _, JobTerms, NewExperiment, NewRun, RunId, Settings, SpecContent};
use worker::RandomIds;

use super::Session;
use crate::clock::SystemClock;
use crate::output::CommandError;

/// A spec, and the scenarios of it that are to be run.
pub(crate) struct Submission<'a> {
    /// The spec.
    pub(crate) spec: &'a Spec,
    /// Its text and the files beside it, to be kept.
    pub(crate) content: &'a SpecContent,
    /// Its source.
    pub(crate) source: &'a str,
    /// The seed of its plan.
    pub(crate) seed: Seed,
    /// The scenarios.
    pub(crate) scenarios: Vec<Scenario>,
    /// The caller's changes to the spec.
    pub(crate) settings: Settings,
}

impl Session {
    /// Stores an experiment of a spec, with a job for each scenario.
    pub(crate) async fn submit(&self, submission: Submission<'_>) -> Result<RunId, CommandError> {
        let Submission { spec, content, source, seed, scenarios, settings } = submission;
        let now = SystemClock.now();
        let version = self.store.keep_spec("", spec.id.as_str(), content, now).await?;
        let experiment = NewExperiment::new(new_id(), version, source.to_owned(), seed, settings);
        Ok(self.store.submit(&experiment, &self.new_run(spec, scenarios), now).await?)
    }

    /// A run of these scenarios, which only this session works on.
    pub(crate) fn new_run(&self, spec: &Spec, scenarios: Vec<Scenario>) -> NewRun {
        let terms = JobTerms { lane: self.lane, priority: 0, demand: engine::needs(spec) };
        NewRun::new(spec, scenarios, terms, &RandomIds)
    }
}

/// An id for a new experiment.
pub(crate) fn new_id() -> ExperimentId {
    ExperimentId(RandomIds.id())
}
