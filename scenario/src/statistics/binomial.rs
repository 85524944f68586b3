//! The binomial distribution: how many of so many replicas pass, and how likely.

use super::logarithms::{Factorials, count};

/// The likelihood of each number of passes, from none to all.
#[derive(Debug)]
pub(super) struct Binomial(Vec<f64>);

impl Binomial {
    /// The distribution of the passes of so many replicas that each pass at this rate.
    pub(super) fn of(replicas: usize, rate: f64, factorials: &Factorials) -> Self {
        let mut likelihoods = vec![0.0; replicas + 1];
        let mode = most_likely(replicas, rate);
        let failed = replicas - mode;
        let top = (factorials.choose(replicas, mode) + times(mode, rate) + times(failed, 1.0 - rate)).exp();
        likelihoods[mode] = top;
        let odds = rate / (1.0 - rate);
        // Each likelihood follows from its neighbour; beginning at the largest one, nothing overflows or vanishes too early.
        let mut one = top;
        for (passed, likelihood) in likelihoods.iter_mut().enumerate().skip(mode + 1) {
            one *= count(replicas - passed + 1) / count(passed) * odds;
            *likelihood = one;
        }
        one = top;
        for (passed, likelihood) in likelihoods.iter_mut().enumerate().take(mode).rev() {
            one *= count(passed + 1) / count(replicas - passed) / odds;
            *likelihood = one;
        }
        Self(likelihoods)
    }

    /// How likely exactly so many pass.
    pub(super) fn exactly(&self, passed: usize) -> f64 {
        self.0[passed]
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "it is at least 0, and at most the number of replicas"
)]
fn most_likely(replicas: usize, rate: f64) -> usize {
    ((count(replicas + 1) * rate).floor() as usize).min(replicas)
}

/// The logarithm of a rate to a power; of nothing to the power of nothing, that of 1.
fn times(power: usize, rate: f64) -> f64 {
    if power == 0 { 0.0 } else { count(power) * rate.ln() }
}

#[cfg(test)]
mod tests {
    use super::{Binomial, Factorials};

    #[test]
    fn the_likelihoods_are_those_of_the_definition_and_sum_to_one() {
        let factorials = Factorials::to(600);
        let four = Binomial::of(4, 0.25, &factorials);
        let expected = [81.0, 108.0, 54.0, 12.0, 1.0].map(|ways| ways / 256.0);
        assert!((0..=4).all(|passed| (four.exactly(passed) - expected[passed]).abs() < 1e-12));
        for rate in [0.0, 1e-9, 0.3, 0.999, 1.0] {
            let all = Binomial::of(600, rate, &factorials);
            let sum: f64 = (0..=600).map(|passed| all.exactly(passed)).sum();
            assert!((sum - 1.0).abs() < 1e-9, "{rate}: {sum}");
        }
    }
}
