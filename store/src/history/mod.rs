//! The history of experiments, as pages show it: each with the numbers of its newest run, without reading whole scores.

mod comparable;
mod find;
mod invariants;

use std::collections::BTreeSet;

use jiff::Timestamp;
use scenario::score::{ExperimentVerdict, OutcomeCounts};

use crate::experiments::Experiment;
use crate::ids::RunId;
use crate::runs::{RunKind, RunState};

pub use comparable::{ComparableFilter, ComparableRun};
pub use invariants::InvariantCount;

/// Which experiments are wanted; `None` means any.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HistoryFilter<'a> {
    /// Whose.
    pub owner: Option<&'a str>,
    /// Of which spec.
    pub spec_id: Option<&'a str>,
    /// With which tag in its spec.
    pub tag: Option<&'a str>,
    /// Where they stand.
    pub status: Option<PastStatus>,
    /// A part of the name or the id of the spec, or the beginning of the experiment's id.
    pub text: Option<&'a str>,
    /// Submitted not before this.
    pub since: Option<Timestamp>,
    /// Submitted before this.
    pub until: Option<Timestamp>,
}

/// Where an experiment stands, as people look for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PastStatus {
    /// It was not run yet.
    Created,
    /// It is being run.
    Running,
    /// It has ended, and these are all of its numbers.
    Ended,
    /// It has ended, and passed.
    Passed,
    /// It has ended, and failed.
    Failed,
    /// It has ended, and could not be judged.
    Errored,
    /// It was ended early.
    Cancelled,
}

/// An experiment and the numbers of its newest run.
#[derive(Debug, Clone, PartialEq)]
pub struct Past {
    /// The experiment.
    pub experiment: Experiment,
    /// The tags of its spec.
    pub tags: BTreeSet<String>,
    /// Its newest run; `None` when it was not run yet.
    pub run: Option<RunNumbers>,
}

/// The numbers of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct RunNumbers {
    /// Which run.
    pub id: RunId,
    /// Its kind.
    pub kind: RunKind,
    /// Where it stands.
    pub state: RunState,
    /// The number of planned scenarios.
    pub total: u64,
    /// The number of scenarios that have ended, or will not be run.
    pub ended: u64,
    /// Its verdict; `None` before its end.
    pub verdict: Option<ExperimentVerdict>,
    /// The number of scenarios that passed; 0 before its end, like all that follow.
    pub passed: u64,
    /// The number that failed.
    pub failed: u64,
    /// The number that failed while another replica of their cell passed.
    pub flaky: u64,
    /// The number that could not be judged.
    pub errors: u64,
    /// The mean composite.
    pub composite: f64,
    /// The cost of all scenarios.
    pub cost_usd: f64,
    /// The mean time of a scenario.
    pub wall_ms: u64,
    /// The resilience score of its contract; `None` without one.
    pub resilience: Option<f64>,
    /// The number of worlds with each outcome of faults; `None` without a contract.
    pub outcomes: Option<OutcomeCounts>,
    /// When it was submitted.
    pub created_at: Timestamp,
    /// When its last scenario ended.
    pub ended_at: Option<Timestamp>,
}

impl RunNumbers {
    /// The share of judged scenarios that passed; `None` when none was judged.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
    pub fn pass_rate(&self) -> Option<f64> {
        let judged = self.passed + self.failed + self.flaky;
        (judged > 0).then(|| self.passed as f64 / judged as f64)
    }
}
