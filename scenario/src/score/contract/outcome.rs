//! Outcomes of worlds with faults: the agent recovered, failed safe, made something up or broke something.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::World;
use super::cell::{CellStatus, ContractCell};
use super::matrix::world_name;
use crate::result::ScenarioResult;
use crate::spec::Spec;
use crate::spec::sections::{ContractInvariant, Guards};
use crate::verdict;

/// The outcome of faults, from good to bad.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// Everything holds.
    Recovered,
    /// The task was not done, and nothing worse: what guards the state and the truth holds.
    Degraded,
    /// The agent said something that is not true.
    Fabricated,
    /// The state of the world is wrong, or something forbidden was done.
    Corrupted,
}

/// The outcome of a world with faults.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChaosOutcome {
    /// The name of the chaos cell.
    pub scenario: String,
    /// The parameters.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub parameters: IndexMap<String, Json>,
    /// The worst of its rules.
    pub outcome: Outcome,
    /// Rules that hold in a world without faults, and not here.
    #[serde(default)]
    pub lost: Vec<String>,
}

impl ChaosOutcome {
    /// The name of its world.
    #[must_use]
    pub fn world(&self) -> String {
        world_name(&self.scenario, &self.parameters)
    }
}

impl Outcome {
    /// All outcomes, from good to bad.
    pub const ALL: [Self; 4] = [Self::Recovered, Self::Degraded, Self::Fabricated, Self::Corrupted];

    /// The word for it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Recovered => "recovered",
            Self::Degraded => "degraded",
            Self::Fabricated => "fabricated",
            Self::Corrupted => "corrupted",
        }
    }

    /// The outcome when an invariant that guards this does not hold.
    fn of_guard(guards: Guards) -> Self {
        match guards {
            Guards::Task => Self::Degraded,
            Guards::Honesty => Self::Fabricated,
            Guards::State => Self::Corrupted,
        }
    }

    /// The outcome of a rule in a world with faults, of which this is the status in these runs.
    pub(super) fn of_rule<'a>(
        rule: &ContractInvariant,
        status: CellStatus,
        mut rows: impl Iterator<Item = &'a ScenarioResult>,
    ) -> Option<Self> {
        match status {
            CellStatus::Fail if rows.any(is_forbidden) => Some(Self::Corrupted),
            CellStatus::Fail => Some(Self::of_guard(rule.rule.guards)),
            // Where nothing fired there was nothing to recover from.
            CellStatus::Pass => Some(Self::Recovered),
            _ => None,
        }
    }
}

fn is_forbidden(row: &ScenarioResult) -> bool {
    row.forbidden.iter().any(|rule| rule.violated) || !row.offences.is_empty()
}

/// The outcome of a world with faults: the worst of the contract's rules and of the spec's own invariants. `None` without faults, and
/// where nothing was judged.
pub(super) fn of_world(
    spec: &Spec,
    world: &World,
    cells: &[ContractCell],
    results: &[&ScenarioResult],
) -> Option<ChaosOutcome> {
    if !spec.chaos_of(&world.chaos).has_faults() {
        return None;
    }
    let rows = results.iter().filter(|row| world.has(&row.scenario) && row.scenario.purpose.is_everything());
    let own = rows.flat_map(|row| of_row(spec, row));
    let outcome = cells.iter().filter_map(|cell| cell.outcome).chain(own).max()?;
    let (scenario, parameters) = (world.chaos.clone(), world.parameters.clone());
    Some(ChaosOutcome { scenario, parameters, outcome, lost: Vec::new() })
}

/// The outcomes of a run by the spec's own invariants.
fn of_row(spec: &Spec, row: &ScenarioResult) -> Vec<Outcome> {
    let forbidden = is_forbidden(row).then_some(Outcome::Corrupted);
    let missed = row.invariants.iter().filter(|one| one.verdict.outcome == verdict::Outcome::Failed);
    let guards = missed.filter_map(|one| spec.invariants.get(one.name.as_str()).map(|own| own.guards));
    forbidden.into_iter().chain(guards.map(Outcome::of_guard)).collect()
}
