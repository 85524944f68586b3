//! The report as Markdown, for a comment on a pull request.
//!
//! Foreign text stands only inside blocks of code that it cannot end, where nothing is markup and nobody is mentioned.

mod contract;
mod replays;
mod suite;

use std::fmt::Write as _;

use super::{Report, Reports, Row, Skipped, overall_explained, overall_number, quarantine_words, tool_findings};
use crate::regression::RunComparison;
use crate::score::{Cell, ExperimentVerdict, JudgeScore, MutationScore, Status};
use crate::untrusted;
use crate::{count_noun, count_noun_as, format_duration};

/// Maximum number of scenarios that are shown with their reasons.
const MOST_DETAILS: usize = 20;
/// Maximum number of cells in the table.
const MOST_CELLS: usize = 50;
/// Maximum length of one finding.
const MOST_FOUND: usize = 1000;
/// Maximum number of skipped specs that are listed.
const MOST_SKIPPED: usize = 20;
/// Maximum length of the name of such a spec, and of the reason.
const MOST_NAME: usize = 200;
/// Maximum number of caveats that are shown.
const MOST_CAVEATS: usize = 10;
/// Maximum length of the line with the number of scenarios that are not shown.
const MOST_COUNT: usize = 60;
/// Maximum size of a comment in bytes; GitHub takes 65,536 characters. Scenarios that do not fit are counted.
const MOST_BYTES: usize = 60_000;

/// The report as Markdown.
#[must_use]
pub fn render(report: &Report) -> String {
    let head = head(report);
    let room = MOST_BYTES.saturating_sub(head.len());
    format!("{head}{}{}", bad_scenarios(report, room), foot(report))
}

/// Several reports: all of it in one line, then what was not run, then each, with those that did not pass first.
#[must_use]
pub fn render_all(reports: &Reports) -> String {
    if let Some(report) = reports.only() {
        return render(report);
    }
    let mut text = format!("## Touchstone: {}\n\n{}\n", headline(reports.verdict()), reports.counts());
    if let Some(note) = &reports.note {
        let _ = writeln!(text, "\nnote: {}", code(note, MOST_FOUND));
    }
    text.push_str(&skipped(&reports.skipped));
    text.extend(reports.comparison.iter().map(|found| format!("\n{}", comparison(found))));
    text.extend(
        reports.quarantine.iter().map(|found| quarantine_words::markdown(found, |line| code(line, MOST_FOUND))),
    );
    text.push_str(&suite::text(&reports.outcome));
    let mut sorted: Vec<_> = reports.reports.iter().collect();
    sorted.sort_by_key(|report| report.score.verdict == ExperimentVerdict::Pass);
    // Every experiment is told before the scenarios of any, because there may be no room for all of them.
    let mut room = MOST_BYTES.saturating_sub(text.len());
    let mut frames = Vec::new();
    for report in &sorted {
        let frame = (head(report), foot(report));
        let size = frame.0.len() + frame.1.len() + MOST_COUNT;
        if size > room {
            break;
        }
        room -= size;
        frames.push(frame);
    }
    for (report, (head, foot)) in sorted.iter().zip(&frames) {
        let scenarios = bad_scenarios(report, room);
        room = room.saturating_sub(scenarios.len());
        let _ = write!(text, "\n{head}{scenarios}{foot}");
    }
    if frames.len() < sorted.len() {
        let _ = writeln!(
            text,
            "\n{} not shown.",
            count_noun_as(sorted.len() - frames.len(), "more experiment is", "more experiments are")
        );
    }
    text
}

/// The reports as a comment on a pull request that is always the same one: its first line has a marker, by which it is found
/// and replaced. `key` tells comments of several pipelines apart.
#[must_use]
pub fn comment(reports: &Reports, key: &str) -> String {
    // Anything else could end the HTML comment.
    let words = key.split(|character: char| !character.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let key = words.collect::<Vec<_>>().join("-");
    format!("<!-- touchstone:{key} -->\n{}", render_all(reports))
}

/// Formats the changes since a baseline.
#[must_use]
pub fn comparison(comparison: &RunComparison) -> String {
    let mut text =
        format!("#### Compared with {}\n\n{}\n", code(&comparison.baseline, MOST_NAME), comparison.summary());
    if !comparison.findings.is_empty() {
        let _ = writeln!(text, "\n| change | what | before | now | why |\n|---|---|---|---|---|");
    }
    for finding in comparison.findings.iter().take(MOST_CELLS) {
        // A bar would end the cell of a table, also inside of code.
        let place = code(&finding.place(), MOST_NAME).replace('|', "\\|");
        let _ = writeln!(
            text,
            "| {} | {place} | {} | {} | {} |",
            finding.change.words(),
            finding.before,
            finding.now,
            finding.why
        );
    }
    if comparison.findings.len() > MOST_CELLS {
        let _ = writeln!(text, "\n{}.", count_noun(comparison.findings.len() - MOST_CELLS, "more change"));
    }
    for line in comparison.told_sums() {
        let _ = writeln!(text, "\n{line}");
    }
    for difference in &comparison.worlds {
        let _ = writeln!(text, "\nanother world: {}", code(difference, MOST_FOUND));
    }
    if comparison.fails_by_removal() {
        let _ = writeln!(
            text,
            "\n**removed since the baseline, which fails the run**: {}",
            code(&comparison.removal_message(), MOST_FOUND)
        );
    }
    for (what, names) in [("the baseline", &comparison.removed), ("this run", &comparison.only_now)] {
        if !names.is_empty() {
            let _ = writeln!(text, "\nonly in {what}: {}", code(&names.join(", "), MOST_FOUND));
        }
    }
    text
}

/// Lists the skipped specs, with the reasons.
fn skipped(skipped: &[Skipped]) -> String {
    let mut text = String::new();
    for Skipped { spec, reason } in skipped.iter().take(MOST_SKIPPED) {
        let lead = if text.is_empty() { "\n" } else { "" };
        let _ = writeln!(text, "{lead}- skipped {}: {}", code(spec, MOST_NAME), code(reason, MOST_NAME));
    }
    if skipped.len() > MOST_SKIPPED {
        let _ = writeln!(
            text,
            "\n{} skipped.",
            count_noun_as(skipped.len() - MOST_SKIPPED, "more spec was", "more specs were")
        );
    }
    text
}

/// The title and the tables.
fn head(report: &Report) -> String {
    let score = &report.score;
    let mut text = format!("### Touchstone: `{}` {}\n\n", report.spec_id, headline(score.verdict));
    let _ = writeln!(
        text,
        "| scenarios | passed | failed | flaky | errors | pass rate | cost |\n|---|---|---|---|---|---|---|"
    );
    let _ = writeln!(
        text,
        "| {} | {} | {} | {} | {} | {} | {} |",
        score.total,
        score.passed,
        score.failed,
        score.flaky,
        score.errors,
        rate(report),
        cost(report)
    );
    if let Some(agent) = &report.header.agent {
        let _ = writeln!(text, "\nagent {}, in place of the spec's own", code(agent, MOST_NAME));
    }
    if report.not_run() > 0 {
        let _ = writeln!(text, "\nnot run {}", report.not_run());
    }
    if score.not_needed > 0 {
        let _ = writeln!(text, "\nnot needed {}", score.not_needed);
    }
    for told in report.caveats().iter().take(MOST_CAVEATS) {
        let _ = writeln!(text, "\n> **caveat**: {}", code(&told.message(), MOST_FOUND));
    }
    // The cells of a contract stand in its matrix, and those of mutations and replays in sections of their own.
    let is_other = |cell: &Cell| cell.key.purpose.mutation().is_some() || cell.key.purpose.replay().is_some();
    let is_own = |cell: &&Cell| !cell.of_contract && !is_other(cell);
    let own: Vec<_> = score.cells.iter().filter(is_own).collect();
    if own.len() > 1 || own.iter().any(|cell| cell.planned > 1) {
        text.push_str(&cells(&own));
    }
    text.push_str(&judges(&score.judges));
    text.extend(score.contract.iter().map(contract::text));
    text.extend(score.mutations.iter().map(mutations));
    text.extend(score.replays.iter().map(replays::text));
    if let Some(overall) = &score.overall {
        let _ = writeln!(text, "\n**Overall score {}**: {}", overall_number(overall), overall_explained(overall));
    }
    text
}

/// A line for each invariant that models judge.
fn judges(judges: &[JudgeScore]) -> String {
    let line = |(index, judge): (usize, &JudgeScore)| {
        let lead = if index == 0 { "\n" } else { "" };
        format!("{lead}- judge {}: {}\n", code(&judge.invariant, MOST_NAME), judge.words())
    };
    judges.iter().take(MOST_CELLS).enumerate().map(line).collect()
}

/// Mutations: the robustness, their kinds, and those that failed.
fn mutations(mutations: &MutationScore) -> String {
    let verdict = mutations.verdict.word();
    let robustness = mutations.robustness_text();
    let mut text = format!("\n#### Mutations: {verdict}, robustness {robustness}\n\n{}\n", mutations.why());
    let _ = writeln!(text, "\n| mutation | weight | passed |\n|---|---|---|");
    for kind in &mutations.kinds {
        let _ =
            writeln!(text, "| {} | {:.1} | {}/{} |", kind.kind, kind.weight, kind.passed, kind.passed + kind.failed);
    }
    for (index, failed) in mutations.failed.iter().take(MOST_DETAILS).enumerate() {
        let lead = if index == 0 { "\n" } else { "" };
        let _ = writeln!(text, "{lead}- `{}`: {}", failed.scenario, code(&failed.reason, MOST_NAME));
    }
    if mutations.failed.len() > MOST_DETAILS {
        let _ = writeln!(text, "\n{} failed.", count_noun(mutations.failed.len() - MOST_DETAILS, "more mutation"));
    }
    text
}

/// The scenarios that did not pass, as far as there is room for them; the others are counted.
fn bad_scenarios(report: &Report, room: usize) -> String {
    let mut bad: Vec<_> = report.rows.iter().filter(|row| row.status != Status::Pass).collect();
    bad.sort_by_key(|row| !row.is_bad());
    let mut text = String::new();
    let mut shown = 0;
    for row in bad.iter().take(MOST_DETAILS) {
        let block = details(report, row);
        if text.len() + block.len() > room {
            break;
        }
        text.push_str(&block);
        shown += 1;
    }
    let hidden = bad.len() - shown;
    if hidden > 0 {
        let _ = writeln!(text, "\n{} did not pass.", count_noun(hidden, "more scenario"));
    }
    text
}

fn foot(report: &Report) -> String {
    format!("\nexperiment `{}`, seed {}\n", report.header.experiment_id, report.seed)
}

fn headline(verdict: ExperimentVerdict) -> &'static str {
    match verdict {
        ExperimentVerdict::Pass => "passed",
        ExperimentVerdict::Fail => "failed",
        ExperimentVerdict::Error => "could not be judged",
        ExperimentVerdict::Pending => "has not ended",
    }
}

fn rate(report: &Report) -> String {
    let metrics = &report.score.metrics;
    match metrics.pass_rate_interval {
        Some(interval) => {
            format!("{} ({}–{})", percent(metrics.pass_rate), percent(interval.low), percent(interval.high))
        }
        None => "–".to_owned(),
    }
}

fn cost(report: &Report) -> String {
    let metrics = &report.score.metrics;
    let success =
        metrics.cost_per_success_usd.map_or_else(|| "no success".to_owned(), |cost| format!("${cost:.4} per success"));
    format!("{}, {success}", metrics.cost())
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

fn cells(cells: &[&Cell]) -> String {
    let mut text = "\n| cell | verdict | passed | pass^k | mean score |\n|---|---|---|---|---|\n".to_owned();
    for cell in cells.iter().take(MOST_CELLS) {
        let verdict = cell.verdict.word();
        let mean = cell.mean_composite.map_or_else(|| "–".to_owned(), |mean| format!("{mean:.3}"));
        let _ = writeln!(
            text,
            "| `{}` | {verdict} | {}/{} | {} | {mean} |",
            cell.id,
            cell.passed,
            cell.planned,
            pass_k(cell)
        );
    }
    if cells.len() > MOST_CELLS {
        let _ = writeln!(text, "\n{}.", count_noun(cells.len() - MOST_CELLS, "more cell"));
    }
    let reasons = cells.iter().take(MOST_CELLS).filter_map(|cell| Some((cell, cell.reason()?)));
    for (place, (cell, reason)) in reasons.enumerate() {
        let lead = if place == 0 { "\n" } else { "" };
        let _ = writeln!(text, "{lead}- `{}`: {reason}", cell.id);
    }
    text
}

/// pass^k of a cell, with its bounds where it has several replicas.
fn pass_k(cell: &Cell) -> String {
    match (cell.pass_k, cell.pass_k_interval) {
        (None, _) => "–".to_owned(),
        (Some(pass_k), Some(range)) if cell.pass_curve.len() > 1 => {
            format!("{pass_k} ({:.3}–{:.3})", range.low, range.high)
        }
        (Some(pass_k), _) => pass_k.to_string(),
    }
}

fn details(report: &Report, row: &Row) -> String {
    let result = &row.result;
    let mut text = format!(
        "\n<details><summary><code>{}</code> {}, score {:.3}, {}</summary>\n\n",
        result.scenario.id,
        row.standing(),
        result.composite,
        format_duration(result.wall_ms)
    );
    for (what, found) in row.reasons() {
        let _ = writeln!(
            text,
            "- {}\n{}",
            untrusted::line(&what, 200),
            fenced(&untrusted::cut(&untrusted::visible(&found), MOST_FOUND))
        );
    }
    let findings = tool_findings::lines(row);
    if !findings.is_empty() {
        let _ = writeln!(text, "tool contracts:\n{}", fenced(&findings.join("\n")));
    }
    let _ = writeln!(text, "again:\n{}\n</details>", fenced(&untrusted::line(&report.reproducer(row), MOST_FOUND)));
    text
}

/// A block of code that its content cannot end.
fn fenced(text: &str) -> String {
    let fence = "`".repeat(longest_ticks(text).max(2) + 1);
    format!("\n{fence}text\n{}\n{fence}\n", text.trim_end())
}

/// Text in a line of code that its content cannot end.
fn code(text: &str, most: usize) -> String {
    let line = untrusted::line(text, most);
    let fence = "`".repeat(longest_ticks(&line) + 1);
    // Readers take away one blank on either side, which keeps backticks of the text and of the fence apart.
    let blank = if line.is_empty() || line.contains('`') { " " } else { "" };
    format!("{fence}{blank}{line}{blank}{fence}")
}

/// Returns the length of the longest run of backticks.
fn longest_ticks(text: &str) -> usize {
    text.split(|character| character != '`').map(str::len).max().unwrap_or(0)
}
