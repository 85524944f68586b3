//! Baselines that are kept by name: their names, and the runs that may replace them.

mod name;
mod refusal;

pub use name::{BaselineName, BaselineNameError};
pub use refusal::{BaselineSize, Candidate, Refusal, refusals};
