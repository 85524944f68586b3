//! The power of the gate's test: how many replicas would tell a drop from chance.
//!
//! The passes of either side have a binomial distribution, and the power is the sum over all pairs of outcomes for which
//! [the test](super::boschloo()) finds a drop. Nothing is approximated. The rates are taken for the true ones: who asks for two observed
//! rates is answered about a drop as large as the observed one, which may be larger or smaller than the real one.

use super::Share;
use super::binomial::Binomial;
use super::boschloo::{Given, Region};
use super::fisher::Sides;
use super::logarithms::{Factorials, count};
use super::normal::upper_quantile;

/// How often a real drop has to be found.
pub const POWER: f64 = 0.8;
/// How many replicas on either side are thought of at most.
pub const MOST_REPLICAS: usize = 500;
/// Power does not grow evenly: so many fewer replicas than were found are looked at too.
const LOOKED_BACK: usize = 4;

/// The fewest replicas on either side that find a drop between two observed pass rates in 80 of 100 comparisons, at a level of
/// significance.
///
/// `None` when more than [`MOST_REPLICAS`] are needed, or nothing dropped.
#[must_use]
pub fn replicas_to_tell(before: Share, now: Share, level: f64) -> Option<usize> {
    if before.judged == 0 || now.judged == 0 || !now.is_below(before) {
        return None;
    }
    replicas_for_drop(before.rate(), now.rate(), level)
}

/// The same for two true pass rates.
#[must_use]
pub fn replicas_for_drop(from: f64, to: f64, level: f64) -> Option<usize> {
    fewest(approximate(from, to, level), |replicas| is_enough(power(replicas, (from, to), level)))
}

/// About how many replicas are needed, by the normal distribution.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is clamped to numbers of replicas")]
fn approximate(from: f64, to: f64, level: f64) -> usize {
    let quantiles = upper_quantile(level) + upper_quantile(1.0 - POWER);
    let variance = from * (1.0 - from) + to * (1.0 - to);
    (quantiles * quantiles * variance / ((from - to) * (from - to))).clamp(1.0, count(MOST_REPLICAS)) as usize
}

/// How likely the gate finds a drop between two true pass rates with so many replicas on either side, at a level of significance.
#[must_use]
pub fn power(replicas: usize, (from, to): (f64, f64), level: f64) -> f64 {
    let factorials = Factorials::to(2 * replicas);
    let sides = Sides { before: replicas, now: replicas };
    let region = Region::critical(sides, level, Given::Variation, &factorials);
    region.likelihood(&Binomial::of(replicas, from, &factorials), &Binomial::of(replicas, to, &factorials))
}

fn is_enough(power: f64) -> bool {
    const ROUNDING: f64 = 1e-9;
    power + ROUNDING >= POWER
}

/// The smallest number that is enough, when more are enough too, but for a few. The search begins at a guess.
fn fewest(guess: usize, is_enough: impl Fn(usize) -> bool) -> Option<usize> {
    let (mut low, mut high) = (0, guess);
    while !is_enough(high) {
        if high >= MOST_REPLICAS {
            return None;
        }
        (low, high) = (high, (high + high / 4 + 1).min(MOST_REPLICAS));
    }
    while low == 0 && high > 1 {
        let fewer = high - high / 4 - 1;
        if fewer > 0 && is_enough(fewer) {
            high = fewer
        } else {
            low = fewer.max(1)
        }
        if fewer == 0 {
            break;
        }
    }
    while high.saturating_sub(low) > 1 {
        let middle = low.midpoint(high);
        if is_enough(middle) { high = middle } else { low = middle }
    }
    let earlier = (high.saturating_sub(LOOKED_BACK).max(1)..high).find(|replicas| is_enough(*replicas));
    Some(earlier.unwrap_or(high))
}

#[cfg(test)]
mod tests {
    use super::{
        Binomial, Factorials, MOST_REPLICAS, Region, Sides, fewest, is_enough, power, replicas_for_drop,
        replicas_to_tell,
    };
    use crate::regression::SIGNIFICANT;
    use crate::statistics::boschloo::is_below;
    use crate::statistics::{Share, boschloo_given_variation};

    fn share(passed: usize, judged: usize) -> Share {
        Share { passed, judged }
    }

    /// The power as its definition says, outcome by outcome.
    fn by_definition(replicas: usize, before: f64, now: f64) -> f64 {
        let factorials = Factorials::to(replicas);
        let (before, now) = (Binomial::of(replicas, before, &factorials), Binomial::of(replicas, now, &factorials));
        let mut total = 0.0;
        for earlier in 0..=replicas {
            for later in 0..=replicas {
                let chance =
                    boschloo_given_variation(share(earlier, replicas), share(later, replicas)).expect("a chance");
                total += if is_below(chance, SIGNIFICANT) { before.exactly(earlier) * now.exactly(later) } else { 0.0 };
            }
        }
        total
    }

    #[test]
    fn the_power_is_what_its_definition_says() {
        for (replicas, before, now) in [(1, 1.0, 0.0), (2, 1.0, 0.0), (5, 1.0, 0.8), (10, 0.9, 0.5), (17, 0.5, 0.5)] {
            let (exact, found) = (by_definition(replicas, before, now), power(replicas, (before, now), SIGNIFICANT));
            assert!((exact - found).abs() < 1e-9, "{replicas} replicas, {before} → {now}: {exact} and {found}");
        }
    }

    #[test]
    fn fishers_test_needs_what_is_known_and_boschloos_fewer() {
        let factorials = Factorials::to(2 * MOST_REPLICAS);
        for (from, to, known) in [(0.95, 0.85, 126), (0.95, 0.75, 45), (0.9, 0.7, 56), (0.9, 0.5, 19)] {
            let of_fisher = fewest(1, |replicas| {
                let region = Region::of(Sides { before: replicas, now: replicas }, SIGNIFICANT, &factorials);
                let of = |rate| Binomial::of(replicas, rate, &factorials);
                is_enough(region.likelihood(&of(from), &of(to)))
            });
            assert_eq!(of_fisher, Some(known), "{from} → {to}");
            let ours = replicas_for_drop(from, to, SIGNIFICANT).expect("a number");
            assert!(ours < known && power(ours, (from, to), SIGNIFICANT) >= 0.8, "{from} → {to}: {ours}");
        }
    }

    #[test]
    fn a_stricter_level_needs_more() {
        let needed = |level| replicas_to_tell(share(10, 10), share(8, 10), level).expect("a number");
        assert!(needed(SIGNIFICANT / 10.0) > needed(SIGNIFICANT));
    }

    #[test]
    fn a_drop_that_needs_too_many_and_no_drop_have_none() {
        assert_eq!(replicas_to_tell(share(100, 100), share(99, 100), SIGNIFICANT), None);
        assert!(power(MOST_REPLICAS, (1.0, 0.99), SIGNIFICANT) < 0.8);
        assert_eq!(replicas_to_tell(share(1, 2), share(1, 2), SIGNIFICANT), None);
        assert_eq!(replicas_to_tell(share(0, 0), share(1, 2), SIGNIFICANT), None);
    }
}
