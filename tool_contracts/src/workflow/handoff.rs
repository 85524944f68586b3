//! W1 to W3: the root session, offers and claims.

use super::state::{Member, OfferedHandoff, WorkflowState};
use crate::code::Code;
use crate::compile::workflow::CompiledWorkflow;
use crate::read::workflow::ClosePolicy;
use crate::state::Status;

/// An offer.
pub(super) struct Offer<'a> {
    pub(super) handoff: &'a str,
    pub(super) session: &'a str,
    pub(super) to: &'a str,
    pub(super) artifacts: &'a [String],
}

/// Opens the root session.
pub(super) fn open_root(
    workflow: &CompiledWorkflow,
    state: &mut WorkflowState,
    session: &str,
    role: &str,
) -> Result<(), Code> {
    refuse_if(state.is_killed, Code::WorkflowKilled)?;
    refuse_if(workflow.workflow.role(role).is_none(), Code::UnknownRole)?;
    refuse_if(state.members.values().any(|member| member.parent.is_none()), Code::RootExists)?;
    let close_policy = workflow.workflow.default_close;
    add_member(state, session, role, None, close_policy);
    Ok(())
}

/// Offers work to a role.
pub(super) fn offer(workflow: &CompiledWorkflow, state: &mut WorkflowState, offer: &Offer<'_>) -> Result<(), Code> {
    refuse_if(state.is_killed, Code::WorkflowKilled)?;
    let member = state.members.get(offer.session);
    let member = member.filter(|member| matches!(member.status, Status::Active | Status::Paused));
    let from = &member.ok_or(Code::SessionNotActive)?.role;
    let declared = workflow.workflow.handoffs.iter();
    let mut declared = declared.filter(|one| one.from.name == *from && one.to.name == offer.to);
    let declared = declared.next().ok_or(Code::HandoffNotDeclared)?;
    let is_missing = |name: &String| !offer.artifacts.contains(name);
    refuse_if(declared.requires_artifacts.iter().any(is_missing), Code::HandoffArtifactMissing)?;
    let open = state.handoffs.values().filter(|handoff| handoff.is_open).count() as u64;
    let most = workflow.workflow.limits.max_open_handoffs;
    refuse_if(most.is_some_and(|most| open >= most), Code::WorkflowLimitExceeded)?;
    let handoff = OfferedHandoff {
        session: offer.session.to_owned(),
        to: offer.to.to_owned(),
        is_open: true,
        close_policy: declared.parent_close_policy.unwrap_or(workflow.workflow.default_close),
    };
    state.handoffs.insert(offer.handoff.to_owned(), handoff);
    Ok(())
}

/// Claims a handoff with a new session. A claim that fails leaves it open.
pub(super) fn claim(
    workflow: &CompiledWorkflow,
    state: &mut WorkflowState,
    handoff: &str,
    session: &str,
    role: &str,
) -> Result<(), Code> {
    refuse_if(state.is_killed, Code::WorkflowKilled)?;
    let offered = state.handoffs.get(handoff).filter(|offered| offered.is_open).ok_or(Code::HandoffNotOpen)?;
    refuse_if(offered.to != role, Code::HandoffRoleMismatch)?;
    let limits = &workflow.workflow.limits;
    let all = state.members.len() as u64;
    let active = state.members.keys().filter(|session| !state.is_over(session)).count() as u64;
    refuse_if(limits.max_sessions.is_some_and(|most| all >= most), Code::WorkflowLimitExceeded)?;
    refuse_if(limits.max_active_sessions.is_some_and(|most| active >= most), Code::WorkflowLimitExceeded)?;
    let (parent, close_policy) = (offered.session.clone(), offered.close_policy);
    if let Some(offered) = state.handoffs.get_mut(handoff) {
        offered.is_open = false;
    }
    add_member(state, session, role, Some(parent), close_policy);
    Ok(())
}

/// Withdraws an offer.
pub(super) fn cancel(state: &mut WorkflowState, handoff: &str) -> Result<(), Code> {
    let offered = state.handoffs.get_mut(handoff).filter(|offered| offered.is_open).ok_or(Code::HandoffNotOpen)?;
    offered.is_open = false;
    Ok(())
}

fn add_member(state: &mut WorkflowState, session: &str, role: &str, parent: Option<String>, close_policy: ClosePolicy) {
    let member = Member { role: role.to_owned(), parent, status: Status::Active, close_policy };
    state.members.insert(session.to_owned(), member);
}

fn refuse_if(is_refused: bool, code: Code) -> Result<(), Code> {
    if is_refused { Err(code) } else { Ok(()) }
}
