//! Input of the engine: one attempt of one scenario.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use gateways::approvals::Approvals;
use jiff::Timestamp;
use scenario::chaos::poisoned_prompt;
use scenario::evidence::Evidence;
use scenario::plan::{AgentOverride, Scenario, Values};
use scenario::replay::Session;
use scenario::spec::Spec;
use scenario::spec::sections::{AgentKind, Cli, Noop, Oracle};

use crate::backend::Identity;
use crate::baselines::Baselines;
use crate::bundle::{AGENT_FILES, BundleFolder};
use crate::machine::Machine;
use crate::providers::ProviderAccess;
use crate::uploaded::SnapshotFiles;

/// An attempt of a scenario.
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
    /// Identity that names everything that is made for the attempt.
    pub identity: Identity,
    /// Permissions that the machine's owner gives.
    pub permissions: Permissions,
    /// Agent that acts instead of the spec's own.
    pub agent: Option<&'a AgentOverride>,
    /// Parts of the machine that all attempts share.
    pub machine: &'a Machine,
    /// The runs without faults that it shares with other scenarios of its run.
    pub baselines: &'a Baselines,
    /// Start of the attempt.
    pub started_at: Timestamp,
    /// Tells if its sandbox is kept for a person to look into.
    pub keep: Keep<'a>,
    /// The uploaded agent, when the spec names one.
    pub snapshot: Option<&'a SnapshotFiles>,
    /// The recorded session that is replayed.
    pub session: Option<&'a Arc<Session>>,
    /// The prompt that a model wrote for a mutation.
    pub prompt: Option<&'a str>,
    /// Under which id programs inside know their sandbox; without it, one is made.
    pub sandbox_id: Option<&'a str>,
    /// The place where people approve calls that tool contracts hold; without it nobody can.
    pub approvals: Option<&'a Arc<dyn Approvals>>,
}

/// Condition for keeping a sandbox, once its agent's processes have gone, instead of removing it.
///
/// But for [`Keep::Never`], the sandbox of an attempt that ended in an error is kept too, because there is no evidence to
/// go by. That of a cancelled one never is.
#[derive(Clone, Copy, Default)]
pub enum Keep<'a> {
    /// The sandbox is removed.
    #[default]
    Never,
    /// The sandbox is kept.
    Always,
    /// The sandbox is kept when this function returns true for the evidence.
    When(&'a (dyn Fn(&Evidence) -> bool + Send + Sync)),
}

impl Keep<'_> {
    /// Returns true if a sandbox with this evidence is kept; without evidence, the attempt ended in an error.
    pub(crate) fn applies(&self, evidence: Option<&Evidence>) -> bool {
        match (self, evidence) {
            (Self::Never, _) => false,
            (Self::Always, _) | (Self::When(_), None) => true,
            (Self::When(is_wanted), Some(evidence)) => is_wanted(evidence),
        }
    }
}

impl fmt::Debug for Keep<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Never => "Never",
            Self::Always => "Always",
            Self::When(_) => "When",
        })
    }
}

/// Permissions that the machine's owner gives.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Permissions {
    /// Way to run `custom` checks with `runs_in: host`; `None` when they are not allowed.
    pub host_checks: Option<HostChecks>,
    /// True when `git_repo` fixtures are cloned from the outside only: neither from this machine nor from networks near
    /// it.
    pub public_repositories_only: bool,
    /// Providers of models that a spec may name by their address.
    pub providers: ProviderAccess,
}

/// Way to run scripts beside the worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostChecks {
    /// The program and arguments that confine what follows them.
    pub confine: Vec<String>,
}

impl Attempt<'_> {
    /// Returns the agent that acts: the spec's own agent, or the one that was chosen instead.
    #[must_use]
    pub fn agent(&self) -> Option<AgentKind> {
        agent_of(self.spec, self.agent)
    }

    /// Returns the values that replace templates inside the sandbox.
    #[must_use]
    pub fn values(&self) -> Values<'_> {
        let values = Values::with_secrets(self.spec, self.scenario, self.secrets);
        match (self.session, self.prompt) {
            (Some(session), _) => values.with_prompt(session.input.clone()),
            (None, Some(prompt)) => values.with_prompt(prompt.to_owned()),
            (None, None) => values,
        }
    }

    /// Whether the agent is a command that came with files of its own.
    #[must_use]
    pub fn has_agent_files(&self) -> bool {
        matches!(self.agent, Some(AgentOverride::Command(_))) && self.bundle.has_folder(AGENT_FILES)
    }

    /// The same for the agent, whose prompt context attacks may stand in.
    #[must_use]
    pub fn agents_values(&self) -> Values<'_> {
        let values = self.values();
        let chaos = self.scenario.faults(self.spec);
        if chaos.context_attacks.is_empty() {
            return values;
        }
        let prompt = poisoned_prompt(&chaos, self.scenario.seed, values.prompt());
        values.with_prompt(prompt)
    }
}

/// Returns the agent that acts: a spec's own agent, or the one that was chosen instead.
pub(crate) fn agent_of(spec: &Spec, chosen: Option<&AgentOverride>) -> Option<AgentKind> {
    match chosen {
        Some(AgentOverride::Noop) => Some(AgentKind::Noop(Noop {})),
        // A cheat acts as the solution does: with lines for the shell.
        Some(AgentOverride::Oracle | AgentOverride::Cheat(_)) => Some(AgentKind::Oracle(Oracle {})),
        Some(AgentOverride::Command(line)) => Some(AgentKind::Cli(Cli::of_line(line))),
        None => spec.agent.as_ref().map(|agent| agent.kind.clone()),
    }
}
