//! A cell or an invariant over the runs.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use super::{Cause, PastRun, RunHead};
use crate::plan::{CellKey, ScenarioId};
use crate::report::Row;
use crate::score::Status;
use crate::verdict::Outcome;

/// A cell or an invariant over the runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FlakyLine {
    /// The cell.
    pub cell: String,
    /// The invariant; the whole scenario without it.
    pub invariant: Option<String>,
    /// Its results in each run, the oldest first; `None` where it was not there.
    pub squares: Vec<Option<Square>>,
    /// The number of pairs of neighbouring runs of the same text and seed.
    pub pairs: usize,
    /// The number of those in which it passed in the one and not in the other.
    pub flips: usize,
    /// The number of runs in which some replicas passed and others did not.
    pub mixed: usize,
    /// The first run that showed that it is flaky, as a place in the list of runs.
    pub since: Option<usize>,
    /// The number of clean runs in a row up to the last one.
    pub clean_runs: usize,
    /// The reason why it is flaky.
    pub cause: Cause,
}

/// The results of a cell or an invariant in a run.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Square {
    /// The number of replicas in which it passed.
    pub passed: usize,
    /// The number of those in which it failed.
    pub failed: usize,
    /// The number of those in which it could not be judged.
    pub errors: usize,
    /// A scenario that shows it: the first that did not pass, or the first.
    pub shown_by: Option<ScenarioId>,
}

/// The results of a cell or an invariant in a run, in a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SquareOutcome {
    /// All replicas passed.
    Clean,
    /// Some passed, and others failed.
    Mixed,
    /// All failed.
    Failed,
    /// Some could not be judged, and the others passed.
    Error,
}

impl Square {
    /// The results in a word.
    #[must_use]
    pub const fn outcome(&self) -> SquareOutcome {
        match (self.passed, self.failed, self.errors) {
            (0, 0, _) => SquareOutcome::Error,
            (_, 0, 0) => SquareOutcome::Clean,
            (0, _, _) => SquareOutcome::Failed,
            (_, 0, _) => SquareOutcome::Error,
            _ => SquareOutcome::Mixed,
        }
    }

    /// True when all replicas passed; `None` where that cannot be told.
    const fn passes(&self) -> Option<bool> {
        match self.outcome() {
            SquareOutcome::Clean => Some(true),
            SquareOutcome::Mixed | SquareOutcome::Failed => Some(false),
            SquareOutcome::Error => None,
        }
    }

    fn add(&mut self, outcome: Outcome, scenario: &ScenarioId) {
        let shows_first = self.failed + self.errors == 0 && outcome != Outcome::Passed;
        if self.shown_by.is_none() || shows_first {
            self.shown_by = Some(scenario.clone());
        }
        match outcome {
            Outcome::Passed => self.passed += 1,
            Outcome::Failed => self.failed += 1,
            Outcome::Errored(_) => self.errors += 1,
        }
    }
}

impl SquareOutcome {
    /// The word for it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Clean => "clean",
            Self::Mixed => "mixed",
            Self::Failed => "failed",
            Self::Error => "error",
        }
    }

    /// One letter for it.
    #[must_use]
    pub const fn sign(self) -> &'static str {
        match self {
            Self::Clean => "✓",
            Self::Mixed => "±",
            Self::Failed => "✗",
            Self::Error => "!",
        }
    }
}

impl FlakyLine {
    /// True when it flips, between runs or between replicas.
    #[must_use]
    pub const fn is_flaky(&self) -> bool {
        self.flips > 0 || self.mixed > 0
    }

    /// The number of runs in which it was there.
    #[must_use]
    pub fn judged_runs(&self) -> usize {
        self.squares.iter().flatten().count()
    }

    /// The place that it is about: `CELL: INVARIANT`.
    #[must_use]
    pub fn place(&self) -> String {
        let invariant = self.invariant.as_ref().map(|name| format!(": {name}")).unwrap_or_default();
        format!("{}{invariant}", self.cell)
    }

    /// Its squares as one letter each; a point where it was not there.
    #[must_use]
    pub fn signs(&self) -> String {
        self.squares.iter().map(|square| square.as_ref().map_or("·", |square| square.outcome().sign())).collect()
    }
}

/// The key of a line.
type Key = (CellKey, Option<String>);

/// The lines of all runs: cells in the order in which they are first met, each followed by its invariants.
pub(super) fn lines(runs: &[PastRun], heads: &[RunHead], cause: Cause) -> Vec<FlakyLine> {
    let mut names: IndexMap<CellKey, (String, Vec<String>)> = IndexMap::new();
    let mut squares: IndexMap<Key, Vec<Option<Square>>> = IndexMap::new();
    for (index, run) in runs.iter().enumerate() {
        for row in &run.report.rows {
            let (key, scenario) = (row.result.scenario.key(), &row.result.scenario.id);
            let (name, invariants) = names.entry(key.clone()).or_default();
            *name = row.result.scenario.cell.to_string();
            let mut add = |invariant: Option<String>, outcome| {
                let line = squares.entry((key.clone(), invariant)).or_insert_with(|| vec![None; runs.len()]);
                line[index].get_or_insert_default().add(outcome, scenario);
            };
            add(None, outcome(row));
            for one in &row.result.invariants {
                add(Some(one.name.clone()), one.verdict.outcome);
                if !invariants.contains(&one.name) {
                    invariants.push(one.name.clone());
                }
            }
        }
    }
    let mut lines = Vec::new();
    for (key, (cell, invariants)) in names {
        for invariant in std::iter::once(None).chain(invariants.into_iter().map(Some)) {
            let found = squares.swap_remove(&(key.clone(), invariant.clone())).unwrap_or_default();
            lines.push(line(cell.clone(), invariant, found, heads, cause));
        }
    }
    lines
}

fn outcome(row: &Row) -> Outcome {
    match row.status {
        Status::Pass => Outcome::Passed,
        Status::Fail | Status::Flaky => Outcome::Failed,
        Status::Error => Outcome::Errored(crate::verdict::ErrorKind::Infrastructure),
    }
}

fn line(
    cell: String,
    invariant: Option<String>,
    squares: Vec<Option<Square>>,
    heads: &[RunHead],
    cause: Cause,
) -> FlakyLine {
    let passes = |index: usize| squares[index].as_ref().and_then(Square::passes);
    let there: Vec<usize> = (0..squares.len()).filter(|index| squares[*index].is_some()).collect();
    let alike = || there.windows(2).filter(|pair| heads[pair[0]].is_like(&heads[pair[1]]));
    let is_flip =
        |pair: &&[usize]| matches!((passes(pair[0]), passes(pair[1])), (Some(one), Some(other)) if one != other);
    let flips: Vec<usize> = alike().filter(is_flip).map(|pair| pair[1]).collect();
    let is_mixed = |square: &Option<Square>| square.as_ref().is_some_and(|one| one.outcome() == SquareOutcome::Mixed);
    let mixed: Vec<usize> = (0..squares.len()).filter(|index| is_mixed(&squares[*index])).collect();
    let clean_runs = there.iter().rev().take_while(|index| passes(**index) == Some(true)).count();
    FlakyLine {
        cell,
        invariant,
        pairs: alike().count(),
        flips: flips.len(),
        mixed: mixed.len(),
        since: flips.first().into_iter().chain(mixed.first()).min().copied(),
        clean_runs,
        cause,
        squares,
    }
}
