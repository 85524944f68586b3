//! A contract in Markdown: its score, its matrix, and the outcomes of its worlds.

use std::fmt::Write as _;

use super::{MOST_CELLS, MOST_NAME, code};
use crate::score::{CellStatus, ContractCell, ContractScore};

/// A contract: its score, its matrix, and what its worlds came to.
pub(super) fn text(contract: &ContractScore) -> String {
    let name = code(&contract.name, MOST_NAME);
    let mut text = format!(
        "\n#### Contract {name}: {}, resilience score {}\n\n{}\n\n| rule | severity |",
        contract.verdict.word(),
        contract.score_text(),
        contract.why()
    );
    let matrix = contract.matrix();
    let cell = |text: &str| code(text, MOST_NAME).replace('|', "\\|");
    matrix.worlds.iter().for_each(|world| text.push_str(&format!(" {} |", cell(world))));
    let _ = writeln!(text, "\n|---|---|{}", "---|".repeat(matrix.worlds.len()));
    for row in matrix.rules.iter().take(MOST_CELLS) {
        let _ = write!(text, "| `{}` | {} |", row.invariant, row.severity);
        for found in &row.cells {
            let _ = write!(text, " {} |", found.map_or_else(|| "–".to_owned(), field));
        }
        text.push('\n');
    }
    let counts = contract.outcome_counts();
    if counts.total() > 0 {
        let _ = writeln!(text, "\nWhat faults came to: {}", counts.words());
    }
    for outcome in &contract.outcomes {
        let lost =
            if outcome.lost.is_empty() { String::new() } else { format!(", lost {}", cell(&outcome.lost.join(", "))) };
        let _ = writeln!(text, "\n- {}: {}{lost}", cell(&outcome.world()), outcome.outcome.word());
    }
    text
}

/// The status of a rule in a world, and the difference to the world without faults.
fn field(cell: &ContractCell) -> String {
    let word = status_word(cell.status);
    cell.difference_text().map_or_else(|| word.to_owned(), |points| format!("{word} {points}"))
}

/// Returns the word for a status; the ones that need attention stand out.
fn status_word(status: CellStatus) -> &'static str {
    match status {
        CellStatus::Fail => "**fail**",
        CellStatus::Error => "**error**",
        CellStatus::Inconclusive => "**inconclusive**",
        other => other.word(),
    }
}
