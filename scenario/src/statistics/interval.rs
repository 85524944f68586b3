//! The range in which a true share lies.

use serde::{Deserialize, Serialize};

use super::logarithms::count;

/// The quantile of the normal distribution for 95 %.
pub(super) const Z: f64 = 1.959_963_984_540_054;

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
