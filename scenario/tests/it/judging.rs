//! A verdict depends on the scenario and its evidence alone, also when the evidence was kept and read back.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use scenario::evidence::Evidence;
use scenario::plan::{PlanOptions, expand};
use scenario::result::{RowStatus, ScenarioResult};
use scenario::verdict::Outcome;

use crate::corpus::{examples, invalid};
use crate::observations::Subject;

/// The first and the last scenario of every spec that can be run.
static SUBJECTS: LazyLock<Vec<Subject>> = LazyLock::new(|| {
    let specs = examples().into_iter().chain(invalid()).filter_map(|case| case.load().spec);
    let subjects = specs.flat_map(|spec| {
        let scenarios = expand(&spec, PlanOptions::default()).expect("a plan").scenarios;
        let last = scenarios.last().filter(|_| scenarios.len() > 1).cloned();
        let first = scenarios.into_iter().next();
        first.into_iter().chain(last).map(move |scenario| Subject::new(spec.clone(), scenario))
    });
    subjects.collect()
});

fn judged(subject: &Subject, evidence: &Evidence) -> String {
    serde_json::to_string(&ScenarioResult::judge(&subject.spec, &subject.scenario, evidence)).expect("JSON")
}

fn observed() -> impl Strategy<Value = (usize, Evidence)> {
    (0..SUBJECTS.len()).prop_flat_map(|index| (Just(index), SUBJECTS[index].evidence()))
}

proptest! {
    #[test]
    fn evidence_that_was_kept_is_judged_the_same((index, evidence) in observed()) {
        let subject = &SUBJECTS[index];
        let kept = serde_json::to_string(&evidence).expect("JSON");
        let read: Evidence = serde_json::from_str(&kept).expect("evidence");
        prop_assert_eq!(serde_json::to_string(&read).expect("JSON"), kept);
        let first = judged(subject, &evidence);
        prop_assert_eq!(&first, &judged(subject, &evidence), "judging twice");
        prop_assert_eq!(&first, &judged(subject, &read), "judging what was kept");
        let result: ScenarioResult = serde_json::from_str(&first).expect("a result");
        prop_assert_eq!(&first, &serde_json::to_string(&result).expect("JSON"), "a result that was kept");
    }
}

/// Checks that the test above is meaningful: its evidence reaches every verdict of every check.
#[test]
fn the_evidence_reaches_every_verdict_of_every_check() {
    let mut runner = TestRunner::deterministic();
    let mut reached = BTreeSet::new();
    let mut statuses = BTreeSet::new();
    for subject in SUBJECTS.iter() {
        let strategy = subject.evidence();
        for _ in 0..30 {
            let evidence = strategy.new_tree(&mut runner).expect("evidence").current();
            let result = ScenarioResult::judge(&subject.spec, &subject.scenario, &evidence);
            for (invariant, judged) in subject.spec.invariants.values().zip(&result.invariants) {
                reached.insert((invariant.check.word(), outcome(judged.verdict.outcome)));
            }
            reached.extend(result.forbidden.iter().map(|rule| (if rule.violated { "violated" } else { "kept" }, "")));
            statuses.insert(status(result.status));
        }
    }
    assert_eq!(statuses, BTreeSet::from(["error", "fail", "pass"]));
    for check in [
        "command_exit",
        "custom",
        "file_absent",
        "file_content",
        "file_exists",
        "http_mock_assertions",
        "llm_as_judge",
        "sql",
    ] {
        for outcome in ["passed", "failed", "errored"] {
            assert!(reached.contains(&(check, outcome)), "{check} {outcome}: {reached:?}");
        }
    }
    assert!(reached.contains(&("violated", "")) && reached.contains(&("kept", "")));
}

fn outcome(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Passed => "passed",
        Outcome::Failed => "failed",
        Outcome::Errored(_) => "errored",
    }
}

fn status(status: RowStatus) -> &'static str {
    match status {
        RowStatus::Pass => "pass",
        RowStatus::Fail => "fail",
        RowStatus::Error => "error",
    }
}
