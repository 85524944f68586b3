//! W7: killing a session, a session with its descendants, or the whole workflow.

use super::state::WorkflowState;
use crate::code::Code;
use crate::compile::workflow::CompiledWorkflow;
use crate::read::workflow::WorkflowKill;
use crate::state::Status;

/// The scope of a kill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KillScope {
    /// One session.
    Session(String),
    /// A session and its descendants.
    Subtree(String),
    /// Every session; nothing starts any more.
    Workflow,
}

/// On whose behalf something is killed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KillActor {
    /// A person with the right to.
    Operator,
    /// The root session.
    RootSession,
    /// Any other session.
    OtherSession,
}

/// Kills what is in the scope, when the actor may.
pub(super) fn kill(
    workflow: &CompiledWorkflow,
    state: &mut WorkflowState,
    scope: &KillScope,
    actor: &KillActor,
) -> Result<(), Code> {
    match scope {
        KillScope::Session(session) => state.end(session, killed()),
        KillScope::Subtree(_) if !workflow.workflow.subtree_kill => return Err(Code::KillScopeDisabled),
        KillScope::Subtree(session) => kill_subtree(state, session),
        KillScope::Workflow if !may_kill_all(workflow.workflow.workflow_kill, actor) => {
            return Err(Code::KillNotPermitted);
        }
        KillScope::Workflow => kill_all(state),
    }
    Ok(())
}

fn killed() -> Status {
    Status::Killed("kill_requested".to_owned())
}

/// The deepest sessions first, so that no child outlives its parent's policy.
fn kill_subtree(state: &mut WorkflowState, session: &str) {
    for child in state.children(session) {
        kill_subtree(state, &child);
    }
    state.end(session, killed());
}

fn kill_all(state: &mut WorkflowState) {
    let sessions: Vec<String> = state.members.keys().cloned().collect();
    sessions.iter().for_each(|session| state.end(session, killed()));
    state.handoffs.values_mut().for_each(|handoff| handoff.is_open = false);
    state.is_killed = true;
}

fn may_kill_all(right: WorkflowKill, actor: &KillActor) -> bool {
    match actor {
        KillActor::Operator => true,
        KillActor::RootSession => right != WorkflowKill::OperatorOnly,
        KillActor::OtherSession => right == WorkflowKill::AnySession,
    }
}
