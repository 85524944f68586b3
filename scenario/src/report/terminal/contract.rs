//! A contract: its matrix, what its worlds came to, and the score.

use std::fmt::Write as _;

use super::super::Report;
use super::table;
use crate::score::{CellStatus, ContractCell, ContractScore, ContractVerdict};
use crate::untrusted;

/// Maximum number of cells that are listed with their reasons.
const MOST_REASONS: usize = 20;
/// The length at which reasons are cut.
const MOST_REASON: usize = 300;
/// The length at which names are cut.
const MOST_NAME: usize = 60;

/// The contract of a report; nothing when it has none.
pub(super) fn text(report: &Report, width: u16) -> String {
    let Some(contract) = &report.score.contract else { return String::new() };
    format!("{}{}{}{}", matrix(contract, width), reasons(contract), outcomes(contract), verdict(contract))
}

fn matrix(contract: &ContractScore, width: u16) -> String {
    let matrix = contract.matrix();
    let worlds: Vec<_> = matrix.worlds.iter().map(|world| untrusted::line(world, MOST_NAME)).collect();
    let header: Vec<&str> = ["rule", "severity"].into_iter().chain(worlds.iter().map(String::as_str)).collect();
    let mut table = table(width, &header);
    for row in &matrix.rules {
        let cells = row.cells.iter().map(|cell| cell.map_or("–", |cell| word(cell.status)).to_owned());
        let head = [row.invariant.to_owned(), row.severity.to_string()];
        table.add_row(head.into_iter().chain(cells).collect::<Vec<_>>());
    }
    format!("{table}\n")
}

/// Returns the word for a status; the ones that need attention are in capitals.
fn word(status: CellStatus) -> &'static str {
    match status {
        CellStatus::Fail => "FAIL",
        CellStatus::Error => "ERROR",
        CellStatus::Inconclusive => "INCONCLUSIVE",
        other => other.word(),
    }
}

/// The reasons why cells do not hold, or prove nothing.
fn reasons(contract: &ContractScore) -> String {
    let is_told = |status: CellStatus| !matches!(status, CellStatus::Pass | CellStatus::Skipped | CellStatus::Pending);
    let told: Vec<_> = contract.cells.iter().filter(|cell| is_told(cell.status)).collect();
    let mut text = String::new();
    for cell in told.iter().take(MOST_REASONS) {
        let world = untrusted::line(&cell.world(), MOST_NAME);
        let held = held(cell);
        let reason = untrusted::line(&cell.reason, MOST_REASON);
        let _ = writeln!(text, "  {:<12} {} in {world}{held}: {reason}", word(cell.status), cell.invariant);
    }
    if told.len() > MOST_REASONS {
        let _ = writeln!(text, "  and {}", crate::count_noun(told.len() - MOST_REASONS, "more cell"));
    }
    text
}

/// The runs in which a rule held, where there are several, and the difference to the world without faults.
fn held(cell: &ContractCell) -> String {
    let of_trials = (cell.trials > 1).then(|| format!("{} of {} held", cell.held, cell.trials));
    let difference = cell.difference_text().map(|points| format!("{points} to clean"));
    let told: Vec<_> = of_trials.into_iter().chain(difference).collect();
    if told.is_empty() { String::new() } else { format!(" ({})", told.join(", ")) }
}

fn outcomes(contract: &ContractScore) -> String {
    let mut text = String::new();
    for outcome in &contract.outcomes {
        let lost = match outcome.lost.as_slice() {
            [] => String::new(),
            lost => format!(", lost {}", lost.join(", ")),
        };
        let _ =
            writeln!(text, "  {:<12} {}{lost}", outcome.outcome.word(), untrusted::line(&outcome.world(), MOST_NAME));
    }
    text
}

fn verdict(contract: &ContractScore) -> String {
    let word = match contract.verdict {
        ContractVerdict::Pass => "passed",
        ContractVerdict::Fail => "FAILED",
        ContractVerdict::Error => "could not be judged",
        ContractVerdict::Pending => "not ended",
    };
    let name = untrusted::line(&contract.name, MOST_REASON);
    format!("contract {name} {word}: resilience score {} ({})\n", contract.score_text(), contract.why())
}
