//! R13 and R14: rules about the exchange with the model, looked at now or known from a record.

use super::{assertions, response_format};
use crate::call::{Batch, Call};
use crate::code::Code;
use crate::compile::Compiled;
use crate::decide::{Context, Reason};
use crate::state::SessionState;

/// Refuses calls whose exchange breaks a rule.
pub(crate) fn judge(context: &Context<'_>, reasons: &mut Vec<Reason>) {
    match &context.batch.exchange_reasons {
        Some(known) => reasons.extend(known.iter().cloned()),
        None => {
            response_format::judge(context, reasons);
            assertions::judge(context, reasons);
        }
    }
}

/// The remark when these rules could not be looked at: neither passed nor failed.
pub(crate) fn notes(context: &Context<'_>) -> Vec<Code> {
    let Context { set, batch, call, .. } = context;
    let is_blind = batch.exchange.is_none() && batch.exchange_reasons.is_none() && set.reads_exchange(&call.tool);
    if is_blind { vec![Code::NotEvaluable] } else { Vec::new() }
}

/// The reasons against a call whose exchange was seen, for its record; `None` where no rule reads it, or nothing was seen.
pub(crate) fn reasons(set: &Compiled, state: &SessionState, batch: &Batch, call: &Call) -> Option<Vec<Reason>> {
    if batch.exchange.is_none() || !set.reads_exchange(&call.tool) {
        return None;
    }
    let mut reasons = Vec::new();
    judge(&Context { set, state, batch, call, tool: set.tools.get(&call.tool) }, &mut reasons);
    Some(reasons)
}
