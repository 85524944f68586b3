//! The permutation test in pairs of cells: whether chance alone could have made a difference of means.
//!
//! Each cell has values of several replicas before and now. If nothing changed, each way to hand the values of a cell out to the two
//! runs is as likely as the one that was found. Cells weigh the same, whatever the number of their replicas.

use super::Relabelled;
use super::logarithms::count;
use crate::chance::Chance;
use crate::seed::Seed;

/// How many ways to hand out the values are tried.
const SAMPLE: usize = 4_999;
/// The seed of samples, so that the same runs are always judged alike.
const SEED: u64 = 0x5045_524d;

/// The values of a cell before and now.
#[derive(Debug, Clone, Copy)]
pub struct Pair<'a> {
    /// Those of the baseline.
    pub before: &'a [f64],
    /// Those of the candidate.
    pub now: &'a [f64],
}

/// Compares means within cells; `None` when there is no cell, or one without a value on one side.
#[must_use]
pub fn permutation(pairs: &[Pair<'_>]) -> Option<Relabelled> {
    if pairs.is_empty() || pairs.iter().any(|pair| pair.before.is_empty() || pair.now.is_empty()) {
        return None;
    }
    let mut cells: Vec<_> = pairs.iter().map(Cell::of).collect();
    let found = difference(&cells).0;
    let mut chance = Chance::new(Seed::new(SEED));
    let bounds = (0..SAMPLE).map(|_| {
        cells.iter_mut().for_each(|cell| cell.shuffle(&mut chance));
        let (other, kept) = difference(&cells);
        // A way that only swaps values within the runs agrees with every true difference.
        (kept < 1.0 - 1e-12).then(|| (found - other) / (1.0 - kept))
    });
    Some(Relabelled::of(found, bounds))
}

/// The values of a cell, the first of which count as before, and whether each really is now.
struct Cell {
    values: Vec<(f64, f64)>,
    before: usize,
}

impl Cell {
    fn of(pair: &Pair<'_>) -> Self {
        let before = pair.before.iter().map(|value| (*value, 0.0));
        let values = before.chain(pair.now.iter().map(|value| (*value, 1.0))).collect();
        Self { values, before: pair.before.len() }
    }

    fn shuffle(&mut self, chance: &mut Chance) {
        for place in (1..self.values.len()).rev() {
            self.values.swap(place, chance.below(place + 1));
        }
    }

    /// The difference of means, and that of the parts that really are now.
    fn difference(&self) -> (f64, f64) {
        let (before, now) = self.values.split_at(self.before);
        let mean = |values: &[(f64, f64)], part: fn(&(f64, f64)) -> f64| {
            values.iter().map(part).sum::<f64>() / count(values.len())
        };
        (
            mean(now, |value| value.0) - mean(before, |value| value.0),
            mean(now, |value| value.1) - mean(before, |value| value.1),
        )
    }
}

fn difference(cells: &[Cell]) -> (f64, f64) {
    let sum = |(values, kept): (f64, f64), (value, part): (f64, f64)| (values + value, kept + part);
    let (values, kept) = cells.iter().map(Cell::difference).fold((0.0, 0.0), sum);
    (values / count(cells.len()), kept / count(cells.len()))
}

#[cfg(test)]
mod tests {
    use super::{Pair, permutation};

    #[test]
    fn a_clear_difference_in_two_cells_is_found_and_has_an_interval() {
        let (fast, slow) = ([1.0, 1.1, 0.9, 1.2, 1.0], [2.0, 2.1, 1.9, 2.2, 2.05]);
        let pairs = [Pair { before: &fast, now: &slow }, Pair { before: &[5.0, 5.2, 5.1], now: &[6.0, 6.1, 6.2] }];
        let test = permutation(&pairs).expect("a test");
        // One of 252 × 20 ways is as extreme.
        assert!(test.chance_of_rise() < 0.002 && test.chance_of_drop() > 0.99, "{}", test.chance_of_rise());
        let interval = test.interval(0.01).expect("an interval");
        assert!(
            interval.low > 0.8
                && interval.high < 1.2
                && interval.low < test.difference
                && test.difference < interval.high
        );
        assert_eq!(permutation(&pairs), Some(test), "the same each time");
    }

    #[test]
    fn the_same_values_are_no_difference() {
        let values = [1.0, 2.0, 3.0, 4.0];
        let test = permutation(&[Pair { before: &values, now: &values }]).expect("a test");
        assert!(test.chance_of_rise() > 0.4 && test.chance_of_drop() > 0.4);
        assert_eq!(permutation(&[Pair { before: &values, now: &[] }]), None);
    }
}
