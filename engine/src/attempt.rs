//! What the engine is given: one attempt of one scenario.

use std::collections::BTreeMap;

use scenario::plan::{Scenario, Values};
use scenario::spec::Spec;
use scenario::spec::sections::{AgentKind, Noop, Oracle};

use crate::backend::Identity;
use crate::bundle::BundleFolder;

/// One attempt of one scenario.
#[derive(Debug)]
pub struct Attempt<'a> {
    /// The spec.
    pub spec: &'a Spec,
    /// The scenario of its plan.
    pub scenario: &'a Scenario,
    /// The files beside the spec.
    pub bundle: &'a BundleFolder,
    /// The values of the spec's secrets, by name.
    pub secrets: &'a BTreeMap<String, String>,
    /// What everything that is made for it is called.
    pub identity: Identity,
    /// What the machine's owner allows.
    pub permissions: Permissions,
    /// Who acts instead of the spec's own agent.
    pub agent: Option<AgentChoice>,
}

/// Who acts instead of a spec's own agent, to see whether its invariants prove anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentChoice {
    /// Nobody.
    Noop,
    /// The task's own solution.
    Oracle,
}

/// What the machine's owner allows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Permissions {
    /// How `custom` checks with `runs_in: host` are run; `None` when they are not allowed.
    pub host_checks: Option<HostChecks>,
}

/// How scripts are run beside the worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostChecks {
    /// The program and arguments that confine what follows them.
    pub confine: Vec<String>,
}

impl Attempt<'_> {
    /// Who acts: the spec's own agent, or who was chosen instead.
    #[must_use]
    pub fn agent(&self) -> Option<AgentKind> {
        match self.agent {
            Some(AgentChoice::Noop) => Some(AgentKind::Noop(Noop {})),
            Some(AgentChoice::Oracle) => Some(AgentKind::Oracle(Oracle {})),
            None => self.spec.agent.as_ref().map(|agent| agent.kind.clone()),
        }
    }

    /// What templates become inside the sandbox.
    #[must_use]
    pub fn values(&self) -> Values<'_> {
        Values::with_secrets(self.spec, self.scenario, self.secrets)
    }
}
