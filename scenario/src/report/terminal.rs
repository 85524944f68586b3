//! The report as a table for a terminal.

use std::fmt::Write as _;

use comfy_table::{ColumnConstraint, ContentArrangement, Table, Width, presets};

use super::{Report, Row, time, word};
use crate::score::{ExperimentVerdict, Status};
use crate::untrusted;

/// How long the reason of one scenario may be.
const MOST_REASON: usize = 400;

/// The report as a table, at most `width` characters wide.
#[must_use]
pub fn render(report: &Report, width: u16) -> String {
    let mut table = Table::new();
    table.load_style(presets::UTF8_BORDERS_ONLY).set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
    table.set_header(["scenario", "status", "score", "time", "why"]);
    for row in &report.rows {
        table.add_row([
            row.result.scenario.id.to_string(),
            word(row.status).to_owned(),
            format!("{:.3}", row.result.composite),
            time(row.result.wall_ms),
            why(row),
        ]);
    }
    for index in 0..4 {
        if let Some(column) = table.column_mut(index) {
            column.set_constraint(ColumnConstraint::UpperBoundary(Width::Percentage(40)));
        }
    }
    format!("{table}\n{}", summary(report))
}

/// The first thing that kept the scenario from passing, and how many more there are.
fn why(row: &Row) -> String {
    if row.status == Status::Pass {
        return String::new();
    }
    let reasons = row.reasons();
    let Some((what, found)) = reasons.first() else {
        return "the composite is below the threshold".to_owned();
    };
    let more = if reasons.len() > 1 { format!(" (+{} more)", reasons.len() - 1) } else { String::new() };
    format!("{}{more}", untrusted::line(&format!("{what}: {found}"), MOST_REASON))
}

fn summary(report: &Report) -> String {
    let score = &report.score;
    let verdict = match score.verdict {
        ExperimentVerdict::Pass => "passed",
        ExperimentVerdict::Fail => "FAILED",
        ExperimentVerdict::Error => "could not be judged",
        ExperimentVerdict::Pending => "not ended",
    };
    let mut text = format!(
        "{} {verdict}: scenarios {}, passed {}, failed {}, flaky {}, errors {}\n",
        report.spec_id, score.total, score.passed, score.failed, score.flaky, score.errors
    );
    let metrics = &score.metrics;
    if let Some(interval) = metrics.pass_rate_interval {
        let _ = write!(
            text,
            "pass rate {:.3} (95 %: {:.3}–{:.3}), pass^k {:.3}",
            metrics.pass_rate, interval.low, interval.high, metrics.mean_pass_k
        );
        let _ = writeln!(text, ", mean score {:.3}, p95 {}", metrics.mean_composite, time(metrics.p95_wall_ms));
    }
    if metrics.total_tokens > 0 {
        let success = metrics
            .tokens_per_success
            .map_or_else(|| "no success".to_owned(), |tokens| format!("{tokens:.0} per success"));
        let _ = writeln!(text, "tokens {} ({success}), cost ${:.4}", metrics.total_tokens, metrics.total_cost_usd);
    }
    text
}
