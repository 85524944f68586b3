//! pass^k: the chance that k repetitions all pass.

use super::interval::Interval;
use super::logarithms::count;

/// How long a curve of pass^j is at most.
const MOST_STEPS: usize = 100;

/// The unbiased estimates of pass^1, pass^2, … as far as there are trials, at most 100 of them: the chance that j repetitions
/// all pass is C(passed, j) / C(trials, j).
pub(crate) fn pass_curve(passed: usize, trials: usize) -> Vec<f64> {
    let steps = (0..trials.min(MOST_STEPS)).map(|step| count(passed.saturating_sub(step)) / count(trials - step));
    steps
        .scan(1.0, |all, one| {
            *all *= one;
            Some(*all)
        })
        .collect()
}

/// The range of pass^k when the pass rate lies in this one.
pub(crate) fn power_of(rate: Interval, k: usize) -> Interval {
    Interval { low: rate.low.powf(count(k)), high: rate.high.powf(count(k)) }
}
