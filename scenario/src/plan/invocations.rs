//! The invocations of the agent in a sandbox that the rules of a contract share.

use super::purpose::Purpose;
use super::scenario::Scenario;
use crate::spec::Sections;
use crate::spec::sections::Isolation;

impl Scenario {
    /// Returns true if the agent is invoked several times in its sandbox.
    #[must_use]
    pub fn reuses_sandbox(&self, spec: &Sections) -> bool {
        let is_reuse = spec.contract.as_ref().is_some_and(|contract| contract.isolation == Isolation::Reuse);
        is_reuse && self.purpose.is_everything()
    }

    /// The invocations of the agent in its sandbox, in their order, each as if it were a scenario of its own: for the spec's own
    /// invariants, and for each rule that is judged here, with every prompt of it. Empty when the sandbox is not reused.
    #[must_use]
    pub fn invocations(&self, spec: &Sections) -> Vec<Self> {
        if !self.reuses_sandbox(spec) {
            return Vec::new();
        }
        let several = spec.task.several();
        let own = (!spec.invariants.is_empty()).then_some((Purpose::Everything, several));
        let rules = spec.contract.iter().flat_map(|contract| contract.invariants.iter());
        let rules = rules.filter(|invariant| self.judges(spec, invariant)).map(|invariant| {
            let probes = invariant.rule.probes.as_ref().map(|probes| probes.len());
            (Purpose::Invariant(invariant.rule.id.to_string()), probes.or(several))
        });
        let with_prompts = |(purpose, several): (Purpose, Option<usize>)| {
            let one = move |prompt| Self { purpose: purpose.clone(), prompt, ..self.clone() };
            super::parts::prompts_of(several).into_iter().map(one)
        };
        own.into_iter().chain(rules).flat_map(with_prompts).collect()
    }

    /// Returns true if the agent is asked the same twice in its sandbox, to see if it keeps state: nothing resets it,
    /// and this is a world without faults, or there is none.
    #[must_use]
    pub fn tries_state(&self, spec: &Sections) -> bool {
        let is_reset = spec.agent.as_ref().is_some_and(|agent| agent.common.reset.is_some());
        let is_calm = |name: &str| !spec.chaos_of(name).has_faults();
        let has_calm_world = spec.chaos_cells().any(|cell| is_calm(&cell.own.name));
        self.reuses_sandbox(spec) && !is_reset && (is_calm(&self.chaos) || !has_calm_world)
    }
}

#[cfg(test)]
mod tests {
    use crate::plan::{PlanOptions, expand};
    use crate::spec::{Spec, load};

    fn spec(more: &str) -> Spec {
        let text = format!(
            "version: 1\nid: t\nbase: debian\ntask: {{prompts: [first, second]}}\nagent: {{type: noop}}\n\
             services: [{{name: shop, type: http_mock, ports: [80]}}]\n\
             contract:\n  name: x\n  isolation: reuse\n  invariants:\n    - {{id: a, type: completes}}\n\
             \x20   - {{id: b, type: completes, probes: [third], when: no_chaos}}\n{more}"
        );
        let loaded = load(&text, None);
        loaded.spec.unwrap_or_else(|| panic!("{:?}", loaded.diagnostics))
    }

    const WORLDS: &str = "chaos_matrix: [{name: calm}, {name: down, tool_faults: [{tool: shop, mode: error}]}]\n";

    #[test]
    fn one_scenario_for_each_world_has_an_invocation_for_each_rule_and_prompt() {
        let own = "invariants: {own: {description: x, check: {type: completes}}}\n";
        let spec = spec(&format!("  repeat: 2\n{WORLDS}{own}"));
        let plan = expand(&spec, PlanOptions::default()).expect("a plan");
        let ids: Vec<_> = plan.scenarios.iter().map(|scenario| scenario.id.to_string()).collect();
        assert_eq!(ids, ["calm--default-r0", "calm--default-r1", "down--default-r0", "down--default-r1"]);
        let invoked = |index: usize| -> Vec<_> {
            let all = plan.scenarios[index].invocations(&spec);
            all.iter()
                .map(|one| {
                    format!("{} {}", one.rule().unwrap_or("own"), one.prompt_of(&spec).expect("a prompt").source())
                })
                .collect()
        };
        assert_eq!(invoked(0), ["own first", "own second", "a first", "a second", "b third"]);
        assert_eq!(invoked(2), ["own first", "own second", "a first", "a second"]);
        let judged: Vec<_> = plan.scenarios[0].judged(&spec).iter().map(|judged| judged.name).collect();
        assert_eq!(judged, ["own", "a", "b"]);
    }

    #[test]
    fn state_is_looked_for_where_nothing_breaks_unless_there_is_a_reset() {
        let tried = |more: &str, agent: &str| -> Vec<bool> {
            let spec = reset_spec(more, agent);
            let plan = expand(&spec, PlanOptions::default()).expect("a plan");
            plan.scenarios.iter().map(|scenario| scenario.tries_state(&spec)).collect()
        };
        assert_eq!(tried(WORLDS, ""), [true, false]);
        assert_eq!(tried(WORLDS, ", reset: {command: 'true'}"), [false, false]);
        let broken = "chaos_matrix: [{name: down, tool_faults: [{tool: shop, mode: error}]}]\n";
        assert_eq!(tried(broken, ""), [true], "there is no other world");
    }

    fn reset_spec(more: &str, agent: &str) -> Spec {
        let text = format!(
            "version: 1\nid: t\nbase: debian\ntask: {{prompt: x}}\nagent: {{type: cli, command: x{agent}}}\n\
             services: [{{name: shop, type: http_mock, ports: [80]}}]\n\
             contract:\n  name: x\n  isolation: reuse\n  invariants: [{{id: a, type: completes}}]\n{more}"
        );
        let loaded = load(&text, None);
        loaded.spec.unwrap_or_else(|| panic!("{:?}", loaded.diagnostics))
    }
}
