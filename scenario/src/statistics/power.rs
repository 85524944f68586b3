//! The power of the test: how many replicas would tell a drop from chance.
//!
//! The rates that were observed are taken for the true ones. The passes of either side then have a binomial distribution, and
//! the power is the sum over all pairs of outcomes for which [Fisher's test](super::chance_of_drop) finds a drop. Nothing is
//! approximated but what is smaller than [`NEGLIGIBLE`].

use std::ops::RangeInclusive;

use super::Share;
use super::fisher::is_below;
use super::logarithms::{Factorials, count};

/// How often a real drop has to be found.
pub const POWER: f64 = 0.8;
/// How many replicas on either side are thought of at most.
pub const MOST_REPLICAS: usize = 500;
/// Outcomes that are less likely than this are left out of sums.
const NEGLIGIBLE: f64 = 1e-13;

/// The fewest replicas on either side that find a drop between two pass rates in 80 of 100 comparisons, at a level of significance.
///
/// `None` when more than [`MOST_REPLICAS`] are needed, or nothing dropped.
#[must_use]
pub fn replicas_to_tell(before: Share, now: Share, level: f64) -> Option<usize> {
    if before.judged == 0 || now.judged == 0 || !now.is_below(before) {
        return None;
    }
    let factorials = Factorials::to(2 * MOST_REPLICAS);
    let rates = (before.rate(), now.rate());
    (1..=MOST_REPLICAS).find(|replicas| is_enough(power(*replicas, rates, level, &factorials)))
}

fn is_enough(power: f64) -> bool {
    const ROUNDING: f64 = 1e-9;
    power + ROUNDING >= POWER
}

/// How likely the test finds the drop with so many replicas on either side.
fn power(replicas: usize, (before, now): (f64, f64), level: f64, factorials: &Factorials) -> f64 {
    let (before, now) = (Binomial::of(replicas, before, factorials), Binomial::of(replicas, now, factorials));
    let (mut total, mut critical) = (0.0, None);
    // The more pass before, the more may pass now in a drop that chance does not explain.
    for (passed, likelihood) in &before.outcomes {
        critical = (critical.map_or(0, |found: usize| found + 1)..=replicas)
            .take_while(|next| is_below(tail(replicas, *passed, *next, factorials), level))
            .last()
            .or(critical);
        total += critical.map_or(0.0, |critical| likelihood * now.at_most(critical));
    }
    total
}

/// What Fisher's test says of so many passes before and now, with as many replicas on either side.
fn tail(replicas: usize, before: usize, now: usize, factorials: &Factorials) -> f64 {
    let passed = before + now;
    let all = factorials.choose(2 * replicas, passed);
    let likelihood =
        |now: usize| (factorials.choose(replicas, now) + factorials.choose(replicas, passed - now) - all).exp();
    let mut sum = 0.0;
    for now in (passed.saturating_sub(replicas)..=now).rev() {
        let one = likelihood(now);
        sum += one;
        // Below the middle each is smaller than the one before, at last by far.
        if one < NEGLIGIBLE && now * 2 < passed {
            break;
        }
    }
    sum
}

/// How many of so many replicas pass, and how likely.
struct Binomial {
    outcomes: Vec<(usize, f64)>,
}

impl Binomial {
    fn of(replicas: usize, rate: f64, factorials: &Factorials) -> Self {
        let likelihood = |passed: usize| {
            let failed = replicas - passed;
            (factorials.choose(replicas, passed) + times(passed, rate) + times(failed, 1.0 - rate)).exp()
        };
        let all: RangeInclusive<usize> = 0..=replicas;
        let outcomes = all.map(|passed| (passed, likelihood(passed)));
        Self { outcomes: outcomes.filter(|(_, likelihood)| *likelihood > NEGLIGIBLE).collect() }
    }

    fn at_most(&self, most: usize) -> f64 {
        self.outcomes.iter().take_while(|(passed, _)| *passed <= most).map(|(_, likelihood)| likelihood).sum()
    }
}

/// The logarithm of a rate to a power; of nothing to the power of nothing, that of 1.
fn times(power: usize, rate: f64) -> f64 {
    if power == 0 { 0.0 } else { count(power) * rate.ln() }
}

#[cfg(test)]
mod tests {
    use super::{Binomial, Factorials, MOST_REPLICAS, power, replicas_to_tell};
    use crate::regression::SIGNIFICANT;
    use crate::statistics::fisher::is_below;
    use crate::statistics::{Share, chance_of_drop};

    fn share(passed: usize, judged: usize) -> Share {
        Share { passed, judged }
    }

    /// The power as its definition says, outcome by outcome.
    fn by_definition(replicas: usize, before: f64, now: f64) -> f64 {
        let factorials = Factorials::to(replicas);
        let (before, now) = (Binomial::of(replicas, before, &factorials), Binomial::of(replicas, now, &factorials));
        let mut total = 0.0;
        for (passed, likelihood) in &before.outcomes {
            for (passes, likely) in &now.outcomes {
                let chance = chance_of_drop(share(*passed, replicas), share(*passes, replicas)).expect("a chance");
                total += if is_below(chance, SIGNIFICANT) { likelihood * likely } else { 0.0 };
            }
        }
        total
    }

    #[test]
    fn the_power_is_what_its_definition_says() {
        let factorials = Factorials::to(80);
        for (replicas, before, now) in [
            (3, 1.0, 0.0),
            (4, 1.0, 0.0),
            (5, 1.0, 0.8),
            (10, 0.9, 0.5),
            (23, 0.95, 0.6),
            (40, 0.7, 0.45),
            (17, 0.5, 0.5),
        ] {
            let (exact, found) =
                (by_definition(replicas, before, now), power(replicas, (before, now), SIGNIFICANT, &factorials));
            assert!((exact - found).abs() < 1e-9, "{replicas} replicas, {before} → {now}: {exact} and {found}");
        }
    }

    #[test]
    fn it_is_the_first_number_with_enough_power() {
        assert_eq!(replicas_to_tell(share(1, 1), share(0, 1), SIGNIFICANT), Some(4), "three of three are at the level");
        for (before, now) in [(share(5, 5), share(4, 5)), (share(9, 10), share(6, 10)), (share(4, 5), share(1, 5))] {
            let needed = replicas_to_tell(before, now, SIGNIFICANT).expect("a number");
            let found = |replicas| by_definition(replicas, before.rate(), now.rate());
            assert!(found(needed) >= 0.8, "{needed}: {}", found(needed));
            assert!((1..needed).all(|fewer| found(fewer) < 0.8), "{needed} is not the first");
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
        let factorials = Factorials::to(2 * MOST_REPLICAS);
        assert!(power(MOST_REPLICAS, (1.0, 0.99), SIGNIFICANT, &factorials) < 0.8);
        assert_eq!(replicas_to_tell(share(1, 2), share(1, 2), SIGNIFICANT), None);
        assert_eq!(replicas_to_tell(share(0, 0), share(1, 2), SIGNIFICANT), None);
    }
}
