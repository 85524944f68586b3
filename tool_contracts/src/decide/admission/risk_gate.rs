//! R4: the tool's gate, or that of its class, is open.

use crate::code::Code;
use crate::compile::Compiled;
use crate::decide::{Context, Reason};
use crate::read::tool::Tool;

/// Refuses tools that are blocked.
pub(crate) fn judge(context: &Context<'_>, reasons: &mut Vec<Reason>) {
    reasons.extend(context.tool.and_then(|tool| blocked(context.set, tool)));
}

/// Returns why a tool is blocked.
pub(crate) fn blocked(set: &Compiled, tool: &Tool) -> Option<Reason> {
    if !set.is_gated(tool) {
        return None;
    }
    let class = tool.side_effect.name();
    let (rule, sentence) = match tool.gate {
        Some(_) => ("gate".to_owned(), format!("the gate of `{}` blocks it", tool.name)),
        None => (format!("risk_defaults/{class}"), format!("{class} tools such as `{}` are blocked", tool.name)),
    };
    Some(Reason::new(Code::RiskGateBlocked, rule, sentence).found("side_effect", class))
}
