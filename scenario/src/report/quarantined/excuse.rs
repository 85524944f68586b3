//! Finds what entries excuse in a report: whole cells, or scenarios that nothing but quarantined invariants kept from passing.

use std::collections::BTreeSet;

use jiff::civil::Date;

use super::super::{Report, Row};
use crate::quarantine::{EntryState, JudgedEntry, QuarantineEntry, QuarantineList, Quarantined};
use crate::result::RowStatus;
use crate::score::{CellVerdict, Status};
use crate::verdict::{ErrorKind, Outcome};

/// The entries in force that are about a cell.
struct InForce<'a> {
    /// The reason for which all of it is excused.
    whole: Option<&'a QuarantineEntry>,
    /// The invariants that are excused.
    invariants: BTreeSet<&'a str>,
}

impl InForce<'_> {
    fn excuses(&self, row: &Row) -> bool {
        self.whole.is_some() || excuses(&self.invariants, row)
    }
}

/// True when nothing but these invariants keeps a scenario from passing.
fn excuses(invariants: &BTreeSet<&str>, row: &Row) -> bool {
    let result = &row.result;
    let mut open = result.invariants.iter().filter(|one| one.verdict.outcome != Outcome::Passed).peekable();
    let others = !result.limits.is_empty()
        || !result.offences.is_empty()
        || result.forbidden.iter().any(|rule| rule.violated)
        || result.error.as_ref().is_some_and(|error| !matches!(error.kind, ErrorKind::Check | ErrorKind::Judge));
    open.peek().is_some() && !others && open.all(|one| invariants.contains(one.name.as_str()))
}

impl QuarantineList {
    /// Marks what is excused today in reports, and says what became of each entry.
    pub fn judge(&self, reports: &mut [Report], today: Date) -> Quarantined {
        for report in reports.iter_mut() {
            let spec_id = report.spec_id.clone();
            for row in &mut report.rows {
                row.quarantined = self.in_force(&spec_id, row.result.scenario.cell.as_str(), today).excuses(row);
            }
        }
        Quarantined { entries: self.quarantine.iter().map(|entry| judged(entry, reports, today)).collect() }
    }

    /// Leaves of reports what a gate compares: without the cells and invariants that are excused today. A scenario that nothing
    /// but excused invariants kept from passing counts as passed.
    #[must_use]
    pub fn gated(&self, reports: &[Report], today: Date) -> Vec<Report> {
        reports.iter().filter_map(|report| self.gated_one(report, today)).collect()
    }

    fn gated_one(&self, report: &Report, today: Date) -> Option<Report> {
        let mut left = report.clone();
        let whole = |cell: &str| self.in_force(&report.spec_id, cell, today).whole.is_some();
        left.score.cells.retain(|cell| !whole(cell.id.as_str()));
        left.rows.retain(|row| !whole(row.result.scenario.cell.as_str()));
        let is_left: BTreeSet<_> = left.rows.iter().map(|row| row.result.scenario.id.clone()).collect();
        left.score.statuses.retain(|id, _| is_left.contains(id));
        if left.score.cells.is_empty() && !report.score.cells.is_empty() {
            return None;
        }
        for row in &mut left.rows {
            let in_force = self.in_force(&report.spec_id, row.result.scenario.cell.as_str(), today);
            if excuses(&in_force.invariants, row) {
                row.status = Status::Pass;
                row.result.status = RowStatus::Pass;
                row.result.error = None;
            }
            row.result.invariants.retain(|one| !in_force.invariants.contains(one.name.as_str()));
        }
        let rows = &left.rows;
        for cell in left.score.cells.iter_mut().filter(|cell| cell.verdict != CellVerdict::Pass) {
            let mut of_cell = rows.iter().filter(|row| row.result.scenario.cell == cell.id).peekable();
            if of_cell.peek().is_some() && of_cell.all(|row| row.status == Status::Pass) {
                cell.verdict = CellVerdict::Pass;
            }
        }
        Some(left)
    }

    fn in_force(&self, spec_id: &str, cell: &str, today: Date) -> InForce<'_> {
        let is_about = |entry: &&QuarantineEntry| entry.is_active(today) && entry.scenario.matches(spec_id, cell);
        let entries = || self.quarantine.iter().filter(is_about);
        InForce {
            whole: entries().find(|entry| entry.invariant.is_none()),
            invariants: entries().filter_map(|entry| entry.invariant.as_deref()).collect(),
        }
    }
}

/// Applies an entry to reports.
fn judged(entry: &QuarantineEntry, reports: &[Report], today: Date) -> JudgedEntry {
    let mut judged = JudgedEntry {
        entry: entry.clone(),
        state: EntryState::Unmatched,
        cells: Vec::new(),
        scenarios: 0,
        not_passed: 0,
        clean_runs: None,
    };
    for report in reports {
        let is_about = |cell: &str| entry.scenario.matches(&report.spec_id, cell);
        for cell in report.score.cells.iter().filter(|cell| is_about(cell.id.as_str())) {
            let rows = report.rows.iter().filter(|row| row.result.scenario.cell == cell.id);
            let passed: Vec<_> = rows.filter_map(|row| passed(entry, row)).collect();
            if entry.invariant.is_some() && passed.is_empty() {
                continue;
            }
            judged.cells.push(format!("{}/{}", report.spec_id, cell.id));
            judged.scenarios += passed.len();
            judged.not_passed += passed.iter().filter(|passed| !**passed).count();
        }
    }
    judged.state = match judged.cells.is_empty() {
        _ if !entry.is_active(today) => EntryState::Expired,
        true => EntryState::Unmatched,
        false => EntryState::Active,
    };
    judged
}

/// True when the scenario, or the invariant that an entry is about, passed; `None` where it is not there.
fn passed(entry: &QuarantineEntry, row: &Row) -> Option<bool> {
    match &entry.invariant {
        None => Some(row.status == Status::Pass),
        Some(name) => {
            let found = row.result.invariants.iter().find(|one| one.name == *name);
            found.map(|one| one.verdict.outcome == Outcome::Passed)
        }
    }
}
