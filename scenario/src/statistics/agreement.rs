//! Agreement of two raters on pass and fail: the share, and Cohen's κ, which corrects it for agreement by chance.

use serde::Serialize;

use super::interval::{Interval, Z, wilson};
use super::logarithms::count;

/// Counts of pairs of ratings: one of a judge, one of people.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Confusion {
    /// Both say passed.
    pub both_pass: usize,
    /// The judge says passed, people say failed: too lenient.
    pub judge_only: usize,
    /// People say passed, the judge says failed: too strict.
    pub people_only: usize,
    /// Both say failed.
    pub both_fail: usize,
}

/// The agreement of a judge with people.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Agreement {
    /// The pairs of ratings.
    pub confusion: Confusion,
    /// The share of pairs in which both say the same; `None` without pairs.
    pub raw: Option<f64>,
    /// Wilson's interval for that share.
    pub raw_interval: Option<Interval>,
    /// Cohen's κ; `None` where it has no meaning, because both say the same word every time.
    pub kappa: Option<f64>,
    /// The interval of κ; `None` where its standard error is 0, such as when all pairs agree. Then the interval of the share says
    /// how far a few pairs can be trusted.
    pub kappa_interval: Option<Interval>,
}

impl Confusion {
    /// Adds a pair.
    pub fn add(&mut self, judge: bool, people: bool) {
        *match (judge, people) {
            (true, true) => &mut self.both_pass,
            (true, false) => &mut self.judge_only,
            (false, true) => &mut self.people_only,
            (false, false) => &mut self.both_fail,
        } += 1;
    }

    /// The number of pairs.
    #[must_use]
    pub fn pairs(&self) -> usize {
        self.both_pass + self.judge_only + self.people_only + self.both_fail
    }

    /// The number of pairs in which both say the same.
    #[must_use]
    pub fn agreeing(&self) -> usize {
        self.both_pass + self.both_fail
    }

    /// Computes the agreement.
    #[must_use]
    pub fn agreement(self) -> Agreement {
        let pairs = self.pairs();
        let raw = (pairs > 0).then(|| count(self.agreeing()) / count(pairs));
        let kappa = kappa(&self);
        let kappa_interval = kappa.and_then(|kappa| interval(&self, kappa));
        Agreement { confusion: self, raw, raw_interval: wilson(self.agreeing(), pairs), kappa, kappa_interval }
    }

    /// The shares of the cells: rows are the judge's words, columns are people's, passed first.
    fn shares(&self) -> [[f64; 2]; 2] {
        let n = count(self.pairs().max(1));
        [[self.both_pass, self.judge_only], [self.people_only, self.both_fail]]
            .map(|row| row.map(|cell| count(cell) / n))
    }
}

/// Cohen's κ (1960): (observed − expected) ∕ (1 − expected).
fn kappa(confusion: &Confusion) -> Option<f64> {
    if confusion.pairs() == 0 {
        return None;
    }
    let shares = confusion.shares();
    let expected = expected(&shares);
    // Both say one word only: whatever they agree on, chance would too.
    (expected < 1.0).then(|| (shares[0][0] + shares[1][1] - expected) / (1.0 - expected))
}

fn row(shares: &[[f64; 2]; 2], word: usize) -> f64 {
    shares[word][0] + shares[word][1]
}

fn column(shares: &[[f64; 2]; 2], word: usize) -> f64 {
    shares[0][word] + shares[1][word]
}

/// The agreement expected by chance, from the margins.
fn expected(shares: &[[f64; 2]; 2]) -> f64 {
    (0..2).map(|word| row(shares, word) * column(shares, word)).sum()
}

/// The interval of κ by its asymptotic standard error: Fleiss, Cohen and Everitt, "Large sample standard errors of kappa and
/// weighted kappa" (1969), equation 13.
fn interval(confusion: &Confusion, kappa: f64) -> Option<Interval> {
    let shares = confusion.shares();
    let (expected, rest) = (expected(&shares), 1.0 - kappa);
    let agreeing =
        |word: usize| shares[word][word] * (1.0 - (row(&shares, word) + column(&shares, word)) * rest).powi(2);
    let apart =
        |judge: usize, people: usize| shares[judge][people] * (column(&shares, judge) + row(&shares, people)).powi(2);
    let sum = agreeing(0) + agreeing(1) + rest.powi(2) * (apart(0, 1) + apart(1, 0));
    let variance = (sum - (kappa - expected * rest).powi(2)) / ((1.0 - expected).powi(2) * count(confusion.pairs()));
    let half = Z * variance.max(0.0).sqrt();
    (half > 1e-9).then(|| Interval { low: (kappa - half).max(-1.0), high: (kappa + half).min(1.0) })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Confusion;

    fn confusion([both_pass, judge_only, people_only, both_fail]: [usize; 4]) -> Confusion {
        Confusion { both_pass, judge_only, people_only, both_fail }
    }

    /// The values were computed apart from this code: κ in exact fractions, its variance from the gradient over the cells of the
    /// multinomial distribution. The first table is the usual one of textbooks: κ is (0.7 − 0.5) ∕ 0.5.
    #[test]
    fn kappa_and_its_interval_are_those_of_the_formula() {
        for (cells, raw, kappa, low, high) in KNOWN {
            let found = confusion(cells).agreement();
            let interval = found.kappa_interval.expect("an interval");
            for (found, known) in
                [(found.raw, raw), (found.kappa, kappa), (Some(interval.low), low), (Some(interval.high), high)]
            {
                assert!(found.is_some_and(|found| (found - known).abs() < 1e-9), "{cells:?}: {found:?}, not {known}");
            }
        }
    }

    const KNOWN: [([usize; 4], f64, f64, f64, f64); 4] = [
        ([20, 5, 10, 15], 0.7, 0.4, 0.15109229047666112, 0.6489077095233389),
        ([45, 15, 25, 15], 0.6, 0.13043478260869565, -0.06293827779258951, 0.3238078430099808),
        ([61, 2, 6, 25], 0.9148936170212766, 0.8009528851244044, 0.6699899562301102, 0.9319158140186987),
        ([3, 1, 4, 12], 0.75, 0.3902439024390244, -0.026083953542964333, 0.8065717584210131),
    ];

    #[test]
    fn where_kappa_means_nothing_there_is_none() {
        assert_eq!(confusion([0, 0, 0, 0]).agreement().raw, None);
        let only_passes = confusion([9, 0, 0, 0]).agreement();
        assert_eq!((only_passes.raw, only_passes.kappa), (Some(1.0), None));
        let all_agree = confusion([5, 0, 0, 5]).agreement();
        assert_eq!((all_agree.kappa, all_agree.kappa_interval), (Some(1.0), None));
        assert!(all_agree.raw_interval.is_some_and(|interval| interval.low < 0.75), "ten pairs are few");
        let never = confusion([0, 5, 5, 0]).agreement();
        assert_eq!((never.raw, never.kappa), (Some(0.0), Some(-1.0)));
    }

    proptest! {
        #[test]
        fn kappa_does_not_care_who_is_who_nor_which_word_is_first(a in 0usize..40, b in 0usize..40, c in 0usize..40, d in 0usize..40) {
            let of = |cells| confusion(cells).agreement();
            let close = |one: Option<f64>, other: Option<f64>| match (one, other) {
                (Some(one), Some(other)) => (one - other).abs() < 1e-9,
                (one, other) => one == other,
            };
            let found = of([a, b, c, d]);
            for other in [of([a, c, b, d]), of([d, c, b, a])] {
                prop_assert!(close(found.kappa, other.kappa) && close(found.raw, other.raw));
                let low = |agreement: super::Agreement| agreement.kappa_interval.map(|interval| interval.low);
                prop_assert!(close(low(found), low(other)));
            }
            if let Some(kappa) = found.kappa {
                prop_assert!((-1.0 - 1e-9..=1.0 + 1e-9).contains(&kappa));
            }
        }
    }
}
