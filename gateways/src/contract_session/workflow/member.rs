//! A session's place in a workflow: the changes that it reports to the workflow, and the permissions that it requests
//! first.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use scenario::evidence::ContractMode;
use tokio::sync::watch;
use tool_contracts::{Code, ExecutionSeen, LiveSession, Reason, Status, WorkflowCall, WorkflowEvent};
use tool_contracts::{wf_budgets, wf_precheck};

use super::{ContractWorkflow, Entered};
use crate::contract_session::{ExecutionRequest, Inner, Permit};

/// A session's place in a workflow.
pub(in crate::contract_session) struct Membership {
    workflow: Weak<ContractWorkflow>,
    /// The session that handed work to it.
    pub(in crate::contract_session) parent: Option<String>,
    visible: Arc<watch::Sender<u64>>,
    /// Calls that went out, until they are complete.
    out: Mutex<BTreeMap<String, Entered>>,
}

/// The figures of a session that count for its workflow.
pub(in crate::contract_session) struct Tally {
    steps: u64,
    cost_micros: u64,
    is_over: bool,
}

/// A change of those figures.
pub(in crate::contract_session) struct Change {
    steps: u64,
    cost_micros: u64,
    /// The status of a session that has ended just now.
    ended: Option<Status>,
}

impl Tally {
    /// The figures of now.
    pub(in crate::contract_session) fn of(live: &LiveSession) -> Self {
        let state = live.state();
        Self { steps: state.total_steps, cost_micros: state.cost_micros, is_over: live.is_over() }
    }

    /// The change since then.
    pub(in crate::contract_session) fn change(self, live: &LiveSession) -> Change {
        let state = live.state();
        Change {
            steps: state.total_steps.saturating_sub(self.steps),
            cost_micros: state.cost_micros.saturating_sub(self.cost_micros),
            ended: (!self.is_over && live.is_over()).then(|| state.status.clone()),
        }
    }
}

impl Membership {
    pub(super) fn new(
        workflow: Weak<ContractWorkflow>,
        parent: Option<String>,
        visible: &Arc<watch::Sender<u64>>,
    ) -> Self {
        Self { workflow, parent, visible: Arc::clone(visible), out: Mutex::default() }
    }

    /// The sender for changes of tools, which all sessions share.
    pub(in crate::contract_session) fn visible(&self) -> Arc<watch::Sender<u64>> {
        Arc::clone(&self.visible)
    }

    fn keep(&self, call: &str, entered: Entered) {
        self.out.lock().unwrap_or_else(PoisonError::into_inner).insert(call.to_owned(), entered);
    }

    fn release(&self, call: &str) {
        let entered = self.out.lock().unwrap_or_else(PoisonError::into_inner).remove(call);
        drop(entered);
    }

    /// Applies a change of a session to the workflow. The session's own lock is free.
    pub(in crate::contract_session) fn tell(&self, session: &str, change: Change) {
        let Some(workflow) = self.workflow.upgrade() else { return };
        for _ in 0..change.steps {
            workflow.apply(&WorkflowEvent::StepTaken { session: session.to_owned() });
        }
        if change.cost_micros > 0 {
            workflow.apply(&WorkflowEvent::CostAdded(change.cost_micros));
        }
        if let Some(status) = change.ended {
            workflow.session_ended(session, &status);
        }
    }
}

impl Inner {
    /// The workflow of the session.
    pub(super) fn workflow(&self) -> Option<Arc<ContractWorkflow>> {
        self.membership.as_ref().and_then(|membership| membership.workflow.upgrade())
    }

    /// The reason for which the workflow refuses a request to a model.
    pub(in crate::contract_session) fn refused_by_workflow(&self) -> Option<Reason> {
        let workflow = self.workflow()?;
        let checked = {
            let shared = workflow.shared();
            match wf_precheck(&workflow.workflow, &shared.state, &self.session) {
                // It may still answer in text, without tools.
                Err(Code::SessionCancelRequested) => wf_budgets(&workflow.workflow, &shared.state),
                checked => checked,
            }
        };
        let reason = Reason::of_workflow(checked.err()?);
        self.with(|live, now| live.refuse_request(now, &reason)).then_some(reason)
    }

    /// Requests permission for an execution from the workflow, before the session is asked. Waits for shared resources.
    pub(in crate::contract_session) async fn enter_workflow(
        &self,
        request: &ExecutionRequest,
    ) -> Result<Option<Entered>, Permit> {
        let Some(workflow) = self.workflow().filter(|_| self.mode != ContractMode::Record) else { return Ok(None) };
        let call = self.workflow_call(request);
        let refused = match self.mode {
            ContractMode::Govern => {
                let wait = self.live().set().total_timeout(&request.tool);
                match workflow.enter(call, wait).await {
                    Ok(entered) => return Ok(Some(entered)),
                    Err(code) => code,
                }
            }
            ContractMode::Observe | ContractMode::Record => {
                let (entered, code) = workflow.enter_observed(call);
                if let Some(code) = code {
                    self.refuse_execution(request, &Reason::of_workflow(code));
                }
                return Ok(Some(entered));
            }
        };
        let reason = Reason::of_workflow(refused);
        match self.refuse_execution(request, &reason) {
            Some(call) => Err(Permit::Refused { call, reason: Box::new(reason) }),
            None => Ok(None),
        }
    }

    /// Dispatches a call that the session let through. It owns its resources until it is complete.
    pub(in crate::contract_session) async fn dispatch_in_workflow(
        &self,
        call: &str,
        tool: &str,
        entered: Entered,
    ) -> Result<(), Reason> {
        if self.mode == ContractMode::Govern {
            let wait = self.live().set().total_timeout(tool);
            if let Err(code) = entered.dispatch(wait).await {
                let reason = Reason::of_workflow(code);
                self.with(|live, now| live.withdraw(now, call, tool, &reason));
                return Err(reason);
            }
        } else {
            entered.dispatch_observed();
        }
        if let Some(membership) = &self.membership {
            membership.keep(call, entered);
        }
        Ok(())
    }

    /// Releases the resources of a call.
    pub(in crate::contract_session) fn leave_workflow(&self, call: &str) {
        if let Some(membership) = &self.membership {
            membership.release(call);
        }
    }

    fn refuse_execution(&self, request: &ExecutionRequest, reason: &Reason) -> Option<String> {
        let ExecutionRequest { via, tool, arguments, model_id } = request.clone();
        let seen = ExecutionSeen { via, tool, arguments, model_id };
        self.with(|live, now| live.refuse_execution(now, &seen, reason))
    }

    fn workflow_call(&self, request: &ExecutionRequest) -> WorkflowCall {
        WorkflowCall {
            session: self.session.clone(),
            arguments: request.arguments.clone(),
            is_mutating: self.live().set().is_mutating(&request.tool),
        }
    }
}
