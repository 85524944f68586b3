//! The evidence of a scenario: on this machine, or on a server.

use scenario::evidence::Evidence;
use serde_json::Value as Json;
use store::{Experiment, Run, StoredScenario};

use crate::client::{RemoteRun, Server};
use crate::data_dir::{Home, StoreOption};
use crate::output::CommandError;
use crate::reference::Reference;

/// The evidence of a scenario on this machine.
pub(crate) struct EvidenceHere {
    /// The store that it is in.
    pub(crate) home: Home,
    /// The experiment.
    pub(crate) experiment: Experiment,
    /// The run.
    pub(crate) run: Run,
    /// The scenario.
    pub(crate) stored: StoredScenario,
    /// The attempt that was judged.
    pub(crate) attempt: u32,
    /// The evidence.
    pub(crate) evidence: Evidence,
}

/// The evidence of a scenario on a server.
pub(crate) struct EvidenceThere {
    /// The run.
    pub(crate) run: RemoteRun,
    /// The id of the scenario.
    pub(crate) id: String,
    /// The scenario as the server tells it.
    pub(crate) said: Json,
    /// The evidence.
    pub(crate) evidence: Evidence,
}

impl EvidenceHere {
    /// Finds the evidence of a scenario.
    pub(crate) async fn find(store: &StoreOption, reference: &Reference) -> Result<Self, CommandError> {
        let home = store.open().await?;
        let (experiment, run) = reference.find(&home.store).await?;
        let scenarios = home.store.scenarios(run.id).await?;
        let stored = reference.scenario(&scenarios)?.clone();
        let name = format!("{}/{}", run.id, stored.scenario.id);
        let Some((job, attempt)) = stored.source else { return Err(no_evidence(&name)) };
        let evidence = home.store.evidence(job, attempt).await?.ok_or_else(|| no_evidence(&name))?;
        Ok(Self { home, experiment, run, stored, attempt, evidence })
    }

    /// The name of the scenario: EXPERIMENT/SCENARIO.
    pub(crate) fn name(&self) -> String {
        format!("{}/{}", self.run.id, self.stored.scenario.id)
    }
}

impl EvidenceThere {
    /// Finds the evidence of a scenario.
    pub(crate) async fn find(server: &Server, reference: &Reference) -> Result<Self, CommandError> {
        let run = server.find(reference).await?;
        let id = match &reference.scenario {
            Some(scenario) => scenario.clone(),
            None => match server.report(&run).await?.0.rows.as_slice() {
                [only] => only.result.scenario.id.to_string(),
                _ => return Err(CommandError::Usage(format!("say which scenario: {}/SCENARIO", run.name()))),
            },
        };
        let name = format!("{}/{id}", run.name());
        let said = server.scenario(&run, &id).await?;
        if said["result"].is_null() {
            return Err(no_evidence(&name));
        }
        let evidence = serde_json::from_str(&server.evidence(&run, &id).await?).map_err(|error| {
            CommandError::Infrastructure(format!("the evidence of `{name}` cannot be read: {error}"))
        })?;
        Ok(Self { run, id, said, evidence })
    }

    /// The name of the scenario: EXPERIMENT/SCENARIO.
    pub(crate) fn name(&self) -> String {
        format!("{}/{}", self.run.name(), self.id)
    }
}

fn no_evidence(name: &str) -> CommandError {
    CommandError::Usage(format!("`{name}` left no evidence: it has not ended, or could not be run"))
}
