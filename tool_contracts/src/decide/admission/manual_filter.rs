//! R5b: no filter from outside leaves the tool out.

use crate::code::Code;
use crate::decide::{Context, Reason};
use crate::reason::name;
use crate::state::SessionState;

/// Refuses tools that are filtered out.
pub(crate) fn judge(context: &Context<'_>, reasons: &mut Vec<Reason>) {
    reasons.extend(filtered(context.state, &context.call.tool));
}

/// Returns why a tool is filtered out.
pub(crate) fn filtered(state: &SessionState, tool: &str) -> Option<Reason> {
    let is_left = state.filter.as_ref().is_none_or(|filter| filter.contains(tool));
    let sentence = || format!("a filter leaves {} out", name(tool));
    (!is_left).then(|| Reason::new(Code::ManualFilter, "filter", sentence()))
}
