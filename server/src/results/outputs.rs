//! Output of agents, read from evidence once.

use std::sync::Arc;

use store::{JobId, Printed, StoreError, StoredScenario};

use crate::app::App;
use crate::cache::Cache;

/// The size of the cache of output in bytes.
const REMEMBERED: usize = 64 << 20;

/// A cache of agents' output.
#[derive(Debug)]
pub(crate) struct Outputs(Cache<(JobId, u32), Arc<Printed>>);

impl Default for Outputs {
    fn default() -> Self {
        Self(Cache::new(REMEMBERED))
    }
}

impl Outputs {
    /// Reads the output of a scenario's agent.
    pub(crate) async fn of(&self, app: &App, stored: &StoredScenario) -> Result<Arc<Printed>, StoreError> {
        let Some(source) = stored.source else { return Ok(Arc::default()) };
        if let Some(known) = self.0.get(&source) {
            return Ok(known);
        }
        let printed = Arc::new(Printed::read(&app.store, stored, why_lost).await?);
        // Evidence that cannot be read may be there again at the next look.
        if printed.lost.is_none() {
            self.0.put(source, Arc::clone(&printed), printed.bytes() + 256);
        }
        Ok(printed)
    }
}

/// Why evidence cannot be read, in words for whoever asks: where it is kept is told in the log only.
pub(crate) fn why_lost(error: &StoreError) -> String {
    tracing::error!(%error, "evidence cannot be read");
    let why = match error {
        StoreError::EvidenceGone { .. } => "it is gone from where it was kept",
        _ => "the server's log says why",
    };
    why.to_owned()
}
