//! The score of a contract: a matrix of its rules and the chaos cells, a resilience score, and a verdict.
//!
//! Everything here is computed from the results of scenarios, so that a stored run can be scored again.

mod beside_clean;
mod cell;
mod matrix;
mod outcome;
mod outcome_counts;
#[cfg(test)]
mod tests;

use indexmap::{IndexMap, IndexSet};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

pub use cell::{CellStatus, ContractCell};
pub use matrix::{ContractMatrix, MatrixRow};
pub use outcome::{ChaosOutcome, Outcome};
pub use outcome_counts::OutcomeCounts;

use super::composite::reaches;
use crate::plan::Plan;
use crate::result::ScenarioResult;
use crate::spec::Spec;
use crate::spec::sections::{Contract, ContractInvariant, Scoring, Severity};

/// The score of a contract.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ContractScore {
    /// Its name.
    pub name: String,
    /// 100 · Σ(weights of the cells that hold) / Σ(weights of the cells that were judged), to two digits; `None` when none was.
    pub resilience_score: Option<f64>,
    /// The score that it needs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_score: Option<f64>,
    /// True when it passed.
    pub passed: bool,
    /// True when a critical rule failed.
    pub critical_failed: bool,
    /// Its verdict.
    pub verdict: ContractVerdict,
    /// The cells: each rule in each world, in the order of the spec.
    pub cells: Vec<ContractCell>,
    /// The outcome of each world with faults.
    pub outcomes: Vec<ChaosOutcome>,
}

/// The verdict of a contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ContractVerdict {
    /// No critical rule failed, and the score is high enough.
    Pass,
    /// A critical rule failed, or the score is too low.
    Fail,
    /// It depends on cells that could not be judged.
    Error,
    /// Not all cells have ended.
    Pending,
}

impl ContractVerdict {
    /// The word for it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Error => "error",
            Self::Pending => "pending",
        }
    }
}

/// A world: the parameters and the chaos cell that all its scenarios share.
#[derive(Debug, Clone, PartialEq)]
struct World {
    parameters: IndexMap<String, Json>,
    chaos: String,
}

/// Scores the contract of a spec by the available results; `None` when it has none, or when the plan has no run of it.
/// `results` has at most one result for each planned scenario.
pub(crate) fn score(plan: &Plan, spec: &Spec, scoring: &Scoring, results: &[&ScenarioResult]) -> Option<ContractScore> {
    let contract = spec.contract.as_ref()?;
    let mut cells = Vec::new();
    let mut outcomes = Vec::new();
    for world in worlds(plan) {
        let of_world: Vec<_> = contract
            .invariants
            .iter()
            .filter_map(|rule| cell::cell(spec, scoring, rule, &world, plan, results))
            .collect();
        outcomes.extend(outcome::of_world(spec, &world, &of_world, results));
        cells.extend(of_world);
    }
    if cells.iter().all(|cell| cell.status == CellStatus::Skipped) {
        return None;
    }
    beside_clean::compare(spec, &mut outcomes, &mut cells);
    Some(summed_up(contract, cells, outcomes))
}

/// The worlds of a plan, in its order.
fn worlds(plan: &Plan) -> Vec<World> {
    let mut seen = IndexSet::new();
    let mut worlds = Vec::new();
    for scenario in &plan.scenarios {
        let world = World { parameters: scenario.parameters.clone(), chaos: scenario.chaos.clone() };
        if world.has(scenario)
            && seen.insert((Json::from_iter(world.parameters.clone()).to_string(), world.chaos.clone()))
        {
            worlds.push(world);
        }
    }
    worlds
}

/// Puts a contract's score together.
fn summed_up(contract: &Contract, cells: Vec<ContractCell>, outcomes: Vec<ChaosOutcome>) -> ContractScore {
    let verdict = verdict(&cells, contract.min_score.map(|score| score.get()));
    ContractScore {
        name: contract.name.source().to_owned(),
        resilience_score: resilience(&cells, CellStatus::holds),
        min_score: contract.min_score.map(|score| score.get()),
        passed: verdict == ContractVerdict::Pass,
        critical_failed: cells.iter().any(|cell| cell.is_critical() && cell.status == CellStatus::Fail),
        verdict,
        cells,
        outcomes,
    }
}

/// The weighted share of judged cells that hold, from 0 to 100, where cells that could not be judged count as `holds` says.
fn resilience(cells: &[ContractCell], holds: fn(CellStatus) -> Option<bool>) -> Option<f64> {
    let weighted = |wanted: &dyn Fn(bool) -> bool| {
        let counts = cells.iter().filter(|cell| holds(cell.status).is_some_and(wanted));
        counts.map(|cell| cell.severity.weight()).sum::<f64>()
    };
    let (held, judged) = (weighted(&|held| held), weighted(&|_| true));
    (judged > 0.0).then(|| (held / judged * 10_000.0).round() / 100.0)
}

/// A critical failure and a score that is too low fail a contract, whatever the cells that could not be judged would have said.
fn verdict(cells: &[ContractCell], min_score: Option<f64>) -> ContractVerdict {
    let any = |is: &dyn Fn(&ContractCell) -> bool| cells.iter().any(is);
    if any(&|cell| cell.is_critical() && cell.status == CellStatus::Fail) {
        return ContractVerdict::Fail;
    }
    if any(&|cell| cell.status == CellStatus::Pending) {
        return ContractVerdict::Pending;
    }
    let bar = min_score.unwrap_or(0.0);
    let enough = |score: Option<f64>| score.is_some_and(|score| reaches(score, bar));
    let best = enough(resilience(cells, |status| status.holds().or(status.is_unjudged().then_some(true))));
    let worst = enough(resilience(cells, |status| status.holds().or(status.is_unjudged().then_some(false))));
    let unsure = any(&|cell| cell.is_critical() && cell.status.is_unjudged());
    match (best, worst) {
        (false, _) => ContractVerdict::Fail,
        (true, true) if !unsure => ContractVerdict::Pass,
        _ => ContractVerdict::Error,
    }
}

impl ContractScore {
    /// The number of worlds with each outcome.
    #[must_use]
    pub fn outcome_counts(&self) -> OutcomeCounts {
        self.outcomes.iter().map(|one| one.outcome).collect()
    }
}

impl ContractCell {
    /// Returns true if the contract fails when this does.
    #[must_use]
    pub fn is_critical(&self) -> bool {
        self.severity == Severity::Critical
    }
}

/// The name of a rule.
fn id(rule: &ContractInvariant) -> &str {
    rule.rule.id.as_str()
}
