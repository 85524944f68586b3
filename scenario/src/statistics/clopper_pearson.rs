//! Exact bounds of a share, after Clopper and Pearson: they hold at least as often as they say, for few replicas as well.

use super::beta::beta_quantile;
use super::interval::Interval;
use super::logarithms::count;
use super::share::Share;

/// The confidence of bounds that are reported.
pub(crate) const CONFIDENCE: f64 = 0.95;

/// The rate that the true one reaches with this confidence; 0 of none.
#[must_use]
pub fn lower_bound(share: Share, confidence: f64) -> f64 {
    match share.passed {
        0 => 0.0,
        passed => beta_quantile(count(passed), count(share.judged - passed + 1), 1.0 - confidence),
    }
}

/// The rate that the true one does not exceed with this confidence; 1 of none.
#[must_use]
pub fn upper_bound(share: Share, confidence: f64) -> f64 {
    match share.judged - share.passed {
        0 => 1.0,
        failed => beta_quantile(count(share.passed + 1), count(failed), confidence),
    }
}

/// The range in which the true rate lies with this confidence, with the same chance of an error on either side; `None` of none.
#[must_use]
pub fn clopper_pearson(share: Share, confidence: f64) -> Option<Interval> {
    let one_sided = f64::midpoint(1.0, confidence);
    (share.judged > 0).then(|| Interval { low: lower_bound(share, one_sided), high: upper_bound(share, one_sided) })
}

/// The fewest replicas with which a bar can be shown to be reached, if all of them pass.
#[must_use]
pub fn fewest_to_reach(bar: f64, confidence: f64) -> Option<usize> {
    const MOST: usize = 100_000;
    let reaches = |replicas: usize| lower_bound(Share { passed: replicas, judged: replicas }, confidence) >= bar;
    // ln(1 - confidence) / ln(bar), rounded up; the bound itself decides, so that both always agree.
    let mut range = (1, MOST);
    if !reaches(MOST) {
        return None;
    }
    while range.0 < range.1 {
        let middle = usize::midpoint(range.0, range.1);
        range = if reaches(middle) { (range.0, middle) } else { (middle + 1, range.1) };
    }
    Some(range.0)
}

#[cfg(test)]
mod tests {
    use super::{Share, clopper_pearson, fewest_to_reach, lower_bound, upper_bound};

    #[track_caller]
    fn check(passed: usize, judged: usize, low: f64, high: f64) {
        let found = clopper_pearson(Share { passed, judged }, 0.95).expect("an interval");
        assert!((found.low - low).abs() < 5e-7 && (found.high - high).abs() < 5e-7, "{found:?}");
    }

    #[test]
    fn it_is_what_the_tables_say() {
        check(4, 8, 0.157_013, 0.842_987);
        check(0, 10, 0.0, 0.308_497);
        check(10, 10, 0.691_503, 1.0);
        check(1, 1, 0.025, 1.0);
        check(9, 10, 0.554_984, 0.997_471);
        assert_eq!(clopper_pearson(Share::default(), 0.95), None);
    }

    #[test]
    fn thirty_clean_runs_still_allow_nearly_ten_percent_of_failures() {
        let low = lower_bound(Share { passed: 30, judged: 30 }, 0.95);
        assert!((1.0 - low - 0.095).abs() < 5e-4, "{low}");
        assert!((upper_bound(Share { passed: 0, judged: 30 }, 0.95) - 0.095).abs() < 5e-4);
        assert!(lower_bound(Share::default(), 0.95).abs() < 1e-12);
        assert!((upper_bound(Share::default(), 0.95) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_bar_needs_a_number_of_passes() {
        assert_eq!(fewest_to_reach(0.9, 0.95), Some(29));
        assert_eq!(fewest_to_reach(0.8, 0.95), Some(14));
        assert_eq!(fewest_to_reach(0.95, 0.95), Some(59));
        assert_eq!(fewest_to_reach(0.0, 0.95), Some(1));
        assert_eq!(fewest_to_reach(1.0, 0.95), None);
    }

    #[test]
    fn the_bounds_hold_as_often_as_they_say() {
        // Exact: the weight of all outcomes whose bound is on the right side of the true rate.
        use crate::statistics::logarithms::{Factorials, count};
        for judged in [5, 20, 40_usize] {
            let factorials = Factorials::to(judged);
            for truth in [0.05, 0.3, 0.5, 0.77, 0.9, 0.99_f64] {
                let weight = |passed: usize| {
                    let ways = factorials.choose(judged, passed);
                    (ways + count(passed) * truth.ln() + count(judged - passed) * (-truth).ln_1p()).exp()
                };
                let holds = |bound: fn(Share, f64) -> f64, sign: f64| -> f64 {
                    let right = |passed: &usize| sign * (truth - bound(Share { passed: *passed, judged }, 0.95)) >= 0.0;
                    (0..=judged).filter(right).map(weight).sum()
                };
                assert!(holds(lower_bound, 1.0) >= 0.95 - 1e-12, "{judged} at {truth}");
                assert!(holds(upper_bound, -1.0) >= 0.95 - 1e-12, "{judged} at {truth}");
            }
        }
    }
}
