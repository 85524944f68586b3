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
    // Without the noise of floating point, which is not the same on every machine.
    let power = |rate: f64| (rate.powf(count(k)) * 1e9).round() / 1e9;
    Interval { low: power(rate.low), high: power(rate.high) }
}
