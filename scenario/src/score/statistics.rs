//! Honest numbers from few repetitions.

use serde::{Deserialize, Serialize};

/// The quantile of the normal distribution for 95 %.
const Z: f64 = 1.959_963_984_540_054;

/// A range in which the true share lies with 95 % confidence.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Its lower end.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
}

/// Wilson's interval for `passed` of `trials`; `None` when there was no trial.
#[must_use]
pub fn wilson(passed: usize, trials: usize) -> Option<Interval> {
    if trials == 0 {
        return None;
    }
    let (n, p) = (count(trials), count(passed) / count(trials));
    let centre = p + Z * Z / (2.0 * n);
    let spread = Z * (p * (1.0 - p) / n + Z * Z / (4.0 * n * n)).sqrt();
    let scale = 1.0 + Z * Z / n;
    Some(Interval {
        low: ((centre - spread) / scale).clamp(0.0, 1.0),
        high: ((centre + spread) / scale).clamp(0.0, 1.0),
    })
}

/// How long a curve of pass^j is at most.
const MOST_STEPS: usize = 100;

/// The unbiased estimates of pass^1, pass^2, … as far as there are trials, at most 100 of them: the chance that j repetitions
/// all pass is C(passed, j) / C(trials, j).
pub(super) fn pass_curve(passed: usize, trials: usize) -> Vec<f64> {
    let steps = (0..trials.min(MOST_STEPS)).map(|step| count(passed.saturating_sub(step)) / count(trials - step));
    steps
        .scan(1.0, |all, one| {
            *all *= one;
            Some(*all)
        })
        .collect()
}

/// Counts here are at most 10,000.
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
pub(super) fn count(number: usize) -> f64 {
    number as f64
}
