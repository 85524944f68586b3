//! The purpose of a scenario: all that the spec says about its cell, or one rule of its contract.

use serde::{Deserialize, Serialize};

use super::scenario::Scenario;
use crate::spec::Sections;
use crate::spec::sections::{Chaos, ContractInvariant};
use crate::spec::types::Filled;

/// The purpose of a scenario.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// All that the spec says about its cell.
    #[default]
    Everything,
    /// One rule of the contract, by its id.
    Invariant(String),
    /// The run without faults whose output `behavior_unchanged` compares with, by the id of the rule whose probes the prompt is one
    /// of. No plan has it: it is made for the first scenario that needs it.
    Baseline(Option<String>),
}

impl Purpose {
    /// True for what a scenario is run for without a contract.
    #[must_use]
    pub fn is_everything(&self) -> bool {
        *self == Self::Everything
    }

    /// Its part of ids; `None` where it has none.
    pub(super) fn segment(&self) -> Option<&str> {
        match self {
            Self::Everything => None,
            Self::Invariant(id) => Some(id),
            Self::Baseline(_) => Some("baseline"),
        }
    }
}

impl Scenario {
    /// The faults that are injected in it.
    #[must_use]
    pub fn faults(&self, spec: &Sections) -> Chaos {
        if matches!(self.purpose, Purpose::Baseline(_)) { Chaos::none() } else { spec.chaos_of(&self.chaos) }
    }

    /// The request that its agent gets: the task's own, or a probe of the rule that it is run for.
    #[must_use]
    pub fn prompt_of<'a>(&self, spec: &'a Sections) -> Option<&'a Filled> {
        let probes = self.rule_of(spec).and_then(|invariant| invariant.rule.probes.as_ref());
        match (probes, self.prompt) {
            (Some(probes), Some(index)) => probes.get(usize::try_from(index).ok()?),
            _ => spec.task.prompt_at(self.prompt),
        }
    }

    /// The id of the rule that it is run for; `None` when it is run for all that the spec says.
    #[must_use]
    pub fn rule(&self) -> Option<&str> {
        match &self.purpose {
            Purpose::Invariant(id) => Some(id),
            Purpose::Everything | Purpose::Baseline(_) => None,
        }
    }

    /// The rule of the contract that it is run for, or that its prompt is of.
    fn rule_of<'a>(&self, spec: &'a Sections) -> Option<&'a ContractInvariant> {
        let (Purpose::Invariant(id) | Purpose::Baseline(Some(id))) = &self.purpose else { return None };
        spec.contract.as_ref()?.invariants.iter().find(|invariant| invariant.rule.id.as_str() == id)
    }
}
