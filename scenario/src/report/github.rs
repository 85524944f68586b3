//! The report as commands of a GitHub Actions runner: an annotation for each contract that was not kept, and for each scenario that
//! keeps the report from passing.
//!
//! The runner takes every line that begins with `::` for a command, so foreign text stands only inside of one, escaped as
//! the runner asks, and never begins a line.

use std::fmt::Write as _;

use super::quarantined::is_excused;
use super::{Report, Reports, Row, quarantine_words};
use crate::count_noun;
use crate::format_duration;
use crate::quarantine::EntryState;
use crate::regression::Change;
use crate::score::{ContractCell, ExperimentVerdict, Status};
use crate::untrusted;

/// Maximum number of annotations: GitHub shows ten errors of a step, and cuts off the rest.
const MOST_ANNOTATIONS: usize = 10;
/// Maximum length of a message.
const MOST_MESSAGE: usize = 2000;
/// The number of cells of a contract that are named.
const MOST_CELLS: usize = 10;
/// The length at which the reason of a cell is cut.
const MOST_REASON: usize = 150;
/// The length at which names are cut.
const MOST_NAME: usize = 60;

/// The report as commands of a runner.
#[must_use]
pub fn render(report: &Report) -> String {
    render_all(&Reports { reports: vec![report.clone()], ..Reports::default() })
}

/// Several reports as commands of a runner.
#[must_use]
pub fn render_all(reports: &Reports) -> String {
    let rows = || reports.reports.iter().flat_map(|report| report.rows.iter().map(move |row| (report, row)));
    let bad: Vec<_> = rows().filter(|(_, row)| row.is_bad()).collect();
    let mut text = String::new();
    reports.reports.iter().take(MOST_ANNOTATIONS).for_each(|report| contract(&mut text, report));
    let room = MOST_ANNOTATIONS.saturating_sub(text.lines().count());
    for (report, row) in bad.iter().take(room) {
        let title = format!("{}/{} {}", report.spec_id, row.result.scenario.id, row.word());
        let file = report.header.spec_file.as_str();
        annotate(&mut text, "error", file, &title, &message(report, row));
    }
    if bad.len() > room {
        let more = format!("{} did not pass", count_noun(bad.len() - room, "more scenario"));
        annotate(&mut text, "error", "", "Touchstone", &more);
    }
    let is_excused = |row: &Row| row.tolerated || (row.quarantined && row.status != Status::Pass);
    let tolerated: Vec<_> = rows().filter(|(_, row)| is_excused(row)).collect();
    for (report, row) in tolerated.iter().take(MOST_ANNOTATIONS) {
        let title = format!("{}/{} {}", report.spec_id, row.result.scenario.id, row.standing());
        annotate(&mut text, "notice", &report.header.spec_file, &title, &message(report, row));
    }
    if tolerated.len() > MOST_ANNOTATIONS {
        let more = count_noun(tolerated.len() - MOST_ANNOTATIONS, "more scenario");
        annotate(
            &mut text,
            "notice",
            "",
            "Touchstone",
            &format!("{more} failed within the bar of their cell, or in quarantine"),
        );
    }
    for report in &reports.reports {
        caveats(&mut text, report);
    }
    for skipped in reports.skipped.iter().take(MOST_ANNOTATIONS) {
        annotate(&mut text, "warning", &skipped.spec, "skipped", &skipped.reason);
    }
    comparison_annotations(&mut text, reports);
    quarantine(&mut text, reports);
    for shortfall in reports.outcome.shortfalls().take(MOST_ANNOTATIONS) {
        annotate(&mut text, "error", "", "below the suite's floor", &shortfall.message());
    }
    if let Some(note) = &reports.note {
        annotate(&mut text, "warning", "", "Touchstone", note);
    }
    let level = if reports.verdict() == ExperimentVerdict::Pass { "notice" } else { "error" };
    annotate(&mut text, level, "", "Touchstone", &format!("{}: {}", word(reports.verdict()), reports.counts()));
    text
}

/// The verdict of a contract that was not kept, with the cells that do not hold: critical ones first.
fn contract(text: &mut String, report: &Report) {
    let Some(contract) = report.score.contract.as_ref().filter(|contract| !contract.passed) else { return };
    let is_told = |cell: &&ContractCell| cell.status.holds() == Some(false) || cell.status.is_unjudged();
    let mut cells: Vec<_> = contract.cells.iter().filter(is_told).collect();
    cells.sort_by_key(|cell| (cell.status.holds().is_none(), cell.severity));
    let score = contract.score_text();
    let mut message = format!("{}: resilience score {score}, {}", contract.verdict.word(), contract.why());
    for cell in cells.iter().take(MOST_CELLS) {
        let (status, world) = (cell.status.word(), untrusted::line(&cell.world(), MOST_NAME));
        let reason = untrusted::line(&cell.reason, MOST_REASON);
        let _ = write!(message, "\n{status} {} ({}) in {world}: {reason}", cell.invariant, cell.severity);
    }
    if cells.len() > MOST_CELLS {
        let _ = write!(message, "\nand {}", count_noun(cells.len() - MOST_CELLS, "more cell"));
    }
    let title = format!("{} contract {}", report.spec_id, contract.name);
    let level = if is_excused(report) { "notice" } else { "error" };
    annotate(text, level, &report.header.spec_file, &title, &untrusted::cut(&message, MOST_MESSAGE));
}

/// Writes the regressions since the baseline, and the comparisons that cannot be decided.
fn comparison_annotations(text: &mut String, reports: &Reports) {
    let Some(comparison) = &reports.comparison else { return };
    if comparison.fails_by_removal() {
        annotate(text, "error", "", "removed since the baseline", &comparison.removal_message());
    }
    for line in comparison.regressed_sums() {
        annotate(text, "error", "", Change::Regressed.words(), &line);
    }
    for difference in &comparison.worlds {
        annotate(text, "warning", "", "compared with another world", difference);
    }
    for finding in
        comparison.findings.iter().filter(|finding| finding.change != Change::Improved).take(MOST_ANNOTATIONS)
    {
        let level = if finding.change == Change::Regressed { "error" } else { "warning" };
        let message = format!("{}: {} → {}; {}", finding.place(), finding.before, finding.now, finding.why);
        annotate(text, level, "", finding.change.words(), &message);
    }
}

/// Annotations about a quarantine: a notice of what it excuses, and a warning about what it does not excuse any more.
fn quarantine(text: &mut String, reports: &Reports) {
    let entries = reports.quarantine.iter().flat_map(|quarantine| &quarantine.entries);
    for entry in entries.take(MOST_ANNOTATIONS) {
        let level = if entry.state == EntryState::Active { "notice" } else { "warning" };
        let title = format!("{} {}", quarantine_words::title(entry), entry.entry.place());
        annotate(text, level, "", &title, &untrusted::line(&entry.message(), MOST_MESSAGE));
    }
}

/// Writes the caveats of the results: a warning about the agent's actions, and a notice of where it ran.
fn caveats(text: &mut String, report: &Report) {
    for told in report.caveats().iter().take(MOST_ANNOTATIONS) {
        let level = if told.caveat.is_about_the_agent() { "warning" } else { "notice" };
        let title = format!("{} {}", report.spec_id, told.caveat.kind().replace('_', " "));
        annotate(text, level, &report.header.spec_file, &title, &told.message());
    }
}

fn message(report: &Report, row: &Row) -> String {
    let mut text = format!("score {:.3}, {}", row.result.composite, format_duration(row.result.wall_ms));
    for (what, found) in row.reasons() {
        let _ = write!(text, "\n{what}: {}", untrusted::visible(&found));
    }
    format!(
        "{}\nagain: {}",
        untrusted::cut(&text, MOST_MESSAGE),
        untrusted::line(&report.reproducer(row), MOST_MESSAGE)
    )
}

fn annotate(text: &mut String, level: &str, file: &str, title: &str, message: &str) {
    let file = if file.is_empty() { String::new() } else { format!("file={},", property(file)) };
    let _ = writeln!(text, "::{level} {file}title={}::{}", property(title), data(message));
}

/// Text of a message.
fn data(text: &str) -> String {
    untrusted::visible(text).replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Text of a property, in which more has a meaning.
fn property(text: &str) -> String {
    data(&untrusted::line(text, MOST_MESSAGE)).replace(':', "%3A").replace(',', "%2C")
}

fn word(verdict: ExperimentVerdict) -> &'static str {
    match verdict {
        ExperimentVerdict::Pass => "passed",
        ExperimentVerdict::Fail => "failed",
        ExperimentVerdict::Error => "could not be judged",
        ExperimentVerdict::Pending => "has not ended",
    }
}

#[cfg(test)]
mod tests {
    use super::{render, render_all};
    use crate::report::tests::{HOSTILE, evidence, report, report_of};
    use crate::report::{Reports, Skipped};

    #[test]
    fn every_line_is_a_command_of_ours() {
        let hostile = format!("::set-output name=x::y\n::add-mask::{HOSTILE}");
        let skipped = vec![Skipped { spec: hostile.clone(), reason: hostile.clone() }];
        let reports = Reports { reports: vec![report()], skipped, note: Some(hostile), ..Reports::default() };
        let text = render_all(&reports);
        for line in text.lines() {
            assert!(["::error ", "::warning ", "::notice "].iter().any(|start| line.starts_with(start)), "{line}");
        }
        assert!(!text.contains(['\u{1b}', '\u{202e}', '\u{0}']));
        insta::assert_snapshot!(render(&report()));
    }

    #[test]
    fn what_passed_is_one_notice() {
        let text = render(&report_of(&vec![evidence(0, "refunded", ""); 4]));
        assert_eq!(text, "::notice title=Touchstone::passed: experiments 1, passed 1, failed 0, errors 0, skipped 0\n");
    }

    #[test]
    fn many_failures_are_counted() {
        let failed = || report_of(&vec![evidence(2, "nothing", ""); 4]);
        let text = render_all(&Reports { reports: vec![failed(), failed(), failed()], ..Reports::default() });
        assert!(text.contains("2 more scenarios did not pass") && text.lines().count() == 12, "{text}");
    }
}
