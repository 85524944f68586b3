//! Decides which calls of a rule are faulted.

use crate::plan::Seed;
use crate::spec::sections::Trigger;

/// The calls and faults of a rule before a call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Past {
    /// Number of faults of the rule.
    pub fired: u64,
    /// Time of the first fault, in milliseconds since the agent started.
    pub first_fired_ms: Option<u64>,
}

/// Decides if a rule faults this call, numbered from 1, at this time.
#[must_use]
pub fn fires(trigger: &Trigger, seed: Seed, rule: &str, call: u64, at_ms: u64, past: Past) -> bool {
    let number = |count: i64| u64::try_from(count).unwrap_or(0);
    let skipped = number(trigger.after_calls.get());
    let Some(counted) = call.checked_sub(skipped).filter(|counted| *counted > 0) else { return false };
    let is_listed = trigger.on_calls.as_ref().is_none_or(|calls| calls.iter().any(|one| number(one.get()) == call));
    let is_due = trigger.every.is_none_or(|every| counted % number(every.get()) == 0);
    let in_burst = trigger
        .burst
        .as_ref()
        .is_none_or(|burst| (counted - 1) % number(burst.every.get()) < number(burst.length.get()));
    let is_left = trigger.times.is_none_or(|times| past.fired < number(times.get()));
    is_listed && is_due && in_burst && is_left && is_time(trigger, at_ms, past) && is_drawn(trigger, seed, rule, call)
}

/// Checks the rule's time conditions, `between` and `for`.
fn is_time(trigger: &Trigger, at_ms: u64, past: Past) -> bool {
    let at = u128::from(at_ms);
    let in_window = trigger.between.as_ref().is_none_or(|window| match window.as_slice() {
        [from, to] => (from.get().as_millis()..to.get().as_millis()).contains(&at),
        _ => false,
    });
    let lasts = match (trigger.lasting, past.first_fired_ms) {
        (Some(lasting), Some(first)) => at < u128::from(first) + lasting.get().as_millis(),
        _ => true,
    };
    in_window && lasts
}

/// Draws the call against the rule's probability.
fn is_drawn(trigger: &Trigger, seed: Seed, rule: &str, call: u64) -> bool {
    trigger.probability.is_none_or(|probability| draw(seed, rule, "fault", call) < probability.get())
}

/// A delay between nothing and `most`, chosen by the seed and the number of the call.
#[must_use]
pub fn jitter(seed: Seed, rule: &str, call: u64, most: u64) -> u64 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "delays are far below 2^52"
    )]
    let chosen = (draw(seed, rule, "jitter", call) * (most as f64 + 1.0)) as u64;
    chosen.min(most)
}

/// A number from 0 to 1, chosen by the seed for one purpose.
pub(super) fn draw(seed: Seed, rule: &str, purpose: &str, call: u64) -> f64 {
    let drawn = seed.derive(&["chaos", rule, purpose, &call.to_string()]).get();
    #[expect(clippy::cast_precision_loss, reason = "a seed has 53 bits, which a float holds exactly")]
    let share = drawn as f64 / (1_u64 << 53) as f64;
    share
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Past, fires, jitter};
    use crate::checks::testing::read;
    use crate::plan::Seed;
    use crate::spec::sections::Trigger;

    /// The calls that are faulted among the first 20, all at the time that their number says in seconds.
    fn faulted(keys: &str) -> Vec<u64> {
        let trigger: Trigger = read(&format!("{{{keys}}}"));
        let mut past = Past::default();
        let mut calls = Vec::new();
        for call in 1..=20 {
            if fires(&trigger, Seed::new(7), "tool_faults[0]", call, call * 1000, past) {
                past.fired += 1;
                past.first_fired_ms.get_or_insert(call * 1000);
                calls.push(call);
            }
        }
        calls
    }

    #[test]
    fn every_part_of_a_trigger_holds_calls_back() {
        assert_eq!(faulted("").len(), 20);
        assert_eq!(faulted("after_calls: 17"), [18, 19, 20]);
        assert_eq!(faulted("on_calls: [2, 5]"), [2, 5]);
        assert_eq!(faulted("times: 2"), [1, 2]);
        assert_eq!(faulted("every: 6"), [6, 12, 18]);
        assert_eq!(faulted("burst: {length: 2, every: 8}"), [1, 2, 9, 10, 17, 18]);
        assert_eq!(faulted("between: [3s, 5s]"), [3, 4]);
        assert_eq!(faulted("after_calls: 4, for: 3s"), [5, 6, 7]);
        assert_eq!(faulted("probability: 0"), [0; 0]);
        assert_eq!(faulted("probability: 1").len(), 20);
    }

    #[test]
    fn parts_of_a_trigger_hold_together() {
        assert_eq!(faulted("after_calls: 2, every: 3, times: 2"), [5, 8]);
        assert_eq!(faulted("burst: {length: 3, every: 10}, on_calls: [2, 4, 12], after_calls: 1"), [2, 4, 12]);
    }

    proptest! {
        #[test]
        fn a_decision_is_a_function_of_seed_rule_and_call(seed: u64, rule in "[a-z]{1,8}", call in 1..1_000_000_u64, percent in 0..=100_u32) {
            let trigger: Trigger = read(&format!("{{probability: {}}}", f64::from(percent) / 100.0));
            let once = || fires(&trigger, Seed::new(seed), &rule, call, 0, Past::default());
            prop_assert_eq!(once(), once());
            prop_assert!(jitter(Seed::new(seed), &rule, call, 50) <= 50);
        }

        #[test]
        fn so_many_calls_are_faulted_as_the_probability_says(seed: u64, percent in 1..100_u32) {
            let p = f64::from(percent) / 100.0;
            let trigger: Trigger = read(&format!("{{probability: {p}}}"));
            let all = 10_000_u32;
            let fired = (1..=u64::from(all)).filter(|call| fires(&trigger, Seed::new(seed), "r", *call, 0, Past::default())).count();
            let mean = p * f64::from(all);
            // Six standard deviations: a right generator misses this once in 500 million.
            let bound = 6.0 * (mean * (1.0 - p)).sqrt();
            prop_assert!((f64::from(u32::try_from(fired).expect("a few")) - mean).abs() <= bound, "{fired} of {all} at {p}");
        }
    }
}
