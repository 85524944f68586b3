//! Cells that stop when their bar is decided, from specs to scores.

use crate::plan::{Plan, PlanOptions, expand};
use crate::result::{RowStatus, ScenarioResult};
use crate::score::{
    CellVerdict, EarlyStop, ExperimentScore, ExperimentVerdict, ScoreOptions, SequentialDecision, Status, score,
};
use crate::spec::{Spec, load};
use crate::verdict::ErrorKind;

fn spec(more: &str) -> Spec {
    let text = format!(
        "version: 1\nid: test\nbase: debian\ntask: {{prompt: x}}\nagent: {{type: noop}}\n{more}\n\
         invariants: {{x: {{description: x, check: {{type: file_exists, path: x}}}}}}\n"
    );
    let loaded = load(&text, None);
    loaded.spec.unwrap_or_else(|| panic!("{:?}", loaded.diagnostics))
}

fn until(more: &str) -> Spec {
    spec(&format!("parallelism: {{replicas: {{until: decided{more}}}}}"))
}

/// Results of the first replicas, one for each letter: `p` passed, `f` failed, `e` could not be judged, `.` has not ended.
fn results(plan: &Plan, letters: &str) -> Vec<ScenarioResult> {
    let made = |(scenario, letter)| {
        let mut row = ScenarioResult::failed_to_run(scenario, ErrorKind::Infrastructure, "no engine");
        match letter {
            'p' => (row.status, row.composite, row.error) = (RowStatus::Pass, 1.0, None),
            'f' => (row.status, row.composite, row.error) = (RowStatus::Fail, 0.0, None),
            'e' => {}
            _ => return None,
        }
        Some(row)
    };
    plan.scenarios.iter().zip(letters.chars()).filter_map(made).collect()
}

fn scored_with(spec: &Spec, letters: &str, options: ScoreOptions) -> ExperimentScore {
    let plan = expand(spec, PlanOptions::default()).expect("a plan");
    score(&plan, spec, &results(&plan, letters), options)
}

fn scored(more: &str, letters: &str) -> ExperimentScore {
    scored_with(&until(more), letters, ScoreOptions::default())
}

const SPRT: &str = ", bar: 0.9, margin: 0.2";

#[test]
fn a_cell_passes_when_its_bar_is_reached_and_the_rest_is_not_needed() {
    let score = scored(SPRT, &"p".repeat(14));
    let cell = &score.cells[0];
    let sequential = cell.sequential.as_ref().expect("it stops early");
    assert_eq!((cell.verdict, cell.planned, cell.passed), (CellVerdict::Pass, 60, 12));
    assert_eq!((sequential.stopped_after, sequential.surplus, sequential.not_needed), (12, 2, 46));
    assert_eq!(sequential.decision, Some(SequentialDecision::Reached));
    assert_eq!(cell.interval, Some(sequential.confidence_sequence));
    assert_eq!((score.total, score.passed, score.not_needed), (14, 14, 46), "surplus rows stay rows");
    assert_eq!((score.verdict, score.exit_code()), (ExperimentVerdict::Pass, 0));
    insta::assert_snapshot!(sequential.words(), @"bar 0.9 reached after 12 replicas (SPRT: 12/12 passed, 20.4 times as likely at 0.9 as at 0.7; 19.0 is enough); rate 0.694–1.000, surplus 2, not needed 46");
}

#[test]
fn a_cell_fails_when_its_bar_is_missed_whatever_surplus_replicas_say() {
    let score = scored(SPRT, "fffpp");
    let cell = &score.cells[0];
    assert_eq!((cell.verdict, cell.passed, cell.failed), (CellVerdict::Fail, 0, 3));
    assert_eq!(score.exit_code(), 1);
    assert_eq!(score.statuses[0], Status::Flaky, "another replica of the cell passed");
    insta::assert_snapshot!(cell.reason().expect("a reason"), @"bar 0.9 missed after 3 replicas (SPRT: 0/3 passed, 27.0 times as likely at 0.7 as at 0.9; 19.0 is enough); rate 0.000–0.744, surplus 2, not needed 55");
}

#[test]
fn an_undecided_cell_is_neither_a_pass_nor_a_failure() {
    let score = scored(&format!("{SPRT}, at_most: 8"), "pfpppppp");
    assert_eq!((score.cells[0].verdict, score.verdict), (CellVerdict::Undecided, ExperimentVerdict::Error));
    assert_eq!((score.exit_code(), score.errors), (4, 0));
    insta::assert_snapshot!(score.cells[0].reason().expect("a reason"), @"bar 0.9 undecided after 8 replicas (SPRT: 7/8 passed, which is too little evidence either way about 0.9); rate 0.411–0.999");
}

#[test]
fn it_is_pending_until_the_replicas_before_the_decision_have_ended() {
    let score = scored(SPRT, "ff.ff");
    assert_eq!((score.cells[0].verdict, score.cells[0].failed), (CellVerdict::Pending, 4));
    let error = scored(SPRT, "ffeff");
    assert_eq!((error.cells[0].verdict, error.cells[0].failed, error.cells[0].errors), (CellVerdict::Fail, 3, 1));
}

#[test]
fn a_run_that_is_over_is_decided_by_what_ran() {
    let over = ScoreOptions { is_over: true, ..ScoreOptions::default() };
    let score = scored_with(&until(SPRT), "ffp", over);
    assert_eq!((score.cells[0].verdict, score.not_needed), (CellVerdict::Undecided, 57));
    assert_eq!(scored_with(&until(SPRT), "ffpp", over).cells[0].verdict, CellVerdict::Undecided);
    assert_eq!(scored_with(&until(SPRT), "fff", over).cells[0].verdict, CellVerdict::Fail);
}

#[test]
fn a_fixed_number_of_replicas_keeps_the_bar() {
    let fixed = ScoreOptions { has_fixed_replicas: true, ..ScoreOptions::default() };
    let spec = until(SPRT);
    let options = PlanOptions { replicas: Some(10), ..PlanOptions::default() };
    let plan = expand(&spec, options).expect("a plan");
    let verdict = |letters| score(&plan, &spec, &results(&plan, letters), fixed).cells[0].verdict;
    assert_eq!(verdict("pppppppppf"), CellVerdict::Pass);
    assert_eq!(verdict("ppppppppff"), CellVerdict::Fail);
}

#[test]
fn a_floor_can_only_make_it_harder() {
    let floor = |floor| ScoreOptions { min_pass_rate: Some(floor), ..ScoreOptions::default() };
    let letters = format!("f{}", "p".repeat(30));
    assert_eq!(scored_with(&until(SPRT), &letters, floor(0.9)).cells[0].verdict, CellVerdict::Pass);
    assert_eq!(scored_with(&until(SPRT), &letters, floor(1.0)).cells[0].verdict, CellVerdict::Fail);
}

#[test]
fn the_bar_can_stand_with_the_scoring() {
    let spec = spec("parallelism: {replicas: {until: decided, at_most: 100}}\nscoring: {min_pass_rate: 0.8}");
    let cell = &scored_with(&spec, &"p".repeat(20), ScoreOptions::default()).cells[0];
    assert_eq!((cell.verdict, cell.passed), (CellVerdict::Pass, 20));
    assert_eq!(scored_with(&spec, &"p".repeat(19), ScoreOptions::default()).cells[0].verdict, CellVerdict::Pending);
}

#[test]
fn the_plan_is_that_of_as_many_replicas() {
    let plan = |spec: &Spec| expand(spec, PlanOptions::default()).expect("a plan").scenarios;
    let fixed = expand(&until(SPRT), PlanOptions { replicas: Some(60), ..PlanOptions::default() }).expect("a plan");
    assert_eq!(plan(&until(SPRT)), fixed.scenarios);
}

#[test]
fn what_has_no_say_any_more_is_named() {
    let spec = until(SPRT);
    let plan = expand(&spec, PlanOptions::default()).expect("a plan");
    let early_stop = EarlyStop::of(&spec, ScoreOptions::default()).expect("it stops early");
    let not_needed = |letters| {
        let statuses = results(&plan, letters).iter().map(|row| (row.scenario.id.clone(), row.status)).collect();
        early_stop.not_needed(&plan, &plan.scenarios[0].cell, &statuses).count()
    };
    assert_eq!(["ff", "fff", "ffff", "ff.ff", ".fff"].map(not_needed), [0, 57, 57, 56, 56]);
    let fixed = ScoreOptions { has_fixed_replicas: true, ..ScoreOptions::default() };
    assert_eq!(EarlyStop::of(&spec, fixed), None);
}

#[test]
fn a_contract_beside_it_is_judged_by_the_same_replicas() {
    let spec = spec(&format!(
        "parallelism: {{replicas: {{until: decided{SPRT}}}}}\n\
         contract: {{name: c, isolation: scenario, invariants: [{{id: ever, type: output_not_empty}}]}}"
    ));
    let score = scored_with(&spec, "fff", ScoreOptions::default());
    let contract = score.contract.expect("a contract");
    assert_eq!(contract.cells[0].scenarios.len(), 3, "{:?}", contract.cells[0]);
}

#[test]
fn a_bar_that_must_be_shown_is_passed_missed_or_undecided() {
    let spec = |replicas: usize| {
        spec(&format!(
            "parallelism: {{replicas: {replicas}}}\nscoring: {{min_pass_rate: {{at_least: 0.9, confidence: 0.95}}}}"
        ))
    };
    let verdict = |letters: &str| scored_with(&spec(letters.len()), letters, ScoreOptions::default()).cells[0].verdict;
    assert_eq!(verdict(&"p".repeat(29)), CellVerdict::Pass);
    assert_eq!(verdict(&"p".repeat(28)), CellVerdict::Undecided);
    assert_eq!(verdict("ppppppppff"), CellVerdict::Undecided);
    assert_eq!(verdict("ppppfffff"), CellVerdict::Fail);
    assert_eq!(verdict(&format!("{}e", "p".repeat(40))), CellVerdict::Error, "one more failure would leave it open");
    assert_eq!(verdict(&format!("{}e", "p".repeat(50))), CellVerdict::Pass, "whatever the last one would have said");
    let score = scored_with(&spec(10), "pppppppppf", ScoreOptions::default());
    assert_eq!((score.verdict, score.exit_code()), (ExperimentVerdict::Error, 4));
    insta::assert_snapshot!(score.cells[0].reason().expect("a reason"), @"bar 0.9 undecided: rate 0.606–0.995, each bound with 95 % confidence");
}

#[test]
fn pass_k_has_bounds() {
    let spec = spec("parallelism: {replicas: 8}\nscoring: {min_pass_rate: 0.4}");
    let cell = &scored_with(&spec, "ppppffff", ScoreOptions::default()).cells[0];
    let range = cell.pass_k_interval.expect("a range");
    assert!((range.low - 0.157_013_f64.powi(8)).abs() < 1e-6 && (range.high - 0.842_987_f64.powi(8)).abs() < 1e-6);
    let metrics = scored_with(&spec, "pppppppp", ScoreOptions::default()).metrics;
    let range = metrics.mean_pass_k_interval.expect("a range");
    assert!((range.low - 0.025).abs() < 1e-9 && (range.high - 1.0).abs() < 1e-12, "{range:?}");
}
