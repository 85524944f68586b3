//! A spec's scenarios: matrix cells × chaos cells × what is run in each × replicas, each with its id and seed.
//!
//! The same spec and options give the same plan, byte for byte.

mod agent_override;
mod breakage;
mod built_in_cheat;
mod cell_key;
mod clean_run;
mod expand;
mod filter;
mod invocations;
mod judged;
mod mutation;
mod parameters;
mod parts;
mod purpose;
mod scenario;
mod snapshot;
mod values;
mod variants;

pub use crate::chance::Chance;
pub use crate::seed::Seed;
pub use agent_override::{AgentOverride, UnknownAgent};
pub use breakage::{Breakage, BrokenFile, BrokenRequest, BrokenRow, FileBreakage, RequestBreakage, RowBreakage};
pub use built_in_cheat::BuiltInCheat;
pub use cell_key::CellKey;
pub use clean_run::{CleanRun, CleanRunKey};
pub use expand::{MAX_SCENARIOS, PlanError, PlanOptions, PlanScope, expand};
pub(crate) use filter::glob_of_wildcards;
pub use filter::{Filter, FilterError};
pub use judged::Judged;
pub use mutation::{PromptRequest, prompt_request, usable_text};
pub use parameters::{parameter, parameter_text};
pub use purpose::{Mutation, Purpose, Replay};
pub use scenario::{CellId, Plan, Scenario, ScenarioId};
pub use snapshot::SnapshotAgent;
pub use values::Values;
