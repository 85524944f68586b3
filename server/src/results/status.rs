//! Where experiments and scenarios stand, in the words that clients see.

use scenario::result::RowStatus;
use scenario::score::{ExperimentScore, Status};
use serde::{Deserialize, Serialize, Serializer};
use store::{Run, RunState, StoredScenario};
use utoipa::ToSchema;

/// Where an experiment stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ExperimentStatus {
    /// It was not run yet.
    Created,
    /// It is being run.
    Running,
    /// All scenarios have ended.
    Finished,
    /// It was ended early.
    Cancelled,
}

impl ExperimentStatus {
    /// Where an experiment with this newest run stands.
    pub(crate) fn of(run: Option<&Run>) -> Self {
        match run.map(|run| run.state) {
            None => Self::Created,
            Some(RunState::Open) => Self::Running,
            Some(RunState::Finished) => Self::Finished,
            Some(RunState::Cancelled) => Self::Cancelled,
        }
    }
}

/// Where a scenario stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ScenarioStatus {
    /// It has a result.
    Ended(Status),
    /// It has none yet.
    Pending,
    /// Its run was ended before it was run.
    NotRun,
}

impl ScenarioStatus {
    /// Where a scenario of a run stands. The numbers of the run know the others of its cell.
    pub(crate) fn of(stored: &StoredScenario, run: &Run, score: Option<&ExperimentScore>) -> Self {
        let beside = score.and_then(|score| score.statuses.get(&stored.scenario.id));
        match (&stored.result, beside) {
            (Some(_), Some(status)) => Self::Ended(*status),
            (Some(result), None) => Self::Ended(match result.status {
                RowStatus::Pass => Status::Pass,
                RowStatus::Fail => Status::Fail,
                RowStatus::Error => Status::Error,
            }),
            (None, _) if run.state == RunState::Open => Self::Pending,
            (None, _) => Self::NotRun,
        }
    }

    /// The word for it.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Ended(status) => status.word(),
            Self::Pending => "pending",
            Self::NotRun => "not_run",
        }
    }
}

impl Serialize for ScenarioStatus {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.word())
    }
}
