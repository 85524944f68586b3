//! Fisher's exact test: whether chance alone could have made a drop.
//!
//! It needs no assumption about large numbers, so it is honest for three replicas too. Of all ways to deal the same number
//! of passes to the two sides, it counts those in which the candidate has as few as it has, or fewer.

use super::Share;
use super::logarithms::Factorials;

/// How likely chance alone would give the candidate so few passes, or fewer; `None` when one side has none that was judged.
#[must_use]
pub fn chance_of_drop(before: Share, now: Share) -> Option<f64> {
    let table = Table::of(before, now)?;
    Some((table.fewest()..=now.passed).map(|passed| table.likelihood(passed)).sum::<f64>().min(1.0))
}

/// The smallest chance that any outcome with the same number of passes could have; `None` when one side has none that was
/// judged.
pub(crate) fn least_chance(before: Share, now: Share) -> Option<f64> {
    let table = Table::of(before, now)?;
    Some(table.likelihood(table.fewest()).min(1.0))
}

/// Whether a chance is below a level of significance.
pub(crate) fn is_below(chance: f64, level: f64) -> bool {
    // Three of three to none of three is exactly at 5 %, which rounding must not decide.
    const ROUNDING: f64 = 1e-9;
    chance + ROUNDING < level
}

/// All ways to deal a number of passes to two sides.
struct Table {
    before: usize,
    now: usize,
    passed: usize,
    factorials: Factorials,
}

impl Table {
    fn of(before: Share, now: Share) -> Option<Self> {
        let is_judged = before.judged > 0 && now.judged > 0;
        is_judged.then(|| Self {
            before: before.judged,
            now: now.judged,
            passed: before.passed + now.passed,
            factorials: Factorials::to(before.judged + now.judged),
        })
    }

    /// The candidate cannot have fewer passes than are left when all of the baseline passed.
    fn fewest(&self) -> usize {
        self.passed.saturating_sub(self.before)
    }

    /// How likely the candidate gets exactly so many of the passes.
    fn likelihood(&self, now_passed: usize) -> f64 {
        let choose = |n, k| self.factorials.choose(n, k);
        let ways = choose(self.now, now_passed) + choose(self.before, self.passed - now_passed);
        (ways - choose(self.before + self.now, self.passed)).exp()
    }
}

#[cfg(test)]
mod tests {
    use super::{Share, chance_of_drop, least_chance};

    fn share(passed: usize, judged: usize) -> Share {
        Share { passed, judged }
    }

    #[track_caller]
    fn check(before: (usize, usize), now: (usize, usize), expected: f64) {
        let chance = chance_of_drop(share(before.0, before.1), share(now.0, now.1)).expect("a chance");
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
    fn the_least_chance_is_that_of_the_largest_drop_with_as_many_passes() {
        let least = |before, now| least_chance(before, now).expect("a chance");
        assert!((least(share(5, 5), share(4, 5)) - 0.5).abs() < 1e-9);
        assert!((least(share(4, 5), share(1, 5)) - 1.0 / 252.0).abs() < 1e-9);
        assert!((least(share(5, 5), share(5, 5)) - 1.0).abs() < 1e-9, "what always passed cannot be told apart");
    }

    #[test]
    fn large_numbers_stay_numbers() {
        let chance = chance_of_drop(share(9000, 10_000), share(8000, 10_000)).expect("a chance");
        assert!(chance > 0.0 && chance < 1e-50, "{chance}");
        assert_eq!(chance_of_drop(share(0, 0), share(1, 1)), None);
    }
}
