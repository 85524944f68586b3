//! Fisher's exact test: whether chance alone could have made a drop.
//!
//! It needs no assumption about large numbers, so it is honest for three replicas too. Of all ways to deal the same number
//! of passes to the two sides, it counts those in which the candidate has as few as it has, or fewer.

use super::{SIGNIFICANT, Share};

/// How many replicas are thought of at most when asking how many would do.
const MOST_REPLICAS: usize = 500;

/// How likely chance alone would give the candidate so few passes, or fewer; `None` when one side has none that was judged.
#[must_use]
pub fn chance_of_drop(before: Share, now: Share) -> Option<f64> {
    if before.judged == 0 || now.judged == 0 {
        return None;
    }
    let (all, passed) = (before.judged + now.judged, before.passed + now.passed);
    let logarithms = logarithms_of_factorials(all);
    let choose = |n: usize, k: usize| logarithms[n] - logarithms[k] - logarithms[n - k];
    // The candidate cannot have fewer passes than are left when all of the baseline passed.
    let least = passed.saturating_sub(before.judged);
    let ways = |now_passed: usize| {
        choose(now.judged, now_passed) + choose(before.judged, passed - now_passed) - choose(all, passed)
    };
    Some((least..=now.passed).map(|now_passed| ways(now_passed).exp()).sum::<f64>().min(1.0))
}

/// Whether chance is an unlikely reason.
pub(super) fn is_unlikely(chance: f64) -> bool {
    // Three of three to none of three is exactly at the bar, which rounding must not decide.
    const ROUNDING: f64 = 1e-9;
    chance + ROUNDING < SIGNIFICANT
}

/// How many replicas on either side would be enough to tell a drop of this size from chance; `None` when not even many
/// would.
#[must_use]
pub fn replicas_to_tell(before: Share, now: Share) -> Option<usize> {
    let scaled = |share: Share, judged: usize| Share {
        passed: (share.passed * judged + share.judged / 2) / share.judged.max(1),
        judged,
    };
    let tells = |replicas: &usize| {
        let (before, now) = (scaled(before, *replicas), scaled(now, *replicas));
        now.is_below(before) && chance_of_drop(before, now).is_some_and(is_unlikely)
    };
    let fewest = before.judged.max(now.judged);
    (fewest..=MOST_REPLICAS).find(tells)
}

/// ln 0!, ln 1!, … ln n!
fn logarithms_of_factorials(most: usize) -> Vec<f64> {
    let mut logarithms = vec![0.0; most + 1];
    for number in 1..=most {
        logarithms[number] = logarithms[number - 1] + count(number).ln();
    }
    logarithms
}

#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
fn count(number: usize) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use super::{Share, chance_of_drop, replicas_to_tell};

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
    fn large_numbers_stay_numbers() {
        let chance = chance_of_drop(share(9000, 10_000), share(8000, 10_000)).expect("a chance");
        assert!(chance > 0.0 && chance < 1e-50, "{chance}");
        assert_eq!(chance_of_drop(share(0, 0), share(1, 1)), None);
    }

    #[test]
    fn more_replicas_can_tell_what_few_cannot() {
        assert_eq!(replicas_to_tell(share(1, 1), share(0, 1)), Some(4));
        let needed = replicas_to_tell(share(10, 10), share(9, 10)).expect("a number");
        assert!((30..120).contains(&needed), "{needed}");
        assert_eq!(replicas_to_tell(share(1, 2), share(1, 2)), None);
    }
}
