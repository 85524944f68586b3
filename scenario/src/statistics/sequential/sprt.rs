//! Wald's sequential probability ratio test for a pass rate.
//!
//! It compares the likelihood of what was seen at the bar with that at the bar less a margin, and stops when one of them is so much
//! more likely that the errors stay within alpha and beta.

use super::{Evidence, Rule};
use crate::statistics::{Share, count};

/// What the test says after these replicas: for the bar, and against it.
pub(super) fn evidence(rule: &Rule, margin: f64, share: Share) -> [Evidence; 2] {
    let ratio = log_ratio(rule.bar, rule.bar - margin, share);
    [
        Evidence { found: -ratio, needed: ((1.0 - rule.alpha) / rule.beta).ln() },
        Evidence { found: ratio, needed: ((1.0 - rule.beta) / rule.alpha).ln() },
    ]
}

/// The logarithm of how much more likely this is at the low rate than at the bar.
fn log_ratio(bar: f64, low: f64, share: Share) -> f64 {
    let failed = share.judged - share.passed;
    // 0 × ln 0 is 0: a low rate of 0 says nothing about failures, and everything about the first pass.
    let of_passes = if share.passed == 0 { 0.0 } else { count(share.passed) * (low.max(0.0) / bar).ln() };
    of_passes + count(failed) * ((1.0 - low) / (1.0 - bar)).ln()
}
