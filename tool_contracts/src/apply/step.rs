//! A step: attempts, budgets, reservations and the breaker for blocks.

use serde_json::Value as Json;

use super::StepCall;
use crate::compile::Compiled;
use crate::decide::Verdict;
use crate::state::aggregate::Contribution;
use crate::state::{OpenCall, SessionState};

/// Applies a step that was judged and gated.
pub(super) fn apply(set: &Compiled, state: &mut SessionState, calls: &[StepCall], is_step: bool) {
    state.attempt_steps += 1;
    remember_attempts(set, state, calls);
    if is_step && !state.is_final() {
        state.total_steps += 1;
    }
    for call in calls.iter().filter(|call| call.is_released) {
        release(set, state, call);
    }
    let released = calls.iter().any(|call| call.is_released);
    if released {
        state.consecutive_blocks = 0;
    } else if calls.iter().any(|call| call.verdict == Verdict::Block) {
        count_block(set, state);
    }
}

/// Counts a step in which something was blocked and nothing released.
pub(super) fn count_block(set: &Compiled, state: &mut SessionState) {
    state.consecutive_blocks += 1;
    if set.session.limits.consecutive_blocks.is_some_and(|most| state.consecutive_blocks >= most) {
        state.kill("circuit_breaker_blocks");
    }
}

/// Keeps the fingerprints of the last steps, blocked attempts included.
fn remember_attempts(set: &Compiled, state: &mut SessionState, calls: &[StepCall]) {
    let Some(rule) = set.session.limits.repetition else { return };
    let parsed = calls.iter().filter(|call| call.call.arguments.is_object());
    state.attempts.push_back(parsed.map(|call| call.call.fingerprint()).collect());
    while state.attempts.len() as u64 > rule.window {
        state.attempts.pop_front();
    }
}

/// Replaces the arguments of a call in flight, and what it reserves.
pub(super) fn replace_arguments(set: &Compiled, state: &mut SessionState, id: &str, arguments: &Json) {
    let Some(open) = state.open.get_mut(id) else { return };
    open.arguments = arguments.clone();
    let tool = open.tool.clone();
    reserve(set, state, id, &tool, arguments);
}

fn reserve(set: &Compiled, state: &mut SessionState, id: &str, tool: &str, arguments: &Json) {
    for (aggregate, kept) in set.session.aggregates.iter().zip(&mut state.aggregates) {
        kept.release(id);
        if let Ok(Some(contribution)) = Contribution::of(aggregate, tool, arguments) {
            kept.reserve(id, contribution);
        }
    }
}

fn release(set: &Compiled, state: &mut SessionState, released: &StepCall) {
    let call = &released.call;
    state.released_calls += 1;
    *state.per_tool.entry(call.tool.clone()).or_default() += 1;
    reserve(set, state, &call.id, &call.tool, &call.arguments);
    let open = OpenCall { tool: call.tool.clone(), arguments: call.arguments.clone(), step: state.attempt_steps };
    state.open.insert(call.id.clone(), open);
}
