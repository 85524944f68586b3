//! Verdicts to composites, composites to cells, cells to an experiment.
//!
//! Scenarios that could not be judged enter no rate, no mean and no cost.

mod cells;
mod composite;
mod experiment;
mod statistics;
#[cfg(test)]
mod tests;

pub use cells::{Cell, CellVerdict, Status};
pub use composite::{composite, misses_gate, reaches};
pub use experiment::{ExperimentScore, ExperimentVerdict, Metrics, ScoreOptions, score};
pub use statistics::{Interval, wilson};
