//! Golden numbers, and properties that hold for all of them.

use indexmap::IndexMap;
use proptest::prelude::*;

use super::{CellVerdict, ExperimentScore, ExperimentVerdict, ScoreOptions, Status, composite, reaches, score};
use crate::checks::testing::read;
use crate::evidence::{Fired, Limit, Usage};
use crate::plan::{CellId, CellKey, Plan, Purpose, Scenario, ScenarioId, Seed};
use crate::result::{InvariantResult, RowStatus, ScenarioResult};
use crate::spec::sections::{GateRule, Scoring};
use crate::statistics::{pass_curve, wilson};
use crate::verdict::{ErrorKind, Outcome, Verdict};

fn invariant(weight: f64, gate: bool, outcome: Outcome, score: f64) -> InvariantResult {
    let verdict = Verdict { outcome, score, ..Verdict::passed() };
    InvariantResult { name: "x".to_owned(), description: String::new(), weight, gate, verdict }
}

fn met(weight: f64) -> InvariantResult {
    invariant(weight, false, Outcome::Passed, 1.0)
}

fn missed(weight: f64) -> InvariantResult {
    invariant(weight, false, Outcome::Failed, 0.0)
}

fn close(left: f64, right: f64) -> bool {
    (left - right).abs() < 5e-5
}

#[test]
fn the_worked_examples_of_the_language() {
    let gate = invariant(1.0, true, Outcome::Passed, 1.0);
    assert!(close(composite(&[gate.clone(), missed(0.3)], GateRule::Score, false), 0.7692));
    let one_missed = |missing| {
        let nice = |weight| if weight == missing { missed(weight) } else { met(weight) };
        composite(&[gate.clone(), nice(0.3), nice(0.2)], GateRule::Score, false)
    };
    assert!(close(one_missed(0.3), 0.8) && !reaches(one_missed(0.3), 0.85));
    assert!(close(one_missed(0.2), 0.8667) && reaches(one_missed(0.2), 0.85), "the formula wins over the prose");
    assert_eq!(composite(&[gate, met(0.3), met(0.2)], GateRule::Score, false), 1.0);
}

#[test]
fn a_gate_needs_a_passed_verdict_and_a_full_score() {
    let judge = invariant(1.0, true, Outcome::Passed, 0.9);
    assert_eq!(composite(&[judge.clone(), met(1.0)], GateRule::Score, false), 0.0);
    assert!(close(composite(&[judge, met(1.0)], GateRule::Verdict, false), 0.95));
    for (outcome, score) in [(Outcome::Passed, 0.5), (Outcome::Failed, 1.0), (Outcome::Errored(ErrorKind::Check), 1.0)]
    {
        assert_eq!(
            composite(&[invariant(1.0, true, outcome, score)], GateRule::Score, false),
            0.0,
            "{outcome:?} {score}"
        );
    }
    assert_eq!(composite(&[invariant(1.0, true, Outcome::Failed, 1.0)], GateRule::Verdict, false), 0.0);
    assert_eq!(composite(&[met(1.0)], GateRule::Score, true), 0.0, "a violation forces 0");
}

#[test]
fn rates_of_few_trials_are_honest() {
    let golden = pass_curve(4, 8);
    assert!(
        close(golden[0], 0.5)
            && close(golden[1], 0.2143)
            && close(golden[3], 0.0143)
            && golden[7] == 0.0
            && golden.len() == 8,
        "{golden:?}"
    );
    assert_eq!((pass_curve(8, 8), pass_curve(0, 0)), (vec![1.0; 8], Vec::new()));
    let interval = wilson(4, 8).expect("an interval");
    assert!(close(interval.low, 0.2152) && close(interval.high, 0.7848), "{interval:?}");
    let all = wilson(10, 10).expect("an interval");
    assert!(close(all.low, 0.7225) && close(all.high, 1.0), "{all:?}");
    assert_eq!(wilson(0, 0), None);
}

fn scenario(cell: &str, replica: u32) -> Scenario {
    let parameters: IndexMap<_, _> = [("cell".to_owned(), cell.into())].into_iter().collect();
    let cell = CellId::of(&CellKey::from(parameters.clone()));
    Scenario {
        id: ScenarioId::of(&cell, replica),
        cell,
        replica,
        seed: Seed::new(0),
        parameters,
        chaos: String::new(),
        purpose: Purpose::default(),
        prompt: None,
        variants: Vec::new(),
        snapshot: None,
        breakage: None,
    }
}

fn row(cell: &str, replica: u32, status: char) -> ScenarioResult {
    let mut row = ScenarioResult::failed_to_run(&scenario(cell, replica), ErrorKind::Infrastructure, "no engine");
    row.usage = Usage { input_tokens: 60, output_tokens: 40, cost_usd: Some(0.5), ..Usage::default() };
    row.wall_ms = 1000 * (u64::from(replica) + 1);
    match status {
        'p' => (row.status, row.composite, row.error) = (RowStatus::Pass, 1.0, None),
        'f' => (row.status, row.composite, row.error) = (RowStatus::Fail, 0.0, None),
        _ => {}
    }
    row
}

/// Scores cells given as letters: `p` passed, `f` failed, `e` could not be judged, `.` has not ended.
fn scored(cells: &[&str], scoring: &str, floor: Option<f64>) -> ExperimentScore {
    let places = || {
        cells.iter().enumerate().flat_map(|(cell, letters)| {
            letters
                .chars()
                .enumerate()
                .map(move |(replica, letter)| (cell.to_string(), u32::try_from(replica).expect("small"), letter))
        })
    };
    let scenarios = places().map(|(cell, replica, _)| scenario(&cell, replica)).collect();
    let plan = Plan { spec_id: "x".to_owned(), seed: Seed::new(0), scenarios };
    let results: Vec<_> = places()
        .filter(|(.., letter)| *letter != '.')
        .map(|(cell, replica, letter)| row(&cell, replica, letter))
        .collect();
    score(&plan, &read::<Scoring>(scoring), &results, ScoreOptions { min_pass_rate: floor, ..ScoreOptions::default() })
}

#[test]
fn counters_always_add_up_and_failures_beside_passes_are_flaky() {
    let score = scored(&["ppf", "fff", "pee", "ppp"], "{}", None);
    assert_eq!((score.total, score.passed, score.failed, score.flaky, score.errors), (12, 6, 3, 1, 2));
    assert!(close(score.metrics.pass_rate, 0.6));
}

#[test]
fn a_failure_is_flaky_only_once_its_cell_is_complete() {
    assert_eq!(scored(&["pf."], "{}", None).flaky, 0);
    assert_eq!(scored(&["pf."], "{}", None).verdict, ExperimentVerdict::Pending);
    let complete = scored(&["pfp"], "{}", None);
    assert_eq!((complete.flaky, complete.failed), (1, 0));
    assert_eq!(complete.statuses.values().filter(|status| **status == Status::Flaky).count(), 1);
}

#[test]
fn replicas_decide_together_as_the_spec_says() {
    use CellVerdict::{Error, Fail, Pass};
    for (scoring, letters, expected) in [
        ("{}", "pp", Pass),
        ("{}", "pf", Fail),
        ("{}", "pe", Error),
        ("{}", "fe", Fail),
        ("{}", "ee", Error),
        ("{replica_aggregation: any}", "pf", Pass),
        ("{replica_aggregation: any}", "pe", Pass),
        ("{replica_aggregation: any}", "fe", Error),
        ("{replica_aggregation: any}", "ff", Fail),
        ("{replica_aggregation: majority}", "ppf", Pass),
        ("{replica_aggregation: majority}", "pf", Fail),
        ("{replica_aggregation: majority}", "pfe", Error),
        ("{replica_aggregation: mean, pass_threshold: 0.5}", "pf", Pass),
        ("{replica_aggregation: mean, pass_threshold: 0.6}", "pf", Fail),
        ("{replica_aggregation: mean, pass_threshold: 0}", "ff", Fail),
        ("{min_pass_rate: 0.5}", "pf", Pass),
        ("{min_pass_rate: 0.6}", "pf", Fail),
        ("{replica_aggregation: min_pass_rate, min_pass_rate: 0.5}", "pfe", Error),
    ] {
        assert_eq!(scored(&[letters], scoring, None).cells[0].verdict, expected, "{scoring} {letters}");
    }
}

#[test]
fn a_floor_only_tightens() {
    let verdict = |scoring: &str, floor| scored(&["ppppffff"], scoring, floor).cells[0].verdict;
    assert_eq!(verdict("{min_pass_rate: 0.4}", None), CellVerdict::Pass);
    assert_eq!(verdict("{min_pass_rate: 0.4}", Some(0.6)), CellVerdict::Fail, "required is 0.6");
    assert_eq!(verdict("{min_pass_rate: 0.4}", Some(0.3)), CellVerdict::Pass);
    assert_eq!(verdict("{}", Some(0.3)), CellVerdict::Fail, "a floor does not rescue the strict rule");
}

#[test]
fn pass_k_tells_the_truth_even_where_a_bar_tolerates_failures() {
    let score = scored(&["ppppffff", "pppppppp"], "{min_pass_rate: 0.4}", None);
    assert_eq!(score.verdict, ExperimentVerdict::Pass);
    assert_eq!((score.cells[0].pass_k, score.cells[1].pass_k, score.metrics.mean_pass_k), (Some(0), Some(1), 0.5));
    assert!(close(score.cells[0].pass_curve[1], 0.2143) && close(score.metrics.pass_curve[1], 0.6071));
    let errors = scored(&["pe", "ee", "pp"], "{}", None);
    assert_eq!(
        errors.cells.iter().map(|cell| cell.pass_k).collect::<Vec<_>>(),
        [Some(1), None, Some(1)],
        "errors enter no pass^k"
    );
    assert_eq!((errors.metrics.mean_pass_k, errors.metrics.pass_curve.len()), (1.0, 1));
}

#[test]
fn costs_count_every_judged_run_for_each_success() {
    let score = scored(&["ppppffff"], "{}", None);
    assert_eq!((score.metrics.tokens_per_success, score.metrics.cost_per_success_usd), (Some(200.0), Some(1.0)));
    let nothing = scored(&["ff"], "{}", None);
    assert_eq!((nothing.metrics.tokens_per_success, nothing.metrics.cost_per_success_usd), (None, None));
    let errors = scored(&["pee"], "{}", None);
    assert_eq!(
        (errors.metrics.total_tokens, errors.metrics.total_cost_usd, errors.metrics.mean_wall_ms),
        (100, 0.5, 1000),
        "what was not judged costs nothing here"
    );
}

#[test]
fn exit_codes_put_failures_before_errors() {
    let code = |cells: &[&str], scoring: &str| scored(cells, scoring, None).exit_code();
    assert_eq!(code(&["pp"], "{}"), 0);
    assert_eq!(code(&["pf"], "{}"), 1);
    assert_eq!(code(&["pe"], "{}"), 4);
    assert_eq!(code(&["pe", "ff"], "{}"), 1);
    assert_eq!(code(&["pe"], "{replica_aggregation: any}"), 4, "an experiment with an error never exits 0");
    assert_eq!(code(&["p."], "{}"), 4);
    assert_eq!(code(&["ff", "p."], "{}"), 1, "a failure is known before the rest has ended");
    assert_eq!(code(&[], "{}"), 4, "nothing that ran is nothing that passed");
}

#[test]
fn a_limit_takes_the_composite_out_of_the_mean() {
    let mut limited = row("0", 0, 'f');
    limited.composite = 1.0;
    limited.limits = vec![Fired { limit: Limit::Memory, detail: "2 GiB".to_owned() }];
    let plan = Plan { spec_id: "x".to_owned(), seed: Seed::new(0), scenarios: vec![scenario("0", 0)] };
    let score = score(&plan, &read::<Scoring>("{replica_aggregation: mean}"), &[limited], ScoreOptions::default());
    assert_eq!(score.cells[0].verdict, CellVerdict::Fail);
}

#[test]
fn only_planned_scenarios_count_and_each_only_once() {
    let plan =
        Plan { spec_id: "x".to_owned(), seed: Seed::new(0), scenarios: vec![scenario("0", 0), scenario("0", 1)] };
    let scored = |rows: &[ScenarioResult]| score(&plan, &read::<Scoring>("{}"), rows, ScoreOptions::default());
    let twice = scored(&[row("0", 0, 'p'), row("0", 0, 'p')]);
    assert_eq!((twice.verdict, twice.passed, twice.cells[0].planned), (ExperimentVerdict::Pending, 1, 2));
    let foreign = scored(&[row("0", 0, 'p'), row("0", 1, 'p'), row("9", 0, 'f')]);
    assert_eq!((foreign.verdict, foreign.total, foreign.passed, foreign.failed), (ExperimentVerdict::Pass, 2, 2, 0));
    assert_eq!(foreign.metrics.pass_rate, 1.0);
    let again = scored(&[row("0", 0, 'e'), row("0", 1, 'p'), row("0", 0, 'p')]);
    assert_eq!(again.verdict, ExperimentVerdict::Pass, "a new attempt replaces the one before");
}

#[test]
fn hostile_numbers_add_up_to_numbers() {
    let mut rows = [row("0", 0, 'p'), row("0", 1, 'f')];
    for row in &mut rows {
        row.usage =
            Usage { input_tokens: u64::MAX, output_tokens: 1, cost_usd: Some(f64::INFINITY), ..Usage::default() };
        (row.wall_ms, row.tool_calls, row.tool_errors) = (u64::MAX, u64::MAX, u64::MAX);
    }
    let plan =
        Plan { spec_id: "x".to_owned(), seed: Seed::new(0), scenarios: vec![scenario("0", 0), scenario("0", 1)] };
    let metrics = score(&plan, &read::<Scoring>("{}"), &rows, ScoreOptions::default()).metrics;
    assert_eq!((metrics.total_cost_usd, metrics.tool_success_rate), (0.0, 0.0));
    let json = serde_json::to_value(&metrics).expect("JSON");
    assert!(json["total_cost_usd"].is_number() && json["mean_cost_per_run_usd"].is_number(), "{json}");
}

#[test]
fn percentiles_are_by_rank() {
    let letters = "p".repeat(20);
    let score = scored(&[&letters], "{}", None);
    assert_eq!((score.metrics.mean_wall_ms, score.metrics.p95_wall_ms), (10_500, 19_000));
    assert_eq!(scored(&["p"], "{}", None).metrics.p95_wall_ms, 1000);
    assert_eq!(scored(&["e"], "{}", None).metrics.p95_wall_ms, 0);
}

fn any_invariant() -> impl Strategy<Value = InvariantResult> {
    let outcome = prop_oneof![Just(Outcome::Passed), Just(Outcome::Failed), Just(Outcome::Errored(ErrorKind::Check))];
    (0.0..1000.0f64, any::<bool>(), outcome, 0.0..=1.0f64)
        .prop_map(|(weight, gate, outcome, score)| invariant(weight, gate, outcome, score))
}

fn any_rule() -> impl Strategy<Value = GateRule> {
    prop_oneof![Just(GateRule::Score), Just(GateRule::Verdict)]
}

proptest! {
    #[test]
    fn a_composite_is_from_0_to_1(invariants in prop::collection::vec(any_invariant(), 0..8), rule in any_rule(), violated: bool) {
        prop_assert!((0.0..=1.0).contains(&composite(&invariants, rule, violated)));
    }

    #[test]
    fn a_failed_gate_is_0(mut invariants in prop::collection::vec(any_invariant(), 1..8), rule in any_rule(), at: prop::sample::Index) {
        let at = at.index(invariants.len());
        invariants[at].gate = true;
        invariants[at].verdict.outcome = Outcome::Failed;
        prop_assert_eq!(composite(&invariants, rule, false), 0.0);
    }

    #[test]
    fn raising_a_score_never_lowers_the_composite(mut invariants in prop::collection::vec(any_invariant(), 1..8), rule in any_rule(), at: prop::sample::Index, raise in 0.0..=1.0f64) {
        let before = composite(&invariants, rule, false);
        let at = at.index(invariants.len());
        let verdict = &mut invariants[at].verdict;
        verdict.score = (verdict.score + raise).min(1.0);
        prop_assert!(composite(&invariants, rule, false) >= before - 1e-12);
    }

    #[test]
    fn counters_add_up(cells in prop::collection::vec("[pfe]{1,6}", 1..5)) {
        let letters: Vec<_> = cells.iter().map(String::as_str).collect();
        let score = scored(&letters, "{}", None);
        prop_assert_eq!(score.passed + score.failed + score.flaky + score.errors, score.total);
        prop_assert!(score.errors == 0 || score.verdict != ExperimentVerdict::Pass);
    }
}
