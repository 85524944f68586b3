//! The report as JUnit XML: one test case for each scenario, one for each cell of a contract, and one for each kind of mutation.

use std::time::Duration;

use quick_junit::{NonSuccessKind, Property, Report as Document, TestCase, TestCaseStatus, TestSuite};

use super::{Report, Reports, Row, Skipped, SuiteOutcome};
use super::{contract_cases, mutation_cases, overall_number, quarantine_words, tool_findings};
use crate::regression::{Change, RunComparison};
use crate::score::Status;
use crate::statistics::MarginVerdict;
use crate::untrusted;

/// Maximum length of the agent's output in a test case.
const MOST_OUTPUT: usize = 20_000;
/// Maximum length of a message.
const MOST_MESSAGE: usize = 500;

/// The report as JUnit XML. What could not be judged is an `error`, not a `failure`.
#[must_use]
pub fn render(report: &Report) -> String {
    document(suites(report))
}

/// The scenarios of a report, the cells of its contract, and its mutations.
fn suites(report: &Report) -> Vec<TestSuite> {
    std::iter::once(suite(report)).chain(contract_cases::suite(report)).chain(mutation_cases::suite(report)).collect()
}

/// Several reports as one document: a test suite for each, and one for each spec that was not run. The note is a
/// property of every suite.
#[must_use]
pub fn render_all(reports: &Reports) -> String {
    let of_reports = reports.reports.iter().flat_map(suites);
    let mut suites: Vec<_> = of_reports.chain(reports.skipped.iter().map(skipped_suite)).collect();
    suites.extend(reports.comparison.iter().map(comparison_suite));
    suites.extend(reports.quarantine.iter().filter_map(quarantine_words::suite));
    suites.extend((!reports.outcome.is_empty()).then(|| outcome_suite(&reports.outcome)));
    if let Some(note) = &reports.note {
        if suites.is_empty() {
            suites.push(TestSuite::new("touchstone"));
        }
        for suite in &mut suites {
            suite.add_property(Property::new("note", untrusted::line(note, MOST_MESSAGE)));
        }
    }
    document(suites)
}

fn document(suites: impl IntoIterator<Item = TestSuite>) -> String {
    let mut document = Document::new("touchstone");
    document.add_test_suites(suites);
    document.to_string().unwrap_or_default()
}

fn suite(report: &Report) -> TestSuite {
    let mut suite = TestSuite::new(report.spec_id.as_str());
    suite.set_time(Duration::from_millis(
        report.rows.iter().fold(0, |total: u64, row| total.saturating_add(row.result.wall_ms)),
    ));
    if let Some(timestamp) = chrono::DateTime::from_timestamp_millis(report.header.ran_at.as_millisecond()) {
        suite.set_timestamp(timestamp);
    }
    suite.add_property(Property::new("experiment_id", report.header.experiment_id.as_str()));
    suite.add_property(Property::new("run", report.header.run.to_string()));
    suite.add_property(Property::new("seed", report.seed.to_string()));
    suite.add_property(Property::new("pass_rate", report.score.metrics.pass_rate.to_string()));
    suite.add_property(Property::new("total_cost_usd", report.score.metrics.total_cost_usd.to_string()));
    if let Some(overall) = &report.score.overall {
        suite.add_property(Property::new("overall_score", overall_number(overall)));
    }
    if report.not_run() > 0 {
        suite.add_property(Property::new("not_run", report.not_run().to_string()));
    }
    if report.score.not_needed > 0 {
        suite.add_property(Property::new("not_needed", report.score.not_needed.to_string()));
    }
    for (cell, reason) in report.score.cells.iter().filter_map(|cell| Some((cell, cell.reason()?))) {
        suite.add_property(Property::new(format!("cell.{}", cell.id), reason));
    }
    for told in report.caveats() {
        suite.add_property(Property::new(format!("caveat.{}", told.caveat.kind()), told.message()));
    }
    for row in &report.rows {
        suite.add_test_case(case(report, row));
    }
    suite
}

fn skipped_suite(skipped: &Skipped) -> TestSuite {
    let spec = untrusted::line(&skipped.spec, MOST_MESSAGE);
    let mut status = TestCaseStatus::skipped();
    status.set_message(untrusted::line(&skipped.reason, MOST_MESSAGE));
    let mut case = TestCase::new("skipped", status);
    case.set_classname(spec.as_str());
    let mut suite = TestSuite::new(spec);
    suite.add_test_case(case);
    suite
}

/// Lists the changes since a baseline: a test case for each change, of which regressions are failures.
fn comparison_suite(comparison: &RunComparison) -> TestSuite {
    let mut suite = TestSuite::new("touchstone baseline");
    suite.add_property(Property::new("baseline", untrusted::line(&comparison.baseline, MOST_MESSAGE)));
    suite.add_property(Property::new("summary", comparison.summary()));
    for difference in &comparison.worlds {
        suite.add_property(Property::new("different_world", untrusted::line(difference, MOST_MESSAGE)));
    }
    suite.add_test_cases(comparison.removed.iter().map(|name| removed_case(comparison, name)));
    suite.add_test_cases(comparison.suite.iter().filter(|suite| suite.specs > 1).map(|suite| {
        let is_told = suite.verdict == MarginVerdict::Inconclusive;
        sum_case("all specs", &suite.words(), suite.regressed(), is_told)
    }));
    suite.add_test_cases(comparison.measures.iter().filter(|measure| measure.gates).map(|measure| {
        let is_told = measure.verdict == MarginVerdict::Inconclusive;
        sum_case(measure.measure.word(), &measure.words(), measure.regressed(), is_told)
    }));
    for finding in &comparison.findings {
        let message = format!("{} → {}; {}", finding.before, finding.now, finding.why);
        let mut status = match finding.change {
            Change::Regressed => TestCaseStatus::non_success(NonSuccessKind::Failure),
            Change::InsufficientEvidence | Change::DifferentWorld => TestCaseStatus::skipped(),
            Change::Improved => TestCaseStatus::success(),
        };
        if finding.change != Change::Improved {
            status.set_message(format!("{}: {}", finding.change.words(), untrusted::line(&message, MOST_MESSAGE)));
        }
        let mut case = TestCase::new(untrusted::line(&finding.place(), MOST_MESSAGE), status);
        case.set_classname("touchstone baseline");
        suite.add_test_case(case);
    }
    suite
}

/// The suite or a measure that gates: a failure when it became worse, and skipped when nobody can tell.
fn sum_case(name: &str, words: &str, regressed: bool, is_told: bool) -> TestCase {
    let mut status = match (regressed, is_told) {
        (true, _) => TestCaseStatus::non_success(NonSuccessKind::Failure),
        (false, true) => TestCaseStatus::skipped(),
        (false, false) => TestCaseStatus::success(),
    };
    if regressed || is_told {
        status.set_message(words);
    }
    let mut case = TestCase::new(name, status);
    case.set_classname("touchstone baseline");
    case
}

/// The suite that the experiments belong to: its numbers as properties, and a test case for each floor that is not reached.
fn outcome_suite(outcome: &SuiteOutcome) -> TestSuite {
    let mut suite = TestSuite::new("touchstone suite");
    for (name, value) in outcome.numbers() {
        suite.add_property(Property::new(name, untrusted::line(&value, MOST_MESSAGE)));
    }
    for shortfall in outcome.shortfalls() {
        let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
        status.set_message(shortfall.message());
        let mut case = TestCase::new(untrusted::line(&shortfall.message(), MOST_MESSAGE), status);
        case.set_classname("touchstone suite");
        suite.add_test_case(case);
    }
    suite
}

/// Returns the test case for parts of the baseline that this run lacks: a failure, unless that is allowed.
fn removed_case(comparison: &RunComparison, name: &str) -> TestCase {
    let mut status = match comparison.fails_by_removal() {
        true => TestCaseStatus::non_success(NonSuccessKind::Failure),
        false => TestCaseStatus::skipped(),
    };
    status.set_message("removed: the baseline has it, and this run does not");
    let mut case = TestCase::new(untrusted::line(name, MOST_MESSAGE), status);
    case.set_classname("touchstone baseline");
    case
}

fn case(report: &Report, row: &Row) -> TestCase {
    let result = &row.result;
    let mut case = TestCase::new(result.scenario.id.as_str(), status(report, row));
    case.set_classname(report.spec_id.as_str());
    case.set_time(Duration::from_millis(result.wall_ms));
    for (name, value) in [
        ("status", row.word().to_owned()),
        ("composite_score", result.composite.to_string()),
        ("cost_usd", result.usage.cost().unwrap_or(0.0).to_string()),
        ("tokens", result.usage.tokens().to_string()),
        ("seed", result.scenario.seed.to_string()),
    ] {
        case.add_property(Property::new(name, value));
    }
    if !result.scenario.chaos.is_empty() {
        case.add_property(Property::new("chaos", result.scenario.chaos.clone()));
    }
    for (name, value) in &result.scenario.parameters {
        case.add_property(Property::new(
            format!("param.{}", untrusted::line(name, 100)),
            untrusted::line(&value.to_string(), MOST_MESSAGE),
        ));
    }
    for caveat in &result.caveats {
        case.add_property(Property::new(format!("caveat.{}", caveat.kind()), caveat.message()));
    }
    if row.quarantined {
        case.add_property(Property::new("quarantined", "true"));
    }
    if row.tolerated && !row.quarantined {
        case.add_property(Property::new("flakyFailure", untrusted::line(&first_reason(row), MOST_MESSAGE)));
    }
    let remarks = remarks(report, row);
    if !remarks.is_empty() || !result.agent_output.is_empty() {
        case.set_system_out(format!("{remarks}{}", shown(&result.agent_output)));
    }
    if !result.agent_stderr.is_empty() {
        case.set_system_err(shown(&result.agent_stderr));
    }
    case
}

/// Returns the remarks on a test case besides its status: its caveats, the reason of its failure where that is within
/// its cell's bar, and findings of tool contracts where the case passed.
fn remarks(report: &Report, row: &Row) -> String {
    let caveats = row.result.caveats.iter().map(|caveat| format!("caveat: {}\n", caveat.message()));
    let findings = if row.status == Status::Pass { tool_findings::lines(row) } else { Vec::new() };
    let findings = findings.into_iter().map(|finding| format!("tool contracts: {finding}\n"));
    let failed = row.tolerated.then(|| {
        let cell = &row.result.scenario.cell;
        format!("{} in the cell {cell}, which passed:\n{}\n", row.status.word(), all_reasons(report, row))
    });
    caveats.chain(failed).chain(findings).collect()
}

fn first_reason(row: &Row) -> String {
    row.reasons().first().map(|(what, found)| format!("{what}: {found}")).unwrap_or_default()
}

/// Lists all reasons why a scenario did not pass, the findings of tool contracts, and the command that runs it again.
fn all_reasons(report: &Report, row: &Row) -> String {
    let reasons = row.reasons();
    let reasons = reasons.iter().map(|(what, found)| format!("{what}: {}", untrusted::visible(found)));
    let findings = tool_findings::lines(row).into_iter().map(|finding| format!("tool contracts: {finding}"));
    let lines: Vec<_> = reasons.chain(findings).collect();
    format!("{}\n\nagain: {}\n", lines.join("\n"), untrusted::visible(&report.reproducer(row)))
}

/// The status of a test case. A scenario that failed within its cell's bar is no failure, because it keeps nothing from
/// passing; one that a quarantine excuses counts as skipped.
fn status(report: &Report, row: &Row) -> TestCaseStatus {
    let kind = match row.status {
        Status::Pass => return TestCaseStatus::success(),
        _ if row.quarantined => return quarantined(report, row),
        _ if row.tolerated => return TestCaseStatus::success(),
        Status::Fail | Status::Flaky => NonSuccessKind::Failure,
        Status::Error => NonSuccessKind::Error,
    };
    let mut status = TestCaseStatus::non_success(kind);
    status.set_message(untrusted::line(&first_reason(row), MOST_MESSAGE));
    status.set_type(
        row.result.error.as_ref().map_or_else(|| row.status.word().to_owned(), |error| error.kind.to_string()),
    );
    status.set_description(all_reasons(report, row));
    status
}

fn quarantined(report: &Report, row: &Row) -> TestCaseStatus {
    let mut status = TestCaseStatus::skipped();
    status.set_message(untrusted::line(&format!("quarantined: {}: {}", row.word(), first_reason(row)), MOST_MESSAGE));
    status.set_description(all_reasons(report, row));
    status
}

fn shown(text: &str) -> String {
    untrusted::cut(&untrusted::visible(text), MOST_OUTPUT)
}
