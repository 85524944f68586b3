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
