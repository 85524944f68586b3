//! A session under tool contracts: the one place that every gateway asks before a call goes on.
//!
//! The model gateway asks about requests and responses, the tool gateway and governed services about executions. The
//! decisions are those of `tool_contracts`; this adds the time, the waiting for approvals, and the order: while a call
//! is held, all others wait in the order in which they came. A decision is in the log before it takes effect.
//!
//! The session takes at most 64 MiB of records, and its state, which grows with the calls.

mod approver;
mod executions;
mod holds;
mod http_calls;
mod model_calls;
mod operated;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
mod visible_tools;
mod workflow;
mod world;

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use scenario::evidence::{ContractMode, ContractRecord, ContractSession as SessionRecord, Evidence};
use scenario::spec::sections::{NarrowingFeedback, PauseScope};
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tool_contracts::{Compiled, LiveSession, Now, Reason, SessionOpening};

pub use approver::SessionApprover;
pub use executions::{ExecutionRequest, Permit};
pub(crate) use http_calls::{Governed, GovernedCall, MARK, RefusalBody, ServiceRefusal, ServiceRequest, outcome_of};
pub use http_calls::{HttpRoute, ServiceGovernor};
pub use model_calls::{Gated, JudgedRequest, Refused};
pub use operated::{OperatedSessions, Sessions};
pub use visible_tools::VisibleTools;
use workflow::Membership;
pub(crate) use workflow::SESSION_TOKEN;
pub use workflow::{Artifact, ClaimedSession, ContractWorkflow, HandoffOffer, UnknownToken, WorkflowRefused};
pub use world::WorldReader;

use crate::Gateway;
use crate::clock::Clock;
use crate::redact::Redactor;

/// The settings of a session.
#[derive(Clone)]
pub struct ContractSettings {
    /// Its id.
    pub session: String,
    /// Its role in a workflow.
    pub role: Option<String>,
    /// The contracts.
    pub contracts: Arc<Compiled>,
    /// The way in which decisions take effect.
    pub mode: ContractMode,
    /// True when the model's proposals are seen.
    pub sees_model: bool,
    /// The way in which the agent learns of hidden tools.
    pub feedback: NarrowingFeedback,
    /// The number of times that the model is asked again after a block.
    pub max_retries: u64,
    /// The one who decides on held calls.
    pub approver: SessionApprover,
    /// The calls that wait while one is held.
    pub pause_scope: PauseScope,
    /// The time for which the request of an execution stays open while its call is held.
    pub hold_wait: Duration,
    /// Answers questions of rules about the world; `None` where nobody can look.
    pub world: Option<Arc<dyn WorldReader>>,
    /// The time since the agent started.
    pub clock: Arc<Clock>,
    /// The time of day when the attempt began.
    pub started_at: Timestamp,
    /// Takes secrets out of the records.
    pub redactor: Redactor,
}

/// A session under tool contracts.
pub struct ContractSession {
    inner: Arc<Inner>,
}

/// The state that everything in a session shares.
struct Inner {
    session: String,
    role: Option<String>,
    mode: ContractMode,
    feedback: NarrowingFeedback,
    max_retries: u64,
    approver: SessionApprover,
    pause_scope: PauseScope,
    hold_wait: Duration,
    world: Option<Arc<dyn WorldReader>>,
    live: Mutex<LiveSession>,
    /// Lock of the call that is decided on: a held call keeps it, so that others wait in their order.
    turn: Arc<tokio::sync::Mutex<()>>,
    holds: holds::Holds,
    /// The version of the state when tools may have been hidden or shown.
    visible: Arc<watch::Sender<u64>>,
    /// True once the agent started: earlier calls are not its doing.
    has_begun: AtomicBool,
    /// Cancelled when the session is killed or closed.
    over: CancellationToken,
    /// The reason why approvals could not be asked for, which is not the agent's doing.
    failure: Mutex<Option<String>>,
    clock: Arc<Clock>,
    opened: (Timestamp, Instant),
    redactor: Redactor,
    /// Its place in a workflow, where there is one.
    membership: Option<Membership>,
}

impl ContractSession {
    /// Opens a session.
    #[must_use]
    pub fn open(settings: ContractSettings) -> Self {
        let opened = (settings.started_at, Instant::now());
        Self::open_as(settings, opened, None, Vec::new())
    }

    /// Opens a session, perhaps as one of a workflow, with labels from the session that handed work to it.
    fn open_as(
        settings: ContractSettings,
        opened: (Timestamp, Instant),
        membership: Option<Membership>,
        labels: Vec<(String, String)>,
    ) -> Self {
        let ContractSettings { session, role, contracts, mode, sees_model, feedback, max_retries, .. } = settings;
        let ContractSettings { approver, pause_scope, hold_wait, world, clock, redactor, .. } = settings;
        let redact = {
            let redactor = redactor.clone();
            Arc::new(move |text: &str| redactor.text(text))
        };
        let opening = SessionOpening {
            session: session.clone(),
            role: role.clone(),
            decides: mode != ContractMode::Record,
            sees_model,
            labels,
        };
        let (started_at, since) = opened;
        let now = Now { ts: (started_at + since.elapsed()).to_string(), at_ms: clock.elapsed_ms() };
        let live = LiveSession::open(contracts, opening, redact, &now);
        let inner = Inner {
            session,
            role,
            mode,
            feedback,
            max_retries,
            approver,
            pause_scope,
            hold_wait,
            world,
            live: Mutex::new(live),
            turn: Arc::default(),
            holds: holds::Holds::default(),
            visible: membership.as_ref().map_or_else(Arc::default, Membership::visible),
            has_begun: AtomicBool::new(false),
            over: CancellationToken::new(),
            failure: Mutex::default(),
            clock,
            opened,
            redactor,
            membership,
        };
        Self { inner: Arc::new(inner) }
    }

    /// True when decisions take effect.
    #[must_use]
    pub fn governs(&self) -> bool {
        self.inner.mode == ContractMode::Govern
    }

    /// Returns the way in which the agent learns of hidden tools.
    #[must_use]
    pub fn feedback(&self) -> NarrowingFeedback {
        self.inner.feedback
    }

    /// The number of times that the model is asked again after a block.
    #[must_use]
    pub fn max_retries(&self) -> u64 {
        self.inner.max_retries
    }

    /// The reason why approvals could not be asked for. The scenario cannot be judged then.
    #[must_use]
    pub fn failure(&self) -> Option<String> {
        self.inner.failure.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Inner {
    fn live(&self) -> MutexGuard<'_, LiveSession> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn has_begun(&self) -> bool {
        self.has_begun.load(Ordering::Acquire)
    }

    fn now(&self) -> Now {
        let (started_at, since) = self.opened;
        Now { ts: (started_at + since.elapsed()).to_string(), at_ms: self.clock.elapsed_ms() }
    }

    /// Works with the session under its lock. Notifies clients that list tools when the state changed, and callers that
    /// wait when the session ended.
    fn with<T>(&self, work: impl FnOnce(&mut LiveSession, &Now) -> T) -> T {
        let now = self.now();
        let mut live = self.live();
        let before = live.state().version;
        let tally = self.membership.as_ref().map(|_| workflow::Tally::of(&live));
        let result = work(&mut live, &now);
        let (after, is_over) = (live.state().version, live.is_over());
        let change = tally.map(|before| before.change(&live));
        drop(live);
        if after != before {
            self.visible.send_replace(after);
        }
        if is_over {
            self.over.cancel();
        }
        if let (Some(membership), Some(change)) = (&self.membership, change) {
            membership.tell(&self.session, change);
        }
        result
    }

    fn fail(&self, reason: String) {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(reason);
    }

    fn record(&self) -> SessionRecord {
        let live = self.live();
        let log = live.log();
        SessionRecord {
            session: self.session.clone(),
            role: self.role.clone(),
            parent: self.membership.as_ref().and_then(|membership| membership.parent.clone()),
            contract: live.set().hash.clone(),
            status: live.state().status.name().to_owned(),
            phase: live.state().phase.clone(),
            records: log.records.clone(),
            only_counted: log.only_counted,
            last_hash: log.last_hash.clone(),
        }
    }
}

/// The reason of a decision as one line for the agent.
pub(crate) fn line_of(reason: &Reason) -> String {
    scenario::untrusted::line(&reason.explain(), 500)
}

#[async_trait]
impl Gateway for ContractSession {
    /// Begins to decide: calls of the setup are not the agent's doing.
    async fn begin(&self) {
        self.inner.has_begun.store(true, Ordering::Release);
    }

    /// Ends the session: calls that are held are denied.
    async fn seal(&self) {
        self.inner.over.cancel();
        self.inner.holds.settle().await;
        self.inner.with(|live, now| live.close(now));
    }

    fn record(&self, evidence: &mut Evidence) {
        let record = evidence.tool_contracts.get_or_insert_with(ContractRecord::default);
        record.mode = self.inner.mode;
        record.sessions.push(self.inner.record());
    }
}

impl fmt::Debug for ContractSession {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ContractSession").field("session", &self.inner.session).finish_non_exhaustive()
    }
}
