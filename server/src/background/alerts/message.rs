//! The message of an alert that fires.

use jiff::Timestamp;
use scenario::score::ExperimentScore;
use scenario::untrusted;
use serde_json::{Value, json};
use store::{Alert, Experiment, Run};

/// An alert that fires.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fired<'a> {
    pub(super) alert: &'a Alert,
    pub(super) experiment: &'a Experiment,
    pub(super) run: &'a Run,
    pub(super) score: &'a ExperimentScore,
    pub(super) reason: &'a str,
    pub(super) at: Timestamp,
}

/// The message: of ours, or as Slack wants it.
pub(super) fn body(fired: &Fired<'_>) -> Value {
    if fired.alert.new.notify == "slack" { slack(fired) } else { own(fired) }
}

fn own(fired: &Fired<'_>) -> Value {
    let Fired { alert, experiment, run, score, reason, at } = fired;
    json!({
        "event": "alert.fired",
        "rule_id": alert.new.id,
        "rule_name": alert.new.name,
        "condition": alert.new.condition,
        "reason": reason,
        "experiment_id": experiment.id.to_string(),
        "experiment_name": experiment.name,
        "spec_id": experiment.spec.spec_id,
        "run": run.id.number,
        "fired_at": at.to_string(),
        "total_scenarios": score.total,
        "passed": score.passed,
        "failed": score.failed,
        "flaky": score.flaky,
        "errors": score.errors,
        "metrics": {
            "pass_rate": score.metrics.pass_rate,
            "mean_wall_ms": score.metrics.mean_wall_ms,
            "p95_wall_ms": score.metrics.p95_wall_ms,
            "total_cost_usd": score.metrics.total_cost_usd,
            "tool_success_rate": score.metrics.tool_success_rate,
            "side_effect_violations": score.metrics.side_effect_violations,
        },
    })
}

fn slack(fired: &Fired<'_>) -> Value {
    let Fired { alert, experiment, score, reason, .. } = fired;
    let text = format!(
        "*{}*: {}\n`{}` · {} of {} passed · experiment `{}`",
        plain(&alert.new.name),
        plain(reason),
        plain(&experiment.spec.spec_id),
        score.passed,
        score.total,
        experiment.id,
    );
    for_slack(alert, &text)
}

/// A text as Slack wants it, for the channel of an alert.
pub(in crate::background) fn for_slack(alert: &Alert, text: &str) -> Value {
    match &alert.new.slack_channel {
        Some(channel) => json!({"text": text, "channel": channel}),
        None => json!({"text": text}),
    }
}

/// A text in which Slack finds neither links nor names of people.
pub(in crate::background) fn plain(text: &str) -> String {
    untrusted::line(text, 500).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
