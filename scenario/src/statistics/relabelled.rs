//! Tests that compare what was found with what other labels would have shown: which run was before, and which is now.
//!
//! If nothing changed, the labels mean nothing, and each way to hand them out is as likely as the one that was found. Each way agrees
//! with the found difference for all true differences above or below one bound, so sorted bounds are the test, at zero, and the
//! interval, at its level.

use super::Interval;
use super::logarithms::count;

/// A difference of means between two runs, and the bounds of all ways to hand out the labels, or of many of them.
#[derive(Debug, Clone, PartialEq)]
pub struct Relabelled {
    /// The difference that was found: now less before.
    pub difference: f64,
    /// The bounds, in order.
    bounds: Vec<f64>,
    /// How many ways agree with every true difference: the found one, and those that are no different from it.
    always: usize,
}

impl Relabelled {
    /// The difference that was found, and the bounds of other ways; `None` for a way that is no different.
    pub(super) fn of(difference: f64, others: impl IntoIterator<Item = Option<f64>>) -> Self {
        let (mut bounds, mut always) = (Vec::new(), 1);
        for other in others {
            match other {
                Some(bound) => bounds.push(bound),
                None => always += 1,
            }
        }
        bounds.sort_by(f64::total_cmp);
        Self { difference, bounds, always }
    }

    /// How likely chance alone would make a drop like this one, or a larger one.
    #[must_use]
    pub fn chance_of_drop(&self) -> f64 {
        let as_low = self.bounds.len() - self.bounds.partition_point(|bound| *bound < -self.tiny());
        self.part(as_low)
    }

    /// How likely chance alone would make a rise like this one, or a larger one.
    #[must_use]
    pub fn chance_of_rise(&self) -> f64 {
        self.part(self.bounds.partition_point(|bound| *bound <= self.tiny()))
    }

    /// The range of true differences that a one-sided test at the level refuses on neither side; `None` when so few ways cannot
    /// refuse anything at that level.
    #[must_use]
    pub fn interval(&self, level: f64) -> Option<Interval> {
        let place = refused(level, self.ways()).checked_sub(self.always)?;
        let (low, high) = (self.bounds.get(place)?, self.bounds.get(self.bounds.len().checked_sub(place + 1)?)?);
        (low <= high).then_some(Interval { low: *low, high: *high })
    }

    /// The smallest p-value that so few ways can have, which is the level of the widest interval.
    #[must_use]
    pub fn least_chance(&self) -> f64 {
        self.part(0)
    }

    fn part(&self, others: usize) -> f64 {
        count(others + self.always) / count(self.ways())
    }

    fn ways(&self) -> usize {
        self.bounds.len() + self.always
    }

    /// A difference that is nothing but rounding.
    fn tiny(&self) -> f64 {
        let largest = self.bounds.iter().fold(self.difference.abs(), |most, bound| most.max(bound.abs()));
        largest * 1e-12
    }
}

/// How many of so many ways may be as extreme at a level.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a part of a number of ways")]
fn refused(level: f64, ways: usize) -> usize {
    (level * count(ways) + 1e-9).floor() as usize
}
