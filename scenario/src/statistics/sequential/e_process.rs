//! A beta-binomial e-process against a bar: evidence that may be looked at after every replica.
//!
//! Against "the rate is at most the bar" it bets on all rates above the bar alike, and the stake is what a bettor would have now
//! who began with 1. At any rate up to the bar the stake is expected not to grow, so it ever reaches 20 in at most one of 20
//! experiments, whenever somebody stops. The process against "at least the bar" is the same, with passes and failures exchanged.

use super::{Evidence, Rule};
use crate::statistics::beta::{ln_beta, ln_incomplete_beta};
use crate::statistics::{Share, count};

/// What the two processes say after these replicas: for the bar, and against it.
pub(super) fn evidence(rule: &Rule, share: Share) -> [Evidence; 2] {
    [
        Evidence { found: ln_stake_above(rule.bar, share), needed: -rule.beta.ln() },
        Evidence { found: ln_stake_below(rule.bar, share), needed: -rule.alpha.ln() },
    ]
}

/// The logarithm of the evidence that the rate is above `bar`.
pub(super) fn ln_stake_above(bar: f64, share: Share) -> f64 {
    let (passed, failed) = (count(share.passed), count(share.judged - share.passed));
    let mixed = ln_beta(passed + 1.0, failed + 1.0) + ln_incomplete_beta(failed + 1.0, passed + 1.0, 1.0 - bar);
    mixed - (passed * bar.ln() + (failed + 1.0) * (-bar).ln_1p())
}

/// The logarithm of the evidence that the rate is below `bar`.
pub(super) fn ln_stake_below(bar: f64, share: Share) -> f64 {
    ln_stake_above(1.0 - bar, Share { passed: share.judged - share.passed, ..share })
}

#[cfg(test)]
mod tests {
    use super::{Share, ln_stake_above, ln_stake_below};

    #[test]
    fn the_stake_is_the_mean_of_the_likelihood_ratios() {
        // The integral by the midpoint rule, over all rates above the bar.
        const STEPS: u32 = 20_000;
        for (passed, judged, bar) in [(0, 0, 0.9), (5, 5, 0.8), (3, 10, 0.5), (17, 20, 0.7)] {
            let (passes, failures) = (f64::from(passed), f64::from(judged - passed));
            let ratio = |rate: f64| (rate / bar).powf(passes) * ((1.0 - rate) / (1.0 - bar)).powf(failures);
            let at = |step: u32| bar + (1.0 - bar) * (f64::from(step) + 0.5) / f64::from(STEPS);
            let mean = (0..STEPS).map(|step| ratio(at(step))).sum::<f64>() / f64::from(STEPS);
            let share = Share { passed: passed as usize, judged: judged as usize };
            let found = ln_stake_above(bar, share).exp();
            assert!((found - mean).abs() < 1e-6 * mean.max(1.0), "{passed} of {judged}: {found} and {mean}");
            let turned = Share { passed: share.judged - share.passed, ..share };
            assert!((ln_stake_below(1.0 - bar, turned).exp() - found).abs() < 1e-9);
        }
    }
}
