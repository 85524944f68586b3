//! The cells of mutations to a robustness.

use serde::{Deserialize, Serialize};

use super::cells::{Cell, CellVerdict};
use super::composite::reaches;
use crate::plan::Mutation;
use crate::spec::Spec;
use crate::spec::sections::MutationKind;

/// The score of an experiment's mutations.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MutationScore {
    /// The weights of the mutations that passed, divided by those of all that were judged, from 0 to 1; `None` when none was.
    pub robustness: Option<f64>,
    /// The robustness that is needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_robustness: Option<f64>,
    /// The verdict about that; a pass where none is needed.
    pub verdict: CellVerdict,
    /// Each kind of mutation, in the order of the spec.
    pub kinds: Vec<MutationKindScore>,
}

/// The mutations of one kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MutationKindScore {
    /// The kind.
    pub kind: MutationKind,
    /// The weight of each.
    pub weight: f64,
    /// The number that is planned.
    pub planned: usize,
    /// The number that passed.
    pub passed: usize,
    /// The number that failed.
    pub failed: usize,
}

/// Scores the mutations of an experiment; `None` when it has none.
pub(super) fn score(spec: Option<&Spec>, cells: &[Cell]) -> Option<MutationScore> {
    let of_mutations: Vec<_> = cells.iter().filter_map(|cell| Some((cell.key.purpose.mutation()?, cell))).collect();
    if of_mutations.is_empty() {
        return None;
    }
    let bar = spec.and_then(|spec| spec.mutations.as_ref()?.min_robustness).map(|bar| bar.get());
    Some(MutationScore {
        robustness: robustness(&of_mutations, None),
        min_robustness: bar,
        verdict: verdict(&of_mutations, bar),
        kinds: kinds(&of_mutations),
    })
}

/// The robustness, where mutations that could not be judged count as `unknown` says, and not at all without it.
fn robustness(cells: &[(Mutation, &Cell)], unknown: Option<bool>) -> Option<f64> {
    let holds = |cell: &Cell| match cell.verdict {
        CellVerdict::Pass => Some(true),
        CellVerdict::Fail => Some(false),
        CellVerdict::Error | CellVerdict::Pending => unknown,
    };
    let judged = cells.iter().filter_map(|(mutation, cell)| Some((mutation.kind.weight(), holds(cell)?)));
    let (held, all) =
        judged.fold((0.0, 0.0), |(held, all), (weight, holds)| (held + if holds { weight } else { 0.0 }, all + weight));
    (all > 0.0).then(|| (held / all * 10_000.0).round() / 10_000.0)
}

/// A bar is missed or reached whatever the mutations that could not be judged would have said.
fn verdict(cells: &[(Mutation, &Cell)], bar: Option<f64>) -> CellVerdict {
    if cells.iter().any(|(_, cell)| cell.verdict == CellVerdict::Pending) {
        return CellVerdict::Pending;
    }
    let Some(bar) = bar else { return CellVerdict::Pass };
    let enough = |unknown| robustness(cells, Some(unknown)).is_some_and(|robustness| reaches(robustness, bar));
    match (enough(true), enough(false)) {
        (false, _) => CellVerdict::Fail,
        (true, true) => CellVerdict::Pass,
        (true, false) => CellVerdict::Error,
    }
}

fn kinds(cells: &[(Mutation, &Cell)]) -> Vec<MutationKindScore> {
    let mut kinds: Vec<MutationKindScore> = Vec::new();
    for (mutation, cell) in cells {
        let index = kinds.iter().position(|one| one.kind == mutation.kind).unwrap_or_else(|| {
            let weight = mutation.kind.weight();
            kinds.push(MutationKindScore { kind: mutation.kind, weight, planned: 0, passed: 0, failed: 0 });
            kinds.len() - 1
        });
        let kind = &mut kinds[index];
        kind.planned += 1;
        kind.passed += usize::from(cell.verdict == CellVerdict::Pass);
        kind.failed += usize::from(cell.verdict == CellVerdict::Fail);
    }
    kinds
}
