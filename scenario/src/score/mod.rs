//! Verdicts to composites, composites to cells, cells to an experiment and to its contract.
//!
//! Scenarios that could not be judged enter no rate, no mean and no cost.

/// The version of the rules that make scores of verdicts. It is raised when the same evidence would be scored in another way, so that
/// numbers of two versions are not taken for a change of the agent.
pub const SCORING_VERSION: u32 = 1;

mod cells;
mod composite;
mod contract;
mod experiment;
mod mutations;
#[cfg(test)]
mod mutations_tests;
mod overall;
mod replays;
#[cfg(test)]
mod tests;

pub use cells::{Cell, CellVerdict, Status};
pub use composite::{composite, misses_gate, reaches};
pub use contract::{
    CellStatus, ChaosOutcome, ContractCell, ContractMatrix, ContractScore, ContractVerdict, MatrixRow, Outcome,
    OutcomeCounts,
};
pub use experiment::{ExperimentScore, ExperimentVerdict, Metrics, ScoreOptions, ScoredBy, score};
pub use mutations::{FailedMutation, MutationKindScore, MutationScore};
pub use overall::{OverallPart, OverallScore, ScoredPart};
pub use replays::{ReplayScore, ReplayedSession};
