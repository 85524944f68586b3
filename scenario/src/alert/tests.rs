use indexmap::IndexMap;

use super::{Condition, Facts};
use crate::metric::Metric;
use crate::regression::{Change, Finding, RunComparison, Share};
use crate::score::{ExperimentScore, ExperimentVerdict, Metrics};

fn score(pass_rate: f64, p95_wall_ms: u64, errors: usize) -> ExperimentScore {
    ExperimentScore {
        verdict: ExperimentVerdict::Fail,
        total: 10,
        passed: 7,
        failed: 3 - errors,
        flaky: 0,
        errors,
        not_needed: 0,
        statuses: IndexMap::new(),
        cells: Vec::new(),
        contract: None,
        mutations: None,
        replays: None,
        overall: None,
        judges: Vec::new(),
        metrics: Metrics { pass_rate, p95_wall_ms, total_cost_usd: 1.25, ..Metrics::default() },
    }
}

/// The reason, when it fires; nothing when it does not.
fn look(condition: &str, before: Option<&ExperimentScore>) -> Option<String> {
    let condition = Condition::parse(condition).unwrap_or_else(|mistake| panic!("{condition}: {mistake}"));
    let now = score(0.75, 1500, 1);
    condition.reason(&Facts { now: &now, before, comparison: None })
}

#[test]
fn metrics_are_compared_with_numbers() {
    for (condition, fires) in [
        ("pass_rate < 0.9", true),
        ("pass_rate<90%", true),
        ("pass_rate < 75 %", false),
        ("pass_rate <= 75%", true),
        ("pass_rate == 0.75", true),
        ("pass_rate = 75%", true),
        ("pass_rate != 0.75", false),
        ("errors > 0", true),
        ("errors >= 2", false),
        ("p95_wall_ms >= 1500", true),
        ("TOTAL_COST_USD > 1.5", false),
        ("total_cost_usd > -1", true),
        ("total_cost_usd > .5", true),
        ("flaky == 0", true),
    ] {
        assert_eq!(look(condition, None).is_some(), fires, "{condition}");
    }
}

#[test]
fn parts_are_put_together_as_usual() {
    for (condition, fires) in [
        ("errors > 5 or pass_rate < 1", true),
        ("errors > 5 or pass_rate < 1 and flaky > 0", false),
        ("(errors > 0 or pass_rate < 1) and flaky > 0", false),
        ("not errors > 5", true),
        ("!(errors > 0) || pass_rate < 1 && not flaky > 0", true),
        ("NOT not errors > 0", true),
        ("((((errors > 0))))", true),
    ] {
        assert_eq!(look(condition, None).is_some(), fires, "{condition}");
    }
}

#[test]
fn changes_need_an_earlier_run() {
    let before = score(0.80, 1000, 0);
    for (condition, fires) in [
        ("drop in pass_rate", true),
        ("drop in pass_rate > 4%", true),
        // 0.80 − 0.75 is a little more than 0.05 for a machine.
        ("drop in pass_rate > 5%", false),
        ("drop in pass_rate >= 0.05", true),
        ("rise in pass_rate", false),
        ("rise in p95_wall_ms > 49%", true),
        ("rise in p95_wall_ms > 50%", false),
        ("rise in p95_wall_ms >= 500", true),
        ("rise in errors > 1000%", true),
        ("rise in flaky > 0%", false),
    ] {
        assert_eq!(look(condition, Some(&before)).is_some(), fires, "{condition}");
        assert_eq!(look(condition, None), None, "{condition}");
        assert!(Condition::parse(condition).unwrap().looks_back(), "{condition}");
    }
}

#[test]
fn what_is_not_known_fires_nothing() {
    for (condition, fires) in [
        ("cost_per_success_usd > 0", false),
        ("not cost_per_success_usd > 0", false),
        ("not drop in pass_rate", false),
        ("regressed", false),
        ("not regressed", false),
        ("regressed or errors > 0", true),
        ("regressed and errors > 0", false),
    ] {
        assert_eq!(look(condition, None).is_some(), fires, "{condition}");
    }
}

#[test]
fn a_regression_is_what_the_comparison_says() {
    let condition = Condition::parse("regressed").unwrap();
    assert!(condition.looks_back() && condition.compares());
    assert!(!Condition::parse("drop in pass_rate").unwrap().compares());
    let (now, before) = (score(0.75, 1500, 1), score(0.8, 1000, 0));
    let reason = |comparison: &RunComparison| {
        condition.reason(&Facts { now: &now, before: Some(&before), comparison: Some(comparison) })
    };
    let mut comparison = RunComparison::of("before", &[], &[]);
    assert_eq!(reason(&comparison), None, "a lower rate and more time are no regression by themselves");
    let finding = Finding {
        change: Change::InsufficientEvidence,
        spec_id: "greeting".to_owned(),
        cell: Some("default".to_owned()),
        invariant: None,
        before: Share { passed: 5, judged: 5 },
        now: Share { passed: 4, judged: 5 },
        chance: Some(0.5),
        replicas_to_tell: Some(30),
        why: "chance".to_owned(),
    };
    comparison.findings.push(finding.clone());
    assert_eq!(reason(&comparison), None);
    comparison.findings.extend(vec![Finding { change: Change::Regressed, ..finding }; 7]);
    let line = "greeting/default: 5/5 → 4/5; chance";
    assert_eq!(reason(&comparison), Some(format!("it regressed: {}; and 2 more", [line; 5].join("; "))));
}

#[test]
fn the_reason_names_what_was_true() {
    let before = score(0.80, 1000, 0);
    let reason = look("errors > 5 or pass_rate < 90% and not (flaky > 0)", None);
    assert_eq!(reason.as_deref(), Some("pass_rate is 0.75 (< 90%) and not (flaky is 0 (> 0))"));
    let reason = look("drop in pass_rate > 1%", Some(&before));
    assert_eq!(reason.as_deref(), Some("pass_rate is 0.75 and was 0.8 (drop > 1%)"));
}

#[test]
fn mistakes_have_a_place_and_a_hint() {
    for (condition, position, words) in [
        ("", 1, "ends where a metric"),
        ("pas_rate < 1", 1, "did you mean `pass_rate`?"),
        ("errors > 0 and xyz > 1", 16, "there are pass_rate, "),
        ("errors", 7, "ends where `<`"),
        ("errors and flaky > 0", 8, "`errors > 0`"),
        ("errors > many", 10, "expected a number"),
        ("errors > 0 flaky > 0", 12, "expected `and`, `or` or the end"),
        ("(errors > 0", 12, "`)` for the `(` at character 1"),
        ("errors > 0)", 11, "found `)`"),
        ("errors ~ 0", 8, "`~` means nothing"),
        ("ä > 0", 1, "`ä` means nothing"),
        ("errors > 1.2.3", 10, "is no number"),
        ("p95_wall_ms > 60s", 15, "milliseconds"),
        ("drop pass_rate", 6, "`in`"),
        ("drop in 5", 9, "expected a metric"),
        ("drop in speed > 1", 9, "is no metric"),
        ("> 5", 1, "expected a metric"),
        ("errors > -", 10, "is no number"),
    ] {
        let mistake = Condition::parse(condition).expect_err(condition);
        assert_eq!(mistake.position, position, "{condition}: {mistake}");
        assert!(mistake.message.contains(words), "{condition}: {mistake}");
    }
    assert_eq!(Condition::parse(&"(".repeat(900)).unwrap_err().position, 33);
    assert!(Condition::parse(&"not ".repeat(100)).is_err());
    assert!(Condition::parse(&format!("errors > {}", "1".repeat(2000))).is_err());
}

#[test]
fn every_metric_can_be_compared() {
    for name in Metric::of_scores().map(|metric| metric.name) {
        let condition = Condition::parse(&format!("{name} >= 0 or rise in {name} > 1%")).expect(name);
        assert!(condition.looks_back());
    }
}

proptest::proptest! {
    #[test]
    fn no_text_is_too_odd(text in "\\PC{0,60}") {
        let _ = Condition::parse(&text);
    }

    #[test]
    fn no_sequence_of_words_is_too_odd(words in proptest::collection::vec(proptest::sample::select(
        vec!["pass_rate", "errors", "<", ">=", "0.9", "90%", "and", "or", "not", "(", ")", "drop", "in", "regressed", "-1", "%"]), 0..20)) {
        let text = words.join(" ");
        let now = score(0.5, 1, 0);
        let facts = Facts { now: &now, before: Some(&now), comparison: None };
        match Condition::parse(&text) {
            Ok(condition) => drop(condition.reason(&facts)),
            Err(mistake) => proptest::prop_assert!(mistake.position <= text.chars().count() + 1),
        }
    }
}
