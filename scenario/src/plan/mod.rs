//! A spec's scenarios: matrix cells × replicas, each with its id and seed.
//!
//! The same spec and options give the same plan, byte for byte.

mod expand;
mod filter;
mod parameters;
mod scenario;
mod seed;
mod snapshot;
mod values;
mod variants;

pub use expand::{MAX_SCENARIOS, PlanError, PlanOptions, expand};
pub use filter::Filter;
pub use parameters::{parameter, parameter_text};
pub use scenario::{CellId, Plan, Scenario, ScenarioId};
pub use seed::Seed;
pub use snapshot::SnapshotAgent;
pub use values::Values;
