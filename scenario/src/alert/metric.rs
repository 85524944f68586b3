//! What a condition can ask of a run.

use crate::score::ExperimentScore;

/// Something about a run that is a number.
#[derive(Debug, Clone, Copy)]
pub struct Metric {
    /// Its name.
    pub name: &'static str,
    /// Whether it is a part of one, so that `5%` is a difference and not a part of what it was.
    is_rate: bool,
    read: fn(&ExperimentScore) -> Option<f64>,
}

const fn rate(name: &'static str, read: fn(&ExperimentScore) -> Option<f64>) -> Metric {
    Metric { name, is_rate: true, read }
}

const fn number(name: &'static str, read: fn(&ExperimentScore) -> Option<f64>) -> Metric {
    Metric { name, is_rate: false, read }
}

/// All metrics, in the order in which they are named to people.
const ALL: [Metric; 20] = [
    rate("pass_rate", |score| Some(score.metrics.pass_rate)),
    rate("mean_pass_k", |score| Some(score.metrics.mean_pass_k)),
    rate("mean_composite", |score| Some(score.metrics.mean_composite)),
    rate("tool_success_rate", |score| Some(score.metrics.tool_success_rate)),
    number("total_scenarios", |score| count(score.total)),
    number("passed", |score| count(score.passed)),
    number("failed", |score| count(score.failed)),
    number("flaky", |score| count(score.flaky)),
    number("errors", |score| count(score.errors)),
    number("mean_wall_ms", |score| whole(score.metrics.mean_wall_ms)),
    number("p95_wall_ms", |score| whole(score.metrics.p95_wall_ms)),
    number("mean_tool_calls", |score| Some(score.metrics.mean_tool_calls)),
    number("mean_tokens", |score| whole(score.metrics.mean_tokens)),
    number("total_tokens", |score| whole(score.metrics.total_tokens)),
    number("total_cost_usd", |score| Some(score.metrics.total_cost_usd)),
    number("mean_cost_per_run_usd", |score| Some(score.metrics.mean_cost_per_run_usd)),
    number("cost_per_success_usd", |score| score.metrics.cost_per_success_usd),
    number("tokens_per_success", |score| score.metrics.tokens_per_success),
    number("unpriced", |score| count(score.metrics.unpriced)),
    number("side_effect_violations", |score| whole(score.metrics.side_effect_violations)),
];

impl PartialEq for Metric {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Metric {
    /// The metric with a name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        ALL.into_iter().find(|metric| metric.name == name)
    }

    /// The names of all metrics.
    pub fn names() -> impl Iterator<Item = &'static str> {
        ALL.iter().map(|metric| metric.name)
    }

    /// Its value in a run; `None` when there is none.
    #[must_use]
    pub fn of(&self, score: &ExperimentScore) -> Option<f64> {
        (self.read)(score)
    }

    /// Whether it is a part of one.
    pub(super) fn is_rate(&self) -> bool {
        self.is_rate
    }
}

fn count(number: usize) -> Option<f64> {
    whole(u64::try_from(number).unwrap_or(u64::MAX))
}

#[expect(clippy::cast_precision_loss, reason = "counters and milliseconds are far below what a float holds exactly")]
#[expect(clippy::unnecessary_wraps, reason = "readers of metrics have one type")]
fn whole(number: u64) -> Option<f64> {
    Some(number as f64)
}
