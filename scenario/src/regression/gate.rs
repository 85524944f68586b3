//! What may call a run worse, and how the chance of a false alarm is divided among it.

use serde::Serialize;

use super::{Measure, SIGNIFICANT};
use crate::statistics::count;

/// How often each thing that can speak beside the cells may be a false alarm.
const SHARE: f64 = 0.01;
/// How much a mean pass rate may differ and count as the same, when nobody says otherwise.
const MARGIN: f64 = 0.05;

/// What a comparison counts as a regression.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Gate {
    /// How much the mean pass rate of all specs may differ and count as equivalent.
    pub margin: f64,
    /// The measures that fail a run when they became worse; the others are told.
    pub measures: Vec<Measure>,
}

impl Default for Gate {
    fn default() -> Self {
        Self { margin: MARGIN, measures: Vec::new() }
    }
}

impl Gate {
    /// The gate with a margin, if one is given, and with measures; `None` when the margin is no share.
    #[must_use]
    pub fn new(margin: Option<f64>, measures: Vec<Measure>) -> Option<Self> {
        let margin = margin.unwrap_or(MARGIN);
        let mut once: Vec<Measure> = Vec::new();
        measures.into_iter().for_each(|measure| {
            if !once.contains(&measure) {
                once.push(measure)
            }
        });
        (0.0..=1.0).contains(&margin).then_some(Self { margin, measures: once })
    }
}

/// The level of significance, divided among all that can call a run worse, so that a false alarm of any of them stays below it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Budget {
    /// For all cells of all specs.
    pub(super) cells: f64,
    /// For sums: the suite of all specs or, when there are too few, all cells of each spec together.
    pub(super) sums: f64,
    /// For each measure that gates.
    pub(super) measure: f64,
}

impl Budget {
    /// Sums and gated measures get a hundredth each; the cells get the rest.
    pub(super) fn of(has_sums: bool, gate: &Gate) -> Self {
        let shares = gate.measures.iter().map(|_| SHARE).sum::<f64>() + if has_sums { SHARE } else { 0.0 };
        Self { cells: SIGNIFICANT - shares, sums: SHARE, measure: SHARE }
    }
}

/// The level at which a cell of so many is judged first, when something varied in all of them: Holm's rule asks no more of any.
#[must_use]
pub fn level_of_cell(cells: usize) -> f64 {
    Budget::of(cells > 1, &Gate::default()).cells / count(cells.max(1))
}

#[cfg(test)]
mod tests {
    use super::{Budget, Gate, Measure};

    #[test]
    fn all_parts_together_are_the_level() {
        let asked = |measures: &[Measure]| Gate { measures: measures.to_vec(), ..Gate::default() };
        assert!((Budget::of(false, &asked(&[])).cells - 0.05).abs() < 1e-12, "cells alone have all of it");
        let all = Budget::of(true, &asked(&Measure::GATEABLE));
        assert!((all.cells + all.sums + 3.0 * all.measure - 0.05).abs() < 1e-12, "{all:?}");
    }
}
