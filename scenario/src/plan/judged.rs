//! The invariants that are judged in a scenario.

use super::purpose::Purpose;
use super::scenario::Scenario;
use crate::checks::Check;
use crate::spec::Sections;
use crate::spec::sections::{Contract, ContractInvariant, Guards, Isolation};

/// An invariant that is judged in a scenario: one of the spec's own, or a rule of its contract.
#[derive(Debug, Clone, Copy)]
pub struct Judged<'a> {
    /// Its name.
    pub name: &'a str,
    /// What it means, for people.
    pub description: &'a str,
    /// How much it counts in the composite.
    pub weight: f64,
    /// Whether the scenario fails when it is not fully met.
    pub gate: bool,
    /// Whether it holds when its check does not.
    pub negate: bool,
    /// What is lost when it does not hold.
    pub guards: Guards,
    /// How it is tested.
    pub check: &'a Check,
    /// Whether it is a rule of a contract beside the spec's own invariants, which alone decide about the scenario.
    pub is_beside: bool,
}

impl Scenario {
    /// The invariants that are judged in it, in the order of the spec.
    #[must_use]
    pub fn judged<'a>(&self, spec: &'a Sections) -> Vec<Judged<'a>> {
        let everything = self.purpose.is_everything();
        let own = spec.invariants.iter().filter(|_| everything).map(|(name, invariant)| Judged {
            name: name.as_str(),
            description: invariant.description.as_deref().unwrap_or_default(),
            weight: invariant.weight(),
            gate: invariant.gate(),
            negate: invariant.negate,
            guards: invariant.guards,
            check: &invariant.check,
            is_beside: false,
        });
        let is_beside = everything && !spec.invariants.is_empty();
        let rules = spec.contract.iter().flat_map(|contract| contract.invariants.iter());
        let rules = rules.filter(|invariant| self.judges(spec, invariant)).map(|invariant| Judged {
            name: invariant.rule.id.as_str(),
            description: invariant.rule.description.as_deref().unwrap_or_default(),
            weight: if is_beside { 0.0 } else { invariant.rule.severity.weight() },
            gate: false,
            negate: invariant.rule.negate,
            guards: invariant.rule.guards,
            check: &invariant.check,
            is_beside,
        });
        own.chain(rules).collect()
    }

    /// Tells if a rule of the contract is judged in it.
    fn judges(&self, spec: &Sections, invariant: &ContractInvariant) -> bool {
        match &self.purpose {
            Purpose::Invariant(id) => invariant.rule.id.as_str() == id,
            Purpose::Baseline => false,
            Purpose::Everything => {
                let is_shared = |contract: &Contract| contract.isolation == Isolation::Scenario;
                spec.contract.as_ref().is_some_and(is_shared)
                    && invariant.rule.probes.is_none()
                    && invariant.rule.when.holds_in(&self.faults(spec))
            }
        }
    }
}
