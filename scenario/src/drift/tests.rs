//! Drift of real reports: the agent becomes worse, better, or only unlucky.

use super::{Change, Drift};
use crate::evidence::{AgentRecord, Answer, Captured, CommandAnswer, Evidence, Exit};
use crate::plan::{PlanOptions, expand};
use crate::report::{Header, Report};
use crate::result::ScenarioResult;
use crate::score::ScoreOptions;
use crate::spec::load;
use crate::verdict::ErrorKind;

const SPEC: &str = "
version: 1
id: greeting
base: debian
task: {prompt: greet}
agent: {type: noop}
invariants: {word: {description: it greets, check: {type: command_exit, command: grep hello out}}}
parallelism: {matrix: {language: [english, german]}}
scoring: {replica_aggregation: any}
";

/// What becomes of each replica of a cell: `+` passes, `-` fails, `?` cannot be judged.
fn report(english: &str, german: &str) -> Report {
    let spec = load(SPEC, None).spec.expect("a spec");
    let options = PlanOptions { replicas: Some(english.len()), ..PlanOptions::default() };
    let plan = expand(&spec, options).expect("a plan");
    let outcomes = english.chars().chain(german.chars());
    let results = plan.scenarios.iter().zip(outcomes).map(|(scenario, outcome)| match outcome {
        '?' => ScenarioResult::failed_to_run(scenario, ErrorKind::Infrastructure, "no engine"),
        other => ScenarioResult::judge(&spec, scenario, &evidence(i32::from(other == '-'))),
    });
    let header = Header {
        experiment_id: "e".to_owned(),
        run: 1,
        spec_file: "s.yaml".to_owned(),
        ran_at: jiff::Timestamp::UNIX_EPOCH,
        parameters: Vec::new(),
        replicas: None,
        agent: None,
        backend: None,
        server: None,
    };
    let results = results.collect();
    Report::new(header, &spec, &plan, results, ScoreOptions::default())
}

fn evidence(exit: i32) -> Evidence {
    let answer = CommandAnswer {
        exit: Some(Exit::Code(exit)),
        stdout: Captured::default(),
        stderr: Captured::default(),
        image_changes: Vec::new(),
    };
    Evidence {
        agent: AgentRecord { exit: Some(Exit::Code(0)), ..AgentRecord::default() },
        answers: [("word".to_owned(), vec![Answer::Command(answer)])].into(),
        ..Evidence::default()
    }
}

/// The findings as lines.
fn told(before: [&str; 2], now: [&str; 2]) -> Vec<String> {
    let drift = Drift::of("base.json", &[report(before[0], before[1])], &[report(now[0], now[1])]);
    drift
        .findings
        .iter()
        .map(|finding| {
            let words = finding.change.words();
            format!("{words}: {} {} → {}: {}", finding.place(), finding.before, finding.now, finding.why)
        })
        .collect()
}

#[test]
fn the_same_again_is_no_finding() {
    assert_eq!(told(["++", "+-"], ["++", "+-"]), Vec::<String>::new());
    assert_eq!(told(["++", "+-"], ["++", "++"]), Vec::<String>::new(), "a little better is not worth a word");
}

#[test]
fn a_cell_and_an_invariant_that_passed_and_fail_now_have_regressed() {
    insta::assert_snapshot!(told(["+", "+"], ["-", "+"]).join("\n"));
}

#[test]
fn a_drop_that_chance_can_explain_is_called_so() {
    insta::assert_snapshot!(told(["+++", "+++"], ["++-", "+++"]).join("\n"));
}

#[test]
fn a_drop_that_chance_cannot_explain_has_regressed() {
    let lines = told(["++++++++++", "++++++++++"], ["+---------", "++++++++++"]);
    assert!(lines.iter().all(|line| line.starts_with("regressed: greeting")), "{lines:#?}");
    assert_eq!(lines.len(), 3, "the cell, its invariant, and both cells together: {lines:#?}");
}

#[test]
fn what_could_not_be_judged_is_no_regression() {
    let drift = Drift::of("b", &[report("+", "+")], &[report("?", "+")]);
    assert!(!drift.regressed());
    assert_eq!(drift.count(Change::InsufficientEvidence), 1, "{:#?}", drift.findings);
}

#[test]
fn what_was_mended_is_told_last() {
    let lines = told(["-", "+"], ["+", "-"]);
    assert!(lines[0].starts_with("regressed") && lines.last().is_some_and(|line| line.starts_with("improved")));
}

#[test]
fn nothing_in_common_is_said_so() {
    let drift = Drift::of("b", &[], &[report("+", "+")]);
    assert_eq!((drift.cells, drift.only_now.as_slice()), (0, &["greeting".to_owned()][..]));
    assert!(drift.summary().contains("nothing was compared"));
}

#[test]
fn many_comparisons_ask_more_of_each() {
    // Alone, 4 of 4 to 0 of 4 would be a drop that chance does not explain; here the bar `any` still holds elsewhere.
    let lines = told(["++++++", "++++++"], ["+-----", "+++++-"]);
    assert!(lines.iter().any(|line| line.starts_with("insufficient evidence")), "{lines:#?}");
}
