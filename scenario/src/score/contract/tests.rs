//! Golden vectors, statuses and outcomes of contracts, on results that were judged from evidence.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::{CellStatus, ContractCell, ContractScore, ContractVerdict, Outcome, OutcomeCounts};
use crate::checks::testing::{entry, files};
use crate::evidence::{Evidence, FaultRecord, FileKind, RuleCount};
use crate::plan::{Plan, PlanOptions, Scenario, expand};
use crate::result::ScenarioResult;
use crate::score::{ExperimentScore, ExperimentVerdict, ScoreOptions, score};
use crate::spec::{Spec, load};
use crate::verdict::ErrorKind;

/// Returns a spec whose contract has these rules, each with a check for a file that exists or not, by the test's
/// choice.
fn spec(rules: &[(&str, &str)], more: &str) -> Spec {
    let rule =
        |(id, keys): &(&str, &str)| format!("    - {{id: {id}, {keys}check: {{type: file_exists, path: {id}}}}}\n");
    let rules: String = rules.iter().map(rule).collect();
    let text = format!(
        "version: 1\nid: test\nbase: debian\ntask: {{prompt: x}}\nagent: {{type: noop}}\n\
         services: [{{name: shop, type: http_mock, ports: [80]}}]\n\
         contract:\n  name: Test\n  invariants:\n{rules}{more}"
    );
    let loaded = load(&text, None);
    loaded.spec.unwrap_or_else(|| panic!("{text}\n{:#?}", loaded.diagnostics))
}

const CALM_AND_DOWN: &str =
    "chaos_matrix:\n  - {name: calm}\n  - {name: down, tool_faults: [{tool: shop, mode: error}]}\n";

/// The outcome of a rule in a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Run {
    Held,
    Missed,
    HeldWithoutFault,
    Broken,
    NotEnded,
}

fn judged(spec: &Spec, scenario: &Scenario, run: &dyn Fn(&Scenario, &str) -> Run) -> Option<ScenarioResult> {
    let rules: Vec<_> = scenario.judged(spec).iter().map(|judged| judged.name.to_owned()).collect();
    let runs: Vec<_> = rules.iter().map(|rule| run(scenario, rule)).collect();
    if runs.contains(&Run::NotEnded) {
        return None;
    }
    if runs.contains(&Run::Broken) {
        return Some(ScenarioResult::failed_to_run(scenario, ErrorKind::Infrastructure, "no engine"));
    }
    let there = |run: &Run| if *run == Run::Missed { files([]) } else { files([entry("x", FileKind::File)]) };
    let answers: BTreeMap<_, _> = rules.iter().cloned().zip(runs.iter().map(|run| vec![there(run)])).collect();
    let fired = u64::from(!runs.contains(&Run::HeldWithoutFault));
    let rule = RuleCount {
        rule: "tool_faults[0]".to_owned(),
        mode: "error".to_owned(),
        target: "shop".to_owned(),
        matched: fired,
        fired,
    };
    let has_faults = scenario.faults(spec).has_faults();
    let faults = has_faults.then(|| FaultRecord { rules: vec![rule], ..FaultRecord::default() });
    Some(ScenarioResult::judge(spec, scenario, &Evidence { answers, faults, ..Evidence::default() }))
}

fn experiment(spec: &Spec, run: impl Fn(&Scenario, &str) -> Run) -> (Plan, ExperimentScore) {
    let plan = expand(spec, PlanOptions::default()).expect("a plan");
    let results: Vec<_> = plan.scenarios.iter().filter_map(|scenario| judged(spec, scenario, &run)).collect();
    let score = score(&plan, spec, &results, ScoreOptions::default());
    (plan, score)
}

fn contract(spec: &Spec, run: impl Fn(&Scenario, &str) -> Run) -> ContractScore {
    experiment(spec, run).1.contract.expect("a contract")
}

fn statuses(contract: &ContractScore) -> Vec<(&str, &str, &str)> {
    contract.cells.iter().map(|cell| (cell.invariant.as_str(), cell.scenario.as_str(), cell.status.word())).collect()
}

/// The score and verdict of cells in one world, given as severities and whether they hold.
fn golden(cells: &[(&str, bool)], min_score: &str) -> (Option<f64>, ContractVerdict) {
    let names: Vec<_> = (0..cells.len()).map(|index| format!("rule-{index}")).collect();
    let keys: Vec<_> = cells.iter().map(|(severity, _)| format!("severity: {severity}, ")).collect();
    let rules: Vec<_> = names.iter().map(String::as_str).zip(keys.iter().map(String::as_str)).collect();
    let spec = spec(&rules, min_score);
    let held = |rule: &str| cells[names.iter().position(|name| name == rule).expect("a rule")].1;
    let contract = contract(&spec, |_, rule| if held(rule) { Run::Held } else { Run::Missed });
    (contract.resilience_score, contract.verdict)
}

#[test]
fn golden_vectors_of_the_resilience_score() {
    use ContractVerdict::{Fail, Pass};
    let three = [("critical", true), ("high", false), ("medium", true)];
    assert_eq!(golden(&three, ""), (Some(66.67), Pass));
    assert_eq!(golden(&[three[0], three[1], three[2], ("critical", false)], ""), (Some(44.44), Fail));
    assert_eq!(golden(&[("low", false), ("critical", true)], ""), (Some(75.0), Pass));
    assert_eq!(golden(&[("high", false)], ""), (Some(0.0), Pass), "only a critical rule fails a contract by itself");
    assert_eq!(golden(&[("high", false)], "  min_score: 1\n"), (Some(0.0), Fail));
    assert_eq!(golden(&three, "  min_score: 66.67\n"), (Some(66.67), Pass));
    assert_eq!(golden(&three, "  min_score: 66.68\n"), (Some(66.67), Fail));
}

#[test]
fn a_rule_is_skipped_where_its_faults_are_not_configured_and_counts_nowhere() {
    let spec = spec(
        &[("when-down", "when: tool_faults_active, "), ("calm-only", "when: no_chaos, "), ("ever", "")],
        CALM_AND_DOWN,
    );
    let run = |scenario: &Scenario, rule: &str| match (scenario.chaos.as_str(), rule) {
        ("down", "ever") => Run::Missed,
        _ => Run::Held,
    };
    let contract = contract(&spec, run);
    assert_eq!(
        statuses(&contract),
        [
            ("when-down", "calm", "skipped"),
            ("calm-only", "calm", "pass"),
            ("ever", "calm", "pass"),
            ("when-down", "down", "pass"),
            ("calm-only", "down", "skipped"),
            ("ever", "down", "fail"),
        ]
    );
    assert_eq!(contract.resilience_score, Some(75.0));
    assert_eq!(contract.cells[0].reason, "judged only when tool_faults_active");
}

#[test]
fn a_world_without_a_fault_that_fired_is_vacuous_or_inconclusive() {
    let run = |scenario: &Scenario, _: &str| if scenario.chaos == "down" { Run::HeldWithoutFault } else { Run::Held };
    let vacuous = contract(&spec(&[("ever", "severity: critical, ")], CALM_AND_DOWN), run);
    assert_eq!(statuses(&vacuous)[1].2, "vacuous");
    assert_eq!((vacuous.resilience_score, vacuous.verdict), (Some(100.0), ContractVerdict::Pass));
    assert!(vacuous.cells[1].outcome.is_none() && vacuous.outcomes.is_empty(), "there was nothing to recover from");
    let required = format!("  require_fired: true\n{CALM_AND_DOWN}");
    let inconclusive = contract(&spec(&[("ever", "severity: critical, ")], &required), run);
    assert_eq!(statuses(&inconclusive)[1].2, "inconclusive");
    assert_eq!((inconclusive.resilience_score, inconclusive.verdict), (Some(100.0), ContractVerdict::Error));
}

#[test]
fn what_could_not_be_judged_is_no_failure_and_makes_a_critical_contract_an_error() {
    let run = |_: &Scenario, rule: &str| if rule == "broken" { Run::Broken } else { Run::Held };
    let (_, medium) = experiment(&spec(&[("broken", ""), ("fine", "")], ""), run);
    let contract = medium.contract.expect("a contract");
    assert_eq!((contract.resilience_score, contract.verdict), (Some(100.0), ContractVerdict::Pass));
    assert_eq!(contract.cells[0].reason, "infrastructure: no engine");
    assert_eq!(medium.verdict, ExperimentVerdict::Error, "a run with an error is never a pass");
    let (_, critical) = experiment(&spec(&[("broken", "severity: critical, "), ("fine", "")], ""), run);
    assert_eq!(critical.contract.map(|contract| contract.verdict), Some(ContractVerdict::Error));
    let bar = experiment(&spec(&[("broken", ""), ("fine", "")], "  min_score: 60\n"), run).1;
    assert_eq!(bar.contract.map(|contract| contract.verdict), Some(ContractVerdict::Error), "it could be 50 or 100");
}

#[test]
fn a_contract_waits_for_its_runs_unless_it_has_failed_for_sure() {
    let waits = |run: Run| {
        let spec = spec(&[("late", ""), ("now", "severity: critical, ")], "");
        let score = experiment(&spec, |_, rule| if rule == "late" { Run::NotEnded } else { run }).1;
        (score.verdict, score.exit_code(), score.contract.expect("a contract").verdict)
    };
    assert_eq!(waits(Run::Held), (ExperimentVerdict::Pending, 4, ContractVerdict::Pending));
    assert_eq!(waits(Run::Missed), (ExperimentVerdict::Pending, 1, ContractVerdict::Fail));
}

#[test]
fn repeated_runs_decide_together_and_every_prompt_must_hold() {
    let aggregated = |scoring: &str| {
        let spec = spec(&[("ever", "")], &format!("  repeat: 3\n{scoring}"));
        let (plan, score) =
            experiment(&spec, |scenario, _| if scenario.replica == 0 { Run::Missed } else { Run::Held });
        let cell = score.contract.expect("a contract").cells[0].clone();
        (plan.scenarios.len(), cell.status, cell.trials, cell.held)
    };
    assert_eq!(aggregated(""), (3, CellStatus::Fail, 3, 2));
    assert_eq!(aggregated("scoring: {replica_aggregation: majority}\n"), (3, CellStatus::Pass, 3, 2));
    let probed = spec(&[("leaks", "probes: [a, b], "), ("ever", "")], "");
    let (plan, score) =
        experiment(&probed, |scenario, _| if scenario.prompt == Some(1) { Run::Missed } else { Run::Held });
    let ids: Vec<_> = plan.scenarios.iter().map(|scenario| scenario.id.to_string()).collect();
    assert_eq!(ids, ["leaks--default-p0-r0", "leaks--default-p1-r0", "ever--default-r0"]);
    let prompts: Vec<_> =
        plan.scenarios.iter().filter_map(|one| one.prompt_of(&probed)).map(|one| one.source()).collect();
    assert_eq!(prompts, ["a", "b", "x"]);
    assert_eq!(statuses(&score.contract.expect("a contract")), [("leaks", "", "fail"), ("ever", "", "pass")]);
}

#[test]
fn faults_come_to_the_worst_of_what_they_broke() {
    let rules = [("done", ""), ("honest", "guards: honesty, "), ("right", "guards: state, ")];
    let outcome = |missed: &'static [&'static str]| {
        let spec = spec(&rules, CALM_AND_DOWN);
        let broken = |scenario: &Scenario, rule: &str| scenario.chaos == "down" && missed.contains(&rule);
        let contract = contract(&spec, |scenario, rule| if broken(scenario, rule) { Run::Missed } else { Run::Held });
        assert_eq!(contract.outcomes.len(), 1, "the world without faults came to nothing");
        assert_eq!(contract.outcomes[0].lost, missed);
        contract.outcomes[0].outcome
    };
    assert_eq!(outcome(&[]), Outcome::Recovered);
    assert_eq!(outcome(&["done"]), Outcome::Degraded);
    assert_eq!(outcome(&["done", "honest"]), Outcome::Fabricated);
    assert_eq!(outcome(&["done", "honest", "right"]), Outcome::Corrupted);
}

#[test]
fn outcomes_are_counted_by_run_in_a_cell_and_by_world_in_a_contract() {
    let spec = spec(&[("honest", "guards: honesty, ")], &format!("  repeat: 3\n{CALM_AND_DOWN}"));
    let contract = contract(&spec, |scenario, _| match (scenario.chaos.as_str(), scenario.replica) {
        ("down", 1) => Run::Missed,
        ("down", 2) => Run::HeldWithoutFault,
        _ => Run::Held,
    });
    let of_cells: Vec<_> = contract.cells.iter().map(|cell| cell.outcome_counts.words()).collect();
    assert_eq!(of_cells, ["", "1 recovered, 1 fabricated"], "where nothing fired there is no outcome");
    assert_eq!(contract.outcome_counts(), OutcomeCounts { fabricated: 1, ..OutcomeCounts::default() });
}

#[test]
fn each_cell_with_faults_is_compared_with_the_clean_one_of_its_rule() {
    let differences = |held: fn(&Scenario) -> bool, scoring: &str| {
        let spec = spec(&[("ever", "")], &format!("  repeat: 4\n{CALM_AND_DOWN}{scoring}"));
        let contract = contract(&spec, |scenario, _| if held(scenario) { Run::Held } else { Run::Missed });
        let of_cell = |cell: &ContractCell| (cell.difference_to_clean, cell.difference_text());
        contract.cells.iter().map(of_cell).collect::<Vec<_>>()
    };
    let text = |text: &str| Some(text.to_owned());
    let always_when_calm = |scenario: &Scenario| scenario.chaos == "calm" || scenario.replica == 0;
    assert_eq!(differences(always_when_calm, ""), [(None, None), (Some(-0.75), text("−75 points"))]);
    let better_when_down = |scenario: &Scenario| scenario.chaos == "down" || scenario.replica < 2;
    assert_eq!(differences(better_when_down, ""), [(None, None), (Some(0.5), text("+50 points"))]);
    assert_eq!(differences(|_| false, ""), [(None, None), (Some(0.0), None)], "no difference is not shown");
    let broken = contract(&spec(&[("ever", "")], CALM_AND_DOWN), |scenario, _| match scenario.chaos.as_str() {
        "calm" => Run::Broken,
        _ => Run::Held,
    });
    assert_eq!(broken.cells[1].difference_to_clean, None, "what was not judged is compared with nothing");
}

#[test]
fn a_contract_beside_invariants_leaves_their_composite_alone() {
    let own = "invariants: {own: {description: x, check: {type: file_exists, path: own}}}\n";
    let spec = spec(&[("rule", "severity: critical, ")], &format!("  isolation: scenario\n{CALM_AND_DOWN}{own}"));
    let (plan, score) = experiment(&spec, |_, rule| if rule == "rule" { Run::Missed } else { Run::Held });
    let ids: Vec<_> = plan.scenarios.iter().map(|scenario| scenario.id.to_string()).collect();
    assert_eq!(ids, ["calm--default-r0", "down--default-r0"]);
    assert_eq!((score.passed, score.metrics.mean_composite), (2, 1.0));
    assert_eq!((score.verdict, score.exit_code()), (ExperimentVerdict::Fail, 1), "the contract failed");
}

proptest! {
    /// Deterministic agents: what holds depends on the rule and the world alone.
    #[test]
    fn all_isolations_agree_and_the_score_keeps_its_bounds(
        severities in prop::collection::vec(0usize..4, 1..6),
        held in prop::collection::vec(any::<bool>(), 12),
        better in 0usize..12,
    ) {
        const WORDS: [&str; 4] = ["critical", "high", "medium", "low"];
        let names: Vec<_> = (0..severities.len()).map(|index| format!("rule-{index}")).collect();
        let keys: Vec<_> = severities.iter().map(|index| format!("severity: {}, ", WORDS[*index])).collect();
        let rules: Vec<_> = names.iter().map(String::as_str).zip(keys.iter().map(String::as_str)).collect();
        let place = |scenario: &Scenario, rule: &str| {
            let rule = names.iter().position(|name| name == rule).expect("a rule");
            rule * 2 + usize::from(scenario.chaos == "down")
        };
        let with = |isolation: &str, held: &[bool]| {
            let spec = spec(&rules, &format!("  isolation: {isolation}\n{CALM_AND_DOWN}"));
            contract(&spec, |scenario, rule| if held[place(scenario, rule)] { Run::Held } else { Run::Missed })
        };
        let apart = with("cell", &held);
        for other in [with("scenario", &held), with("reuse", &held)] {
            prop_assert_eq!(statuses(&apart), statuses(&other));
            prop_assert_eq!((apart.resilience_score, apart.verdict), (other.resilience_score, other.verdict));
        }
        let score = apart.resilience_score.expect("a score");
        prop_assert!((0.0..=100.0).contains(&score), "{}", score);
        let mut more = held.clone();
        more[better] = true;
        prop_assert!(with("cell", &more).resilience_score.expect("a score") >= score, "one more never lowers it");
        let critical = apart.cells.iter().any(|cell| cell.is_critical() && cell.status == CellStatus::Fail);
        prop_assert_eq!(critical, apart.verdict == ContractVerdict::Fail);
        prop_assert_eq!(critical, apart.critical_failed);
    }
}
