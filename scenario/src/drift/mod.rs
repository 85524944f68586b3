//! What became worse since a baseline, and what only looks so.
//!
//! Reports of two moments are laid side by side, spec by spec and cell by cell. A cell that passed by its own bar and does
//! not any more has regressed, and so has an invariant that every replica met and none meets now. Any other drop of a pass
//! rate counts only when chance is an unlikely reason ([`chance_of_drop`]); otherwise the evidence is insufficient, and is called
//! so. Times and costs are told, and decide nothing: they depend on the machine.

mod findings;
mod fisher;
mod share;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde::Serialize;

pub use fisher::{chance_of_drop, replicas_to_tell};
pub use share::Share;

use crate::counted;
use crate::report::Report;
use crate::score::ComparedMetric;

/// How unlikely chance must be as the reason of a drop.
pub const SIGNIFICANT: f64 = 0.05;

/// What changed between a baseline and a candidate.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Drift {
    /// What the baseline is called: a file, or an experiment.
    pub baseline: String,
    /// Everything that changed: regressions first, then what is unclear, then what became better.
    pub findings: Vec<Finding>,
    /// How many cells are in both.
    pub cells: usize,
    /// Specs and cells that only the baseline has.
    pub only_before: Vec<String>,
    /// Specs and cells that only the candidate has.
    pub only_now: Vec<String>,
    /// Numbers that decide nothing here, by spec.
    pub metrics: BTreeMap<String, Vec<ComparedMetric>>,
}

/// Something that changed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    /// Whether that is bad.
    pub change: Change,
    /// The spec.
    pub spec_id: String,
    /// The cell; all of them together without it.
    pub cell: Option<String>,
    /// The invariant; the whole scenario without it.
    pub invariant: Option<String>,
    /// How many passed before.
    pub before: Share,
    /// How many pass now.
    pub now: Share,
    /// How likely chance alone would make a drop like this one, or a larger one.
    pub chance: Option<f64>,
    /// Why it is counted so, in words.
    pub why: String,
}

/// Whether a change is bad.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// It is.
    Regressed,
    /// Nobody can tell from so few scenarios.
    InsufficientEvidence,
    /// It is good.
    Improved,
}

impl Change {
    /// The words for it.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Regressed => "regressed",
            Self::InsufficientEvidence => "insufficient evidence",
            Self::Improved => "improved",
        }
    }
}

impl Drift {
    /// Lays reports side by side. Those of the same spec belong together; of several, those at the same place.
    #[must_use]
    pub fn of(name: &str, baseline: &[Report], candidate: &[Report]) -> Self {
        findings::drift(name, baseline, candidate)
    }

    /// Whether anything became worse.
    #[must_use]
    pub fn regressed(&self) -> bool {
        self.count(Change::Regressed) > 0
    }

    /// How many findings are of this kind.
    #[must_use]
    pub fn count(&self, change: Change) -> usize {
        self.findings.iter().filter(|finding| finding.change == change).count()
    }

    /// All of it in one line.
    #[must_use]
    pub fn summary(&self) -> String {
        if self.cells == 0 {
            return "nothing in common with the baseline, so nothing was compared".to_owned();
        }
        let count = |change: Change| format!("{} {}", self.count(change), change.words());
        format!(
            "{} compared: {}, {}, {}",
            counted(self.cells, "cell"),
            count(Change::Regressed),
            count(Change::InsufficientEvidence),
            count(Change::Improved)
        )
    }
}

impl Finding {
    /// What it is about: `spec/cell: invariant`.
    #[must_use]
    pub fn place(&self) -> String {
        let cell = self.cell.as_ref().map_or_else(|| ", all cells".to_owned(), |cell| format!("/{cell}"));
        let invariant = self.invariant.as_ref().map(|name| format!(": {name}")).unwrap_or_default();
        format!("{}{cell}{invariant}", self.spec_id)
    }
}
