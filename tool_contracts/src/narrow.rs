//! Narrowing: which of the offered tools the model is not shown.
//!
//! It only hides what would be blocked whatever the arguments were; the block itself stays with `decide`.

use crate::code::Code;
use crate::compile::Compiled;
use crate::decide::Reason;
use crate::decide::admission::{contract, limits, manual_filter, policy, risk_gate, status};
use crate::decide::per_tool::{forbids, phase, preconditions};
use crate::decide::session::{label_gates, rules};
use crate::state::SessionState;

/// A tool that is not shown, and the first cause.
#[derive(Debug, Clone, PartialEq)]
pub struct Removed {
    /// The tool.
    pub tool: String,
    /// The cause.
    pub reason: Reason,
}

/// The tools to remove from those offered, in their order.
#[must_use]
pub fn narrow(set: &Compiled, state: &SessionState, offered: &[String]) -> Vec<Removed> {
    let removed = |tool: &String| Some(Removed { tool: tool.clone(), reason: cause(set, state, tool)? });
    offered.iter().filter_map(removed).collect()
}

fn cause(set: &Compiled, state: &SessionState, name: &str) -> Option<Reason> {
    let contract = set.tools.get(name);
    status::ended(state)
        .or_else(|| contract::unmatched(set, name))
        .or_else(|| risk_gate::blocked(set, contract?))
        .or_else(|| policy::denied(set, name))
        .or_else(|| phase::wrong_phase(state, contract?))
        .or_else(|| forbids::forbidden(state, name))
        .or_else(|| preconditions::unmet_by_all(set, state, contract?))
        .or_else(|| label_gates::denied(set, state, name))
        .or_else(|| rules::refused_for_all(set, state, name))
        .or_else(|| limits::used_up(set, state, name, 0))
        .or_else(|| all_used_up(set, state))
        .or_else(|| manual_filter::filtered(state, name))
}

/// With the mode `narrow`, no tool is shown once the calls are used up, so that the model can still answer in text.
fn all_used_up(set: &Compiled, state: &SessionState) -> Option<Reason> {
    let is_hidden = set.session.limits.is_narrowing && state.has_used_calls(set);
    let rule = "session_limits/max_tool_calls";
    is_hidden.then(|| Reason::new(Code::SessionLimitExceeded, rule, "the session's calls are used up"))
}
