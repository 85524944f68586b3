//! Mutations and the overall score in every rendering.

use super::tests::{HOSTILE, header};
use super::{Report, junit, markdown, terminal};
use crate::evidence::{AgentRecord, Captured, Evidence, Exit};
use crate::plan::{PlanOptions, Scenario, expand};
use crate::result::ScenarioResult;
use crate::score::ScoreOptions;
use crate::spec::load;

const SPEC: &str = "
version: 1
id: greeting
base: debian
task: {prompt: Say hello}
agent: {type: noop}
invariants: {greets: {description: It greets, check: {type: contains, value: hello}}}
mutations: {types: [typos, case], count: 3, min_robustness: 0.9}
";

fn report() -> Report {
    let spec = load(SPEC, None).spec.expect("a spec");
    let plan = expand(&spec, PlanOptions::default()).expect("a plan");
    let judged = |scenario: &Scenario| {
        let said = if scenario.id.as_str().starts_with("mutation-case") { HOSTILE } else { "hello" };
        let agent = AgentRecord { stdout: Captured::from(said), exit: Some(Exit::Code(0)), ..AgentRecord::default() };
        ScenarioResult::judge(&spec, scenario, &Evidence { agent, ..Evidence::default() })
    };
    let results = plan.scenarios.iter().map(judged).collect();
    Report::new(header("greeting/spec.yaml"), &spec, &plan, results, ScoreOptions::default())
}

#[test]
fn the_terminal_has_the_kinds_the_failed_ones_and_the_way_to_their_prompts() {
    insta::assert_snapshot!(terminal(&report(), 100));
}

#[test]
fn the_markdown_has_the_kinds_and_the_failed_ones() {
    insta::assert_snapshot!(markdown(&report()));
}

#[test]
fn the_junit_has_a_suite_of_mutations_of_which_a_kind_fails_with_the_bar() {
    let text = junit(&report());
    let at = text.find("greeting mutations").expect("a suite");
    insta::assert_snapshot!(text[at..].to_owned());
}
