//! R3: the tool has a contract.

use crate::code::Code;
use crate::compile::Compiled;
use crate::decide::{Context, Reason};
use crate::options::Fallback;
use crate::reason::name;

/// Refuses tools without a contract, unless the run lets them pass.
pub(crate) fn judge(context: &Context<'_>, reasons: &mut Vec<Reason>) {
    reasons.extend(unmatched(context.set, &context.call.tool));
}

/// Returns why a tool is not known.
pub(crate) fn unmatched(set: &Compiled, tool: &str) -> Option<Reason> {
    let is_refused = set.run.unmatched == Fallback::Block && !set.tools.contains_key(tool);
    is_refused.then(|| Reason::new(Code::NoContract, "unmatched", format!("{} has no contract", name(tool))))
}
