//! The Mann–Whitney test: whether chance alone could have put the values of one run above those of the other.
//!
//! It compares ranks, so that a single slow replica decides nothing. Small samples without ties are counted out exactly; otherwise the
//! normal distribution is used, corrected for ties and for continuity.

use super::Interval;
use super::logarithms::count;
use super::normal::{upper_quantile, upper_tail};

/// Up to so many pairs of values, samples without ties are counted out.
const MOST_COUNTED: usize = 400;

/// What the test says of two samples.
#[derive(Debug, Clone, PartialEq)]
pub struct MannWhitney {
    /// The median of all differences between a value now and one before (Hodges–Lehmann).
    pub difference: f64,
    /// How likely chance alone would put the values now so far above those before, or farther.
    pub chance_of_rise: f64,
    /// How likely chance alone would put them so far below, or farther.
    pub chance_of_drop: f64,
    differences: Vec<f64>,
    distribution: Distribution,
}

/// Compares two samples; `None` when one is empty.
#[must_use]
pub fn mann_whitney(before: &[f64], now: &[f64]) -> Option<MannWhitney> {
    if before.is_empty() || now.is_empty() {
        return None;
    }
    let mut differences: Vec<_> = now.iter().flat_map(|now| before.iter().map(move |before| now - before)).collect();
    differences.sort_by(f64::total_cmp);
    let below = differences.partition_point(|difference| *difference < 0.0);
    let above = differences.len() - differences.partition_point(|difference| *difference <= 0.0);
    let ties = count(differences.len() - above - below) / 2.0;
    let distribution = Distribution::of(before, now);
    Some(MannWhitney {
        difference: median(&differences),
        chance_of_rise: distribution.at_least(count(above) + ties),
        chance_of_drop: distribution.at_least(count(below) + ties),
        differences,
        distribution,
    })
}

impl MannWhitney {
    /// The range of true shifts that a one-sided test at the level refuses on neither side; `None` when so few values cannot
    /// refuse anything at that level.
    #[must_use]
    pub fn interval(&self, level: f64) -> Option<Interval> {
        let all = self.differences.len();
        let refused = self.distribution.refused(level, all)?;
        (refused * 2 < all)
            .then(|| Interval { low: self.differences[refused], high: self.differences[all - 1 - refused] })
    }
}

fn median(sorted: &[f64]) -> f64 {
    let middle = sorted.len() / 2;
    if sorted.len().is_multiple_of(2) { 0.5 * (sorted[middle - 1] + sorted[middle]) } else { sorted[middle] }
}

/// How many pairs have the larger value now, if nothing changed.
#[derive(Debug, Clone, PartialEq)]
enum Distribution {
    /// How likely each number of pairs is.
    Counted(Vec<f64>),
    /// The mean and the standard deviation of the normal distribution.
    Normal { mean: f64, deviation: f64 },
}

impl Distribution {
    fn of(before: &[f64], now: &[f64]) -> Self {
        let mut values: Vec<_> = before.iter().chain(now).copied().collect();
        values.sort_by(f64::total_cmp);
        let has_ties = values.windows(2).any(|pair| pair[0].total_cmp(&pair[1]).is_eq());
        if !has_ties && before.len() * now.len() <= MOST_COUNTED {
            return Self::Counted(likelihoods(before.len(), now.len()));
        }
        let (pairs, all) = (count(before.len() * now.len()), count(values.len()));
        let tied: f64 =
            values.chunk_by(|one, other| one.total_cmp(other).is_eq()).map(|group| cubed(group.len())).sum();
        let variance = pairs / 12.0 * (all + 1.0 - tied / (all * (all - 1.0)).max(1.0));
        Self::Normal { mean: pairs / 2.0, deviation: variance.max(0.0).sqrt() }
    }

    /// How likely at least so many pairs are.
    fn at_least(&self, pairs: f64) -> f64 {
        match self {
            Self::Counted(likelihoods) => {
                let at_least = likelihoods.iter().enumerate().filter(|(number, _)| count(*number) >= pairs);
                at_least.map(|(_, likelihood)| likelihood).sum::<f64>().min(1.0)
            }
            Self::Normal { deviation, .. } if *deviation <= 0.0 => 1.0,
            Self::Normal { mean, deviation } => upper_tail((pairs - mean - 0.5) / deviation),
        }
    }

    /// How many of the smallest differences a test at this level refuses as the true shift; `None` when not even one.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is at least 0, and at most the number of pairs"
    )]
    fn refused(&self, level: f64, pairs: usize) -> Option<usize> {
        match self {
            Self::Counted(likelihoods) => {
                let sums = likelihoods.iter().scan(0.0, |sum, one| {
                    *sum += one;
                    Some(*sum)
                });
                sums.take_while(|sum| *sum <= level + 1e-12).count().checked_sub(1)
            }
            Self::Normal { mean, deviation } => {
                let number = mean - 0.5 - upper_quantile(level) * deviation;
                (number >= 0.0 && *deviation > 0.0).then(|| (number.floor() as usize).min(pairs))
            }
        }
    }
}

fn cubed(size: usize) -> f64 {
    let size = count(size);
    size * size * size - size
}

/// How likely each number of pairs is, in all orders of so many values before and now.
fn likelihoods(before: usize, now: usize) -> Vec<f64> {
    // ways[b][u]: how often the first values, b of which are before, have u pairs with the larger value now.
    let mut ways = vec![vec![0.0; before * now + 1]; before + 1];
    ways.iter_mut().for_each(|ways| ways[0] = 1.0);
    for later in 1..=now {
        for earlier in 1..=before {
            let (larger, smaller) = (count(later) / count(earlier + later), count(earlier) / count(earlier + later));
            for pairs in (0..=earlier * later).rev() {
                // The largest of all values is now, above all that are before; or it is before.
                let is_now = if pairs >= earlier { ways[earlier][pairs - earlier] } else { 0.0 };
                ways[earlier][pairs] = larger * is_now;
            }
            let (fewer, these) = ways.split_at_mut(earlier);
            for (pairs, is_before) in these[0].iter_mut().zip(&fewer[earlier - 1]) {
                *pairs += smaller * is_before;
            }
        }
    }
    ways.swap_remove(before)
}

#[cfg(test)]
mod tests {
    use super::{likelihoods, mann_whitney};

    #[test]
    fn all_orders_of_few_values_are_counted() {
        // Of 20 orders of 3 and 3, one each has 0 and 9 pairs, and 3 have 4 or 5.
        let found: Vec<_> = likelihoods(3, 3).iter().map(|likelihood| (likelihood * 20.0).round()).collect();
        assert_eq!(found, [1.0, 1.0, 2.0, 3.0, 3.0, 3.0, 3.0, 2.0, 1.0, 1.0]);
        let found: Vec<_> = likelihoods(2, 3).iter().map(|likelihood| (likelihood * 10.0).round()).collect();
        assert_eq!(found, [1.0, 1.0, 2.0, 2.0, 2.0, 1.0, 1.0]);
    }

    #[test]
    fn values_that_are_all_larger_have_the_smallest_chance() {
        let test = mann_whitney(&[1.0, 2.0, 3.0], &[14.0, 15.0, 16.0]).expect("a test");
        assert!((test.chance_of_rise - 0.05).abs() < 1e-12 && (test.chance_of_drop - 1.0).abs() < 1e-12, "{test:?}");
        assert!((test.difference - 13.0).abs() < 1e-12);
        let interval = test.interval(0.05).expect("an interval");
        assert!((interval.low - 11.0).abs() < 1e-12 && (interval.high - 15.0).abs() < 1e-12, "{interval:?}");
        assert_eq!(test.interval(0.01), None, "of 20 orders, none may be refused");
    }

    #[test]
    fn equal_values_say_nothing() {
        let test = mann_whitney(&[1.0; 5], &[1.0; 5]).expect("a test");
        assert!(test.chance_of_rise >= 0.999 && test.chance_of_drop >= 0.999 && test.interval(0.05).is_none());
        assert_eq!(mann_whitney(&[], &[1.0]), None);
    }
}
