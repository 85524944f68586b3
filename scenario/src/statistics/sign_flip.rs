//! The sign-flip test: whether chance alone could have made a mean of differences.
//!
//! Each cluster, such as a spec, has one difference between two runs. If nothing changed, each difference is as likely to be found the
//! other way around. A way to flip signs agrees with what was found for all true differences below the mean of the flipped ones.

use super::Relabelled;
use super::logarithms::count;
use crate::chance::Chance;
use crate::seed::Seed;

/// Up to so many clusters, all ways to flip signs are counted; above, a sample of them.
const MOST_COUNTED: usize = 16;
/// How many ways a sample has.
const SAMPLE: usize = 9_999;
/// How many coins are thrown with one number.
const AT_ONCE: usize = 32;
/// The seed of samples, so that the same runs are always judged alike.
const SEED: u64 = 0x5167_4e46;

/// Compares the mean of the differences of clusters with zero; `None` when there are none.
#[must_use]
pub fn sign_flip(differences: &[f64]) -> Option<Relabelled> {
    if differences.is_empty() {
        return None;
    }
    let mean = differences.iter().sum::<f64>() / count(differences.len());
    let bounds = if differences.len() <= MOST_COUNTED { all_ways(differences) } else { some_ways(differences) };
    Some(Relabelled::of(mean, bounds.into_iter().map(Some)))
}

/// The mean of each set of differences but the empty one.
fn all_ways(differences: &[f64]) -> Vec<f64> {
    let mut sets = vec![(0.0, 0)];
    for difference in differences {
        for place in 0..sets.len() {
            let (sum, size) = sets[place];
            sets.push((sum + difference, size + 1));
        }
    }
    sets.into_iter().skip(1).map(|(sum, size)| sum / count(size)).collect()
}

/// The mean of random sets of differences.
fn some_ways(differences: &[f64]) -> Vec<f64> {
    let mut chance = Chance::new(Seed::new(SEED));
    let mut bounds = Vec::with_capacity(SAMPLE);
    while bounds.len() < SAMPLE {
        let (mut sum, mut size) = (0.0, 0);
        for part in differences.chunks(AT_ONCE) {
            let mut coins = chance.below(1 << AT_ONCE);
            for difference in part {
                if coins & 1 == 1 {
                    sum += difference;
                    size += 1;
                }
                coins >>= 1;
            }
        }
        if size > 0 {
            bounds.push(sum / count(size));
        }
    }
    bounds
}

#[cfg(test)]
mod tests {
    use super::{Relabelled, sign_flip};
    use crate::statistics::Interval;

    fn test(differences: &[f64]) -> Relabelled {
        sign_flip(differences).expect("a test")
    }

    #[test]
    fn all_ways_to_flip_signs_are_counted() {
        // Of 32 ways, only the one that was found has all signs down.
        assert!((test(&[-0.1, -0.2, -0.3, -0.1, -0.4]).chance_of_drop() - 1.0 / 32.0).abs() < 1e-12);
        // Of eight sums, four are at most -1, and seven at least.
        assert!((test(&[-1.0, -1.0, 1.0]).chance_of_drop() - 0.5).abs() < 1e-12);
        assert!((test(&[-1.0, -1.0, 1.0]).chance_of_rise() - 7.0 / 8.0).abs() < 1e-12);
        assert!((test(&[0.0; 8]).chance_of_drop() - 1.0).abs() < 1e-12, "no difference is no drop");
        assert_eq!(sign_flip(&[]), None);
    }

    #[test]
    fn the_interval_has_what_the_test_does_not_refuse() {
        let drops = [-0.3, -0.1, -0.2, -0.25, -0.05, -0.15, -0.1];
        let interval = test(&drops).interval(0.01).expect("an interval");
        assert_eq!(interval, Interval { low: -0.3, high: -0.05 }, "of 128 ways, one may be refused on each side");
        let refuses = |true_difference: f64| {
            let shifted: Vec<_> = drops.iter().map(|drop| drop - true_difference).collect();
            test(&shifted).chance_of_drop() <= 0.05
        };
        let high = test(&drops).interval(0.05).expect("an interval").high;
        assert!(refuses(high + 1e-6) && !refuses(high - 1e-6), "{high}");
        assert_eq!(test(&drops[..3]).interval(0.01), None, "of 8 ways, none may be");
    }

    #[test]
    fn many_clusters_are_sampled_and_the_same_each_time() {
        let drops: Vec<_> = (0..40).map(|place| if place % 4 == 0 { 0.1 } else { -0.1 }).collect();
        let (one, other) = (test(&drops), test(&drops));
        assert_eq!(one, other);
        // The normal distribution says 0.0008, with 2 of 40 standard deviations of rounding.
        assert!(one.chance_of_drop() > 0.0003 && one.chance_of_drop() < 0.003, "{}", one.chance_of_drop());
        let interval = one.interval(0.025).expect("an interval");
        assert!(interval.low < -0.05 && interval.high < 0.0, "{interval:?}");
    }
}
