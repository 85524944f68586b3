//! Numbers that are not passed or failed: scores, times, tokens, cost. They are told, and decide only where that is asked for.

use std::fmt;

use serde::Serialize;

use super::gate::{Budget, Gate};
use crate::metric::Better;
use crate::result::ScenarioResult;
use crate::statistics::{Interval, MarginVerdict, Pair, Relabelled, count, mann_whitney, permutation, sign_flip};

/// From so many cells on, cells are what is compared: flipped signs can refuse chance at 1 %.
const FEWEST_CELLS: usize = 7;

/// A number that each scenario has, or each spec.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// The composite score of a scenario.
    Composite,
    /// How long a scenario took.
    Time,
    /// The tokens of a scenario's requests and answers.
    Tokens,
    /// What a scenario's model cost.
    Cost,
    /// The resilience score of a spec with a contract.
    Resilience,
}

impl Measure {
    /// Those that can fail a run.
    pub const GATEABLE: [Self; 3] = [Self::Composite, Self::Cost, Self::Time];
    /// Those that each scenario has.
    const OF_SCENARIOS: [Self; 4] = [Self::Composite, Self::Time, Self::Tokens, Self::Cost];

    /// Its word, for people and on the command line.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Composite => "composite",
            Self::Time => "time",
            Self::Tokens => "tokens",
            Self::Cost => "cost",
            Self::Resilience => "resilience",
        }
    }

    /// The one that can fail a run and has this word.
    #[must_use]
    pub fn gateable(word: &str) -> Option<Self> {
        Self::GATEABLE.into_iter().find(|measure| measure.word() == word)
    }

    const fn better(self) -> Better {
        match self {
            Self::Composite | Self::Resilience => Better::Higher,
            Self::Time | Self::Tokens | Self::Cost => Better::Lower,
        }
    }

    /// The value of a scenario that was judged; `None` when it has none.
    #[expect(clippy::cast_precision_loss, reason = "times and tokens are far below 2^53")]
    fn of(self, result: &ScenarioResult) -> Option<f64> {
        match self {
            Self::Composite => Some(result.composite),
            Self::Time => Some(result.wall_ms as f64),
            Self::Tokens => (result.usage.calls > 0).then(|| result.usage.tokens() as f64),
            Self::Cost => result.usage.cost().filter(|_| result.usage.calls > 0),
            Self::Resilience => None,
        }
    }

    fn shown(self, value: f64) -> String {
        match self {
            Self::Composite => format!("{value:.3}"),
            Self::Time => format!("{:.2} s", value / 1000.0),
            Self::Tokens => format!("{value:.0}"),
            Self::Cost => format!("${value:.4}"),
            Self::Resilience => format!("{value:.1}"),
        }
    }
}

impl fmt::Display for Measure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.word())
    }
}

/// The values of all replicas of a cell.
#[derive(Debug, Clone, Default)]
pub(super) struct CellValues([Vec<f64>; Measure::OF_SCENARIOS.len()]);

impl CellValues {
    pub(super) fn add(&mut self, result: &ScenarioResult) {
        for (values, measure) in self.0.iter_mut().zip(Measure::OF_SCENARIOS) {
            values.extend(measure.of(result));
        }
    }

    fn of(&self, measure: Measure) -> &[f64] {
        let place = Measure::OF_SCENARIOS.iter().position(|one| *one == measure);
        place.map_or(&[], |place| &self.0[place])
    }
}

/// What became of a measure.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MeasureChange {
    /// Which one.
    pub measure: Measure,
    /// The mean before: of the means of cells, which weigh the same.
    pub before: f64,
    /// The mean now.
    pub now: f64,
    /// By how much it changed: the mean difference, or the median one within a single cell.
    pub difference: f64,
    /// The range in which the true difference lies; `None` when there are too few values for one.
    pub interval: Option<Interval>,
    /// How sure that is.
    pub confidence: f64,
    /// How likely chance alone would make it as much worse, or more.
    pub chance: f64,
    /// How chance was judged.
    pub method: Method,
    /// How many cells were compared, or specs for the resilience score.
    pub pairs: usize,
    /// Whether it is worse or better by more than chance explains; it is never equivalent, as it has no margin.
    pub verdict: MarginVerdict,
    /// Whether it fails the run when it is worse.
    pub gates: bool,
}

/// How chance was judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// Differences of cells, whose signs are flipped.
    SignFlip,
    /// Values that change sides within cells.
    Permutation,
    /// Ranks of values within the only cell.
    MannWhitney,
}

/// What a test says of a difference.
struct Tested {
    difference: f64,
    interval: Option<Interval>,
    chances: (f64, f64),
    method: Method,
}

impl MeasureChange {
    /// Whether it is a regression.
    #[must_use]
    pub fn regressed(&self) -> bool {
        self.gates && self.verdict == MarginVerdict::Worse
    }

    /// All of it in one line.
    #[must_use]
    pub fn words(&self) -> String {
        let shown = |value: f64| self.measure.shown(value);
        let signed = |value: f64| format!("{}{}", if value < 0.0 { "−" } else { "+" }, shown(value.abs()));
        let part = self.difference / self.before.abs();
        let part =
            if part.is_finite() { format!(" ({:+.0} %)", part * 100.0).replace('-', "−") } else { String::new() };
        let range = self.interval.map(|Interval { low, high }| {
            format!(", {} % interval {} to {}", (self.confidence * 100.0).round(), signed(low), signed(high))
        });
        format!(
            "{}: {} {} → {}, {}{part}{}",
            self.verdict,
            self.measure,
            shown(self.before),
            shown(self.now),
            signed(self.difference),
            range.unwrap_or_default()
        )
    }

    fn of(measure: Measure, (before, now): (f64, f64), tested: Tested, pairs: usize, gate: &Gate, level: f64) -> Self {
        let is_lower_better = measure.better() == Better::Lower;
        let turned = |Interval { low, high }: Interval| {
            if is_lower_better { Interval { low: -high, high: -low } } else { Interval { low, high } }
        };
        let verdict = tested.interval.map_or(MarginVerdict::Inconclusive, |interval| {
            match MarginVerdict::of(turned(interval), 0.0) {
                // A difference of exactly nothing is no margin that anybody stated.
                MarginVerdict::Equivalent => MarginVerdict::Inconclusive,
                verdict => verdict,
            }
        });
        Self {
            measure,
            before,
            now,
            difference: tested.difference,
            interval: tested.interval,
            confidence: if tested.interval.is_some() { 1.0 - 2.0 * level } else { 0.0 },
            chance: if is_lower_better { tested.chances.1 } else { tested.chances.0 },
            method: tested.method,
            pairs,
            verdict,
            gates: gate.measures.contains(&measure),
        }
    }
}

/// Compares each measure that cells have on both sides.
pub(super) fn compare_measures(
    cells: &[(&CellValues, &CellValues)],
    gate: &Gate,
    budget: &Budget,
) -> Vec<MeasureChange> {
    Measure::OF_SCENARIOS.into_iter().filter_map(|measure| compare(measure, cells, gate, budget.measure)).collect()
}

fn compare(measure: Measure, cells: &[(&CellValues, &CellValues)], gate: &Gate, level: f64) -> Option<MeasureChange> {
    let pairs = cells.iter().map(|(before, now)| Pair { before: before.of(measure), now: now.of(measure) });
    let pairs: Vec<_> = pairs.filter(|pair| !pair.before.is_empty() && !pair.now.is_empty()).collect();
    let means: Vec<_> = pairs.iter().map(|pair| (mean(pair.before), mean(pair.now))).collect();
    let before = mean_of(&means, |means| means.0)?;
    let now = mean_of(&means, |means| means.1)?;
    Some(MeasureChange::of(measure, (before, now), test(&pairs, &means, level)?, pairs.len(), gate, level))
}

/// Compares the resilience scores of specs.
pub(super) fn compare_resilience(specs: &[(f64, f64)], gate: &Gate, budget: &Budget) -> Option<MeasureChange> {
    let (before, now) = (mean_of(specs, |scores| scores.0)?, mean_of(specs, |scores| scores.1)?);
    let tested = Tested::of(&flipped(specs)?, budget.measure, Method::SignFlip);
    Some(MeasureChange::of(Measure::Resilience, (before, now), tested, specs.len(), gate, budget.measure))
}

/// The test that so many cells allow.
fn test(pairs: &[Pair<'_>], means: &[(f64, f64)], level: f64) -> Option<Tested> {
    if means.len() >= FEWEST_CELLS {
        return Some(Tested::of(&flipped(means)?, level, Method::SignFlip));
    }
    if let [only] = pairs {
        let ranked = mann_whitney(only.before, only.now)?;
        return Some(Tested {
            difference: ranked.difference,
            interval: ranked.interval(level),
            chances: (ranked.chance_of_drop, ranked.chance_of_rise),
            method: Method::MannWhitney,
        });
    }
    Some(Tested::of(&permutation(pairs)?, level, Method::Permutation))
}

impl Tested {
    fn of(test: &Relabelled, level: f64, method: Method) -> Self {
        let chances = (test.chance_of_drop(), test.chance_of_rise());
        Self { difference: test.difference, interval: test.interval(level), chances, method }
    }
}

fn flipped(means: &[(f64, f64)]) -> Option<Relabelled> {
    sign_flip(&means.iter().map(|(before, now)| now - before).collect::<Vec<_>>())
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / count(values.len())
}

fn mean_of(pairs: &[(f64, f64)], side: fn(&(f64, f64)) -> f64) -> Option<f64> {
    (!pairs.is_empty()).then(|| pairs.iter().map(side).sum::<f64>() / count(pairs.len()))
}

#[cfg(test)]
mod tests {
    use super::{Budget, CellValues, Gate, Measure, MeasureChange, Method, compare, compare_resilience};
    use crate::statistics::MarginVerdict;

    /// What became of the time of cells with these values before and now.
    fn times(cells: &[(&[f64], &[f64])]) -> MeasureChange {
        let values = |times: &[f64]| CellValues([Vec::new(), times.to_vec(), Vec::new(), Vec::new()]);
        let cells: Vec<_> = cells.iter().map(|(before, now)| (values(before), values(now))).collect();
        let cells: Vec<_> = cells.iter().map(|(before, now)| (before, now)).collect();
        let gate = Gate { measures: vec![Measure::Time], ..Gate::default() };
        assert_eq!(compare(Measure::Cost, &cells, &gate, 0.01), None, "a measure without values is not compared");
        compare(Measure::Time, &cells, &gate, 0.01).expect("a comparison")
    }

    #[test]
    fn the_number_of_cells_decides_how_chance_is_judged() {
        let (fast, slow) =
            ([1000.0, 1010.0, 990.0, 1020.0, 1005.0, 995.0], [2000.0, 2010.0, 1990.0, 2020.0, 2005.0, 1995.0]);
        for (cells, method) in [(1, Method::MannWhitney), (3, Method::Permutation), (7, Method::SignFlip)] {
            let worse = times(&vec![(&fast[..], &slow[..]); cells]);
            assert_eq!(
                (worse.method, worse.verdict, worse.pairs),
                (method, MarginVerdict::Worse, cells),
                "{}",
                worse.words()
            );
            assert!(worse.regressed() && worse.chance <= 0.01);
            let better = times(&vec![(&slow[..], &fast[..]); cells]);
            assert!(better.verdict == MarginVerdict::Better && !better.regressed());
            let same = times(&vec![(&fast[..], &fast[..]); cells]);
            assert_eq!(same.verdict, MarginVerdict::Inconclusive);
        }
        insta::assert_snapshot!(times(&[(&fast, &slow)]).words(), @"worse: time 1.00 s → 2.00 s, +1.00 s (+100 %), 98 % interval +0.98 s to +1.02 s");
    }

    #[test]
    fn few_values_say_nothing_and_resilience_is_better_when_higher() {
        let one = times(&[(&[1000.0], &[9000.0])]);
        assert!(one.interval.is_none() && !one.regressed());
        insta::assert_snapshot!(one.words(), @"inconclusive: time 1.00 s → 9.00 s, +8.00 s (+800 %)");
        let gate = Gate::default();
        let budget = Budget::of(true, &gate);
        let dropped = compare_resilience(
            &[(100.0, 60.0), (90.0, 50.0), (80.0, 70.0), (100.0, 90.0), (70.0, 40.0), (60.0, 50.0), (90.0, 88.0)],
            &gate,
            &budget,
        );
        assert!(dropped.is_some_and(|change| change.verdict == MarginVerdict::Worse && !change.regressed()));
        assert_eq!(compare_resilience(&[], &gate, &budget), None);
    }
}
