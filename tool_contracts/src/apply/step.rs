//! A step: attempts, budgets, reservations and the breaker for blocks.

use serde_json::Value as Json;

use super::{StepCall, rules};
use crate::compile::Compiled;
use crate::decide::Verdict;
use crate::finding::Finding;
use crate::state::aggregate::Contribution;
use crate::state::{OpenCall, SessionState};

/// Applies a step that was judged and gated; the findings are what can no longer follow in time.
pub(super) fn apply(set: &Compiled, state: &mut SessionState, calls: &[StepCall], is_step: bool) -> Vec<Finding> {
    state.attempt_steps += 1;
    remember_attempts(set, state, calls);
    rules::attempt(set, state, calls);
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
    rules::overdue(set, state)
}

/// Counts a step in which something was blocked and nothing released.
pub(super) fn count_block(set: &Compiled, state: &mut SessionState) {
    state.consecutive_blocks += 1;
    if set.session.limits.consecutive_blocks.is_some_and(|most| state.consecutive_blocks >= most) {
        state.kill("circuit_breaker_blocks");
    }
}

/// Stores the fingerprints of the last steps, blocked attempts included.
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
    let Some(before) = state.open.remove(id) else { return };
    rules::withdraw(state, id);
    let open = OpenCall { arguments: arguments.clone(), ..before };
    reserve(set, state, id, &open.tool, arguments);
    rules::release(set, state, id, &open);
    state.open.insert(id.to_owned(), open);
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
    let open = OpenCall {
        tool: call.tool.clone(),
        arguments: call.arguments.clone(),
        step: state.attempt_steps,
        committed_step: state.total_steps,
        index: state.released_calls,
    };
    rules::release(set, state, &call.id, &open);
    state.open.insert(call.id.clone(), open);
}
