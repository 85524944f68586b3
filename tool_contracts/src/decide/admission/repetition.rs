//! R7: the same call is not repeated too often within some steps.

use crate::code::Code;
use crate::decide::{Context, Reason};
use crate::reason::name;

/// Refuses the call that reaches the threshold. Blocked attempts of earlier steps count, and accepted calls of the batch.
pub(crate) fn judge(context: &Context<'_>, reasons: &mut Vec<Reason>) {
    let Some(rule) = context.set.session.limits.repetition else { return };
    let fingerprint = context.call.fingerprint();
    // The window includes the current step.
    let earlier = usize::try_from(rule.window.saturating_sub(1)).unwrap_or(usize::MAX);
    let steps = context.state.attempts.iter().rev().take(earlier);
    let before = steps.flatten().filter(|one| **one == fingerprint).count();
    let is_same = |call: &&crate::call::Call| call.tool == context.call.tool && call.fingerprint() == fingerprint;
    let in_batch = context.batch.accepted.iter().filter(is_same).count();
    let count = (before + in_batch + 1) as u64;
    if count >= rule.threshold {
        let sentence = format!(
            "{} is called with the same arguments {count} times within {} steps",
            name(&context.call.tool),
            rule.window
        );
        let reason = Reason::new(Code::LoopDetected, "session_limits/loop_detection", sentence);
        reasons.push(reason.checked("threshold", rule.threshold).found("count", count));
    }
}
