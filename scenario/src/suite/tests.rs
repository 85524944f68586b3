//! The numbers of suites, with the figures that they are known by.

use super::{Floor, Pooled, Ran, Suite, SuiteScore};
use crate::coverage::{CapabilityMatrix, Coverage, Exercised};
use crate::evidence::Usage;
use crate::plan::{PlanOptions, expand};
use crate::result::{RowStatus, ScenarioResult};
use crate::score::{ExperimentScore, ExperimentVerdict, ScoreOptions, score};
use crate::spec::Spec;

fn spec(id: &str, replicas: usize, bar: Option<f64>) -> Spec {
    let scoring = bar.map(|bar| format!("scoring: {{min_pass_rate: {bar}}}\n")).unwrap_or_default();
    let text = format!(
        "version: 1\nid: {id}\nbase: debian\ntask: {{prompt: x}}\nagent: {{type: noop}}\n{scoring}\
         parallelism: {{replicas: {replicas}}}\n\
         invariants: {{x: {{description: x, check: {{type: file_exists, path: x}}}}}}\n"
    );
    crate::spec::load(&text, None).spec.expect("a spec")
}

/// An experiment of one cell; `p` passed, `f` failed and `e` could not be judged, at 100 tokens and a cent each.
fn experiment(spec: &Spec, outcomes: &str, floor: Option<f64>) -> ExperimentScore {
    let plan = expand(spec, PlanOptions::default()).expect("a plan");
    let result = |(scenario, outcome): (&crate::plan::Scenario, char)| {
        let mut result = ScenarioResult::failed_to_run(scenario, crate::verdict::ErrorKind::Infrastructure, "x");
        result.status = match outcome {
            'p' => RowStatus::Pass,
            'f' => RowStatus::Fail,
            _ => RowStatus::Error,
        };
        if outcome != 'e' {
            result.error = None;
        }
        result.usage =
            Usage { calls: 1, input_tokens: 60, output_tokens: 40, cost_usd: Some(0.01), ..Usage::default() };
        result
    };
    let results: Vec<_> = plan.scenarios.iter().zip(outcomes.chars()).map(result).collect();
    score(&plan, spec, &results, ScoreOptions { min_pass_rate: floor, ..ScoreOptions::default() })
}

fn suite(more: &str) -> Suite {
    Suite::load(&format!("suite: s\nspecs: [x]\n{more}")).value.expect("a suite")
}

#[test]
fn four_of_eight_at_a_hundred_tokens_cost_two_hundred_a_success() {
    let spec = spec("x", 8, None);
    let half = experiment(&spec, "ppppffff", None);
    assert_eq!((half.metrics.pass_rate, half.metrics.mean_pass_k), (0.5, 0.0));
    assert_eq!(half.metrics.tokens_per_success, Some(200.0));
    assert_eq!(half.metrics.cost_per_success_usd, Some(0.02));
    let curve: Vec<_> = half.metrics.pass_curve.iter().map(|share| format!("{share:.4}")).collect();
    assert_eq!((curve[1].as_str(), curve[3].as_str()), ("0.2143", "0.0143"));
    let none = experiment(&self::spec("y", 2, None), "ff", None);
    assert_eq!((none.metrics.tokens_per_success, none.exit_code()), (None, 1));
}

#[test]
fn a_floor_makes_passing_harder_and_never_easier() {
    let spec = spec("x", 8, Some(0.4));
    let verdict = |floor| experiment(&spec, "ppppffff", floor).verdict;
    assert_eq!(verdict(None), ExperimentVerdict::Pass, "the bar of 0.4 is reached");
    assert_eq!(verdict(Some(0.6)), ExperimentVerdict::Fail, "the floor of 0.6 is not");
    assert_eq!(verdict(Some(0.1)), ExperimentVerdict::Pass);
    let strict = self::spec("x", 8, Some(0.9));
    assert_eq!(experiment(&strict, "ppppffff", Some(0.1)).verdict, ExperimentVerdict::Fail, "its own bar stays");
    let below = experiment(&spec, "ppppffff", Some(0.6));
    let suite = suite("floors: {pass_rate: 0.6}\n");
    let score = SuiteScore::of(&suite, &[Ran { spec: "x", score: &below }], None);
    let [shortfall] = score.shortfalls.as_slice() else { panic!("{:?}", score.shortfalls) };
    assert_eq!((shortfall.floor, shortfall.found, shortfall.required), (Floor::PassRate, 0.5, 0.6));
    assert!(shortfall.message().contains("pass rate 0.500 is below 0.600"), "{}", shortfall.message());
}

#[test]
fn means_go_by_weights_and_costs_are_pooled() {
    let (one, other, lost) = (spec("one", 2, None), spec("other", 2, None), spec("lost", 1, None));
    let scores = [experiment(&one, "pp", None), experiment(&other, "pf", None), experiment(&lost, "e", None)];
    let ran: Vec<_> = ["one", "other", "lost"].iter().zip(&scores).map(|(spec, score)| Ran { spec, score }).collect();
    let even = SuiteScore::of(&suite(""), &ran, None);
    assert_eq!((even.mean_pass_k, even.mean_pass_rate), (Some(0.5), Some(0.75)), "what was not judged enters no mean");
    assert_eq!((even.pooled.judged, even.pooled.passed, even.pooled.total_tokens), (4, 3, 400));
    assert_eq!(even.pooled.tokens_per_success.map(|tokens| format!("{tokens:.2}")).as_deref(), Some("133.33"));
    let weighed = SuiteScore::of(&suite("weights: {one: 3}\n"), &ran, None);
    assert_eq!((weighed.mean_pass_k, weighed.mean_pass_rate), (Some(0.75), Some(0.875)));
    assert_eq!(weighed.summary(), "s: pass^k 0.750, pass rate 0.875 over 3 specs");
    assert!(!weighed.fails() && SuiteScore::of(&suite("floors: {pass_k: 0.6}\n"), &ran, None).fails());
    assert_eq!(Pooled::of([]).tokens_per_success, None);
    assert_eq!(SuiteScore::of(&suite(""), &[], None).mean_pass_k, None);
}

#[test]
fn coverage_below_its_floor_fails_the_suite() {
    let matrix = CapabilityMatrix::load("[a, b]").value.expect("a matrix");
    let coverage = Coverage::of(&matrix, &[Exercised { spec: "x", tags: &["a".to_owned()], passed: true }]);
    let fails =
        |floor: &str| SuiteScore::of(&suite(&format!("floors: {{coverage: {floor}}}\n")), &[], Some(&coverage)).fails();
    assert!(fails("0.6") && !fails("0.5"));
}
