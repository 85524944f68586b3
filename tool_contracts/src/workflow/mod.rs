//! Workflows: several sessions with roles, handoffs, shared budgets and shared resources.
//!
//! [`wf_decide`] looks, [`wf_apply`] is the only thing that changes. An operation that is refused changes nothing and
//! gives a finding with the code.

mod decide;
mod handoff;
mod kill;
mod overlap;
mod state;

pub use decide::{WorkflowCall, WorkflowDecision, wf_decide};
pub use kill::{KillActor, KillScope};
pub use overlap::{Interval, overlaps};
pub use state::WorkflowState;

use crate::code::Code;
use crate::compile::workflow::CompiledWorkflow;
use crate::finding::Finding;
use crate::state::{SessionState, Status};

/// An event of a workflow.
#[derive(Debug, Clone, PartialEq)]
pub enum WorkflowEvent {
    /// The root session opens with a role.
    RootOpened {
        /// The session.
        session: String,
        /// Its role.
        role: String,
    },
    /// A session offers work to a role.
    HandoffOffered {
        /// The handoff.
        handoff: String,
        /// The session that offers it.
        session: String,
        /// The role that may claim it.
        to: String,
        /// The names of the attached artifacts.
        artifacts: Vec<String>,
    },
    /// A new session claims a handoff.
    HandoffClaimed {
        /// The handoff.
        handoff: String,
        /// The new session.
        session: String,
        /// Its role.
        role: String,
    },
    /// An offer is taken back.
    HandoffCancelled {
        /// The handoff.
        handoff: String,
    },
    /// A session takes a step.
    StepTaken {
        /// The session.
        session: String,
    },
    /// A model's answer was paid for, in millionths of a dollar.
    CostAdded(u64),
    /// A call is under way to being decided: it is in flight, and owns nothing yet.
    CallHeld(WorkflowCall),
    /// A call went out.
    CallDispatched(WorkflowCall),
    /// A call that went out is over.
    CallCompleted(WorkflowCall),
    /// A session closed.
    SessionClosed {
        /// The session.
        session: String,
    },
    /// A request to kill sessions.
    KillRequested {
        /// The sessions to kill.
        scope: KillScope,
        /// On whose behalf.
        actor: KillActor,
    },
    /// The time is over that a session had to answer after it was asked to end.
    GraceExpired {
        /// The session.
        session: String,
    },
}

/// Applies an event; an operation that is refused changes nothing, and its code is in the finding.
pub fn wf_apply(workflow: &CompiledWorkflow, state: &mut WorkflowState, event: &WorkflowEvent) -> Vec<Finding> {
    match try_apply(workflow, state, event) {
        Ok(()) => Vec::new(),
        Err(code) => vec![Finding::of_session(code, "workflow", code.explanation())],
    }
}

fn try_apply(workflow: &CompiledWorkflow, state: &mut WorkflowState, event: &WorkflowEvent) -> Result<(), Code> {
    match event {
        WorkflowEvent::RootOpened { session, role } => handoff::open_root(workflow, state, session, role),
        WorkflowEvent::HandoffOffered { handoff, session, to, artifacts } => {
            handoff::offer(workflow, state, &handoff::Offer { handoff, session, to, artifacts })
        }
        WorkflowEvent::HandoffClaimed { handoff, session, role } => {
            handoff::claim(workflow, state, handoff, session, role)
        }
        WorkflowEvent::HandoffCancelled { handoff } => handoff::cancel(state, handoff),
        WorkflowEvent::StepTaken { session } => take_step(workflow, state, session),
        WorkflowEvent::CostAdded(micros) => {
            state.cost_micros = state.cost_micros.saturating_add(*micros);
            Ok(())
        }
        WorkflowEvent::CallHeld(call) => {
            state.hold(workflow, call);
            Ok(())
        }
        WorkflowEvent::CallDispatched(call) => {
            state.dispatch(workflow, call);
            Ok(())
        }
        WorkflowEvent::CallCompleted(call) => {
            state.complete(workflow, call);
            Ok(())
        }
        WorkflowEvent::SessionClosed { session } => {
            state.end(session, Status::Closed);
            Ok(())
        }
        WorkflowEvent::KillRequested { scope, actor } => kill::kill(workflow, state, scope, actor),
        WorkflowEvent::GraceExpired { session } => {
            if state.status(session) == Some(&Status::CancelRequested) {
                state.end(session, Status::Killed("cancel_grace".to_owned()));
            }
            Ok(())
        }
    }
}

fn take_step(workflow: &CompiledWorkflow, state: &mut WorkflowState, session: &str) -> Result<(), Code> {
    wf_precheck(workflow, state, session)?;
    state.total_steps += 1;
    Ok(())
}

/// Checks that a session may go on, and that the budgets of the whole workflow are not used up.
///
/// # Errors
/// The code of the refusal.
pub fn wf_precheck(workflow: &CompiledWorkflow, state: &WorkflowState, session: &str) -> Result<(), Code> {
    decide::usable(state, session)?;
    wf_budgets(workflow, state)
}

/// Checks the budgets of the whole workflow only. A session that was asked to end may still answer in text within them.
///
/// # Errors
/// The code of the refusal.
pub fn wf_budgets(workflow: &CompiledWorkflow, state: &WorkflowState) -> Result<(), Code> {
    let limits = &workflow.workflow.limits;
    let is_over = limits.max_total_steps.is_some_and(|most| state.total_steps >= most)
        || limits.max_total_cost_micros.is_some_and(|most| state.cost_micros >= most);
    if is_over {
        return Err(Code::WorkflowLimitExceeded);
    }
    Ok(())
}

/// Gives a child the labels that its parent has when it claims: a handoff must not launder them.
pub fn inherit_labels(parent: &SessionState, child: &mut SessionState) {
    for (label, origin) in &parent.labels {
        child.labels.entry(label.clone()).or_insert_with(|| origin.clone());
    }
}
