//! Verdicts to composites, composites to cells, cells to an experiment and to its contract.
//!
//! Scenarios that could not be judged enter no rate, no mean and no cost.

mod cells;
mod composite;
mod contract;
mod experiment;
mod judges;
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
pub use judges::JudgeScore;
pub use mutations::{FailedMutation, MutationKindScore, MutationScore};
pub use overall::{OverallPart, OverallScore, ScoredPart};
pub use replays::{ReplayScore, ReplayedSession};
