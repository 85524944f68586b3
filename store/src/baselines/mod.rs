//! Baselines by name: the reports that later runs are compared with, a line for each spec.
//!
//! A line is a copy of a report, so it outlives its run: neither retention nor the removal of an experiment takes it away.
//! It is replaced by a run that is as good and as large ([`scenario::baseline`]), or by force, which is recorded.

mod read;
mod save;

use jiff::Timestamp;
use scenario::baseline::{BaselineName, BaselineSize, Refusal};
use scenario::report::Report;
use scenario::score::ExperimentVerdict;

pub use read::baseline_candidate;

/// A run that is to be kept as a line of a baseline.
#[derive(Debug, Clone, PartialEq)]
pub struct NewBaseline {
    /// The report of the run.
    pub report: Report,
    /// The digest of the spec by which it was judged, where that is known.
    pub digest: Option<String>,
    /// True when it had all scenarios of its plan.
    pub is_whole: bool,
}

/// The terms on which a baseline is kept.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SaveTerms {
    /// The key with which it is kept; empty on this machine.
    pub saved_by: String,
    /// A remark about why.
    pub reason: String,
    /// True when it is kept whatever speaks against it.
    pub force: bool,
    /// True when a gate has let the runs pass, with their failures in quarantine.
    pub passed_gate: bool,
}

/// A line of a baseline: what is known of it without its report.
#[derive(Debug, Clone, PartialEq)]
pub struct BaselineLine {
    /// Its owner.
    pub owner: String,
    /// The baseline.
    pub name: BaselineName,
    /// The spec.
    pub spec_id: String,
    /// The digest of the spec by which the run was judged, where that is known.
    pub digest: Option<String>,
    /// The experiment that the run was of. It may have been removed since.
    pub experiment: String,
    /// The number of the run.
    pub run: u32,
    /// The number of cells and replicas of the run.
    pub size: BaselineSize,
    /// The number of scenarios that passed.
    pub passed: usize,
    /// The verdict of the run.
    pub verdict: ExperimentVerdict,
    /// The time at which it was kept.
    pub saved_at: Timestamp,
    /// The key with which it was kept; empty on this machine.
    pub saved_by: String,
    /// A remark about why.
    pub reason: String,
    /// The reasons against it, when it was kept by force.
    pub overridden: Vec<String>,
}

/// The result of keeping runs as a baseline.
#[derive(Debug, Clone, PartialEq)]
pub enum Saved {
    /// All of them were kept.
    Kept(Vec<BaselineLine>),
    /// None was, for these reasons.
    Refused(Vec<Refusal>),
}
