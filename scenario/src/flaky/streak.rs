//! The clean runs of entries of a quarantine: leaving it needs a streak.

use jiff::civil::Date;
use serde::{Deserialize, Serialize};

use super::FlakyTable;
use crate::quarantine::{QuarantineEntry, QuarantineList};

/// The number of clean runs in a row that an entry needs to leave.
pub const CLEAN_RUNS: usize = 10;

/// The clean runs of an entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntryStreak {
    /// The place that the entry is about, as it was written.
    pub place: String,
    /// The number of clean runs in a row up to the last one, of the line with the fewest; `None` when it was not run.
    pub clean_runs: Option<usize>,
    /// The number that it needs to leave.
    pub needed: usize,
    /// True when its last day is over.
    pub expired: bool,
}

impl EntryStreak {
    /// True when it may leave.
    #[must_use]
    pub fn may_leave(&self) -> bool {
        self.clean_runs.is_some_and(|runs| runs >= self.needed)
    }

    /// The line that a report has about it.
    #[must_use]
    pub fn message(&self) -> String {
        let expired = if self.expired { ", and has expired" } else { "" };
        match self.clean_runs {
            None => format!("was not run{expired}"),
            Some(runs) if self.may_leave() => {
                format!("may leave the quarantine: clean in {} in a row{expired}", crate::count_noun(runs, "run"))
            }
            Some(runs) => format!("stays in quarantine: clean in {runs} of {} runs in a row{expired}", self.needed),
        }
    }
}

/// The clean runs of each entry of a quarantine.
#[must_use]
pub fn streaks(list: &QuarantineList, tables: &[FlakyTable], needed: usize, today: Date) -> Vec<EntryStreak> {
    let streak = |entry: &QuarantineEntry| EntryStreak {
        place: entry.place(),
        clean_runs: clean_runs(entry, tables),
        needed,
        expired: !entry.is_active(today),
    };
    list.quarantine.iter().map(streak).collect()
}

/// The number of clean runs in a row up to the last one, of the line with the fewest.
#[must_use]
pub fn clean_runs(entry: &QuarantineEntry, tables: &[FlakyTable]) -> Option<usize> {
    let lines = tables.iter().flat_map(|table| table.lines.iter().map(move |line| (table, line)));
    let meant = lines.filter(|(table, line)| {
        entry.scenario.matches(&table.spec_id, &line.cell) && line.invariant == entry.invariant
    });
    meant.map(|(_, line)| line.clean_runs).min()
}
