//! W5: whether a call may go out, given what other sessions hold.

use serde_json::Value as Json;

use super::state::WorkflowState;
use crate::code::Code;
use crate::compile::workflow::CompiledWorkflow;
use crate::read::workflow::ResourceMode;
use crate::state::Status;

/// A call of one session of a workflow.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkflowCall {
    /// The session.
    pub session: String,
    /// The arguments.
    pub arguments: Json,
    /// True when it changes something: its side effect is not `read`.
    pub is_mutating: bool,
}

/// True when a call may go out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkflowDecision {
    /// It may.
    Allow,
    /// It may not.
    Block(Code),
    /// It waits in arrival order, and is judged again.
    Wait,
}

/// Decides on a call of a session.
#[must_use]
pub fn wf_decide(workflow: &CompiledWorkflow, state: &WorkflowState, call: &WorkflowCall) -> WorkflowDecision {
    if let Err(code) = usable(state, &call.session) {
        return WorkflowDecision::Block(code);
    }
    let shared = workflow.workflow.shared_resources.iter();
    let decisions = shared.map(|(alias, mode)| match workflow.instance(&alias.name, &call.arguments) {
        Some(instance) => on_resource(state, call, *mode, &instance),
        None => WorkflowDecision::Allow,
    });
    // A refusal comes before a wait.
    let mut result = WorkflowDecision::Allow;
    for decision in decisions {
        match decision {
            WorkflowDecision::Block(_) => return decision,
            WorkflowDecision::Wait => result = decision,
            WorkflowDecision::Allow => {}
        }
    }
    result
}

/// Returns an error if a session may not call anything.
pub(super) fn usable(state: &WorkflowState, session: &str) -> Result<(), Code> {
    match state.status(session) {
        Some(Status::Active | Status::Paused) => Ok(()),
        Some(Status::CancelRequested) => Err(Code::SessionCancelRequested),
        Some(Status::Killed(_)) => Err(Code::SessionKilled),
        Some(Status::Closed) | None => Err(Code::SessionNotActive),
    }
}

fn on_resource(state: &WorkflowState, call: &WorkflowCall, mode: ResourceMode, instance: &str) -> WorkflowDecision {
    let of_others = |(session, _): &&(String, bool)| *session != call.session;
    let mut others = state.in_flight.get(instance).into_iter().flatten().filter(of_others);
    match mode {
        ResourceMode::ExclusivePending if others.next().is_some() => WorkflowDecision::Block(Code::ResourcePending),
        ResourceMode::SerialOnly if others.any(|(_, is_mutating)| *is_mutating) => WorkflowDecision::Wait,
        ResourceMode::SingleWriter if call.is_mutating => match state.owners.get(instance) {
            Some(owner) if *owner != call.session => WorkflowDecision::Block(Code::ResourceOwned),
            _ => WorkflowDecision::Allow,
        },
        _ => WorkflowDecision::Allow,
    }
}
