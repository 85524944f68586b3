//! The last runs of specs, laid side by side: of a server, or of this machine.

use std::collections::{BTreeMap, BTreeSet};

use scenario::flaky::{FlakyTable, table};
use store::{ComparableFilter, past_runs};

use super::BaselinePlace;
use crate::client::segment;
use crate::output::CommandError;

/// The number of the newest experiments that are looked through for their specs.
const LOOKED_THROUGH: u32 = 500;

impl BaselinePlace {
    /// The specs of the newest experiments.
    pub(crate) async fn specs(&self) -> Result<BTreeSet<String>, CommandError> {
        match self {
            Self::Server(server) => {
                let listed = server.experiments(LOOKED_THROUGH, None).await?;
                Ok(listed.iter().map(|one| one.text("spec_id")).collect())
            }
            Self::Here(home) => {
                let experiments = home.store.experiments(LOOKED_THROUGH.into(), None).await?;
                Ok(experiments.into_iter().map(|experiment| experiment.spec.spec_id).collect())
            }
        }
    }

    /// The last comparable runs of a spec, side by side; `None` when there are none.
    pub(crate) async fn flaky(&self, spec_id: &str, last: u32) -> Result<Option<FlakyTable>, CommandError> {
        match self {
            Self::Server(server) => {
                let path = format!("/v1/specs/{}/flaky?last={last}", segment(spec_id));
                let value = match server.get(&path).await {
                    Err(CommandError::Usage(_)) => return Ok(None),
                    value => value?,
                };
                let strange = |problem| {
                    CommandError::Infrastructure(format!("what {} answers cannot be read: {problem}", server.place()))
                };
                serde_json::from_value(value).map(Some).map_err(strange)
            }
            Self::Here(home) => {
                let filter = ComparableFilter { owner: None, spec_id, before: None, since: None, most: last.into() };
                let runs = past_runs(&home.store, filter).await?;
                Ok((!runs.is_empty()).then(|| table(spec_id, runs, &BTreeMap::new())))
            }
        }
    }
}
