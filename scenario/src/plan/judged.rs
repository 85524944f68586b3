//! The invariants that are judged in a scenario.

use super::parts::is_shared;
use super::purpose::Purpose;
use super::scenario::Scenario;
use crate::checks::{Case, Check};
use crate::spec::Sections;
use crate::spec::sections::{ContractInvariant, Guards};
use crate::verdict::Verdict;

/// An invariant that is judged in a scenario: one of the spec's own, or a rule of its contract.
#[derive(Debug, Clone, Copy)]
pub struct Judged<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its meaning, for people.
    pub description: &'a str,
    /// Its weight in the composite.
    pub weight: f64,
    /// True when the scenario fails unless it is fully met.
    pub gate: bool,
    /// True when it holds exactly when its check does not.
    pub negate: bool,
    /// The thing that is lost when it does not hold.
    pub guards: Guards,
    /// Its check.
    pub check: &'a Check,
    /// True for a rule of a contract beside the spec's own invariants, which alone decide about the scenario.
    pub is_beside: bool,
}

impl Judged<'_> {
    /// Its verdict on a case.
    #[must_use]
    pub fn verdict(&self, case: &Case<'_>) -> Verdict {
        let verdict = self.check.judge(case);
        if self.negate { verdict.negated(self.check.word()) } else { verdict }
    }
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
    pub(super) fn judges(&self, spec: &Sections, invariant: &ContractInvariant) -> bool {
        match &self.purpose {
            Purpose::Invariant(id) => invariant.rule.id.as_str() == id,
            Purpose::Baseline(_) => false,
            Purpose::Everything => {
                spec.contract.as_ref().is_some_and(|contract| is_shared(contract, invariant))
                    && invariant.rule.when.holds_in(&self.faults(spec))
            }
        }
    }
}
