//! Judges the agent's output and actions in the invocations that were made for an invariant.

use crate::checks::Case;
use crate::evidence::{Evidence, Invocation};
use crate::plan::{Judged, Scenario, Values};
use crate::spec::Spec;
use crate::verdict::{ErrorCause, Outcome, Verdict};

/// The verdict on an invariant by the invocations of its own: it holds when it holds in all of them.
pub(super) fn judge(judged: &Judged<'_>, spec: &Spec, scenario: &Scenario, evidence: &Evidence) -> Verdict {
    let is_rule = !spec.invariants.contains_key(judged.name);
    let planned = scenario.invocations(spec);
    let planned: Vec<_> = planned.iter().filter(|one| one.rule() == is_rule.then_some(judged.name)).collect();
    let verdicts = planned.iter().map(|planned| {
        let verdict = of_one(judged, spec, planned, evidence);
        match planned.prompt {
            Some(index) if !verdict.is_passed() => {
                let message = format!("prompt {}: {}", u64::from(index) + 1, verdict.message);
                Verdict { message, ..verdict }
            }
            _ => verdict,
        }
    });
    // The worst one: what fails for one prompt fails.
    let place = |verdict: &Verdict| match verdict.outcome {
        Outcome::Failed => 0,
        Outcome::Errored(_) => 1,
        Outcome::Passed => 2,
    };
    let worst = verdicts.min_by(|one, other| place(one).cmp(&place(other)).then(one.score.total_cmp(&other.score)));
    worst.unwrap_or_else(missing)
}

/// The verdict on one invocation. Only the agent can be the reason that it was not invoked any more.
fn of_one(judged: &Judged<'_>, spec: &Spec, planned: &Scenario, evidence: &Evidence) -> Verdict {
    let is_of = |one: &&Invocation| one.rule.as_deref() == planned.rule() && one.prompt == planned.prompt;
    let Some(invocation) = evidence.invocations.iter().find(is_of) else { return missing() };
    let Some(agent) = &invocation.agent else {
        let why = evidence.limits.first().map(|fired| fired.detail.as_str());
        let why = why.or(evidence.offences.first().map(String::as_str)).unwrap_or("its sandbox could not be used");
        return Verdict::unproven(format!("the agent was not invoked for this any more: {why}"));
    };
    let values = Values::for_judging(spec, planned, evidence);
    judged.verdict(&Case::of_invocation(invocation, agent, judged.name, evidence, &values))
}

fn missing() -> Verdict {
    Verdict::errored(ErrorCause::MissingAnswer, "the evidence holds no invocation of the agent for this")
}

#[cfg(test)]
mod tests {
    use crate::evidence::{AgentRecord, Captured, Evidence, Exit, Fired, Invocation, Limit};
    use crate::plan::{PlanOptions, expand};
    use crate::result::ScenarioResult;
    use crate::spec::load;
    use crate::verdict::{ErrorKind, Outcome};

    const SPEC: &str = "
version: 1
id: test
base: debian
task: {prompts: [one, two]}
agent: {type: noop}
contract:
  name: x
  isolation: reuse
  invariants:
    - {id: greets, type: contains, value: hello}
    - {id: no-price, type: contains, value: '$', negate: true, probes: [how much?]}
    - {id: asks-back, type: contains, value: '{{ task.prompt }}'}
";

    fn invocation(rule: &str, prompt: u32, printed: Option<&str>) -> Invocation {
        let agent = |printed: &str| AgentRecord {
            exit: Some(Exit::Code(0)),
            stdout: Captured::from(printed),
            ..AgentRecord::default()
        };
        let (rule, agent) = (Some(rule.to_owned()), printed.map(agent));
        Invocation { rule, prompt: Some(prompt), agent, ..Invocation::default() }
    }

    fn judged(last: Option<&str>, limits: Vec<Fired>) -> Vec<(String, Outcome, String)> {
        let spec = load(SPEC, None).spec.expect("a spec");
        let plan = expand(&spec, PlanOptions::default()).expect("a plan");
        assert_eq!(plan.scenarios.len(), 1);
        let invocations = vec![
            invocation("greets", 0, Some("hello")),
            invocation("greets", 1, Some("goodbye")),
            invocation("no-price", 0, Some("I do not know")),
            invocation("asks-back", 0, Some("one?")),
            invocation("asks-back", 1, last),
        ];
        let agent = AgentRecord { stdout: Captured::from("$ of all"), ..AgentRecord::default() };
        let evidence = Evidence { agent, invocations, limits, ..Evidence::default() };
        let result = ScenarioResult::judge(&spec, &plan.scenarios[0], &evidence);
        let told = result.invariants.into_iter();
        told.map(|one| (one.name, one.verdict.outcome, one.verdict.message)).collect()
    }

    #[test]
    fn each_rule_is_judged_on_its_own_invocations_and_must_hold_in_all() {
        let told = judged(Some("two?"), Vec::new());
        let outcomes: Vec<_> = told.iter().map(|(name, outcome, _)| (name.as_str(), *outcome)).collect();
        assert_eq!(
            outcomes,
            [("greets", Outcome::Failed), ("no-price", Outcome::Passed), ("asks-back", Outcome::Passed)]
        );
        assert!(told[0].2.starts_with("prompt 2: "), "{}", told[0].2);
    }

    #[test]
    fn an_agent_that_was_stopped_before_fails_what_it_was_not_invoked_for() {
        let fired = Fired { limit: Limit::Memory, detail: "more than 2Gi".to_owned() };
        let told = judged(None, vec![fired]);
        assert_eq!(told[2].1, Outcome::Failed);
        assert_eq!(told[2].2, "prompt 2: the agent was not invoked for this any more: more than 2Gi");
    }

    #[test]
    fn evidence_without_an_invocation_is_no_failure_of_the_agent() {
        let spec = load(SPEC, None).spec.expect("a spec");
        let plan = expand(&spec, PlanOptions::default()).expect("a plan");
        let result = ScenarioResult::judge(&spec, &plan.scenarios[0], &Evidence::default());
        let outcomes: Vec<_> = result.invariants.iter().map(|one| one.verdict.outcome).collect();
        assert_eq!(outcomes, [Outcome::Errored(ErrorKind::Infrastructure); 3]);
    }
}
