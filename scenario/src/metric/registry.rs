//! The registry: every metric, once.

use super::{Better, Metric, Source, Unit};
use crate::report::Report;
use crate::score::{ExperimentScore, Outcome};

use Better::{Higher, Lower};
use Unit::{Count, Dollars, Mean, Milliseconds, Score, Share};

/// A change of times, tokens and costs that says nothing: they are never twice the same.
const NEVER_THE_SAME: f64 = 0.2;

/// The share of judged scenarios that passed.
pub const PASS_RATE: Metric =
    metric("pass_rate", "Pass rate", Share, |score| Some(score.metrics.pass_rate)).better(Higher).compared_beyond(0.0);
/// The mean composite of judged scenarios.
pub const MEAN_COMPOSITE: Metric =
    metric("mean_composite", "Composite", Score, |score| Some(score.metrics.mean_composite))
        .better(Higher)
        .compared_beyond(0.0);
/// The cost of all scenarios together.
pub const TOTAL_COST_USD: Metric =
    metric("total_cost_usd", "Cost", Dollars, |score| Some(score.metrics.total_cost_usd))
        .better(Lower)
        .compared_beyond(NEVER_THE_SAME);
/// The mean time of a scenario.
pub const MEAN_WALL_MS: Metric =
    metric("mean_wall_ms", "Time of a scenario", Milliseconds, |score| whole(score.metrics.mean_wall_ms))
        .better(Lower)
        .compared_beyond(NEVER_THE_SAME);

/// The resilience score of the contract, from 0 to 100.
pub const RESILIENCE_SCORE: Metric =
    metric("resilience_score", "Resilience score", Mean, |score| score.contract.as_ref()?.resilience_score)
        .better(Higher)
        .compared_beyond(0.0);

/// All of them, in the order in which they are shown.
pub(super) const ALL: [Metric; 29] = [
    PASS_RATE,
    metric("mean_pass_k", "pass^k", Share, |score| Some(score.metrics.mean_pass_k)).better(Higher).compared_beyond(0.0),
    MEAN_COMPOSITE,
    RESILIENCE_SCORE,
    metric("recovered", "Worlds that the agent recovered from", Count, |score| worlds(score, Outcome::Recovered))
        .better(Higher)
        .compared_beyond(0.0),
    // Degraded is worse than recovered and better than the others, so that a change says nothing by itself.
    metric("degraded", "Worlds in which the agent failed safe", Count, |score| worlds(score, Outcome::Degraded)),
    metric("fabricated", "Worlds in which something untrue was said", Count, |score| {
        worlds(score, Outcome::Fabricated)
    })
    .better(Lower)
    .compared_beyond(0.0),
    metric("corrupted", "Worlds that were corrupted", Count, |score| worlds(score, Outcome::Corrupted))
        .better(Lower)
        .compared_beyond(0.0),
    metric("mutation_robustness", "Robustness against mutations", Share, |score| score.mutations.as_ref()?.robustness)
        .better(Higher)
        .compared_beyond(0.0),
    metric("overall_score", "Overall score", Score, |score| score.overall.as_ref()?.score)
        .better(Higher)
        .compared_beyond(0.0),
    metric("total_scenarios", "Scenarios", Count, |score| count(score.total)),
    metric("passed", "Passed", Count, |score| count(score.passed)).better(Higher),
    metric("failed", "Failed", Count, |score| count(score.failed)).better(Lower),
    metric("flaky", "Flaky", Count, |score| count(score.flaky)).better(Lower),
    metric("errors", "Errors", Count, |score| count(score.errors)).better(Lower).compared_beyond(0.0),
    metric("side_effect_violations", "Violations of rules", Count, |score| whole(score.metrics.side_effect_violations))
        .better(Lower)
        .compared_beyond(0.0),
    metric("tool_success_rate", "Tool calls that went well", Share, |score| Some(score.metrics.tool_success_rate))
        .better(Higher)
        .compared_beyond(0.05),
    metric("mean_tool_calls", "Tool calls of a scenario", Mean, |score| Some(score.metrics.mean_tool_calls))
        .better(Lower)
        .compared_beyond(NEVER_THE_SAME),
    metric("mean_tokens", "Tokens of a scenario", Count, |score| whole(score.metrics.mean_tokens))
        .better(Lower)
        .compared_beyond(NEVER_THE_SAME),
    metric("total_tokens", "Tokens", Count, |score| whole(score.metrics.total_tokens)).better(Lower),
    metric("tokens_per_success", "Tokens for each success", Count, |score| score.metrics.tokens_per_success)
        .better(Lower),
    metric("mean_cost_per_run_usd", "Cost of a scenario", Dollars, |score| Some(score.metrics.mean_cost_per_run_usd))
        .better(Lower)
        .compared_beyond(NEVER_THE_SAME),
    TOTAL_COST_USD,
    metric("cost_per_success_usd", "Cost for each success", Dollars, |score| score.metrics.cost_per_success_usd)
        .better(Lower),
    metric("unpriced", "Scenarios without a known price", Count, |score| count(score.metrics.unpriced)).better(Lower),
    MEAN_WALL_MS,
    metric("p95_wall_ms", "Time that 95 of 100 take at most", Milliseconds, |score| whole(score.metrics.p95_wall_ms))
        .better(Lower)
        .compared_beyond(NEVER_THE_SAME),
    // Keystone's name for the number of scenarios, in `GET /v1/metrics/experiments/{id}` alone.
    of_report("total_runs", "Runs of scenarios", |report| float(report.score.total as u64)),
    of_report("total_tool_calls", "Tool calls", |report| float(report.tool_calls())).better(Lower),
];

const fn metric(
    name: &'static str,
    label: &'static str,
    unit: Unit,
    read: fn(&ExperimentScore) -> Option<f64>,
) -> Metric {
    Metric { name, label, unit, better: None, noise: None, source: Source::Score(read) }
}

const fn of_report(name: &'static str, label: &'static str, read: fn(&Report) -> f64) -> Metric {
    Metric { name, label, unit: Count, better: None, noise: None, source: Source::Report(read) }
}

impl Metric {
    const fn better(self, better: Better) -> Self {
        Self { better: Some(better), ..self }
    }

    /// Puts it into comparisons; changes up to this share of the baseline say nothing.
    const fn compared_beyond(self, noise: f64) -> Self {
        Self { noise: Some(noise), ..self }
    }
}

/// The number of worlds whose faults came to an outcome; `None` without a contract.
fn worlds(score: &ExperimentScore, outcome: Outcome) -> Option<f64> {
    whole(score.contract.as_ref()?.outcome_counts().of(outcome))
}

fn count(number: usize) -> Option<f64> {
    whole(number as u64)
}

#[expect(clippy::unnecessary_wraps, reason = "readers of metrics have one type")]
fn whole(number: u64) -> Option<f64> {
    Some(float(number))
}

#[expect(clippy::cast_precision_loss, reason = "counters and milliseconds are far below what a float holds exactly")]
fn float(number: u64) -> f64 {
    number as f64
}
