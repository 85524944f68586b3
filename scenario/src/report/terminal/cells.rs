//! The cells that did not pass: an experiment's verdict goes by cells, and its counts by scenarios.

use std::fmt::Write as _;

use super::super::Report;
use crate::count_noun;
use crate::plan::parameter_text;
use crate::score::{Cell, CellVerdict};
use crate::untrusted;

/// Maximum number of cells that are shown.
const MOST: usize = 20;
/// Maximum length of the parameters of one cell.
const MOST_PARAMETERS: usize = 100;

/// A line for each cell that did not pass, or that stopped when its bar was decided. Nothing when each has one replica, whose own line says as much.
pub(super) fn text(report: &Report) -> String {
    let cells = &report.score.cells;
    if cells.iter().all(|cell| cell.planned < 2) {
        return String::new();
    }
    let told: Vec<_> = cells.iter().filter(|cell| word(cell).is_some()).collect();
    let mut text: String = told.iter().take(MOST).map(|cell| line(cell)).collect();
    if told.len() > MOST {
        let _ = writeln!(text, "  and {}", count_noun(told.len() - MOST, "more cell"));
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
    let some = |verdict, what: &str| match of(verdict) {
        0 => String::new(),
        some => format!(", {what} {some}"),
    };
    let (undecided, errors) = (some(CellVerdict::Undecided, "undecided"), some(CellVerdict::Error, "errors"));
    let (passed, failed) = (of(CellVerdict::Pass), of(CellVerdict::Fail));
    format!("cells {}, passed {passed}, failed {failed}{undecided}{errors}; ", cells.len())
}

fn line(cell: &Cell) -> String {
    let word = word(cell).unwrap_or_default();
    let errors = if cell.errors > 0 { format!(", {} not judged", cell.errors) } else { String::new() };
    match cell.reason() {
        Some(reason) => format!("  {word:<5} cell {}: {reason}{errors}\n", name(cell)),
        None => {
            format!("  {word:<5} cell {}: {} of {} replicas passed{errors}\n", name(cell), cell.passed, cell.planned)
        }
    }
}

fn word(cell: &Cell) -> Option<&'static str> {
    match cell.verdict {
        CellVerdict::Fail => Some("FAIL"),
        CellVerdict::Undecided => Some("UNDECIDED"),
        CellVerdict::Error => Some("ERROR"),
        // Where it stopped is told of a cell that passed, too.
        CellVerdict::Pass => cell.sequential.as_ref().map(|_| "pass"),
        CellVerdict::Pending => None,
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
