//! The server's knowledge about the machines that will run accepted submissions.

use std::sync::Arc;

use engine::attempt::Permissions;
use engine::providers::Providers;
use scenario::plan::AgentOverride;
use scenario::spec::Spec;
use scenario::spec::sections::AgentKind;
use server::Admission;
use store::Demand;

/// Knows what workers of this version can run.
#[derive(Debug)]
pub(crate) struct OfThisVersion {
    /// The permissions that the machines' owner grants.
    pub(super) permissions: Permissions,
    /// The models that they have; `None` when they are elsewhere, and unknown here.
    pub(super) providers: Option<Arc<Providers>>,
}

impl Admission for OfThisVersion {
    fn demand(&self, spec: &Spec) -> Demand {
        engine::needs(spec)
    }

    fn refuses(&self, spec: &Spec, agent: Option<&AgentOverride>) -> Option<String> {
        // Whether there is such a snapshot is known to the server.
        let agent = agent.or_else(|| is_snapshot(spec).then_some(&AgentOverride::Noop));
        engine::unsupported(spec, agent, &self.permissions, engine::Uploads::Held)
            .or_else(|| engine::judges::missing(spec, self.providers.as_deref()?))
    }
}

fn is_snapshot(spec: &Spec) -> bool {
    spec.agent.as_ref().is_some_and(|agent| matches!(agent.kind, AgentKind::Snapshot(_)))
}
