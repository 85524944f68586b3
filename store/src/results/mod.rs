//! Results of scenarios, and the verdicts on their invariants.

mod caveats;
mod find;
mod read;
mod write;

pub use find::{FoundScenario, ScenarioFilter};
pub(crate) use read::read_in;
pub(crate) use write::write;

use scenario::plan::Scenario;
use scenario::result::ScenarioResult;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::StoreError;
use crate::ids::JobId;
use crate::json;

/// A scenario of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredScenario {
    /// The planned scenario.
    pub scenario: Scenario,
    /// The result, without the agent's output, which is in the evidence. `None` when it has not ended, or was not
    /// run.
    pub result: Option<ScenarioResult>,
    /// The attempt whose evidence was judged.
    pub source: Option<(JobId, u32)>,
}

/// The word for a variant: what serde calls it.
pub(super) fn word(variant: &impl Serialize) -> Result<String, StoreError> {
    Ok(json::text(variant)?.trim_matches('"').to_owned())
}

/// The variant that a word stands for.
pub(super) fn unword<T: DeserializeOwned>(word: &str) -> Result<T, StoreError> {
    serde_json::from_value(word.into()).map_err(StoreError::damaged)
}
