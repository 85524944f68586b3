//! What agents printed, read from evidence once.

use std::sync::Arc;

use store::{JobId, StoreError, StoredScenario};

use crate::app::App;
use crate::cache::Cache;

/// How many bytes of output are remembered.
const REMEMBERED: usize = 64 << 20;

/// What an agent printed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Output {
    /// What it printed.
    pub(crate) stdout: String,
    /// What it printed as errors.
    pub(crate) stderr: String,
    /// Why it is not here.
    pub(crate) missing: Option<String>,
}

/// What agents printed, as far as it is remembered.
#[derive(Debug)]
pub(crate) struct Outputs(Cache<(JobId, u32), Arc<Output>>);

impl Default for Outputs {
    fn default() -> Self {
        Self(Cache::new(REMEMBERED))
    }
}

impl Output {
    /// How many bytes it has.
    pub(crate) fn bytes(&self) -> usize {
        self.stdout.len() + self.stderr.len()
    }
}

impl Outputs {
    /// What the agent of a scenario printed.
    pub(crate) async fn of(&self, app: &App, stored: &StoredScenario) -> Result<Arc<Output>, StoreError> {
        let Some((job, attempt)) = stored.source else { return Ok(Arc::default()) };
        if let Some(known) = self.0.get(&(job, attempt)) {
            return Ok(known);
        }
        let output = match app.store.evidence(job, attempt).await {
            Ok(Some(evidence)) => {
                let (stdout, stderr) = (evidence.agent.stdout.text(), evidence.agent.stderr.text());
                Output { stdout, stderr, missing: None }
            }
            Ok(None) => Output::default(),
            // The verdicts are there all the same.
            Err(error @ (StoreError::Evidence { .. } | StoreError::Files { .. } | StoreError::Artifact { .. })) => {
                tracing::error!(%error, "evidence cannot be read");
                let missing = "what the agent printed is not here: its evidence cannot be read";
                return Ok(Arc::new(Output { missing: Some(missing.to_owned()), ..Output::default() }));
            }
            Err(error) => return Err(error),
        };
        let output = Arc::new(output);
        self.0.put((job, attempt), Arc::clone(&output), output.bytes() + 256);
        Ok(output)
    }
}
