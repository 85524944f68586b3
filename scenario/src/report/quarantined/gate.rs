//! The exit code of a report without what is in quarantine.

use std::collections::HashMap;

use super::super::{Report, Row};
use crate::plan::ScenarioId;
use crate::score::{Cell, CellVerdict, ContractVerdict, ExperimentVerdict, Status};

/// The exit code of a report: that of its score, unless all that keeps it from passing is in quarantine.
///
/// Something that is scored as a whole, such as a contract, is excused when each of its parts that does not hold is.
#[must_use]
pub fn exit_code(report: &Report) -> u8 {
    let own = report.score.exit_code();
    if own == 0 || !report.rows.iter().any(|row| row.quarantined) {
        return own;
    }
    let gate = Gate::of(report);
    if gate.fails() {
        1
    } else if gate.is_open() {
        4
    } else {
        0
    }
}

/// True when a report passes only because of what is in quarantine.
#[must_use]
pub(crate) fn is_excused(report: &Report) -> bool {
    report.score.exit_code() != 0 && exit_code(report) == 0
}

struct Gate<'a> {
    report: &'a Report,
    rows: HashMap<&'a ScenarioId, &'a Row>,
}

impl<'a> Gate<'a> {
    fn of(report: &'a Report) -> Self {
        let rows = report.rows.iter().map(|row| (&row.result.scenario.id, row)).collect();
        Self { report, rows }
    }

    /// True when something that is not excused has failed.
    fn fails(&self) -> bool {
        let score = &self.report.score;
        let counts = |cell: &&Cell| cell.decides() && cell.verdict == CellVerdict::Fail;
        let mutations = score.mutations.as_ref().is_some_and(|score| score.verdict == CellVerdict::Fail);
        let overall = score.overall.as_ref().is_some_and(|score| score.verdict == CellVerdict::Fail);
        score.cells.iter().filter(counts).any(|cell| !self.is_excused(cell))
            || (self.contract_is(ContractVerdict::Fail) && !self.contract_is_excused())
            || (mutations && !self.mutations_are_excused())
            || (overall && !self.report.rows.iter().all(|row| row.quarantined))
    }

    /// True when something that is not excused is not known.
    fn is_open(&self) -> bool {
        let score = &self.report.score;
        let is_unknown = |cell: &Cell| matches!(cell.verdict, CellVerdict::Error | CellVerdict::Undecided);
        let unknown = |cell: &&Cell| cell.decides() && is_unknown(cell);
        score.verdict == ExperimentVerdict::Pending
            || self.report.not_run() > 0
            || self.report.rows.iter().any(|row| row.status == Status::Error && !row.quarantined)
            || score.cells.iter().filter(unknown).any(|cell| !self.is_excused(cell))
            || (self.contract_is(ContractVerdict::Error) && !self.contract_is_excused())
    }

    /// True when all scenarios of a cell that did not pass are in quarantine.
    fn is_excused(&self, cell: &Cell) -> bool {
        let rows = self.report.rows.iter().filter(|row| row.result.scenario.cell == cell.id);
        excused(rows)
    }

    fn contract_is(&self, verdict: ContractVerdict) -> bool {
        self.report.score.contract.as_ref().is_some_and(|contract| contract.verdict == verdict)
    }

    fn contract_is_excused(&self) -> bool {
        let cells = self.report.score.contract.iter().flat_map(|contract| &contract.cells);
        let mut open = cells.filter(|cell| cell.status.holds() == Some(false) || cell.status.is_unjudged());
        open.all(|cell| excused(cell.scenarios.iter().filter_map(|id| self.rows.get(id).copied())))
    }

    fn mutations_are_excused(&self) -> bool {
        let is_mutation = |cell: &&Cell| cell.key.purpose.mutation().is_some() && cell.verdict != CellVerdict::Pass;
        self.report.score.cells.iter().filter(is_mutation).all(|cell| self.is_excused(cell))
    }
}

/// True when some of these did not pass, and all of those are in quarantine.
fn excused<'a>(rows: impl Iterator<Item = &'a Row>) -> bool {
    let mut open = rows.filter(|row| row.status != Status::Pass).peekable();
    open.peek().is_some() && open.all(|row| row.quarantined)
}
