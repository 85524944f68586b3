//! Runs of an experiment. Older ones stay when there is a newer one.

mod insert;
mod read;

pub(crate) use insert::{insert_run, insert_run_row, insert_scenarios, next_run};

use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;
use scenario::Demand;
use scenario::plan::Scenario;
use scenario::score::{ExperimentScore, ExperimentVerdict};

use crate::error::StoreError;
use crate::ids::{JobId, Lane, RunId};

/// A run that is to be kept.
#[derive(Debug, Clone, PartialEq)]
pub struct NewRun {
    /// The lane of its jobs.
    pub lane: Lane,
    /// Jobs with a higher number are taken first.
    pub priority: i64,
    /// One job for each scenario, in the order of the plan.
    pub jobs: Vec<NewJob>,
}

/// A job that is to be done.
#[derive(Debug, Clone, PartialEq)]
pub struct NewJob {
    /// Its id. Of jobs that are ready at once, the one with the lowest id is taken first.
    pub id: JobId,
    /// The scenario to run.
    pub scenario: Scenario,
    /// The resources that it needs.
    pub demand: Demand,
    /// The limit of concurrent jobs of its run.
    pub at_once: Option<u32>,
}

/// A run that is kept.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// Its name.
    pub id: RunId,
    /// Its kind.
    pub kind: RunKind,
    /// The digest of the spec by which it was judged.
    pub digest: String,
    /// Where it stands.
    pub state: RunState,
    /// The lane of its jobs.
    pub lane: Lane,
    /// The number of planned scenarios.
    pub total: u64,
    /// The number of scenarios that have ended, or will not be run.
    pub ended: u64,
    /// Why somebody asked for its end.
    pub reason: Option<String>,
    /// Its verdict; `None` before its end.
    pub verdict: Option<ExperimentVerdict>,
    /// The numbers; `None` before its end.
    pub score: Option<ExperimentScore>,
    /// When it was submitted.
    pub created_at: Timestamp,
    /// When its last scenario ended.
    pub ended_at: Option<Timestamp>,
}

/// The origin of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunKind {
    /// Agents acted.
    Acted,
    /// The evidence of an earlier run was judged again.
    Rescored {
        /// The number of the earlier run.
        of: u32,
    },
}

/// Where a run stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunState {
    /// Not all of its scenarios have ended.
    Open,
    /// All have ended.
    Finished,
    /// It was ended before all of them had been run.
    Cancelled,
}

impl fmt::Display for RunKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Acted => formatter.write_str("acted"),
            Self::Rescored { of } => write!(formatter, "rescored {of}"),
        }
    }
}

impl FromStr for RunKind {
    type Err = StoreError;

    fn from_str(text: &str) -> Result<Self, StoreError> {
        match text.strip_prefix("rescored ") {
            Some(of) => Ok(Self::Rescored { of: of.parse().map_err(StoreError::damaged)? }),
            None if text == "acted" => Ok(Self::Acted),
            None => Err(StoreError::Damaged(format!("`{text}` is no kind of run"))),
        }
    }
}

impl RunState {
    /// The word for it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Finished => "finished",
            Self::Cancelled => "cancelled",
        }
    }
}

impl FromStr for RunState {
    type Err = StoreError;

    fn from_str(text: &str) -> Result<Self, StoreError> {
        [Self::Open, Self::Finished, Self::Cancelled]
            .into_iter()
            .find(|state| state.word() == text)
            .ok_or_else(|| StoreError::Damaged(format!("`{text}` is no state of a run")))
    }
}
