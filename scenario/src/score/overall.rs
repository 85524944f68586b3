//! The overall score: mutations, chaos, contract and replays, weighted.

use serde::{Deserialize, Serialize};

use super::cells::{Cell, CellVerdict};
use super::composite::reaches;
use super::contract::{ContractScore, ContractVerdict};
use super::mutations::MutationScore;
use super::replays::ReplayScore;
use crate::plan::Purpose;
use crate::spec::Spec;
use crate::statistics::count;

/// The weights of the parts where the spec says nothing: mutation, chaos, contract, replay.
const WEIGHTS: [f64; 4] = [0.20, 0.35, 0.35, 0.10];

/// The overall score of an experiment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OverallScore {
    /// The weighted mean of the parts that were run, from 0 to 1; `None` when one of them could not be judged, or when all of them
    /// together weigh nothing.
    pub score: Option<f64>,
    /// The parts that were run.
    pub parts: Vec<OverallPart>,
    /// The parts that were not run, and are not in the mean.
    pub not_run: Vec<ScoredPart>,
    /// The score that is needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_overall: Option<f64>,
    /// The verdict about that; a pass where none is needed.
    pub verdict: CellVerdict,
}

/// One part of the overall score.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OverallPart {
    /// The part.
    pub part: ScoredPart,
    /// Its weight, as the spec gives it.
    pub weight: f64,
    /// Its score, from 0 to 1; `None` when it could not be judged.
    pub score: Option<f64>,
}

/// The parts of the overall score.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ScoredPart {
    /// The robustness against mutations.
    Mutation,
    /// The share of scenarios with faults that passed by the spec's own invariants.
    Chaos,
    /// The contract's resilience score.
    Contract,
    /// The share of replayed sessions that passed.
    Replay,
}

/// The scores of the parts that have one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Parts<'a> {
    pub(super) mutations: Option<&'a MutationScore>,
    pub(super) contract: Option<&'a ContractScore>,
    pub(super) replays: Option<&'a ReplayScore>,
}

/// The score of a part that was run.
#[derive(Debug, Clone, Copy, PartialEq)]
enum PartScore {
    Judged(f64),
    Unjudged,
    Pending,
}

impl ScoredPart {
    const ALL: [Self; 4] = [Self::Mutation, Self::Chaos, Self::Contract, Self::Replay];

    /// The word for it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Mutation => "mutation",
            Self::Chaos => "chaos",
            Self::Contract => "contract",
            Self::Replay => "replay",
        }
    }
}

/// The overall score of an experiment; `None` when the spec neither weighs parts nor has any besides chaos and a contract.
pub(super) fn score(spec: &Spec, cells: &[Cell], parts: Parts<'_>) -> Option<OverallScore> {
    let given = spec.scoring.given_weights();
    let bar = spec.scoring.min_overall.map(|bar| bar.get());
    if given.is_none() && bar.is_none() && parts.mutations.is_none() && parts.replays.is_none() {
        return None;
    }
    let weights = given.map_or(WEIGHTS, |weights| weights.values());
    let scores = [mutation(&parts, cells), chaos(spec, cells), contract(&parts), replay(&parts)];
    Some(summed_up(weights, scores, bar))
}

fn summed_up(weights: [f64; 4], scores: [Option<PartScore>; 4], bar: Option<f64>) -> OverallScore {
    let all = ScoredPart::ALL.into_iter().zip(weights).zip(scores);
    let ran: Vec<_> = all.clone().filter_map(|((part, weight), score)| Some((part, weight, score?))).collect();
    let is = |wanted| ran.iter().any(|(_, weight, score)| *weight > 0.0 && *score == wanted);
    let known: Vec<_> =
        ran.iter().filter_map(|(_, weight, score)| score.judged().map(|score| (*weight, score))).collect();
    let total: f64 = known.iter().map(|(weight, _)| weight).sum();
    let earned: f64 = known.iter().map(|(weight, score)| weight * score).sum();
    let is_known = !is(PartScore::Unjudged) && !is(PartScore::Pending) && total > 0.0;
    let score = is_known.then(|| (earned / total * 10_000.0).round() / 10_000.0);
    let verdict = match (bar, score) {
        (None, _) => CellVerdict::Pass,
        (Some(bar), Some(score)) if reaches(score, bar) => CellVerdict::Pass,
        (Some(_), Some(_)) => CellVerdict::Fail,
        (Some(_), None) if is(PartScore::Pending) => CellVerdict::Pending,
        (Some(_), None) => CellVerdict::Error,
    };
    OverallScore {
        score,
        parts: ran
            .iter()
            .map(|(part, weight, score)| OverallPart { part: *part, weight: *weight, score: score.judged() })
            .collect(),
        not_run: all.filter(|(_, score)| score.is_none()).map(|((part, _), _)| part).collect(),
        min_overall: bar,
        verdict,
    }
}

impl PartScore {
    fn judged(self) -> Option<f64> {
        if let Self::Judged(score) = self { Some(score) } else { None }
    }

    /// A score, unless one of the cells that it is made from has none.
    fn of<'a>(cells: impl IntoIterator<Item = &'a Cell>, score: Option<f64>) -> Self {
        let verdicts: Vec<_> = cells.into_iter().map(|cell| cell.verdict).collect();
        match score {
            _ if verdicts.contains(&CellVerdict::Pending) => Self::Pending,
            Some(score) if !verdicts.contains(&CellVerdict::Error) && !verdicts.contains(&CellVerdict::Undecided) => {
                Self::Judged(score)
            }
            _ => Self::Unjudged,
        }
    }
}

fn mutation(parts: &Parts<'_>, cells: &[Cell]) -> Option<PartScore> {
    let of_mutations = cells.iter().filter(|cell| cell.key.purpose.mutation().is_some());
    Some(PartScore::of(of_mutations, parts.mutations?.robustness))
}

/// The share of cells with faults that passed by the spec's own invariants.
fn chaos(spec: &Spec, cells: &[Cell]) -> Option<PartScore> {
    let is_faulted = |cell: &&Cell| {
        cell.key.purpose == Purpose::Everything && cell.decides() && spec.chaos_of(&cell.key.chaos).has_faults()
    };
    let faulted: Vec<_> = cells.iter().filter(is_faulted).collect();
    if faulted.is_empty() {
        return None;
    }
    let passed: usize = faulted.iter().map(|cell| cell.passed).sum();
    let judged: usize = faulted.iter().map(|cell| cell.passed + cell.failed).sum();
    let share = (judged > 0).then(|| count(passed) / count(judged));
    Some(PartScore::of(faulted, share))
}

fn contract(parts: &Parts<'_>) -> Option<PartScore> {
    let contract = parts.contract?;
    Some(match (contract.verdict, contract.resilience_score) {
        (ContractVerdict::Pending, _) => PartScore::Pending,
        (ContractVerdict::Pass | ContractVerdict::Fail, Some(score)) => PartScore::Judged(score / 100.0),
        _ => PartScore::Unjudged,
    })
}

fn replay(parts: &Parts<'_>) -> Option<PartScore> {
    let replays = parts.replays?;
    let has = |verdict| replays.sessions.iter().any(|session| session.verdict == verdict);
    Some(match replays.score {
        _ if has(CellVerdict::Pending) => PartScore::Pending,
        Some(score) if !has(CellVerdict::Error) => PartScore::Judged(score),
        _ => PartScore::Unjudged,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{CellVerdict, PartScore, ScoredPart, WEIGHTS, summed_up};

    fn judged(score: f64) -> Option<PartScore> {
        Some(PartScore::Judged(score))
    }

    #[test]
    fn weights_are_renormalised_over_what_ran_and_the_rest_is_listed() {
        let overall = summed_up(WEIGHTS, [judged(0.9), None, judged(0.6), None], None);
        assert_eq!(overall.score, Some(0.7091));
        assert_eq!(overall.not_run, [ScoredPart::Chaos, ScoredPart::Replay]);
        assert_eq!(overall.verdict, CellVerdict::Pass);
    }

    #[test]
    fn a_part_that_could_not_be_judged_leaves_no_number() {
        let overall = summed_up(WEIGHTS, [judged(1.0), Some(PartScore::Unjudged), None, None], Some(0.5));
        assert_eq!((overall.score, overall.verdict), (None, CellVerdict::Error));
        assert_eq!(overall.parts.iter().map(|part| part.score).collect::<Vec<_>>(), [Some(1.0), None]);
        let pending = summed_up(WEIGHTS, [judged(1.0), Some(PartScore::Pending), None, None], Some(0.5));
        assert_eq!((pending.score, pending.verdict), (None, CellVerdict::Pending));
        let weightless = summed_up([1.0, 0.0, 0.0, 0.0], [None, judged(1.0), None, None], None);
        assert_eq!(weightless.score, None, "what ran weighs nothing");
        let ignored = summed_up([1.0, 0.0, 0.0, 0.0], [judged(0.5), Some(PartScore::Unjudged), None, None], None);
        assert_eq!(ignored.score, Some(0.5), "what weighs nothing cannot spoil the rest");
    }

    #[test]
    fn a_bar_is_reached_or_missed() {
        let verdict = |score, bar| summed_up(WEIGHTS, [judged(score), None, None, None], Some(bar)).verdict;
        assert_eq!((verdict(0.8, 0.8), verdict(0.79, 0.8)), (CellVerdict::Pass, CellVerdict::Fail));
    }

    proptest! {
        #[test]
        fn the_score_is_between_those_of_its_parts(scores in prop::array::uniform4(prop::option::of(0.0..=1.0_f64))) {
            let overall = summed_up(WEIGHTS, scores.map(|score| score.map(PartScore::Judged)), None);
            let known: Vec<f64> = scores.into_iter().flatten().collect();
            let least = known.iter().copied().fold(1.0, f64::min);
            let most = known.iter().copied().fold(0.0, f64::max);
            match overall.score {
                Some(score) => prop_assert!(score >= least - 1e-4 && score <= most + 1e-4),
                None => prop_assert!(known.is_empty()),
            }
        }
    }
}
