//! The report of a run that is kept, finished or not. Whoever shows a run builds its report here.

use scenario::plan::Plan;
use scenario::report::{Header, Report};
use scenario::score::ScoreOptions;
use scenario::spec::Spec;

use super::{Printed, read_spec};
use crate::Store;
use crate::error::StoreError;
use crate::experiments::Experiment;
use crate::results::StoredScenario;
use crate::runs::{Run, RunState};

/// The report of a run, with what its agents printed. Evidence that cannot be read is named by a caveat of its scenario.
pub async fn report(store: &Store, experiment: &Experiment, run: &Run) -> Result<Report, StoreError> {
    let mut parts = ReportParts::read(store, experiment, run).await?;
    for stored in &mut parts.scenarios {
        let printed = Printed::read(store, stored, ToString::to_string).await?;
        stored.result.iter_mut().for_each(|result| printed.put_into(result));
    }
    Ok(parts.report())
}

/// The report of a run, without what its agents printed.
pub async fn report_without_output(store: &Store, experiment: &Experiment, run: &Run) -> Result<Report, StoreError> {
    Ok(ReportParts::read(store, experiment, run).await?.report())
}

/// The parts of a run's report.
#[derive(Debug)]
pub struct ReportParts<'a> {
    experiment: &'a Experiment,
    run: &'a Run,
    spec: Spec,
    /// The scenarios, in the order of the plan. Their results are without what agents printed.
    pub scenarios: Vec<StoredScenario>,
}

impl<'a> ReportParts<'a> {
    /// Reads what is kept of a run.
    pub async fn read(store: &Store, experiment: &'a Experiment, run: &'a Run) -> Result<Self, StoreError> {
        let (spec, scenarios) = (spec_of(store, run).await?, store.scenarios(run.id).await?);
        Ok(Self::of(experiment, run, spec, scenarios))
    }

    /// The parts of the report of a run that is judged by this spec.
    pub(crate) fn of(experiment: &'a Experiment, run: &'a Run, spec: Spec, scenarios: Vec<StoredScenario>) -> Self {
        Self { experiment, run, spec, scenarios }
    }

    /// Puts the report together, of all scenarios that have a result.
    #[must_use]
    pub fn report(self) -> Report {
        let Self { experiment, run, spec, scenarios } = self;
        let (scenarios, results): (Vec<_>, Vec<_>) =
            scenarios.into_iter().map(|stored| (stored.scenario, stored.result)).unzip();
        let plan = Plan { spec_id: experiment.spec.spec_id.clone(), seed: experiment.seed, scenarios };
        let options = score_options(experiment, run.state);
        let results = results.into_iter().flatten().collect();
        Report::new(header(experiment, run), &spec, &plan, results, options)
    }
}

/// The spec by which a run was judged.
pub async fn spec_of(store: &Store, run: &Run) -> Result<Spec, StoreError> {
    Ok(read_spec(&store.spec(&run.digest).await?)?)
}

/// What a run asks of its numbers besides the spec.
pub(crate) fn score_options(experiment: &Experiment, state: RunState) -> ScoreOptions {
    ScoreOptions {
        min_pass_rate: experiment.settings.min_pass_rate,
        has_fixed_replicas: experiment.settings.replicas.is_some(),
        is_over: state == RunState::Finished,
    }
}

/// Which experiment a report is about.
#[must_use]
pub fn header(experiment: &Experiment, run: &Run) -> Header {
    Header {
        experiment_id: experiment.id.to_string(),
        run: run.id.number,
        spec_file: experiment.source.clone(),
        ran_at: run.created_at,
        parameters: experiment.settings.parameters.clone(),
        replicas: experiment.settings.replicas,
        agent: experiment.settings.agent.as_ref().map(ToString::to_string),
        agent_files: experiment.settings.agent_files.clone(),
        backend: experiment.settings.backend.clone(),
        server: None,
    }
}
