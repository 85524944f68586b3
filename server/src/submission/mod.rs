//! Submissions: specs, the files beside them, secrets, and options of a run.

mod bundle;
mod options;
mod plan;
mod secrets;
mod spec;

pub(crate) use bundle::{Upload, bundle_of, receive, unpack_aside};
pub(crate) use options::{AgentSchema, Options};
pub(crate) use plan::{new_run, next_scenarios, plan};
pub(crate) use secrets::{Given, given_of, require_secrets, require_value, seal, seal_given, unkept_secrets};
pub(crate) use spec::{ReadSpec, finding, read_spec};
