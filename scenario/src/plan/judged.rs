//! The invariants that are judged in a scenario.

use super::parts::is_shared;
use super::purpose::Purpose;
use super::scenario::Scenario;
use crate::checks::{Case, Check, Completes};
use crate::spec::Sections;
use crate::spec::sections::{Chaos, ContractInvariant, Guards, Invariant};
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

/// The check that an agent ends well, when the spec has none.
static COMPLETES: Check = Check::Completes(Completes {});

/// The name of the invariant that an agent ends well, when the spec has none.
const AGENT_COMPLETES: &str = "agent_completes";

impl Scenario {
    /// The invariants that are judged in it, in the order of the spec.
    #[must_use]
    pub fn judged<'a>(&self, spec: &'a Sections) -> Vec<Judged<'a>> {
        let is_beside = self.purpose.is_everything() && !spec.invariants.is_empty();
        let own = spec.invariants.iter().filter(|(_, invariant)| self.judges_own(spec, &invariant.check));
        let own = own.map(|(name, invariant)| Judged::of_invariant(name.as_str(), invariant));
        let rules = spec.contract.iter().flat_map(|contract| contract.invariants.iter());
        let rules = rules.filter(|rule| self.judges(spec, rule)).map(|rule| Judged::of_rule(rule, is_beside));
        let judged = own.chain(rules);
        match &self.purpose {
            Purpose::Everything | Purpose::Invariant(_) | Purpose::Baseline(_) => judged.collect(),
            // Each of them alone fails a replay.
            Purpose::Replay(_) => judged.map(Judged::as_gate).collect(),
            Purpose::Mutation(_) => with_completion(judged.map(Judged::as_gate).collect()),
        }
    }

    /// Returns true if one of the spec's own invariants with this check is judged in it.
    fn judges_own(&self, spec: &Sections, check: &Check) -> bool {
        match &self.purpose {
            Purpose::Everything => true,
            Purpose::Mutation(_) => check.is_about_output(),
            Purpose::Replay(_) => spec.contract.is_none() && !check.compares_with_baseline(),
            Purpose::Invariant(_) | Purpose::Baseline(_) => false,
        }
    }

    /// Returns true if a rule of the contract is judged in it.
    pub(super) fn judges(&self, spec: &Sections, invariant: &ContractInvariant) -> bool {
        let rule = &invariant.rule;
        match &self.purpose {
            Purpose::Invariant(id) => rule.id.as_str() == id,
            Purpose::Baseline(_) => false,
            Purpose::Everything => {
                spec.contract.as_ref().is_some_and(|contract| is_shared(contract, invariant))
                    && rule.when.holds_in(&self.faults(spec))
            }
            Purpose::Mutation(_) => {
                rule.probes.is_none() && rule.when.holds_in(&Chaos::none()) && invariant.check.is_about_output()
            }
            Purpose::Replay(_) => {
                // The faults of its chaos cell are in the recorded answers.
                rule.probes.is_none()
                    && rule.when.holds_in(&spec.chaos_of(&self.chaos))
                    && !invariant.check.compares_with_baseline()
            }
        }
    }
}

/// Adds that the agent ends well, unless that is judged already.
fn with_completion(mut judged: Vec<Judged<'_>>) -> Vec<Judged<'_>> {
    if !judged.iter().any(|one| matches!(one.check, Check::Completes(_)) && !one.negate) {
        judged.push(Judged {
            name: AGENT_COMPLETES,
            description: "The agent ends well",
            weight: 1.0,
            gate: true,
            negate: false,
            guards: Guards::Task,
            check: &COMPLETES,
            is_beside: false,
        });
    }
    judged
}

impl<'a> Judged<'a> {
    /// One of the spec's own invariants.
    fn of_invariant(name: &'a str, invariant: &'a Invariant) -> Self {
        Self {
            name,
            description: invariant.description.as_deref().unwrap_or_default(),
            weight: invariant.weight(),
            gate: invariant.gate(),
            negate: invariant.negate,
            guards: invariant.guards,
            check: &invariant.check,
            is_beside: false,
        }
    }

    /// A rule of the contract.
    fn of_rule(invariant: &'a ContractInvariant, is_beside: bool) -> Self {
        Self {
            name: invariant.rule.id.as_str(),
            description: invariant.rule.description.as_deref().unwrap_or_default(),
            weight: if is_beside { 0.0 } else { invariant.rule.severity.weight() },
            gate: false,
            negate: invariant.rule.negate,
            guards: invariant.rule.guards,
            check: &invariant.check,
            is_beside,
        }
    }

    /// The same, without which the scenario fails.
    fn as_gate(self) -> Self {
        Self { gate: true, weight: self.weight.max(1.0), ..self }
    }
}
