//! A whole step: judge its calls one after the other, then say what is released.

use crate::apply::StepCall;
use crate::call::{Batch, Call, Exchange};
use crate::compile::Compiled;
use crate::decide::{Decision, Verdict, decide};
use crate::options::{Mode, ResponseGate};
use crate::state::SessionState;

/// Judges the calls of one response in their order.
#[must_use]
pub fn judge_step(set: &Compiled, state: &SessionState, calls: &[Call], exchange: Option<Exchange>) -> Vec<Decision> {
    let mut batch = Batch { step: state.attempt_steps + 1, accepted: Vec::new(), exchange, exchange_reasons: None };
    let mut decisions = Vec::new();
    for call in calls {
        let decision = decide(set, state, &batch, call);
        if decision.verdict != Verdict::Block {
            batch.accepted.push(call.clone());
        }
        decisions.push(decision);
    }
    decisions
}

/// Returns the calls of a step that are released, and whether it counts as a step. Held calls must be resolved before
/// in govern mode; there they count as refused.
#[must_use]
pub fn release_step(set: &Compiled, state: &SessionState, calls: &[(Call, Verdict)]) -> (Vec<StepCall>, bool) {
    let is_allowed = |verdict: Verdict| set.run.mode == Mode::Observe || verdict == Verdict::Allow;
    let all = calls.iter().all(|(_, verdict)| is_allowed(*verdict));
    let any = calls.iter().any(|(_, verdict)| is_allowed(*verdict));
    let (releases, is_step) = match set.run.gate {
        _ if all => (true, true),
        ResponseGate::RejectAll => (false, false),
        ResponseGate::StripPartial => (true, any),
        ResponseGate::StripBlocked => (true, !state.is_final()),
    };
    let of_call = |(call, verdict): &(Call, Verdict)| StepCall {
        call: call.clone(),
        verdict: *verdict,
        is_released: releases && is_allowed(*verdict),
    };
    (calls.iter().map(of_call).collect(), is_step)
}
