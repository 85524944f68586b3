//! Compares each world with faults with the world without faults that has the same parameters.

use super::cell::{CellStatus, ContractCell};
use super::outcome::ChaosOutcome;
use crate::spec::Spec;

/// The runs of a rule in worlds without faults.
struct Clean {
    held: usize,
    trials: usize,
    /// True when the rule holds in one of these worlds.
    holds: bool,
}

/// Sets the difference of each cell with faults, and the rules that each world lost.
pub(super) fn compare(spec: &Spec, outcomes: &mut [ChaosOutcome], cells: &mut [ContractCell]) {
    let clean: Vec<Option<Clean>> = cells.iter().map(|cell| clean_of(spec, cell, cells)).collect();
    for (cell, clean) in cells.iter_mut().zip(&clean) {
        cell.difference_to_clean = clean.as_ref().and_then(|clean| difference(cell, clean));
    }
    for outcome in outcomes {
        let is_lost = |cell: &ContractCell, clean: Option<&Clean>| {
            let is_here = cell.parameters == outcome.parameters && cell.scenario == outcome.scenario;
            is_here && cell.status == CellStatus::Fail && clean.is_some_and(|clean| clean.holds)
        };
        let lost = cells.iter().zip(&clean).filter(|(cell, clean)| is_lost(cell, clean.as_ref()));
        outcome.lost = lost.map(|(cell, _)| cell.invariant.clone()).collect();
    }
}

/// The same rule without faults; `None` for a world that has none itself.
fn clean_of(spec: &Spec, cell: &ContractCell, cells: &[ContractCell]) -> Option<Clean> {
    let has_faults = |cell: &ContractCell| spec.chaos_of(&cell.scenario).has_faults();
    if !has_faults(cell) {
        return None;
    }
    let is_same = |other: &ContractCell| other.invariant == cell.invariant && other.parameters == cell.parameters;
    let clean = || cells.iter().filter(|other| is_same(other) && !has_faults(other));
    Some(Clean {
        held: clean().map(|other| other.held).sum(),
        trials: clean().map(|other| other.trials).sum(),
        holds: clean().any(|other| other.status.holds() == Some(true)),
    })
}

/// The share of runs in which a rule held, less its share without faults; `None` when it was not judged in both.
fn difference(cell: &ContractCell, clean: &Clean) -> Option<f64> {
    Some(share(cell.held, cell.trials)? - share(clean.held, clean.trials)?)
}

#[expect(clippy::cast_precision_loss, reason = "counts of runs are far below what a float holds exactly")]
fn share(held: usize, trials: usize) -> Option<f64> {
    (trials > 0).then(|| held as f64 / trials as f64)
}
