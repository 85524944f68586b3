//! The cells that did not pass: an experiment's verdict goes by cells, and its counts by scenarios.

use std::fmt::Write as _;

use super::super::Report;
use crate::count_noun;
use crate::plan::parameter_text;
use crate::score::{Cell, CellVerdict};
use crate::untrusted;

/// How many cells are shown.
const MOST: usize = 20;
/// How long the parameters of one may be.
const MOST_PARAMETERS: usize = 100;

/// A line for each cell that did not pass. Nothing when each has one replica, whose own line says as much.
pub(super) fn text(report: &Report) -> String {
    let cells = &report.score.cells;
    if cells.iter().all(|cell| cell.planned < 2) {
        return String::new();
    }
    let bad: Vec<_> = cells.iter().filter(|cell| word(cell).is_some()).collect();
    let mut text: String = bad.iter().take(MOST).map(|cell| line(cell)).collect();
    if bad.len() > MOST {
        let _ = writeln!(text, "  and {}", count_noun(bad.len() - MOST, "more cell"));
    }
    text
}

/// `cells 4, passed 2, failed 2; `, when there is more than one, or it has several replicas: the verdict goes by them.
pub(super) fn counts(report: &Report) -> String {
    let cells = &report.score.cells;
    if cells.len() < 2 && cells.iter().all(|cell| cell.planned < 2) {
        return String::new();
    }
    let of = |verdict| cells.iter().filter(|cell| cell.verdict == verdict).count();
    let errors = match of(CellVerdict::Error) {
        0 => String::new(),
        some => format!(", errors {some}"),
    };
    format!("cells {}, passed {}, failed {}{errors}; ", cells.len(), of(CellVerdict::Pass), of(CellVerdict::Fail))
}

fn line(cell: &Cell) -> String {
    let word = word(cell).unwrap_or_default();
    let errors = if cell.errors > 0 { format!(", {} not judged", cell.errors) } else { String::new() };
    format!("  {word:<5} cell {}: {} of {} replicas passed{errors}\n", name(cell), cell.passed, cell.planned)
}

fn word(cell: &Cell) -> Option<&'static str> {
    match cell.verdict {
        CellVerdict::Fail => Some("FAIL"),
        CellVerdict::Error => Some("ERROR"),
        CellVerdict::Pass | CellVerdict::Pending => None,
    }
}

/// Its id, and what that stands for.
fn name(cell: &Cell) -> String {
    if cell.key.parameters.is_empty() {
        return cell.id.to_string();
    }
    let pairs = cell.key.parameters.iter().map(|(name, value)| format!("{name}={}", parameter_text(value)));
    let parameters = untrusted::line(&pairs.collect::<Vec<_>>().join(" "), MOST_PARAMETERS);
    format!("{} ({parameters})", cell.id)
}
