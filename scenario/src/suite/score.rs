//! The numbers of a suite, and what it falls short of.

use serde::{Deserialize, Serialize};

use super::file::Suite;
use super::pooled::Pooled;
use crate::coverage::Coverage;
use crate::score::{CellVerdict, ExperimentScore, ExperimentVerdict};
use crate::spec::types::Fraction;
use crate::untrusted;

/// A spec of a suite, and what became of it.
#[derive(Debug, Clone, Copy)]
pub struct Ran<'a> {
    /// The spec's id.
    pub spec: &'a str,
    /// Its numbers.
    pub score: &'a ExperimentScore,
}

/// The numbers of a suite.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SuiteScore {
    /// The suite's name.
    pub name: String,
    /// The mean pass^k of the specs, by their weights; `None` when nothing was judged.
    pub mean_pass_k: Option<f64>,
    /// The mean pass rate of the specs, by their weights; `None` when nothing was judged.
    pub mean_pass_rate: Option<f64>,
    /// Tokens and cost of all specs together.
    #[serde(flatten)]
    pub pooled: Pooled,
    /// What the suite must reach.
    pub floors: FloorValues,
    /// What it falls short of.
    pub shortfalls: Vec<Shortfall>,
    /// Its specs.
    pub specs: Vec<SpecLine>,
}

/// What a suite must reach.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct FloorValues {
    /// The pass rate of every cell.
    pub pass_rate: Option<f64>,
    /// The mean pass^k.
    pub pass_k: Option<f64>,
    /// The share of capabilities.
    pub coverage: Option<f64>,
}

/// Something that a suite falls short of.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Shortfall {
    /// Which floor.
    pub floor: Floor,
    /// The spec, for the pass rate of a cell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spec: Option<String>,
    /// The cell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cell: Option<String>,
    /// The number that was found.
    pub found: f64,
    /// The number that is asked for.
    pub required: f64,
}

/// A floor of a suite.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Floor {
    /// The pass rate of a cell.
    PassRate,
    /// The mean pass^k.
    PassK,
    /// The share of capabilities.
    Coverage,
}

/// A spec of a suite.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SpecLine {
    /// Its id.
    pub spec: String,
    /// How much it counts.
    pub weight: f64,
    /// Whether it passed.
    pub verdict: ExperimentVerdict,
    /// Its pass^k; `None` when nothing of it was judged.
    pub pass_k: Option<f64>,
    /// Its pass rate; `None` when nothing of it was judged.
    pub pass_rate: Option<f64>,
}

impl SuiteScore {
    /// Adds up what ran. Specs of which nothing could be judged enter no mean.
    #[must_use]
    pub fn of(suite: &Suite, ran: &[Ran<'_>], coverage: Option<&Coverage>) -> Self {
        let specs: Vec<SpecLine> = ran.iter().map(|one| line(suite, one)).collect();
        let floors = FloorValues {
            pass_rate: suite.floors.pass_rate.map(Fraction::get),
            pass_k: suite.floors.pass_k.map(Fraction::get),
            coverage: suite.floors.coverage.map(Fraction::get),
        };
        let mut score = Self {
            name: suite.suite.to_string(),
            mean_pass_k: mean(&specs, |spec| spec.pass_k),
            mean_pass_rate: mean(&specs, |spec| spec.pass_rate),
            pooled: Pooled::of(ran.iter().map(|one| one.score)),
            floors,
            shortfalls: Vec::new(),
            specs,
        };
        score.shortfalls = score.falls_short(ran, coverage);
        score
    }

    fn falls_short(&self, ran: &[Ran<'_>], coverage: Option<&Coverage>) -> Vec<Shortfall> {
        let below = |floor, found: Option<f64>, required: Option<f64>| {
            let (found, required) = (found?, required?);
            (found < required).then_some(Shortfall { floor, spec: None, cell: None, found, required })
        };
        let cells = ran.iter().flat_map(|one| cells_below(one, self.floors.pass_rate));
        let means = [
            below(Floor::PassK, self.mean_pass_k, self.floors.pass_k),
            below(Floor::Coverage, coverage.map(|coverage| coverage.share), self.floors.coverage),
        ];
        cells.chain(means.into_iter().flatten()).collect()
    }

    /// Whether a floor is not reached.
    #[must_use]
    pub fn fails(&self) -> bool {
        !self.shortfalls.is_empty()
    }

    /// `robustness: pass^k 0.875, pass rate 0.938 over 8 specs`.
    #[must_use]
    pub fn summary(&self) -> String {
        let number = |number: Option<f64>| number.map_or_else(|| "unknown".to_owned(), |number| format!("{number:.3}"));
        format!(
            "{}: pass^k {}, pass rate {} over {}",
            untrusted::line(&self.name, 100),
            number(self.mean_pass_k),
            number(self.mean_pass_rate),
            crate::count_noun(self.specs.len(), "spec")
        )
    }
}

impl Floor {
    /// Its words.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::PassRate => "pass rate",
            Self::PassK => "mean pass^k",
            Self::Coverage => "coverage",
        }
    }
}

impl Shortfall {
    /// `refund-agent, cell default: pass rate 0.500 is below 0.600`.
    #[must_use]
    pub fn message(&self) -> String {
        let place = match (&self.spec, &self.cell) {
            (Some(spec), Some(cell)) => format!("{spec}, cell {cell}: "),
            (Some(spec), None) => format!("{spec}: "),
            _ => String::new(),
        };
        let line = format!("{place}{} {:.3} is below {:.3}", self.floor.words(), self.found, self.required);
        untrusted::line(&line, 400)
    }
}

fn line(suite: &Suite, ran: &Ran<'_>) -> SpecLine {
    let score = ran.score;
    let is_judged = score.passed + score.failed + score.flaky > 0;
    SpecLine {
        spec: ran.spec.to_owned(),
        weight: suite.weight(ran.spec),
        verdict: score.verdict,
        pass_k: is_judged.then_some(score.metrics.mean_pass_k),
        pass_rate: is_judged.then_some(score.metrics.pass_rate),
    }
}

/// Cells that did not reach the floor of pass rates.
fn cells_below(ran: &Ran<'_>, floor: Option<f64>) -> Vec<Shortfall> {
    let Some(required) = floor else { return Vec::new() };
    let cells = ran.score.cells.iter().filter(|cell| cell.decides() && cell.verdict == CellVerdict::Fail);
    let below = cells.filter_map(|cell| Some((cell, cell.pass_rate?))).filter(|(_, found)| *found < required);
    below
        .map(|(cell, found)| Shortfall {
            floor: Floor::PassRate,
            spec: Some(ran.spec.to_owned()),
            cell: Some(cell.id.to_string()),
            found,
            required,
        })
        .collect()
}

/// The mean by weights of those that have the number.
fn mean(specs: &[SpecLine], number: impl Fn(&SpecLine) -> Option<f64>) -> Option<f64> {
    let known: Vec<(f64, f64)> = specs.iter().filter_map(|spec| Some((spec.weight, number(spec)?))).collect();
    let weight: f64 = known.iter().map(|(weight, _)| weight).sum();
    (weight > 0.0).then(|| known.iter().map(|(weight, number)| weight * number).sum::<f64>() / weight)
}
