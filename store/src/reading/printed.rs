//! Output of agents, which is in their evidence. When evidence is lost, the verdicts are still there.

use scenario::result::{Caveat, ScenarioResult};

use crate::Store;
use crate::error::StoreError;
use crate::results::StoredScenario;

/// The output of a scenario's agent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Printed {
    /// Its standard output.
    pub stdout: String,
    /// Its standard error.
    pub stderr: String,
    /// Why that cannot be read any more.
    pub lost: Option<String>,
}

impl Printed {
    /// Reads what the agent of a scenario printed. `why` says in words for the reader why its evidence cannot be read.
    pub async fn read(
        store: &Store,
        stored: &StoredScenario,
        why: impl Fn(&StoreError) -> String,
    ) -> Result<Self, StoreError> {
        let Some((job, attempt)) = stored.source else { return Ok(Self::default()) };
        match store.evidence(job, attempt).await {
            Ok(Some(evidence)) => {
                let (stdout, stderr) = (evidence.agent.stdout.text(), evidence.agent.stderr.text());
                Ok(Self { stdout, stderr, lost: None })
            }
            Ok(None) => Ok(Self::default()),
            Err(error) if error.is_about_evidence() => Ok(Self { lost: Some(why(&error)), ..Self::default() }),
            Err(error) => Err(error),
        }
    }

    /// Its size in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.stdout.len() + self.stderr.len()
    }

    /// Puts it into the result of its scenario; what was lost becomes a caveat.
    pub fn put_into(&self, result: &mut ScenarioResult) {
        result.agent_output.clone_from(&self.stdout);
        result.agent_stderr.clone_from(&self.stderr);
        let scenario = result.scenario.id.to_string();
        result.caveats.extend(self.lost.clone().map(|why| Caveat::LostEvidence { scenario, why }));
    }
}

/// The result of a scenario with what its agent printed.
pub async fn with_output(store: &Store, stored: StoredScenario) -> Result<Option<ScenarioResult>, StoreError> {
    let printed = Printed::read(store, &stored, ToString::to_string).await?;
    Ok(stored.result.map(|mut result| {
        printed.put_into(&mut result);
        result
    }))
}
