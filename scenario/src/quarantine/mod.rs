//! Quarantine: scenarios that nobody trusts yet. They are run and shown as ever, and cannot fail a gate until their time is over.
//!
//! The list is a file beside the specs ([`load`]). What it excuses in reports is in `report/quarantined/`: failures, scenarios that
//! could not be judged, regressions, and being removed.

mod date;
mod file;
mod pattern;

use jiff::civil::Date;
use serde::Serialize;

pub use date::LastDay;
pub use file::{Loaded, QuarantineEntry, QuarantineList, load};
pub use pattern::ScenarioPattern;

/// A quarantine, as it was applied to a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Quarantined {
    /// The entries, in the order of the file.
    pub entries: Vec<JudgedEntry>,
}

/// An entry, and what it was about in a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct JudgedEntry {
    /// The entry.
    #[serde(flatten)]
    pub entry: QuarantineEntry,
    /// Its state.
    pub state: EntryState,
    /// The cells that it is about: `SPEC/CELL`.
    pub cells: Vec<String>,
    /// The number of their scenarios that ended.
    pub scenarios: usize,
    /// The number of those that did not pass.
    pub not_passed: usize,
    /// The number of clean runs in a row, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clean_runs: Option<usize>,
}

/// The state of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EntryState {
    /// It is.
    Active,
    /// Its last day is over: what it is about counts again.
    Expired,
    /// It is about nothing that was run.
    Unmatched,
}

impl EntryState {
    /// The word for it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Active => "quarantined",
            Self::Expired => "expired",
            Self::Unmatched => "unmatched",
        }
    }
}

impl Quarantined {
    /// The entries in this state.
    pub fn of(&self, state: EntryState) -> impl Iterator<Item = &JudgedEntry> {
        self.entries.iter().filter(move |entry| entry.state == state)
    }
}

impl JudgedEntry {
    /// The line that a report has about it.
    #[must_use]
    pub fn message(&self) -> String {
        let QuarantineEntry { reason, until, owner, .. } = &self.entry;
        let streak = match self.clean_runs {
            Some(runs) => format!("; {} without a failure in a row", crate::count_noun(runs, "run")),
            None => String::new(),
        };
        let counted = format!("{} of {} did not pass", self.not_passed, crate::count_noun(self.scenarios, "scenario"));
        match self.state {
            EntryState::Active => format!("{counted}, which fails nothing until {until} ({owner}): {reason}{streak}"),
            EntryState::Expired => format!(
                "its quarantine ended on {until}, so it counts again: {counted} ({owner}): {reason}; repair it, or write a later `until`"
            ),
            EntryState::Unmatched => {
                format!("the quarantine names nothing that was run; correct it, or remove it ({owner}): {reason}")
            }
        }
    }
}

impl QuarantineEntry {
    /// The place that it is about, as it was written: `SPEC/CELL: INVARIANT`.
    #[must_use]
    pub fn place(&self) -> String {
        let invariant = self.invariant.as_ref().map(|name| format!(": {name}")).unwrap_or_default();
        format!("{}{invariant}", self.scenario)
    }

    /// True when it is in force on a day. Its last day belongs to it.
    #[must_use]
    pub fn is_active(&self, today: Date) -> bool {
        today <= self.until.get()
    }
}
