//! R14: the exchange with the model keeps the tool's assertions.

use super::failures;
use crate::code::Code;
use crate::decide::{Context, Reason};

/// Refuses calls whose request or response breaks an assertion.
pub(crate) fn judge(context: &Context<'_>, reasons: &mut Vec<Reason>) {
    let (Some(tool), Some(exchange)) = (context.tool, &context.batch.exchange) else { return };
    let env = &context.set.run.env;
    failures(Code::AssertionFailed, "the request's", &tool.input_invariants, &exchange.request, env, reasons);
    failures(Code::AssertionFailed, "the response's", &tool.output_invariants, &exchange.response, env, reasons);
}

/// The remark when assertions could not be looked at: neither passed nor failed.
pub(crate) fn notes(context: &Context<'_>) -> Vec<Code> {
    let has_rules = |tool: &crate::read::tool::Tool| {
        !tool.input_invariants.is_empty() || !tool.output_invariants.is_empty() || tool.response_format.is_some()
    };
    let is_blind = context.batch.exchange.is_none() && context.tool.is_some_and(has_rules);
    if is_blind { vec![Code::NotEvaluable] } else { Vec::new() }
}
