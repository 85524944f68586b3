//! The range in which a true share lies.

use serde::{Deserialize, Serialize};

use super::Share;
use super::logarithms::count;

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

/// Newcombe's interval for the difference of two pass rates, now less before, from Wilson's of both; `None` when there was no trial on
/// one side.
#[must_use]
pub(crate) fn newcombe(before: Share, now: Share) -> Option<Interval> {
    let (was, is) = (wilson(before.passed, before.judged)?, wilson(now.passed, now.judged)?);
    let (from, to) = (before.rate(), now.rate());
    let length = |one: f64, other: f64| one.hypot(other);
    Some(Interval {
        low: to - from - length(to - is.low, was.high - from),
        high: to - from + length(is.high - to, from - was.low),
    })
}

#[cfg(test)]
mod tests {
    use super::newcombe;
    use crate::statistics::Share;

    #[test]
    fn the_interval_of_a_difference_is_the_one_of_the_literature() {
        // Newcombe 1998, method 10: 56/70 less 48/80 is 0.0524 to 0.3339.
        let interval =
            newcombe(Share { passed: 48, judged: 80 }, Share { passed: 56, judged: 70 }).expect("an interval");
        assert!((interval.low - 0.0524).abs() < 5e-5 && (interval.high - 0.3339).abs() < 5e-5, "{interval:?}");
    }
}
