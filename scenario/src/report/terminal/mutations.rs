//! Mutations: a table of their kinds, those that failed, and the robustness; and the overall score.

use std::fmt::Write as _;

use super::super::{Report, overall_explained, overall_number};
use super::table;
use crate::count_noun;
use crate::score::{CellVerdict, MutationScore};
use crate::untrusted;

/// Maximum number of failed mutations that are listed with their reasons.
const MOST_REASONS: usize = 20;
/// The length at which reasons are cut.
const MOST_REASON: usize = 300;

/// The mutations of a report; nothing when it has none.
pub(super) fn text(report: &Report, width: u16) -> String {
    let mutations = report.score.mutations.as_ref();
    let mutations =
        mutations.map(|mutations| format!("{}{}{}", kinds(mutations, width), failed(report), line(mutations)));
    mutations.unwrap_or_default()
}

fn kinds(mutations: &MutationScore, width: u16) -> String {
    let mut table = table(width, &["mutation", "weight", "passed"]);
    for kind in &mutations.kinds {
        let judged = kind.passed + kind.failed;
        let unjudged = match kind.planned - judged.min(kind.planned) {
            0 => String::new(),
            some => format!(", {some} not judged"),
        };
        let passed = format!("{} of {judged}{unjudged}", kind.passed);
        table.add_row([kind.kind.word().to_owned(), format!("{:.1}", kind.weight), passed]);
    }
    format!("{table}\n")
}

/// The mutations that failed, and the command that shows the prompt of one.
fn failed(report: &Report) -> String {
    let Some(mutations) = &report.score.mutations else { return String::new() };
    let mut text = String::new();
    for failed in mutations.failed.iter().take(MOST_REASONS) {
        let reason = untrusted::line(&failed.reason, MOST_REASON);
        let _ = writeln!(text, "  {:<12} {}: {reason}", "FAIL", failed.scenario);
    }
    if mutations.failed.len() > MOST_REASONS {
        let _ = writeln!(text, "  and {}", count_noun(mutations.failed.len() - MOST_REASONS, "more mutation"));
    }
    if let Some(first) = mutations.failed.first() {
        let id = &report.header.experiment_id;
        let _ = writeln!(text, "  the prompt that an agent got: touchstone show {id}/{}", first.scenario);
    }
    text
}

fn line(mutations: &MutationScore) -> String {
    let word = verdict_word(mutations.verdict);
    format!("mutations {word}: robustness {} ({})\n", mutations.robustness_text(), mutations.why())
}

/// The overall score of a report; nothing when it has none.
pub(super) fn overall(report: &Report) -> String {
    let Some(overall) = &report.score.overall else { return String::new() };
    let word = match overall.verdict {
        CellVerdict::Pass => String::new(),
        other => format!(" {}", verdict_word(other)),
    };
    format!("overall score{word}: {} ({})\n", overall_number(overall), overall_explained(overall))
}

pub(super) fn verdict_word(verdict: CellVerdict) -> &'static str {
    match verdict {
        CellVerdict::Pass => "passed",
        CellVerdict::Fail => "FAILED",
        CellVerdict::Undecided => "undecided",
        CellVerdict::Error => "could not be judged",
        CellVerdict::Pending => "not ended",
    }
}
