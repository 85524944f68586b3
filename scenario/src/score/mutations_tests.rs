//! The robustness of mutations, and the verdict about it, on results that were judged from evidence.

use crate::evidence::{AgentRecord, Captured, Evidence, Exit};
use crate::plan::{Plan, PlanOptions, Scenario, expand};
use crate::result::ScenarioResult;
use crate::score::{CellVerdict, ExperimentScore, ExperimentVerdict, ScoreOptions, score};
use crate::spec::{Spec, load};
use crate::verdict::ErrorKind;

fn spec(mutations: &str) -> Spec {
    let text = format!(
        "version: 1\nid: test\nbase: debian\ntask: {{prompt: Say hello}}\nagent: {{type: noop}}\n\
         invariants:\n  greets: {{description: x, weight: 0.2, check: {{type: contains, value: hello}}}}\n  \
         written: {{description: x, check: {{type: file_exists, path: x}}}}\n\
         scoring: {{pass_threshold: 0}}\nmutations: {mutations}\n"
    );
    let loaded = load(&text, None);
    loaded.spec.unwrap_or_else(|| panic!("{text}\n{:#?}", loaded.diagnostics))
}

/// The end of the agent in a scenario.
#[derive(Clone, Copy)]
enum Run {
    Says(&'static str),
    Crashes,
    Broken,
    NotEnded,
}

fn judged(spec: &Spec, scenario: &Scenario, run: Run) -> Option<ScenarioResult> {
    let (said, code) = match run {
        Run::Says(said) => (said, 0),
        Run::Crashes => ("hello", 3),
        Run::Broken => {
            return Some(ScenarioResult::failed_to_run(scenario, ErrorKind::Infrastructure, "no engine"));
        }
        Run::NotEnded => return None,
    };
    let agent = AgentRecord { stdout: Captured::from(said), exit: Some(Exit::Code(code)), ..AgentRecord::default() };
    let there = crate::checks::testing::files([crate::checks::testing::text_file("x", "")]);
    let answers = [("written".to_owned(), vec![there])].into();
    Some(ScenarioResult::judge(spec, scenario, &Evidence { agent, answers, ..Evidence::default() }))
}

fn scored(mutations: &str, run: impl Fn(&str) -> Run) -> (Plan, ExperimentScore) {
    let spec = spec(mutations);
    let plan = expand(&spec, PlanOptions::default()).expect("a plan");
    let of = |scenario: &Scenario| judged(&spec, scenario, run(scenario.id.as_str()));
    let results: Vec<_> = plan.scenarios.iter().filter_map(of).collect();
    let score = score(&plan, &spec, &results, ScoreOptions::default());
    (plan, score)
}

#[test]
fn the_robustness_is_the_weights_of_those_that_passed_by_those_of_all() {
    let run = |id: &str| if id.starts_with("mutation-case") { Run::Says("what?") } else { Run::Says("hello") };
    let (plan, score) = scored("{types: [noise, case, prompt_injection], count: 4}", run);
    // Two of noise, one of each of the others, and the prompt as it is.
    assert_eq!(plan.scenarios.len(), 5);
    let mutations = score.mutations.expect("mutations");
    // (0.8 + 0.8 + 1.5) / (0.8 + 0.8 + 0.9 + 1.5)
    assert_eq!(mutations.robustness, Some(0.775));
    assert_eq!((mutations.counts(), mutations.verdict), ((3, 4), CellVerdict::Pass));
    assert_eq!(score.verdict, ExperimentVerdict::Pass, "without a bar nothing fails");
    let [failed] = mutations.failed.as_slice() else { panic!("{:?}", mutations.failed) };
    assert_eq!(failed.scenario.as_str(), "mutation-case-0--default-r0");
    assert!(failed.reason.contains("greets"), "an invariant is a gate whatever its weight: {}", failed.reason);
}

#[test]
fn an_agent_that_crashes_fails_and_files_are_not_looked_at() {
    let (_, score) = scored("{types: [noise], count: 1}", |id| match id.starts_with("mutation") {
        true => Run::Crashes,
        false => Run::Says("hello"),
    });
    let mutations = score.mutations.expect("mutations");
    assert_eq!(mutations.robustness, Some(0.0));
    assert!(mutations.failed[0].reason.contains("agent_completes"), "{}", mutations.failed[0].reason);
}

#[test]
fn a_bar_is_missed_reached_or_hangs_on_what_could_not_be_judged() {
    let verdict = |bar: &str, case: Run| {
        let run = move |id: &str| if id.starts_with("mutation-case") { case } else { Run::Says("hello") };
        let (_, score) = scored(&format!("{{types: [noise, case], count: 2, min_robustness: {bar}}}"), run);
        (score.mutations.as_ref().expect("mutations").verdict, score.verdict, score.exit_code())
    };
    use CellVerdict::{Error, Fail, Pass, Pending};
    assert_eq!(verdict("0.4", Run::Says("what?")), (Pass, ExperimentVerdict::Pass, 0));
    assert_eq!(verdict("0.5", Run::Says("what?")), (Fail, ExperimentVerdict::Fail, 1));
    assert_eq!(verdict("0.4", Run::Broken), (Pass, ExperimentVerdict::Error, 4));
    assert_eq!(verdict("0.5", Run::Broken), (Error, ExperimentVerdict::Error, 4));
    assert_eq!(verdict("0.5", Run::NotEnded), (Pending, ExperimentVerdict::Pending, 4));
}

#[test]
fn mutations_are_a_part_of_the_overall_score() {
    let (_, score) = scored("{types: [noise], count: 1}", |_| Run::Says("hello"));
    let overall = score.overall.expect("an overall score");
    assert_eq!((overall.score, overall.parts.len(), overall.not_run.len()), (Some(1.0), 1, 3));
}
