//! Boschloo's exact test: whether chance alone could have made a drop, whatever the rate is at which both sides pass.
//!
//! It ranks all outcomes of two runs by [Fisher's p-value](super::fisher()), and its own p-value is how likely an outcome that ranks
//! as high or higher is, at the common pass rate for which that is most likely. So it is as exact as Fisher's test for three replicas
//! as for three hundred, and finds more: Fisher's test also fixes how many passed in total, which nobody fixed.
//!
//! Many cells have nothing to find, because everything passed on both sides or nothing did. So that these need not count among the
//! comparisons of a family, the gate uses [`boschloo_given_variation`]: the likelihoods are those given that something varied. It is
//! exact in the same way, and differs from Boschloo's only where an outcome without variation is likely.

use super::Share;
use super::binomial::Binomial;
use super::fisher::Sides;
use super::logarithms::{Factorials, count};

/// How many pass rates are looked at before the most likely ones are refined.
const GRID: u32 = 96;
/// How many of the best pass rates are refined.
const REFINED: usize = 3;
/// How often a range of pass rates is made smaller by a third.
const REFINEMENTS: usize = 12;
/// By which part two p-values of Fisher may differ and be the same, but for rounding.
const ROUNDING: f64 = 1e-9;

/// The one-sided p-value of Boschloo's test for a drop; `None` when one side has none that was judged.
#[must_use]
pub fn boschloo(before: Share, now: Share) -> Option<f64> {
    p_value(before, now, Given::Nothing)
}

/// The same, given that neither everything passed nor everything failed on both sides together; 1 where one of these is so.
#[must_use]
pub fn boschloo_given_variation(before: Share, now: Share) -> Option<f64> {
    let all = before.and(now);
    if all.is_all() || all.is_none() { sides(before, now).map(|_| 1.0) } else { p_value(before, now, Given::Variation) }
}

fn p_value(before: Share, now: Share, given: Given) -> Option<f64> {
    let sides = sides(before, now)?;
    let factorials = Factorials::to(sides.all());
    let statistic = sides.fisher(before.passed, now.passed, &factorials);
    let region = Region::of(sides, statistic * (1.0 + ROUNDING), &factorials);
    region.size(given, &factorials, f64::INFINITY).map(|size| size.min(1.0))
}

fn sides(before: Share, now: Share) -> Option<Sides> {
    (before.judged > 0 && now.judged > 0).then_some(Sides { before: before.judged, now: now.judged })
}

/// The outcomes of which likelihoods are a share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Given {
    /// All outcomes.
    Nothing,
    /// Those in which something passed and something failed.
    Variation,
}

impl Given {
    /// How likely these outcomes are.
    fn likelihood(self, rate: f64, sides: Sides) -> f64 {
        let all = count(sides.all());
        match self {
            Self::Nothing => 1.0,
            // Near the ends this is 1 - (1 - little), which must not be rounded away.
            Self::Variation => -(all * rate.ln()).exp_m1() - (all * (-rate).ln_1p()).exp(),
        }
    }
}

/// The outcomes of two runs that rank at least as high as a p-value of Fisher.
#[derive(Debug)]
pub(super) struct Region {
    sides: Sides,
    /// For each number of passes before, one more than the most passes now.
    ends: Vec<usize>,
}

impl Region {
    /// The outcomes whose p-value of Fisher is at most this.
    pub(super) fn of(sides: Sides, most: f64, factorials: &Factorials) -> Self {
        let mut end = 0;
        // The more passed before, the more may pass now in a drop of the same rank.
        let ends = (0..=sides.before).map(|before| {
            while end <= sides.now && sides.fisher(before, end, factorials) <= most {
                end += 1;
            }
            end
        });
        Self { sides, ends: ends.collect() }
    }

    /// The outcomes for which the test says that chance is an unlikely reason, at a level of significance.
    pub(super) fn critical(sides: Sides, level: f64, given: Given, factorials: &Factorials) -> Self {
        let at = |most: f64| Self::of(sides, most, factorials);
        let is_within = |most: f64| at(most).size(given, factorials, level).is_some_and(|size| is_below(size, level));
        // An outcome of p-values below a level is less likely than the level, so the level itself is a beginning.
        let (mut low, mut high) = (level * (1.0 - 1e-6), level * 2.0);
        while high < 1.0 && is_within(high) {
            (low, high) = (high, high * 2.0);
        }
        while (high - low) > low * 1e-4 {
            let middle = 0.5 * (low + high);
            if is_within(middle) { low = middle } else { high = middle }
        }
        at(low)
    }

    /// How likely an outcome of the region is when both sides pass at these rates.
    pub(super) fn likelihood(&self, before: &Binomial, now: &Binomial) -> f64 {
        let (mut at_most, mut next, mut total) = (0.0, 0, 0.0);
        for (passed, end) in self.ends.iter().enumerate() {
            at_most += (next..*end).map(|passed| now.exactly(passed)).sum::<f64>();
            next = *end;
            total += before.exactly(passed) * at_most;
        }
        total
    }

    /// How likely an outcome of the region is at most, when both sides pass at one rate; `None` once that is more than is of interest.
    fn size(&self, given: Given, factorials: &Factorials, most: f64) -> Option<f64> {
        let at = |rate: f64| self.share(rate, given, factorials);
        let mut looked = Vec::new();
        for place in 0..GRID {
            looked.push((at(rate_of(place)), place));
            if looked.last().is_some_and(|(share, _)| *share > most) {
                return None;
            }
        }
        looked.sort_by(|one, other| other.0.total_cmp(&one.0));
        let refined = looked.iter().take(REFINED).map(|(_, place)| peak(*place, at));
        Some(refined.fold(looked[0].0, f64::max))
    }

    fn share(&self, rate: f64, given: Given, factorials: &Factorials) -> f64 {
        let of = |replicas| Binomial::of(replicas, rate, factorials);
        self.likelihood(&of(self.sides.before), &of(self.sides.now)) / given.likelihood(rate, self.sides)
    }
}

/// Whether a chance is below a level of significance, which rounding must not decide.
pub(crate) fn is_below(chance: f64, level: f64) -> bool {
    chance + ROUNDING < level
}

/// A pass rate of the grid, which is denser at its ends, where likelihoods change faster.
fn rate_of(place: u32) -> f64 {
    rate_at(f64::from(place))
}

fn rate_at(place: f64) -> f64 {
    ((place + 0.5) / f64::from(GRID) * std::f64::consts::FRAC_PI_2).sin().powi(2)
}

/// The largest value beside a place of the grid.
fn peak(place: u32, at: impl Fn(f64) -> f64) -> f64 {
    let last = f64::from(GRID) - 0.5 - 1e-6;
    let (mut low, mut high) = ((f64::from(place) - 1.0).max(-0.5 + 1e-6), (f64::from(place) + 1.0).min(last));
    for _ in 0..REFINEMENTS {
        let third = (high - low) / 3.0;
        if at(rate_at(low + third)) < at(rate_at(high - third)) { low += third } else { high -= third }
    }
    at(rate_at(0.5 * (low + high)))
}

#[cfg(test)]
mod tests {
    use super::{Binomial, Factorials, Given, Region, Sides, boschloo, boschloo_given_variation};
    use crate::statistics::{Share, fisher};

    fn share(passed: usize, judged: usize) -> Share {
        Share { passed, judged }
    }

    const TEN: Sides = Sides { before: 10, now: 10 };

    #[test]
    fn it_has_nearly_the_level_that_it_may_have_and_finds_more_than_fisher() {
        let factorials = Factorials::to(20);
        let rates = |rate| Binomial::of(10, rate, &factorials);
        let of_boschloo = Region::critical(TEN, 0.05, Given::Nothing, &factorials);
        let of_fisher = Region::of(TEN, 0.05, &factorials);
        for (region, size, power) in [(of_boschloo, 0.045, 0.61), (of_fisher, 0.021, 0.47)] {
            let found = region.size(Given::Nothing, &factorials, 1.0).expect("a size");
            assert!((found - size).abs() < 0.0006, "{found} of {region:?}");
            assert!((region.likelihood(&rates(0.9), &rates(0.5)) - power).abs() < 0.006, "{region:?}");
        }
    }

    #[test]
    fn it_is_the_likelihood_at_the_rate_for_which_that_is_largest() {
        // Only 3 of 3 to 0 of 3 ranks first: r³(1 - r)³, at most at one half.
        let found = boschloo(share(3, 3), share(0, 3)).expect("a chance");
        assert!((found - 1.0 / 64.0).abs() < 1e-9, "{found}");
        let given = boschloo_given_variation(share(3, 3), share(0, 3)).expect("a chance");
        assert!((given - 1.0 / 62.0).abs() < 1e-9, "{given}");
        assert_eq!(boschloo(share(0, 0), share(1, 1)), None);
        assert_eq!(boschloo_given_variation(share(4, 4), share(4, 4)), Some(1.0));
        assert_eq!(boschloo_given_variation(share(0, 0), share(1, 1)), None);
    }

    #[test]
    fn no_p_value_is_larger_than_fishers_and_those_given_variation_are_no_smaller() {
        for (before, now) in [((5, 5), (3, 5)), ((10, 12), (2, 7)), ((30, 30), (26, 30)), ((40, 60), (20, 40))] {
            let (before, now) = (share(before.0, before.1), share(now.0, now.1));
            let plain = boschloo(before, now).expect("a chance");
            let given = boschloo_given_variation(before, now).expect("a chance");
            let most = fisher(before, now).expect("a chance");
            assert!(plain <= given && given <= most + 1e-9, "{before} and {now}: {plain}, {given}, {most}");
        }
    }

    #[test]
    fn hundreds_of_replicas_are_counted_out() {
        let chance = boschloo(share(285, 300), share(255, 300)).expect("a chance");
        assert!(chance > 1e-6 && chance < 1e-4, "{chance}");
    }
}
