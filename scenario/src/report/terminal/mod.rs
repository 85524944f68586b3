//! The report for a terminal: a table, what each invariant came to, what went wrong, and all of it in a few lines.
//!
//! A line that needs attention says so in capitals (`FAIL`, `FLAKY`, `ERROR`, `INCONCLUSIVE`, `FAILED`); cells of tables have small letters.

mod cells;
mod contract;
mod details;
mod invariants;
mod mutations;
mod replays;

use std::fmt::Write as _;

use comfy_table::{ColumnConstraint, ContentArrangement, Table, Width, presets};
use indexmap::IndexMap;

use super::{Header, Report, Reports, Row, Skipped, quarantine_words, suite_words};
use crate::count_noun;
use crate::format_duration;
use crate::plan::Purpose;
use crate::regression::RunComparison;
use crate::score::{Cell, ExperimentVerdict, Status};
use crate::untrusted;

/// Maximum length of the reason of one scenario.
const MOST_REASON: usize = 400;
/// Maximum number of scenarios that are shown with all their failures.
const MOST_DETAILS: usize = 10;
/// Maximum number of scenarios with the same failure that are named.
const MOST_ALIKE: usize = 10;
/// Maximum length of the line with everything that was removed.
const MOST_REMOVED: usize = 2000;
/// Maximum number of caveats that are shown.
const MOST_CAVEATS: usize = 10;
/// Maximum number of findings about a baseline that are shown.
const MOST_FINDINGS: usize = 50;

/// The report as a table, at most `width` characters wide, with what went wrong below it.
#[must_use]
pub fn render(report: &Report, width: u16) -> String {
    let mut table = table(width, &["scenario", "status", "score", "met", "time", "why"]);
    // The matrix of a contract, the kinds of mutations and the sessions say of each run that passed all there is to say.
    let has_section = |purpose: &Purpose| purpose.mutation().is_some() || purpose.replay().is_some();
    let is_summed_up = |cell: &Cell| cell.of_contract || has_section(&cell.key.purpose);
    let is_matrix = report.score.contract.is_some() && report.score.cells.iter().all(is_summed_up);
    let is_shown = |row: &&Row| row.status != Status::Pass || !(is_matrix || has_section(&row.result.scenario.purpose));
    for row in report.rows.iter().filter(is_shown) {
        table.add_row(scenario(row.result.scenario.id.to_string(), row));
    }
    // Of a run that was ended before any scenario had, there is nothing to list.
    let table = if table.is_empty() { String::new() } else { format!("{table}\n") };
    let (invariants, cells) = match is_matrix {
        true => (String::new(), String::new()),
        false => (invariants::text(report), cells::text(report)),
    };
    let (parts, judges) = (parts(report, width), invariants::judges(report));
    format!("{table}{invariants}{judges}{cells}{}{parts}{}", wrong(std::slice::from_ref(report)), summary(report))
}

/// The contract, the mutations, the replays and the overall score of a report.
fn parts(report: &Report, width: u16) -> String {
    let (contract, mutations) = (contract::text(report, width), mutations::text(report, width));
    format!("{contract}{mutations}{}{}", replays::text(report, width), mutations::overall(report))
}

/// Several reports: a table of experiments, one of the scenarios that did not pass, what was not run, and all of it in one
/// line.
#[must_use]
pub fn render_all(reports: &Reports, width: u16) -> String {
    if let Some(report) = reports.only() {
        return render(report, width);
    }
    let mut text = String::new();
    match reports.reports.as_slice() {
        [] => {}
        [report] => text.push_str(&render(report, width)),
        many => {
            let _ = writeln!(text, "{}", experiments(many, width));
            text.extend(not_passed(many, width).map(|table| format!("{table}\n")));
            text.push_str(&wrong(many));
            text.extend(many.iter().map(|report| parts(report, width)));
            text.extend(many.iter().map(|report| caveats(report, &format!("{}: ", report.spec_id))));
        }
    }
    for Skipped { spec, reason } in &reports.skipped {
        let _ =
            writeln!(text, "skipped {}: {}", untrusted::line(spec, MOST_REASON), untrusted::line(reason, MOST_REASON));
    }
    text.extend(reports.comparison.iter().map(comparison));
    text.extend(reports.quarantine.iter().map(quarantine_words::terminal));
    text.push_str(&suite_words::terminal(&reports.outcome));
    if let Some(note) = &reports.note {
        let _ = writeln!(text, "note: {}", untrusted::line(note, MOST_REASON));
    }
    let _ = writeln!(text, "{}: {}", verdict_word(reports.verdict()), reports.counts());
    text
}

/// Formats the changes since a baseline: a line for all of it, and one for each finding.
#[must_use]
pub fn comparison(comparison: &RunComparison) -> String {
    let baseline = untrusted::line(&comparison.baseline, MOST_REASON);
    let mut text = format!("compared with {baseline}: {}\n", comparison.summary());
    for finding in comparison.findings.iter().take(MOST_FINDINGS) {
        let line = format!(
            "  {:<22} {}: {} → {}; {}",
            finding.change.words(),
            finding.place(),
            finding.before,
            finding.now,
            finding.why
        );
        let _ = writeln!(text, "{}", untrusted::cut(&untrusted::visible(&line), MOST_REASON));
    }
    if comparison.findings.len() > MOST_FINDINGS {
        let _ = writeln!(text, "  and {} more", comparison.findings.len() - MOST_FINDINGS);
    }
    for line in comparison.told_sums() {
        let _ = writeln!(text, "  {line}");
    }
    for difference in &comparison.worlds {
        let _ = writeln!(text, "  another world: {}", untrusted::line(difference, MOST_REASON));
    }
    if comparison.fails_by_removal() {
        let _ = writeln!(text, "  REMOVED {}", untrusted::line(&comparison.removal_message(), MOST_REMOVED));
    }
    for (what, names) in [("the baseline", &comparison.removed), ("this run", &comparison.only_now)] {
        if !names.is_empty() {
            let _ = writeln!(text, "  only in {what}: {}", untrusted::line(&names.join(", "), MOST_REASON));
        }
    }
    text
}

/// One line for each experiment.
fn experiments(reports: &[Report], width: u16) -> Table {
    let mut table = table(width, &["spec", "verdict", "passed", "pass rate", "p95", "experiment"]);
    for report in reports {
        let score = &report.score;
        table.add_row([
            report.spec_id.clone(),
            score.verdict.word().to_owned(),
            format!("{}/{}", score.passed, score.total),
            format!("{:.3}", score.metrics.pass_rate),
            format_duration(score.metrics.p95_wall_ms),
            report.header.experiment_id.clone(),
        ]);
    }
    table
}

/// The scenarios of all experiments that did not pass.
fn not_passed(reports: &[Report], width: u16) -> Option<Table> {
    let mut table = table(width, &["scenario", "status", "score", "met", "time", "why"]);
    for report in reports {
        for row in report.rows.iter().filter(|row| row.status != Status::Pass) {
            table.add_row(scenario(format!("{}/{}", report.spec_id, row.result.scenario.id), row));
        }
    }
    (!table.is_empty()).then_some(table)
}

/// Formats the details of the first scenarios that did not pass. Scenarios with the same failure are listed once.
fn wrong(reports: &[Report]) -> String {
    let alike = alike(reports);
    let mut text = String::new();
    for (report, rows) in alike.iter().take(MOST_DETAILS) {
        let _ = write!(text, "\n{}{}", details::text(report, rows[0]), others(&rows[1..]));
    }
    let hidden: usize = alike.iter().skip(MOST_DETAILS).map(|(_, rows)| rows.len()).sum();
    if hidden > 0 {
        let _ = write!(text, "\n{} did not pass", count_noun(hidden, "more scenario"));
        let _ = writeln!(text, "; `touchstone show EXPERIMENT/SCENARIO` shows any of them");
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text
}

/// The scenarios that did not pass, those with which the same is wrong together.
fn alike(reports: &[Report]) -> Vec<(&Report, Vec<&Row>)> {
    let mut groups: IndexMap<_, (&Report, Vec<&Row>)> = IndexMap::new();
    for (index, report) in reports.iter().enumerate() {
        for row in report.rows.iter().filter(|row| row.status != Status::Pass) {
            let same = (index, row.quarantined, row.reasons(), row.result.exit_code);
            groups.entry(same).or_insert_with(|| (report, Vec::new())).1.push(row);
        }
    }
    groups.into_values().collect()
}

/// Names the scenarios with the same problem.
fn others(rows: &[&Row]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let ids: Vec<_> = rows.iter().take(MOST_ALIKE).map(|row| row.result.scenario.id.as_str()).collect();
    let more = if rows.len() > ids.len() { ", …" } else { "" };
    format!("  the same is wrong with {}: {}{more}\n", count_noun(rows.len(), "more scenario"), ids.join(", "))
}

fn table(width: u16, header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::UTF8_BORDERS_ONLY).set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
    table.set_header(header);
    for index in 0..header.len().saturating_sub(1) {
        if let Some(column) = table.column_mut(index) {
            column.set_constraint(ColumnConstraint::UpperBoundary(Width::Percentage(40)));
        }
    }
    table
}

/// The line of a scenario in a table.
fn scenario(name: String, row: &Row) -> [String; 6] {
    let result = &row.result;
    let met = result.invariants.iter().filter(|invariant| invariant.verdict.is_passed()).count();
    [
        name,
        if row.quarantined { row.standing() } else { row.word().to_owned() },
        format!("{:.3}", result.composite),
        format!("{met}/{}", result.invariants.len()),
        format_duration(result.wall_ms),
        why(row),
    ]
}

/// The first thing that kept the scenario from passing, and how many more there are.
fn why(row: &Row) -> String {
    if row.status == Status::Pass {
        return String::new();
    }
    let reasons = row.reasons();
    let Some((what, found)) = reasons.first() else { return String::new() };
    let more = if reasons.len() > 1 { format!(" (+{} more)", reasons.len() - 1) } else { String::new() };
    format!("{}{more}", untrusted::line(&format!("{what}: {found}"), MOST_REASON))
}

/// Formats the caveats that readers must know to judge the results.
fn caveats(report: &Report, lead: &str) -> String {
    let told = report.caveats();
    let mut text: String =
        told.iter().take(MOST_CAVEATS).map(|told| format!("CAVEAT {lead}{}\n", told.message())).collect();
    if told.len() > MOST_CAVEATS {
        let _ = writeln!(text, "  and {}", count_noun(told.len() - MOST_CAVEATS, "more caveat"));
    }
    text
}

fn summary(report: &Report) -> String {
    let score = &report.score;
    let not_run = if report.not_run() > 0 { format!(", not run {}", report.not_run()) } else { String::new() };
    let not_needed = match score.not_needed {
        0 => String::new(),
        some => format!(", not needed {some}"),
    };
    let inconclusive = match report.inconclusive() {
        0 => String::new(),
        some => format!(" (inconclusive {some})"),
    };
    let mut text = format!(
        "{} {}: {}scenarios {}, passed {}, failed {}, flaky {}, errors {}{inconclusive}{not_run}{not_needed}\n",
        report.spec_id,
        verdict_word(score.verdict),
        cells::counts(report),
        score.total,
        score.passed,
        score.failed,
        score.flaky,
        score.errors
    );
    let metrics = &score.metrics;
    if let Some(interval) = metrics.pass_rate_interval {
        let _ = write!(
            text,
            "pass rate {:.3} (95 %: {:.3}–{:.3}), pass^k {:.3}{}",
            metrics.pass_rate,
            interval.low,
            interval.high,
            metrics.mean_pass_k,
            metrics.pass_k_bounds()
        );
        let _ =
            writeln!(text, ", mean score {:.3}, p95 {}", metrics.mean_composite, format_duration(metrics.p95_wall_ms));
    }
    if metrics.total_tokens > 0 {
        let success = metrics
            .tokens_per_success
            .map_or_else(|| "no success".to_owned(), |tokens| format!("{tokens:.0} per success"));
        let _ = writeln!(text, "tokens {} ({success}), cost {}", metrics.total_tokens, metrics.cost());
    }
    let Header { experiment_id, run, agent, .. } = &report.header;
    let run = if *run > 1 { format!("#{run}") } else { String::new() };
    if let Some(agent) = agent {
        let _ = writeln!(text, "agent {}, in place of the spec's own", untrusted::line(agent, MOST_REASON));
    }
    let _ = writeln!(text, "experiment {experiment_id}{run}");
    text.push_str(&caveats(report, ""));
    text
}

fn verdict_word(verdict: ExperimentVerdict) -> &'static str {
    match verdict {
        ExperimentVerdict::Pass => "passed",
        ExperimentVerdict::Fail => "FAILED",
        ExperimentVerdict::Error => "could not be judged",
        ExperimentVerdict::Pending => "not ended",
    }
}
