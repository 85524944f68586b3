//! Fisher's exact test: whether chance alone could have made a drop.
//!
//! Of all ways to deal the same number of passes to the two sides, it counts those in which the candidate has as few as it has, or
//! fewer. It is the order in which [Boschloo's test](super::boschloo()) ranks the outcomes of two runs.

use super::Share;
use super::logarithms::{Factorials, count};

/// Terms that are smaller than this part of a sum are left out of it.
const NEGLIGIBLE: f64 = 1e-16;

/// The p-value of Fisher's exact test for a drop; `None` when one side has none that was judged.
#[must_use]
pub fn fisher(before: Share, now: Share) -> Option<f64> {
    let is_judged = before.judged > 0 && now.judged > 0;
    let factorials = Factorials::to(before.judged + now.judged);
    is_judged.then(|| Sides { before: before.judged, now: now.judged }.fisher(before.passed, now.passed, &factorials))
}

/// How many replicas each side has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Sides {
    pub(super) before: usize,
    pub(super) now: usize,
}

impl Sides {
    /// How many replicas both have together.
    pub(super) fn all(self) -> usize {
        self.before + self.now
    }

    /// How likely the candidate has so few of all passes, or fewer.
    pub(super) fn fisher(self, before_passed: usize, now_passed: usize, factorials: &Factorials) -> f64 {
        let passed = before_passed + now_passed;
        let ways = factorials.choose(self.now, now_passed) + factorials.choose(self.before, before_passed);
        let mut one = (ways - factorials.choose(self.all(), passed)).exp();
        let mut sum = one;
        // From one to the next fewer, as long as the baseline can take the pass.
        for fewer in (passed.saturating_sub(self.before) + 1..=now_passed).rev() {
            let ratio = count(fewer) * count(self.before + fewer - passed)
                / (count(self.now - fewer + 1) * count(passed - fewer + 1));
            one *= ratio;
            sum += one;
            if ratio < 1.0 && one < sum * NEGLIGIBLE {
                break;
            }
        }
        sum.min(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::{Share, fisher};

    fn share(passed: usize, judged: usize) -> Share {
        Share { passed, judged }
    }

    #[track_caller]
    fn check(before: (usize, usize), now: (usize, usize), expected: f64) {
        let chance = fisher(share(before.0, before.1), share(now.0, now.1)).expect("a chance");
        assert!((chance - expected).abs() < 1e-9, "{chance}");
    }

    #[test]
    fn it_is_what_the_tables_say() {
        // One replica each says nothing: half of all ways look like this.
        check((1, 1), (0, 1), 0.5);
        check((3, 3), (0, 3), 0.05);
        check((4, 4), (0, 4), 1.0 / 70.0);
        // The lady who tastes tea: three of four right.
        check((3, 4), (1, 4), 17.0 / 70.0);
        check((5, 5), (5, 5), 1.0);
        check((0, 3), (3, 3), 1.0);
    }

    #[test]
    fn large_numbers_stay_numbers() {
        let chance = fisher(share(9000, 10_000), share(8000, 10_000)).expect("a chance");
        assert!(chance > 0.0 && chance < 1e-50, "{chance}");
        assert_eq!(fisher(share(0, 0), share(1, 1)), None);
    }
}
