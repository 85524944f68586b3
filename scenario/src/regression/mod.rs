//! What became worse since a baseline, and what only looks so.
//!
//! Reports of two moments are laid side by side, spec by spec and cell by cell. A drop of a pass rate is a regression only when
//! chance is an unlikely reason ([Boschloo's test](crate::statistics::boschloo_given_variation), corrected for the number of
//! comparisons); otherwise the evidence is insufficient, and is called so, with the number of replicas that would be enough
//! ([`replicas_to_tell`](crate::statistics::replicas_to_tell)). A cell that misses its bar fails its run, and is no regression by that
//! alone. All specs together are one more comparison, of which each spec is one difference. Scores, times and costs are told, and
//! decide where that is asked for.

#[cfg(test)]
mod cell_keys;
mod comparison;
mod findings;
mod gate;
mod measures;
mod metrics;
#[cfg(test)]
mod simulation;
mod suite;
#[cfg(test)]
mod tests;
mod worlds;

use std::collections::BTreeMap;

use serde::Serialize;

pub use gate::{Gate, level_of_cell};
pub use measures::{Measure, MeasureChange, Method};
pub use metrics::{ComparedMetric, Direction, compare_metrics};

pub use suite::SuiteChange;

pub use crate::statistics::Share;

use crate::count_noun;
use crate::report::Report;
use crate::statistics::MarginVerdict;

/// How unlikely chance must be as the reason of a drop: how often one of all comparisons may be a false alarm.
pub const SIGNIFICANT: f64 = 0.05;

/// How many removed things are named.
const MOST_NAMED: usize = 20;

/// What changed between a baseline and a candidate.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunComparison {
    /// What the baseline is called: a file, or an experiment.
    pub baseline: String,
    /// Everything that changed: regressions first, then what is unclear, then what became better.
    pub findings: Vec<Finding>,
    /// All specs together; `None` when none was judged on both sides.
    pub suite: Option<SuiteChange>,
    /// Scores, times, tokens and cost of all cells.
    pub measures: Vec<MeasureChange>,
    /// What counted as a regression.
    pub gate: Gate,
    /// How many cells are in both.
    pub cells: usize,
    /// Specs, cells and invariants that only the baseline has.
    pub removed: Vec<String>,
    /// Whether something may be removed without failing the run.
    pub removal: Removal,
    /// How the worlds of the two differ: what made sandboxes, and from which images.
    pub worlds: Vec<String>,
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
    /// How many replicas on either side would find such a drop in 80 of 100 comparisons, where these are not enough.
    pub replicas_to_tell: Option<usize>,
    /// Why it is counted so, in words.
    pub why: String,
}

/// Whether something that the baseline has may be missing now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Removal {
    /// It may: it is told.
    #[default]
    Allowed,
    /// It may not: it fails the run.
    Fails,
}

/// Whether a change is bad.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// It is.
    Regressed,
    /// A drop that chance does not explain, between runs in different worlds: it need not be the agent's.
    DifferentWorld,
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
            Self::DifferentWorld => "different world",
            Self::InsufficientEvidence => "insufficient evidence",
            Self::Improved => "improved",
        }
    }
}

impl RunComparison {
    /// Lays reports side by side. Those of the same spec belong together; of several, those at the same place.
    #[must_use]
    pub fn of(name: &str, baseline: &[Report], candidate: &[Report]) -> Self {
        Self::gated(name, baseline, candidate, &Gate::default())
    }

    /// The same, with a margin and measures that were asked for.
    #[must_use]
    pub fn gated(name: &str, baseline: &[Report], candidate: &[Report], gate: &Gate) -> Self {
        findings::compare_reports(name, baseline, candidate, gate)
    }

    /// Whether anything became worse.
    #[must_use]
    pub fn regressed(&self) -> bool {
        self.regressed_count() > 0
    }

    /// How many findings, sums and measures became worse.
    #[must_use]
    pub fn regressed_count(&self) -> usize {
        self.count(Change::Regressed) + self.regressed_sums().count()
    }

    /// The suite and the gated measures that became worse, a line each.
    pub fn regressed_sums(&self) -> impl Iterator<Item = String> {
        let suite = self.suite.iter().filter(|suite| suite.regressed()).map(SuiteChange::words);
        suite.chain(self.measures.iter().filter(|measure| measure.regressed()).map(MeasureChange::words))
    }

    /// The suite, where it is more than one spec, and each measure that changed or gates, a line each.
    #[must_use]
    pub fn told_sums(&self) -> Vec<String> {
        let suite = self.suite.iter().filter(|suite| suite.specs > 1).map(SuiteChange::words);
        let has_changed = |measure: &&MeasureChange| measure.gates || measure.verdict != MarginVerdict::Inconclusive;
        suite.chain(self.measures.iter().filter(has_changed).map(MeasureChange::words)).collect()
    }

    /// Whether it fails a run: something became worse, or was removed although that is not allowed.
    #[must_use]
    pub fn fails(&self) -> bool {
        self.regressed() || self.fails_by_removal()
    }

    /// Whether something was removed although that is not allowed.
    #[must_use]
    pub fn fails_by_removal(&self) -> bool {
        self.removal == Removal::Fails && !self.removed.is_empty()
    }

    /// What was removed, and what to do about it, in one line.
    #[must_use]
    pub fn removal_message(&self) -> String {
        let names: Vec<_> = self.removed.iter().take(MOST_NAMED).map(String::as_str).collect();
        let more = if self.removed.len() > names.len() {
            format!(" and {} more", self.removed.len() - names.len())
        } else {
            String::new()
        };
        format!(
            "{}{more}: the baseline has what this run does not; bring it back, make a new baseline, or allow it with `--allow-removed`",
            names.join(", ")
        )
    }

    /// The same, where nothing that the baseline has may be missing.
    #[must_use]
    pub fn without_removal(self) -> Self {
        Self { removal: Removal::Fails, ..self }
    }

    /// What became worse, a line each.
    #[must_use]
    pub fn regressions(&self) -> Vec<String> {
        let regressed = self.findings.iter().filter(|finding| finding.change == Change::Regressed);
        let lines =
            regressed.map(|found| format!("{}: {} → {}; {}", found.place(), found.before, found.now, found.why));
        lines.chain(self.regressed_sums()).collect()
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
        let worlds = match self.count(Change::DifferentWorld) {
            0 => String::new(),
            _ => format!(", {}", count(Change::DifferentWorld)),
        };
        let worse: Vec<_> = self.regressed_sums().map(|words| format!("; {words}")).collect();
        format!(
            "{} compared: {}, {}, {}{worlds}{}",
            count_noun(self.cells, "cell"),
            count(Change::Regressed),
            count(Change::InsufficientEvidence),
            count(Change::Improved),
            worse.concat()
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
