//! The runs of one agent for a certificate: each cell, each replica by itself.

use crate::plan::{AgentOverride, Plan, Purpose, Scenario};
use crate::result::{RanIn, ScenarioResult};
use crate::score::{ExperimentVerdict, ScoreOptions, score};
use crate::spec::Spec;
use crate::verdict::Outcome;

/// The runs of one agent.
#[derive(Debug, Clone)]
pub struct AgentRuns {
    /// The agent.
    pub agent: AgentOverride,
    /// What was planned for it.
    pub plan: Plan,
    /// The results that are there.
    pub results: Vec<ScenarioResult>,
}

/// A cell of the matrix, of which all replicas are to come to the same.
///
/// With a contract, all rules of a cell of the matrix decide together; without one, each prompt is judged by itself.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct JudgedCell {
    /// Its name.
    pub(super) name: String,
    /// What each replica came to.
    pub(super) replicas: Vec<JudgedReplica>,
}

/// One replica of a cell.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct JudgedReplica {
    /// What it came to.
    pub(super) verdict: ExperimentVerdict,
    /// Each invariant, whether it was met, and what was said about it.
    pub(super) invariants: Vec<(String, bool, String)>,
    /// What else is to be told: errors, limits, offences.
    pub(super) remarks: Vec<String>,
}

impl AgentRuns {
    /// What made the sandboxes.
    pub(super) fn ran_in(&self) -> Option<&RanIn> {
        self.results.iter().find_map(|result| result.ran_in.as_ref())
    }

    /// The cells, in the order of the plan.
    pub(super) fn cells(&self, spec: &Spec) -> Vec<JudgedCell> {
        let mut keys: Vec<CellName> = Vec::new();
        for scenario in &self.plan.scenarios {
            let key = CellName::of(scenario, spec);
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
        let several = keys.len() > 1;
        keys.into_iter().map(|key| self.cell(spec, &key, several)).collect()
    }

    fn cell(&self, spec: &Spec, key: &CellName, several: bool) -> JudgedCell {
        let own: Vec<&Scenario> =
            self.plan.scenarios.iter().filter(|scenario| CellName::of(scenario, spec) == *key).collect();
        let mut numbers: Vec<u32> = own.iter().map(|scenario| scenario.replica).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let replica = |number| self.replica(spec, own.iter().filter(|scenario| scenario.replica == number));
        let name = if several { key.told() } else { String::new() };
        JudgedCell { name, replicas: numbers.into_iter().map(replica).collect() }
    }

    /// Judges the scenarios of one replica as an experiment of their own.
    fn replica<'a>(&self, spec: &Spec, scenarios: impl Iterator<Item = &'a &'a Scenario>) -> JudgedReplica {
        let scenarios: Vec<Scenario> = scenarios.map(|scenario| (*scenario).clone()).collect();
        let is_own = |result: &&ScenarioResult| scenarios.iter().any(|scenario| scenario.id == result.scenario.id);
        let results: Vec<ScenarioResult> = self.results.iter().filter(is_own).cloned().collect();
        let plan = Plan { spec_id: self.plan.spec_id.clone(), seed: self.plan.seed, scenarios };
        let verdict = score(&plan, spec, &results, ScoreOptions::default()).verdict;
        let invariants = results.iter().flat_map(|result| &result.invariants).map(|invariant| {
            let is_met = invariant.verdict.outcome == Outcome::Passed;
            (invariant.name.clone(), is_met, invariant.verdict.message.clone())
        });
        let invariants = invariants.collect();
        JudgedReplica { verdict, invariants, remarks: results.iter().flat_map(remarks).collect() }
    }
}

/// What tells one cell from the others.
#[derive(Debug, Clone, PartialEq)]
struct CellName {
    parameters: Vec<(String, String)>,
    prompt: Option<u32>,
}

impl CellName {
    fn of(scenario: &Scenario, spec: &Spec) -> Self {
        let text = |(name, value): (&String, &serde_json::Value)| {
            (name.clone(), value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned))
        };
        let is_alone = spec.contract.is_none() && scenario.purpose == Purpose::Everything;
        let prompt = scenario.prompt.filter(|_| is_alone);
        Self { parameters: scenario.parameters.iter().map(text).collect(), prompt }
    }

    fn told(&self) -> String {
        let parameters = self.parameters.iter().map(|(name, value)| format!("{name}={value}"));
        let prompt = self.prompt.map(|index| format!("prompt {index}"));
        parameters.chain(prompt).collect::<Vec<_>>().join(", ")
    }
}

/// What a result says besides its invariants.
fn remarks(result: &ScenarioResult) -> Vec<String> {
    let errors = result.error.iter().map(ToString::to_string);
    let limits = result.limits.iter().map(|fired| format!("limit {}: {}", fired.limit, fired.detail));
    let rules = result.forbidden.iter().filter(|rule| rule.violated);
    let rules = rules.map(|rule| format!("forbidden {}: {}", rule.rule, rule.details));
    errors.chain(limits).chain(result.offences.iter().cloned()).chain(rules).collect()
}
