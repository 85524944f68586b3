//! What a spec takes from a machine, and whether workers can run it: known by those who make sandboxes, and given to the
//! server.

use std::fmt::Debug;

use scenario::plan::AgentOverride;
use scenario::spec::Spec;
use store::Demand;

/// Knows what specs take from a machine.
pub trait Admission: Debug + Send + Sync {
    /// What one sandbox of a spec takes from a machine at most.
    fn demand(&self, spec: &Spec) -> Demand;

    /// Why a spec cannot be run by workers of this version, whatever its scenarios are; `agent` acts instead of its own.
    fn refuses(&self, spec: &Spec, agent: Option<AgentOverride>) -> Option<String>;
}
