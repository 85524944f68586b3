//! R6: calls are left, for the session and for the tool.

use crate::code::Code;
use crate::compile::Compiled;
use crate::decide::{Context, Reason};
use crate::reason::name;
use crate::state::SessionState;

/// Refuses calls beyond the budgets; accepted calls of the batch count.
pub(crate) fn judge(context: &Context<'_>, reasons: &mut Vec<Reason>) {
    let accepted = &context.batch.accepted;
    let all = context.state.released_calls + accepted.len() as u64;
    if let Some(most) = context.set.session.limits.max_tool_calls.filter(|most| all >= *most) {
        let sentence = format!("the session's {most} calls are used up");
        let reason = Reason::new(Code::SessionLimitExceeded, "session_limits/max_tool_calls", sentence);
        reasons.push(reason.checked("max_tool_calls", most).found("calls", all));
    }
    let tool = &context.call.tool;
    let same = accepted.iter().filter(|call| call.tool == *tool).count() as u64;
    reasons.extend(used_up(context.set, context.state, tool, same));
}

/// Returns why no more calls of a tool are left, when `more` are on their way.
pub(crate) fn used_up(set: &Compiled, state: &SessionState, tool: &str, more: u64) -> Option<Reason> {
    let most = *set.session.limits.max_calls_per_tool.get(tool)?;
    let calls = state.per_tool.get(tool).copied().unwrap_or(0) + more;
    if calls < most {
        return None;
    }
    let sentence = format!("the session's {most} calls of {} are used up", name(tool));
    let reason = Reason::new(Code::SessionLimitExceeded, format!("session_limits/max_calls_per_tool/{tool}"), sentence);
    Some(reason.checked("max_calls_per_tool", most).found("calls", calls))
}
