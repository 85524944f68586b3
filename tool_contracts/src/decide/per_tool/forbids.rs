//! R9: no earlier call forbids the tool.

use crate::code::Code;
use crate::decide::{Context, Reason};
use crate::reason::name;
use crate::state::SessionState;

/// Refuses tools that a committed call, or an accepted one of the batch, forbids.
pub(crate) fn judge(context: &Context<'_>, reasons: &mut Vec<Reason>) {
    let tool = &context.call.tool;
    let forbids = |other: &str| {
        let contract = context.set.tools.get(other);
        contract.is_some_and(|contract| contract.forbids_after.iter().any(|named| named.name == *tool))
    };
    let in_batch = context.batch.accepted.iter().find(|call| forbids(&call.tool));
    let in_batch = in_batch.map(|call| reason(tool, &format!("the call of {} before it", name(&call.tool))));
    reasons.extend(forbidden(context.state, tool).or(in_batch));
}

/// Returns why a tool is forbidden for the rest of the session.
pub(crate) fn forbidden(state: &SessionState, tool: &str) -> Option<Reason> {
    let call = state.forbidden.get(tool)?;
    Some(reason(tool, &format!("the call {}", name(call))))
}

fn reason(tool: &str, by: &str) -> Reason {
    let sentence = format!("{} is forbidden for the rest of the session by {by}", name(tool));
    Reason::new(Code::ForbiddenInState, "forbids_after", sentence)
}
