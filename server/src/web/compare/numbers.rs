//! The numbers of two experiments. They are told and decide nothing: times and costs are never twice the same.

use maud::{Markup, html};
use scenario::metric::Unit;
use scenario::regression::{ComparedMetric, compare_metrics};

use super::side::Side;
use crate::web::numbers::{measured, percent};

/// The table of numbers.
pub(super) fn section(before: &Side, now: &Side) -> Markup {
    let metrics = compare_metrics(&before.score, &now.score);
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
                tbody { @for compared in &metrics { (row(compared, before, now)) } }
            } }
        }
    }
}

fn row(compared: &ComparedMetric, before: &Side, now: &Side) -> Markup {
    let unit = compared.metric.unit;
    html! {
        tr {
            th scope="row" { (compared.metric.label) }
            td.number { a href={ (before.place()) "#scenarios" } { (measured(unit, compared.baseline)) } }
            td.number { a href={ (now.place()) "#scenarios" } { (measured(unit, compared.candidate)) } }
            td.number { (change(compared)) }
        }
    }
}

/// The difference: in points between shares, and otherwise also as a part of what was before.
fn change(compared: &ComparedMetric) -> String {
    let size = compared.delta.abs();
    if size < 1e-9 {
        return "–".to_owned();
    }
    let sign = if compared.delta < 0.0 { "−" } else { "+" };
    if compared.metric.unit == Unit::Share {
        return format!("{sign}{} points", percent(size).trim_end_matches(" %"));
    }
    let part = size / compared.baseline.abs();
    let part = if part.is_finite() { format!(" ({sign}{:.0} %)", part * 100.0) } else { String::new() };
    format!("{sign}{}{part}", measured(compared.metric.unit, size))
}

#[cfg(test)]
mod tests {
    use scenario::metric::Metric;
    use scenario::regression::ComparedMetric;

    use super::change;

    #[track_caller]
    fn check(name: &str, baseline: f64, candidate: f64, expected: &str) {
        let metric = Metric::all().find(|metric| metric.name == name).expect("a metric");
        assert_eq!(change(&ComparedMetric::new(metric, baseline, candidate)), expected);
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
