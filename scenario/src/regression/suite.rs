//! All specs together: the mean difference of their pass rates, against a margin.

use serde::Serialize;

use super::Share;
use super::gate::Gate;
use crate::count_noun;
use crate::statistics::{Interval, MarginVerdict, count, newcombe, sign_flip};

/// The fewest specs of which the sign-flip test can refuse chance at its part of the level: one of 2^7 ways is less than 1 %.
pub(super) const FEWEST_SPECS: usize = 7;

/// What became of the mean pass rate of all specs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SuiteChange {
    /// How many specs were judged on both sides, in the same world.
    pub specs: usize,
    /// The mean of their pass rates before.
    pub before: f64,
    /// The mean of their pass rates now.
    pub now: f64,
    /// The difference: now less before.
    pub difference: f64,
    /// The range in which the true difference lies; `None` of a single spec.
    pub interval: Option<Interval>,
    /// How sure that is.
    pub confidence: f64,
    /// How likely chance alone would make a drop like this one, or a larger one.
    pub chance: f64,
    /// The difference that counts as none.
    pub margin: f64,
    /// The difference against the margin.
    pub verdict: MarginVerdict,
    /// Whether there are enough specs to tell a drop from chance.
    pub enough_specs: bool,
}

/// The pass rates of one spec: those of each cell that was judged on both sides.
#[derive(Debug, Clone, Default)]
pub(super) struct SpecShares(pub(super) Vec<(Share, Share)>);

impl SpecShares {
    /// The mean pass rate of the cells on both sides, which weigh the same; `None` when there is none.
    fn rates(&self) -> Option<(f64, f64)> {
        let judged: Vec<_> = self.0.iter().filter(|(before, now)| before.judged > 0 && now.judged > 0).collect();
        let mean =
            |rate: fn(&(Share, Share)) -> f64| judged.iter().map(|pair| rate(pair)).sum::<f64>() / count(judged.len());
        (!judged.is_empty()).then(|| (mean(|pair| pair.0.rate()), mean(|pair| pair.1.rate())))
    }
}

impl SuiteChange {
    /// Whether so many specs are enough for the suite to say anything.
    pub(super) fn can_tell(specs: &[SpecShares]) -> bool {
        specs.iter().filter_map(SpecShares::rates).count() >= FEWEST_SPECS
    }

    /// Compares all specs at a level; `None` when none was judged on both sides.
    pub(super) fn of(specs: &[SpecShares], level: f64, gate: &Gate) -> Option<Self> {
        let rates: Vec<_> = specs.iter().filter_map(SpecShares::rates).collect();
        let differences: Vec<_> = rates.iter().map(|(before, now)| now - before).collect();
        let test = sign_flip(&differences)?;
        let enough_specs = rates.len() >= FEWEST_SPECS;
        // Of fewer specs there is an interval that is less sure.
        let level = if enough_specs { level } else { test.least_chance() };
        let interval = test.interval(level).filter(|_| rates.len() > 1);
        let verdict = match interval.filter(|_| enough_specs).map(|interval| MarginVerdict::of(interval, gate.margin)) {
            Some(MarginVerdict::Equivalent) if !is_within(specs, gate.margin) => MarginVerdict::Inconclusive,
            verdict => verdict.unwrap_or(MarginVerdict::Inconclusive),
        };
        let mean = |rate: fn(&(f64, f64)) -> f64| rates.iter().map(rate).sum::<f64>() / count(rates.len());
        Some(Self {
            specs: rates.len(),
            before: mean(|rates| rates.0),
            now: mean(|rates| rates.1),
            difference: test.difference,
            interval,
            confidence: if interval.is_some() { 1.0 - 2.0 * level } else { 0.0 },
            chance: test.chance_of_drop(),
            margin: gate.margin,
            verdict,
            enough_specs,
        })
    }

    /// Whether it is a regression.
    #[must_use]
    pub fn regressed(&self) -> bool {
        self.verdict == MarginVerdict::Worse
    }

    /// All of it in one line.
    #[must_use]
    pub fn words(&self) -> String {
        let what = format!("mean pass rate of {}", count_noun(self.specs, "spec"));
        let (before, now) = (percent(self.before), percent(self.now));
        let numbers = format!("{what} {before} → {now}, {}", self.range());
        if self.enough_specs {
            return format!("{}: {numbers}, margin {}", self.verdict, points(self.margin));
        }
        format!(
            "insufficient evidence: {numbers}; {FEWEST_SPECS} specs or more are needed to tell a drop of the mean from chance"
        )
    }

    fn range(&self) -> String {
        let difference = signed(self.difference);
        let Some(Interval { low, high }) = self.interval else { return difference };
        format!(
            "{difference} ({} % interval {} to {})",
            (self.confidence * 1000.0).round() / 10.0,
            signed(low),
            signed(high)
        )
    }
}

/// Whether the sums are too large for a difference outside of the margin. Specs that all pass on both sides have no difference, which
/// says little after one replica each.
fn is_within(specs: &[SpecShares], margin: f64) -> bool {
    let sum = |(before, now): (Share, Share), (one, other): &(Share, Share)| (before.and(*one), now.and(*other));
    let (before, now) = specs.iter().flat_map(|spec| &spec.0).fold((Share::default(), Share::default()), sum);
    newcombe(before, now).is_some_and(|interval| -margin <= interval.low && interval.high <= margin)
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

fn points(share: f64) -> String {
    format!("{} points", (share * 1000.0).round() / 10.0)
}

fn signed(share: f64) -> String {
    let sign = if share < -0.0005 {
        "−"
    } else if share > 0.0005 {
        "+"
    } else {
        ""
    };
    format!("{sign}{}", points(share.abs()))
}

#[cfg(test)]
mod tests {
    use super::{Gate, Share, SpecShares, SuiteChange};
    use crate::statistics::MarginVerdict;

    /// Specs of one cell each, of which so many replicas passed before and now.
    fn suite(specs: &[(usize, usize)], replicas: usize) -> SuiteChange {
        let share = |passed| Share { passed, judged: replicas };
        let specs: Vec<_> = specs.iter().map(|(before, now)| SpecShares(vec![(share(*before), share(*now))])).collect();
        SuiteChange::of(&specs, 0.01, &Gate::default()).expect("a comparison")
    }

    #[test]
    fn a_drop_that_most_specs_have_is_worse_although_no_cell_can_tell() {
        let change = suite(&[(10, 8), (9, 8), (10, 7), (9, 8), (10, 8), (8, 6), (10, 9), (9, 7)], 10);
        assert_eq!(change.verdict, MarginVerdict::Worse, "{}", change.words());
        assert!(change.regressed() && change.chance <= 0.01);
        insta::assert_snapshot!(
            change.words(),
            @"worse: mean pass rate of 8 specs 93.8 % → 76.2 %, −17.5 points (98 % interval −25 points to −10 points), margin 5 points"
        );
    }

    #[test]
    fn few_specs_say_that_they_are_too_few() {
        let change = suite(&[(10, 2), (10, 3), (10, 1)], 10);
        assert!(!change.regressed() && !change.enough_specs);
        insta::assert_snapshot!(
            change.words(),
            @"insufficient evidence: mean pass rate of 3 specs 100.0 % → 20.0 %, −80 points (75 % interval −90 points to −70 points); 7 specs or more are needed to tell a drop of the mean from chance"
        );
        insta::assert_snapshot!(
            suite(&[(10, 2)], 10).words(),
            @"insufficient evidence: mean pass rate of 1 spec 100.0 % → 20.0 %, −80 points; 7 specs or more are needed to tell a drop of the mean from chance"
        );
    }

    #[test]
    fn the_same_is_equivalent_only_when_enough_was_tried() {
        assert_eq!(suite(&[(1, 1); 8], 1).verdict, MarginVerdict::Inconclusive);
        assert_eq!(suite(&[(40, 40); 8], 40).verdict, MarginVerdict::Equivalent);
        assert_eq!(
            suite(&[(10, 10), (9, 10), (10, 9), (10, 10), (8, 9), (10, 9), (9, 9)], 10).verdict,
            MarginVerdict::Inconclusive
        );
    }

    #[test]
    fn specs_weigh_the_same_however_many_cells_they_have() {
        let share = |passed| Share { passed, judged: 4 };
        let many = SpecShares(vec![(share(4), share(4)); 9]);
        let one = SpecShares(vec![(share(4), share(0))]);
        let change =
            SuiteChange::of(&[many, one, SpecShares::default()], 0.01, &Gate::default()).expect("a comparison");
        assert_eq!((change.specs, change.now), (2, 0.5));
    }
}
