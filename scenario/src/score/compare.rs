//! Two experiments side by side.

use serde::Serialize;

use super::experiment::ExperimentScore;
use super::{Metrics, Status};
use crate::counted;

/// How many scenarios are named that passed before.
const MOST_NAMED: usize = 100;
/// Smaller differences are noise of arithmetic.
const TINY: f64 = 1e-9;

/// What a candidate is like beside a baseline.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// Every number, side by side.
    pub metrics: Vec<ComparedMetric>,
    /// Whether anything got worse by more than it may.
    pub regressed: bool,
    /// What got worse, a line each.
    pub regressions: Vec<String>,
    /// All of it in one sentence.
    pub summary: String,
}

/// A number of both experiments.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ComparedMetric {
    /// Which one.
    pub name: &'static str,
    /// What it was.
    pub baseline: f64,
    /// What it is.
    pub candidate: f64,
    /// By how much it changed.
    pub delta: f64,
    /// Whether that is good.
    pub direction: Direction,
}

/// Whether a change is good.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// It is.
    Better,
    /// It is bad.
    Worse,
    /// There is none that says anything.
    Same,
}

/// Which way is good.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Good {
    More,
    Less,
}

/// A number, which way is good, and which share of the baseline it may change by without saying anything: times and tokens
/// are never twice the same.
type Rule = (&'static str, Good, f64, fn(&ExperimentScore) -> f64);

const RULES: [Rule; 12] = [
    ("pass_rate", Good::More, 0.0, |score| score.metrics.pass_rate),
    ("mean_pass_k", Good::More, 0.0, |score| score.metrics.mean_pass_k),
    ("mean_composite", Good::More, 0.0, |score| score.metrics.mean_composite),
    ("errors", Good::Less, 0.0, |score| whole(score.errors as u64)),
    ("side_effect_violations", Good::Less, 0.0, |score| whole(score.metrics.side_effect_violations)),
    ("tool_success_rate", Good::More, 0.05, |score| score.metrics.tool_success_rate),
    ("mean_tool_calls", Good::Less, 0.2, |score| score.metrics.mean_tool_calls),
    ("mean_tokens", Good::Less, 0.2, |score| whole(score.metrics.mean_tokens)),
    ("mean_cost_per_run_usd", Good::Less, 0.2, |score| score.metrics.mean_cost_per_run_usd),
    ("total_cost_usd", Good::Less, 0.2, |score| score.metrics.total_cost_usd),
    ("mean_wall_ms", Good::Less, 0.2, |score| whole(score.metrics.mean_wall_ms)),
    ("p95_wall_ms", Good::Less, 0.2, |score| whole(score.metrics.p95_wall_ms)),
];

impl Comparison {
    /// Looks at two experiments side by side. A scenario is the same one when its id is.
    #[must_use]
    pub fn of(baseline: &ExperimentScore, candidate: &ExperimentScore) -> Self {
        let metrics: Vec<_> = RULES.iter().map(|rule| compare(rule, baseline, candidate)).collect();
        let worse = metrics.iter().filter(|metric| metric.direction == Direction::Worse);
        let mut regressions: Vec<String> =
            worse.map(|metric| format!("{}: {} → {}", metric.name, metric.baseline, metric.candidate)).collect();
        let regressed = !regressions.is_empty();
        regressions.extend(broken(baseline, candidate));
        let summary = summary(baseline, candidate, &regressions);
        Self { regressed: regressed || !regressions.is_empty(), metrics, regressions, summary }
    }
}

fn compare(rule: &Rule, baseline: &ExperimentScore, candidate: &ExperimentScore) -> ComparedMetric {
    let (name, good, noise, read) = *rule;
    let (baseline, candidate) = (read(baseline), read(candidate));
    let delta = candidate - baseline;
    let direction = if delta.abs() <= (baseline.abs() * noise).max(TINY) {
        Direction::Same
    } else if (delta > 0.0) == (good == Good::More) {
        Direction::Better
    } else {
        Direction::Worse
    };
    ComparedMetric { name, baseline, candidate, delta, direction }
}

/// Scenarios that passed and do not any more.
fn broken(baseline: &ExperimentScore, candidate: &ExperimentScore) -> Vec<String> {
    let passed = baseline.statuses.iter().filter(|(_, status)| **status == Status::Pass);
    let now = passed.filter_map(|(id, _)| Some((id, *candidate.statuses.get(id)?)));
    let broken: Vec<_> = now.filter(|(_, status)| *status != Status::Pass).collect();
    let mut lines: Vec<_> =
        broken.iter().take(MOST_NAMED).map(|(id, status)| format!("scenario {id}: pass → {}", status.word())).collect();
    match broken.len().saturating_sub(MOST_NAMED) {
        0 => {}
        more => lines.push(format!("and {} that passed", counted(more, "more scenario"))),
    }
    lines
}

fn summary(baseline: &ExperimentScore, candidate: &ExperimentScore, regressions: &[String]) -> String {
    let rates = |metrics: &Metrics| match &metrics.pass_rate_interval {
        Some(range) => format!("{:.3} ({:.3}–{:.3})", metrics.pass_rate, range.low, range.high),
        None => "unknown".to_owned(),
    };
    let rates = format!("pass rate {} → {}", rates(&baseline.metrics), rates(&candidate.metrics));
    match regressions.len() {
        0 => format!("no regression; {rates}"),
        1 => format!("1 regression; {rates}"),
        many => format!("{many} regressions; {rates}"),
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
fn whole(number: u64) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use indexmap::IndexMap;

    use super::{Comparison, Direction};
    use crate::plan::{CellId, ScenarioId};
    use crate::score::{ExperimentScore, ExperimentVerdict, Metrics, Status};

    fn scored(statuses: &[Status], mean_wall_ms: u64) -> ExperimentScore {
        let cell = CellId::of(&IndexMap::new());
        let of = |wanted| statuses.iter().filter(|status| **status == wanted).count();
        let passed = of(Status::Pass);
        let pass_rate = passed as f64 / statuses.len() as f64;
        let named = statuses.iter().zip(0..).map(|(status, replica)| (ScenarioId::of(&cell, replica), *status));
        ExperimentScore {
            verdict: ExperimentVerdict::Pass,
            total: statuses.len(),
            passed,
            failed: of(Status::Fail),
            flaky: of(Status::Flaky),
            errors: of(Status::Error),
            statuses: named.collect(),
            cells: Vec::new(),
            metrics: Metrics { pass_rate, mean_wall_ms, tool_success_rate: 1.0, ..Metrics::default() },
        }
    }

    fn direction(comparison: &Comparison, name: &str) -> Direction {
        comparison.metrics.iter().find(|metric| metric.name == name).expect("the metric").direction
    }

    #[test]
    fn the_same_is_the_same_and_a_little_slower_is_noise() {
        let baseline = scored(&[Status::Pass, Status::Fail], 1000);
        let comparison = Comparison::of(&baseline, &scored(&[Status::Pass, Status::Fail], 1100));
        assert!(!comparison.regressed && comparison.regressions.is_empty());
        assert!(comparison.metrics.iter().all(|metric| metric.direction == Direction::Same));
        assert_eq!(comparison.summary, "no regression; pass rate unknown → unknown");
    }

    #[test]
    fn what_got_worse_is_named() {
        let baseline = scored(&[Status::Pass, Status::Pass], 1000);
        let comparison = Comparison::of(&baseline, &scored(&[Status::Pass, Status::Fail], 1500));
        assert!(comparison.regressed);
        assert_eq!(direction(&comparison, "pass_rate"), Direction::Worse);
        assert_eq!(direction(&comparison, "mean_wall_ms"), Direction::Worse);
        assert_eq!(
            comparison.regressions,
            ["pass_rate: 1 → 0.5", "mean_wall_ms: 1000 → 1500", "scenario default-r1: pass → fail"]
        );
    }

    #[test]
    fn a_scenario_that_broke_counts_also_when_another_was_mended() {
        let baseline = scored(&[Status::Pass, Status::Fail], 1000);
        let comparison = Comparison::of(&baseline, &scored(&[Status::Fail, Status::Pass], 500));
        assert_eq!(direction(&comparison, "pass_rate"), Direction::Same);
        assert_eq!(direction(&comparison, "mean_wall_ms"), Direction::Better);
        assert!(comparison.regressed);
        assert_eq!(comparison.regressions, ["scenario default-r0: pass → fail"]);
    }

    #[test]
    fn better_is_no_regression() {
        let baseline = scored(&[Status::Fail, Status::Error], 1000);
        let comparison = Comparison::of(&baseline, &scored(&[Status::Pass, Status::Pass], 1000));
        assert!(!comparison.regressed);
        assert_eq!(direction(&comparison, "pass_rate"), Direction::Better);
        assert_eq!(direction(&comparison, "errors"), Direction::Better);
    }
}
