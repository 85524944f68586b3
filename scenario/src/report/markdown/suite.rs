//! A suite, its coverage and its forecast, as Markdown.

use std::fmt::Write as _;

use super::{MOST_CELLS, MOST_FOUND, MOST_NAME, code};
use crate::coverage::{CapabilityState, Coverage};
use crate::report::suite_words::per_success;
use crate::report::{ForecastOutcome, SuiteOutcome};
use crate::suite::SuiteScore;

/// What there is to tell.
pub(super) fn text(outcome: &SuiteOutcome) -> String {
    let mut text = String::new();
    outcome.suite.iter().for_each(|score| suite(&mut text, score));
    outcome.coverage.iter().for_each(|found| coverage(&mut text, found));
    match &outcome.forecast {
        None => {}
        Some(ForecastOutcome::Unavailable(reason)) => {
            let _ = writeln!(text, "\n#### Forecast\n\n{}", code(reason, MOST_FOUND));
        }
        Some(ForecastOutcome::Made(forecast)) => {
            let _ = writeln!(text, "\n#### Forecast\n");
            text.extend(forecast.lines().iter().map(|line| format!("- {line}\n")));
        }
    }
    text
}

fn suite(text: &mut String, score: &SuiteScore) {
    let number = |number: Option<f64>| number.map_or_else(|| "–".to_owned(), |number| format!("{number:.3}"));
    let _ = writeln!(text, "\n#### Suite {}\n", code(&score.name, MOST_NAME));
    let (pass_k, pass_rate) = (number(score.mean_pass_k), number(score.mean_pass_rate));
    let _ = writeln!(text, "pass^k {pass_k}, pass rate {pass_rate}{}", per_success(score));
    for shortfall in score.shortfalls.iter().take(MOST_CELLS) {
        let _ = writeln!(text, "\n**below the floor**: {}", code(&shortfall.message(), MOST_FOUND));
    }
}

/// A table with a row for each group.
fn coverage(text: &mut String, coverage: &Coverage) {
    let _ = writeln!(text, "\n#### Coverage {}\n", coverage.summary());
    let _ = writeln!(text, "| group | covered | not covered |\n|---|---|---|");
    // A bar would end the cell of a table, also inside of code.
    let cell = |text: &str| code(text, MOST_NAME).replace('|', "\\|");
    for (group, capabilities) in coverage.groups().into_iter().take(MOST_CELLS) {
        let is_covered = |one: &&&crate::coverage::CapabilityCoverage| one.state == CapabilityState::Covered;
        let covered = capabilities.iter().filter(is_covered).count();
        let open = capabilities.iter().filter(|one| !is_covered(one)).take(MOST_CELLS);
        let open: Vec<_> = open.map(|one| cell(&format!("{}: {}", one.id, one.why()))).collect();
        let group = if group.is_empty() { "–".to_owned() } else { cell(group) };
        let _ = writeln!(text, "| {group} | {covered}/{} | {} |", capabilities.len(), open.join(", "));
    }
    for unknown in coverage.unknown_tags.iter().take(MOST_CELLS) {
        let _ = writeln!(text, "\nunknown tag {}", code(&unknown.message(), MOST_FOUND));
    }
}
