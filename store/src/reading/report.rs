//! The report of a run that is kept.

use scenario::report::{Header, Report};
use scenario::result::ScenarioResult;
use scenario::spec::Spec;

use super::{Numbers, read_spec};
use crate::Store;
use crate::error::StoreError;
use crate::experiments::Experiment;
use crate::results::StoredScenario;
use crate::runs::Run;

/// The report of a run, with what its agents printed.
pub async fn report(store: &Store, experiment: &Experiment, run: &Run) -> Result<Report, StoreError> {
    let spec = spec_of(store, run).await?;
    let numbers = Numbers::of(store, run.id).await?;
    let mut results = Vec::new();
    for stored in store.scenarios(run.id).await? {
        results.extend(with_output(store, stored).await?);
    }
    Ok(Report::new(header(experiment, run), &spec, numbers.plan(), results, numbers.options()))
}

/// The spec by which a run was judged.
pub async fn spec_of(store: &Store, run: &Run) -> Result<Spec, StoreError> {
    read_spec(&store.spec(&run.digest).await?).map_err(StoreError::Unreadable)
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
        agent: experiment.settings.agent.clone(),
        backend: experiment.settings.backend.clone(),
        server: None,
    }
}

/// The result of a scenario with what its agent printed, which is in its evidence.
pub async fn with_output(store: &Store, stored: StoredScenario) -> Result<Option<ScenarioResult>, StoreError> {
    let Some(mut result) = stored.result else { return Ok(None) };
    let Some((job, attempt)) = stored.source else { return Ok(Some(result)) };
    match store.evidence(job, attempt).await {
        Ok(Some(evidence)) => {
            result.agent_output = evidence.agent.stdout.text();
            result.agent_stderr = evidence.agent.stderr.text();
        }
        Ok(None) => {}
        // The verdicts are there all the same.
        Err(error @ (StoreError::Evidence { .. } | StoreError::Files { .. })) => {
            result.notes.push(format!("what the agent printed is not here: {error}"));
        }
        Err(error) => return Err(error),
    }
    Ok(Some(result))
}
