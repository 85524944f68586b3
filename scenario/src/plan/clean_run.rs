//! The run without faults that a scenario is compared with.

use super::cell_key::CellKey;
use super::purpose::Purpose;
use super::scenario::{CellId, Scenario, ScenarioId};
use crate::seed::Seed;
use crate::spec::Sections;
use crate::spec::template::Reference;

/// A run without faults, which all scenarios share that are compared with the same.
#[derive(Debug, Clone, PartialEq)]
pub struct CleanRun {
    /// The run. It is the same for every scenario that needs it.
    pub scenario: Scenario,
    /// The key that identifies it.
    pub key: CleanRunKey,
}

/// The key of a run without faults within its experiment.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CleanRunKey {
    /// The cell, without its faults.
    cell: CellKey,
    /// The prompt as it is written, because several rules may have the same.
    prompt: String,
    replica: u32,
    variants: Vec<usize>,
    snapshot: Option<String>,
}

impl Scenario {
    /// The run without faults that it is compared with, when one of its invariants asks for that. `seed` is the experiment's.
    ///
    /// Repetitions of a cell share it, unless the model answers differently in each, or the prompt says which one it is.
    #[must_use]
    pub fn clean_run(&self, spec: &Sections, seed: Seed) -> Option<CleanRun> {
        // In a sandbox that is reused, each invocation is compared with a run of its own prompt.
        let is_wanted =
            !self.reuses_sandbox(spec) && self.judged(spec).iter().any(|judged| judged.check.compares_with_baseline());
        let prompt = self.prompt_of(spec).filter(|_| is_wanted)?;
        let tells_replica = prompt.references().any(|reference| *reference == Reference::Replica);
        let replica = if tells_replica { self.replica } else { 0 };
        let key = CleanRunKey {
            cell: CellKey::from(self.parameters.clone()),
            prompt: prompt.source().to_owned(),
            replica,
            variants: self.variants.clone(),
            snapshot: self.snapshot.clone(),
        };
        let purpose = Purpose::Baseline(match &self.purpose {
            Purpose::Invariant(rule) => Some(rule.clone()),
            Purpose::Everything | Purpose::Mutation(_) | Purpose::Replay(_) | Purpose::Baseline(_) => None,
        });
        let cell = CellId::of(&CellKey { purpose: Purpose::Baseline(None), prompt: self.prompt, ..key.cell.clone() });
        let id = ScenarioId::of(&cell, replica);
        let name = CellId::of(&key.cell);
        let seed = seed.derive(&["baseline", ScenarioId::of(&name, replica).as_str(), &key.prompt]);
        let scenario = Self { id, cell, replica, seed, chaos: String::new(), purpose, ..self.clone() };
        Some(CleanRun { scenario, key })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use crate::plan::{CleanRun, PlanOptions, expand};
    use crate::spec::load;

    /// The runs without faults that the scenarios of a contract with these prompts and rules ask for.
    fn clean_runs(task: &str, rules: &str, more: &str) -> Vec<CleanRun> {
        let text = format!(
            "version: 1\nid: t\nbase: debian\ntask: {task}\nagent: {{type: noop}}\n\
             services: [{{name: shop, type: http_mock, ports: [80]}}]\n\
             chaos_matrix: [{{name: calm}}, {{name: down, tool_faults: [{{tool: shop, mode: error}}]}}]\n\
             contract: {{name: x, invariants: [{rules}], {more}}}\n"
        );
        let loaded = load(&text, None);
        let spec = loaded.spec.unwrap_or_else(|| panic!("{:?}", loaded.diagnostics));
        let plan = expand(&spec, PlanOptions::default()).expect("a plan");
        plan.scenarios.iter().filter_map(|scenario| scenario.clean_run(&spec, plan.seed)).collect()
    }

    fn count(runs: &[CleanRun]) -> (usize, usize) {
        let keys: HashSet<_> = runs.iter().map(|run| &run.key).collect();
        for run in runs {
            let same: Vec<_> = runs.iter().filter(|other| other.key == run.key).map(|one| one.scenario.seed).collect();
            assert!(same.iter().all(|seed| *seed == run.scenario.seed), "whoever asks, chance is the same");
        }
        (runs.len(), keys.len())
    }

    const RULES: &str = "{id: a, type: behavior_unchanged}, {id: b, type: behavior_unchanged}";

    #[test]
    fn rules_worlds_and_repetitions_share_one_run_for_each_prompt() {
        assert_eq!(count(&clean_runs("{prompt: x}", RULES, "repeat: 3")), (12, 1));
        assert_eq!(count(&clean_runs("{prompts: [x, y]}", RULES, "")), (8, 2));
        assert_eq!(count(&clean_runs("{prompt: 'x {{ replica }}'}", RULES, "repeat: 3")), (12, 3));
    }

    #[test]
    fn probes_have_clean_runs_with_their_own_text() {
        let probed = "{id: a, type: behavior_unchanged, probes: [first, y]}, {id: b, type: behavior_unchanged}";
        let runs = clean_runs("{prompt: y}", probed, "");
        assert_eq!(count(&runs), (6, 2), "the second probe is the task");
    }
}
