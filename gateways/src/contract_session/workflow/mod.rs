//! Workflows: several sessions of one scenario, each with its own role, contracts, state and log.
//!
//! The first role is the root session. A child exists only by claiming a handoff, and is known by the token that the claim
//! returned. What sessions share is here and nowhere else: budgets, handoffs and locks on resources. Order is always workflow
//! first, then session, and the lock of the workflow is never held while a session is changed.
//!
//! The workflow keeps at most 10,000 handoffs, and 100 sessions with their records.

mod handoffs;
mod kills;
mod log;
mod member;
mod refused;
mod resources;
mod sessions;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use async_trait::async_trait;
use jiff::Timestamp;
use scenario::evidence::{ContractRecord, Evidence};
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tool_contracts::{Compiled, CompiledWorkflow, Finding, WorkflowEvent, WorkflowState, wf_apply};

use super::{ContractSession, ContractSettings};
use crate::Gateway;
use handoffs::Handoff;
pub use handoffs::{Artifact, ClaimedSession, HandoffOffer};
use log::WorkflowLog;
pub(super) use member::{Membership, Tally};
pub use refused::{UnknownToken, WorkflowRefused};
use resources::Arrivals;
pub(super) use resources::Entered;

/// The header by which a request names its session.
pub(crate) const SESSION_TOKEN: &str = "x-touchstone-session";

/// The sessions of a scenario whose contracts have a workflow.
pub struct ContractWorkflow {
    workflow: CompiledWorkflow,
    roles: BTreeMap<String, Arc<Compiled>>,
    /// The settings of the root session, which its children have too, but for id, role and contracts.
    template: ContractSettings,
    opened: (Timestamp, Instant),
    shared: Mutex<Shared>,
    /// Increases whenever a call that waits may go on.
    changed: watch::Sender<u64>,
    /// Increases whenever some session may show other tools.
    visible: Arc<watch::Sender<u64>>,
    /// Grace periods.
    tasks: TaskTracker,
    ended: CancellationToken,
    me: Weak<Self>,
}

/// State that sessions share.
struct Shared {
    state: WorkflowState,
    /// The sessions, in the order in which they opened.
    sessions: Vec<Arc<ContractSession>>,
    /// The session of each token.
    tokens: BTreeMap<String, String>,
    handoffs: Vec<Handoff>,
    arrivals: Arrivals,
    log: WorkflowLog,
}

impl ContractWorkflow {
    /// Opens a workflow with its root session. `None` when it has no role. The contracts and the role of the settings are
    /// replaced by those of the first role.
    #[must_use]
    pub fn open(mut workflow: CompiledWorkflow, settings: ContractSettings) -> Option<Arc<Self>> {
        let role = workflow.root_role()?.to_owned();
        let roles: BTreeMap<_, _> =
            std::mem::take(&mut workflow.roles).into_iter().map(|(role, set)| (role, Arc::new(set))).collect();
        let contracts = Arc::clone(roles.get(&role)?);
        let template = ContractSettings { role: Some(role.clone()), contracts, ..settings };
        let opened = (template.started_at, Instant::now());
        let mut state = WorkflowState::default();
        let root = WorkflowEvent::RootOpened { session: template.session.clone(), role };
        wf_apply(&workflow, &mut state, &root);
        Some(Arc::new_cyclic(|me: &Weak<Self>| {
            let visible: Arc<watch::Sender<u64>> = Arc::default();
            let membership = Membership::new(Weak::clone(me), None, &visible);
            let root = ContractSession::open_as(template.clone(), opened, Some(membership), Vec::new());
            let shared = Shared {
                state,
                sessions: vec![Arc::new(root)],
                tokens: BTreeMap::new(),
                handoffs: Vec::new(),
                arrivals: Arrivals::default(),
                log: WorkflowLog::new(template.redactor.clone()),
            };
            Self {
                workflow,
                roles,
                template,
                opened,
                shared: Mutex::new(shared),
                changed: watch::Sender::new(0),
                visible,
                tasks: TaskTracker::new(),
                ended: CancellationToken::new(),
                me: Weak::clone(me),
            }
        }))
    }

    /// The root session.
    #[must_use]
    pub fn root(&self) -> Arc<ContractSession> {
        Arc::clone(&self.shared().sessions[0])
    }

    /// Registers a token of the sandbox for the root session.
    pub fn add_root_token(&self, token: &str) {
        let root = self.template.session.clone();
        self.shared().tokens.insert(token.to_owned(), root);
    }

    /// The reason why approvals of some session could not be asked for.
    #[must_use]
    pub fn failure(&self) -> Option<String> {
        self.sessions().iter().find_map(|session| session.failure())
    }

    fn shared(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn sessions(&self) -> Vec<Arc<ContractSession>> {
        self.shared().sessions.clone()
    }

    fn session(&self, id: &str) -> Option<Arc<ContractSession>> {
        self.shared().sessions.iter().find(|session| session.id() == id).cloned()
    }

    /// Applies an event, and lets calls that wait look again.
    fn apply(&self, event: &WorkflowEvent) -> Vec<Finding> {
        let findings = wf_apply(&self.workflow, &mut self.shared().state, event);
        self.changed.send_modify(|version| *version += 1);
        findings
    }
}

#[async_trait]
impl Gateway for ContractWorkflow {
    /// Begins to decide: calls of the setup are not the agent's doing.
    async fn begin(&self) {
        self.root().begin().await;
    }

    /// Takes open handoffs back, and closes all sessions, the youngest first, so that no child ends by its parent's policy.
    async fn seal(&self) {
        self.ended.cancel();
        self.tasks.close();
        self.tasks.wait().await;
        self.cancel_open_handoffs();
        for session in self.sessions().iter().rev() {
            session.seal().await;
        }
    }

    fn record(&self, evidence: &mut Evidence) {
        for session in self.sessions() {
            session.record(evidence);
        }
        let record = evidence.tool_contracts.get_or_insert_with(ContractRecord::default);
        record.workflow = self.shared().log.records().to_vec();
    }
}

impl fmt::Debug for ContractWorkflow {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ContractWorkflow").finish_non_exhaustive()
    }
}
