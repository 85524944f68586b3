//! The resources that a spec needs, and the check that workers can run it: implemented where sandboxes are made, and passed
//! to the server.

use std::fmt::Debug;

use scenario::plan::AgentOverride;
use scenario::spec::Spec;
use store::Demand;

/// Knows what specs take from a machine.
pub trait Admission: Debug + Send + Sync {
    /// The most resources that one sandbox of a spec needs.
    fn demand(&self, spec: &Spec) -> Demand;

    /// Why a spec cannot be run by workers of this version, whatever its scenarios are; `agent` acts instead of its own.
    fn refuses(&self, spec: &Spec, agent: Option<&AgentOverride>) -> Option<String>;
}
