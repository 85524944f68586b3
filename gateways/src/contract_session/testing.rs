//! Shared by the tests of governed gateways.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use scenario::evidence::{ContractMode, ContractSession as SessionRecord, Evidence};
use scenario::intervention::Intervention;
use scenario::spec::sections::{NarrowingFeedback, PauseScope};
use serde_json::Value as Json;
use tokio::sync::watch;
use tool_contracts::options::{Mode, ResponseGate};
use tool_contracts::{CompileOptions, RawFile, RawSet, Script, compile};

use super::{ContractSession, ContractSettings, SessionApprover};
use crate::Gateway as _;
use crate::approvals::{ApprovalAnswer, ApprovalRequest, Approvals, ApprovalsUnavailable, PendingApproval};
use crate::clock::Clock;
use crate::redact::Redactor;

/// A session of an agent that looks things up and pays: `pay` needs a `look` before it, and at most 100; 50 and more is held.
const SESSION: &str = "schema_version: \"1.0\"\nagent: payer\n\
    phases: [{name: start, initial: true}, {name: looked, terminal: true}]\ntransitions: {start: [looked]}\n";
const LOOK: &str =
    "tool: look\nside_effect: read\ntransitions: {valid_in_phases: [start, looked], advances_to: looked}\n";
const PAY: &str = "tool: pay\nside_effect: financial\ntransitions: {valid_in_phases: [looked]}\n\
    argument_value_invariants: [{path: $.amount, lte: 100}]\n\
    checkpoint: {when: [{path: $.amount, gte: 50}], timeout_seconds: 60, context: [{path: $.amount, label: Amount}]}\n";

/// The options of a session in a test.
pub(crate) struct Opening {
    pub(crate) mode: ContractMode,
    pub(crate) gate: ResponseGate,
    pub(crate) feedback: NarrowingFeedback,
    pub(crate) max_retries: u64,
    pub(crate) approver: SessionApprover,
    pub(crate) pause_scope: PauseScope,
    pub(crate) hold_wait: Duration,
    pub(crate) limits: &'static str,
}

impl Default for Opening {
    fn default() -> Self {
        Self {
            mode: ContractMode::Govern,
            gate: ResponseGate::RejectAll,
            feedback: NarrowingFeedback::Silent,
            max_retries: 0,
            approver: SessionApprover::Scripted { script: Script::default(), is_virtual: true },
            pause_scope: PauseScope::Session,
            hold_wait: Duration::from_secs(45),
            limits: "",
        }
    }
}

impl Opening {
    /// Opens the session, and the agent starts.
    pub(crate) async fn begin(self) -> Arc<ContractSession> {
        let session = self.open();
        session.begin().await;
        session
    }

    /// Opens the session. The agent has not started.
    pub(crate) fn open(self) -> Arc<ContractSession> {
        let file = |name: &str, text: String| RawFile { name: name.to_owned(), text };
        let files = vec![
            file("session.yaml", format!("{SESSION}{}", self.limits)),
            file("look.yaml", LOOK.to_owned()),
            file("pay.yaml", PAY.to_owned()),
        ];
        let mut options = CompileOptions::default();
        options.run.gate = self.gate;
        if self.mode == ContractMode::Govern {
            options.run.mode = Mode::Govern;
        }
        let (set, _) = compile(&RawSet { files }, &options).expect("a set");
        Arc::new(ContractSession::open(ContractSettings {
            session: "s-1".to_owned(),
            role: None,
            contracts: Arc::new(set),
            mode: self.mode,
            sees_model: true,
            feedback: self.feedback,
            max_retries: self.max_retries,
            approver: self.approver,
            pause_scope: self.pause_scope,
            hold_wait: self.hold_wait,
            world: None,
            clock: Arc::new(Clock::default()),
            started_at: Timestamp::UNIX_EPOCH,
            redactor: Redactor::default(),
        }))
    }
}

/// The record of a session so far.
pub(crate) fn record(session: &ContractSession) -> SessionRecord {
    let mut evidence = Evidence::default();
    session.record(&mut evidence);
    evidence.tool_contracts.expect("a record").sessions.remove(0)
}

/// The records of a kind.
pub(crate) fn records(session: &ContractSession, kind: &str) -> Vec<Json> {
    record(session).records.into_iter().filter(|record| record["kind"] == kind).collect()
}

/// A place of approvals, at which a test decides.
#[derive(Debug)]
pub(crate) struct Desk {
    asked: Mutex<Vec<ApprovalRequest>>,
    withdrawn: Mutex<Vec<String>>,
    answer: watch::Sender<Option<ApprovalAnswer>>,
    interventions: watch::Sender<Vec<Intervention>>,
    /// True when approvals are unavailable.
    is_closed: bool,
}

impl Desk {
    pub(crate) fn open() -> Arc<Self> {
        Arc::new(Self::new(false))
    }

    pub(crate) fn closed() -> Arc<Self> {
        Arc::new(Self::new(true))
    }

    fn new(is_closed: bool) -> Self {
        Self {
            asked: Mutex::default(),
            withdrawn: Mutex::default(),
            answer: watch::Sender::new(None),
            interventions: watch::Sender::default(),
            is_closed,
        }
    }

    pub(crate) fn approver(self: &Arc<Self>) -> SessionApprover {
        SessionApprover::Human(Some(Arc::<Self>::clone(self)))
    }

    pub(crate) fn approve(&self) {
        self.answer.send_replace(Some(ApprovalAnswer::Approved { by: "ada".to_owned(), note: "fine".to_owned() }));
    }

    /// Intervenes as an operator.
    pub(crate) fn intervene(&self, intervention: Intervention) {
        self.interventions.send_modify(|all| all.push(intervention));
    }

    pub(crate) fn asked(&self) -> Vec<ApprovalRequest> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn withdrawn(&self) -> Vec<String> {
        self.withdrawn.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[async_trait]
impl Approvals for Desk {
    async fn ask(&self, request: &ApprovalRequest) -> Result<PendingApproval, ApprovalsUnavailable> {
        if self.is_closed {
            return Err(ApprovalsUnavailable { reason: "the desk is closed".to_owned() });
        }
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        asked.push(request.clone());
        Ok(PendingApproval { id: format!("approval-{}", asked.len()) })
    }

    async fn wait(&self, _: &PendingApproval) -> Result<ApprovalAnswer, ApprovalsUnavailable> {
        let mut answer = self.answer.subscribe();
        let gone = |_| ApprovalsUnavailable { reason: "the desk is gone".to_owned() };
        let answer = answer.wait_for(Option::is_some).await.map_err(gone)?.clone();
        Ok(answer.unwrap_or(ApprovalAnswer::DeadlinePassed))
    }

    async fn withdraw(&self, pending: &PendingApproval) {
        self.withdrawn.lock().unwrap_or_else(PoisonError::into_inner).push(pending.id.clone());
    }

    async fn next_intervention(&self, after: u64) -> (u64, Intervention) {
        let mut all = self.interventions.subscribe();
        let next = all.wait_for(|all| all.len() as u64 > after).await.expect("a desk").clone();
        (after + 1, next[usize::try_from(after).expect("few")].clone())
    }
}
