//! The cells of mutations to a robustness.

use serde::{Deserialize, Serialize};

use super::cells::{Cell, CellVerdict};
use super::composite::reaches;
use crate::plan::{CellId, Mutation, ScenarioId};
use crate::result::{RowStatus, ScenarioResult};
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
    /// The mutations that failed, in the order of the plan.
    #[serde(default)]
    pub failed: Vec<FailedMutation>,
}

/// A mutation that failed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FailedMutation {
    /// Its kind, and its number among those of its kind.
    #[serde(flatten)]
    pub mutation: Mutation,
    /// The prompt that it is one of, by its index where there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<u32>,
    /// Its cell.
    pub cell: CellId,
    /// The run that shows it, whose evidence has the exact prompt.
    pub scenario: ScenarioId,
    /// The first reason why that run failed.
    pub reason: String,
}

impl MutationScore {
    /// The robustness in digits.
    #[must_use]
    pub fn robustness_text(&self) -> String {
        self.robustness.map_or_else(|| "–".to_owned(), |robustness| format!("{robustness:.4}"))
    }

    /// The number that passed, and the number that was judged.
    #[must_use]
    pub fn counts(&self) -> (usize, usize) {
        let of = |number: fn(&MutationKindScore) -> usize| self.kinds.iter().map(number).sum::<usize>();
        let passed = of(|kind| kind.passed);
        (passed, passed + of(|kind| kind.failed))
    }

    /// The reason for the verdict, in a few words.
    #[must_use]
    pub fn why(&self) -> String {
        let (passed, judged) = self.counts();
        let bar = self.min_robustness.map_or_else(|| "none is required".to_owned(), |bar| format!("{bar} is required"));
        format!("{passed} of {judged} passed; {bar}")
    }
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
pub(super) fn score(spec: Option<&Spec>, cells: &[Cell], results: &[&ScenarioResult]) -> Option<MutationScore> {
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
        failed: of_mutations.iter().filter_map(|(mutation, cell)| failed(*mutation, cell, results)).collect(),
    })
}

fn failed(mutation: Mutation, cell: &Cell, results: &[&ScenarioResult]) -> Option<FailedMutation> {
    let is_shown = |result: &&&ScenarioResult| result.scenario.cell == cell.id && result.status == RowStatus::Fail;
    let result = results.iter().filter(|_| cell.verdict == CellVerdict::Fail).find(is_shown)?;
    let reason = result.reasons().into_iter().next().map(|(what, found)| format!("{what}: {found}"));
    Some(FailedMutation {
        mutation,
        prompt: cell.key.prompt,
        cell: cell.id.clone(),
        scenario: result.scenario.id.clone(),
        reason: reason.unwrap_or_default(),
    })
}

/// Returns the robustness. Mutations that could not be judged count as `unknown` says, and not at all when it is
/// `None`.
fn robustness(cells: &[(Mutation, &Cell)], unknown: Option<bool>) -> Option<f64> {
    let holds = |cell: &Cell| match cell.verdict {
        CellVerdict::Pass => Some(true),
        CellVerdict::Fail => Some(false),
        CellVerdict::Undecided | CellVerdict::Error | CellVerdict::Pending => unknown,
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
