//! `parallelism.replicas: {until: decided}` and bars that must be shown: there is one bar, and it can be decided.

use super::rules::Rules;
use crate::count_noun;
use crate::spec::code::Code;
use crate::spec::path::Path;
use crate::spec::sections::{Contract, Isolation, MinPassRate, ReplicaAggregation, Replicas, UntilDecided};
use crate::spec::types::PassRate;
use crate::statistics::fewest_to_reach;
use crate::statistics::sequential::Rule;

/// How many replicas are thought of when a rule says how many it would need.
const FORESEEN: usize = 10_000;

pub(super) fn check(rules: &mut Rules<'_>) {
    match &rules.spec.parallelism.replicas {
        Replicas::Fixed(count) => check_shown(rules, count.count()),
        Replicas::Until(until) => check_until(rules, until),
    }
}

/// A bar that a fixed number of replicas must show can be shown by them.
fn check_shown(rules: &mut Rules<'_>, replicas: usize) {
    let spec = rules.spec;
    let Some(MinPassRate::Shown(shown)) = &spec.scoring.min_pass_rate else { return };
    let Some(needed) = fewest_to_reach(shown.at_least.get(), shown.confidence.get()) else { return };
    let runs = if spec.invariants.is_empty() { rules_repeat(rules) } else { replicas };
    if runs < needed {
        let message = format!(
            "{} can never show a pass rate of {}: {needed} that all pass are needed",
            count_noun(runs, "replica"),
            shown.at_least.get()
        );
        let help = Some("more `parallelism.replicas`, a lower bar, or less confidence");
        rules.moved(Path::from(["scoring", "min_pass_rate"])).report_key(Code::NeverDecided, message, help);
    }
}

/// How often a spec with a contract alone is run.
fn rules_repeat(rules: &Rules<'_>) -> usize {
    rules.spec.contract.as_ref().map_or(1, |contract| contract.repeat.count())
}

fn check_until(rules: &mut Rules<'_>, until: &UntilDecided) {
    check_one_bar(rules, until);
    check_contract(rules);
    let Some(rule) = until.rule(&rules.spec.scoring) else { return };
    if rule.margin.is_some_and(|margin| margin >= rule.bar) {
        let message = format!("the margin must be smaller than the bar, which is {}", rule.bar);
        return at(rules, "margin").report(Code::InvalidValue, message, None);
    }
    check_decides(rules, &rule, until.at_most.count());
}

/// The place of a key of the rule.
fn at<'a>(rules: &'a mut Rules<'_>, key: &str) -> Rules<'a> {
    rules.moved(Path::from(["parallelism", "replicas", key]))
}

/// There is one bar, and nothing else decides about the cell.
fn check_one_bar(rules: &mut Rules<'_>, until: &UntilDecided) {
    let scoring = &rules.spec.scoring;
    match scoring.replica_aggregation {
        None | Some(ReplicaAggregation::MinPassRate) => {}
        Some(other) => {
            let message = format!("`until: decided` and `replica_aggregation: {other}` exclude each other");
            return at(rules, "until").report_key(Code::ConflictingKeys, message, Some("keep one of them"));
        }
    }
    match (until.bar, &scoring.min_pass_rate) {
        (_, Some(MinPassRate::Shown(_))) => {
            let message = "`until: decided` has its own error rates, so `min_pass_rate` is a number beside it";
            let help = Some("write `min_pass_rate: 0.9`, or `bar: 0.9` beside `until`");
            rules.moved(Path::from(["scoring", "min_pass_rate"])).report_key(Code::ConflictingKeys, message, help);
        }
        (Some(_), Some(MinPassRate::Observed(_))) => {
            let message = "the bar stands at `scoring.min_pass_rate` already";
            at(rules, "bar").report_key(Code::ConflictingKeys, message, Some("keep one of them"));
        }
        (None, Some(MinPassRate::Observed(share))) if PassRate::new(share.get()).is_none() => {
            let message = format!("no number of replicas decides a bar of {}", share.get());
            let help = Some("use a bar from 0.001 to 0.999, or a fixed number of `replicas`");
            rules.moved(Path::from(["scoring", "min_pass_rate"])).report(Code::InvalidValue, message, help);
        }
        (None, None) => {
            let message = "the key `bar` is missing: which pass rate does a cell need?";
            let help = Some("add `bar: 0.9`, or `scoring.min_pass_rate`");
            rules.moved(Path::from(["parallelism", "replicas"])).report(Code::MissingKey, message, help);
        }
        _ => {}
    }
}

/// A contract that repeats the runs of its chaos cells needs all of them, where its rules are judged on the spec's own.
fn check_contract(rules: &mut Rules<'_>) {
    let spec = rules.spec;
    let shares = |contract: &&Contract| contract.isolation != Isolation::Cell && contract.repeat.count() > 1;
    let repeats = spec.contract.as_ref().filter(shares).is_some();
    if repeats && !spec.invariants.is_empty() {
        let message = "`contract.repeat` needs a fixed number of runs, and `until: decided` stops them early";
        let help = Some("drop one of the two");
        at(rules, "until").report_key(Code::ConflictingKeys, message, help);
    }
}

/// As many replicas as there may be can decide it.
fn check_decides(rules: &mut Rules<'_>, rule: &Rule, at_most: usize) {
    let (passes, failures) = rule.fewest(FORESEEN);
    let too_many = |needed: Option<usize>| needed.is_none_or(|needed| needed > at_most);
    let (what, needed, ways) = match (too_many(passes), too_many(failures)) {
        (false, false) => return,
        (true, _) => ("reaches", passes, "pass"),
        (false, true) => ("misses", failures, "fail"),
    };
    let needed = match needed {
        Some(needed) => format!("{needed} that all {ways} are needed"),
        None => format!("more than {FORESEEN} would be needed"),
    };
    let replicas = count_noun(at_most, "replica");
    let message = format!("{replicas} can never show that a cell {what} the bar of {}: {needed}", rule.bar);
    let help = Some("raise `at_most`, or give a `margin`");
    rules.moved(Path::from(["parallelism", "replicas"])).report_key(Code::NeverDecided, message, help);
}
