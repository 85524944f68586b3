//! Suites: several specs that are run and judged together.
//!
//! `file` reads `suite.yaml`. `score` has the numbers over all specs: means by weights, tokens and cost as if all scenarios
//! were of one spec (`pooled`), and the floors that the suite must reach. Floors only make passing harder: the bar of a cell is
//! the higher of its spec's own and the suite's.

mod file;
pub(crate) mod pooled;
pub mod reference;
mod score;
#[cfg(test)]
mod tests;

pub use file::{Floors, ForecastSettings, Suite, SuiteAgent, SuitePath};
pub use pooled::Pooled;
pub use score::{Floor, FloorValues, Ran, Shortfall, SpecLine, SuiteScore};
