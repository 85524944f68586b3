//! The handlers, one file or folder for each kind of thing.
//!
//! To add a route: write a handler with `#[utoipa::path]`, its request and response types beside it, list it in `router.rs`,
//! and test it through HTTP in `tests/it/`.

pub(crate) mod agents;
pub(crate) mod alerts;
pub(crate) mod approvals;
pub(crate) mod baselines;
pub(crate) mod capacity;
pub(crate) mod datasets;
pub(crate) mod experiments;
pub(crate) mod flaky;
pub(crate) mod health;
pub(crate) mod keys;
mod owned;
pub(crate) mod runs;
pub(crate) mod sandboxes;
pub(crate) mod scenarios;
pub(crate) mod scores;
pub(crate) mod secrets;
pub(crate) mod specs;
pub(crate) mod telemetry;
pub(crate) mod traces;
pub(crate) mod unsupported;
