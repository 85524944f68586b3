//! The numbers of two runs side by side. They are told, and decide nothing.

use serde::Serialize;

use crate::metric::{Better, Metric};
use crate::score::ExperimentScore;

/// Smaller differences are noise of arithmetic.
const TINY: f64 = 1e-9;

/// A number of both runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ComparedMetric {
    /// Which one; written as its name.
    #[serde(rename = "name")]
    pub metric: Metric,
    /// The value in the baseline.
    pub baseline: f64,
    /// The value now.
    pub candidate: f64,
    /// The difference.
    pub delta: f64,
    /// The way that it went.
    pub direction: Direction,
}

/// The way that a number went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// It became better.
    Better,
    /// It became worse.
    Worse,
    /// It did not change by more than it does anyway.
    Same,
}

/// Lays the numbers of two runs side by side. A direction says which way a number went; whether chance explains that is what
/// [`RunComparison`](super::RunComparison) says.
#[must_use]
pub fn compare_metrics(baseline: &ExperimentScore, candidate: &ExperimentScore) -> Vec<ComparedMetric> {
    let both = |metric: Metric| Some((metric, metric.in_score(baseline)?, metric.in_score(candidate)?));
    Metric::compared().filter_map(both).map(|(metric, before, now)| ComparedMetric::new(metric, before, now)).collect()
}

impl ComparedMetric {
    /// Compares two values of a metric.
    #[must_use]
    pub fn new(metric: Metric, baseline: f64, candidate: f64) -> Self {
        let delta = candidate - baseline;
        let direction = match metric.better {
            Some(better) if delta.abs() > (baseline.abs() * metric.noise()).max(TINY) => {
                if (delta > 0.0) == (better == Better::Higher) { Direction::Better } else { Direction::Worse }
            }
            _ => Direction::Same,
        };
        Self { metric, baseline, candidate, delta, direction }
    }
}

#[cfg(test)]
mod tests {
    use super::{ComparedMetric, Direction, compare_metrics};
    use crate::plan::{CellId, CellKey, ScenarioId};
    use crate::score::{ExperimentScore, ExperimentVerdict, Metrics, Status};

    fn scored(statuses: &[Status], mean_wall_ms: u64) -> ExperimentScore {
        let cell = CellId::of(&CellKey::default());
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
            not_needed: 0,
            statuses: named.collect(),
            cells: Vec::new(),
            contract: None,
            mutations: None,
            replays: None,
            overall: None,
            judges: Vec::new(),
            metrics: Metrics { pass_rate, mean_wall_ms, tool_success_rate: 1.0, ..Metrics::default() },
        }
    }

    fn direction(metrics: &[ComparedMetric], name: &str) -> Direction {
        metrics.iter().find(|metric| metric.metric.name == name).expect("the metric").direction
    }

    #[test]
    fn the_same_is_the_same_and_a_little_slower_is_noise() {
        let baseline = scored(&[Status::Pass, Status::Fail], 1000);
        let metrics = compare_metrics(&baseline, &scored(&[Status::Pass, Status::Fail], 1100));
        assert!(metrics.iter().all(|metric| metric.direction == Direction::Same));
    }

    #[test]
    fn each_number_says_which_way_it_went() {
        let (good, bad) = (scored(&[Status::Pass, Status::Pass], 1000), scored(&[Status::Pass, Status::Error], 1500));
        let worse = compare_metrics(&good, &bad);
        let better = compare_metrics(&bad, &good);
        for name in ["pass_rate", "errors", "mean_wall_ms"] {
            let both = (direction(&worse, name), direction(&better, name));
            assert_eq!(both, (Direction::Worse, Direction::Better), "{name}");
        }
    }
}
