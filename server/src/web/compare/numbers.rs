//! The numbers of two experiments. They are told and decide nothing: times and costs are never twice the same.

use maud::{Markup, html};
use scenario::score::{ComparedMetric, Comparison};

use super::side::Side;
use crate::web::numbers::{count, duration, money, percent};

/// The table of numbers.
pub(super) fn section(before: &Side, now: &Side) -> Markup {
    let comparison = Comparison::of(&before.score, &now.score);
    html! {
        section aria-labelledby="numbers" {
            h2 #numbers { "Numbers" }
            p.quiet { "They are told, and decide nothing: times and costs are never twice the same." }
            div.scroll tabindex="0" role="region" aria-label="Numbers" { table.compared {
                thead { tr {
                    th scope="col" { "Number" }
                    @for side in [before, now] { th.number scope="col" { (side.named()) } }
                    th.number scope="col" { "Change" }
                } }
                tbody { @for metric in &comparison.metrics { (row(metric, before, now)) } }
            } }
        }
    }
}

fn row(metric: &ComparedMetric, before: &Side, now: &Side) -> Markup {
    html! {
        tr {
            th scope="row" { (called(metric.name)) }
            td.number { a href={ (before.place()) "#scenarios" } { (shown(metric.name, metric.baseline)) } }
            td.number { a href={ (now.place()) "#scenarios" } { (shown(metric.name, metric.candidate)) } }
            td.number { (change(metric)) }
        }
    }
}

/// A number as people read it.
fn shown(name: &str, value: f64) -> String {
    match name {
        "total_cost_usd" | "mean_cost_per_run_usd" => money(value),
        "mean_wall_ms" | "p95_wall_ms" => duration(whole(value)),
        "mean_composite" | "mean_tool_calls" => format!("{value:.2}"),
        _ if is_share(name) => percent(value),
        _ => count(whole(value)),
    }
}

/// How far it is from one to the other: in points between shares, and otherwise also as a part of what was before.
fn change(metric: &ComparedMetric) -> String {
    let size = metric.delta.abs();
    if size < 1e-9 {
        return "–".to_owned();
    }
    let sign = if metric.delta < 0.0 { "−" } else { "+" };
    if is_share(metric.name) {
        return format!("{sign}{} points", percent(size).trim_end_matches(" %"));
    }
    let part = size / metric.baseline.abs();
    let part = if part.is_finite() { format!(" ({sign}{:.0} %)", part * 100.0) } else { String::new() };
    format!("{sign}{}{part}", shown(metric.name, size))
}

/// Whether a number is a share of something.
fn is_share(name: &str) -> bool {
    matches!(name, "pass_rate" | "mean_pass_k" | "tool_success_rate")
}

/// What people call a number.
fn called(name: &str) -> &str {
    match name {
        "pass_rate" => "Pass rate",
        "mean_pass_k" => "pass^k",
        "mean_composite" => "Composite",
        "errors" => "Errors",
        "side_effect_violations" => "Violations of rules",
        "tool_success_rate" => "Tool calls that went well",
        "mean_tool_calls" => "Tool calls of a scenario",
        "mean_tokens" => "Tokens of a scenario",
        "mean_cost_per_run_usd" => "Cost of a scenario",
        "total_cost_usd" => "Cost",
        "mean_wall_ms" => "Time of a scenario",
        "p95_wall_ms" => "Time that 95 of 100 take at most",
        other => other,
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "what is shown is small and not below 0")]
fn whole(number: f64) -> u64 {
    number.max(0.0).round() as u64
}

#[cfg(test)]
mod tests {
    use scenario::score::{ComparedMetric, Direction};

    use super::change;

    #[track_caller]
    fn check(name: &'static str, baseline: f64, candidate: f64, expected: &str) {
        let delta = candidate - baseline;
        assert_eq!(change(&ComparedMetric { name, baseline, candidate, delta, direction: Direction::Same }), expected);
    }

    #[test]
    fn a_difference_of_shares_is_in_points_and_others_say_which_part_they_are() {
        check("pass_rate", 0.625, 0.75, "+12.5 points");
        check("pass_rate", 1.0, 0.5, "−50 points");
        check("mean_wall_ms", 1000.0, 1030.0, "+30 ms (+3 %)");
        check("total_cost_usd", 0.0, 0.25, "+$0.2500");
        check("errors", 2.0, 2.0, "–");
    }
}
