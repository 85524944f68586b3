//! Runs that judge the evidence of an earlier one again.

use jiff::Timestamp;
use scenario::plan::Scenario;
use scenario::result::ScenarioResult;
use scenario::score::ExperimentScore;

use crate::Store;
use crate::error::StoreError;
use crate::ids::{JobId, Lane, RunId};
use crate::queue::write_score;
use crate::results;
use crate::runs::{RunKind, RunState, insert_run_row, insert_scenarios, next_run};

/// A scenario that was judged again, and the attempt whose evidence was judged.
#[derive(Debug, Clone, PartialEq)]
pub struct Rescored {
    /// The planned scenario.
    pub scenario: Scenario,
    /// The new result; `None` when the scenario was not run, because its run was cancelled.
    pub result: Option<ScenarioResult>,
    /// The attempt; `None` when there is no evidence.
    pub source: Option<(JobId, u32)>,
}

impl Store {
    /// Keeps what judging the evidence of a run again says, as a new run of the same experiment. All that was planned is
    /// given: a run that was ended early is ended early here too.
    pub async fn keep_rescored(
        &self,
        of: RunId,
        digest: &str,
        rescored: &[Rescored],
        score: &ExperimentScore,
        now: Timestamp,
    ) -> Result<RunId, StoreError> {
        let mut tx = self.db.begin().await?;
        let id = next_run(&mut tx, of.experiment).await?;
        let kind = RunKind::Rescored { of: of.number };
        insert_run_row(&mut tx, id, kind, digest, Lane::Shared, rescored.len(), now).await?;
        let scenarios: Vec<_> = rescored.iter().map(|one| &one.scenario).collect();
        insert_scenarios(&mut tx, id, &scenarios).await?;
        for one in rescored {
            if let Some(result) = &one.result {
                results::write(&mut tx, id, result, one.source, now).await?;
            }
        }
        let whole = rescored.iter().all(|one| one.result.is_some());
        let state = if whole { RunState::Finished } else { RunState::Cancelled };
        write_score(&mut tx, id, state, score, now).await?;
        tx.commit().await?;
        Ok(id)
    }
}
